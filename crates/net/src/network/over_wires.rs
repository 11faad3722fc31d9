//! Packets on wires: arrival at a node, forwarding, and entry into a link.

use driftway_base::{DropReason, LinkId, NodeId, PacketId};
use driftway_link::{LinkEvent, QueuePosition, Side};
use driftway_route::feedback::Scheme;
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use super::broadcast::is_of_neighbours;
use super::notices::{next_hop_of, notified_destination};
use super::schedule::TimerId;
use super::task::Task;
use super::{CROSS_TRAFFIC_STREAM, DISCARD_PORT, Network};
use crate::addresses::address;
use crate::interface::{Departure, Interface, LinkEnd, Place};

impl Network {
    /// Handles the frames that a link has ended, and schedules its next wake-up.
    #[inline(never)]
    pub(super) fn poll_link(&mut self, link: LinkId) {
        while let Some(event) = self.wires.link_mut(link).poll(self.now) {
            match event {
                LinkEvent::Sent { from, id } => {
                    self.record_sent(Interface::Wire(LinkEnd { link, side: from }), id, None);
                }
                LinkEvent::Arrived { from, id } => {
                    let end = LinkEnd { link, side: from }.across();
                    if self.recorder.records_all() {
                        self.record_arrival(end, id);
                    }
                    self.arrive(end, id);
                }
                LinkEvent::Marked { id, .. } => self.packets.mark_congestion(id),
                LinkEvent::Lost { from, id, reason } => {
                    let end = Interface::Wire(LinkEnd { link, side: from });
                    self.drop(Place::Interface(end, None), id, reason);
                }
            }
            if self.work.has_requests() {
                return self.work.add(Task::PollLink { link });
            }
        }
        if let Some(at) = self.wires.link_mut(link).next_timeout() {
            self.schedule.schedule(TimerId::Link(link), at);
        }
    }

    /// Handles a packet that arrives over a link at the node at this end of it: delivers or forwards it.
    fn arrive(&mut self, over: LinkEnd, id: PacketId) {
        let node = self.topology.node_of(over);
        if self.intercept(node, id, false) {
            return;
        }
        let Some(routed) = self.packets.get(id) else { return };
        let (to, for_neighbours) = (routed.packet.ip.destination, is_of_neighbours(routed));
        if let Some(about) = notified_destination(&routed.packet)
            && !self.forwards_notice(node, over, id, about)
        {
            return;
        }
        if self.topology.node_at(to) == Some(node) || for_neighbours {
            self.deliver(node, id);
        } else if self.decrement_ttl(node, id) {
            self.forward(node, id, QueuePosition::Tail);
        }
    }

    /// Decrements the time to live of a packet that is to be forwarded (RFC 1812 §5.3.1); false if
    /// it has expired, and the packet is dropped.
    pub(super) fn decrement_ttl(&mut self, node: NodeId, id: PacketId) -> bool {
        let Some(packet) = self.packets.get(id).map(|routed| &mut routed.packet) else {
            return false;
        };
        packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
        if packet.ip.ttl > 0 {
            return true;
        }
        self.drop(Place::Node(node), id, DropReason::TimeToLive);
        false
    }

    /// Forwards a packet from a node over its next interface.
    #[inline]
    pub(super) fn forward(&mut self, node: NodeId, id: PacketId, place: QueuePosition) {
        if self.medium.is_empty() {
            return self.forward_over_wire(node, id, place);
        }
        let Some(to) = self.packets.get(id).map(|routed| routed.packet.ip.destination) else {
            return;
        };
        if !self.uses_air(node, to) {
            return self.forward_over_wire(node, id, place);
        }
        self.send_over_air(node, id, place);
    }

    /// Forwards a packet from a node over the next of its wires.
    pub(super) fn forward_over_wire(&mut self, node: NodeId, id: PacketId, place: QueuePosition) {
        let Some(packet) = self.packets.get(id).map(|routed| &routed.packet) else { return };
        let to = packet.ip.destination;
        let Some(goal) = self.topology.node_at(to) else {
            return self.drop(Place::Node(node), id, DropReason::UnknownDestination);
        };
        let feedback = &mut self.nodes[node].feedback;
        let found = if feedback.is_failure_free() {
            self.topology.choose_link(node, goal, |_| true)
        } else {
            let (now, packet) = (self.now, *packet);
            if feedback.on_packet(now, to) {
                self.work.mark_feedback_ready(node);
            }
            let usable = |link_end| feedback.is_usable(now, to, next_hop_of(link_end));
            let may_try = |link_end| feedback.can_try(&packet, next_hop_of(link_end));
            let link_end = self.topology.choose_link(node, goal, usable);
            link_end.or_else(|| self.topology.choose_link(node, goal, may_try))
        };
        match found {
            Some(end) => {
                let packet = Departure { id, next_hop: None, place };
                self.enqueue(Interface::Wire(end), packet);
            }
            None if self.topology.candidate_links(node, goal).next().is_some() => {
                self.on_no_route(node, id);
            }
            None => self.drop(Place::Node(node), id, DropReason::UnknownDestination),
        }
    }

    /// Sends a packet of cross traffic over one hop.
    pub(super) fn send_cross_traffic(&mut self, link: LinkId, side: Side, bytes: u32) {
        let end = LinkEnd { link, side };
        let (from, to) = (self.topology.node_of(end), self.topology.across(end));
        // The configured size is that of the IP packet.
        let len = bytes.saturating_sub(driftway_wire::IPV4_HEADER_LEN + 8);
        let payload = Payload::new(CROSS_TRAFFIC_STREAM, self.cross_traffic_bytes, len);
        self.cross_traffic_bytes += u64::from(len);
        let datagram =
            UdpDatagram { source_port: DISCARD_PORT, destination_port: DISCARD_PORT, payload };
        let id = self.create(from, new_packet(from, address(to), Body::Udp(datagram)));
        let packet = Departure { id, next_hop: None, place: QueuePosition::Tail };
        self.enqueue(Interface::Wire(end), packet);
    }
}

/// Creates a packet of a node itself, not yet numbered.
pub(super) fn new_packet(from: NodeId, to: driftway_base::Ipv4Addr, body: Body) -> Packet {
    Packet { ip: driftway_wire::IpHeader::new(address(from), to), body }
}
