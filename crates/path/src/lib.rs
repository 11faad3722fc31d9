//! A path: a chain of links and what stands beside it, with faults and with routers that give
//! feedback; and the books of packets on their way.
//!
//! It does no I/O and reads no clock. Whoever drives it is a [`Drive`]: the lab, whose time is that
//! of its events, and the bench, whose time is the machine's. Both drive the same code, so that a
//! scenario means the same in both.
//!
//! What is not modelled stands with the links ([`link`]) and the routers ([`route`]).

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

/// Links, routers and faults at work.
pub struct PathAtWork {
    topology: Topology,
    links: Vec<PathLink>,
    /// Links that were touched and are to be polled.
    touched: VecDeque<usize>,
    /// How many faults have cut each link.
    cuts: Vec<u32>,
    /// What each node says of packets that it can't deliver.
    feedback: Vec<Feedback>,
    /// Nodes whose feedback may have something to say, or to set free.
    stirred: VecDeque<usize>,
    /// Packets from a node to itself.
    local: VecDeque<(usize, u32)>,
    ways: Vec<Way>,
    faults: Vec<FaultAtWork>,
    deeds: Vec<Deed>,
    foreign: u64,
}

impl PathAtWork {
    /// Before the first event. Faults at random times come within `duration`; `seed` keys the streams
    /// of faults, `link_seed`, as a rule the same, those of links.
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

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.topology.nodes()
    }

    /// The node of an address, or the one that it is behind.
    pub fn node_at(&self, address: Ipv4Addr) -> Option<usize> {
        self.topology.node_at(address)
    }

    /// The last node of the chain; the first is 0.
    pub fn last(&self) -> usize {
        self.topology.last()
    }

    /// How many faults there are.
    pub fn faults(&self) -> usize {
        self.faults.len()
    }

    /// Its links: hops of the chain first, then those of routes beside it, which count on from there.
    pub fn links(&self) -> &[PathLink] {
        &self.links
    }

    /// Packets that wait at a node, for any of its links.
    pub fn waiting(&self, node: usize) -> usize {
        let at = |(number, link): (usize, &PathLink)| {
            let sides = [Side::A, Side::B].into_iter();
            let here = sides.filter(|side| self.topology.across(number, side.other()) == node);
            here.map(|side| link.waiting(side)).sum::<usize>()
        };
        self.links.iter().enumerate().map(at).sum()
    }

    /// The node to which packets from `node` to `destination` go next, by the first of several ways.
    pub fn next_hop(&self, node: usize, destination: usize) -> Option<usize> {
        let exit = self.topology.ways(node, destination).next()?;
        Some(self.topology.across(exit.link, exit.side))
    }

    /// Packets that it holds: on links, kept by routers, and on the way from a node to itself.
    pub fn held(&self) -> u64 {
        let held: usize = self.links.iter().map(PathLink::held).sum();
        let kept: usize = self.feedback.iter().map(Scheme::kept).sum();
        (held + kept + self.local.len()) as u64
    }
}
