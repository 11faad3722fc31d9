//! Link-MaxLife (RFC 4728 App. A): links with a lifetime each, and the best route through them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr};

use super::cache::{LearnedBy, LinkFailureReport, RouteCache, RouteObservation};
use super::cache_descriptor::{CacheDescriptor, CacheOptions};
use super::caching_policy::CachingPolicy;
use super::link_graph::{LinkGraph, Node};
use super::path::{PATH_NODES_MAX, Path, SourceRoute};
use crate::external::ExternalHosts;

pub(crate) const DESCRIPTOR: CacheDescriptor = CacheDescriptor {
    name: "link-max-life",
    options: CacheOptions::None,
    options_are_optional: true,
    build: |me, _, rules| {
        let learning = CachingPolicy::new(me, rules, Some(RENEW_INTERVAL));
        Box::new(LinkMaxLife { policy: learning, links: LinkCache::new(me) })
    },
};

/// The interval after which observing a route again refreshes its links.
const RENEW_INTERVAL: Duration = Duration::from_secs(1);

/// StabilityIncrFactor: the gain in stability of both ends per time between two uses of a link.
const STABILITY_INCR_FACTOR: u64 = 4;
/// StabilityDecrFactor: the divisor of stability of both ends when a link breaks.
const STABILITY_DECR_FACTOR: u64 = 2;
/// MinLifetime of a link.
const MIN_LIFETIME: Duration = Duration::from_secs(1);
/// UseExtends: the minimum remaining lifetime after a use.
const USE_EXTENDS: Duration = Duration::from_secs(120);

/// The links, with the caching policy.
#[derive(Clone, Debug)]
struct LinkMaxLife {
    policy: CachingPolicy,
    links: LinkCache,
}

impl RouteCache for LinkMaxLife {
    fn on_route_learned(&mut self, now: Instant, path: &Path, by: LearnedBy) -> bool {
        let Some(path) = self.policy.usable_prefix(path) else { return false };
        let mut new = false;
        for _ in self.policy.parts(by) {
            new |= self.links.add(now, path.as_slice(), self.policy.both_ways());
        }
        new
    }

    /// All links of the route, even without a route there from this node so far (RFC 4728 §8.1.4, §4.1: links
    /// learned at different times form new routes).
    fn on_route_observed(
        &mut self,
        now: Instant,
        route: &SourceRoute,
        heard: RouteObservation,
    ) -> bool {
        let Self { policy, links } = self;
        if policy.admit(now, route, heard).is_none() {
            return false;
        }
        let both_ways = policy.both_ways();
        let over = policy.overheard_link(route);
        let mut new = over.is_some_and(|link| links.add(now, &link, both_ways));
        new |= links.add(now, route.path.as_slice(), both_ways);
        policy.record_recent(now, route);
        new
    }

    fn on_link_failure(
        &mut self,
        _now: Instant,
        link: FailedLink,
        _report: LinkFailureReport<'_>,
    ) -> bool {
        self.policy.clear_recent();
        self.links.remove(link.from, link.to, self.policy.forget_both_ways())
    }

    fn lookup(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.links.find(now, destination, false).filter(|path| self.policy.fits(path))
    }

    fn select(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.links.find(now, destination, true).filter(|path| self.policy.fits(path))
    }

    /// Salvaging is a use of a link, too (RFC 4728 App. A).
    fn select_for_salvage(&mut self, now: Instant, destination: Ipv4Addr) -> Option<Path> {
        self.select(now, destination)
    }

    fn mark_external(&mut self, host: Ipv4Addr) {
        self.links.mark_external(host);
    }

    fn has_link(&self, now: Instant, link: FailedLink) -> bool {
        let graph = &self.links.graph;
        let ends = graph.index_of(link.from).zip(graph.index_of(link.to));
        ends.is_some_and(|(tail, head)| {
            graph.links_from(tail).any(|(_, to, until)| to == head && now < until)
        })
    }

