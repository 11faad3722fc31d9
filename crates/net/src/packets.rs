//! Packets in transit, and their accounting: each packet that a host or the network creates is delivered,
//! dropped for a named reason, or in transit.
//!
//! A packet in transit has a handle, or is held by a routing protocol. Over the air each receiver gets a
//! copy, and the sender's ends when the link layer has sent it. Control packets of routing exist between
//! routing protocols only: they are created where they leave one, and end where they reach one.

use std::collections::BTreeMap;

use driftway_base::{DropReason, PacketId};
use driftway_wire::{ArpMessage, Packet, RoutedPacket};
use typed_index_collections::TiVec;

use crate::frame_body::FrameBody;
use crate::interface::Outcome;

/// Initial capacity for packets in transit; it grows once if needed.
const RESERVED: usize = 512;

/// All packets in transit, by handle, and the accounting of those that have ended.
#[derive(Debug)]
pub struct PacketsInTransit {
    slots: TiVec<PacketId, Option<FrameBody>>,
    free: Vec<PacketId>,
    /// Packets and copies of them.
    created: u64,
    delivered: u64,
    passed_on: u64,
    dropped: [u64; DropReason::ALL.len()],
    /// Number of uses of invalid handles.
    invalid_handles: u64,
}

impl Default for PacketsInTransit {
    fn default() -> Self {
        Self {
            slots: TiVec::with_capacity(RESERVED),
            free: Vec::with_capacity(RESERVED),
            created: 0,
            delivered: 0,
            passed_on: 0,
            dropped: [0; DropReason::ALL.len()],
            invalid_handles: 0,
        }
    }
}

impl PacketsInTransit {
    /// Counts a new packet that a routing protocol holds.
    pub fn create(&mut self) {
        self.created += 1;
    }

    /// Counts a copy: each receiver of a frame gets one, each radio but the first that broadcasts a packet, and
    /// routing that sends a packet again.
    pub fn copy(&mut self) {
        self.created += 1;
    }

    /// Inserts a new packet without a routing header.
    pub fn insert(&mut self, packet: &Packet) -> PacketId {
        self.create();
        self.keep(FrameBody::Ip(RoutedPacket::plain(*packet)))
    }

    /// Inserts a packet that leaves a routing protocol, or a new control packet.
    pub fn insert_routed(&mut self, packet: &RoutedPacket) -> PacketId {
        self.created += u64::from(packet.is_control());
        self.keep(FrameBody::Ip(*packet))
    }

    /// Inserts a new message of ARP.
    pub fn insert_arp(&mut self, message: ArpMessage) -> PacketId {
        self.create();
        self.keep(FrameBody::Arp(message))
    }

    fn keep(&mut self, body: FrameBody) -> PacketId {
        let id = self.free.pop().unwrap_or_else(|| self.slots.push_and_get_key(None));
        self.slots[id] = Some(body);
        id
    }

    /// Returns what is in transit. Handles come from [`insert`](Self::insert) and its like, and are valid
    /// until the packet ends; `None` is a bug in driftway, which
    /// [`check_conservation`](Self::check_conservation) then reports.
    #[inline]
    pub fn body(&mut self, id: PacketId) -> Option<&mut FrameBody> {
        let body = self.slots.get_mut(id).and_then(Option::as_mut);
        self.invalid_handles += u64::from(body.is_none());
        body
    }

    /// Returns a packet in transit; `None` for a message of ARP.
    #[inline]
    pub fn get(&mut self, id: PacketId) -> Option<&mut RoutedPacket> {
        match self.body(id)? {
            FrameBody::Ip(packet) => Some(packet),
            FrameBody::Arp(_) => None,
        }
    }

    /// Removes a packet that returns to a routing protocol; a control packet ends.
    pub fn take(&mut self, id: PacketId) -> Option<RoutedPacket> {
        let packet = *self.get(id)?;
        self.free_slot(id);
        self.passed_on += u64::from(packet.is_control());
        Some(packet)
    }

    /// Removes a packet that reaches a routing protocol from a wire.
    pub fn take_plain(&mut self, id: PacketId) -> Option<Packet> {
        // Without copying a routing header, which it does not have.
        let packet = self.get(id)?.packet;
        self.free_slot(id);
        Some(packet)
    }

    fn free_slot(&mut self, id: PacketId) {
        self.slots[id] = None;
        self.free.push(id);
    }

