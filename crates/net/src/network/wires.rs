//! Packets on wires: arrival at a node, forwarding, and entry into a link.

use driftway_base::{DropReason, Ecn};
use driftway_link::{EnqueueOutcome, Frame, LinkEvent, QueuePosition, Side};
use driftway_route::feedback::{Scheme, UndeliverablePacket};
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use super::notices::{next_hop_of, notified_destination};
use super::task::Task;
use super::{CROSS_TRAFFIC_STREAM, DISCARD_PORT, Network, OPAQUE_STREAM};
use crate::addresses::address;
use crate::digest::DELIVERED;
use crate::wired::link_end::LinkEnd;

impl Network {
    /// Handles the frames that a link has ended, and schedules its next wake-up.
    pub(super) fn poll_link(&mut self, link: usize) {
        while let Some(event) = self.links[link].poll(self.now) {
            match event {
                LinkEvent::Arrived { from, id } => {
                    let node = self.topology.across(link, from);
                    self.arrive(node, LinkEnd { link, side: from.other() }, id);
                }
                LinkEvent::Marked { id, .. } => {
                    if let Some(routed) = self.packets.get(id) {
                        routed.packet.ip.ecn = Ecn::Ce;
                    }
                }
                LinkEvent::Lost { from, id, reason: DropReason::Codel } => {
                    self.drop_in_queue(LinkEnd { link, side: from }, id, DropReason::Codel);
                }
                LinkEvent::Lost { from, id, reason } => {
                    let lost = self.drop_on_link(link, id, reason);
                    if let (Some(packet), DropReason::Partition) = (lost, reason) {
                        self.on_packet_cut(LinkEnd { link, side: from }, &packet);
                    }
                }
            }
            if !self.outputs.is_empty() {
                return self.tasks.push(Task::PollLink { link });
            }
        }
        if let Some(at) = self.links[link].next_timeout() {
            self.wakeups.schedule((self.active_faults.len() + link) as u32, at);
        }
    }

    /// Handles a packet that arrives at a node over the node's side of a link: delivers or forwards
    /// it.
    fn arrive(&mut self, node: usize, over: LinkEnd, id: u32) {
        if self.splitting_gateway == Some(node) && self.intercepts_handle(node, id) {
            let Some(packet) = self.packets.record_plain_delivery(id) else { return };
            return self.intercept(node, false, &packet);
        }
        let Some(packet) = self.packets.get(id).map(|routed| &mut routed.packet) else { return };
        let to = packet.ip.destination;
        if let Some(about) = notified_destination(packet) {
            if !self.forwards_notice(node, over, id, about) {
                return;
            }
        } else if packet.ip.ttl > 1 && self.topology.node_at(to) != Some(node) {
            // RFC 1812 §5.3.1.
            packet.ip.ttl -= 1;
            return self.forward(node, id, QueuePosition::Tail);
        }
        if self.topology.node_at(to) == Some(node) {
            let Some(packet) = self.packets.record_plain_delivery(id) else { return };
            self.digest.add_packet(self.now, node as u32, DELIVERED, &packet);
            self.record_delivery(node, &packet);
            return self.deliver_to_host(node, &packet);
        }
        if self.decrement_ttl(node, id) {
            self.forward(node, id, QueuePosition::Tail);
        }
    }

    /// Decrements the time to live of a packet that is to be forwarded (RFC 1812 §5.3.1); false if
    /// it has expired, and the packet is dropped.
    pub(super) fn decrement_ttl(&mut self, node: usize, id: u32) -> bool {
        let Some(packet) = self.packets.get(id).map(|routed| &mut routed.packet) else {
            return false;
        };
        packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
        if packet.ip.ttl > 0 {
            return true;
        }
        if let Some(packet) = self.drop_at_node(node, id, DropReason::TimeToLive) {
            let (now, reason) = (self.now, DropReason::TimeToLive);
            let lost = UndeliverablePacket { packet: &packet, reason, link: None, packet_id: None };
            self.nodes[node].feedback.on_undeliverable(now, &lost);
            self.ready_feedback.push_back(node);
            self.send_icmp(node, false);
        }
        false
    }

    /// Forwards a packet from a node over its next interface.
    #[inline]
    pub(super) fn forward(&mut self, node: usize, id: u32, place: QueuePosition) {
        if self.airs.is_empty() {
            return self.forward_over_wire(node, id, place);
        }
        let Some(to) = self.packets.get(id).map(|routed| routed.packet.ip.destination) else {
            return;
        };
        if !self.uses_air(node, to) {
            return self.forward_over_wire(node, id, place);
        }
        if let Some(packet) = self.packets.record_plain_delivery(id) {
            self.send_over_air(node, &packet, place);
        }
    }

