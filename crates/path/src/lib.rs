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

pub mod addresses;
mod driver;
mod faults;
mod forwarding;
pub mod packet_accounting;
mod route_feedback;
mod topology;

use std::collections::VecDeque;

use driftway_base::Ipv4Addr;
use driftway_link::{PathLink, Side};
use driftway_route::feedback::{Feedback, NextHop, Scheme};
use driftway_scenario::{Path, Time};

pub use driver::{PathDriver, on_fault_timeout, on_link_timeout, run_until_idle, start};
pub use forwarding::{CROSS_TRAFFIC_STREAM, DISCARD_PORT, forward, send};
pub use topology::TYPICAL_PACKET_BYTES;

use crate::faults::{ActiveFault, FaultAction};
use crate::topology::Topology;

/// The links, routers and faults of a path.
pub struct PathNetwork {
    topology: Topology,
    links: Vec<PathLink>,
    /// Links to be polled.
    ready_links: VecDeque<usize>,
    /// Number of faults that currently cut each link.
    cut_counts: Vec<u32>,
    /// Feedback schemes of each node.
    feedback: Vec<Feedback>,
    /// Nodes whose feedback is to be polled.
    ready_feedback: VecDeque<usize>,
    /// Packets from a node to itself.
    local_deliveries: VecDeque<(usize, u32)>,
    next_hops: Vec<NextHop>,
    active_faults: Vec<ActiveFault>,
    pending_actions: Vec<FaultAction>,
    cross_traffic_bytes: u64,
}

impl PathNetwork {
    /// Creates a path in its initial state. Random times of faults fall within `duration`; `seed`
    /// keys the random streams of faults and `link_seed`, usually the same, those of links.
    pub fn new(path: &Path, duration: Time, seed: u64, link_seed: u64) -> Self {
        let (topology, links) = Topology::build(path, link_seed);
        Self {
            ready_links: VecDeque::with_capacity(links.len()),
            cut_counts: vec![0; links.len()],
            feedback: route_feedback::build_feedback(path, topology.nodes()),
            topology,
            links,
            ready_feedback: VecDeque::new(),
            local_deliveries: VecDeque::with_capacity(16),
            next_hops: Vec::new(),
            active_faults: faults::active_faults(path, duration, seed),
            pending_actions: Vec::with_capacity(4),
            cross_traffic_bytes: 0,
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
    pub fn last_node(&self) -> usize {
        self.topology.last_node()
    }

    /// Returns the number of faults.
    pub fn fault_count(&self) -> usize {
        self.active_faults.len()
    }

    /// Returns the links: the hops of the chain first, then those of the parallel routes.
    pub fn links(&self) -> &[PathLink] {
        &self.links
    }

    /// Returns the number of packets queued at a node for any of its links.
    pub fn queued_packets(&self, node: usize) -> usize {
        let at = |(number, link): (usize, &PathLink)| {
            let sides = [Side::A, Side::B].into_iter();
            let here = sides.filter(|side| self.topology.across(number, side.other()) == node);
            here.map(|side| link.queue_len(side)).sum::<usize>()
        };
        self.links.iter().enumerate().map(at).sum()
    }

    /// Returns the next hop from `node` towards `destination`, by the first of several routes.
    pub fn next_hop(&self, node: usize, destination: usize) -> Option<usize> {
        let link_end = self.topology.candidate_links(node, destination).next()?;
        Some(self.topology.across(link_end.link, link_end.side))
    }

    /// Returns the number of packets in transit: on links, buffered by routers, and from a node to
    /// itself.
    pub fn packets_held(&self) -> u64 {
        let held: usize = self.links.iter().map(PathLink::frames_in_transit).sum();
        let kept: usize = self.feedback.iter().map(Scheme::buffered_packets).sum();
        (held + kept + self.local_deliveries.len()) as u64
    }
}
