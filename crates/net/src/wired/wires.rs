//! The wires of a network.

use driftway_base::{Instant, LinkId};
use driftway_link::{PathLink, QueueOnPartition, Side};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// All links, with the state of each that is not its own.
pub struct Wires {
    links: TiVec<LinkId, PathLink>,
    /// True for links whose routers send source quenches.
    sends_source_quench: TiVec<LinkId, bool>,
    /// Number of faults that currently cut each link.
    cut_counts: TiVec<LinkId, u32>,
    /// The number of times that links were cut or restored.
    changes: u64,
}

impl Wires {
    /// Takes the links of a network.
    pub fn new(links: TiVec<LinkId, PathLink>, sends_source_quench: TiVec<LinkId, bool>) -> Self {
        Self { cut_counts: ti_vec![0; links.len()], changes: 0, links, sends_source_quench }
    }

    /// Returns the links.
    pub fn links(&self) -> &TiSlice<LinkId, PathLink> {
        &self.links
    }

    /// Returns a link.
    pub fn link_mut(&mut self, link: LinkId) -> &mut PathLink {
        &mut self.links[link]
    }

    /// Makes links report the beginnings of transmissions.
    pub fn report_transmissions(&mut self) {
        self.links.iter_mut().for_each(PathLink::report_transmissions);
    }

    /// Returns true if the router at an end of a link sends source quenches.
    pub fn sends_source_quench(&self, link: LinkId) -> bool {
        self.sends_source_quench[link]
    }

    /// Cuts a link; returns true if nothing else has cut it.
    pub fn cut(&mut self, now: Instant, link: LinkId, queue: QueueOnPartition) -> bool {
        self.changes += 1;
        self.cut_counts[link] += 1;
        self.links[link].partition(now, queue);
        self.cut_counts[link] == 1
    }

    /// Ends a cut of a link; returns true if nothing else cuts it, so that it carries frames again.
    pub fn heal(&mut self, now: Instant, link: LinkId) -> bool {
        self.changes += 1;
        self.cut_counts[link] -= 1;
        let is_whole = self.cut_counts[link] == 0;
        if is_whole {
            self.links[link].heal(now);
        }
        is_whole
    }

    /// Returns the number of times that links were cut or restored.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true if a link is cut.
    pub fn is_cut(&self, link: LinkId) -> bool {
        self.cut_counts[link] > 0
    }

    /// Returns the number of packets on all links and in their queues.
    pub fn in_transit(&self) -> usize {
        self.links.iter().map(PathLink::frames_in_transit).sum()
    }

    /// Returns the number of packets that queues have marked.
    pub fn marks(&self) -> u64 {
        let of_link = |link: &PathLink| {
            [Side::A, Side::B].map(|side| link.counters(side).queue.marks).into_iter().sum::<u64>()
        };
        self.links.iter().map(of_link).sum()
    }
}