    /// Forwards a packet from a node over the next of its wires.
    pub(super) fn forward_over_wire(&mut self, node: usize, id: u32, place: QueuePosition) {
        let Some(packet) = self.packets.get(id).map(|routed| &routed.packet) else { return };
        let to = packet.ip.destination;
        let Some(goal) = self.topology.node_at(to) else {
            self.drop_at_node(node, id, DropReason::UnknownDestination);
            return;
        };
        let feedback = &mut self.nodes[node].feedback;
        let found = if feedback.is_failure_free() {
            self.topology.choose_link(node, goal, |_| true)
        } else {
            let (now, packet) = (self.now, *packet);
            if feedback.on_packet(now, to) {
                self.ready_feedback.push_back(node);
            }
            let usable = |link_end| feedback.is_usable(now, to, next_hop_of(link_end));
            let may_try = |link_end| feedback.can_try(&packet, next_hop_of(link_end));
            let link_end = self.topology.choose_link(node, goal, usable);
            link_end.or_else(|| self.topology.choose_link(node, goal, may_try))
        };
        match found {
            Some(link_end) => self.enqueue_on_link(link_end.link, link_end.side, id, place),
            None if self.topology.candidate_links(node, goal).next().is_some() => {
                self.on_no_route(node, id);
            }
            None => {
                self.drop_at_node(node, id, DropReason::UnknownDestination);
            }
        }
    }

    /// Enqueues a packet on a link.
    fn enqueue_on_link(&mut self, link: usize, side: Side, id: u32, place: QueuePosition) {
        let Some(packet) = self.packets.get(id).map(|routed| &routed.packet) else { return };
        let frame = Frame { id, bytes: packet.len(), ecn_capable: packet.ip.ecn.is_capable() };
        // A burst marks its link once: the ready queue is no longer than the number of links.
        if self.ready_links.back() != Some(&link) {
            self.ready_links.push_back(link);
        }
        match self.links[link].enqueue(self.now, side, frame, place) {
            EnqueueOutcome::Accepted { mark, evicted } => {
                if mark && let Some(routed) = self.packets.get(id) {
                    routed.packet.ip.ecn = Ecn::Ce;
                }
                if let Some(other) = evicted {
                    self.drop_on_link(link, other, DropReason::QueueOverflow);
                }
            }
            EnqueueOutcome::Dropped { reason } => {
                self.drop_in_queue(LinkEnd { link, side }, id, reason);
            }
            EnqueueOutcome::Refused => self.on_packet_refused(LinkEnd { link, side }, id, place),
        }
    }

    /// Drops a packet that its queue did not accept or keep.
    fn drop_in_queue(&mut self, link_end: LinkEnd, id: u32, reason: DropReason) {
        let dropped = self.drop_on_link(link_end.link, id, reason);
        if self.sends_source_quench[link_end.link]
            && let Some(packet) = dropped
        {
            let node = self.topology.node_of(link_end);
            self.nodes[node].feedback.on_queue_overflow(self.now, &packet);
            self.ready_feedback.push_back(node);
            self.send_icmp(node, false);
        }
    }

    /// Sends a packet of cross traffic over one hop.
    pub(super) fn send_cross_traffic(&mut self, link: usize, side: Side, bytes: u32) {
        let (from, to) =
            (self.topology.node_of(LinkEnd { link, side }), self.topology.across(link, side));
        // The configured size is that of the IP packet.
        let len = bytes.saturating_sub(driftway_wire::IPV4_HEADER_LEN + 8);
        let payload = Payload::new(CROSS_TRAFFIC_STREAM, self.cross_traffic_bytes, len);
        self.cross_traffic_bytes += u64::from(len);
        let datagram =
            UdpDatagram { source_port: DISCARD_PORT, destination_port: DISCARD_PORT, payload };
        let mut packet = new_packet(from, address(to), Body::Udp(datagram));
        self.identify(from, &mut packet);
        let id = self.packets.insert_plain(&packet);
        self.enqueue_on_link(link, side, id, QueuePosition::Tail);
    }

    /// Drops a packet on a link; returns it if an error may quote it.
    pub(super) fn drop_on_link(&mut self, link: usize, id: u32, why: DropReason) -> Option<Packet> {
        self.drop_wired(None, link as u32, id, why)
    }

    /// Drops a packet that a node would have forwarded over a wire; returns it if an error may quote
    /// it.
    pub(super) fn drop_at_node(&mut self, node: usize, id: u32, why: DropReason) -> Option<Packet> {
        self.drop_wired(Some(node), node as u32, id, why)
    }

    fn drop_wired(
        &mut self,
        node: Option<usize>,
        place: u32,
        id: u32,
        why: DropReason,
    ) -> Option<Packet> {
        let packet = self.packets.record_plain_drop(id, why)?;
        self.digest.add_packet(self.now, place, why as u8, &packet);
        self.record_wire_drop(node, &packet, why);
        // An error could not quote what is not known.
        (packet.payload().stream != OPAQUE_STREAM).then_some(packet)
    }
}

/// Creates a packet of a node itself, not yet numbered.
pub(super) fn new_packet(from: usize, to: driftway_base::Ipv4Addr, body: Body) -> Packet {
    Packet { ip: driftway_wire::IpHeader::new(address(from), to), body }
}