    /// Ends a packet, and returns it, or a message of ARP.
    pub fn end(&mut self, id: PacketId, outcome: Outcome) -> Option<Packet> {
        let packet = match self.body(id)? {
            FrameBody::Ip(routed) => Some(routed.packet),
            FrameBody::Arp(_) => None,
        };
        self.free_slot(id);
        self.count(outcome);
        packet
    }

    /// Ends a packet that a routing protocol holds.
    pub fn end_routed(&mut self, packet: &RoutedPacket, outcome: Outcome) {
        self.created += u64::from(packet.is_control());
        self.count(outcome);
    }

    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Delivered => self.delivered += 1,
            Outcome::PassedOn => self.passed_on += 1,
            Outcome::Dropped(reason) => self.dropped[reason as usize] += 1,
        }
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
        let Self { created, delivered, passed_on, .. } = self;
        let dropped: u64 = self.dropped.iter().sum();
        let with_handle = self.with_handle();
        if *created != delivered + passed_on + dropped + with_handle + routed {
            return Err(format!(
                "{created} packets were created, but {delivered} delivered + {passed_on} passed on \
                 + {dropped} dropped + {with_handle} in transit + {routed} held by routing"
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
    use driftway_wire::{AodvMessage, Body, IpHeader, Payload, UdpDatagram};

    const DELIVERED: Outcome = Outcome::Delivered;

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
            (packets.insert(&packet(1)), packets.insert(&packet(2)), packets.insert(&packet(3)));
        assert_eq!(packets.with_handle(), 3);
        assert_eq!(packets.check_conservation(3, 0), Ok(()));

        assert_eq!(packets.get(second).map(|routed| routed.packet), Some(packet(2)));
        assert_eq!(packets.end(second, DELIVERED), Some(packet(2)));
        assert_eq!(packets.end(first, Outcome::Dropped(DropReason::BitError)), Some(packet(1)));
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
            let id = packets.insert(&packet(1));
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
            let ids = [packets.insert(&packet(number)), packets.insert(&packet(number + 1))];
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
        packets.insert(&packet(1));
        let error = packets.check_conservation(0, 0).unwrap_err();
        assert_eq!(error, "1 packets are in transit, but the network holds 0");
    }

    #[test]
    fn a_packet_that_ends_twice_violates_conservation() {
        let mut packets = PacketsInTransit::default();
        let id = packets.insert(&packet(1));
        packets.end(id, DELIVERED);
        packets.delivered += 1;
        let error = packets.check_conservation(0, 0).unwrap_err();
        assert_eq!(
            error,
            "1 packets were created, but 2 delivered + 0 passed on + 0 dropped + 0 in transit + 0 held by \
             routing"
        );
    }

    /// A host's packet goes to routing, is sent, returns and is dropped; a copy has been received.
    #[test]
    fn a_packet_is_accounted_for_while_routing_holds_it() {
        let mut packets = PacketsInTransit::default();
        packets.create();
        assert_eq!(packets.check_conservation(0, 1), Ok(()));
        let id = packets.insert_routed(&RoutedPacket::plain(packet(1)));
        assert_eq!(packets.check_conservation(1, 0), Ok(()));
        packets.create();
        let returned = packets.take(id).unwrap();
        assert_eq!(packets.check_conservation(0, 2), Ok(()));
        packets.end_routed(&returned, Outcome::Dropped(DropReason::NoRoute));
        assert_eq!(packets.check_conservation(0, 1), Ok(()));
        assert!(packets.check_conservation(0, 0).is_err());
    }

    #[test]
    fn control_packets_exist_between_routing_protocols() {
        let message = Packet { body: Body::Aodv(AodvMessage::ReplyAck), ..packet(1) };
        let message = RoutedPacket::plain(message);
        let mut packets = PacketsInTransit::default();
        let id = packets.insert_routed(&message);
        assert_eq!(packets.check_conservation(1, 0), Ok(()));
        packets.take(id);
        packets.end_routed(&message, Outcome::Dropped(DropReason::Loop));
        assert_eq!(packets.check_conservation(0, 0), Ok(()));
    }

    #[test]
    fn each_reason_has_a_count_and_a_name() {
        let mut packets = PacketsInTransit::default();
        for (n, why) in DropReason::ALL.into_iter().enumerate() {
            for number in 0..=n as u64 {
                let id = packets.insert(&packet(number));
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
