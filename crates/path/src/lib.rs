//! A path: a chain of links and what stands beside it, with faults and with routers that give
//! feedback; and the books of packets on their way.
//!
//! It does no I/O and reads no clock. Whoever drives it is a [`Drive`]: the lab, whose time is that
//! of its events, and the bench, whose time is the machine's. Both drive the same code, so that a
//! scenario means the same in both.
//!
//! What is not modelled stands with the links ([`link`]) and the routers ([`route`]).

#![forbid(unsafe_code)]

pub mod packet_accounting;
mod driver;
mod faults;
mod forwarding;
pub mod addresses;
mod route_feedback;
mod topology;

use std::collections::VecDeque;

use driftway_base::Ipv4Addr;
use driftway_link::{PathLink, Side};
use driftway_route::feedback::{Feedback, Scheme, NextHop};
use driftway_scenario::{Path, Time};

pub use driver::{PathDriver, on_fault_timeout, on_link_timeout, start, run_until_idle};
pub use forwarding::{DISCARD_PORT, CROSS_TRAFFIC_STREAM, forward, send};
pub use topology::TYPICAL_PACKET_BYTES;

use crate::faults::{FaultAction, ActiveFault};
use crate::topology::Topology;

/// Links, routers and faults at work.
pub struct PathNetwork {
    topology: Topology,
    links: Vec<PathLink>,
    /// Links that were touched and are to be polled.
    ready_links: VecDeque<usize>,
    /// How many faults have cut each link.
    cut_counts: Vec<u32>,
    /// What each node says of packets that it can't deliver.
    feedback: Vec<Feedback>,
    /// Nodes whose feedback may have something to say, or to set free.
    ready_feedback: VecDeque<usize>,
    /// Packets from a node to itself.
    local_deliveries: VecDeque<(usize, u32)>,
    next_hops: Vec<NextHop>,
    active_faults: Vec<ActiveFault>,
    pending_actions: Vec<FaultAction>,
    cross_traffic_bytes: u64,
}

impl PathNetwork {
    /// Before the first event. Faults at random times come within `duration`; `seed` keys the streams
    /// of faults, `link_seed`, as a rule the same, those of links.
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

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.topology.nodes()
    }

    /// The node of an address, or the one that it is behind.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<usize> {
        self.topology.node_at(address)
    }

    /// The last node of the chain; the first is 0.
    pub fn last_node(&self) -> usize {
        self.topology.last_node()
    }

    /// How many faults there are.
    pub fn fault_count(&self) -> usize {
        self.active_faults.len()
    }

    /// Its links: hops of the chain first, then those of routes beside it, which count on from there.
    pub fn links(&self) -> &[PathLink] {
        &self.links
    }

    /// Packets that wait at a node, for any of its links.
    pub fn queued_packets(&self, node: usize) -> usize {
        let at = |(number, link): (usize, &PathLink)| {
            let sides = [Side::A, Side::B].into_iter();
            let here = sides.filter(|side| self.topology.across(number, side.other()) == node);
            here.map(|side| link.queue_len(side)).sum::<usize>()
        };
        self.links.iter().enumerate().map(at).sum()
    }

    /// The node to which packets from `node` to `destination` go next, by the first of several ways.
    pub fn next_hop(&self, node: usize, destination: usize) -> Option<usize> {
        let exit = self.topology.candidate_links(node, destination).next()?;
        Some(self.topology.across(exit.link, exit.side))
    }

    /// Packets that it holds: on links, kept by routers, and on the way from a node to itself.
    pub fn packets_held(&self) -> u64 {
        let held: usize = self.links.iter().map(PathLink::frame_count).sum();
        let kept: usize = self.feedback.iter().map(Scheme::buffered_packets).sum();
        (held + kept + self.local_deliveries.len()) as u64
    }
}
