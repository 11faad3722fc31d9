//! What tells two runs apart in three numbers: which events happened, which packets moved, what
//! came out. A change in the code that moves one of them says what kind of change it was.

use base::Instant;
use wire::{Body, Packet};

/// One running digest.
#[derive(Clone, Copy, Debug)]
struct Digest(u64);

impl Digest {
    const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
    /// Takes in one number: a multiply-and-fold, which every bit of every number so far reaches.
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
    /// An event was handled.
    pub fn event(&mut self, at: Instant, class: u8, entity: u32) {
        self.events.add(at.as_nanos());
        self.events.add(u64::from(class) << 32 | u64::from(entity));
    }

    /// A packet met `fate` at a place (a link or a node).
    pub fn packet(&mut self, at: Instant, place: u32, fate: u8, packet: &Packet) {
        self.packets.add(at.as_nanos());
        self.packets.add(u64::from(place) << 8 | u64::from(fate));
        let addresses = u64::from(u32::from(packet.ip.source)) << 32
            | u64::from(u32::from(packet.ip.destination));
        self.packets.add(addresses ^ u64::from(packet.ip.ecn.bits()));
        self.packets.add(match &packet.body {
            Body::Tcp(s) => u64::from(s.seq.0) << 32 | u64::from(s.ack.0 ^ u32::from(s.flags.0)),
            Body::Udp(d) => d.payload.offset,
            Body::Icmp(_) => u64::from(packet.ip.identification),
        });
    }

    /// A number of the results.
    pub fn statistic(&mut self, value: u64) {
        self.statistics.add(value);
    }

    /// Events, packets, statistics, in hexadecimal.
    pub fn text(&self) -> String {
        format!("{:016x}-{:016x}-{:016x}", self.events.0, self.packets.0, self.statistics.0)
    }
}
