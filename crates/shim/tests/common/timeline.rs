//! A shim whose local TCP and peer are played by the test: `local`, `peer`, `emits`, `quiet_until`.
//!
//! Sequence numbers are relative to the initial ones, so that each stream begins at 1, and
//! timestamps to the start of each clock, which ticks in milliseconds. All of them wrap early.
//! Packets that the shim sends must be claimed with [`Timeline::emits`] before the test ends.

use driftway_base::{Duration, Ecn, Endpoint, FlowKey, Instant, Ipv4Addr, Seq, SeqRange, Signal};
use driftway_shim::{
    Config, Counts, DiscardReason, FlowState, FlowStatus, PacketAction, PacketDestination, Shim,
};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps,
    UnreachableCode,
};

pub const OURS: Seq = Seq(u32::MAX - 2500);
pub const THEIRS: Seq = Seq(u32::MAX - 20);
const OUR_CLOCK: u32 = u32::MAX - 350;
const THEIR_CLOCK: u32 = u32::MAX - 150;

/// RTT of the handshake (ms).
pub const RTT: u64 = 100;
/// Bytes per segment.
pub const LEN: u32 = 1000;

pub const HERE: Endpoint = Endpoint::new(Ipv4Addr::new(10, 0, 0, 1), 4000);
pub const THERE: Endpoint = Endpoint::new(Ipv4Addr::new(10, 0, 0, 2), 80);
pub const FLOW: FlowKey = FlowKey { source: HERE, destination: THERE };

pub const IN_HOLD: PacketAction = PacketAction::Discarded(DiscardReason::RetransmissionInHold);
pub const IN_REPAIR: PacketAction = PacketAction::Discarded(DiscardReason::RetransmissionInRepair);
pub const ACK_HELD: PacketAction = PacketAction::Discarded(DiscardReason::AckHeld);

/// A segment of one end.
#[derive(Clone, Copy)]
pub struct TestSegment {
    pub segment: TcpSegment,
    pub ecn: Ecn,
    /// Sent by the peer.
    is_from_peer: bool,
}

/// A segment of the local TCP with bytes `start..start + len`.
pub fn data(start: u32, len: u32) -> TestSegment {
    let segment = TcpSegment {
        source_port: HERE.port,
        destination_port: THERE.port,
        seq: OURS + start,
        ack: THEIRS + 1,
        flags: TcpFlags::ACK,
        window: 60_000,
        payload: Payload::new(1, u64::from(start.wrapping_sub(1)), len),
        ..TcpSegment::default()
    };
    TestSegment { segment, ecn: Ecn::Ect0, is_from_peer: false }
}

/// Segment `n` of the local TCP, from 0 on.
pub fn nth_segment(n: u32) -> TestSegment {
    data(1 + n * LEN, LEN)
}

/// An acknowledgment by the peer of everything before `number`, with TSecr `echo`.
pub fn ack(number: u32, echo: u32) -> TestSegment {
    let segment = TcpSegment {
        source_port: THERE.port,
        destination_port: HERE.port,
        seq: THEIRS + 1,
        ack: OURS + number,
        flags: TcpFlags::ACK,
        window: 50_000,
        options: TcpOptions {
            timestamps: Some(Timestamps { value: 0, echo: OUR_CLOCK.wrapping_add(echo) }),
            ..TcpOptions::default()
        },
        ..TcpSegment::default()
    };
    TestSegment { segment, ecn: Ecn::NotEct, is_from_peer: true }
}

