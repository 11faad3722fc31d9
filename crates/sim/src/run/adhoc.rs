//! An ad hoc network: nodes with radios that route for each other.
//!
//! A packet of a host goes to its node's routing protocol. What routing sends goes to the interface
//! queue until the MAC layer accepts it, one packet per node at a time. A neighbour that receives it
//! passes a copy to its own routing protocol; the original leaves the network when the link layer
//! reports it as sent or failed.

mod adhoc_trace;
mod arp;
mod feedback;
mod link_retry;
mod mac_layer;
mod neighbours;
mod relay;
mod route_prober;
mod routing;
mod routing_accounting;
mod segment_queueing;
mod setup;

use std::collections::VecDeque;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr, RouteProbe};
use driftway_link::{AdhocQueue, QueuePosition, QueuedPacket};
use driftway_node::Arp;
use driftway_radio::{MacReport, NeighbourSignals};
use driftway_route::LinkRetry;
use driftway_route::feedback::Feedback;
use driftway_scenario::{Network, Scenario};
use driftway_wire::{Packet, RoutedPacket};

use super::{EntityCounts, NetworkModel, Run, RunError, follow_next_hops};
use crate::addresses::{address, node_at};
use crate::event_queue::EventClass;
use crate::results::RunResult;
use adhoc_trace::AdhocTrace;
use arp::PendingPacket;
use mac_layer::MacLayer;
use neighbours::LinkMonitor;
use route_prober::RouteProber;
use routing::Routing;
use routing_accounting::RoutingAccounting;
use segment_queueing::SegmentQueueing;

/// The entity number of the MAC layer; node n has n + 1.
const MAC_ENTITY: u32 = 0;

/// Radios, queues and routing of all nodes.
pub struct AdhocNetwork {
    mac: MacLayer,
    /// Reports of the MAC layer that have not been handled yet.
    reports: Vec<MacReport>,
    nodes: Vec<Node>,
    /// The packets that used a link that has failed; the allocation is reused.
    affected_packets: Vec<Packet>,
    /// The failed link that routing is reacting to.
    failed_link: Option<FailedLink>,
    /// Nodes whose routing or ARP may have output.
    ready_nodes: VecDeque<usize>,
    accounting: RoutingAccounting,
    /// The treatment of TCP segments in interface queues.
    segment_queueing: SegmentQueueing,
    /// The link layer's processing delay, of sender and receiver together. All of it is applied on the
    /// way from routing to the interface queue, and none at the receiver.
    stack_delay: Duration,
    trace: AdhocTrace,
    /// The instant up to which the MAC layer was to run when a pause interrupted it.
    paused_until: Option<Instant>,
    /// Received signal powers of neighbours; `None` if nothing uses them.
    neighbour_signals: Option<NeighbourSignals>,
    /// `None`: hosts get no signals of their links.
    link_monitor: Option<LinkMonitor>,
}

/// The layers of a node below its host.
struct Node {
    queue: AdhocQueue,
    /// Packets on their way to the queue, and when they reach it.
    queue_arrivals: VecDeque<(Instant, QueuedPacket, QueuePosition)>,
    routing: Routing,
    /// Resolves neighbours' hardware addresses; `None`: they are all known.
    arp: Option<Arp<PendingPacket>>,
    /// Reports undeliverable packets and route failures to sources.
    feedback: Feedback,
    /// Decides whether a packet is tried again on a link that has failed; `None`: never.
    link_retry: Option<LinkRetry>,
    /// True if the last report of an unreachable destination was about a link in range.
    last_report_was_false: bool,
    /// The peers of the host that are being probed.
    route_prober: RouteProber,
    /// True if the node is in `ready_nodes`.
    is_ready: bool,
}

