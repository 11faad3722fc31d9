//! The network: its parts, the contract with its driver, and the order of its work.
//!
//! Work that has to wait until a host has reacted is a [`Task`] on a stack: a task that asks
//! something of a host puts what is left of it on the stack first. [`Network::poll`] returns what is
//! asked, and goes on with the last task when it is called again. So hosts act at the same points as
//! if the network called them.

mod accounting;
mod arp;
mod broadcast;
mod failures;
mod faults;
mod feedback;
mod gateway;
mod handoff;
mod hearing;
mod inspect;
mod interfaces;
mod link_retry;
mod live;
mod live_change;
mod mac_reports;
mod measures;
mod node;
mod node_timers;
mod notices;
mod over_air;
mod over_wires;
mod record_events;
mod recorder;
mod route_probes;
mod schedule;
mod task;
mod work;

use driftway_base::{AirId, FailedLink, Instant, Ipv4Addr, NodeId};
use driftway_link::QueuePosition;
use driftway_route::feedback::NextHop;
use driftway_wire::Packet;
use typed_index_collections::TiVec;

use crate::addresses::address;
use crate::air::counters::RoutingCounters;
use crate::air::medium::Medium;
use crate::digest::Digest;
use crate::event::{Event, FailedSend, Recording};
use crate::faults::Faults;
use crate::output::Output;
use crate::packets::PacketsInTransit;
use crate::wakeups::WakeUp;
use crate::wired::gateways::Gateways;
use crate::wired::topology::Topology;
use crate::wired::wires::Wires;

use live_change::DownByDriver;
pub use live_change::{ImpossibleChange, LiveChange};
pub use measures::NodeEnergy;
pub(crate) use node::Node;
use recorder::Recorder;
use schedule::Schedule;
pub use schedule::TimerId;
use task::Task;
use work::Work;

/// Payload stream of cross traffic, which no host receives.
pub const CROSS_TRAFFIC_STREAM: u32 = u32::MAX;
/// Payload stream of packets of which only the IP header is known. Errors about them cannot be
/// reported, because an ICMP error quotes more.
pub const OPAQUE_STREAM: u32 = CROSS_TRAFFIC_STREAM - 1;
/// Destination port of cross traffic (RFC 863).
pub const DISCARD_PORT: u16 = 9;

/// Links, airs, nodes and faults, and the packets in transit.
///
/// Its methods are of four kinds:
/// - look: [`next_timeout`](Self::next_timeout), [`now`](Self::now), [`node_at`](Self::node_at),
///   [`queue_length`](Self::queue_length) …
/// - events: [`on_timeout`](Self::on_timeout);
/// - commands of the hosts: [`send`](Self::send), [`broadcast`](Self::broadcast),
///   [`probe_route`](Self::probe_route); of the driver:
///   [`change`](Self::change);
/// - polls: [`poll`](Self::poll), [`poll_event`](Self::poll_event).
///
/// The driver calls [`start`](Self::start) once, and `on_timeout` at `next_timeout`. After each of
/// these and each command it polls until nothing is left. Time never goes back; a driver that has
/// something to do between two wake-ups calls [`advance`](Self::advance) first. One that inspects the
/// network at given times uses [`pause_at`](Self::pause_at) and [`resume`](Self::resume).
///
/// # Panics
/// Methods that take a node panic unless it is below [`nodes`](Self::nodes).
pub struct Network {
    now: Instant,
    topology: Topology,
    wires: Wires,
    medium: Medium,
    nodes: TiVec<NodeId, Node>,
    faults: Faults,
    gateways: Gateways,
    packets: PacketsInTransit,
    counters: RoutingCounters,
    digest: Digest,
    schedule: Schedule,
    work: Work,
    recorder: Recorder,
    /// The failed link that routing is reacting to.
    failed_link: Option<FailedLink>,
    /// The failed attempt to send that routing is handling.
    failed_send: Option<FailedSend>,
    cross_traffic_bytes: u64,
    down_by_driver: DownByDriver,
    /// The packets that used a link that has failed; the allocation is reused.
    affected_packets: Vec<Packet>,
    /// Next hops of a route notification; the allocation is reused.
    next_hops: Vec<NextHop>,
}

/// The parts of a network that its builder chooses.
pub(crate) struct Parts {
    pub topology: Topology,
    pub wires: Wires,
    pub medium: Medium,
    pub nodes: TiVec<NodeId, Node>,
    pub faults: Faults,
    pub gateways: Gateways,
}

