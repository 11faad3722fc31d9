//! Interface between a path and its driver.

use driftway_base::{Instant, Signal};
use driftway_link::PathLink;
use driftway_node::Host;
use driftway_wire::Packet;

use crate::packet_accounting::{PacketDropReason, PacketsInTransit};
use crate::{PathNetwork, forwarding, route_feedback};

/// Services that a path needs from its driver: the simulator in simulated time, or the emulation in
/// real time.
///
/// The driver owns the clock, the packets and the hosts, and is notified of the end of each packet.
/// It calls [`start`] before the first event, [`forwarding::send`] and [`forwarding::forward`] for
/// packets that enter, [`on_link_timeout`] and [`on_fault_timeout`] at the wake-ups requested, and
/// [`run_until_idle`] after each of these.
pub trait PathDriver {
    /// Returns the path.
    fn path(&mut self) -> &mut PathNetwork;
    /// Returns the current time.
    fn now(&self) -> Instant;
    /// Returns the table of packets in transit.
    fn packets(&mut self) -> &mut PacketsInTransit;
    /// Returns the host at a node.
    fn host(&mut self, node: usize) -> &mut Host;
    /// Schedules a call of [`on_fault_timeout`] at `at` or earlier.
    fn wake_fault(&mut self, number: usize, at: Instant);
    /// Schedules a call of [`on_link_timeout`] at `at` or earlier.
    fn wake_link(&mut self, number: usize, at: Instant);
    /// Returns the size in bytes of a packet that is about to enter a link. `None`: it vanishes,
    /// which only tests use.
    fn on_entering_link(&mut self, id: u32) -> Option<u32>;
    /// Ends a packet that has reached its destination.
    fn on_delivered(&mut self, node: usize, id: u32);
    /// Ends a packet dropped at a link or node, and returns it if an error message may quote it.
    fn on_lost(&mut self, id: u32, place: usize, why: PacketDropReason) -> Option<Packet>;
    /// Delivers a signal to the connections of a node's host: to those of one destination if the
    /// signal names it, else to all.
    fn on_signal(&mut self, node: usize, signal: &Signal);
    /// Reports that a fault of this kind begins or ends on a hop, counted from 1.
    fn on_fault_change(&mut self, kind: &'static str, hop: u32, begins: bool);
}

/// Requests the first wake-ups.
pub fn start<D: PathDriver>(d: &mut D) {
    for number in 0..d.path().fault_count() {
        forwarding::schedule_fault(d, number);
    }
}

/// Handles the timeout of a fault.
pub fn on_fault_timeout<D: PathDriver>(d: &mut D, number: usize) {
    forwarding::on_fault(d, number);
}

/// Handles the timeout of a link.
pub fn on_link_timeout<D: PathDriver>(d: &mut D, number: usize) {
    let (now, path) = (d.now(), d.path());
    if let Some(link) = path.links.get_mut(number) {
        PathLink::on_timeout(link, now);
        path.ready_links.push_back(number);
    }
}

/// Polls links, delivers packets from hosts to themselves, and serves feedback, until no work is
/// left at this instant.
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
