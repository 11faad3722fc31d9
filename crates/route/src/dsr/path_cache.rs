//! A cache of whole paths (RFC 4728 §4.1), each from this node on.

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr};

use super::cache::{LearnedBy, LinkFailureReport, RouteCache, RouteObservation};
use super::cache_descriptor::{CacheDescriptor, CacheLimits, CacheOptions};
use super::caching_policy::CachingPolicy;
use super::caching_rules::CachePart;
use super::path::{NodeMask, Path, SourceRoute, node_bit};

pub(crate) const DESCRIPTOR: CacheDescriptor = CacheDescriptor {
    name: "paths",
    options: CacheOptions::Limits(CacheLimits {
        primary: 30,
        secondary: 64,
        // RFC 4728 §9.
        timeout: Some(Duration::from_secs(300)),
    }),
    options_are_optional: false,
    build: |me, options, rules| {
        let limits = options.limits();
        let paths = PathCache::new(limits.primary, limits.secondary, limits.timeout);
        Box::new(PathRouteCache { policy: CachingPolicy::new(me, rules, None), paths })
    },
};

/// The paths, with the caching policy.
#[derive(Clone, Debug)]
struct PathRouteCache {
    policy: CachingPolicy,
    paths: PathCache,
}

/// Adds a path. A recent path may have been evicted: observing it again adds it again.
fn add(
    learning: &mut CachingPolicy,
    paths: &mut PathCache,
    now: Instant,
    path: &Path,
    part: CachePart,
) -> bool {
    let new = paths.add(now, path, part);
    if new && paths.is_full(part) {
        learning.clear_recent();
    }
    new
}

impl RouteCache for PathRouteCache {
    fn on_route_learned(&mut self, now: Instant, path: &Path, by: LearnedBy) -> bool {
        let Self { policy, paths } = self;
        let Some(path) = policy.usable_prefix(path) else { return false };
        let mut new = false;
        for part in policy.parts(by) {
            new |= add(policy, paths, now, &path, part);
        }
        new
    }

    fn on_route_observed(
        &mut self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
    ) -> bool {
        let Self { policy, paths } = self;
        policy.observe(now, route, heard, |policy, path, part| add(policy, paths, now, path, part))
    }

    fn on_link_failure(
        &mut self,
        _now: Instant,
        link: FailedLink,
        _report: LinkFailureReport<'_>,
    ) -> bool {
        self.policy.clear_recent();
        let there = self.paths.remove_link(link.from, link.to);
        let back = self.policy.forget_both_ways() && self.paths.remove_link(link.to, link.from);
        there || back
    }

    fn lookup(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.paths.find(now, destination).filter(|path| self.policy.fits(path))
    }

    fn select(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        let (path, moved) = self.paths.take(now, destination)?;
        if moved {
            self.policy.clear_recent();
        }
        Some(path).filter(|path| self.policy.fits(path))
    }

    /// Salvaging moves no path.
    fn select_for_salvage(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.lookup(now, destination)
    }

    fn has_link(&self, _now: Instant, link: FailedLink) -> bool {
        let parts = [&self.paths.primary, &self.paths.secondary];
        let mut paths = parts.into_iter().flat_map(|part| &part.paths);
        paths.any(|path| path.as_slice().windows(2).any(|ends| ends == [link.from, link.to]))
    }

    fn clone_boxed(&self) -> Box<dyn RouteCache> {
        Box::new(self.clone())
    }
}

/// Paths in two parts, so that discovered routes are not evicted by observed ones.
#[derive(Clone, Debug)]
pub(crate) struct PathCache {
    primary: Part,
    secondary: Part,
    timeout: Option<Duration>,
}

impl PathCache {
    pub fn new(primary: u16, secondary: u16, timeout: Option<Duration>) -> Self {
        Self { primary: Part::new(primary), secondary: Part::new(secondary), timeout }
    }

