//! An ad hoc network: nodes with radios that route for each other.
//!
//! A packet of a host goes to its node's routing protocol. What routing sends goes to the interface
//! queue until the MAC layer accepts it, one packet per node at a time. A neighbour that receives it
//! passes a copy to its own routing protocol; the original leaves the network when the link layer
//! reports it as sent or failed.

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

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr, Seek};
use driftway_link::{AdhocQueue, Item, Place};
use driftway_node::Arp;
use driftway_radio::{Neighbours, Report};
use driftway_route::LinkRetry;
use driftway_route::feedback::Feedback;
use driftway_scenario::{Network, Scenario};
use driftway_wire::{Packet, Routed};

use super::{NetworkAtWork, Run, RunError, Sizes, follow};
use crate::events::Class;
use crate::nodes::{address, node_at};
use crate::results::RunResult;
use air::Air;
use arp::Waiting;
use ledger::Ledger;
use neighbours::LinkWatch;
use order::Order;
use routing::Routing;
use seek::Seeker;
use tell::Telling;

/// The entity number of the MAC layer; node n has n + 1.
const AIR: u32 = 0;

/// Radios, queues and routing of all nodes.
pub struct AdhocAtWork {
    air: Air,
    /// Reports of the MAC layer that have not been handled yet.
    reports: Vec<Report>,
    nodes: Vec<Node>,
    /// The packets that used a link that has failed; the allocation is reused.
    concerned: Vec<Packet>,
    /// The failed link that routing is reacting to.
    failing: Option<FailedLink>,
    /// Nodes whose routing or ARP may have output.
    stirred: VecDeque<usize>,
    ledger: Ledger,
    /// The treatment of TCP segments in interface queues.
    order: Order,
    /// The link layer's processing delay, of sender and receiver together. All of it is applied on the
    /// way from routing to the interface queue, and none at the receiver.
    delay: Duration,
    telling: Telling,
    /// The instant up to which the MAC layer was to run when a pause interrupted it.
    paused: Option<Instant>,
    /// Received signal powers of neighbours; `None` if nothing uses them.
    strengths: Option<Neighbours>,
    /// `None`: hosts get no signals of their links.
    link_watch: Option<LinkWatch>,
}

/// The layers of a node below its host.
struct Node {
    queue: AdhocQueue,
    /// Packets on their way to the queue, and when they reach it.
    arriving: VecDeque<(Instant, Item, Place)>,
    routing: Routing,
    /// Resolves neighbours' hardware addresses; `None`: they are all known.
    arp: Option<Arp<Waiting>>,
    /// Reports undeliverable packets and route failures to sources.
    feedback: Feedback,
    /// Decides whether a packet is tried again on a link that has failed; `None`: never.
    retry: Option<LinkRetry>,
    /// True if the last report of an unreachable destination was about a link in range.
    reported_falsely: bool,
    /// The peers of the host that are being probed.
    seeker: Seeker,
    /// True if the node is in `ready_nodes`.
    stirred: bool,
}

impl NetworkAtWork for AdhocAtWork {
    type Unit = Routed;
    /// A link layer that misses an ACK returns a packet that has arrived.
    const REPEATS: bool = true;
    const SEEKS: bool = true;

    fn new(scenario: &Scenario, seed: u64) -> Result<Self, RunError> {
        match &scenario.network {
            Network::Adhoc(adhoc) => setup::build(adhoc, scenario, seed),
            Network::Path(_) => Err(RunError::Setup("a path is not an ad hoc network".into())),
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

    fn send(run: &mut Run<'_, Self>, node: usize, packet: Packet, place: Place) {
        run.send_from(node, packet, place);
    }

    fn seek(run: &mut Run<'_, Self>, node: usize, peer: Ipv4Addr, seek: Seek, first: bool) {
        run.seek(node, peer, seek, first);
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

    /// Delivers what hosts send to themselves, and handles the output of ARP and routing.
    fn settle(run: &mut Run<'_, Self>) {
        loop {
            if let Some((node, id)) = run.local.pop_front() {
                if let Some(packet) = run.packets.deliver(id) {
                    run.receive(node, &packet.packet);
                }
            } else if let Some(node) = run.net.stirred.pop_front() {
                run.net.nodes[node].stirred = false;
                run.serve_arp(node);
                run.serve_routing(node, Place::Tail);
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
            let held = node.arp.as_ref().map_or(0, |arp| arp.held().count());
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
        strengths: Option<Neighbours>,
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
    /// Puts a node into the queue of nodes whose routing has to be polled.
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

    /// Runs the MAC layer until it has something to report, or until another event is due.
    fn run_air(&mut self, until: Instant) {
        let bound = until.min(self.pause);
        let mut reports = std::mem::take(&mut self.net.reports);
        self.now = self.net.air.run(bound, &mut reports).max(self.now);
        self.tell_air();
        if bound < until && reports.is_empty() {
            // Continuing later is not an event of its own, so that inspection does not change the run.
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
