//! Packets that leave a node over an interface that has been chosen.

use driftway_base::{DropReason, Ecn, NodeId, PacketId, RadioId};
use driftway_link::{Dequeued, EnqueueOutcome, Frame, PacketClass, QueuePosition, QueuedPacket};
use driftway_radio::OutgoingPacket;
use driftway_wire::{Body, Packet};

use super::{Network, Radio};
use crate::air::radio::QueueArrival;
use crate::flow_hash::flow_hash;
use crate::frame_body::FrameBody;
use crate::interface::{Interface, LinkEnd, Place};

impl Network {
    /// Enqueues a packet on an interface, for this next hop if the interface has several; `None`:
    /// broadcast.
    pub(super) fn enqueue(
        &mut self,
        interface: Interface,
        id: PacketId,
        next_hop: Option<NodeId>,
        place: QueuePosition,
    ) {
        let at = Place::Interface(interface, next_hop);
        let outcome = match interface {
            Interface::Wire(end) => self.enqueue_on_wire(end, id, place),
            Interface::Radio(radio) => self.enqueue_at_radio(radio, id, next_hop, place),
        };
        match outcome {
            Some(EnqueueOutcome::Accepted { mark, evicted }) => {
                if mark {
                    self.mark_congestion(id);
                }
                if self.recorder.records_all() {
                    self.record_enqueued(interface, id, next_hop);
                }
                if let Some(other) = evicted {
                    let at = Place::Interface(interface, None);
                    self.drop(at, other, DropReason::QueueOverflow);
                }
            }
            Some(EnqueueOutcome::Dropped { reason }) => self.drop(at, id, reason),
            Some(EnqueueOutcome::Refused) => match interface {
                Interface::Wire(end) => self.on_packet_refused(end, id, place),
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
        id: PacketId,
        place: QueuePosition,
    ) -> Option<EnqueueOutcome> {
        let link = end.link;
        let packet = &self.packets.get(id)?.packet;
        let flow = if self.wires.separates_flows(end) { flow_hash(packet) } else { 0 };
        let ecn_capable = packet.ip.ecn.is_capable();
        let frame = Frame { id, bytes: packet.len(), ecn_capable, flow };
        // A burst marks its link once: the ready queue is no longer than the number of links.
        if self.work.ready_links.back() != Some(&link) {
            self.work.ready_links.push_back(link);
        }
        Some(self.wires.enqueue(self.now, end, frame, place))
    }

    fn enqueue_at_radio(
        &mut self,
        radio: RadioId,
        id: PacketId,
        next_hop: Option<NodeId>,
        place: QueuePosition,
    ) -> Option<EnqueueOutcome> {
        let item = queue_item(self.packets.body(id)?, id, next_hop);
        let queue = &mut self.medium.radios[radio].queue;
        match place {
            QueuePosition::Tail if self.medium.segment_queueing.inspects_segments() => {
                self.enqueue_segment(radio, item)
            }
            QueuePosition::Tail => Some(queue.enqueue(self.now, item)),
            QueuePosition::Front => Some(queue.enqueue_at(self.now, item, place)),
        }
    }

    /// Puts a packet into a queue that inspects segments; `None` if it was dropped as a duplicate.
    fn enqueue_segment(&mut self, radio: RadioId, item: QueuedPacket) -> Option<EnqueueOutcome> {
        let order = self.medium.segment_queueing;
        let own = self.packets.get(item.id).map(|routed| routed.packet);
        let Self { packets, medium, now, .. } = self;
        let queue = &mut medium.radios[radio].queue;
        let mut compared = |other: &QueuedPacket, is_so: fn(&Packet, &Packet) -> bool| {
            let other = packets.get(other.id).map(|routed| routed.packet);
            own.zip(other).is_some_and(|(own, other)| is_so(&own, &other))
        };
        let is_duplicate = crate::air::segment_order::is_duplicate;
        if order.discards_duplicates && queue.iter().any(|other| compared(&other, is_duplicate)) {
            let at = Place::Interface(Interface::Radio(radio), item.next_hop);
            self.drop(at, item.id, DropReason::DuplicateInQueue);
            return None;
        }
        let is_before = crate::air::segment_order::is_before;
        Some(match order.sorted {
            true => queue.enqueue_before(*now, item, |other| compared(other, is_before)),
            false => queue.enqueue(*now, item),
        })
    }

    /// Sets the Congestion Experienced codepoint of a packet.
    pub(super) fn mark_congestion(&mut self, id: PacketId) {
        if let Some(routed) = self.packets.get(id) {
            routed.packet.ip.ecn = Ecn::Ce;
        }
    }

    /// Enqueues a packet at a radio after the link layer's processing delay.
    pub(super) fn enqueue_after_delay(
        &mut self,
        radio: RadioId,
        id: PacketId,
        next_hop: Option<NodeId>,
        place: QueuePosition,
    ) {
        let delay = self.medium.radios[radio].stack_delay;
        if delay.is_zero() {
            return self.enqueue(Interface::Radio(radio), id, next_hop, place);
        }
        let at = self.now + delay;
        self.medium.radios[radio].queue_arrivals.push_back(QueueArrival {
            at,
            id,
            next_hop,
            place,
        });
        self.schedule_node(self.medium.radios[radio].node, at);
    }

    /// Passes a radio's next queued packet to the MAC layer if it can accept one.
    pub(super) fn transmit_next(&mut self, radio: RadioId) {
        let of = &mut self.medium.radios[radio];
        if !self.medium.airs[of.air].mac.can_accept(of.station) {
            return;
        }
        let mut dropped = Vec::new();
        let served = of.queue.serve(self.now, |item| dropped.push(item));
        for item in dropped {
            let at = Place::Interface(Interface::Radio(radio), item.next_hop);
            self.drop(at, item.id, DropReason::Codel);
        }
        let Some(Dequeued { frame: item, mark }) = served else { return };
        if mark {
            self.mark_congestion(item.id);
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
        let Radio { air, station, .. } = self.medium.radios[radio];
        let to = next_hop.and_then(|node| self.medium.airs[air].station_of(node));
        let is_control = self.packets.body(id).is_some_and(|body| body.is_control());
        let packet = OutgoingPacket { id, to, bytes, is_control };
        self.medium.airs[air].mac.send(self.now, station, packet);
        self.schedule_air(air);
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
