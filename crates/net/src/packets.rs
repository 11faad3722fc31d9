//! Packets in transit, and their accounting: each packet that a host or the network creates is delivered,
//! dropped for a named reason, sent to nobody, or in transit.
//!
//! A packet is accounted for once, from host to host. It has a handle, or is held by a routing protocol. Over the
//! air it belongs to the first neighbour that has received it; what the sender's link layer still has of it ends
//! without being counted. Where there is more than one of it from then on, the others are duplicates. Messages of
//! routing and ARP exist from one node to the next only.

use std::collections::BTreeMap;

use driftway_base::{DropReason, Ecn, PacketId};
use driftway_wire::RoutedPacket;
use typed_index_collections::TiVec;

use crate::frame_body::FrameBody;
use crate::interface::Outcome;

/// Initial capacity for packets in transit; it grows once if needed.
const RESERVED: usize = 512;

/// All packets in transit, by handle, and the accounting of those that have ended.
#[derive(Debug, Default)]
pub struct PacketsInTransit {
    slots: TiVec<PacketId, Slot>,
    free: Vec<PacketId>,
    created: u64,
    /// Further packets that have become of one: a broadcast has several receivers, a link layer has failed
    /// although the neighbour has the packet, or routing sends one again.
    duplicated: u64,
    delivered: u64,
    dropped: [u64; DropReason::ALL.len()],
    /// Messages that link layers have sent, and packets that nobody has received.
    sent: u64,
    /// Number of handles whose packets neighbours have received.
    received: u64,
    /// Number of uses of invalid handles.
    invalid_handles: u64,
}

/// A handle's packet; it stays readable after its end until the handle is used again.
#[derive(Debug)]
struct Slot {
    body: FrameBody,
    state: SlotState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotState {
    Free,
    InTransit,
    /// A neighbour has received it: the packet is there.
    Received,
}

impl PacketsInTransit {
    /// Creates an empty account with room for usual numbers of packets.
    pub fn new() -> Self {
        let (slots, free) = (TiVec::with_capacity(RESERVED), Vec::with_capacity(RESERVED));
        Self { slots, free, ..Self::default() }
    }

    /// Creates a packet, or a message of ARP.
    pub fn create(&mut self, body: FrameBody) -> PacketId {
        self.created += 1;
        self.keep(body)
    }

    /// Inserts a duplicate of a packet.
    pub fn duplicate(&mut self, packet: &RoutedPacket) -> PacketId {
        self.duplicated += 1;
        self.keep(FrameBody::Ip(*packet))
    }

    /// Inserts a packet that leaves a routing protocol, which creates control packets.
    pub fn leave_routing(&mut self, packet: &RoutedPacket) -> PacketId {
        self.created += u64::from(packet.is_control());
        self.keep(FrameBody::Ip(*packet))
    }

    /// Counts a duplicate of a packet that a routing protocol has made.
    pub fn on_duplicated_by_routing(&mut self) {
        self.duplicated += 1;
    }

    fn keep(&mut self, body: FrameBody) -> PacketId {
        let slot = Slot { body, state: SlotState::InTransit };
        let Some(id) = self.free.pop() else { return self.slots.push_and_get_key(slot) };
        self.slots[id] = slot;
        id
    }

    /// Returns what is in transit. Handles come from [`create`](Self::create) and its like, and are valid
    /// until the packet ends; `None` is a bug in driftway, which
    /// [`check_conservation`](Self::check_conservation) then reports.
    #[inline]
    pub fn body(&mut self, id: PacketId) -> Option<&mut FrameBody> {
        self.slot(id).map(|slot| &mut slot.body)
    }

    fn slot(&mut self, id: PacketId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(id).filter(|slot| slot.state != SlotState::Free);
        self.invalid_handles += u64::from(slot.is_none());
        slot
    }

    /// Returns a packet in transit; `None` for a message of ARP.
    #[inline]
    pub fn get(&mut self, id: PacketId) -> Option<&mut RoutedPacket> {
        match self.body(id)? {
            FrameBody::Ip(packet) => Some(packet),
            FrameBody::Arp(_) => None,
        }
    }

