//! Carrier acknowledgments: a segment of the shim leaves this host in place of an acknowledgment of
//! the local TCP.
//!
//! The shim makes the local TCP acknowledge ([`driftway_shim::Shim::solicit_ack`]). The kernel
//! sends that acknowledgment like any other packet of the socket: routed by mark, device, owner and
//! address, filtered by the firewall, with translated addresses, encrypted. At the last hook before
//! the interface its TCP segment is replaced. So the shim's segments take exactly the route of the
//! connection's own packets; if those can't leave, neither do they.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{Duration, Endpoint, FlowKey, Instant, Ipv4Addr, Seq};
use driftway_wire::{Body, Packet, TcpFlags, TcpSegment};

/// Packet priority of a carrier acknowledgment between the two hooks: this tag in the upper half,
/// the index of its slot in the lower.
pub const TAG: u32 = 0x5716_0000;
pub const TAG_MASK: u32 = 0xffff_0000;

/// Time after which a pending packet has found no carrier. The kernel acknowledges at once, unless
/// the socket is locked by an application.
const PATIENCE: Duration = Duration::from_millis(200);

/// Maximum number of pending packets per flow.
const WAITING_MAX: usize = 256;

/// A packet, or a route query, that waits for a carrier acknowledgment.
#[derive(Debug)]
struct Cargo {
    /// `None`: a route query, to observe the output interface.
    packet: Option<Vec<u8>>,
    since: Instant,
}

/// A carrier acknowledgment between the two hooks.
#[derive(Debug)]
struct Loaded {
    flow: FlowKey,
    cargo: Cargo,
    /// Sequence number at the first hook.
    seq: Seq,
    ack: Seq,
    priority: u32,
    /// It repeats an earlier acknowledgment, so that it may be dropped.
    repeats: bool,
}

/// Pending packets, and carrier acknowledgments in transit.
#[derive(Debug, Default)]
pub struct Carriers {
    waiting: BTreeMap<FlowKey, VecDeque<Cargo>>,
    loaded: Vec<Option<Loaded>>,
    free: Vec<usize>,
    spare: Vec<Vec<u8>>,
}

/// Action for a carrier acknowledgment at the postrouting hook.
#[derive(Debug, PartialEq, Eq)]
pub enum Exit {
    /// Send these bytes instead, with this priority, for this flow.
    As(Vec<u8>, u32, FlowKey),
    /// Send it unchanged, with this priority; the pending packet is lost.
    Empty(u32),
    /// It has shown the output interface of this flow. Drop it, or, if it is no duplicate, send it
    /// with this priority.
    Seen(FlowKey, Option<u32>),
    /// The packet is no carrier acknowledgment.
    Unknown,
}