impl Network {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { topology, wires, medium, nodes, faults, gateways } = parts;
        let with_timers = if medium.is_empty() { 0 } else { nodes.len() };
        let timers = [faults.ids().len(), wires.links().len(), medium.airs().len(), with_timers];
        Self {
            now: Instant::ZERO,
            work: Work::new(wires.links().len(), nodes.len()),
            schedule: Schedule::new(timers),
            topology,
            wires,
            medium,
            nodes,
            faults,
            gateways,
            packets: PacketsInTransit::new(),
            counters: RoutingCounters::default(),
            digest: Digest::default(),
            recorder: Recorder::default(),
            failed_link: None,
            failed_send: None,
            cross_traffic_bytes: 0,
            down_by_driver: DownByDriver::default(),
            affected_packets: Vec::with_capacity(64),
            next_hops: Vec::new(),
        }
    }

    /// Starts the network, whose events are recorded from now on as far as `recording` says.
    pub fn start(&mut self, recording: Recording) {
        self.recorder.start(recording);
        if self.recorder.records_all() {
            self.medium.set_recording();
            self.wires.report_transmissions();
        }
        self.faults.ids().for_each(|fault| self.schedule_fault(fault));
        if !self.medium.is_empty() {
            self.nodes.keys().for_each(|node| self.work.mark_ready(node));
        }
        self.medium.airs().keys().for_each(|air| self.schedule_air(air));
    }

    /// Returns the time of the next wake-up or an earlier one: the network has nothing to do before
    /// it. In the far future if there is none.
    #[inline]
    pub fn next_timeout(&self) -> Instant {
        self.schedule.next_timeout()
    }

    /// Removes the earliest wake-up if another has replaced it; returns true if one was removed, so
    /// that [`next_timeout`](Self::next_timeout) is exact once this returns false.
    pub fn discard_replaced_wakeup(&mut self) -> bool {
        self.schedule.discard_replaced()
    }

    /// Handles the wake-up at [`next_timeout`](Self::next_timeout). A network with radios may run on
    /// by itself as far as `horizon`, at which the driver has something else to do. Returns the
    /// wake-up handled; `None` if another had replaced it, and then nothing has changed.
    pub fn on_timeout(&mut self, horizon: Instant) -> Option<WakeUp<TimerId>> {
        let wakeup = self.schedule.pop()?;
        self.now = wakeup.at.max(self.now);
        match wakeup.timer {
            TimerId::Fault(fault) => self.on_fault(fault),
            TimerId::Link(link) => {
                self.wires.link_mut(link).on_timeout(self.now);
                self.work.mark_link_ready(link);
            }
            TimerId::Air(air) => {
                let until = self.schedule.next_timeout().min(horizon);
                self.run_air(air, until);
            }
            TimerId::Node(node) => self.on_node_timer(node),
        }
        Some(wakeup)
    }

    /// Keeps the network from running on by itself beyond `at`, where the driver inspects it. That
    /// does not change what happens: [`resume`](Self::resume) goes on.
    pub fn pause_at(&mut self, at: Instant) {
        self.schedule.pause_at(at);
    }

    /// Returns the instant up to which the network has run, if it has stopped because of
    /// [`pause_at`](Self::pause_at).
    #[inline]
    pub fn paused_at(&self) -> Option<Instant> {
        self.schedule.paused_at()
    }

    /// Goes on after a pause, if there was one.
    pub fn resume(&mut self) {
        self.schedule.resume();
        for air in self.medium.airs().keys() {
            if let Some(until) = self.medium.air_mut(air).resume() {
                self.run_air(air, until);
            }
        }
    }

    /// Advances the time of a network without a wake-up before `now`.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Sends a packet of a node's own host, or of a gateway in the name of another, and numbers it (IP
    /// identification).
    pub fn send(&mut self, node: NodeId, packet: Packet, place: QueuePosition) {
        let id = self.create(node, packet);
        if self.topology.node_at(packet.ip.destination) == Some(node) {
            self.work.deliver_locally(node, id);
        } else {
            self.forward(node, id, place);
        }
    }

    /// Returns true if packets for this destination leave a node over the air.
    #[inline]
    fn uses_air(&self, node: NodeId, to: Ipv4Addr) -> bool {
        !self.medium.is_empty()
            && self.nodes[node].routing.is_some()
            && self.topology.node_at(to).is_none_or(|goal| !self.topology.has_route(node, goal))
    }

    /// Returns the next action for a host.
    pub fn poll(&mut self) -> Option<Output> {
        loop {
            if let Some(output) = self.work.next_output() {
                return Some(output);
            }
            // The commonest work by far over wires.
            if let Some(link) = self.work.next_ready_link() {
                self.poll_link(link);
                continue;
            }
            let task = self.work.next_task()?;
            self.run_task(task);
        }
    }

    /// Does a piece of pending work.
    fn run_task(&mut self, task: Task) {
        match task {
            Task::PollLink { link } => self.poll_link(link),
            Task::MarkLinkReady { link } => self.work.mark_link_ready(link),
            Task::DeliverLocally { node, id } => self.deliver(node, id),
            Task::ServeNode { node } => self.serve_node(node),
            Task::AfterHeal { link } => self.after_heal(link),
            Task::ApplyFaultAction => self.apply_next_action(),
            Task::Reports { air } => self.handle_reports(air),
            Task::Accept { radio, from, id } => self.accept(radio, from, id),
            Task::Route { node, from, id } => self.route_received(node, from, id),
            Task::Overhear { node, from, to, id } => self.overhear(node, from, to, id),
            Task::EndSent { radio, id } => self.end_sent(radio, id),
            Task::FailLink { radio, id, to } => self.fail_link(radio, id, to),
            Task::EndLinkFailure { node } => self.end_link_failure(node),
            Task::AfterFailure { radio } => self.after_failure(radio),
            Task::Purge { radio, neighbour } => self.purge_next(radio, neighbour),
            Task::DrainArp { radio } => self.drain_arp(radio),
            Task::DrainRouting { node, place } => self.drain_routing(node, place),
            Task::DrainFeedback { node } => self.drain_feedback(node),
            Task::RestoreRoute { node, to } => self.restore_route(node, to),
            Task::SignalDiscovery { node, to } => self.signal_discovery(node, to),
            Task::ProbesAndRouting { node } => self.on_probe_and_routing_timers(node),
            Task::RoutingTimer { node } => self.on_routing_timer(node),
        }
    }

    /// Returns true if events were recorded.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.recorder.has_events()
    }

    /// Returns the next event that was recorded.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.recorder.poll()
    }

    /// Handles the output of a node's ARP, then that of its routing.
    fn serve_node(&mut self, node: NodeId) {
        let place = QueuePosition::Tail;
        if !self.medium.has_arp() {
            return self.drain_routing(node, place);
        }
        self.work.add(Task::DrainRouting { node, place });
        for n in (0..self.nodes[node].radios.len()).rev() {
            let radio = self.nodes[node].radios[n];
            self.work.add(Task::DrainArp { radio });
        }
    }

    /// Schedules a wake-up of a node's radios, probes and routing.
    fn schedule_node(&mut self, node: NodeId, at: Instant) {
        self.schedule.schedule(TimerId::Node(node), at);
    }

    fn schedule_air(&mut self, air: AirId) {
        if let Some(at) = self.medium.airs()[air].mac.next_timeout() {
            self.schedule.schedule(TimerId::Air(air), at);
        }
    }

    /// Runs the MAC layer of an air until it has something to report, or until something else is due.
    fn run_air(&mut self, id: AirId, until: Instant) {
        let bound = self.schedule.bound(until);
        let air = self.medium.air_mut(id);
        self.now = air.run(bound).max(self.now);
        let is_idle = !air.has_reports();
        if self.recorder.records_all() {
            self.record_frames(id);
        }
        if bound < until && is_idle {
            // Continuing later is not an event of its own, so that inspection does not change the run.
            self.medium.air_mut(id).pause(until);
            self.schedule.pause(bound);
        } else if is_idle {
            self.schedule_air(id);
        } else {
            self.work.add(Task::Reports { air: id });
        }
    }

    /// Drops packets of a node that are on their way to the queue of its radio.
    #[cfg(feature = "fault-injection")]
    pub fn drop_arriving_at_queue(
        &mut self,
        node: NodeId,
        mut is_lost: impl FnMut(&Packet) -> bool,
    ) {
        for radio in self.nodes[node].radios.clone() {
            let packets = &mut self.packets;
            let lost = self.medium.radio_mut(radio).remove_arrivals(|arrival| {
                packets.get(arrival.id).is_some_and(|routed| is_lost(&routed.packet))
            });
            for arrival in lost {
                let at = crate::interface::Place::at_radio(radio, arrival.next_hop);
                self.drop(at, arrival.id, driftway_base::DropReason::SignalLoss);
            }
        }
    }

    /// Loses a packet without a reason, which the accounting must detect.
    #[cfg(feature = "fault-injection")]
    pub fn lose_silently(&mut self, packet: &Packet) {
        self.packets.create(crate::FrameBody::Ip(driftway_wire::RoutedPacket::plain(*packet)));
    }
}

/// Returns the link between two nodes, for reports.
fn link_of(from: NodeId, to: NodeId) -> FailedLink {
    FailedLink { from: address(from), to: address(to) }
}
