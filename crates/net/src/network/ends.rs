//! The ends of packets. Each ends in one place, which counts it, adds it to the digest, records the
//! event, and informs the node's feedback.

use driftway_base::DropReason;
use driftway_route::feedback::{Scheme, UndeliverablePacket};
use driftway_wire::{Packet, RoutedPacket};

use super::task::Task;
use super::{Network, OPAQUE_STREAM, link_of};
use crate::addresses::address;
use crate::digest::DELIVERED;
use crate::interface::{Interface, LinkEnd, Outcome, Place};

impl Network {
    /// Ends a packet that has a handle, and returns it.
    pub(super) fn end(&mut self, at: Place, id: u32, outcome: Outcome) -> Option<Packet> {
        let is_recorded = self.recorder.records_ends();
        let routed = if is_recorded { self.packets.get(id).copied() } else { None };
        let packet = self.packets.end(id, outcome)?;
        self.on_end(at, &packet, routed.as_ref(), outcome);
        Some(packet)
    }

    /// Ends a packet that a node's routing has yielded.
    pub(super) fn end_routed(&mut self, at: Place, packet: &RoutedPacket, outcome: Outcome) {
        self.packets.end_routed(packet, outcome);
        self.on_end(at, &packet.packet, Some(packet), outcome);
    }

    /// Drops a packet that has a handle.
    pub(super) fn drop(&mut self, at: Place, id: u32, reason: DropReason) -> Option<Packet> {
        self.end(at, id, Outcome::Dropped(reason))
    }

    #[inline]
    fn on_end(
        &mut self,
        at: Place,
        packet: &Packet,
        routed: Option<&RoutedPacket>,
        outcome: Outcome,
    ) {
        let code = match outcome {
            Outcome::PassedOn => return,
            Outcome::Delivered => DELIVERED,
            Outcome::Dropped(reason) => reason as u8,
        };
        let number = match at {
            Place::Interface(Interface::Wire(end), _) => end.link,
            _ => self.node_of(at),
        };
        self.digest.add_packet(self.now, number as u32, code, packet);
        if let Some(routed) = routed {
            self.record_end(at, routed, outcome);
        }
        if let Outcome::Dropped(reason) = outcome {
            self.report_drop(at, packet, reason);
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
                self.work.ready_feedback.push_back(node);
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
            self.work.ready_feedback.push_back(node);
            self.send_icmp(node, false);
        }
    }

    fn report_drop_at_radio(
        &mut self,
        radio: usize,
        to: Option<u32>,
        packet: &Packet,
        reason: DropReason,
    ) {
        let node = self.medium.radios[radio].node;
        if reason.is_of_queue() || reason == DropReason::DuplicateInQueue {
            self.nodes[node].feedback.on_queue_overflow(self.now, packet);
            self.work.tasks.push(Task::DrainFeedback { node });
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
    pub(super) fn node_of(&self, at: Place) -> usize {
        match at {
            Place::Node(node) | Place::Routing(node) => node,
            Place::Interface(interface, _) => self.node_of_interface(interface),
        }
    }

    /// Returns the node of an interface.
    pub(super) fn node_of_interface(&self, interface: Interface) -> usize {
        match interface {
            Interface::Wire(end) => self.topology.node_of(end),
            Interface::Radio(radio) => self.medium.radios[radio].node,
        }
    }
}

/// True if a packet that the link layer returned was dropped because of that link.
const fn is_link_related(reason: DropReason) -> bool {
    use DropReason::{BadRoute, LinkFailure, NoRoute, SalvageLimit};
    matches!(reason, LinkFailure | NoRoute | SalvageLimit | BadRoute)
}
