//! What RFC 4728 keeps of the routes that a node hears of, and in which part: the rules that the path
//! cache and the link cache have in common.

use driftway_base::{Duration, Instant, Ipv4Addr};

use super::cache::{RouteObservation, LearnedBy};
use super::config::{CachePart, DsrConfig};
use super::path::{SourceRoute, Path};

/// How many routes in use are remembered, by who is at their ends.
const RECENT_ROUTES: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct CachingPolicy {
    me: Ipv4Addr,
    config: DsrConfig,
    /// How soon seeing a route again may renew what is known of it; `None`: it does not.
    renew_interval: Option<Duration>,
    /// Routes seen in use since something was forgotten: seeing them again brings nothing new.
    recent: [Option<RecentRoute>; RECENT_ROUTES],
}

/// Where a path is remembered: by its ends.
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
    pub const fn new(me: Ipv4Addr, config: &DsrConfig, renew: Option<Duration>) -> Self {
        Self { me, config: *config, renew_interval: renew, recent: [None; RECENT_ROUTES] }
    }

    pub const fn both_ways(&self) -> bool {
        self.config.learn_both_ways
    }

    pub const fn forget_both_ways(&self) -> bool {
        self.config.forget_both_ways
    }

    /// Is a path short enough for a packet?
    pub fn fits(&self, path: &Path) -> bool {
        path.len() <= usize::from(self.config.max_nodes)
    }

    /// The parts in which a route is kept that begins at this node.
    pub fn parts(&self, by: LearnedBy) -> impl Iterator<Item = CachePart> + use<> {
        let config = &self.config;
        let seen = Some(config.source_routes);
        let parts = match by {
            LearnedBy::Request => [seen.filter(|_| config.cache_requests), None],
            // A reply is a packet with a source route, too.
            LearnedBy::OwnReply => {
                [Some(CachePart::Primary), seen.filter(|_| config.cache_source_routes)]
            }
            LearnedBy::Reply | LearnedBy::CachedReply | LearnedBy::Shortening => {
                [Some(CachePart::Primary), None]
            }
        };
        parts.into_iter().flatten()
    }

    /// The part in which a route is kept that was heard so; `None`: it is not kept.
    fn cache_part(&self, heard: RouteObservation) -> Option<CachePart> {
        let config = &self.config;
        let (keeps, part) = match heard {
            RouteObservation::Forwarded { .. } | RouteObservation::Overheard { .. } => {
                (config.cache_source_routes, config.source_routes)
            }
            RouteObservation::Received { .. } => (config.cache_received_routes, config.source_routes),
            RouteObservation::ForwardedReply { .. } => (config.cache_forwarded_replies, CachePart::Primary),
            RouteObservation::OverheardReply => (true, config.overheard_replies),
        };
        keeps.then_some(part)
    }

    /// What may be kept of a path: it begins at this node, goes on, and meets no node twice.
    pub fn usable_prefix(&self, path: &Path) -> Option<Path> {
        if path.first() != Some(self.me) || path.len() < 2 || path.has_loop() {
            return None;
        }
        let mut path = *path;
        path.truncate(usize::from(self.config.max_nodes));
        Some(path)
    }

    /// A route was heard: where is it kept? `None`: it is not kept, makes no sense, or was seen a
    /// moment ago. Where it is, [`saw`](Self::saw) has to follow.
    pub fn admit(&self, now: Instant, route: &SourceRoute, heard: RouteObservation) -> Option<CachePart> {
        let part = self.cache_part(heard)?;
        let SourceRoute { path, next_position: next } = route;
        if let Some(Some(seen)) = self.recent.get(slot(path))
            && seen.next == *next
            && now < seen.until
            && seen.path == *path
        {
            return None;
        }
        if path.has_loop() { None } else { Some(part) }
    }

    /// What is in this route is kept now: seeing it again brings nothing new.
    pub fn record_recent(&mut self, now: Instant, route: &SourceRoute) {
        let SourceRoute { path, next_position: next } = *route;
        let until = self.renew_interval.map_or(Instant::FAR_FUTURE, |renew| now + renew);
        if let Some(seen) = self.recent.get_mut(slot(&path)) {
            *seen = Some(RecentRoute { path, next, until });
        }
    }

    /// The link over which a route was heard whose path this node is not on.
    pub fn overheard_link(&self, SourceRoute { path, next_position: next }: &SourceRoute) -> Option<[Ipv4Addr; 2]> {
        let sender = path.get(next.checked_sub(1)?)?;
        (!path.contains(self.me)).then_some([self.me, sender])
    }

    /// A route was heard: this node is on it, or has heard the node before `next` send. Calls `add`
    /// with each path that begins at this node, and says whether one of them was new.
    pub fn observe(
        &mut self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
        mut add: impl FnMut(&mut Self, &Path, CachePart) -> bool,
    ) -> bool {
        let Some(part) = self.admit(now, route, heard) else { return false };
        let SourceRoute { path, next_position: next } = route;
        let place = path.position(self.me);
        let from = place.or_else(|| next.checked_sub(1));
        let mut new = false;
        if let Some(from) = from
            && let Some(path) = self.usable_prefix(&self.path_from_self(path, from, place.is_some()))
        {
            new |= add(self, &path, part);
        }
        if self.both_ways()
            && let Some(from) = from
            && let back = self.path_from_self(&path.reversed(), path.len() - 1 - from, place.is_some())
            && let Some(path) = self.usable_prefix(&back)
        {
            new |= add(self, &path, part);
        }
        self.record_recent(now, route);
        new
    }

    /// From this node on: it is the node at `from`, or it hears that node.
    fn path_from_self(&self, path: &Path, from: usize, on_it: bool) -> Path {
        let mut stub = Path::EMPTY;
        if !on_it {
            stub.push(self.me);
        }
        stub.extend(path.as_slice().get(from..).unwrap_or_default());
        stub
    }

    /// Something was forgotten: seeing a route again may bring it back.
    pub fn clear_recent(&mut self) {
        self.recent = [None; RECENT_ROUTES];
    }
}
