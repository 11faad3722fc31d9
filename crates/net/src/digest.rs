//! Digests that show whether two runs did the same.

use driftway_base::{Ecn, Instant, Ipv4Addr};
use driftway_wire::{ArpOperation, Body, Packet};

use crate::frame_body::FrameBody;

/// The outcome code of a packet that reached its destination. A dropped packet has the number of its
/// reason ([`DropReason`](driftway_base::DropReason)).
pub(crate) const DELIVERED: u8 = u8::MAX;
/// The outcome code of a packet received from a neighbour.
pub(crate) const RECEIVED: u8 = u8::MAX - 1;

/// A running digest of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Digest {
    /// Adds a number by a multiply-and-fold, which every bit of every number so far affects.
    pub fn add(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * 0xa076_1d64_78bd_642f;
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ self.0.rotate_left(23);
    }

    /// Returns the digest of the numbers so far.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Adds the outcome of a packet at a link or node `place`: [`DELIVERED`], [`RECEIVED`], or the
    /// number of a drop reason.
    pub(crate) fn add_packet(&mut self, at: Instant, place: u32, outcome: u8, packet: &Packet) {
        let Packet { ip, .. } = packet;
        self.add_outcome(at, place, outcome, [ip.source, ip.destination], ip.ecn);
        self.add(u64::from(packet.len()));
        let (first, second) = match &packet.body {
            Body::Tcp(s) => (
                u64::from(s.seq.0) << 32 | u64::from(s.ack.0),
                u64::from(s.window) << 32 | u64::from(s.flags.0),
            ),
            Body::Udp(d) => (d.payload.offset, u64::from(d.destination_port)),
            Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => {
                (u64::from(packet.ip.identification), 0)
            }
        };
        self.add(first);
        self.add(second);
    }

    /// Adds the outcome of a packet or a message of ARP.
    pub(crate) fn add_body(&mut self, at: Instant, place: u32, outcome: u8, body: &FrameBody) {
        match body {
            FrameBody::Ip(routed) => self.add_packet(at, place, outcome, &routed.packet),
            FrameBody::Arp(message) => {
                let ends = [message.sender, message.target];
                self.add_outcome(at, place, outcome, ends, Ecn::NotEct);
                self.add(u64::from(message.operation == ArpOperation::Reply));
            }
        }
    }

    fn add_outcome(
        &mut self,
        at: Instant,
        place: u32,
        outcome: u8,
        [source, destination]: [Ipv4Addr; 2],
        ecn: Ecn,
    ) {
        self.add(at.as_nanos());
        self.add(u64::from(place) << 8 | u64::from(outcome));
        let ends = u64::from(u32::from(source)) << 32 | u64::from(u32::from(destination));
        self.add(ends ^ u64::from(ecn.bits()));
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_wire::{IpHeader, Payload, UdpDatagram};

    fn digest(values: &[u64]) -> u64 {
        let mut digest = Digest::default();
        values.iter().for_each(|value| digest.add(*value));
        digest.value()
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

    #[test]
    fn the_digest_depends_on_time_place_outcome_and_packet() {
        let text = |at: u64, place, outcome, packet: &Packet| {
            let mut digest = Digest::default();
            digest.add_packet(Instant::from_nanos(at), place, outcome, packet);
            digest.value()
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
