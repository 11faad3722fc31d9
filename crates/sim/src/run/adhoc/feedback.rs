//! What a node that gives a packet up tells its source.

use base::{FailedLink, Ipv4Addr, Signal};
use route::{DropReason, Way};
use scenario::Feedback;
use wire::{Packet, UnreachableCode};

use super::super::{NetworkAtWork, Run};
use super::AdhocAtWork;
use crate::nodes::{address, node_at};
use link::Place;

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

    /// There is a route again: whoever has had an RFN gets an RRN (chandran-1998 §4).
    pub(super) fn route_found(&mut self, node: usize, to: Ipv4Addr) {
        if self.net.feedback != Feedback::Rfn {
            return;
        }
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
