//! Packets in transit, and their accounting: each packet created is delivered, dropped for a named
//! reason, or in transit.

use std::collections::BTreeMap;

use driftway_wire::Packet;

/// Reasons for which a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// Bit errors.
    BitError,
    /// The queue was full.
    QueueOverflow,
    /// Dropped early by RED.
    Red,
    /// On a hop when it was cut, or in a queue that was flushed then.
    Partition,
    /// Sent to a hop that was cut.
    Unreachable,
    /// A signal lost at random.
    SignalLoss,
    /// TTL exceeded.
    TimeToLive,
    /// No node or socket at the destination.
    Nobody,
    /// The router's buffer for packets without a route was full.
    RouterBuffer,
    /// A route notification that a router did not forward.
    NoticeDiscarded,
    /// No route, and no route discovery.
    NoRoute,
    /// The link layer could not deliver it to the next hop, or routing had lost the link.
    LinkFailure,
    /// Route discovery failed.
    DiscoveryFailed,
    /// The routing protocol's buffer for packets without a route was full.
    SendBufferFull,
    /// Waited too long for a route.
    SendBufferTimeout,
    /// Salvaged the maximum number of times.
    SalvageLimit,
    /// Routing loop.
    Loop,
    /// The source route cannot be followed.
    BadRoute,
    /// ARP failed, or queued another packet instead.
    Arp,
    /// A route request at the maximum length of a route.
    RouteTooLong,
    /// A copy of it was already in the same queue.
    Repeated,
}

/// Violation of packet conservation: a bug in driftway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbalanced(String);

impl std::fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unbalanced {}

impl Drop {
    /// All reasons.
    pub const ALL: [Self; 21] = [
        Self::BitError,
        Self::QueueOverflow,
        Self::Red,
        Self::Partition,
        Self::Unreachable,
        Self::SignalLoss,
        Self::TimeToLive,
        Self::Nobody,
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
        Self::Repeated,
    ];

    /// Returns its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitError => "bit-error",
            Self::QueueOverflow => "queue-overflow",
            Self::Red => "red",
            Self::Partition => "partition",
            Self::Unreachable => "unreachable",
            Self::SignalLoss => "signal-loss",
            Self::TimeToLive => "time-to-live",
            Self::Nobody => "nobody",
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
            Self::Repeated => "repeated",
        }
    }
}

/// Initial capacity for packets in transit; it grows once if needed.
const RESERVED: usize = 512;

/// All packets in transit, by handle, and the accounting of those that have ended.
#[derive(Debug)]
pub struct Packets<P = Packet> {
    slots: Vec<Option<P>>,
    free: Vec<u32>,
    made: u64,
    delivered: u64,
    dropped: [u64; Drop::ALL.len()],
    /// Number of uses of invalid handles.
    missed: u64,
}

impl<P> Default for Packets<P> {
    fn default() -> Self {
        Self {
            slots: Vec::with_capacity(RESERVED),
            free: Vec::with_capacity(RESERVED),
            made: 0,
            delivered: 0,
            dropped: [0; Drop::ALL.len()],
            missed: 0,
        }
    }
}