impl Carriers {
    /// Returns whether nothing is pending or in transit.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.free.len() == self.loaded.len()
    }

    /// Returns whether any flow has reached its limit of pending packets.
    pub fn is_full(&self) -> bool {
        self.waiting.values().any(|waiting| waiting.len() >= WAITING_MAX)
    }

    /// Queues a packet, or without one a route query, for the next carrier acknowledgment of this
    /// flow. `false`: the limit is reached.
    pub fn load(&mut self, now: Instant, flow: FlowKey, packet: Option<&[u8]>) -> bool {
        let waiting = self.waiting.entry(flow).or_default();
        let fits = waiting.len() < WAITING_MAX;
        if fits {
            let packet = packet.map(|bytes| {
                let mut buffer = self.spare.pop().unwrap_or_default();
                buffer.clear();
                buffer.extend_from_slice(bytes);
                buffer
            });
            waiting.push_back(Cargo { packet, since: now });
        }
        fits
    }

    /// Processes a packet that the local TCP sends with `priority`. Returns the new priority if it
    /// becomes a carrier acknowledgment. `last_ack_and_window` returns the local TCP's last
    /// acknowledgment number and window field.
    pub fn at_origin(
        &mut self,
        packet: &[u8],
        priority: u32,
        said: impl Fn(FlowKey) -> Option<(Seq, u16)>,
    ) -> Option<u32> {
        if self.waiting.is_empty() {
            return None;
        }
        let (flow, segment) = tcp(packet)?;
        let ends = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
        if segment.payload.len > 0 || segment.flags.intersects(ends) {
            return None;
        }
        let waiting = self.waiting.get_mut(&flow)?;
        let index = self.free.pop().unwrap_or(self.loaded.len());
        if index > (!TAG_MASK) as usize {
            return None;
        }
        let cargo = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&flow);
        }
        let (seq, ack) = (segment.seq, segment.ack);
        let repeats = said(flow) == Some((ack, segment.window));
        let loaded = cargo.map(|cargo| Loaded { flow, cargo, seq, ack, priority, repeats });
        match self.loaded.get_mut(index) {
            Some(place) => *place = loaded,
            None => self.loaded.push(loaded),
        }
        Some(TAG | index as u32)
    }

    /// Processes a carrier acknowledgment at the postrouting hook.
    pub fn at_exit(&mut self, packet: &[u8], tag: u32) -> Exit {
        let index = (tag & !TAG_MASK) as usize;
        let Some(loaded) = self.loaded.get_mut(index).and_then(Option::take) else {
            return Exit::Unknown;
        };
        self.give_free(index);
        let Loaded { flow, cargo, seq, ack, priority, repeats } = loaded;
        // If something between the hooks renumbers the connection, the stored numbers differ; and
        // the index of a late carrier acknowledgment may have been reused.
        let same = tcp(packet).is_some_and(|(_, carrier)| (carrier.seq, carrier.ack) == (seq, ack));
        match cargo.packet {
            None if same => Exit::Seen(flow, (!repeats).then_some(priority)),
            None => Exit::Empty(priority),
            Some(wanted) => {
                let made = if same { replace(packet, &wanted) } else { None };
                self.spare.push(wanted);
                made.map_or(Exit::Empty(priority), |bytes| Exit::As(bytes, priority, flow))
            }
        }
    }

    /// Frees a slot.
    fn give_free(&mut self, index: usize) {
        self.free.push(index);
        if self.free.len() == self.loaded.len() {
            self.free.clear();
            self.loaded.clear();
        }
    }

    /// Time at which the oldest pending packet expires. Route queries have a timeout of their own.
    pub fn next_timeout(&self) -> Option<Instant> {
        let packet = |cargo: &&Cargo| cargo.packet.is_some();
        let waiting = self.waiting.values().filter_map(|cargo| cargo.iter().find(packet));
        let loaded = self.loaded.iter().flatten().map(|loaded| &loaded.cargo).filter(packet);
        waiting.chain(loaded).map(|cargo| cargo.since + PATIENCE).min()
    }

    /// Removes all route queries of this flow.
    pub fn forget_questions(&mut self, flow: FlowKey) {
        if let Some(waiting) = self.waiting.get_mut(&flow) {
            waiting.retain(|cargo| cargo.packet.is_some());
            if waiting.is_empty() {
                self.waiting.remove(&flow);
            }
        }
        self.unload(|loaded| loaded.flow == flow && loaded.cargo.packet.is_none());
    }

    /// Removes everything of flows with an expired packet. Returns these flows, and whether a
    /// carrier acknowledgment had been assigned but did not reach the postrouting hook.
    pub fn expire(&mut self, now: Instant) -> Vec<(FlowKey, bool)> {
        let late = |cargo: &Cargo| cargo.packet.is_some() && cargo.since + PATIENCE <= now;
        let waits = self.waiting.iter().filter(|(_, cargo)| cargo.iter().any(late));
        let mut flows: Vec<_> = waits.map(|(flow, _)| (*flow, false)).collect();
        let loaded = self.loaded.iter().flatten().filter(|loaded| late(&loaded.cargo));
        flows.extend(loaded.map(|loaded| (loaded.flow, true)));
        flows.sort_unstable();
        flows.dedup_by_key(|(flow, _)| *flow);
        flows.iter().for_each(|(flow, _)| self.forget(*flow));
        flows
    }

    /// Removes everything of this flow.
    fn forget(&mut self, flow: FlowKey) {
        self.waiting.remove(&flow);
        self.unload(|loaded| loaded.flow == flow);
    }

    fn unload(&mut self, which: impl Fn(&Loaded) -> bool) {
        for index in 0..self.loaded.len() {
            let place = self.loaded.get_mut(index);
            if place.is_some_and(|place| place.take_if(|loaded| which(loaded)).is_some()) {
                self.give_free(index);
            }
        }
    }
}