    /// Sets the Congestion Experienced codepoint of a packet.
    pub fn mark_congestion(&mut self, id: PacketId) {
        if let Some(routed) = self.get(id) {
            routed.packet.ip.ecn = Ecn::Ce;
        }
    }

    /// Returns the packet that a node has received over the air, for its routing.
    pub fn receive(&mut self, id: PacketId) -> Option<&RoutedPacket> {
        if self.get(id)?.is_control() {
            return self.slots[id].body.packet();
        }
        let Slot { body, state } = &mut self.slots[id];
        match std::mem::replace(state, SlotState::Received) {
            SlotState::Received => self.duplicated += 1,
            _ => self.received += 1,
        }
        body.packet()
    }

    /// Removes a packet that enters a routing protocol, where a control packet ends.
    pub fn enter_routing(&mut self, id: PacketId) -> Option<&RoutedPacket> {
        self.sent += u64::from(self.get(id)?.is_control());
        self.duplicated += u64::from(self.free(id));
        self.slots[id].body.packet()
    }

    /// Ends what has a handle, and returns it.
    pub fn end(&mut self, id: PacketId, outcome: Outcome) -> Option<&FrameBody> {
        self.slot(id)?;
        let is_received = self.free(id);
        match outcome {
            Outcome::Delivered => self.delivered += 1,
            Outcome::Dropped(reason) => self.dropped[reason as usize] += 1,
            // What was received is there.
            Outcome::Sent => self.sent += u64::from(!is_received),
        }
        self.duplicated += u64::from(is_received && outcome != Outcome::Sent);
        Some(&self.slots[id].body)
    }

    /// Frees a handle; returns true if a neighbour has received its packet.
    fn free(&mut self, id: PacketId) -> bool {
        self.free.push(id);
        let state = std::mem::replace(&mut self.slots[id].state, SlotState::Free);
        let is_received = state == SlotState::Received;
        self.received -= u64::from(is_received);
        is_received
    }

