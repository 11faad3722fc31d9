//! The accounting of packets, from host to host: each is created in one place, which numbers it, and ends in
//! one place, which counts it, adds it to the digest, records the event, and informs the node's feedback.

use driftway_base::{DropReason, NodeId, PacketId, RadioId};
use driftway_route::feedback::{Scheme, UndeliverablePacket};
use driftway_wire::{Body, IcmpMessage, Packet, RoutedPacket};

use super::task::Task;
use super::{Network, OPAQUE_STREAM, link_of};
use crate::addresses::address;
use crate::digest::DELIVERED;
use crate::frame_body::FrameBody;
use crate::interface::{Interface, LinkEnd, Outcome, Place};
use crate::output::Output;

impl Network {
    /// Creates a packet of a node: its host's, its own, or a gateway's in the name of another. Numbers it: this
    /// is the only place at which the IP identification is set, but for messages of routing.
    pub(super) fn create(&mut self, node: NodeId, mut packet: Packet) -> PacketId {
        let own = address(node);
        let number = self.nodes[node].next_identification();
        packet.ip.identification = if packet.ip.source == own {
            number
        } else {
            // What a gateway sends in the name of a host must differ from the host's own, and from another
            // gateway's.
            number.wrapping_add((own.to_bits() as u16).wrapping_mul(0x9e37)).max(1)
        };
        self.packets.create(FrameBody::Ip(RoutedPacket::plain(packet)))
    }

    /// Ends a packet at its destination, and passes it to the host there.
    pub(super) fn deliver(&mut self, node: NodeId, id: PacketId) {
        let Some(packet) = self.packets.get(id).map(|routed| routed.packet) else { return };
        self.end(Place::Node(node), id, Outcome::Delivered);
        if let Body::Icmp(IcmpMessage::Echo { reply: true, .. }) = &packet.body {
            self.on_peer_found(node, packet.ip.source);
        }
        self.work.request(Output::Deliver { node, packet });
    }

    /// Drops what is in transit.
    pub(super) fn drop(&mut self, at: Place, id: PacketId, reason: DropReason) {
        self.end(at, id, Outcome::Dropped(reason));
    }

    /// Ends what is in transit.
    pub(super) fn end(&mut self, at: Place, id: PacketId, outcome: Outcome) {
        if self.recorder.records_ends() {
            self.record_end(at, id, outcome);
        }
        let place = self.place_number(at);
        let Some(body) = self.packets.end(id, outcome) else { return };
        match outcome {
            Outcome::Delivered => self.digest.add_body(self.now, place, DELIVERED, body),
            Outcome::Sent => {
                if let FrameBody::Ip(routed) = body {
                    self.counters.hops.count(&routed.packet);
                }
            }
            Outcome::Dropped(reason) => {
                self.digest.add_body(self.now, place, reason as u8, body);
                if let FrameBody::Ip(routed) = body {
                    let packet = routed.packet;
                    self.report_drop(at, &packet, reason);
                }
            }
        }
    }

    /// Returns the number of a place for the digest: a link's, or a node's.
    fn place_number(&self, at: Place) -> u32 {
        match at {
            Place::Interface(Interface::Wire(end), _) => end.link.number(),
            _ => self.node_of(at).number(),
        }
    }

    /// Informs the feedback of the node at which a packet was dropped.
    fn report_drop(&mut self, at: Place, packet: &Packet, reason: DropReason) {
        match at {
            Place::Routing(node) => {
                let link = self.failed_link.filter(|link| link.from == address(node));
                let link = link.filter(|_| is_link_related(reason));
                self.on_packet_given_up(node, packet, reason, link);
            }
            Place::Interface(Interface::Radio(radio), to) => {
                self.report_drop_at_radio(radio, to, packet, reason);
            }
            // An error could not quote what is not known.
            _ if packet.payload().stream == OPAQUE_STREAM => {}
            Place::Node(node) if reason == DropReason::TimeToLive => {
                let lost = UndeliverablePacket { packet, reason, link: None, packet_id: None };
                self.nodes[node].feedback.on_undeliverable(self.now, &lost);
                self.work.mark_feedback_ready(node);
                self.send_icmp(node, false);
            }
            Place::Node(_) => {}
            Place::Interface(Interface::Wire(end), _) => {
                self.report_drop_on_wire(end, packet, reason);
            }
        }
    }

    fn report_drop_on_wire(&mut self, end: LinkEnd, packet: &Packet, reason: DropReason) {
        if reason == DropReason::Partition {
            return self.on_packet_cut(end, packet);
        }
        if reason.is_of_queue() && self.wires.sends_source_quench(end.link) {
            let node = self.topology.node_of(end);
            self.nodes[node].feedback.on_queue_overflow(self.now, packet);
            self.work.mark_feedback_ready(node);
            self.send_icmp(node, false);
        }
    }

    fn report_drop_at_radio(
        &mut self,
        radio: RadioId,
        to: Option<NodeId>,
        packet: &Packet,
        reason: DropReason,
    ) {
        let node = self.medium.radio(radio).node;
        if reason.is_of_queue() || reason == DropReason::DuplicateInQueue {
            self.nodes[node].feedback.on_queue_overflow(self.now, packet);
            self.work.add(Task::DrainFeedback { node });
        }
        // If routing still has a route to the destination, the source is not notified.
        if reason == DropReason::LinkFailure
            && let Some(to) = to
            && let destination = packet.ip.destination
            && !self.nodes[node].routing.as_ref().is_some_and(|of| of.has_route(destination))
        {
            self.on_packet_given_up(node, packet, reason, Some(link_of(node, to)));
        }
    }

    /// Returns the node at which a packet ends; of a wire, the node at the sending end.
    pub(super) fn node_of(&self, at: Place) -> NodeId {
        match at {
            Place::Node(node) | Place::Routing(node) => node,
            Place::Interface(interface, _) => self.node_of_interface(interface),
        }
    }

    /// Returns the node of an interface.
    pub(super) fn node_of_interface(&self, interface: Interface) -> NodeId {
        match interface {
            Interface::Wire(end) => self.topology.node_of(end),
            Interface::Radio(radio) => self.medium.radio(radio).node,
        }
    }
}

/// True if a packet that the link layer returned was dropped because of that link.
const fn is_link_related(reason: DropReason) -> bool {
    use DropReason::{BadRoute, LinkFailure, NoRoute, SalvageLimit};
    matches!(reason, LinkFailure | NoRoute | SalvageLimit | BadRoute)
}
