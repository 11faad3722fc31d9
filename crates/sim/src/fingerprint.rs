//! The fingerprint of a run: three digests, of the events handled, of the packets moved, and of the
//! results. The digests that a change in the code alters show what kind of change it was.

use driftway_base::Instant;
use driftway_wire::{Body, Packet};

/// The outcome code of a packet that reached its destination. A dropped packet has the number of its
/// reason ([`PacketDropReason`](crate::packet_accounting::PacketDropReason)).
pub const DELIVERED: u8 = u8::MAX;
/// The outcome code of a packet received from a neighbour.
pub const RECEIVED: u8 = u8::MAX - 1;

/// A running digest.
#[derive(Clone, Copy, Debug)]
struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
    /// Adds a number by a multiply-and-fold, which every bit of every number so far affects.
    fn add(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0xa076_1d64_78bd_642f;
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ self.0.rotate_left(23);
    }
}

/// The digests of a run.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint {
    events: Digest,
    packets: Digest,
    statistics: Digest,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { events: Digest::new(), packets: Digest::new(), statistics: Digest::new() }
    }
}

impl Fingerprint {
    /// Adds an event that was handled.
    pub fn event(&mut self, at: Instant, class: u8, entity: u32) {
        self.events.add(at.as_nanos());
        self.events.add(u64::from(class) << 32 | u64::from(entity));
    }

    /// Adds the outcome of a packet at a link or node `place`: [`DELIVERED`], [`RECEIVED`], or the
    /// number of a drop reason.
    pub fn packet(&mut self, at: Instant, place: u32, outcome: u8, packet: &Packet) {
        self.packets.add(at.as_nanos());
        self.packets.add(u64::from(place) << 8 | u64::from(outcome));
        let addresses = u64::from(u32::from(packet.ip.source)) << 32
            | u64::from(u32::from(packet.ip.destination));
        self.packets.add(addresses ^ u64::from(packet.ip.ecn.bits()));
        self.packets.add(u64::from(packet.len()));
        let (first, second) = match &packet.body {
            Body::Tcp(s) => (
                u64::from(s.seq.0) << 32 | u64::from(s.ack.0),
                u64::from(s.window) << 32 | u64::from(s.flags.0),
            ),
            Body::Udp(d) => (d.payload.offset, u64::from(d.destination_port)),
            Body::Icmp(_) | Body::Aodv(_) | Body::NoNextHeader => {
                (u64::from(packet.ip.identification), 0)
            }
        };
        self.packets.add(first);
        self.packets.add(second);
    }

    /// Adds a number of the results.
    pub fn statistic(&mut self, value: u64) {
        self.statistics.add(value);
    }

    /// The digests of events, packets and statistics, in hexadecimal.
    pub fn to_hex(self) -> String {
        format!("{:016x}-{:016x}-{:016x}", self.events.0, self.packets.0, self.statistics.0)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Ipv4Addr;
    use driftway_wire::{IpHeader, Payload, UdpDatagram};

    fn digest(values: &[u64]) -> u64 {
        let mut digest = Digest::new();
        values.iter().for_each(|value| digest.add(*value));
        digest.0
    }

    /// Fixed values: golden runs depend on the digest, which is the same in every build.
    #[test]
    fn the_digest_is_unchanged() {
        assert_eq!(digest(&[]), 0x9e37_79b9_7f4a_7c15);
        assert_eq!(digest(&[0]), 0xbbba_82cc_8c49_37d5);
        assert_eq!(digest(&[u64::MAX, 1, 2, 3]), 0xb34a_d23f_fb74_f289);
    }

    #[test]
    fn the_digest_depends_on_values_order_and_number() {
        let mut all: Vec<u64> = (0..1000).map(|n| digest(&[n])).collect();
        all.extend((0..1000).map(|n| digest(&[n, 0])));
        all.extend((0..1000).map(|n| digest(&[0, 0, n])));
        all.sort_unstable();
        let different = all.len();
        all.dedup();
        assert_eq!(all.len(), different);
        assert_ne!(digest(&[1, 2]), digest(&[2, 1]));
    }

    /// One bit of an early number changes about half of the digest's bits.
    #[test]
    fn every_bit_affects_the_digest() {
        for bit in 0..64 {
            let mut changed = [7; 12];
            changed[0] ^= 1 << bit;
            let moved = (digest(&[7; 12]) ^ digest(&changed)).count_ones();
            assert!((10..=54).contains(&moved), "bit {bit} moves {moved}");
        }
    }

    fn packet(offset: u64) -> Packet {
        let address = |n| Ipv4Addr::new(10, 0, 0, n);
        let payload = Payload::new(1, offset, 100);
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        Packet { ip: IpHeader::new(address(1), address(2)), body: Body::Udp(datagram) }
    }

    /// The parts of the fingerprint that `change` alters.
    fn moved(change: impl Fn(&mut Fingerprint)) -> [bool; 3] {
        let (before, mut after) = (Fingerprint::default(), Fingerprint::default());
        change(&mut after);
        let (before, after) = (before.to_hex(), after.to_hex());
        let parts: Vec<bool> =
            before.split('-').zip(after.split('-')).map(|(a, b)| a != b).collect();
        parts.try_into().unwrap()
    }

    #[test]
    fn each_part_has_its_own_digest() {
        let now = Instant::from_secs(1);
        assert_eq!(moved(|_| {}), [false; 3]);
        assert_eq!(moved(|f| f.event(now, 0, 0)), [true, false, false]);
        assert_eq!(moved(|f| f.packet(now, 0, 0, &packet(0))), [false, true, false]);
        assert_eq!(moved(|f| f.statistic(0)), [false, false, true]);
    }

    #[test]
    fn the_digest_depends_on_time_place_outcome_and_packet() {
        let text = |at: u64, place, outcome, packet: &Packet| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.packet(Instant::from_nanos(at), place, outcome, packet);
            fingerprint.to_hex()
        };
        let mut marked = packet(0);
        marked.ip.ecn = driftway_base::Ecn::Ce;
        let mut all = vec![
            text(1, 0, 0, &packet(0)),
            text(2, 0, 0, &packet(0)),
            text(1, 1, 0, &packet(0)),
            text(1, 0, 1, &packet(0)),
            text(1, 0, 0, &packet(100)),
            text(1, 0, 0, &marked),
        ];
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }
}