    fn clone_boxed(&self) -> Box<dyn RouteCache> {
        Box::new(self.clone())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct LinkCache {
    me: Ipv4Addr,
    graph: LinkGraph,
    /// Hosts that are the end of every route.
    external: ExternalHosts,
    /// The shortest-path tree, valid until one of its links expires; `None` if links have changed.
    tree: Vec<TreeEntry>,
    tree_valid_until: Option<Instant>,
    /// Work space of a search.
    frontier: Vec<u16>,
    next_frontier: Vec<u16>,
}

/// An entry of the shortest-path tree.
#[derive(Clone, Copy, Debug)]
struct TreeEntry {
    /// The earliest expiry of the links to the node.
    until: Instant,
    hops: u16,
    /// The index of the last link, and the node before it.
    link: u16,
    previous: u16,
}

const UNREACHED: TreeEntry =
    TreeEntry { until: Instant::ZERO, hops: u16::MAX, link: 0, previous: 0 };

impl LinkCache {
    pub fn new(me: Ipv4Addr) -> Self {
        let mut graph = LinkGraph::new();
        graph.index_or_insert(me);
        let (tree, frontier, next_frontier) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            me,
            graph,
            external: ExternalHosts::default(),
            tree,
            tree_valid_until: None,
            frontier,
            next_frontier,
        }
    }

    pub fn mark_external(&mut self, host: Ipv4Addr) {
        self.external.add(host);
        self.tree_valid_until = None;
    }

    /// Adds the links of a path, or refreshes them; returns true if one of them is new. `both_ways`: in both
    /// directions.
    pub fn add(&mut self, now: Instant, path: &[Ipv4Addr], both_ways: bool) -> bool {
        let mut new = false;
        // The index of the node between the last link and the next.
        let mut joint = None;
        for ends in path.windows(2) {
            let &[from, to] = ends else { continue };
            let known = joint.or_else(|| self.graph.index_of(from)).zip(self.graph.index_of(to));
            joint = match known {
                Some((tail, head)) if self.graph.has_room_for(2) => {
                    new |= self.add_by_index(now, tail, head);
                    new |= both_ways && self.add_by_index(now, head, tail);
                    Some(head)
                }
                _ => {
                    new |= self.add_link(now, from, to);
                    new |= both_ways && self.add_link(now, to, from);
                    // An eviction may have changed the indices.
                    None
                }
            };
        }
        new
    }

    /// Adds a link whose ends may be new, evicting others if the cache is full.
    fn add_link(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let graph = &mut self.graph;
        let full = !graph.has_room_for(1);
        let new_end = graph.index_of(from).is_none() || graph.index_of(to).is_none();
        if full || new_end && !graph.has_room_for_ends() {
            graph.evict(now, self.me);
            self.tree_valid_until = None;
        }
        match (graph.index_or_insert(from), graph.index_or_insert(to)) {
            (Some(tail), Some(head)) => self.add_by_index(now, tail, head),
            _ => false,
        }
    }

    /// Adds a link between nodes with indices.
    fn add_by_index(&mut self, now: Instant, tail: u16, head: u16) -> bool {
        let graph = &mut self.graph;
        let (Some(from), Some(to)) = (graph.node(tail), graph.node(head)) else { return false };
        let until = now + from.stability.min(to.stability).max(MIN_LIFETIME);
        match graph.link_position(tail, head) {
            Ok(place) => {
                let Some(known) = graph.expires_at_mut(place) else { return false };
                let was_over = *known <= now;
                *known = until.max(*known);
                if was_over {
                    self.tree_valid_until = None;
                }
                was_over
            }
            Err(place) => {
                graph.insert(place, tail, head, now, until);
                self.tree_valid_until = None;
                true
            }
        }
    }

    /// The shortest route; of several the one that lasts longest.
    pub fn find(&mut self, now: Instant, destination: Ipv4Addr, used: bool) -> Option<Path> {
        if self.tree_valid_until.is_none_or(|until| until <= now) {
            self.build_tree(now);
        }
        let mut path = Path::EMPTY;
        let mut at = self.graph.index_of(destination)?;
        for _ in 0..PATH_NODES_MAX {
            path.push(self.graph.node(at)?.address);
            let reached = *self.tree.get(usize::from(at))?;
            match reached.hops {
                0 => return Some(path.reversed()),
                u16::MAX => return None,
                _ => {}
            }
            if used {
                let used = core::mem::replace(self.graph.last_used_mut(reached.link)?, now);
                let gained = now.since(used).times(STABILITY_INCR_FACTOR);
                let until = self.graph.expires_at_mut(reached.link)?;
                *until = (*until).max(now + USE_EXTENDS);
                for end in [reached.previous, at] {
                    if let Some(node) = self.graph.node_mut(end) {
                        node.stability = node.stability + gained;
                    }
                }
            }
            at = reached.previous;
        }
        None
    }

    /// Removes a link and, if `both_ways`, its reverse; returns true if one of them was known. That is one
    /// break, which reduces the stability of its ends once (RFC 4728 App. A).
    pub fn remove(&mut self, from: Ipv4Addr, to: Ipv4Addr, both_ways: bool) -> bool {
        let graph = &mut self.graph;
        let (Some(tail), Some(head)) = (graph.index_of(from), graph.index_of(to)) else {
            return false;
        };
        let mut was_known = graph.remove(tail, head);
        was_known |= both_ways && graph.remove(head, tail);
        if !was_known {
            return false;
        }
        self.tree_valid_until = None;
        for end in [tail, head] {
            if let Some(node) = graph.node_mut(end) {
                node.stability = node.stability.over(STABILITY_DECR_FACTOR);
            }
        }
        true
    }

    /// Breadth-first search; among routes of the same length the longest lifetime wins, then the node that
    /// was known first.
    fn build_tree(&mut self, now: Instant) {
        let mut good_until = Instant::FAR_FUTURE;
        self.tree.clear();
        self.tree.resize(self.graph.nodes(), UNREACHED);
        self.frontier.clear();
        if let Some(me) = self.graph.index_of(self.me)
            && let Some(reached) = self.tree.get_mut(usize::from(me))
        {
            *reached = TreeEntry { until: Instant::FAR_FUTURE, hops: 0, link: 0, previous: me };
            self.frontier.push(me);
        }
        let mut hops = 0;
        while !self.frontier.is_empty() && usize::from(hops) + 1 < PATH_NODES_MAX {
            hops += 1;
            self.next_frontier.clear();
            for &from in &self.frontier {
                let is_external = |node: &Node| self.external.contains(node.address);
                if self.graph.node(from).is_some_and(is_external) {
                    continue;
                }
                let so_far = self.tree.get(usize::from(from)).map_or(now, |node| node.until);
                for (link, to, ends) in self.graph.links_from(from) {
                    let Some(known) = self.tree.get_mut(usize::from(to)) else { continue };
                    if ends <= now || known.hops < hops {
                        continue;
                    }
                    let until = so_far.min(ends);
                    if known.hops > hops {
                        self.next_frontier.push(to);
                    } else if until <= known.until {
                        continue;
                    }
                    *known = TreeEntry { until, hops, link, previous: from };
                }
            }
            for node in &self.next_frontier {
                let until = self.tree.get(usize::from(*node)).map(|reached| reached.until);
                good_until = until.map_or(good_until, |until| until.min(good_until));
            }
            core::mem::swap(&mut self.frontier, &mut self.next_frontier);
        }
        self.tree_valid_until = Some(good_until);
    }
}

#[cfg(test)]
mod test {
    use proptest::prelude::*;