    /// Adds a path that starts at this node; returns true if it contains anything new.
    pub fn add(&mut self, now: Instant, path: &Path, part: CachePart) -> bool {
        let until = self.timeout.map_or(Instant::FAR_FUTURE, |timeout| now + timeout);
        match part {
            CachePart::Primary => self.primary.add(path, until),
            CachePart::Secondary => self.secondary.add(path, until),
        }
    }

    /// Returns true if a new path would evict another.
    pub fn is_full(&self, part: CachePart) -> bool {
        let part = match part {
            CachePart::Primary => &self.primary,
            CachePart::Secondary => &self.secondary,
        };
        part.paths.len() >= usize::from(part.capacity)
    }

    /// The shortest path to `destination`, of equals that of the primary part.
    pub fn find(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.select_shortest(now, destination).map(|(_, _, path)| path)
    }

    /// The same for use: a path of the secondary part is moved to the primary as a whole, in which case the
    /// result is true.
    pub fn take(&mut self, now: Instant, destination: Ipv4Addr) -> Option<(Path, bool)> {
        let (part, slot, path) = self.select_shortest(now, destination)?;
        let moves = part == CachePart::Secondary;
        if moves && let Some(whole) = self.secondary.paths.get(slot).copied() {
            let until = self.secondary.until.get(slot).copied().unwrap_or(Instant::FAR_FUTURE);
            self.primary.add(&whole, until);
            self.secondary.truncate_path(slot, 0);
        }
        Some((path, moves))
    }

    fn select_shortest(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
    ) -> Option<(CachePart, usize, Path)> {
        if self.timeout.is_some() {
            self.primary.expire(now);
            self.secondary.expire(now);
        }
        let first = self.primary.find(destination);
        let second = self.secondary.find(destination);
        let (part, (slot, at)) = match (first, second) {
            (Some(first), Some(second)) if second.1 < first.1 => (CachePart::Secondary, second),
            (Some(first), _) => (CachePart::Primary, first),
            (None, Some(second)) => (CachePart::Secondary, second),
            (None, None) => return None,
        };
        let mut path = match part {
            CachePart::Primary => *self.primary.paths.get(slot)?,
            CachePart::Secondary => *self.secondary.paths.get(slot)?,
        };
        path.truncate(at + 1);
        Some((part, slot, path))
    }

    /// Removes the part of each path behind the failed link from `from` to `to`.
    pub fn remove_link(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let first = self.primary.remove_link(from, to);
        self.secondary.remove_link(from, to) || first
    }

    #[cfg(test)]
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let parts = self.primary.paths.iter().chain(&self.secondary.paths);
        parts.filter(|path| path.len() > 0)
    }
}

/// The second node of a path; unspecified if it has none.
fn first_hop(path: &Path) -> Ipv4Addr {
    path.get(1).unwrap_or(Ipv4Addr::UNSPECIFIED)
}

/// Paths in slots; an empty slot is filled by the next path that is added.
#[derive(Clone, Debug)]
struct Part {
    paths: Vec<Path>,
    /// The nodes of each path, which decide most lookups.
    masks: Vec<NodeMask>,
    /// The second node of each path, [`UNSPECIFIED`](Ipv4Addr::UNSPECIFIED) if it has none: all paths start at
    /// this node, so that the second distinguishes most of them.
    first_hops: Vec<Ipv4Addr>,
    until: Vec<Instant>,
    capacity: u16,
    /// The next slot to evict.
    next_evicted: u16,
}

impl Part {
    fn new(capacity: u16) -> Self {
        let most = usize::from(capacity);
        Self {
            paths: Vec::with_capacity(most),
            masks: Vec::with_capacity(most),
            first_hops: Vec::with_capacity(most),
            until: Vec::with_capacity(most),
            capacity,
            next_evicted: 0,
        }
    }