impl NetworkModel for AdhocNetwork {
    type NetworkPacket = RoutedPacket;
    /// A link layer that misses an ACK returns a packet that has arrived.
    const MAY_DUPLICATE: bool = true;
    const PROBES_ROUTES: bool = true;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        match &scenario.network {
            Network::Adhoc(adhoc) => setup::build(adhoc, scenario, seed),
            Network::Path(_) => Err(RunError::Setup("a path is not an ad hoc network".into())),
        }
    }

    fn entity_counts(&self) -> EntityCounts {
        EntityCounts { nodes: self.nodes.len(), faults: 0, network: self.nodes.len() + 1 }
    }

    fn start(run: &mut Run<'_, Self>) {
        run.start_trace();
        for node in 0..run.net.nodes.len() {
            run.mark_ready(node);
        }
        Self::run_until_idle(run);
        run.schedule_mac();
    }

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: QueuePosition) {
        run.send_from_host(node, packet, place);
    }

    fn probe_route(
        run: &mut Run<'_, Self>,
        node: usize,
        peer: Ipv4Addr,
        probe: RouteProbe,
        first: bool,
    ) {
        run.probe_route(node, peer, probe, first);
    }

    fn on_event(run: &mut Run<'_, Self>, _: EventClass, entity: usize) {
        match entity.checked_sub(1) {
            None => {
                let until = run.events.earliest_bound().unwrap_or(Instant::FAR_FUTURE).min(run.end);
                run.run_mac(until);
            }
            Some(node) => run.on_node_timer(node),
        }
    }

    /// Delivers what hosts send to themselves, and handles the output of ARP and routing.
    fn run_until_idle(run: &mut Run<'_, Self>) {
        loop {
            if let Some((node, id)) = run.loopback.pop_front() {
                if let Some(packet) = run.packets.record_delivery(id) {
                    run.receive_local(node, &packet.packet);
                }
            } else if let Some(node) = run.net.ready_nodes.pop_front() {
                run.net.nodes[node].is_ready = false;
                run.drain_arp(node);
                run.drain_routing(node, QueuePosition::Tail);
            } else {
                return;
            }
        }
    }

    fn resume(run: &mut Run<'_, Self>) -> bool {
        run.net.paused_until.take().map(|until| run.run_mac(until)).is_some()
    }

    fn last_report_was_false(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| node.last_report_was_false)
    }

    fn is_paused(&self) -> bool {
        self.paused_until.is_some()
    }

    fn packets_held(&self) -> u64 {
        let waiting = self.nodes.iter().map(|node| {
            let held = node.arp.as_ref().map_or(0, |arp| arp.pending_packets().count());
            node.queue.len() + node.queue_arrivals.len() + held
        });
        let waiting: usize = waiting.sum();
        let on_air = (0..self.nodes.len()).filter(|node| !self.mac.is_free(*node as u32)).count();
        (waiting + on_air) as u64
    }

    fn check_conservation(&self) -> Result<(), String> {
        let kept: usize = self.nodes.iter().map(|node| node.routing.buffered_packets()).sum();
        self.accounting.check_conservation(kept as u64)
    }

    fn fill_result(run: &mut Run<'_, Self>, result: &mut RunResult) {
        result.events += run.net.mac.events_handled();
        let routing = run.net.routing_result();
        let mac = run.net.mac.result();
        let routed = [routing.data_routed, routing.acks_routed, routing.icmp_routed];
        for value in [routing.packets_sent, mac.rts, mac.data].into_iter().chain(routed) {
            run.fingerprint.statistic(value);
        }
        result.routing = Some(routing);
        result.mac = Some(mac);
    }

    fn queue_length(&self, node: usize) -> usize {
        self.nodes[node].queue.len()
    }

    fn position(&mut self, node: usize, now: Instant) -> Option<(f64, f64)> {
        Some(self.mac.position(node as u32, now))
    }

    fn route(&self, now: Instant, from: usize, to: usize) -> Option<Vec<usize>> {
        if let Some(listed) = self.nodes[from].routing.source_route(now, address(to)) {
            return listed.iter().map(|node| node_at(*node, self.nodes.len())).collect();
        }
        follow_next_hops(from, to, self.nodes.len(), |node| {
            node_at(self.nodes[node].routing.next_hop(address(to))?, self.nodes.len())
        })
    }
}

impl AdhocNetwork {
    fn new(
        air: MacLayer,
        nodes: Vec<Node>,
        delay: Duration,
        order: SegmentQueueing,
        powers: Option<NeighbourSignals>,
        link_watch: Option<LinkMonitor>,
    ) -> Self {
        Self {
            mac: air,
            reports: Vec::with_capacity(64),
            affected_packets: Vec::with_capacity(64),
            failed_link: None,
            ready_nodes: VecDeque::with_capacity(nodes.len()),
            nodes,
            accounting: RoutingAccounting::default(),
            segment_queueing: order,
            stack_delay: delay,
            trace: AdhocTrace::default(),
            paused_until: None,
            neighbour_signals: powers,
            link_monitor: link_watch,
        }
    }
}

impl Run<'_, AdhocNetwork> {
    /// Puts a node into the queue of nodes whose routing has to be polled.
    fn mark_ready(&mut self, node: usize) {
        if !std::mem::replace(&mut self.net.nodes[node].is_ready, true) {
            self.net.ready_nodes.push_back(node);
        }
    }

    fn schedule_mac(&mut self) {
        if let Some(at) = self.net.mac.next_timeout() {
            self.events.schedule(EventClass::Network, MAC_ENTITY, at);
        }
    }

    /// Runs the MAC layer until it has something to report, or until another event is due.
    fn run_mac(&mut self, until: Instant) {
        let bound = until.min(self.pause_at);
        let mut reports = std::mem::take(&mut self.net.reports);
        self.now = self.net.mac.run(bound, &mut reports).max(self.now);
        self.trace_frames();
        if bound < until && reports.is_empty() {
            // Continuing later is not an event of its own, so that inspection does not change the run.
            self.net.paused_until = Some(until);
            self.net.reports = reports;
            return;
        }
        for report in reports.drain(..) {
            self.on_mac_report(report);
        }
        self.net.reports = reports;
        self.schedule_mac();
    }
}