impl TestSegment {
    pub fn with(mut self, flags: TcpFlags) -> Self {
        self.segment.flags = self.segment.flags.with(flags);
        self
    }
    pub fn flags(mut self, flags: TcpFlags) -> Self {
        self.segment.flags = flags;
        self
    }
    pub fn fin(self) -> Self {
        self.with(TcpFlags::FIN)
    }
    pub fn not_capable(mut self) -> Self {
        self.ecn = Ecn::NotEct;
        self
    }
    pub fn sack(mut self, blocks: &[(u32, u32)]) -> Self {
        for (start, end) in blocks {
            self.segment.options.sack.push(SeqRange::new(OURS + *start, OURS + *end));
        }
        self
    }
    pub fn window(mut self, window: u16) -> Self {
        self.segment.window = window;
        self
    }
    /// Acknowledges the peer's bytes before `number`.
    pub fn acking(mut self, number: u32) -> Self {
        self.segment.ack = THEIRS + number;
        self
    }
    /// Carries `len` bytes of the peer from `start` on.
    pub fn carrying(mut self, start: u32, len: u32) -> Self {
        self.segment.seq = THEIRS + start;
        self.segment.payload = Payload::new(2, u64::from(start.wrapping_sub(1)), len);
        self
    }
    pub fn seq(mut self, number: u32) -> Self {
        self.segment.seq = if self.is_from_peer { THEIRS } else { OURS } + number;
        self
    }
    pub fn options(mut self, set: impl FnOnce(&mut TcpOptions)) -> Self {
        set(&mut self.segment.options);
        self
    }
    pub fn without_timestamps(self) -> Self {
        self.options(|options| options.timestamps = None)
    }

    pub fn bytes(mut self, now: Instant) -> Vec<u8> {
        let at = (now.as_nanos() / 1_000_000) as u32;
        let (ends, clock) = match self.is_from_peer {
            false => ((HERE, THERE), OUR_CLOCK),
            true => ((THERE, HERE), THEIR_CLOCK),
        };
        if let Some(stamps) = &mut self.segment.options.timestamps {
            stamps.value = clock.wrapping_add(at);
        }
        let mut ip = IpHeader::new(ends.0.address, ends.1.address);
        ip.ecn = self.ecn;
        encode(&Packet { ip, body: Body::Tcp(self.segment) })
    }
}

pub fn encode(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, Payload::fill_pattern).expect("it fits");
    bytes
}

/// A packet as text: sequence numbers, acknowledgment, timestamps, and unusual flags.
pub fn show(bytes: &[u8]) -> String {
    let decoded = Packet::decode(bytes).expect("right checksums");
    let segment = match decoded.packet.body {
        Body::Tcp(segment) => segment,
        Body::Icmp(IcmpMessage::Unreachable { code, quoted }) => {
            return format!("{code:?} unreachable {}", quoted.seq().since(OURS));
        }
        other => panic!("{other:?}"),
    };
    let out = decoded.packet.ip.source == HERE.address;
    let (seq, ack) = if out { (OURS, THEIRS) } else { (THEIRS, OURS) };
    let clocks = if out { (OUR_CLOCK, THEIR_CLOCK) } else { (THEIR_CLOCK, OUR_CLOCK) };
    let mut words = Vec::new();
    let start = segment.seq.0.wrapping_sub(seq.0);
    if segment.payload.len > 0 {
        words.push(format!("{start}+{}", segment.payload.len));
        // Retransmissions carry the same bytes.
        let (stream, offset) = if out { (1, start - 1) } else { (2, start - 1) };
        let mut expected = vec![0; decoded.payload.len()];
        Payload::new(stream, u64::from(offset), segment.payload.len).fill_pattern(&mut expected);
        assert_eq!(decoded.payload, expected, "other bytes");
    }
    if segment.flags.contains(TcpFlags::FIN) {
        words.push("FIN".into());
    }
    words.push(format!("a{}", segment.ack.0.wrapping_sub(ack.0)));
    if let Some(Timestamps { value, echo }) = segment.options.timestamps {
        let value = value.wrapping_sub(clocks.0);
        let echo = match echo {
            0 => "-".to_owned(),
            echo => echo.wrapping_sub(clocks.1).to_string(),
        };
        words.push(format!("t{value}/{echo}"));
    }
    for block in segment.options.sack.as_slice() {
        let [start, end] = [block.start, block.end].map(|edge| edge.0.wrapping_sub(ack.0));
        words.push(format!("s{start}-{end}"));
    }
    if !out {
        words.push(format!("w{}", segment.window));
    }
    if segment.flags.contains(TcpFlags::ECE) {
        words.push("ECE".into());
    }
    if decoded.packet.ip.ecn != Ecn::NotEct {
        words.push("ect".into());
    }
    words.join(" ")
}

/// The default configuration, but with one probe in two RTTs, for shorter traces.
pub fn config() -> Config {
    Config { probe_min: Duration::from_millis(2 * RTT), queues_mark: true, ..Config::default() }
}

