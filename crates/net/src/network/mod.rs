//! The network: its parts, the contract with its driver, and the order of its work.
//!
//! Work that has to wait until a host has reacted is a [`Task`] on a stack: a task that asks
//! something of a host puts what is left of it on the stack first. [`Network::poll`] returns what is
//! asked, and goes on with the last task when it is called again. So hosts act at the same points as
//! if the network called them.

mod failures;
mod faults;
mod feedback;
mod gateway;
mod handoff;
mod hearing;
mod inspect;
mod link_retry;
mod notices;
mod parts;
mod recording;
mod relay;
mod resolution;
mod route_probes;
mod task;
mod wires;

use std::collections::VecDeque;

use driftway_base::{FailedLink, Instant, Ipv4Addr};
use driftway_link::{PathLink, QueuePosition};
use driftway_radio::NeighbourSignals;
use driftway_route::feedback::NextHop;
use driftway_scenario::FaultKind;
use driftway_wire::Packet;

use crate::addresses::address;
use crate::air::accounting::RoutingAccounting;
use crate::air::link_monitor::LinkMonitor;
use crate::air::segment_order::SegmentQueueing;
use crate::digest::Digest;
use crate::event::{Event, FailedSend, Recording};
use crate::output::Output;
use crate::packets::PacketsInTransit;
use crate::wakeups::{WakeUp, WakeUps};
use crate::wired::faults::{ActiveFault, FaultAction};
use crate::wired::gateways::Gateways;
use crate::wired::topology::Topology;

pub(crate) use parts::{Air, Node, Radio};
pub use resolution::arp_message;
use task::Task;

/// Payload stream of cross traffic, which no host receives.
pub const CROSS_TRAFFIC_STREAM: u32 = u32::MAX;
/// Payload stream of packets of which only the IP header is known. Errors about them cannot be
/// reported, because an ICMP error quotes more.
pub const OPAQUE_STREAM: u32 = CROSS_TRAFFIC_STREAM - 1;
/// Destination port of cross traffic (RFC 863).
pub const DISCARD_PORT: u16 = 9;

/// The number of timers of a network. They are numbered in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerCounts {
    /// Faults.
    pub faults: usize,
    /// Links, airs, and nodes with radios.
    pub network: usize,
}

/// Links, airs, nodes and faults, and the packets in transit.
///
/// Its methods are of four kinds:
/// - look: [`next_timeout`](Self::next_timeout), [`now`](Self::now), [`node_at`](Self::node_at),
///   [`queue_length`](Self::queue_length) …
/// - events: [`on_timeout`](Self::on_timeout);
/// - commands of the hosts: [`send`](Self::send), [`send_numbered`](Self::send_numbered),
///   [`probe_route`](Self::probe_route);
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
    links: Vec<PathLink>,
    /// True for links whose routers send source quenches.
    sends_source_quench: Vec<bool>,
    airs: Vec<Air>,
    radios: Vec<Radio>,
    nodes: Vec<Node>,
    active_faults: Vec<ActiveFault>,
    /// Number of faults that currently cut each link.
    cut_counts: Vec<u32>,
    /// The treatment of TCP segments in the queues of radios.
    segment_queueing: SegmentQueueing,
    /// Received signal powers of neighbours; `None` if nothing uses them.
    neighbour_signals: Option<NeighbourSignals>,
    /// `None`: hosts get no signals of their links over the air.
    link_monitor: Option<LinkMonitor>,
    /// The gateways of wired nodes to nodes on the air; `None` if there are no several to choose
    /// from.
    gateways: Option<Gateways>,
    /// The gateway that splits TCP connections; `None`: there is none.
    splitting_gateway: Option<usize>,
    packets: PacketsInTransit,
    accounting: RoutingAccounting,
    /// True if radios resolve addresses.
    has_arp: bool,
    wakeups: WakeUps,
    /// The instant at which the driver wants to inspect the network: it does not run on beyond.
    pause_at: Instant,
    is_paused: bool,
    digest: Digest,

    outputs: VecDeque<Output>,
    tasks: Vec<Task>,
    /// Links to be polled.
    ready_links: VecDeque<usize>,
    /// Packets from a node to itself.
    local_deliveries: VecDeque<(usize, u32)>,
    /// Nodes whose feedback is to be polled.
    ready_feedback: VecDeque<usize>,
    /// Nodes whose routing or ARP may have output.
    ready_nodes: VecDeque<usize>,

    recording: Recording,
    events: VecDeque<Event>,
    /// The failed packet that routing is handling.
    failed_send: Option<FailedSend>,
    /// The failed link that routing is reacting to.
    failed_link: Option<FailedLink>,
    cross_traffic_bytes: u64,
    /// The packets that used a link that has failed; the allocation is reused.
    affected_packets: Vec<Packet>,
    next_hops: Vec<NextHop>,
    /// Actions of faults that are still to be applied, the next one last, with the fault's kind.
    fault_actions: Vec<(FaultKind, FaultAction)>,
    /// The allocation is reused.
    new_actions: Vec<FaultAction>,
}