    /// Adds a path. One that continues a known path replaces it; a prefix of a known path adds nothing.
    fn add(&mut self, path: &Path, until: Instant) -> bool {
        let new = path.as_slice();
        let hop = first_hop(path);
        for (slot, known) in self.first_hops.iter().enumerate() {
            if *known != hop && *known != Ipv4Addr::UNSPECIFIED {
                continue;
            }
            let old = self.paths.get(slot).map_or(&[][..], Path::as_slice);
            if new.starts_with(old) {
                let longer = new.len() > old.len();
                self.set_path(slot, path, until);
                return longer;
            }
            if old.starts_with(new) {
                if let Some(known) = self.until.get_mut(slot) {
                    *known = until.max(*known);
                }
                return false;
            }
        }
        if self.paths.len() < usize::from(self.capacity) {
            self.paths.push(Path::EMPTY);
            self.masks.push(0);
            self.first_hops.push(Ipv4Addr::UNSPECIFIED);
            self.until.push(until);
            self.set_path(self.paths.len() - 1, path, until);
        } else if self.capacity > 0 {
            self.set_path(usize::from(self.next_evicted), path, until);
            self.next_evicted = (self.next_evicted + 1) % self.capacity;
        }
        true
    }

    fn set_path(&mut self, slot: usize, path: &Path, until: Instant) {
        if let (Some(old), Some(when)) = (self.paths.get_mut(slot), self.until.get_mut(slot)) {
            (*old, *when) = (*path, until);
        }
        self.index_path(slot);
    }

    /// Notes the nodes of a path that has changed.
    fn index_path(&mut self, slot: usize) {
        let Some(path) = self.paths.get(slot) else { return };
        if let Some(mask) = self.masks.get_mut(slot) {
            *mask = path.mask();
        }
        if let Some(hop) = self.first_hops.get_mut(slot) {
            *hop = first_hop(path);
        }
    }

    /// Keeps the first `len` nodes of a path.
    fn truncate_path(&mut self, slot: usize, len: usize) {
        if let Some(path) = self.paths.get_mut(slot) {
            path.truncate(len);
        }
        self.index_path(slot);
    }

    /// The first of the shortest paths: its slot, and the position of the destination.
    fn find(&self, destination: Ipv4Addr) -> Option<(usize, usize)> {
        let wanted = node_bit(destination);
        let mut best = None;
        for (slot, mask) in self.masks.iter().enumerate() {
            if mask & wanted == 0 {
                continue;
            }
            let Some(at) = self.paths.get(slot).and_then(|path| path.position(destination)) else {
                continue;
            };
            if best.is_none_or(|(_, shortest)| at < shortest) {
                best = Some((slot, at));
            }
        }
        best
    }

    fn remove_link(&mut self, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let both = node_bit(from) | node_bit(to);
        let mut removed = false;
        for slot in 0..self.paths.len() {
            if self.masks.get(slot).is_none_or(|mask| mask & both != both) {
                continue;
            }
            let Some(path) = self.paths.get(slot) else { continue };
            let Some(at) = path.as_slice().windows(2).position(|link| link == [from, to]) else {
                continue;
            };
            self.truncate_path(slot, if at == 0 { 0 } else { at + 1 });
            removed = true;
        }
        removed
    }

    fn expire(&mut self, now: Instant) {
        for slot in 0..self.until.len() {
            if self.until.get(slot).is_some_and(|until| *until <= now) {
                self.truncate_path(slot, 0);
            }
        }
    }
}

#[cfg(test)]
mod test {
    use super::super::caches::CacheKind;
    use super::super::config::DsrConfig;
    use super::*;
    use CachePart::{Primary, Secondary};

    const NOW: Instant = Instant::ZERO;

