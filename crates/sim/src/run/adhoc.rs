//! An ad hoc network: nodes with radios that route for each other.
//!
//! A packet of a host goes to its node's routing; what routing sends waits in the interface queue
//! until the air takes it, one frame a node at a time; what the air brings to a neighbour goes to
//! that node's routing as a copy, and the original ends when the link layer knows its fate.

mod air;
mod arp;
mod feedback;
mod ledger;
mod link_retry;
mod neighbours;
mod order;
mod relay;
mod routing;
mod seek;
mod setup;
mod tell;

use std::collections::VecDeque;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr, RouteProbe};
use driftway_link::{AdhocQueue, QueuedPacket, QueuePosition};
use driftway_node::Arp;
use driftway_radio::{NeighbourSignals, MacReport};
use driftway_route::LinkRetry;
use driftway_route::feedback::Feedback;
use driftway_scenario::{Network, Scenario};
use driftway_wire::{Packet, RoutedPacket};

use super::{NetworkAtWork, Run, RunError, Sizes, follow};
use crate::events::Class;
use crate::addresses::{address, node_at};
use crate::results::RunResult;
use air::Air;
use arp::Waiting;
use ledger::Ledger;
use neighbours::LinkWatch;
use order::Order;
use routing::Routing;
use seek::Seeker;
use tell::Telling;

/// The air's number among the network's entities; node n has n + 1.
const AIR: u32 = 0;

/// Radios, queues and routing at work.
pub struct AdhocAtWork {
    air: Air,
    /// What the air has said and nobody has looked at yet.
    reports: Vec<MacReport>,
    nodes: Vec<Node>,
    /// The packets on a link that has failed; its room is used again.
    concerned: Vec<Packet>,
    /// The link whose failure routing works on.
    failing: Option<FailedLink>,
    /// Nodes whose routing may want something.
    stirred: VecDeque<usize>,
    ledger: Ledger,
    /// What queues do with TCP's segments.
    order: Order,
    /// What the link layer takes for a packet, down at its sender and up at its receiver, in one: a
    /// packet is so long on its way from routing to the interface queue, and no time on its way up.
    delay: Duration,
    telling: Telling,
    /// The air was to go on until then, and a pause came before.
    paused: Option<Instant>,
    /// How strong nodes hear each other; `None`: nobody asks.
    strengths: Option<NeighbourSignals>,
    /// `None`: hosts learn nothing of their links.
    link_watch: Option<LinkWatch>,
}

/// What a node has below its host.
struct Node {
    queue: AdhocQueue,
    /// What is on its way to the queue, and when it is there.
    arriving: VecDeque<(Instant, QueuedPacket, QueuePosition)>,
    routing: Routing,
    /// Who finds neighbours' hardware addresses; `None`: everybody knows them.
    arp: Option<Arp<Waiting>>,
    /// What it says of packets that it can't deliver, and of routes.
    feedback: Feedback,
    /// Whether a neighbour that was not reached is tried again; `None`: never.
    retry: Option<LinkRetry>,
    /// Its last report of a destination that cannot be reached was about a link in range.
    reported_falsely: bool,
    /// Which peers of its host it looks for.
    seeker: Seeker,
    /// It is among the stirred.
    stirred: bool,
}