/// The parts of a network that its builder chooses.
pub(crate) struct Parts {
    pub topology: Topology,
    pub links: Vec<PathLink>,
    pub sends_source_quench: Vec<bool>,
    pub airs: Vec<Air>,
    pub radios: Vec<Radio>,
    pub nodes: Vec<Node>,
    pub active_faults: Vec<ActiveFault>,
    pub segment_queueing: SegmentQueueing,
    pub neighbour_signals: Option<NeighbourSignals>,
    pub link_monitor: Option<LinkMonitor>,
    pub gateways: Option<Gateways>,
    pub splitting_gateway: Option<usize>,
}

impl Network {
    pub(crate) fn new(parts: Parts) -> Self {
        let (links, nodes) = (parts.links.len(), parts.nodes.len());
        let mut network = Self {
            now: Instant::ZERO,
            has_arp: parts.radios.iter().any(|radio| radio.arp.is_some()),
            topology: parts.topology,
            links: parts.links,
            sends_source_quench: parts.sends_source_quench,
            airs: parts.airs,
            radios: parts.radios,
            nodes: parts.nodes,
            active_faults: parts.active_faults,
            cut_counts: vec![0; links],
            segment_queueing: parts.segment_queueing,
            neighbour_signals: parts.neighbour_signals,
            link_monitor: parts.link_monitor,
            gateways: parts.gateways,
            splitting_gateway: parts.splitting_gateway,
            packets: PacketsInTransit::default(),
            accounting: RoutingAccounting::default(),
            wakeups: WakeUps::default(),
            pause_at: Instant::FAR_FUTURE,
            is_paused: false,
            digest: Digest::default(),
            outputs: VecDeque::with_capacity(16),
            tasks: Vec::with_capacity(32),
            ready_links: VecDeque::with_capacity(links),
            local_deliveries: VecDeque::with_capacity(16),
            ready_feedback: VecDeque::new(),
            ready_nodes: VecDeque::with_capacity(nodes),
            recording: Recording::default(),
            events: VecDeque::new(),
            failed_send: None,
            failed_link: None,
            cross_traffic_bytes: 0,
            affected_packets: Vec::with_capacity(64),
            next_hops: Vec::new(),
            fault_actions: Vec::with_capacity(4),
            new_actions: Vec::with_capacity(4),
        };
        let TimerCounts { faults, network: entities } = network.timer_counts();
        network.wakeups = WakeUps::new(faults + entities);
        network
    }

    /// Starts the network, whose events are recorded from now on as far as `recording` says.
    pub fn start(&mut self, recording: Recording) {
        self.recording = recording;
        self.start_recording();
        for number in 0..self.active_faults.len() {
            self.schedule_fault(number);
        }
        if !self.airs.is_empty() {
            (0..self.nodes.len()).for_each(|node| self.mark_ready(node));
        }
        (0..self.airs.len()).for_each(|air| self.schedule_air(air));
    }

    /// Returns the time of the next wake-up or an earlier one: the network has nothing to do before
    /// it. In the far future if there is none.
    #[inline]
    pub fn next_timeout(&self) -> Instant {
        self.wakeups.earliest_bound()
    }

