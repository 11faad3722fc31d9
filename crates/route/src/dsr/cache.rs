//! What a node knows of routes, in either form.

use base::{Duration, Instant, Ipv4Addr};

use super::config::{CacheKind, CachePart, DsrConfig};
use super::link_cache::LinkCache;
use super::path::{Carried, Path};
use super::path_cache::PathCache;

/// How soon a route that was seen in use may renew what is known of its links.
const RENEW: Duration = Duration::from_secs(1);
/// How many routes in use are remembered, by who is at their ends.
const SEEN: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct RouteCache {
    me: Ipv4Addr,
    kind: Kind,
    both_ways: bool,
    forget_both_ways: bool,
    max_nodes: usize,
    /// Routes seen in use since something was forgotten: seeing them again tells nothing.
    seen: [Option<Seen>; SEEN],
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a node")]
enum Kind {
    Paths(PathCache),
    Links(LinkCache),
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    path: Path,
    next: usize,
    until: Instant,
}

impl RouteCache {
    pub fn new(me: Ipv4Addr, config: &DsrConfig) -> Self {
        let kind = match config.cache {
            CacheKind::Paths { primary, secondary, timeout } => {
                Kind::Paths(PathCache::new(primary, secondary, timeout))
            }
            CacheKind::LinkMaxLife => Kind::Links(LinkCache::new(me)),
        };
        Self {
            me,
            kind,
            both_ways: config.learn_both_ways,
            forget_both_ways: config.forget_both_ways,
            max_nodes: usize::from(config.max_nodes),
            seen: [None; SEEN],
        }
    }

    /// Adds a path that begins at this node; is anything new?
    pub fn add(&mut self, now: Instant, path: &Path, part: CachePart) -> bool {
        if path.first() != Some(self.me) || path.len() < 2 || path.has_loop() {
            return false;
        }
        let mut path = *path;
        path.truncate(self.max_nodes);
        match &mut self.kind {
            Kind::Paths(paths) => {
                let new = paths.add(now, &path, part);
                // A path that was seen has made room: seeing it again brings it back.
                if new && paths.is_full(part) {
                    self.forget_seen();
                }
                new
            }
            Kind::Links(links) => links.add(now, path.as_slice(), self.both_ways),
        }
    }

    /// A route is in use: this node is on it, or has heard the node before `next` send.
    pub fn notice(&mut self, now: Instant, carried: &Carried, part: CachePart) -> bool {
        let Carried { path, next } = carried;
        let ends = path.first().zip(path.last());
        let slot = ends.map_or(0, |(a, b)| a.to_bits() ^ b.to_bits().rotate_left(2)) as usize;
        if let Some(Some(seen)) = self.seen.get(slot % SEEN)
            && seen.next == *next
            && now < seen.until
            && seen.path == *path
        {
            return false;
        }
        if path.has_loop() {
            return false;
        }
        let place = path.position(self.me);
        let (ahead, behind) = match (place, next.checked_sub(1)) {
            (Some(at), _) => (Some(at), Some(at)),
            (None, Some(sender)) => (Some(sender), Some(sender)),
            (None, None) => (None, None),
        };
        let mut new = false;
        if let Some(from) = ahead {
            new |= self.add(now, &self.stub(path, from, place.is_some()), part);
        }
        if self.both_ways
            && let Some(to) = behind
        {
            let back = path.reversed();
            new |= self.add(now, &self.stub(&back, path.len() - 1 - to, place.is_some()), part);
        }
        let until = match self.kind {
            Kind::Paths(_) => Instant::FAR_FUTURE,
            Kind::Links(_) => now + RENEW,
        };
        if let Some(seen) = self.seen.get_mut(slot % SEEN) {
            *seen = Some(Seen { path: *path, next: *next, until });
        }
        new
    }

    /// From this node on: it is the node at `from`, or it hears that node.
    fn stub(&self, path: &Path, from: usize, on_it: bool) -> Path {
        let mut stub = Path::EMPTY;
        if !on_it {
            stub.push(self.me);
        }
        stub.extend(path.as_slice().get(from..).unwrap_or_default());
        stub
    }

    /// A route to `destination`, to be told to others.
    pub fn find(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        match &mut self.kind {
            Kind::Paths(paths) => paths.find(now, destination),
            Kind::Links(links) => links.find(now, destination, false),
        }
        .filter(|path| path.len() <= self.max_nodes)
    }

    /// A route to `destination`, for a packet of this node.
    pub fn take(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        match &mut self.kind {
            Kind::Paths(paths) => {
                let (path, moved) = paths.take(now, destination)?;
                if moved {
                    self.forget_seen();
                }
                Some(path)
            }
            Kind::Links(links) => links.find(now, destination, true),
        }
        .filter(|path| path.len() <= self.max_nodes)
    }

    /// A route to `destination`, to salvage another's packet. That counts as a use for a link
    /// (RFC 4728 App. A), but moves no path.
    pub fn take_for_another(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        match &self.kind {
            Kind::Paths(_) => self.find(now, destination),
            Kind::Links(_) => self.take(now, destination),
        }
    }

    /// The link from `from` to `to` does not carry; was it known?
    pub fn remove_link(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        self.forget_seen();
        let mut remove = |from, to| match &mut self.kind {
            Kind::Paths(paths) => paths.remove_link(from, to),
            Kind::Links(links) => links.remove(from, to),
        };
        let there = remove(from, to);
        (self.forget_both_ways && remove(to, from)) || there
    }

    fn forget_seen(&mut self) {
        self.seen = [None; SEEN];
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// A path that made room comes back with the next packet that takes it.
    #[test]
    fn what_has_made_room_is_noticed_anew() {
        let node = |n| Ipv4Addr::new(10, 0, 0, n);
        let cache = CacheKind::Paths { primary: 2, secondary: 2, timeout: None };
        let mut cache = RouteCache::new(node(1), &DsrConfig { cache, ..DsrConfig::NS2 });
        let mut notice = |by| {
            let mut path = Path::EMPTY;
            assert!(path.extend(&[node(9), node(1), node(by), node(by + 1)]));
            let carried = Carried { path, next: 1 };
            let new = cache.notice(Instant::ZERO, &carried, CachePart::Secondary);
            (new, cache.find(Instant::ZERO, node(by + 1)).is_some())
        };
        for by in [2, 4, 6, 2] {
            assert_eq!(notice(by), (true, true), "{by}");
        }
        assert_eq!(notice(2), (false, true), "it is there");
    }
}
