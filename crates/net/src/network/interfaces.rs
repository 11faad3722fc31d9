//! Packets that leave a node over an interface that has been chosen.

use driftway_base::{DropReason, NodeId, PacketId, RadioId};
use driftway_link::{Dequeued, EnqueueOutcome, Frame, PacketClass, QueuePosition, QueuedPacket};
use driftway_radio::OutgoingPacket;
use driftway_wire::{Body, Packet};

use super::Network;
use crate::flow_hash::flow_hash;
use crate::frame_body::FrameBody;
use crate::interface::{Departure, Interface, LinkEnd, Place};

impl Network {
    /// Enqueues a packet on an interface, for this next hop if the interface has several; `None`:
    /// broadcast.
    pub(super) fn enqueue(&mut self, interface: Interface, packet: Departure) {
        let Departure { id, next_hop, .. } = packet;
        let at = Place::Interface(interface, next_hop);
        let outcome = match interface {
            Interface::Wire(end) => self.enqueue_on_wire(end, packet),
            Interface::Radio(radio) => self.enqueue_at_radio(radio, packet),
        };
        match outcome {
            Some(EnqueueOutcome::Accepted { mark, evicted }) => {
                if mark {
                    self.packets.mark_congestion(id);
                }
                if self.recorder.records_all() {
                    self.record_enqueued(interface, id, next_hop);
                }
                if let Some(other) = evicted {
                    self.drop(Place::Interface(interface, None), other, DropReason::QueueOverflow);
                }
            }
            Some(EnqueueOutcome::Dropped { reason }) => self.drop(at, id, reason),
            Some(EnqueueOutcome::Refused) => match interface {
                Interface::Wire(end) => self.on_packet_refused(end, packet),
                Interface::Radio(_) => self.drop(at, id, DropReason::QueueOverflow),
            },
            None => return,
        }
        if let Interface::Radio(radio) = interface {
            self.transmit_next(radio);
        }
    }

    fn enqueue_on_wire(
        &mut self,
        end: LinkEnd,
        Departure { id, place, .. }: Departure,
    ) -> Option<EnqueueOutcome> {
        let packet = &self.packets.get(id)?.packet;
        let link = self.wires.link_mut(end.link);
        let flow = if link.separates_flows(end.side) { flow_hash(packet) } else { 0 };
        let ecn_capable = packet.ip.ecn.is_capable();
        let frame = Frame { id, bytes: packet.len(), ecn_capable, flow };
        self.work.mark_link_ready(end.link);
        Some(link.enqueue(self.now, end.side, frame, place))
    }

    fn enqueue_at_radio(
        &mut self,
        radio: RadioId,
        Departure { id, next_hop, place }: Departure,
    ) -> Option<EnqueueOutcome> {
        let item = queue_item(self.packets.body(id)?, id, next_hop);
        let queueing = self.medium.segment_queueing();
        let queue = &mut self.medium.radio_mut(radio).queue;
        match place {
            QueuePosition::Tail if queueing.inspects_segments() => {
                self.enqueue_segment(radio, item)
            }
            QueuePosition::Tail => Some(queue.enqueue(self.now, item)),
            QueuePosition::Front => Some(queue.enqueue_at(self.now, item, place)),
        }
    }

    /// Puts a packet into a queue that inspects segments; `None` if it was dropped as a duplicate.
    fn enqueue_segment(&mut self, radio: RadioId, item: QueuedPacket) -> Option<EnqueueOutcome> {
        let order = self.medium.segment_queueing();
        let own = self.packets.get(item.id).map(|routed| routed.packet);
        let Self { packets, medium, now, .. } = self;
        let queue = &mut medium.radio_mut(radio).queue;
        let mut compared = |other: &QueuedPacket, is_so: fn(&Packet, &Packet) -> bool| {
            let other = packets.get(other.id).map(|routed| routed.packet);
            own.zip(other).is_some_and(|(own, other)| is_so(&own, &other))
        };
        let is_duplicate = crate::air::segment_order::is_duplicate;
        if order.discards_duplicates && queue.iter().any(|other| compared(&other, is_duplicate)) {
            let at = Place::at_radio(radio, item.next_hop);
            self.drop(at, item.id, DropReason::DuplicateInQueue);
            return None;
        }
        let is_before = crate::air::segment_order::is_before;
        Some(match order.sorted {
            true => queue.enqueue_before(*now, item, |other| compared(other, is_before)),
            false => queue.enqueue(*now, item),
        })
    }

    /// Enqueues a packet at a radio after the link layer's processing delay.
    pub(super) fn enqueue_after_delay(&mut self, radio: RadioId, packet: Departure) {
        let of = self.medium.radio_mut(radio);
        match of.delay(self.now, packet) {
            Some(at) => {
                let node = of.node;
                self.schedule_node(node, at);
            }
            None => self.enqueue(Interface::Radio(radio), packet),
        }
    }

    /// Passes a radio's next queued packet to the MAC layer if it can accept one.
    pub(super) fn transmit_next(&mut self, radio: RadioId) {
        let (mac, station) = self.medium.mac_of(radio);
        if !mac.can_accept(station) {
            return;
        }
        let mut dropped = Vec::new();
        let served = self.medium.radio_mut(radio).queue.serve(self.now, |item| dropped.push(item));
        for item in dropped {
            self.drop(Place::at_radio(radio, item.next_hop), item.id, DropReason::Codel);
        }
        let Some(Dequeued { frame: item, mark }) = served else { return };
        if mark {
            self.packets.mark_congestion(item.id);
        }
        self.transmit(radio, item.id, item.next_hop, item.bytes);
    }

    /// Passes a packet for a next hop, or `None`: broadcast, to the MAC layer, which must be able to accept it.
    pub(super) fn transmit(
        &mut self,
        radio: RadioId,
        id: PacketId,
        next_hop: Option<NodeId>,
        bytes: u32,
    ) {
        if self.recorder.records_all() {
            self.record_sent(Interface::Radio(radio), id, next_hop);
        }
        let is_control = self.packets.body(id).is_some_and(|body| body.is_control());
        let packet = OutgoingPacket { id, to: None, bytes, is_control };
        self.medium.send(self.now, radio, next_hop, packet);
        self.schedule_air(self.medium.radio(radio).air);
    }
}

/// Returns the entry of a packet or a message of ARP in the interface queue.
fn queue_item(body: &FrameBody, id: PacketId, next_hop: Option<NodeId>) -> QueuedPacket {
    let class = match body.packet().map(|routed| &routed.packet.body) {
        Some(Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader) => PacketClass::Routing,
        Some(Body::Tcp(segment)) if segment.sequence_len() == 0 => PacketClass::Ack,
        // queue/dsr-priqueue.cc, queue/priqueue.cc: ARP messages have no priority.
        Some(Body::Tcp(_) | Body::Udp(_) | Body::Icmp(_)) | None => PacketClass::Other,
    };
    let ecn_capable = body.packet().is_some_and(|routed| routed.packet.ip.ecn.is_capable());
    QueuedPacket { id, bytes: body.bytes(), ecn_capable, next_hop, class }
}
