//! Where packets are, and the books that must balance: each packet made is delivered, dropped for a
//! named reason, or still on its way.

use std::collections::BTreeMap;

use driftway_wire::Packet;

/// Why a packet was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketDropReason {
    /// Bits were wrong.
    BitError,
    /// The queue was full.
    QueueOverflow,
    /// RED dropped it early.
    Red,
    /// It was on the hop, or in a queue that is emptied, when the hop was cut.
    Partition,
    /// It came to a hop that was cut.
    Unreachable,
    /// The signal was drawn to be lost.
    SignalLoss,
    /// Its time to live ran out.
    TimeToLive,
    /// Nobody at its destination knows it.
    UnknownDestination,
    /// The router that kept packets without a route had no room.
    RouterBuffer,
    /// A route notification of which a router wanted no more.
    NoticeDiscarded,
    /// Routing knew no route, and was not to look for one.
    NoRoute,
    /// The link layer could not bring it to the next hop, or routing had lost the link.
    LinkFailure,
    /// Routing looked for a route and found none.
    DiscoveryFailed,
    /// Routing's buffer of packets without a route was full.
    SendBufferFull,
    /// It waited for a route for too long.
    SendBufferTimeout,
    /// It had been salvaged as often as may be.
    SalvageLimit,
    /// It came back to where it had been.
    Loop,
    /// It carries a route that a node can't follow.
    BadRoute,
    /// ARP did not find the next hop, or held another packet for it.
    Arp,
    /// A request for a route had come as far as a route may lead.
    RouteTooLong,
    /// A copy of it waited in the same queue already.
    DuplicateInQueue,
}

/// Packets went missing, or came from nowhere: a mistake in driftway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConservationError(String);

impl std::fmt::Display for ConservationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConservationError {}

impl PacketDropReason {
    /// Every reason.
    pub const ALL: [Self; 21] = [
        Self::BitError,
        Self::QueueOverflow,
        Self::Red,
        Self::Partition,
        Self::Unreachable,
        Self::SignalLoss,
        Self::TimeToLive,
        Self::UnknownDestination,
        Self::RouterBuffer,
        Self::NoticeDiscarded,
        Self::NoRoute,
        Self::LinkFailure,
        Self::DiscoveryFailed,
        Self::SendBufferFull,
        Self::SendBufferTimeout,
        Self::SalvageLimit,
        Self::Loop,
        Self::BadRoute,
        Self::Arp,
        Self::RouteTooLong,
        Self::DuplicateInQueue,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitError => "bit-error",
            Self::QueueOverflow => "queue-overflow",
            Self::Red => "red",
            Self::Partition => "partition",
            Self::Unreachable => "unreachable",
            Self::SignalLoss => "signal-loss",
            Self::TimeToLive => "time-to-live",
            Self::UnknownDestination => "nobody",
            Self::RouterBuffer => "router-buffer",
            Self::NoticeDiscarded => "notice-discarded",
            Self::NoRoute => "no-route",
            Self::LinkFailure => "link-failure",
            Self::DiscoveryFailed => "discovery-failed",
            Self::SendBufferFull => "send-buffer-full",
            Self::SendBufferTimeout => "send-buffer-timeout",
            Self::SalvageLimit => "salvage-limit",
            Self::Loop => "loop",
            Self::BadRoute => "bad-route",
            Self::Arp => "arp",
            Self::RouteTooLong => "route-too-long",
            Self::DuplicateInQueue => "repeated",
        }
    }
}

/// Room made at once for packets on their way; more of them grow into their room once.
const RESERVED: usize = 512;

/// All packets on their way, by handle, and the account of those that are not any more.
#[derive(Debug)]
pub struct PacketTable<P = Packet> {
    slots: Vec<Option<P>>,
    free: Vec<u32>,
    created: u64,
    delivered: u64,
    dropped: [u64; PacketDropReason::ALL.len()],
    /// How often a handle was used that is nobody's.
    invalid_handles: u64,
}

impl<P> Default for PacketTable<P> {
    fn default() -> Self {
        Self {
            slots: Vec::with_capacity(RESERVED),
            free: Vec::with_capacity(RESERVED),
            created: 0,
            delivered: 0,
            dropped: [0; PacketDropReason::ALL.len()],
            invalid_handles: 0,
        }
    }
}