    use super::super::config::DsrConfig;
    use super::super::reference_link_cache::ReferenceLinkCache;
    use super::*;

    fn node(n: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a00_0000 + n)
    }

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    fn cache(now: Instant, links: &[(u32, u32)]) -> LinkCache {
        let mut cache = LinkCache::new(node(1));
        for (from, to) in links {
            cache.add(now, &[node(*from), node(*to)], false);
        }
        cache
    }

    fn find(cache: &mut LinkCache, now: Instant, to: u32) -> Vec<u32> {
        let path = cache.find(now, node(to), false).unwrap_or(Path::EMPTY);
        path.as_slice().iter().map(|node| node.to_bits() & 0xff_ffff).collect()
    }

    fn ends(cache: &mut LinkCache, from: u32, to: u32) -> Instant {
        let graph = &mut cache.graph;
        let ends = graph.index_of(node(from)).zip(graph.index_of(node(to))).unwrap();
        *graph.expires_at_mut(graph.link_position(ends.0, ends.1).unwrap()).unwrap()
    }

    #[test]
    fn the_shortest_route_wins_then_the_longest_lifetime() {
        let mut cache = cache(at(0), &[(1, 2), (2, 9), (1, 3), (3, 9), (9, 4), (4, 5), (2, 5)]);
        assert_eq!(find(&mut cache, at(0), 5), [1, 2, 5]);
        assert_eq!(find(&mut cache, at(0), 9), [1, 2, 9], "a tie");
        cache.add(at(5), &[node(1), node(3)], false);
        cache.add(at(5), &[node(3), node(9)], false);
        cache.add(at(5), &[node(3), node(8)], false);
        assert_eq!(find(&mut cache, at(5), 9), [1, 3, 9], "refreshed later");
    }

