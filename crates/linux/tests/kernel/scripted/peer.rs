//! The scripted peer: turns the segments of a script into packets, the same for both arms.

use driftway_base::{Ecn, Endpoint, Instant, Ipv4Addr, Seq, SeqRange};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, QuotedPacket, TcpFlags, TcpSegment, Timestamps,
    UnreachableCode,
};

use super::receiver::{Data, Path, Receiver};
use super::script::Script;
use super::segment::{PeerSegment, PeerTimestamps};

/// The TCP under test.
pub const TESTED: Endpoint = Endpoint::new(Ipv4Addr::new(10, 77, 0, 1), 5000);
/// The scripted peer.
pub const PEER: Endpoint = Endpoint::new(Ipv4Addr::new(10, 77, 0, 2), 6000);
/// Its initial sequence number: both streams wrap early in our arm, and this one in both.
const PEER_ISS: Seq = Seq(u32::MAX - 1000);
/// TSval of the peer at time zero: its clock is the script's, so that echoes are the same in
/// both arms.
const CLOCK_START: u32 = 5000;

/// A transmission of the TCP under test.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: u32,
    end: u32,
    timestamp: u32,
    segment: TcpSegment,
}

#[derive(Debug)]
pub struct ScriptedPeer {
    window_scale: Option<u8>,
    window: u32,
    mss: u16,
    sack: bool,
    timestamps: bool,
    /// Initial sequence number of the TCP under test, once its SYN is seen.
    iss: Option<Seq>,
    transmissions: Vec<Transmission>,
    /// Relative sequence number of the peer's next byte.
    next: u32,
    acknowledged: u32,
    /// TS.Recent (RFC 7323 §4.3).
    recent: u32,
    receiver: Option<Receiver>,
}

impl ScriptedPeer {
    pub fn new(script: &Script) -> Self {
        Self {
            window_scale: script.window_scale,
            window: script.window,
            mss: script.mss(),
            sack: script.sack,
            timestamps: script.timestamps,
            iss: None,
            transmissions: Vec::new(),
            next: 0,
            acknowledged: 0,
            recent: 0,
            receiver: None,
        }
    }

    /// Sees a segment of the TCP under test.
    pub fn on_segment(&mut self, now: Instant, segment: &TcpSegment, ecn_capable: bool) {
        if segment.flags.contains(TcpFlags::SYN) {
            self.iss = Some(segment.seq);
        }
        let start = self.relative(segment.seq);
        let end = start.wrapping_add(segment.sequence_len());
        let timestamp = segment.options.timestamps.map_or(0, |timestamps| timestamps.value);
        if segment.sequence_len() > 0 {
            self.transmissions.push(Transmission { start, end, timestamp, segment: *segment });
            if let Some(receiver) = &mut self.receiver {
                let responded = segment.flags.contains(TcpFlags::CWR);
                receiver.on_data(now, Data { start, end, timestamp, ecn_capable, responded });
            }
        }
    }

    /// Answers by itself from now on.
    pub fn start_receiver(&mut self, at: Instant, path: &Path) {
        self.receiver = Some(Receiver::new(path, self.sack, self.acknowledged, clock(at)));
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        self.receiver.as_ref()?.next_timeout()
    }

    /// The next segment that the receiver sends by itself.
    pub fn poll(&mut self, now: Instant) -> Option<PeerSegment> {
        self.receiver.as_mut()?.poll(now)
    }

    /// A sequence number of the TCP under test, relative to its initial one.
    pub fn relative(&self, seq: Seq) -> u32 {
        self.iss.map_or(seq.0, |iss| seq.since(iss))
    }

    /// A sequence number of the peer, relative to its initial one.
    pub fn relative_ack(seq: Seq) -> u32 {
        seq.since(PEER_ISS)
    }

    /// The packet of a segment that is due at `at`.
    pub fn packet(&mut self, at: Instant, segment: &PeerSegment) -> Packet {
        let is_syn = segment.flags.contains(TcpFlags::SYN);
        let iss = self.iss.unwrap_or(Seq(0));
        let seq = segment.seq.unwrap_or(self.next);
        let window = segment.window.unwrap_or(self.window);
        let scale = if is_syn { 0 } else { self.window_scale.unwrap_or(0) };
        let acks = segment.flags.contains(TcpFlags::ACK);
        let mut tcp = TcpSegment {
            source_port: PEER.port,
            destination_port: TESTED.port,
            seq: PEER_ISS + seq,
            ack: if acks { iss + segment.ack } else { Seq(0) },
            flags: segment.flags,
            window: u16::try_from(window >> scale).unwrap_or(u16::MAX),
            payload: Payload::new(9, u64::from(seq.saturating_sub(1)), segment.len),
            ..TcpSegment::default()
        };
        for (start, end) in &segment.sack {
            tcp.options.sack.push(SeqRange::new(iss + *start, iss + *end));
        }
        if is_syn {
            tcp.options.mss = Some(self.mss);
            tcp.options.window_scale = self.window_scale;
            tcp.options.sack_permitted = self.sack;
        }
        let timestamps = self.timestamps_of(at, segment);
        tcp.options.timestamps = timestamps.filter(|_| self.timestamps);
        self.next = self.next.max(seq + tcp.sequence_len());
        let ip = IpHeader {
            ecn: if segment.marked { Ecn::Ce } else { Ecn::NotEct },
            ..IpHeader::new(PEER.address, TESTED.address)
        };
        Packet { ip, body: Body::Tcp(tcp) }
    }

    fn timestamps_of(&mut self, at: Instant, segment: &PeerSegment) -> Option<Timestamps> {
        let covers = |edge| move |sent: &&Transmission| sent.start <= edge && edge < sent.end;
        if segment.flags.contains(TcpFlags::ACK) && segment.ack > self.acknowledged {
            let mut of_edge = self.transmissions.iter().filter(covers(self.acknowledged));
            let arrived = match segment.timestamps {
                PeerTimestamps::OfFirstTransmission => of_edge.next(),
                _ => of_edge.next_back(),
            };
            let arrived = arrived.map_or(self.recent, |sent| sent.timestamp);
            // RFC 7323 §4.3: never an older one.
            if Seq(arrived).after(Seq(self.recent)) || self.recent == 0 {
                self.recent = arrived;
            }
            self.acknowledged = segment.ack;
        }
        let value = match segment.timestamps {
            PeerTimestamps::Absent => return None,
            PeerTimestamps::Value(value) => value,
            PeerTimestamps::Exact { value, echo } => return Some(Timestamps { value, echo }),
            _ => clock(at),
        };
        Some(Timestamps { value, echo: self.recent })
    }

    /// An ICMP destination unreachable about the last segment sent at `seq`.
    pub fn unreachable(&self, code: UnreachableCode, seq: u32) -> Option<Packet> {
        let sent = self.transmissions.iter().rfind(|sent| sent.start == seq)?;
        let ip = IpHeader::new(TESTED.address, PEER.address);
        let quoted = QuotedPacket::of(&Packet { ip, body: Body::Tcp(sent.segment) })?;
        let ip = IpHeader::new(PEER.address, TESTED.address);
        Some(Packet { ip, body: Body::Icmp(IcmpMessage::Unreachable { code, quoted }) })
    }
}

/// TSval of the peer at this time.
fn clock(at: Instant) -> u32 {
    CLOCK_START.wrapping_add(at.as_millis() as u32)
}