/// Flow and segment of an IPv4 packet with TCP.
fn tcp(packet: &[u8]) -> Option<(FlowKey, TcpSegment)> {
    let decoded = Packet::decode(packet).ok()?.packet;
    let Body::Tcp(segment) = decoded.body else { return None };
    let source = Endpoint::new(decoded.ip.source, segment.source_port);
    let destination = Endpoint::new(decoded.ip.destination, segment.destination_port);
    Some((FlowKey { source, destination }, segment))
}

/// Flow of an IPv4 packet with TCP, without full decoding.
pub fn flow_of(packet: &[u8]) -> Option<FlowKey> {
    let tcp = header_len(packet)?;
    let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk()?));
    let port = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    let source = Endpoint::new(address(12)?, port(tcp)?);
    let destination = Endpoint::new(address(16)?, port(tcp + 2)?);
    Some(FlowKey { source, destination })
}

/// Sequence number of an IPv4 packet with TCP, without full decoding.
pub fn sequence(packet: &[u8]) -> Option<Seq> {
    let at = header_len(packet)? + 4;
    Some(Seq(u32::from_be_bytes(*packet.get(at..)?.first_chunk()?)))
}

fn header_len(packet: &[u8]) -> Option<usize> {
    let len = usize::from(packet.first()? & 0xf) * 4;
    (len >= 20 && packet.len() >= len + 20).then_some(len)
}

/// `carrier` with the segment of `wanted`: IP header, addresses and ports are the carrier's. If the
/// segment has data, so are acknowledgment number and window, which are the latest.
fn replace(carrier: &[u8], wanted: &[u8]) -> Option<Vec<u8>> {
    const ECN: u8 = 0b11;
    let (tcp, segment) = (header_len(carrier)?, wanted.get(header_len(wanted)?..)?);
    let mut bytes = [carrier.get(..tcp)?, segment].concat();
    let total = u16::try_from(bytes.len()).ok()?;
    bytes.get_mut(tcp..tcp + 4)?.copy_from_slice(carrier.get(tcp..tcp + 4)?);
    let has_data = segment.len() > usize::from(segment.get(12)? >> 4) * 4;
    if has_data {
        bytes.get_mut(tcp + 8..tcp + 12)?.copy_from_slice(carrier.get(tcp + 8..tcp + 12)?);
        bytes.get_mut(tcp + 14..tcp + 16)?.copy_from_slice(carrier.get(tcp + 14..tcp + 16)?);
    }
    bytes.get_mut(2..4)?.copy_from_slice(&total.to_be_bytes());
    bytes[1] = carrier.get(1)? & !ECN | wanted.get(1)? & ECN;
    bytes.get_mut(10..12)?.fill(0);
    let header = checksum(sum(bytes.get(..tcp)?));
    bytes.get_mut(10..12)?.copy_from_slice(&header);
    bytes.get_mut(tcp + 16..tcp + 18)?.fill(0);
    let body = bytes.get(tcp..)?;
    let pseudo = sum(bytes.get(12..20)?) + u64::from(bytes[9]) + body.len() as u64;
    let segment = checksum(pseudo + sum(body));
    bytes.get_mut(tcp + 16..tcp + 18)?.copy_from_slice(&segment);
    Some(bytes)
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let last = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
    words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum::<u64>() + last
}