impl<P> PacketTable<P> {
    /// A new packet is on its way.
    pub fn insert(&mut self, packet: P) -> u32 {
        self.created += 1;
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(packet);
                id
            }
            None => {
                self.slots.push(Some(packet));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// A packet on its way. Handles come from [`make`](Self::make) and are good until the packet
    /// ends; `None` would be a mistake in the simulator, which the books then show.
    pub fn get(&mut self, id: u32) -> Option<&mut P> {
        let packet = self.slots.get_mut(id as usize).and_then(Option::as_mut);
        self.invalid_handles += u64::from(packet.is_none());
        packet
    }

    fn remove(&mut self, id: u32) -> Option<P> {
        let packet = self.slots.get_mut(id as usize).and_then(Option::take);
        match packet {
            Some(_) => self.free.push(id),
            None => self.invalid_handles += 1,
        }
        packet
    }

    /// It is where it was to go.
    pub fn record_delivery(&mut self, id: u32) -> Option<P> {
        let packet = self.remove(id)?;
        self.delivered += 1;
        Some(packet)
    }

    /// It is lost.
    pub fn record_drop(&mut self, id: u32, why: PacketDropReason) -> Option<P> {
        let packet = self.remove(id)?;
        self.dropped[why as usize] += 1;
        Some(packet)
    }

    /// A packet that has no handle is lost.
    pub fn count_drop(&mut self, why: PacketDropReason) {
        self.created += 1;
        self.dropped[why as usize] += 1;
    }

    /// Packets on their way.
    pub fn in_transit(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Drops by reason; reasons without any are left out.
    pub fn drops_by_reason(&self) -> BTreeMap<String, u64> {
        let counts = PacketDropReason::ALL.into_iter().zip(self.dropped);
        counts.filter(|(_, n)| *n > 0).map(|(why, n)| (why.name().to_owned(), n)).collect()
    }

    /// Do the books balance, with so many packets found on links?
    ///
    /// # Errors
    /// Says what is missing.
    pub fn check_conservation(&self, on_links: u64) -> Result<(), ConservationError> {
        let dropped: u64 = self.dropped.iter().sum();
        let way = self.in_transit();
        if self.created != self.delivered + dropped + way {
            return Err(ConservationError(format!(
                "{} packets were made, but {} delivered + {dropped} dropped + {way} on their way",
                self.created, self.delivered
            )));
        }
        if way != on_links {
            return Err(ConservationError(format!(
                "{way} packets are on their way, but links hold {on_links}"
            )));
        }
        if self.invalid_handles > 0 {
            return Err(ConservationError(format!(
                "{} times a packet was asked for that had ended",
                self.invalid_handles
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Ipv4Addr;
    use driftway_wire::{Body, IpHeader, Payload, UdpDatagram};

    fn packet(number: u64) -> Packet {
        let address = |n| Ipv4Addr::new(10, 0, 0, n);
        let payload = Payload::new(0, number, 1);
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        Packet { ip: IpHeader::new(address(1), address(2)), body: Body::Udp(datagram) }
    }

    #[test]
    fn a_packet_is_made_and_ends_once() {
        let mut packets = PacketTable::default();
        let (first, second, third) =
            (packets.insert(packet(1)), packets.insert(packet(2)), packets.insert(packet(3)));
        assert_eq!(packets.in_transit(), 3);
        assert_eq!(packets.check_conservation(3), Ok(()));

        assert_eq!(packets.get(second), Some(&mut packet(2)));
        assert_eq!(packets.record_delivery(second), Some(packet(2)));
        assert_eq!(packets.record_drop(first, PacketDropReason::BitError), Some(packet(1)));
        assert_eq!(packets.get(third), Some(&mut packet(3)));
        assert_eq!(packets.check_conservation(1), Ok(()));
    }

    #[test]
    fn a_handle_is_good_until_its_packet_ends() {
        type Use = fn(&mut PacketTable, u32) -> bool;
        let uses: [Use; 3] = [
            |packets, id| packets.get(id).is_some(),
            |packets, id| packets.record_delivery(id).is_some(),
            |packets, id| packets.record_drop(id, PacketDropReason::UnknownDestination).is_some(),
        ];
        for use_it in uses {
            let mut packets = PacketTable::default();
            let id = packets.insert(packet(1));
            packets.record_delivery(id);
            for id in [id, 7] {
                assert!(!use_it(&mut packets, id));
            }
            let error = packets.check_conservation(0).unwrap_err().to_string();
            assert_eq!(error, "2 times a packet was asked for that had ended");
        }
    }

    #[test]
    fn places_are_used_again() {
        let mut packets = PacketTable::default();
        for number in 0..10_000 {
            let ids = [packets.insert(packet(number)), packets.insert(packet(number + 1))];
            assert!(ids.iter().all(|id| *id < 2));
            packets.record_delivery(ids[1]);
            packets.record_drop(ids[0], PacketDropReason::QueueOverflow);
        }
        assert_eq!(packets.in_transit(), 0);
        assert_eq!(packets.check_conservation(0), Ok(()));
        assert_eq!(packets.drops_by_reason(), BTreeMap::from([("queue-overflow".to_owned(), 10_000)]));
    }

    #[test]
    fn a_packet_that_no_link_holds_is_missed() {
        let mut packets = PacketTable::default();
        packets.insert(packet(1));
        let error = packets.check_conservation(0).unwrap_err().to_string();
        assert_eq!(error, "1 packets are on their way, but links hold 0");
    }

    #[test]
    fn a_packet_that_ends_twice_is_noticed() {
        let mut packets = PacketTable::default();
        let id = packets.insert(packet(1));
        packets.record_delivery(id);
        packets.delivered += 1;
        let error = packets.check_conservation(0).unwrap_err().to_string();
        assert_eq!(error, "1 packets were made, but 2 delivered + 0 dropped + 0 on their way");
    }

    #[test]
    fn each_reason_has_its_count_and_name() {
        let mut packets = PacketTable::default();
        for (n, why) in PacketDropReason::ALL.into_iter().enumerate() {
            for number in 0..=n as u64 {
                let id = packets.insert(packet(number));
                packets.record_drop(id, why);
            }
        }
        let drops = packets.drops_by_reason();
        assert_eq!(drops.len(), PacketDropReason::ALL.len());
        for (n, why) in PacketDropReason::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, n);
            assert_eq!(drops[why.name()], n as u64 + 1);
        }
    }
}
