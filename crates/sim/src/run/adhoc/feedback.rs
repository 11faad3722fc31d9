//! What a node that gives a packet up tells its source.

use base::{About, Duration, FailedLink, Ipv4Addr, Signal, SignalKind};
use link::Place;
use route::{DropReason, Way};
use scenario::Feedback;
use wire::{Body, IcmpMessage, Packet, Payload, UnreachableCode};

use super::super::{NetworkAtWork, Run};
use super::AdhocAtWork;
use crate::nodes::{address, node_at};

/// Between echo requests of one node to one destination.
const ECHO_SPACING: Duration = Duration::from_secs(1);

impl Run<'_, AdhocAtWork> {
    /// A node has given up on a packet: its source is told as the scenario says.
    pub(super) fn answer_for(&mut self, node: usize, packet: &Packet, reason: DropReason) {
        let answer = match (self.net.feedback, reason) {
            (Feedback::None, _) | (_, DropReason::Loop) => return,
            (_, DropReason::TimeToLive) => self.hosts[node].time_exceeded(packet),
            (Feedback::IcmpUnreachable, _) => {
                self.hosts[node].complain(packet, UnreachableCode::Host)
            }
            (Feedback::Rfn, _) => return self.fails_route(node, packet),
        };
        if let Some(answer) = answer {
            AdhocAtWork::send(self, node, answer, Place::Tail);
        }
    }

    /// chandran-1998 §4: the failure point tells the source with an RFN, and remembers it.
    fn fails_route(&mut self, node: usize, packet: &Packet) {
        let to = packet.ip.destination;
        let Some(way) = self.way_to(to) else { return };
        let router = &mut self.net.nodes[node].router;
        router.on_link_failure(to, way, FailedLink { from: address(node), to });
        router.on_loss(packet);
        self.send_notices(node);
    }

    /// A packet for a node's own host: is there something in it for the node?
    ///
    /// chandran-1998 §4 leaves finding a new route to routing, but a protocol that looks for routes
    /// on demand never does for a source that was told to be silent. So the source's node asks the
    /// destination for an echo, which makes routing look; a lost one is followed by another.
    pub(super) fn hear(&mut self, node: usize, packet: &Packet) {
        let Body::Icmp(message) = &packet.body else { return };
        match message {
            IcmpMessage::RouteFailed { quoted, .. } if quoted.source == address(node) => {
                self.seek(node, quoted.destination);
            }
            IcmpMessage::Echo { reply: true, .. } => self.restored(node, packet.ip.source),
            _ => {}
        }
    }

    fn seek(&mut self, node: usize, to: Ipv4Addr) {
        let (now, sought) = (self.now, &mut self.net.nodes[node].sought);
        match sought.iter_mut().find(|(known, _)| *known == to) {
            Some((_, last)) if now.since(*last) < ECHO_SPACING => return,
            Some((_, last)) => *last = now,
            None => sought.push((to, now)),
        }
        let (identifier, sequence) = (node as u16, (now.as_nanos() >> 30) as u16);
        let payload = Payload::EMPTY;
        let echo = IcmpMessage::Echo { reply: false, identifier, sequence, payload };
        let echo = self.hosts[node].packet(to, Body::Icmp(echo));
        AdhocAtWork::send(self, node, echo, Place::Tail);
    }

    /// The own host's connections to a destination that could not be reached are told.
    fn restored(&mut self, node: usize, to: Ipv4Addr) {
        let sought = &mut self.net.nodes[node].sought;
        let Some(place) = sought.iter().position(|(known, _)| *known == to) else { return };
        sought.swap_remove(place);
        let about = About { destination: Some(to), ..About::default() };
        self.signal(node, &Signal { kind: SignalKind::RouteRestored, about });
    }

    /// There is a route again: whoever has had an RFN gets an RRN (chandran-1998 §4).
    pub(super) fn route_found(&mut self, node: usize, to: Ipv4Addr) {
        if self.net.feedback != Feedback::Rfn {
            return;
        }
        self.restored(node, to);
        let Some(way) = self.way_to(to) else { return };
        self.net.nodes[node].router.on_link_restored(way);
        self.send_notices(node);
    }

    /// Routing has one way to a destination, or none.
    fn way_to(&self, to: Ipv4Addr) -> Option<Way> {
        node_at(to, self.net.nodes.len()).map(|node| Way(node as u32))
    }

    fn send_notices(&mut self, node: usize) {
        while let Some(message) = self.net.nodes[node].router.poll_transmit() {
            let message = self.hosts[node].stamp(message);
            AdhocAtWork::send(self, node, message, Place::Tail);
        }
    }

    /// News for the connections of a node's host.
    pub(super) fn signal(&mut self, node: usize, signal: &Signal) {
        let Some(peer) = signal.about.destination else { return };
        self.hosts[node].on_signal(self.now, peer, signal);
        self.serve_peers(node, peer);
    }
}