    fn node(n: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, n)
    }

    fn path(nodes: &[u8]) -> Path {
        let mut path = Path::EMPTY;
        assert!(nodes.iter().all(|n| path.push(node(*n))));
        path
    }

    fn small() -> PathCache {
        PathCache::new(2, 2, None)
    }

    #[test]
    fn the_shortest_path_wins_then_the_primary_part() {
        let mut cache = small();
        cache.add(NOW, &path(&[1, 2, 3, 4]), Primary);
        cache.add(NOW, &path(&[1, 5, 4, 6]), Secondary);
        assert_eq!(cache.find(NOW, node(4)), Some(path(&[1, 5, 4])));
        cache.add(NOW, &path(&[1, 7, 4]), Primary);
        assert_eq!(cache.find(NOW, node(4)), Some(path(&[1, 7, 4])));
        assert_eq!(cache.find(NOW, node(9)), None);
    }

    #[test]
    fn a_path_replaces_its_prefix_and_a_known_prefix_adds_nothing() {
        let mut cache = small();
        assert!(cache.add(NOW, &path(&[1, 2]), Primary));
        assert!(cache.add(NOW, &path(&[1, 2, 3]), Primary));
        assert!(!cache.add(NOW, &path(&[1, 2]), Primary));
        assert!(!cache.add(NOW, &path(&[1, 2, 3]), Primary));
        assert_eq!(cache.paths().count(), 1);
    }

    #[test]
    fn the_oldest_is_evicted() {
        let mut cache = small();
        for n in 2..5 {
            cache.add(NOW, &path(&[1, n]), Primary);
        }
        let known = |cache: &mut PathCache, n| cache.find(NOW, node(n)).is_some();
        assert_eq!([2, 3, 4].map(|n| known(&mut cache, n)), [false, true, true]);
        cache.add(NOW, &path(&[1, 6]), Primary);
        assert_eq!([3, 4, 6].map(|n| known(&mut cache, n)), [false, true, true]);
    }

    #[test]
    fn a_failed_link_truncates_paths_in_its_direction_only() {
        let mut cache = small();
        cache.add(NOW, &path(&[1, 2, 3, 4]), Primary);
        cache.add(NOW, &path(&[1, 3, 2, 5]), Secondary);
        assert!(cache.remove_link(node(2), node(3)));
        assert_eq!(cache.find(NOW, node(4)), None);
        assert_eq!(cache.find(NOW, node(2)), Some(path(&[1, 2])));
        assert_eq!(cache.find(NOW, node(5)), Some(path(&[1, 3, 2, 5])));
        assert!(cache.remove_link(node(1), node(3)));
        assert_eq!(cache.find(NOW, node(5)), None);
        assert!(!cache.remove_link(node(1), node(3)));
    }

    /// An evicted path is added again with the next packet on it.
    #[test]
    fn an_evicted_path_is_added_again() {
        let limits = CacheLimits { primary: 2, secondary: 2, timeout: None };
        let config = DsrConfig { cache: CacheKind::paths(limits), ..DsrConfig::NS2 };
        let mut cache = config.cache.build(node(1), &config.caching_rules());
        let mut hear = |by| {
            let carried = SourceRoute { path: path(&[9, 1, by, by + 1]), next_position: 1 };
            let new =
                cache.on_route_observed(NOW, &carried, RouteObservation::Forwarded { data: true });
            (new, cache.lookup(NOW, node(by + 1)).is_some())
        };
        for by in [2, 4, 6, 2] {
            assert_eq!(hear(by), (true, true), "{by}");
        }
        assert_eq!(hear(2), (false, true), "it is cached");
    }

    #[test]
    fn a_used_path_moves_to_the_primary_part() {
        let mut cache = PathCache::new(2, 1, None);
        cache.add(NOW, &path(&[1, 2, 3, 4]), Secondary);
        assert_eq!(cache.take(NOW, node(3)), Some((path(&[1, 2, 3]), true)));
        cache.add(NOW, &path(&[1, 8]), Secondary);
        assert_eq!(cache.find(NOW, node(4)), Some(path(&[1, 2, 3, 4])), "the whole path");
        assert_eq!(cache.paths().count(), 2);
    }

    #[test]
    fn a_path_may_have_a_lifetime() {
        let mut cache = PathCache::new(2, 2, Some(Duration::from_secs(300)));
        cache.add(NOW, &path(&[1, 2]), Primary);
        assert!(cache.find(Instant::from_secs(299), node(2)).is_some());
        assert!(cache.find(Instant::from_secs(300), node(2)).is_none());
    }
}
