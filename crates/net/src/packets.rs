//! Packets in transit, and their accounting: each packet created is delivered, dropped for a named
//! reason, or in transit.

use std::collections::BTreeMap;

use driftway_base::DropReason;
use driftway_wire::{Packet, RoutedPacket};

/// Initial capacity for packets in transit; it grows once if needed.
const RESERVED: usize = 512;

/// All packets in transit, by handle, and the accounting of those that have ended.
#[derive(Debug)]
pub struct PacketsInTransit {
    slots: Vec<Option<RoutedPacket>>,
    free: Vec<u32>,
    created: u64,
    delivered: u64,
    dropped: [u64; DropReason::ALL.len()],
    /// Number of uses of invalid handles.
    invalid_handles: u64,
}

impl Default for PacketsInTransit {
    fn default() -> Self {
        Self {
            slots: Vec::with_capacity(RESERVED),
            free: Vec::with_capacity(RESERVED),
            created: 0,
            delivered: 0,
            dropped: [0; DropReason::ALL.len()],
            invalid_handles: 0,
        }
    }
}

impl PacketsInTransit {
    /// Inserts a new packet with its routing header.
    pub fn insert(&mut self, packet: &RoutedPacket) -> u32 {
        let id = self.new_slot();
        self.slots[id as usize] = Some(*packet);
        id
    }

    /// Inserts a new packet without a routing header.
    pub fn insert_plain(&mut self, packet: &Packet) -> u32 {
        let id = self.new_slot();
        self.slots[id as usize] = Some(RoutedPacket::plain(*packet));
        id
    }