pub struct Timeline {
    pub shim: Shim,
    pub now: Instant,
    acks_sent: Vec<String>,
    pub wakes: u32,
}

/// Options offered by both ends.
#[derive(Clone, Copy)]
pub struct Offers {
    pub ecn: bool,
    pub sack: bool,
}

impl Timeline {
    pub fn new(config: Config) -> Self {
        Self::with_shim(Shim::new(config))
    }
    pub fn with_shim(shim: Shim) -> Self {
        Self { shim, now: Instant::ZERO, acks_sent: Vec::new(), wakes: 0 }
    }

    /// A connection opened by the local TCP between 0 and 100 ms, with timestamps, SACK and ECN.
    pub fn established() -> Self {
        Self::established_with(config(), Offers { ecn: true, sack: true })
    }
    pub fn established_by(config: Config) -> Self {
        Self::established_with(config, Offers { ecn: true, sack: true })
    }
    pub fn established_with(config: Config, offers: Offers) -> Self {
        Self::established_with_shim(Shim::new(config), offers)
    }
    pub fn established_with_shim(shim: Shim, offers: Offers) -> Self {
        let mut line = Self::with_shim(shim);
        let ecn = |flags: TcpFlags, ece| if offers.ecn { flags.with(ece) } else { flags };
        let ask = ecn(TcpFlags::SYN, TcpFlags::ECE.with(TcpFlags::CWR));
        let agree = ecn(TcpFlags::SYN.with(TcpFlags::ACK), TcpFlags::ECE);
        let sack = |options: &mut TcpOptions| options.sack_permitted = offers.sack;
        line.passes(syn().flags(ask).options(sack));
        line.at(RTT);
        line.peer_passes(syn_ack().flags(agree).options(sack));
        line.passes(line.local_now(data(1, 0)).not_capable());
        line
    }

    /// Sets TSecr to the peer's clock of about now.
    pub fn local_now(&self, says: TestSegment) -> TestSegment {
        let echo = THEIR_CLOCK.wrapping_add((self.now.as_nanos() / 1_000_000) as u32);
        says.options(|options| options.timestamps = Some(Timestamps { value: 0, echo }))
    }

    /// Passes a packet of the local host that is not of this flow, or not TCP.
    pub fn outgoing(&mut self, bytes: &mut [u8]) -> PacketAction {
        let before = bytes.to_vec();
        let disposition = self.shim.on_outgoing(self.now, bytes);
        assert_eq!(disposition == PacketAction::Edited, before != bytes);
        self.drain();
        disposition
    }
    pub fn incoming(&mut self, bytes: &mut [u8]) -> PacketAction {
        let before = bytes.to_vec();
        let disposition = self.shim.on_incoming(self.now, bytes);
        if !matches!(disposition, PacketAction::Discarded(_)) {
            assert_eq!(disposition == PacketAction::Edited, before != bytes);
        }
        self.drain();
        disposition
    }

    /// The local TCP sends `says`, whose bytes stay unchanged.
    pub fn local(&mut self, says: TestSegment) -> PacketAction {
        let says = match says.segment.options.timestamps {
            None if !says.segment.flags.contains(TcpFlags::SYN) => self.local_now(says),
            _ => says,
        };
        let mut bytes = says.bytes(self.now);
        let before = bytes.clone();
        let disposition = self.outgoing(&mut bytes);
        assert_eq!(bytes, before, "segments of the local TCP are never edited");
        disposition
    }
    pub fn passes(&mut self, says: TestSegment) {
        assert_eq!(self.local(says), PacketAction::Pass);
    }
    /// The local TCP sends the segments `from..to`.
    pub fn sends(&mut self, segments: std::ops::Range<u32>) {
        for n in segments {
            assert_eq!(self.local(nth_segment(n)), PacketAction::Pass, "segment {n}");
        }
    }
    pub fn stores(&mut self, says: TestSegment) {
        assert_eq!(self.local(says), PacketAction::Stored);
    }