    #[test]
    fn links_are_directed() {
        let mut cache = cache(at(0), &[(1, 2), (3, 2)]);
        assert_eq!(find(&mut cache, at(0), 3), []);
        cache.add(at(0), &[node(2), node(3)], false);
        assert_eq!(find(&mut cache, at(0), 3), [1, 2, 3]);
        assert!(cache.remove(node(1), node(2), false));
        assert!(!cache.remove(node(1), node(2), false));
        assert_eq!(find(&mut cache, at(0), 3), []);
    }

    #[test]
    fn lifetime_follows_the_less_stable_end_and_use_extends_it() {
        let mut unused = cache(at(0), &[(1, 2), (2, 3)]);
        assert_eq!(find(&mut unused, at(24), 3), [1, 2, 3]);
        assert_eq!(find(&mut unused, at(25), 3), []);

        let mut used = cache(at(0), &[(1, 2), (2, 3)]);
        assert!(used.find(at(10), node(3), true).is_some());
        assert_eq!(find(&mut used, at(129), 3), [1, 2, 3], "120 s after its use");
        assert_eq!(find(&mut used, at(130), 3), []);
        // The use after 10 s has increased it to 25 s + 4 × 10 s, for node 2 twice.
        used.add(at(200), &[node(2), node(3)], false);
        assert_eq!(ends(&mut used, 2, 3), at(265));

        let mut broken = cache(at(0), &[(1, 2), (2, 3)]);
        broken.remove(node(2), node(3), false);
        broken.add(at(0), &[node(2), node(3)], false);
        assert_eq!(ends(&mut broken, 2, 3).as_millis(), 12_500, "half as stable");
        for _ in 0..20 {
            broken.remove(node(2), node(3), false);
            broken.add(at(0), &[node(2), node(3)], false);
        }
        assert_eq!(ends(&mut broken, 2, 3), at(1), "the shortest lifetime");
    }

    /// RFC 4728 App. A: "when a link is observed to break", the stability of each end is halved once, however
    /// many directions of it are known.
    #[test]
    fn one_break_halves_the_stability_of_both_ends_once() {
        for forget_both_ways in [true, false] {
            let config = DsrConfig { forget_both_ways, ..DsrConfig::STANDARD };
            let policy = CachingPolicy::new(node(1), &config.caching_rules(), Some(RENEW_INTERVAL));
            let mut cache = LinkMaxLife { policy, links: LinkCache::new(node(1)) };
            let mut path = Path::EMPTY;
            path.extend(&[node(1), node(2), node(3)]);
            cache.on_route_learned(at(0), &path, LearnedBy::Reply);
            let link = FailedLink { from: node(2), to: node(3) };
            assert!(cache.on_link_failure(
                at(0),
                link,
                LinkFailureReport::LinkLayer { route: None }
            ));
            assert!(
                !cache.on_link_failure(at(0), link, LinkFailureReport::LinkLayer { route: None }),
                "the same failure again"
            );
            cache.on_route_learned(at(0), &path, LearnedBy::Reply);
            assert_eq!(ends(&mut cache.links, 2, 3).as_millis(), 12_500);
            assert_eq!(ends(&mut cache.links, 1, 2), at(25), "it had a lifetime already");
        }
    }

