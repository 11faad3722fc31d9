//! Who has learned a route by a reply from this node.

use alloc::vec::Vec;

use driftway_base::{FailedLink, Ipv4Addr};

use super::super::path::{NodeMask, Path, node_bit};
use super::table::crossing_position;

/// The reply records (yu-2004 §2.2: which neighbour has learned which link by a reply): of each
/// neighbour the route that it has learned, which begins with it and leads on by this node.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyRecords {
    records: Vec<ReplyRecord>,
}

#[derive(Clone, Copy, Debug)]
struct ReplyRecord {
    /// From the neighbour to where the reply's route ends.
    route: Path,
    /// Which nodes it may have: most questions end here.
    mask: NodeMask,
    /// Whom the reply was for.
    source: Ipv4Addr,
}

impl ReplyRecords {
    pub fn record(&mut self, route: Path, source: Ipv4Addr) {
        if route.len() > 1 && self.records.iter().all(|known| known.route != route) {
            self.records.push(ReplyRecord { route, mask: route.mask(), source });
        }
    }

    /// Data has come by this source route from the neighbour before `me`: what that has learned for
    /// its source is a part of this now, there as here, and the table says who has it.
    pub fn remove_covered(&mut self, route: &Path, me: Ipv4Addr) {
        let from = route.position(me).and_then(|at| at.checked_sub(1));
        let Some(rest) = from.and_then(|from| route.as_slice().get(from..)) else { return };
        let source = route.first();
        self.records.retain(|known| known.route.as_slice() != rest || Some(known.source) != source);
    }

    /// Takes out the records of a link, and shows the neighbour of each. With `truncate` the part
    /// before the link stays.
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
