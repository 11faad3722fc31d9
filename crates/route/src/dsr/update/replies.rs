//! The records of replies sent by this node.

use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::path::{NodeMask, Path, node_bit};
use super::table::crossing_position;

/// The reply records (yu-2004 §2.2: the neighbour that has learned a link by a reply): for each neighbour the
/// route that it has learned, which starts at the neighbour and continues with this node.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyRecords {
    records: Vec<ReplyRecord>,
}

#[derive(Clone, Copy, Debug)]
struct ReplyRecord {
    /// The route from the neighbour to the end of the reply's route.
    route: Path,
    /// The nodes of the route, which decide most lookups.
    mask: NodeMask,
    /// The initiator to which the reply was sent.
    source: Ipv4Addr,
}

impl ReplyRecords {
    pub fn record(&mut self, route: Path, source: Ipv4Addr) {
        if route.len() > 1 && self.records.iter().all(|known| known.route != route) {
            self.records.push(ReplyRecord { route, mask: route.mask(), source });
        }
    }

    /// Removes the record that is covered by a data packet with this source route from the neighbour before
    /// `me`: the route learned for its source is now part of this one, at both nodes, and the table records
    /// which nodes have it.
    pub fn remove_covered(&mut self, route: &Path, me: Ipv4Addr) {
        let from = route.position(me).and_then(|at| at.checked_sub(1));
        let Some(rest) = from.and_then(|from| route.as_slice().get(from..)) else { return };
        let source = route.first();
        self.records.retain(|known| known.route.as_slice() != rest || Some(known.source) != source);
    }

    /// Removes the records with a link, and calls `show` with the neighbour of each. With `truncate` the part
    /// before the link is kept.
    pub fn remove(&mut self, link: FailedLink, truncate: bool, mut show: impl FnMut(Ipv4Addr)) {
        let both = node_bit(link.from) | node_bit(link.to);
        self.records.retain_mut(|ReplyRecord { route, mask, .. }| {
            if *mask & both != both {
                return true;
            }
            let Some(at) = crossing_position(route, link) else { return true };
            route.first().into_iter().for_each(&mut show);
            route.truncate(at + 1);
            *mask = route.mask();
            truncate && at > 0
        });
    }

    #[cfg(test)]
    pub fn routes(&self) -> impl Iterator<Item = &Path> {
        self.records.iter().map(|record| &record.route)
    }
}
