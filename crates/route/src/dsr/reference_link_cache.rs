//! A straightforward implementation of Link-MaxLife, with links in a map and searches over all of them, as a
//! reference for [`LinkCache`](super::link_cache::LinkCache).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Ipv4Addr};

use super::path::{PATH_NODES_MAX, Path};

const NODES_MAX: usize = 256;
const LINKS_MAX: usize = 1024;

pub(crate) struct ReferenceLinkCache {
    me: Ipv4Addr,
    /// Nodes in order of their first appearance.
    nodes: Vec<(Ipv4Addr, Duration)>,
    /// Expiry and last use of the links, by both ends.
    links: BTreeMap<(usize, usize), (Instant, Instant)>,
    /// The shortest-path tree: hops, expiry and previous node.
    tree: BTreeMap<usize, (usize, Instant, usize)>,
    /// The expiry of the tree.
    tree_until: Option<Instant>,
}

impl ReferenceLinkCache {
    pub fn new(me: Ipv4Addr) -> Self {
        let nodes = alloc::vec![(me, Duration::from_secs(25))];
        Self { me, nodes, links: BTreeMap::new(), tree: BTreeMap::new(), tree_until: None }
    }

    fn index_of(&self, address: Ipv4Addr) -> Option<usize> {
        self.nodes.iter().position(|node| node.0 == address)
    }

    fn index_or_insert(&mut self, address: Ipv4Addr) -> Option<usize> {
        if self.index_of(address).is_none() && self.nodes.len() < NODES_MAX {
            self.nodes.push((address, Duration::from_secs(25)));
        }
        self.index_of(address)
    }

    pub fn add(&mut self, now: Instant, path: &[Ipv4Addr], both_ways: bool) -> bool {
        let mut new = false;
        for ends in path.windows(2) {
            new |= self.add_link(now, ends[0], ends[1]);
            if both_ways {
                new |= self.add_link(now, ends[1], ends[0]);
            }
        }
        new
    }

    fn add_link(&mut self, now: Instant, from: Ipv4Addr, to: Ipv4Addr) -> bool {
        let full = self.links.len() >= LINKS_MAX;
        let new_end = self.index_of(from).is_none() || self.index_of(to).is_none();
        if full || new_end && self.nodes.len() + 2 > NODES_MAX {
            self.evict(now);
        }
        let (from, to) = (self.index_or_insert(from), self.index_or_insert(to));
        let Some((from, to)) = from.zip(to) else { return false };
        let lifetime = self.nodes[from].1.min(self.nodes[to].1).max(Duration::from_secs(1));
        let known = self.links.get(&(from, to)).copied();
        let (until, used) = known.unwrap_or((Instant::ZERO, now));
        self.links.insert((from, to), (until.max(now + lifetime), used));
        let is_new = known.is_none() || until <= now;
        if is_new {
            self.tree_until = None;
        }
        is_new
    }

    fn evict(&mut self, now: Instant) {
        let mut ends: Vec<Instant> = self.links.values().map(|link| link.0).collect();
        ends.sort();
        let from_when = ends.get(ends.len() / 4).copied().unwrap_or(now).max(now);
        let old = core::mem::take(&mut self.nodes);
        let mut links = core::mem::take(&mut self.links);
        links.retain(|_, link| link.0 > from_when);
        let has_link = |at: usize| links.keys().any(|ends| ends.0 == at || ends.1 == at);
        let stays = |at: &usize| old[*at].0 == self.me || has_link(*at);
        let staying: Vec<usize> = (0..old.len()).filter(stays).collect();
        let new = |at: usize| staying.iter().position(|old| *old == at).unwrap();
        self.links = links.iter().map(|(ends, link)| ((new(ends.0), new(ends.1)), *link)).collect();
        self.nodes = staying.iter().map(|at| old[*at]).collect();
        self.tree_until = None;
    }

    pub fn remove(&mut self, from: Ipv4Addr, to: Ipv4Addr, both_ways: bool) -> bool {
        let Some((from, to)) = self.index_of(from).zip(self.index_of(to)) else { return false };
        let mut was_known = self.links.remove(&(from, to)).is_some();
        was_known |= both_ways && self.links.remove(&(to, from)).is_some();
        if was_known {
            for end in [from, to] {
                self.nodes[end].1 = self.nodes[end].1.over(2);
            }
            self.tree_until = None;
        }
        was_known
    }

    pub fn find(&mut self, now: Instant, destination: Ipv4Addr, used: bool) -> Option<Path> {
        if self.tree_until.is_none_or(|until| until <= now) {
            self.build_tree(now);
        }
        let mut at = self.index_of(destination)?;
        let mut nodes = alloc::vec![self.nodes[at].0];
        while let Some(&(hops, _, before)) = self.tree.get(&at)
            && hops > 0
        {
            if used {
                let link = self.links.get_mut(&(before, at)).unwrap();
                let gained = now.since(link.1).times(4);
                *link = (link.0.max(now + Duration::from_secs(120)), now);
                for end in [before, at] {
                    self.nodes[end].1 = self.nodes[end].1 + gained;
                }
            }
            at = before;
            nodes.push(self.nodes[at].0);
        }
        let mut path = Path::EMPTY;
        path.extend(&nodes);
        (nodes.last() == Some(&self.me)).then(|| path.reversed())
    }

    /// Level by level: of the links into a node from the previous level, in the order in which that was
    /// built, the one that lasts longest.
    fn build_tree(&mut self, now: Instant) {
        let me = self.index_of(self.me).unwrap();
        self.tree = BTreeMap::from([(me, (0, Instant::FAR_FUTURE, me))]);
        let mut level = alloc::vec![me];
        for hops in 1..PATH_NODES_MAX {
            let mut next_level = Vec::new();
            for from in level {
                for (&(_, to), link) in self.links.iter().filter(|(ends, _)| ends.0 == from) {
                    let until = link.0.min(self.tree[&from].1);
                    let better = match self.tree.get(&to) {
                        None => true,
                        Some(known) => known.0 == hops && known.1 < until,
                    };
                    if link.0 <= now || !better {
                        continue;
                    }
                    if self.tree.insert(to, (hops, until, from)).is_none() {
                        next_level.push(to);
                    }
                }
            }
            level = next_level;
        }
        let ends = self.tree.values().map(|reached| reached.1);
        self.tree_until = ends.min();
    }
}
