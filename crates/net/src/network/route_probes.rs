//! Route probes: echo requests by which a node finds a peer of its host.

use driftway_base::{Ipv4Addr, NodeId, RouteProbe, SignalKind};
use driftway_link::QueuePosition;
use driftway_wire::{Body, IcmpMessage, Payload};

use super::Network;
use super::over_wires::new_packet;
use crate::output::Output;

impl Network {
    /// Returns true if a node sends route probes: routes over wires are fixed.
    pub fn probes_routes(&self, node: NodeId) -> bool {
        self.nodes[node].routing.is_some()
    }

    /// Starts or stops probing the route to a peer of a node's host. A probe that is under way
    /// continues until its next echo request is due. `first`: no other connection of this host is
    /// waiting for the peer. The driver then serves the probes that are due
    /// ([`next_due_probe`](Self::next_due_probe)).
    pub fn probe_route(&mut self, node: NodeId, peer: Ipv4Addr, probe: RouteProbe, first: bool) {
        let prober = &mut self.nodes[node].route_prober;
        match probe {
            RouteProbe::Repeated => prober.start(self.now, peer, first),
            RouteProbe::Single => prober.start_single(self.now, peer),
            RouteProbe::Off => {}
        }
    }

    /// Notifies the driver that probes of a node are due, or schedules the next one.
    pub(super) fn announce_probes(&mut self, node: NodeId) {
        if self.nodes[node].route_prober.due_destination(self.now).is_some() {
            self.work.request(Output::RouteProbesDue { node });
        } else {
            self.schedule_probes(node);
        }
    }

    fn schedule_probes(&mut self, node: NodeId) {
        if let Some(at) = self.nodes[node].route_prober.next_timeout() {
            self.schedule_node(node, at);
        }
    }

    /// Returns the next peer of a node to which an echo request is due. The driver calls
    /// [`send_route_probe`](Self::send_route_probe) if a connection still waits for the peer, else
    /// [`cancel_route_probe`](Self::cancel_route_probe), until there is none.
    pub fn next_due_probe(&mut self, node: NodeId) -> Option<Ipv4Addr> {
        let due = self.nodes[node].route_prober.due_destination(self.now);
        if due.is_none() {
            self.schedule_probes(node);
        }
        due
    }

    /// Sends the echo request that is due to `to`.
    pub fn send_route_probe(&mut self, node: NodeId, to: Ipv4Addr) {
        let Some(sequence) = self.nodes[node].route_prober.on_request_sent(self.now, to) else {
            return;
        };
        let (identifier, payload) = (node.number() as u16, Payload::EMPTY);
        let echo = IcmpMessage::Echo { reply: false, identifier, sequence, payload };
        self.send(node, new_packet(node, to, Body::Icmp(echo)), QueuePosition::Tail);
    }

    /// Ends the probe of a peer for which no connection waits any more. A single request is sent all
    /// the same.
    pub fn cancel_route_probe(&mut self, node: NodeId, to: Ipv4Addr) {
        if !self.nodes[node].route_prober.cancel(to) {
            self.send_route_probe(node, to);
        }
    }

    /// Signals to the connections that were probing a peer that it has been reached.
    pub(super) fn on_peer_found(&mut self, node: NodeId, peer: Ipv4Addr) {
        if self.nodes[node].route_prober.on_found(peer) {
            self.work.signal_destination(node, peer, SignalKind::RouteRestored);
        }
    }
}