    /// Returns the number of packets with a handle.
    pub fn with_handle(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Returns the number of drops by reason, without reasons that have none.
    pub fn drops_by_reason(&self) -> BTreeMap<String, u64> {
        let counts = DropReason::ALL.into_iter().zip(self.dropped);
        counts.filter(|(_, n)| *n > 0).map(|(why, n)| (why.name().to_owned(), n)).collect()
    }

    /// Checks packet conservation, with these numbers of packets found at links and nodes, and in
    /// routing protocols, whose control packets do not count.
    ///
    /// # Errors
    /// The numbers that differ.
    pub fn check_conservation(&self, held: u64, routed: u64) -> Result<(), String> {
        let Self { created, duplicated, delivered, sent, received, .. } = self;
        let dropped: u64 = self.dropped.iter().sum();
        let with_handle = self.with_handle();
        if created + duplicated + received != delivered + dropped + sent + with_handle + routed {
            return Err(format!(
                "{created} packets were created, {duplicated} duplicated and {received} received, but \
                 {delivered} delivered + {dropped} dropped + {sent} sent to nobody + {with_handle} in \
                 transit + {routed} held by routing"
            ));
        }
        if with_handle != held {
            return Err(format!(
                "{with_handle} packets are in transit, but the network holds {held}"
            ));
        }
        if self.invalid_handles > 0 {
            return Err(format!("{} accesses to packets that had ended", self.invalid_handles));
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Ipv4Addr;
    use driftway_wire::{AodvMessage, Body, IpHeader, Packet, Payload, UdpDatagram};

    const DELIVERED: Outcome = Outcome::Delivered;

    fn body(number: u64) -> FrameBody {
        FrameBody::Ip(RoutedPacket::plain(packet(number)))
    }

    fn packet(number: u64) -> Packet {
        let address = |n| Ipv4Addr::new(10, 0, 0, n);
        let payload = Payload::new(0, number, 1);
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        let ip = IpHeader::new(address(1), address(2));
        Packet { ip, body: Body::Udp(datagram) }
    }

    #[test]
    fn a_packet_is_created_and_ends_once() {
        let mut packets = PacketsInTransit::default();
        let (first, second, third) =
            (packets.create(body(1)), packets.create(body(2)), packets.create(body(3)));
        assert_eq!(packets.with_handle(), 3);
        assert_eq!(packets.check_conservation(3, 0), Ok(()));

        assert_eq!(packets.get(second).map(|routed| routed.packet), Some(packet(2)));
        assert_eq!(packets.end(second, DELIVERED), Some(&body(2)));
        assert_eq!(packets.end(first, Outcome::Dropped(DropReason::BitError)), Some(&body(1)));
        assert_eq!(packets.get(third).map(|routed| routed.packet), Some(packet(3)));
        assert_eq!(packets.check_conservation(1, 0), Ok(()));
    }

    #[test]
    fn a_handle_is_valid_until_its_packet_ends() {
        type Use = fn(&mut PacketsInTransit, PacketId) -> bool;
        let uses: [Use; 3] = [
            |packets, id| packets.get(id).is_some(),
            |packets, id| packets.end(id, DELIVERED).is_some(),
            |packets, id| {
                packets.end(id, Outcome::Dropped(DropReason::UnknownDestination)).is_some()
            },
        ];
        for use_it in uses {
            let mut packets = PacketsInTransit::default();
            let id = packets.create(body(1));
            packets.end(id, DELIVERED);
            for id in [id, PacketId::new(7)] {
                assert!(!use_it(&mut packets, id));
            }
            let error = packets.check_conservation(0, 0).unwrap_err();
            assert_eq!(error, "2 accesses to packets that had ended");
        }
    }

    #[test]
    fn slots_are_reused() {
        let mut packets = PacketsInTransit::default();
        for number in 0..10_000 {
            let ids = [packets.create(body(number)), packets.create(body(number + 1))];
            assert!(ids.iter().all(|id| id.index() < 2));
            packets.end(ids[1], DELIVERED);
            packets.end(ids[0], Outcome::Dropped(DropReason::QueueOverflow));
        }
        assert_eq!(packets.with_handle(), 0);
        assert_eq!(packets.check_conservation(0, 0), Ok(()));
        assert_eq!(
            packets.drops_by_reason(),
            BTreeMap::from([("queue-overflow".to_owned(), 10_000)])
        );
    }

    #[test]
    fn a_packet_on_no_link_violates_conservation() {
        let mut packets = PacketsInTransit::default();
        packets.create(body(1));
        let error = packets.check_conservation(0, 0).unwrap_err();
        assert_eq!(error, "1 packets are in transit, but the network holds 0");
    }

    #[test]
    fn a_packet_that_ends_twice_violates_conservation() {
        let mut packets = PacketsInTransit::default();
        let id = packets.create(body(1));
        packets.end(id, DELIVERED);
        packets.delivered += 1;
        let error = packets.check_conservation(0, 0).unwrap_err();
        assert_eq!(
            error,
            "1 packets were created, 0 duplicated and 0 received, but 2 delivered + 0 dropped + 0 sent to nobody + \
             0 in transit + 0 held by routing"
        );
    }

    /// A packet on the air from one node's routing to that of others.
    fn on_air() -> (PacketsInTransit, PacketId) {
        let mut packets = PacketsInTransit::default();
        let id = packets.create(body(1));
        let packet = *packets.enter_routing(id).unwrap();
        assert_eq!(packets.check_conservation(0, 1), Ok(()));
        let id = packets.leave_routing(&packet);
        assert_eq!(packets.check_conservation(1, 0), Ok(()));
        (packets, id)
    }

    /// Delivers the packet that a routing protocol holds.
    fn deliver(packets: &mut PacketsInTransit) {
        let id = packets.leave_routing(&RoutedPacket::plain(packet(1)));
        packets.end(id, DELIVERED);
    }

    #[test]
    fn a_packet_that_a_neighbour_receives_is_one_packet() {
        let (mut packets, id) = on_air();
        assert_eq!(packets.receive(id).map(|routed| routed.packet), Some(packet(1)));
        assert_eq!(packets.check_conservation(1, 1), Ok(()));
        packets.end(id, Outcome::Sent);
        assert_eq!(packets.check_conservation(0, 1), Ok(()));
        assert!(packets.check_conservation(0, 0).is_err(), "the neighbour has it");
        deliver(&mut packets);
        assert_eq!(packets.check_conservation(0, 0), Ok(()));
        assert_eq!((packets.created, packets.duplicated, packets.sent), (1, 0, 0));
    }

    #[test]
    fn each_further_receiver_has_a_duplicate() {
        let (mut packets, id) = on_air();
        (0..3).for_each(|_| assert!(packets.receive(id).is_some()));
        packets.end(id, Outcome::Sent);
        assert_eq!(packets.check_conservation(0, 3), Ok(()));
        (0..3).for_each(|_| deliver(&mut packets));
        assert_eq!(packets.check_conservation(0, 0), Ok(()));
        assert_eq!((packets.created, packets.duplicated, packets.sent), (1, 2, 0));
    }

    #[test]
    fn a_broadcast_that_nobody_receives_ends() {
        let (mut packets, id) = on_air();
        packets.end(id, Outcome::Sent);
        assert_eq!(packets.check_conservation(0, 0), Ok(()));
        assert_eq!((packets.duplicated, packets.sent), (0, 1));
    }

    /// The neighbour's acknowledgment was lost.
    #[test]
    fn a_packet_that_was_received_and_fails_has_become_two() {
        let failed = Outcome::Dropped(DropReason::LinkFailure);
        let ends: [fn(&mut PacketsInTransit, PacketId, Outcome); 2] = [
            |packets, id, failed| assert!(packets.end(id, failed).is_some()),
            |packets, id, failed| {
                let returned = *packets.enter_routing(id).unwrap();
                let id = packets.leave_routing(&returned);
                packets.end(id, failed);
            },
        ];
        for end in ends {
            let (mut packets, id) = on_air();
            packets.receive(id);
            end(&mut packets, id, failed);
            assert_eq!(packets.check_conservation(0, 1), Ok(()));
            deliver(&mut packets);
            assert_eq!(packets.check_conservation(0, 0), Ok(()));
            assert_eq!((packets.created, packets.duplicated), (1, 1));
        }
    }

    #[test]
    fn control_packets_exist_between_routing_protocols() {
        let message = Packet { body: Body::Aodv(AodvMessage::ReplyAck), ..packet(1) };
        let message = RoutedPacket::plain(message);
        let mut packets = PacketsInTransit::default();
        let ends: [fn(&mut PacketsInTransit, PacketId); 3] = [
            |packets, id| assert!(packets.enter_routing(id).is_some()),
            |packets, id| assert!(packets.end(id, Outcome::Dropped(DropReason::Loop)).is_some()),
            |packets, id| {
                packets.receive(id);
                packets.end(id, Outcome::Sent);
            },
        ];
        for end in ends {
            let id = packets.leave_routing(&message);
            assert_eq!(packets.check_conservation(1, 0), Ok(()));
            end(&mut packets, id);
            assert_eq!(packets.check_conservation(0, 0), Ok(()));
        }
    }

    #[test]
    fn each_reason_has_a_count_and_a_name() {
        let mut packets = PacketsInTransit::default();
        for (n, why) in DropReason::ALL.into_iter().enumerate() {
            for number in 0..=n as u64 {
                let id = packets.create(body(number));
                packets.end(id, Outcome::Dropped(why));
            }
        }
        let drops = packets.drops_by_reason();
        assert_eq!(drops.len(), DropReason::ALL.len());
        for (n, why) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, n);
            assert_eq!(drops[why.name()], n as u64 + 1);
        }
    }
}
