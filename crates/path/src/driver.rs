//! Who drives a path, and how.

use driftway_base::{Instant, Signal};
use driftway_link::PathLink;
use driftway_node::Host;
use driftway_wire::Packet;

use crate::packet_accounting::{PacketDropReason, PacketTable};
use crate::{PathNetwork, forwarding, route_feedback};

/// What a path needs of whoever drives it: the lab in its own time, the bench in real time.
///
/// It has the clock, the packets and the hosts, and hears what becomes of packets. What it calls is
/// [`open`] before the first event, [`network::send`] and [`network::forward`] for packets that enter,
/// [`on_link`] and [`on_fault`] when what it was asked to wake is due, and [`settle`] after each of
/// these.
pub trait PathDriver {
    /// The path.
    fn path(&mut self) -> &mut PathNetwork;
    /// Now.
    fn now(&self) -> Instant;
    /// All packets on their way.
    fn packets(&mut self) -> &mut PacketTable;
    /// The host at a node.
    fn host(&mut self, node: usize) -> &mut Host;
    /// Calls [`on_fault`] at `at` at the latest.
    fn wake_fault(&mut self, number: usize, at: Instant);
    /// Calls [`on_link`] at `at` at the latest.
    fn wake_link(&mut self, number: usize, at: Instant);
    /// A packet is about to enter a link: how long it is there (bytes). `None`: it vanishes, which only
    /// tests want.
    fn on_entering_link(&mut self, id: u32) -> Option<u32>;
    /// A packet is at the node that it was for: ends it.
    fn on_delivered(&mut self, node: usize, id: u32);
    /// A packet is lost at a link or node: ends it, and gives it back if an error message may be
    /// about it.
    fn on_lost(&mut self, id: u32, place: usize, why: PacketDropReason) -> Option<Packet>;
    /// News for the connections of a node's host: to one destination, where the signal says so, else all.
    fn on_signal(&mut self, node: usize, signal: &Signal);
    /// A fault of this kind begins or ends on a hop, from 1.
    fn on_fault_change(&mut self, kind: &'static str, hop: u32, begins: bool);
}

/// Asks for the first wake-ups.
pub fn start<D: PathDriver>(d: &mut D) {
    for number in 0..d.path().fault_count() {
        forwarding::schedule_fault(d, number);
    }
}

/// A fault is due.
pub fn on_fault_timeout<D: PathDriver>(d: &mut D, number: usize) {
    forwarding::on_fault(d, number);
}

/// A link is due.
pub fn on_link_timeout<D: PathDriver>(d: &mut D, number: usize) {
    let (now, path) = (d.now(), d.path());
    if let Some(link) = path.links.get_mut(number) {
        PathLink::on_timeout(link, now);
        path.ready_links.push_back(number);
    }
}

/// Until nothing more happens at this instant: polls links, delivers what hosts send to themselves,
/// and does what feedback wants.
pub fn run_until_idle<D: PathDriver>(d: &mut D) {
    loop {
        let path = d.path();
        if let Some(link) = path.ready_links.pop_front() {
            forwarding::poll_link(d, link);
        } else if let Some((node, id)) = path.local_deliveries.pop_front() {
            d.on_delivered(node, id);
        } else if let Some(node) = path.ready_feedback.pop_front() {
            route_feedback::poll_feedback(d, node);
        } else {
            return;
        }
    }
}