impl NetworkAtWork for AdhocAtWork {
    type Unit = RoutedPacket;
    /// A link layer that misses an ACK gives back a packet that has arrived.
    const REPEATS: bool = true;
    const SEEKS: bool = true;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        match &scenario.network {
            Network::Adhoc(adhoc) => setup::build(adhoc, scenario, seed),
            Network::Path(_) => Err(RunError::Setup("a path is no ad hoc network".into())),
        }
    }

    fn sizes(&self) -> Sizes {
        Sizes { nodes: self.nodes.len(), faults: 0, entities: self.nodes.len() + 1 }
    }

    fn open(run: &mut Run<'_, Self>) {
        run.begin_telling();
        for node in 0..run.net.nodes.len() {
            run.stir(node);
        }
        Self::settle(run);
        run.wake_air();
    }

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: QueuePosition) {
        run.send_from(node, packet, place);
    }

    fn seek(run: &mut Run<'_, Self>, node: usize, peer: Ipv4Addr, probe: RouteProbe, first: bool) {
        run.seek(node, peer, probe, first);
    }

    fn on_event(run: &mut Run<'_, Self>, _: Class, entity: usize) {
        match entity.checked_sub(1) {
            None => {
                let until = run.events.peek().unwrap_or(Instant::FAR_FUTURE).min(run.end);
                run.run_air(until);
            }
            Some(node) => run.on_node(node),
        }
    }

    /// Delivers what hosts send to themselves, and does what routing wants.
    fn settle(run: &mut Run<'_, Self>) {
        loop {
            if let Some((node, id)) = run.local.pop_front() {
                if let Some(packet) = run.packets.record_delivery(id) {
                    run.receive(node, &packet.packet);
                }
            } else if let Some(node) = run.net.stirred.pop_front() {
                run.net.nodes[node].stirred = false;
                run.serve_arp(node);
                run.serve_routing(node, QueuePosition::Tail);
            } else {
                return;
            }
        }
    }

    fn resume(run: &mut Run<'_, Self>) -> bool {
        run.net.paused.take().map(|until| run.run_air(until)).is_some()
    }

    fn reported_falsely(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|node| node.reported_falsely)
    }

    fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    fn held(&self) -> u64 {
        let waiting = self.nodes.iter().map(|node| {
            let held = node.arp.as_ref().map_or(0, |arp| arp.pending_packets().count());
            node.queue.len() + node.arriving.len() + held
        });
        let waiting: usize = waiting.sum();
        let on_air = (0..self.nodes.len()).filter(|node| !self.air.is_free(*node as u32)).count();
        (waiting + on_air) as u64
    }

    fn balance(&self) -> Result<(), String> {
        let kept: usize = self.nodes.iter().map(|node| node.routing.kept()).sum();
        self.ledger.balance(kept as u64)
    }

    fn report(run: &mut Run<'_, Self>, result: &mut RunResult) {
        result.events += run.net.air.events();
        let routing = run.net.routing_result();
        let mac = run.net.air.result();
        let routed = [routing.data_routed, routing.acks_routed, routing.icmp_routed];
        for value in [routing.packets_sent, mac.rts, mac.data].into_iter().chain(routed) {
            run.fingerprint.statistic(value);
        }
        result.routing = Some(routing);
        result.mac = Some(mac);
    }

    fn waiting(&self, node: usize) -> usize {
        self.nodes[node].queue.len()
    }

    fn position(&mut self, node: usize, now: Instant) -> Option<(f64, f64)> {
        Some(self.air.position(node as u32, now))
    }

    fn route(&self, now: Instant, from: usize, to: usize) -> Option<Vec<usize>> {
        if let Some(listed) = self.nodes[from].routing.source_route(now, address(to)) {
            return listed.iter().map(|node| node_at(*node, self.nodes.len())).collect();
        }
        follow(from, to, self.nodes.len(), |node| {
            node_at(self.nodes[node].routing.next_hop(address(to))?, self.nodes.len())
        })
    }
}

impl AdhocAtWork {
    fn new(
        air: Air,
        nodes: Vec<Node>,
        delay: Duration,
        order: Order,
        strengths: Option<NeighbourSignals>,
        link_watch: Option<LinkWatch>,
    ) -> Self {
        Self {
            air,
            reports: Vec::with_capacity(64),
            concerned: Vec::with_capacity(64),
            failing: None,
            stirred: VecDeque::with_capacity(nodes.len()),
            nodes,
            ledger: Ledger::default(),
            order,
            delay,
            telling: Telling::default(),
            paused: None,
            strengths,
            link_watch,
        }
    }
}

impl Run<'_, AdhocAtWork> {
    /// Asks a node's routing soon what it wants.
    fn stir(&mut self, node: usize) {
        if !std::mem::replace(&mut self.net.nodes[node].stirred, true) {
            self.net.stirred.push_back(node);
        }
    }

    fn wake_air(&mut self) {
        if let Some(at) = self.net.air.next_timeout() {
            self.events.wake(Class::Network, AIR, at);
        }
    }

    /// Lets the air go on until it has something to say, or until something else happens.
    fn run_air(&mut self, until: Instant) {
        let bound = until.min(self.pause);
        let mut reports = std::mem::take(&mut self.net.reports);
        self.now = self.net.air.run(bound, &mut reports).max(self.now);
        self.tell_air();
        if bound < until && reports.is_empty() {
            // Going on later is no event of its own: who looks changes nothing.
            self.net.paused = Some(until);
            self.net.reports = reports;
            return;
        }
        for report in reports.drain(..) {
            self.on_report(report);
        }
        self.net.reports = reports;
        self.wake_air();
    }
}