    /// Removes the earliest wake-up if another has replaced it; returns true if one was removed, so
    /// that [`next_timeout`](Self::next_timeout) is exact once this returns false.
    pub fn discard_replaced_wakeup(&mut self) -> bool {
        self.wakeups.discard_invalid()
    }

    /// Handles the wake-up at [`next_timeout`](Self::next_timeout). A network with radios may run on
    /// by itself as far as `horizon`, at which the driver has something else to do. Returns the
    /// wake-up handled; `None` if another had replaced it, and then nothing has changed.
    pub fn on_timeout(&mut self, horizon: Instant) -> Option<WakeUp> {
        let wakeup = self.wakeups.pop()?;
        self.now = wakeup.at.max(self.now);
        let mut number = wakeup.timer as usize;
        let mut is_one_of = |count: usize| {
            let is_so = number < count;
            number -= if is_so { 0 } else { count };
            is_so
        };
        if is_one_of(self.active_faults.len()) {
            self.on_fault(number);
        } else if is_one_of(self.links.len()) {
            self.links[number].on_timeout(self.now);
            self.ready_links.push_back(number);
        } else if is_one_of(self.airs.len()) {
            let until = self.wakeups.earliest_bound().min(horizon);
            self.run_air(number, until);
        } else {
            self.on_node_timer(number);
        }
        Some(wakeup)
    }

    /// Keeps the network from running on by itself beyond `at`, where the driver inspects it. That
    /// does not change what happens: [`resume`](Self::resume) goes on.
    pub fn pause_at(&mut self, at: Instant) {
        self.pause_at = at;
    }