fn checksum(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::Ecn;
    use driftway_wire::{IpHeader, Payload, TcpOptions, Timestamps};

    const HERE: Endpoint = Endpoint::new(Ipv4Addr::new(10, 0, 0, 1), 4000);
    const THERE: Endpoint = Endpoint::new(Ipv4Addr::new(10, 0, 0, 2), 80);
    const FLOW: FlowKey = FlowKey { source: HERE, destination: THERE };
    /// Both endpoints after address translation.
    const OUTSIDE: FlowKey = FlowKey {
        source: Endpoint::new(Ipv4Addr::new(192, 0, 2, 1), 61_000),
        destination: Endpoint::new(Ipv4Addr::new(198, 51, 100, 7), 8080),
    };

    fn packet(flow: FlowKey, seq: u32, len: u32, ecn: Ecn, ttl: u8) -> Vec<u8> {
        let stamps = Timestamps { value: seq, echo: 7 };
        let segment = TcpSegment {
            source_port: flow.source.port,
            destination_port: flow.destination.port,
            seq: Seq(seq),
            ack: Seq(5),
            flags: TcpFlags::ACK,
            window: 99,
            options: TcpOptions { timestamps: Some(stamps), ..TcpOptions::default() },
            payload: Payload::new(1, 0, len),
            ..TcpSegment::default()
        };
        let mut ip = IpHeader::new(flow.source.address, flow.destination.address);
        (ip.ecn, ip.ttl) = (ecn, ttl);
        let packet = Packet { ip, body: Body::Tcp(segment) };
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, Payload::pattern).unwrap();
        bytes
    }

    /// Last acknowledgment number and window of the local TCP, on every flow.
    fn said(_: FlowKey) -> Option<(Seq, u16)> {
        Some((Seq(5), 99))
    }

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_segment_leaves_with_the_addresses_of_its_carrier_ack() {
        let mut carriers = Carriers::default();
        let stored = packet(FLOW, 1000, 33, Ecn::Ect0, 64);
        assert!(carriers.load(ms(0), FLOW, Some(&stored)));
        // Segments with data and other flows' acknowledgments are no carriers.
        let other = FlowKey { source: THERE, destination: HERE };
        assert_eq!(carriers.at_origin(&packet(FLOW, 2000, 10, Ecn::NotEct, 64), 3, said), None);
        assert_eq!(carriers.at_origin(&packet(other, 2000, 0, Ecn::NotEct, 64), 3, said), None);
        let tag = carriers.at_origin(&packet(FLOW, 2000, 0, Ecn::NotEct, 64), 3, said).unwrap();
        assert_eq!((tag & TAG_MASK, carriers.at_origin(&stored, 3, said)), (TAG, None));
        let Exit::As(bytes, 3, FLOW) =
            carriers.at_exit(&packet(OUTSIDE, 2000, 0, Ecn::NotEct, 9), tag)
        else {
            panic!("it is not replaced")
        };
        // Decoding verifies both checksums.
        let decoded = Packet::decode(&bytes).unwrap();
        let expected = packet(OUTSIDE, 1000, 33, Ecn::Ect0, 9);
        let expected = Packet::decode(&expected).unwrap();
        assert_eq!((decoded.packet, decoded.payload), (expected.packet, expected.payload));
        assert!(carriers.is_empty() && carriers.next_timeout().is_none());
    }

    #[test]
    fn renumbered_acknowledgments_are_not_replaced() {
        let mut carriers = Carriers::default();
        carriers.load(ms(0), FLOW, Some(&packet(FLOW, 1000, 33, Ecn::NotEct, 64)));
        let tag = carriers.at_origin(&packet(FLOW, 2000, 0, Ecn::NotEct, 64), 3, said).unwrap();
        let renumbered = packet(FLOW, 2100, 0, Ecn::NotEct, 64);
        assert_eq!(carriers.at_exit(&renumbered, tag), Exit::Empty(3));
        assert_eq!(carriers.at_exit(&renumbered, tag), Exit::Unknown);
        assert_eq!(carriers.at_exit(&renumbered, TAG | 9), Exit::Unknown);
    }

    #[test]
    fn new_acknowledgments_are_not_lost() {
        let mut carriers = Carriers::default();
        let news = packet(FLOW, 2000, 0, Ecn::NotEct, 64);
        let older = |_| Some((Seq(4), 99));
        // A route query lets it pass.
        carriers.load(ms(0), FLOW, None);
        let tag = carriers.at_origin(&news, 3, older).unwrap();
        assert_eq!(carriers.at_exit(&news, tag), Exit::Seen(FLOW, Some(3)));
        // A segment with data takes over its acknowledgment number.
        let mut stored = packet(FLOW, 1000, 33, Ecn::NotEct, 64);
        stored[28..32].copy_from_slice(&4_u32.to_be_bytes());
        carriers.load(ms(0), FLOW, Some(&stored));
        let tag = carriers.at_origin(&news, 3, older).unwrap();
        let Exit::As(bytes, ..) = carriers.at_exit(&news, tag) else { panic!("it leaves") };
        let (_, segment) = tcp(&bytes).unwrap();
        assert_eq!((segment.seq, segment.ack, segment.payload.len), (Seq(1000), Seq(5), 33));
    }

    /// Its slot has been reused.
    #[test]
    fn a_late_carrier_ack_is_ignored() {
        let mut carriers = Carriers::default();
        let late = packet(FLOW, 1, 0, Ecn::NotEct, 64);
        carriers.load(ms(0), FLOW, None);
        let tag = carriers.at_origin(&late, 0, said).unwrap();
        carriers.forget_questions(FLOW);
        carriers.load(ms(0), FLOW, None);
        assert_eq!(carriers.at_origin(&packet(FLOW, 2, 0, Ecn::NotEct, 64), 0, said), Some(tag));
        assert_eq!(carriers.at_exit(&late, tag), Exit::Empty(0));
    }

    #[test]
    fn buffers_are_reused() {
        let mut carriers = Carriers::default();
        let (stored, carrier) =
            (packet(FLOW, 1, 9, Ecn::NotEct, 64), packet(FLOW, 9, 0, Ecn::NotEct, 64));
        for _ in 0..100 {
            carriers.load(ms(0), FLOW, Some(&stored));
            let tag = carriers.at_origin(&carrier, 0, said).unwrap();
            assert!(matches!(carriers.at_exit(&carrier, tag), Exit::As(..)));
        }
        assert_eq!((carriers.spare.len(), carriers.loaded.len()), (1, 0));
    }

    #[test]
    fn an_expired_packet_removes_its_whole_flow() {
        let mut carriers = Carriers::default();
        carriers.load(ms(0), FLOW, None);
        let tag = carriers.at_origin(&packet(FLOW, 1, 0, Ecn::NotEct, 64), 0, said).unwrap();
        assert_eq!(
            carriers.at_exit(&packet(FLOW, 1, 0, Ecn::NotEct, 64), tag),
            Exit::Seen(FLOW, None)
        );
        let stored = packet(FLOW, 1, 1, Ecn::NotEct, 64);
        carriers.load(ms(10), FLOW, Some(&stored));
        carriers.load(ms(20), FLOW, None);
        carriers.at_origin(&packet(FLOW, 1, 0, Ecn::NotEct, 64), 0, said).unwrap();
        assert_eq!(carriers.next_timeout(), Some(ms(10) + PATIENCE));
        assert_eq!(carriers.expire(ms(209)), []);
        assert_eq!(carriers.expire(ms(210)), [(FLOW, true)]);
        assert!(carriers.is_empty());
        carriers.load(ms(220), FLOW, Some(&stored));
        assert_eq!(carriers.expire(ms(420)), [(FLOW, false)]);
        // Route queries are cancelled by the route monitor.
        carriers.load(ms(500), FLOW, None);
        carriers.load(ms(500), FLOW, None);
        carriers.at_origin(&packet(FLOW, 1, 0, Ecn::NotEct, 64), 0, said).unwrap();
        assert_eq!((carriers.next_timeout(), carriers.expire(ms(900))), (None, vec![]));
        carriers.forget_questions(FLOW);
        assert!(carriers.is_empty());
        assert!(carriers.is_empty());
        let full = (0..=WAITING_MAX).filter(|_| carriers.load(ms(300), FLOW, None)).count();
        assert_eq!(full, WAITING_MAX);
    }

    #[test]
    fn truncated_packets_do_not_panic() {
        let whole = packet(FLOW, 1, 40, Ecn::NotEct, 64);
        for end in 0..whole.len() {
            let short = &whole[..end];
            let _ = (flow_of(short), replace(short, &whole), replace(&whole, short));
        }
        assert_eq!(flow_of(&whole), Some(FLOW));
    }
}