    #[test]
    fn a_large_network_does_not_exceed_the_capacity() {
        let mut cache = LinkCache::new(node(1));
        for n in 0..5_000u32 {
            let now = Instant::from_millis(u64::from(n));
            cache.add(now, &[node(1 + n * 7 % 400), node(1 + n * 13 % 911)], false);
            cache.graph.assert_invariants();
        }
        cache.add(at(5), &[node(1), node(7000)], false);
        assert_eq!(find(&mut cache, at(5), 7000), [1, 7000], "there is room for new nodes");
    }

    /// An operation on a cache, with small numbers for its nodes.
    #[derive(Clone, Debug)]
    enum Step {
        Add { path: Vec<u32>, both_ways: bool },
        Remove { from: u32, to: u32, both_ways: bool },
        Find { to: u32, used: bool },
        Wait { millis: u64 },
    }

    /// Operations in a network of that many nodes; half of the paths start at the cache's own node.
    fn steps(nodes: u32) -> impl Strategy<Value = Vec<Step>> {
        let node = 1..=nodes;
        let path = (any::<bool>(), proptest::collection::vec(node.clone(), 2..8));
        let path = path.prop_map(|(own, mut path)| {
            path[0] = if own { 1 } else { path[0] };
            path
        });
        let step = prop_oneof![
            6 => (path, any::<bool>()).prop_map(|(path, both_ways)| Step::Add { path, both_ways }),
            1 => (node.clone(), node.clone(), any::<bool>())
                .prop_map(|(from, to, both_ways)| Step::Remove { from, to, both_ways }),
            4 => (node, any::<bool>()).prop_map(|(to, used)| Step::Find { to, used }),
            2 => (0..30_000u64).prop_map(|millis| Step::Wait { millis }),
        ];
        proptest::collection::vec(step, 1..600)
    }

    /// Applies the operations to the cache and to the reference implementation, and compares all results.
    fn agree(steps: &[Step]) {
        let mut now = Instant::ZERO;
        let (mut cache, mut plain) = (LinkCache::new(node(1)), ReferenceLinkCache::new(node(1)));
        for step in steps {
            match step {
                Step::Add { path, both_ways } => {
                    let path: Vec<_> = path.iter().map(|number| node(*number)).collect();
                    let new = cache.add(now, &path, *both_ways);
                    assert_eq!(new, plain.add(now, &path, *both_ways), "{step:?}");
                }
                Step::Remove { from, to, both_ways } => {
                    let (from, to) = (node(*from), node(*to));
                    let was_known = cache.remove(from, to, *both_ways);
                    assert_eq!(was_known, plain.remove(from, to, *both_ways), "{step:?}");
                }
                Step::Find { to, used } => {
                    let (path, to) = (cache.find(now, node(*to), *used), node(*to));
                    assert_eq!(path, plain.find(now, to, *used), "{step:?} at {now:?}");
                }
                Step::Wait { millis } => now += Duration::from_millis(*millis),
            }
            cache.graph.assert_invariants();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn few_nodes_match_the_reference(steps in steps(12)) {
            agree(&steps);
        }

        /// More nodes than the capacity.
        #[test]
        fn many_nodes_match_the_reference(steps in steps(330)) {
            agree(&steps);
        }

        /// More links than the capacity, between fewer nodes than the capacity.
        #[test]
        fn many_links_match_the_reference(steps in steps(90)) {
            agree(&steps);
        }
    }
}