    /// The peer sends `says`: its disposition, and its edited form.
    pub fn peer(&mut self, says: TestSegment) -> (PacketAction, String) {
        let mut bytes = says.bytes(self.now);
        let disposition = self.incoming(&mut bytes);
        (disposition, show(&bytes))
    }
    /// The segment reaches the local TCP unchanged.
    pub fn peer_passes(&mut self, says: TestSegment) {
        let before = show(&says.bytes(self.now));
        assert_eq!(self.peer(says), (PacketAction::Pass, before));
    }
    /// The segment reaches the local TCP as `changed`.
    pub fn peer_becomes(&mut self, says: TestSegment, changed: &str) {
        assert_eq!(self.peer(says), (PacketAction::Edited, changed.into()));
    }
    /// The segment does not reach the local TCP.
    pub fn peer_is_held(&mut self, says: TestSegment) {
        assert_eq!(self.peer(says).0, ACK_HELD);
    }

    /// A router reports `says`, a segment of the local TCP, as undeliverable.
    pub fn unreachable(&mut self, says: TestSegment, code: UnreachableCode) -> PacketAction {
        let bytes = says.bytes(self.now);
        let offending = Packet::decode(&bytes).expect("an encoded packet decodes").packet;
        let router = Ipv4Addr::new(10, 0, 9, 9);
        let message = |quoted| IcmpMessage::Unreachable { code, quoted };
        let packet = Packet::icmp_error(router, &offending, message).expect("an error is due");
        let mut bytes = encode(&packet);
        let before = bytes.clone();
        let disposition = self.incoming(&mut bytes);
        assert_eq!(bytes, before);
        disposition
    }
    /// A router reports segment `n` as undeliverable, and the report is accepted.
    pub fn cut(&mut self, n: u32) {
        assert_eq!(self.unreachable(nth_segment(n), UnreachableCode::Host), PacketAction::Pass);
        assert_eq!(self.status().state, FlowState::Disconnected);
    }

    pub fn signal(&mut self, signal: &Signal) {
        self.shim.on_signal(self.now, signal);
        self.drain();
    }

    /// Advances the time to `ms`, running timers that become due.
    pub fn at(&mut self, ms: u64) {
        let end = Instant::from_millis(ms);
        while let Some(next) = self.shim.next_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.shim.on_timeout(self.now);
            self.drain();
            self.wakes += 1;
            assert!(
                self.shim.next_timeout().is_none_or(|at| at > self.now),
                "next_timeout does not advance"
            );
        }
        self.now = end;
    }

    pub fn let_go(&mut self) {
        self.shim.shut_down(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        let mut packet = Vec::new();
        while let Some(to) = self.shim.poll(self.now, &mut packet) {
            let to = match to {
                PacketDestination::Network => "net",
                PacketDestination::LocalTcp => "tcp",
            };
            let ms = self.now.as_nanos() / 1_000_000;
            self.acks_sent.push(format!("{ms} {to} {}", show(&packet)));
            assert!(self.acks_sent.len() < 10_000, "packets without end");
        }
    }

    /// Packets that the shim has sent since the last call.
    #[track_caller]
    pub fn emits<const N: usize>(&mut self, expected: [&str; N]) {
        assert_eq!(std::mem::take(&mut self.acks_sent), expected);
    }
    #[track_caller]
    pub fn quiet_until(&mut self, ms: u64) {
        self.at(ms);
        self.emits([]);
    }
    /// The same, returned instead of compared.
    pub fn taken(&mut self) -> Vec<String> {
        std::mem::take(&mut self.acks_sent)
    }

    pub fn status(&self) -> FlowStatus {
        self.shim.flows().next().expect("the flow is tracked")
    }
    pub fn counts(&self) -> &Counts {
        self.shim.counts()
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(self.acks_sent, Vec::<String>::new(), "packets not claimed by emits");
        }
    }
}

/// The SYN of the local TCP, at 0 ms.
pub fn syn() -> TestSegment {
    let syn = data(0, 0).flags(TcpFlags::SYN).not_capable();
    let stamps = Timestamps { value: 0, echo: 0 };
    let mut syn = syn.options(|options| {
        options.mss = Some(1460);
        options.sack_permitted = true;
        options.timestamps = Some(stamps);
    });
    syn.segment.ack = Seq(0);
    syn
}

/// The SYN-ACK of the peer.
pub fn syn_ack() -> TestSegment {
    let answer = ack(1, 0).seq(0).flags(TcpFlags::SYN.with(TcpFlags::ACK));
    answer.options(|options| {
        options.mss = Some(1460);
        options.sack_permitted = true;
    })
}
