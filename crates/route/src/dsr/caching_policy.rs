//! The caching policy of RFC 4728: which observed routes are cached, and in which part; shared by the path
//! cache and the link cache.

use driftway_base::{Duration, Instant, Ipv4Addr};

use super::cache::{LearnedBy, RouteObservation};
use super::caching_rules::{CachePart, CachingRules};
use super::path::{Path, SourceRoute};

/// The number of recent routes that are remembered, indexed by their ends.
const RECENT_ROUTES: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct CachingPolicy {
    me: Ipv4Addr,
    rules: CachingRules,
    /// The interval after which observing a route again refreshes it; `None`: it does not.
    renew_interval: Option<Duration>,
    /// Routes observed since the last removal: observing them again adds nothing.
    recent: [Option<RecentRoute>; RECENT_ROUTES],
}

/// The slot of a path, by its ends.
fn slot(path: &Path) -> usize {
    let ends = path.first().zip(path.last());
    ends.map_or(0, |(a, b)| a.to_bits() ^ b.to_bits().rotate_left(2)) as usize % RECENT_ROUTES
}

#[derive(Clone, Copy, Debug)]
struct RecentRoute {
    path: Path,
    next: usize,
    until: Instant,
}

impl CachingPolicy {
    pub const fn new(me: Ipv4Addr, rules: &CachingRules, renew_interval: Option<Duration>) -> Self {
        Self { me, rules: *rules, renew_interval, recent: [None; RECENT_ROUTES] }
    }

    pub const fn both_ways(&self) -> bool {
        self.rules.learn_both_ways
    }

    pub const fn forget_both_ways(&self) -> bool {
        self.rules.forget_both_ways
    }

    /// Returns true if a path fits into a packet.
    pub fn fits(&self, path: &Path) -> bool {
        path.len() <= usize::from(self.rules.max_nodes)
    }

    /// The parts in which a route that starts at this node is cached.
    pub fn parts(&self, by: LearnedBy) -> impl Iterator<Item = CachePart> + use<> {
        let rules = &self.rules;
        let seen = Some(rules.source_routes);
        let parts = match by {
            LearnedBy::Request => [seen.filter(|_| rules.cache_requests), None],
            // A reply is also a packet with a source route.
            LearnedBy::OwnReply => {
                [Some(CachePart::Primary), seen.filter(|_| rules.cache_source_routes)]
            }
            LearnedBy::Reply | LearnedBy::CachedReply | LearnedBy::Shortening => {
                [Some(CachePart::Primary), None]
            }
        };
        parts.into_iter().flatten()
    }

    /// The part in which an observed route is cached; `None`: it is not.
    fn cache_part(&self, heard: RouteObservation) -> Option<CachePart> {
        let rules = &self.rules;
        let (keeps, part) = match heard {
            RouteObservation::Forwarded { .. } | RouteObservation::Overheard { .. } => {
                (rules.cache_source_routes, rules.source_routes)
            }
            RouteObservation::Received { .. } => (rules.cache_received_routes, rules.source_routes),
            RouteObservation::ForwardedReply { .. } => {
                (rules.cache_forwarded_replies, CachePart::Primary)
            }
            RouteObservation::OverheardReply => (true, rules.overheard_replies),
        };
        keeps.then_some(part)
    }

    /// The part of a path that may be cached: it starts at this node, has at least one hop and no loop.
    pub fn usable_prefix(&self, path: &Path) -> Option<Path> {
        if path.first() != Some(self.me) || path.len() < 2 || path.has_loop() {
            return None;
        }
        let mut path = *path;
        path.truncate(usize::from(self.rules.max_nodes));
        Some(path)
    }

    /// The part in which an observed route is to be cached. `None`: it is not, is malformed, or was observed
    /// recently. Otherwise [`record_recent`](Self::record_recent) has to follow.
    pub fn admit(
        &self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
    ) -> Option<CachePart> {
        let part = self.cache_part(heard)?;
        let SourceRoute { path, next_position } = route;
        if let Some(Some(seen)) = self.recent.get(slot(path))
            && seen.next == *next_position
            && now < seen.until
            && seen.path == *path
        {
            return None;
        }
        if path.has_loop() { None } else { Some(part) }
    }

    /// Records that this route is cached, so that observing it again adds nothing.
    pub fn record_recent(&mut self, now: Instant, route: &SourceRoute) {
        let SourceRoute { path, next_position } = *route;
        let until = self.renew_interval.map_or(Instant::FAR_FUTURE, |renew| now + renew);
        if let Some(seen) = self.recent.get_mut(slot(&path)) {
            *seen = Some(RecentRoute { path, next: next_position, until });
        }
    }

    /// The link over which a route was overheard that does not contain this node.
    pub fn overheard_link(
        &self,
        SourceRoute { path, next_position }: &SourceRoute,
    ) -> Option<[Ipv4Addr; 2]> {
        let sender = path.get(next_position.checked_sub(1)?)?;
        (!path.contains(self.me)).then_some([self.me, sender])
    }

    /// Caches an observed route: this node is on it, or has overheard the node before `next_position`. Calls
    /// `add` with each path that starts at this node, and returns true if one of them was new.
    pub fn observe(
        &mut self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
        mut add: impl FnMut(&mut Self, &Path, CachePart) -> bool,
    ) -> bool {
        let Some(part) = self.admit(now, route, heard) else { return false };
        let SourceRoute { path, next_position } = route;
        let place = path.position(self.me);
        let from = place.or_else(|| next_position.checked_sub(1));
        let mut new = false;
        if let Some(from) = from
            && let Some(path) =
                self.usable_prefix(&self.path_from_self(path, from, place.is_some()))
        {
            new |= add(self, &path, part);
        }
        if self.both_ways()
            && let Some(from) = from
            && let back =
                self.path_from_self(&path.reversed(), path.len() - 1 - from, place.is_some())
            && let Some(path) = self.usable_prefix(&back)
        {
            new |= add(self, &path, part);
        }
        self.record_recent(now, route);
        new
    }

    /// The path from this node on, which is the node at `from`, or hears that node.
    fn path_from_self(&self, path: &Path, from: usize, on_it: bool) -> Path {
        let mut stub = Path::EMPTY;
        if !on_it {
            stub.push(self.me);
        }
        stub.extend(path.as_slice().get(from..).unwrap_or_default());
        stub
    }

    /// Clears the recent routes after a removal: observing one again may add it again.
    pub fn clear_recent(&mut self) {
        self.recent = [None; RECENT_ROUTES];
    }
}