impl<P> Packets<P> {
    /// Inserts a new packet.
    pub fn make(&mut self, packet: P) -> u32 {
        self.made += 1;
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

    /// Returns a packet in transit. Handles come from [`insert`](Self::insert) and are valid until
    /// the packet ends; `None` is a bug in the simulator, which
    /// [`check_conservation`](Self::check_conservation) then reports.
    pub fn get(&mut self, id: u32) -> Option<&mut P> {
        let packet = self.slots.get_mut(id as usize).and_then(Option::as_mut);
        self.missed += u64::from(packet.is_none());
        packet
    }

    fn end(&mut self, id: u32) -> Option<P> {
        let packet = self.slots.get_mut(id as usize).and_then(Option::take);
        match packet {
            Some(_) => self.free.push(id),
            None => self.missed += 1,
        }
        packet
    }

    /// Removes a packet that was delivered.
    pub fn deliver(&mut self, id: u32) -> Option<P> {
        let packet = self.end(id)?;
        self.delivered += 1;
        Some(packet)
    }

    /// Removes a packet that was dropped.
    pub fn drop(&mut self, id: u32, why: Drop) -> Option<P> {
        let packet = self.end(id)?;
        self.dropped[why as usize] += 1;
        Some(packet)
    }

    /// Counts a dropped packet that had no handle.
    pub fn note_drop(&mut self, why: Drop) {
        self.made += 1;
        self.dropped[why as usize] += 1;
    }

    /// Returns the number of packets in transit.
    pub fn on_their_way(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }

    /// Returns the number of drops by reason, without reasons that have none.
    pub fn drops(&self) -> BTreeMap<String, u64> {
        let counts = Drop::ALL.into_iter().zip(self.dropped);
        counts.filter(|(_, n)| *n > 0).map(|(why, n)| (why.name().to_owned(), n)).collect()
    }

    /// Checks packet conservation, with this number of packets found on links.
    ///
    /// # Errors
    /// The numbers that differ.
    pub fn balance(&self, on_links: u64) -> Result<(), Unbalanced> {
        let dropped: u64 = self.dropped.iter().sum();
        let way = self.on_their_way();
        if self.made != self.delivered + dropped + way {
            return Err(Unbalanced(format!(
                "{} packets were created, but {} delivered + {dropped} dropped + {way} in transit",
                self.made, self.delivered
            )));
        }
        if way != on_links {
            return Err(Unbalanced(format!(
                "{way} packets are in transit, but links hold {on_links}"
            )));
        }
        if self.missed > 0 {
            return Err(Unbalanced(format!("{} accesses to packets that had ended", self.missed)));
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
    fn a_packet_is_created_and_ends_once() {
        let mut packets = Packets::default();
        let (first, second, third) =
            (packets.make(packet(1)), packets.make(packet(2)), packets.make(packet(3)));
        assert_eq!(packets.on_their_way(), 3);
        assert_eq!(packets.balance(3), Ok(()));

        assert_eq!(packets.get(second), Some(&mut packet(2)));
        assert_eq!(packets.deliver(second), Some(packet(2)));
        assert_eq!(packets.drop(first, Drop::BitError), Some(packet(1)));
        assert_eq!(packets.get(third), Some(&mut packet(3)));
        assert_eq!(packets.balance(1), Ok(()));
    }

    #[test]
    fn a_handle_is_valid_until_its_packet_ends() {
        type Use = fn(&mut Packets, u32) -> bool;
        let uses: [Use; 3] = [
            |packets, id| packets.get(id).is_some(),
            |packets, id| packets.deliver(id).is_some(),
            |packets, id| packets.drop(id, Drop::Nobody).is_some(),
        ];
        for use_it in uses {
            let mut packets = Packets::default();
            let id = packets.make(packet(1));
            packets.deliver(id);
            for id in [id, 7] {
                assert!(!use_it(&mut packets, id));
            }
            let error = packets.balance(0).unwrap_err().to_string();
            assert_eq!(error, "2 accesses to packets that had ended");
        }
    }

    #[test]
    fn slots_are_reused() {
        let mut packets = Packets::default();
        for number in 0..10_000 {
            let ids = [packets.make(packet(number)), packets.make(packet(number + 1))];
            assert!(ids.iter().all(|id| *id < 2));
            packets.deliver(ids[1]);
            packets.drop(ids[0], Drop::QueueOverflow);
        }
        assert_eq!(packets.on_their_way(), 0);
        assert_eq!(packets.balance(0), Ok(()));
        assert_eq!(packets.drops(), BTreeMap::from([("queue-overflow".to_owned(), 10_000)]));
    }

    #[test]
    fn a_packet_on_no_link_violates_conservation() {
        let mut packets = Packets::default();
        packets.make(packet(1));
        let error = packets.balance(0).unwrap_err().to_string();
        assert_eq!(error, "1 packets are in transit, but links hold 0");
    }

    #[test]
    fn a_packet_that_ends_twice_violates_conservation() {
        let mut packets = Packets::default();
        let id = packets.make(packet(1));
        packets.deliver(id);
        packets.delivered += 1;
        let error = packets.balance(0).unwrap_err().to_string();
        assert_eq!(error, "1 packets were created, but 2 delivered + 0 dropped + 0 in transit");
    }

    #[test]
    fn each_reason_has_a_count_and_a_name() {
        let mut packets = Packets::default();
        for (n, why) in Drop::ALL.into_iter().enumerate() {
            for number in 0..=n as u64 {
                let id = packets.make(packet(number));
                packets.drop(id, why);
            }
        }
        let drops = packets.drops();
        assert_eq!(drops.len(), Drop::ALL.len());
        for (n, why) in Drop::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, n);
            assert_eq!(drops[why.name()], n as u64 + 1);
        }
    }
}