    fn new_slot(&mut self) -> u32 {
        self.created += 1;
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        })
    }

    /// Returns a packet in transit. Handles come from [`insert`](Self::insert) and are valid until
    /// the packet ends; `None` is a bug in driftway, which
    /// [`check_conservation`](Self::check_conservation) then reports.
    #[inline]
    pub fn get(&mut self, id: u32) -> Option<&mut RoutedPacket> {
        let packet = self.slots.get_mut(id as usize).and_then(Option::as_mut);
        self.invalid_handles += u64::from(packet.is_none());
        packet
    }

    fn remove(&mut self, id: u32) -> Option<RoutedPacket> {
        let packet = self.slots.get_mut(id as usize).and_then(Option::take);
        self.count_removal(id, packet.is_some());
        packet
    }

    /// Removes a packet, without copying its routing header.
    fn remove_plain(&mut self, id: u32) -> Option<Packet> {
        let slot = self.slots.get_mut(id as usize);
        let packet = slot.and_then(|slot| {
            let packet = slot.as_ref().map(|routed| routed.packet);
            *slot = None;
            packet
        });
        self.count_removal(id, packet.is_some());
        packet
    }

    fn count_removal(&mut self, id: u32, found: bool) {
        if found {
            self.free.push(id);
        } else {
            self.invalid_handles += 1;
        }
    }

    /// Removes a packet that was delivered.
    pub fn record_delivery(&mut self, id: u32) -> Option<RoutedPacket> {
        let packet = self.remove(id)?;
        self.delivered += 1;
        Some(packet)
    }

    /// Removes a packet without a routing header that was delivered.
    pub fn record_plain_delivery(&mut self, id: u32) -> Option<Packet> {
        let packet = self.remove_plain(id)?;
        self.delivered += 1;
        Some(packet)
    }

    /// Removes a packet that was dropped.
    pub fn record_drop(&mut self, id: u32, why: DropReason) -> Option<RoutedPacket> {
        let packet = self.remove(id)?;
        self.dropped[why as usize] += 1;
        Some(packet)
    }

    /// Removes a packet without a routing header that was dropped.
    pub fn record_plain_drop(&mut self, id: u32, why: DropReason) -> Option<Packet> {
        let packet = self.remove_plain(id)?;
        self.dropped[why as usize] += 1;
        Some(packet)
    }

    /// Counts a dropped packet that had no handle.
    pub fn count_drop(&mut self, why: DropReason) {
        self.created += 1;
        self.dropped[why as usize] += 1;
    }

    /// Returns the number of packets in transit.
    pub fn in_transit(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Returns the number of drops by reason, without reasons that have none.
    pub fn drops_by_reason(&self) -> BTreeMap<String, u64> {
        let counts = DropReason::ALL.into_iter().zip(self.dropped);
        counts.filter(|(_, n)| *n > 0).map(|(why, n)| (why.name().to_owned(), n)).collect()
    }

    /// Checks packet conservation, with this number of packets found in the network.
    ///
    /// # Errors
    /// The numbers that differ.
    pub fn check_conservation(&self, held: u64) -> Result<(), String> {
        let dropped: u64 = self.dropped.iter().sum();
        let in_transit = self.in_transit();
        if self.created != self.delivered + dropped + in_transit {
            return Err(format!(
                "{} packets were created, but {} delivered + {dropped} dropped + {in_transit} in transit",
                self.created, self.delivered
            ));
        }
        if in_transit != held {
            return Err(format!(
                "{in_transit} packets are in transit, but the network holds {held}"
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
    use driftway_wire::{Body, IpHeader, Payload, UdpDatagram};

    fn packet(number: u64) -> RoutedPacket {
        let address = |n| Ipv4Addr::new(10, 0, 0, n);
        let payload = Payload::new(0, number, 1);
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        let ip = IpHeader::new(address(1), address(2));
        RoutedPacket::plain(Packet { ip, body: Body::Udp(datagram) })
    }

    #[test]
    fn a_packet_is_created_and_ends_once() {
        let mut packets = PacketsInTransit::default();
        let (first, second, third) =
            (packets.insert(&packet(1)), packets.insert(&packet(2)), packets.insert(&packet(3)));
        assert_eq!(packets.in_transit(), 3);
        assert_eq!(packets.check_conservation(3), Ok(()));

        assert_eq!(packets.get(second), Some(&mut packet(2)));
        assert_eq!(packets.record_delivery(second), Some(packet(2)));
        assert_eq!(packets.record_drop(first, DropReason::BitError), Some(packet(1)));
        assert_eq!(packets.get(third), Some(&mut packet(3)));
        assert_eq!(packets.check_conservation(1), Ok(()));
    }

    #[test]
    fn a_handle_is_valid_until_its_packet_ends() {
        type Use = fn(&mut PacketsInTransit, u32) -> bool;
        let uses: [Use; 3] = [
            |packets, id| packets.get(id).is_some(),
            |packets, id| packets.record_delivery(id).is_some(),
            |packets, id| packets.record_drop(id, DropReason::UnknownDestination).is_some(),
        ];
        for use_it in uses {
            let mut packets = PacketsInTransit::default();
            let id = packets.insert(&packet(1));
            packets.record_delivery(id);
            for id in [id, 7] {
                assert!(!use_it(&mut packets, id));
            }
            let error = packets.check_conservation(0).unwrap_err();
            assert_eq!(error, "2 accesses to packets that had ended");
        }
    }

    #[test]
    fn slots_are_reused() {
        let mut packets = PacketsInTransit::default();
        for number in 0..10_000 {
            let ids = [packets.insert(&packet(number)), packets.insert(&packet(number + 1))];
            assert!(ids.iter().all(|id| *id < 2));
            packets.record_delivery(ids[1]);
            packets.record_drop(ids[0], DropReason::QueueOverflow);
        }
        assert_eq!(packets.in_transit(), 0);
        assert_eq!(packets.check_conservation(0), Ok(()));
        assert_eq!(
            packets.drops_by_reason(),
            BTreeMap::from([("queue-overflow".to_owned(), 10_000)])
        );
    }

    #[test]
    fn a_packet_on_no_link_violates_conservation() {
        let mut packets = PacketsInTransit::default();
        packets.insert(&packet(1));
        let error = packets.check_conservation(0).unwrap_err();
        assert_eq!(error, "1 packets are in transit, but the network holds 0");
    }

    #[test]
    fn a_packet_that_ends_twice_violates_conservation() {
        let mut packets = PacketsInTransit::default();
        let id = packets.insert(&packet(1));
        packets.record_delivery(id);
        packets.delivered += 1;
        let error = packets.check_conservation(0).unwrap_err();
        assert_eq!(error, "1 packets were created, but 2 delivered + 0 dropped + 0 in transit");
    }

    #[test]
    fn each_reason_has_a_count_and_a_name() {
        let mut packets = PacketsInTransit::default();
        for (n, why) in DropReason::ALL.into_iter().enumerate() {
            for number in 0..=n as u64 {
                let id = packets.insert(&packet(number));
                packets.record_drop(id, why);
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