    /// Returns true if the network has stopped because of [`pause_at`](Self::pause_at).
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Goes on after a pause, if there was one.
    pub fn resume(&mut self) {
        self.is_paused = false;
        for air in 0..self.airs.len() {
            if let Some(until) = self.airs[air].paused_until.take() {
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
    pub fn send(&mut self, node: usize, mut packet: Packet, place: QueuePosition) {
        self.identify(node, &mut packet);
        self.send_numbered(node, &packet, place);
    }

    /// Sends a packet of a host whose packets have numbers of their own.
    pub fn send_numbered(&mut self, node: usize, packet: &Packet, place: QueuePosition) {
        let to = packet.ip.destination;
        if self.topology.node_at(to) == Some(node) {
            let id = self.packets.insert_plain(packet);
            self.local_deliveries.push_back((node, id));
        } else if self.uses_air(node, to) {
            self.send_over_air(node, packet, place);
        } else {
            let id = self.packets.insert_plain(packet);
            self.forward_over_wire(node, id, place);
        }
    }

    /// Numbers a packet of a node.
    fn identify(&mut self, node: usize, packet: &mut Packet) {
        let node = &mut self.nodes[node];
        node.identification = node.identification.wrapping_add(1);
        packet.ip.identification = node.identification;
    }

    /// Returns true if packets for this destination leave a node over the air.
    #[inline]
    fn uses_air(&self, node: usize, to: Ipv4Addr) -> bool {
        !self.airs.is_empty()
            && self.nodes[node].routing.is_some()
            && self.topology.node_at(to).is_none_or(|goal| !self.topology.has_route(node, goal))
    }

    /// Returns the next action for a host.
    pub fn poll(&mut self) -> Option<Output> {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return Some(output);
            }
            if let Some(task) = self.tasks.pop() {
                self.run_task(task);
            } else if let Some(link) = self.ready_links.pop_front() {
                self.poll_link(link);
            } else if let Some((node, id)) = self.local_deliveries.pop_front() {
                self.deliver_locally(node, id);
            } else if let Some(node) = self.ready_feedback.pop_front() {
                self.tasks.push(Task::DrainFeedback { node });
            } else if let Some(node) = self.ready_nodes.pop_front() {
                self.nodes[node].is_ready = false;
                self.serve_node(node);
            } else {
                return None;
            }
        }
    }

    /// Returns true if events were recorded.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the next event that was recorded.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns true if a host is asked something, or if there are more than `pending` tasks: what is
    /// left of the present work has to wait for them.
    #[inline]
    fn has_work_above(&self, pending: usize) -> bool {
        !self.outputs.is_empty() || self.tasks.len() > pending
    }

    /// Handles the output of a node's ARP, then that of its routing.
    fn serve_node(&mut self, node: usize) {
        let place = QueuePosition::Tail;
        if !self.has_arp {
            return self.drain_routing(node, place);
        }
        self.tasks.push(Task::DrainRouting { node, place });
        for n in (0..self.nodes[node].radios.len()).rev() {
            let radio = self.nodes[node].radios[n];
            self.tasks.push(Task::DrainArp { radio });
        }
    }

    /// Puts a node into the queue of nodes whose routing has to be polled.
    fn mark_ready(&mut self, node: usize) {
        if !std::mem::replace(&mut self.nodes[node].is_ready, true) {
            self.ready_nodes.push_back(node);
        }
    }

    /// Schedules a wake-up of a node's radios, probes and routing.
    fn schedule_node(&mut self, node: usize, at: Instant) {
        let timer = self.active_faults.len() + self.links.len() + self.airs.len() + node;
        self.wakeups.schedule(timer as u32, at);
    }

    fn schedule_air(&mut self, air: usize) {
        if let Some(at) = self.airs[air].mac.next_timeout() {
            let timer = self.active_faults.len() + self.links.len() + air;
            self.wakeups.schedule(timer as u32, at);
        }
    }

    /// Runs the MAC layer of an air until it has something to report, or until something else is due.
    fn run_air(&mut self, number: usize, until: Instant) {
        let bound = until.min(self.pause_at);
        let air = &mut self.airs[number];
        self.now = air.mac.run(bound, &mut air.reports).max(self.now);
        let is_idle = air.reports.is_empty();
        if self.records_all() {
            self.record_frames(number);
        }
        if bound < until && is_idle {
            // Continuing later is not an event of its own, so that inspection does not change the run.
            self.airs[number].paused_until = Some(until);
            self.is_paused = true;
        } else if is_idle {
            self.schedule_air(number);
        } else {
            self.tasks.push(Task::Reports { air: number });
        }
    }

    /// Delivers a packet from a node's host to itself.
    fn deliver_locally(&mut self, node: usize, id: u32) {
        let Some(packet) = self.packets.record_plain_delivery(id) else { return };
        // Goldens of networks with radios do not count these.
        if self.airs.is_empty() {
            self.digest.add_packet(self.now, node as u32, crate::digest::DELIVERED, &packet);
        }
        self.deliver_to_host(node, &packet);
    }

    /// Passes a packet to the host of its destination; it may be the echo reply of a probed peer.
    fn deliver_to_host(&mut self, node: usize, packet: &Packet) {
        self.on_possible_probe_reply(node, packet);
        self.outputs.push_back(Output::Deliver { node, packet: *packet });
    }

    /// Drops packets of a node that are on their way to the queue of its radio.
    #[cfg(feature = "fault-injection")]
    pub fn drop_arriving_at_queue(
        &mut self,
        node: usize,
        mut is_lost: impl FnMut(&Packet) -> bool,
    ) {
        for radio in self.nodes[node].radios.clone() {
            let arrivals = std::mem::take(&mut self.radios[radio].queue_arrivals);
            for arrival in arrivals {
                let id = arrival.1.id;
                if self.packets.get(id).is_some_and(|routed| is_lost(&routed.packet)) {
                    self.packets.record_drop(id, crate::PacketDropReason::SignalLoss);
                } else {
                    self.radios[radio].queue_arrivals.push_back(arrival);
                }
            }
        }
    }

    /// Loses a packet without a reason, which the accounting must detect.
    #[cfg(feature = "fault-injection")]
    pub fn lose_silently(&mut self, packet: &Packet) {
        self.packets.insert_plain(packet);
    }
}

/// Returns the link between two nodes, for reports.
fn link_of(from: usize, to: u32) -> FailedLink {
    FailedLink { from: address(from), to: address(to as usize) }
}
