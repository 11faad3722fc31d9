//! A path: a chain of links with optional parallel routes, faults, and routers that give feedback;
//! and the accounting of packets in transit.
//!
//! It does no I/O and reads no clock. It is driven through a [`PathDriver`]: by the simulator in
//! simulated time, and by the emulation in real time. Both drive the same code, so that a scenario
//! means the same in both.
//!
//! The limits of the models are listed with the links ([`driftway_link`]) and the routers
//! ([`driftway_route`]).

#![forbid(unsafe_code)]

pub mod books;
mod drive;
mod faults;
mod network;
pub mod nodes;
mod routes;
mod topology;

use std::collections::VecDeque;

use driftway_base::Ipv4Addr;
use driftway_link::{PathLink, Side};
use driftway_route::feedback::{Feedback, Scheme, Way};
use driftway_scenario::{Path, Time};

pub use drive::{Drive, on_fault, on_link, open, settle};
pub use network::{DISCARD, FOREIGN, forward, send};
pub use topology::TYPICAL_PACKET;

use crate::faults::{Deed, FaultAtWork};
use crate::topology::Topology;

/// The links, routers and faults of a path.
pub struct PathAtWork {
    topology: Topology,
    links: Vec<PathLink>,
    /// Links to be polled.
    touched: VecDeque<usize>,
    /// Number of faults that currently cut each link.
    cuts: Vec<u32>,
    /// Feedback schemes of each node.
    feedback: Vec<Feedback>,
    /// Nodes whose feedback is to be polled.
    stirred: VecDeque<usize>,
    /// Packets from a node to itself.
    local: VecDeque<(usize, u32)>,
    ways: Vec<Way>,
    faults: Vec<FaultAtWork>,
    deeds: Vec<Deed>,
    foreign: u64,
}

impl PathAtWork {
    /// Creates a path in its initial state. Random times of faults fall within `duration`; `seed`
    /// keys the random streams of faults and `link_seed`, usually the same, those of links.
    pub fn new(path: &Path, duration: Time, seed: u64, link_seed: u64) -> Self {
        let (topology, links) = Topology::build(path, link_seed);
        Self {
            touched: VecDeque::with_capacity(links.len()),
            cuts: vec![0; links.len()],
            feedback: routes::feedback(path, topology.nodes()),
            topology,
            links,
            stirred: VecDeque::new(),
            local: VecDeque::with_capacity(16),
            ways: Vec::new(),
            faults: faults::at_work(path, duration, seed),
            deeds: Vec::with_capacity(4),
            foreign: 0,
        }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.topology.nodes()
    }

    /// Returns the node of an address, or the node in front of its network.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<usize> {
        self.topology.node_at(address)
    }

    /// Returns the last node of the chain; the first is 0.
    pub fn last(&self) -> usize {
        self.topology.last()
    }

    /// Returns the number of faults.
    pub fn faults(&self) -> usize {
        self.faults.len()
    }

    /// Returns the links: the hops of the chain first, then those of the parallel routes.
    pub fn links(&self) -> &[PathLink] {
        &self.links
    }

    /// Returns the number of packets queued at a node for any of its links.
    pub fn waiting(&self, node: usize) -> usize {
        let at = |(number, link): (usize, &PathLink)| {
            let sides = [Side::A, Side::B].into_iter();
            let here = sides.filter(|side| self.topology.across(number, side.other()) == node);
            here.map(|side| link.waiting(side)).sum::<usize>()
        };
        self.links.iter().enumerate().map(at).sum()
    }

    /// Returns the next hop from `node` towards `destination`, by the first of several routes.
    pub fn next_hop(&self, node: usize, destination: usize) -> Option<usize> {
        let exit = self.topology.ways(node, destination).next()?;
        Some(self.topology.across(exit.link, exit.side))
    }

    /// Returns the number of packets in transit: on links, buffered by routers, and from a node to
    /// itself.
    pub fn held(&self) -> u64 {
        let held: usize = self.links.iter().map(PathLink::held).sum();
        let kept: usize = self.feedback.iter().map(Scheme::kept).sum();
        (held + kept + self.local.len()) as u64
    }
}
