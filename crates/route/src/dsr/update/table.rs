//! The cache table (yu-2004 §2.2): routes, and how far the nodes on each are synchronized about it.

use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::path::{NodeMask, Path, node_bit};

/// A higher number of data packets makes no difference.
pub(super) const DATA_MAX: u8 = 2;

/// A route, and this node's knowledge of the other nodes that have it.
#[derive(Clone, Debug)]
pub(super) struct RouteEntry {
    /// The route from this node to the destination; once data has passed, from the source.
    pub route: Path,
    /// The nodes of the route, which decide most lookups.
    mask: NodeMask,
    /// The source and the destination that it serves.
    pub pair: (Ipv4Addr, Ipv4Addr),
    /// The number of data packets that this node has forwarded, sent or received on the route: 0, 1, or 2 for
    /// more. From 1 on the nodes before this one have the route; from 2 on those behind it do, because the
    /// first packet got past.
    pub data_packets: u8,
    /// It was learned by a reply from the next node, which has its own part of it.
    pub learned_by_reply: bool,
}

impl RouteEntry {
    fn new(route: &Path, pair: (Ipv4Addr, Ipv4Addr)) -> Self {
        Self { route: *route, mask: route.mask(), pair, data_packets: 0, learned_by_reply: false }
    }
}

/// The routes, the newest last. There is no limit: the table grows with the routes that are discovered, and
/// shrinks with link failures.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteTable {
    entries: Vec<RouteEntry>,
}

/// The position of the node before a link, if a route crosses it in either direction.
pub(super) fn crossing_position(route: &Path, link: FailedLink) -> Option<usize> {
    let FailedLink { from, to } = link;
    let mut links = route.as_slice().windows(2);
    links.position(|ends| ends == [from, to] || ends == [to, from])
}

/// The part of a route on this node's side of the link behind `at`; `None` if it has no hop.
pub(super) fn usable_part(route: &Path, at: usize, me: Ipv4Addr) -> Option<Path> {
    let nodes = route.as_slice();
    let side = if route.position(me)? <= at { nodes.get(..=at)? } else { nodes.get(at + 1..)? };
    (side.len() > 1).then(|| Path::of(side))
}

impl RouteTable {
    /// Returns true if `part` is part of a route, in either direction.
    pub fn covers(&self, part: &Path) -> bool {
        let (there, mask) = (part.as_slice(), part.mask());
        let back = part.reversed();
        let runs = |route: &Path| {
            let mut runs = route.as_slice().windows(there.len().max(1));
            runs.any(|run| run == there || run == back.as_slice())
        };
        self.entries.iter().any(|entry| entry.mask & mask == mask && runs(&entry.route))
    }

    /// Adds a route that starts at this node, learned for a pair of nodes, by a reply from its next node if
    /// `learned_by_reply`; returns true if it is new.
    pub fn learn(
        &mut self,
        route: &Path,
        pair: (Ipv4Addr, Ipv4Addr),
        learned_by_reply: bool,
    ) -> bool {
        if let Some(known) = self.entries.iter_mut().find(|entry| entry.route == *route) {
            known.learned_by_reply |= learned_by_reply;
            return false;
        }
        let new = !self.covers(route);
        if new {
            self.entries.push(RouteEntry { learned_by_reply, ..RouteEntry::new(route, pair) });
        }
        new
    }

    /// Counts a data packet with this source route at `me`, its source, its destination or an intermediate
    /// node; returns true if the route contains anything new.
    pub fn record_data_packet(&mut self, route: &Path, me: Ipv4Addr) -> bool {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.route == *route) {
            entry.data_packets = (entry.data_packets + 1).min(DATA_MAX);
            return false;
        }
        let (Some(first), Some(last), Some(at)) = (route.first(), route.last(), route.position(me))
        else {
            return false;
        };
        let pair = (first, last);
        let rest = route.as_slice().get(at..).unwrap_or_default();
        let is_rest = |entry: &&mut RouteEntry| {
            entry.data_packets == 0 && entry.pair == pair && entry.route.as_slice() == rest
        };
        match self.entries.iter_mut().find(is_rest) {
            Some(entry) => {
                (entry.route, entry.mask, entry.data_packets) = (*route, route.mask(), 1)
            }
            None => {
                self.entries.push(RouteEntry { data_packets: 1, ..RouteEntry::new(route, pair) })
            }
        }
        true
    }

    /// The shortest route; of several the one that has carried more, then the newest.
    pub fn find(&self, me: Ipv4Addr, destination: Ipv4Addr) -> Option<Path> {
        let both = node_bit(me) | node_bit(destination);
        let mut best: Option<(usize, u8, &Path, usize, usize)> = None;
        for entry in self.entries.iter().filter(|entry| entry.mask & both == both) {
            let ends = entry.route.position(me).zip(entry.route.position(destination));
            let Some((from, to)) = ends.filter(|(from, to)| from != to) else { continue };
            let hops = from.abs_diff(to);
            if best.is_none_or(|(shortest, data, ..)| {
                hops < shortest || hops == shortest && entry.data_packets >= data
            }) {
                best = Some((hops, entry.data_packets, &entry.route, from, to));
            }
        }
        let (_, _, route, from, to) = best?;
        let nodes = route.as_slice();
        Some(match from < to {
            true => Path::of(nodes.get(from..=to)?),
            false => Path::of(nodes.get(to..=from)?).reversed(),
        })
    }

    pub fn has_link(&self, link: FailedLink) -> bool {
        let crosses = |entry: &RouteEntry| {
            let mut links = entry.route.as_slice().windows(2);
            links.any(|ends| ends == [link.from, link.to])
        };
        self.entries.iter().any(crosses)
    }

    /// Removes each route over a link, and calls `show` with the entry and the position at which it crosses
    /// the link. With `truncate` the part on the side of `me` is kept. Returns true if there was one.
    pub fn remove(
        &mut self,
        link: FailedLink,
        me: Ipv4Addr,
        truncate: bool,
        mut show: impl FnMut(&RouteEntry, usize),
    ) -> bool {
        let both = node_bit(link.from) | node_bit(link.to);
        let mut removed = false;
        self.entries.retain_mut(|entry| {
            if entry.mask & both != both {
                return true;
            }
            let Some(at) = crossing_position(&entry.route, link) else { return true };
            removed = true;
            show(entry, at);
            match usable_part(&entry.route, at, me).filter(|_| truncate) {
                Some(part) => {
                    (entry.route, entry.mask) = (part, part.mask());
                    true
                }
                None => false,
            }
        });
        if removed && truncate {
            self.merge();
        }
        removed
    }

    /// Merges routes that became equal by truncation: the first is kept, with the larger count.
    fn merge(&mut self) {
        let mut at = 0;
        while let Some((route, data)) =
            self.entries.get(at).map(|entry| (entry.route, entry.data_packets))
        {
            let earlier = self.entries.iter_mut().take(at).find(|known| known.route == route);
            match earlier {
                Some(known) => {
                    known.data_packets = known.data_packets.max(data);
                    self.entries.remove(at);
                }
                None => at += 1,
            }
        }
    }

    #[cfg(test)]
    pub fn entries(&self) -> &[RouteEntry] {
        &self.entries
    }
}
