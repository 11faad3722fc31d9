//! One connection whose peer is the test: `receives`, `sends`, `quiet_until`.
//!
//! Sequence numbers are relative to the initial ones, so that a stream begins at 1; both wrap
//! within the first kilobyte. Sent segments must be checked with [`TestConnection::sends`] before
//! the next step.

use driftway_base::{Duration, Ecn, Endpoint, Instant, Seq, SeqRange};
use driftway_tcp::{Clock, Config, Connection, Event, RecoveryKind, State, Transmit};
use driftway_wire::{Payload, TcpFlags, TcpOptions, TcpSegment, Timestamps};

use super::address;

pub const OURS: Seq = Seq(u32::MAX - 500);
pub const THEIRS: Seq = Seq(u32::MAX - 100);
/// RTT of the handshake (ms): the retransmission timeout is then its minimum, 1 s.
pub const RTT: u64 = 100;

/// Segments of 1000 bytes, every segment acknowledged at once, nothing negotiated.
pub fn plain() -> Config {
    Config {
        recovery: RecoveryKind::NewReno,
        mss: 1000,
        delayed_ack: None,
        sack: false,
        clock: Clock::uniform(Duration::from_millis(1), Duration::ZERO),
        ..Config::default()
    }
}

/// A segment from the peer.
#[derive(Clone, Copy)]
pub struct Peer {
    pub segment: TcpSegment,
    pub ecn: Ecn,
}

/// An acknowledgment of everything before `number`.
pub fn ack(number: u32) -> Peer {
    let segment = TcpSegment {
        source_port: 80,
        destination_port: 4000,
        seq: THEIRS + 1,
        ack: OURS + number,
        flags: TcpFlags::ACK,
        window: 60_000,
        ..TcpSegment::default()
    };
    Peer { segment, ecn: Ecn::NotEct }
}

/// `len` bytes from `start` on, with no new acknowledgment.
pub fn data(start: u32, len: u32) -> Peer {
    ack(1).seq(start).carrying(len)
}

pub fn rst(number: u32) -> Peer {
    ack(1).seq(number).flags(TcpFlags::RST)
}

pub fn syn() -> Peer {
    let syn = ack(0).seq(0).flags(TcpFlags::SYN);
    syn.options(|o| o.mss = Some(1000))
}

pub fn syn_ack() -> Peer {
    let answer = syn().flags(TcpFlags::SYN.with(TcpFlags::ACK));
    Peer { segment: TcpSegment { ack: OURS + 1, ..answer.segment }, ..answer }
}

impl Peer {
    pub fn seq(mut self, number: u32) -> Self {
        self.segment.seq = THEIRS + number;
        self
    }
    pub fn acking(mut self, number: u32) -> Self {
        self.segment.ack = OURS + number;
        self
    }
    pub fn carrying(mut self, len: u32) -> Self {
        let offset = u64::from(self.segment.seq.0.wrapping_sub(THEIRS.0).wrapping_sub(1));
        self.segment.payload = Payload::new(9, offset, len);
        self
    }
    pub fn flags(mut self, flags: TcpFlags) -> Self {
        self.segment.flags = flags;
        self
    }
    pub fn with(mut self, flags: TcpFlags) -> Self {
        self.segment.flags = self.segment.flags.with(flags);
        self
    }
    pub fn fin(self) -> Self {
        self.with(TcpFlags::FIN)
    }
    pub fn window(mut self, window: u16) -> Self {
        self.segment.window = window;
        self
    }
    pub fn sack(self, blocks: &[(u32, u32)]) -> Self {
        self.options(|o| {
            for (start, end) in blocks {
                o.sack.push(SeqRange::new(OURS + *start, OURS + *end));
            }
        })
    }
    pub fn timestamps(self, value: u32, echo: u32) -> Self {
        self.options(|o| o.timestamps = Some(Timestamps { value, echo }))
    }
    pub fn options(mut self, set: impl FnOnce(&mut TcpOptions)) -> Self {
        set(&mut self.segment.options);
        self
    }
    pub fn marked(mut self) -> Self {
        self.ecn = Ecn::Ce;
        self
    }
}

pub struct TestConnection {
    pub tcp: Connection,
    pub now: Instant,
    outbox: Vec<Transmit>,
    /// Segments that the last `sends` checked.
    pub last: Vec<Transmit>,
    pub events: Vec<Event>,
    /// Events of lost segments.
    pub losses: Vec<Event>,
    /// Right edge of the window as the peer knows it.
    edge: Option<Seq>,
    reads: bool,
}

impl TestConnection {
    pub fn new(tcp: Connection) -> Self {
        let (outbox, last, events, losses) = (vec![], vec![], vec![], vec![]);
        Self { tcp, now: Instant::ZERO, outbox, last, events, losses, edge: None, reads: true }
    }
    /// CLOSED → SYN-SENT, with the SYN sent.
    pub fn syn_sent(config: &Config) -> Self {
        let (a, b) = (Endpoint::new(address(1), 4000), Endpoint::new(address(2), 80));
        let mut conn = Self::new(Connection::connect(config, a, b, OURS, 1, Instant::ZERO));
        conn.drain();
        conn.sends([if config.ecn { "SYN ECE CWR" } else { "SYN" }]);
        conn
    }
    /// LISTEN at port 4000.
    pub fn listening(config: &Config) -> Self {
        let local = Endpoint::new(address(1), 4000);
        Self::new(Connection::listen(config, local, OURS, 1))
    }
    /// SYN-RECEIVED, from LISTEN.
    pub fn syn_received(config: &Config) -> Self {
        let mut conn = Self::listening(config);
        conn.receives(syn());
        conn.sends(["SYN-ACK 1"]);
        conn.is(State::SynReceived);
        conn
    }
    /// ESTABLISHED at 100 ms, with a peer that offers the options of the configuration.
    pub fn established(config: &Config) -> Self {
        Self::established_by(config, syn_ack())
    }
    pub fn established_by(config: &Config, answer: Peer) -> Self {
        let mut conn = Self::syn_sent(config);
        conn.at(RTT);
        let answer = answer.options(|o| {
            o.sack_permitted = config.sack;
            o.timestamps = config.timestamps.then_some(Timestamps { value: 5000, echo: 0 });
            o.window_scale = config.window_scale.then_some(o.window_scale.unwrap_or(2));
        });
        let ecn = if config.ecn { TcpFlags::ECE } else { TcpFlags(0) };
        conn.receives(answer.with(ecn));
        conn.sends(["ack 1"]);
        conn.is(State::Established);
        conn.events.clear();
        conn
    }

    pub fn keep_unread(&mut self) {
        self.reads = false;
    }
    pub fn is(&self, state: State) {
        assert_eq!(self.tcp.state(), state, "at {:?}", self.now);
    }

    /// Calls the connection and collects its output.
    pub fn does<T>(&mut self, what: impl FnOnce(&mut Connection, Instant) -> T) -> T {
        self.assert_nothing_sent();
        let answer = what(&mut self.tcp, self.now);
        self.drain();
        answer
    }
    pub fn writes(&mut self, bytes: u64) {
        assert_eq!(self.does(|tcp, _| tcp.write(bytes)), bytes);
    }
    pub fn closes(&mut self) {
        self.does(|tcp, _| tcp.close());
    }
    pub fn receives(&mut self, peer: Peer) {
        self.does(|tcp, now| tcp.on_segment(now, address(2), &peer.segment, peer.ecn));
    }
    pub fn acts(&mut self, act: driftway_base::Act) {
        assert_eq!(
            self.does(|tcp, now| tcp.act(now, &act)),
            driftway_base::ActResult::Done,
            "{act:?}"
        );
    }

    /// Advances the time to `ms`; nothing may be sent before, segments sent then are to be checked.
    pub fn at(&mut self, ms: u64) {
        self.assert_nothing_sent();
        let end = Instant::from_millis(ms);
        assert!(end >= self.now, "time went back");
        while let Some(next) = self.tcp.next_timeout().filter(|next| *next <= end) {
            assert!(self.outbox.is_empty(), "early, at {:?}: {:?}", self.now, self.rendered());
            assert!(next >= self.now);
            self.now = next;
            self.tcp.on_timeout(next);
            self.drain();
        }
        if self.now < end {
            assert!(self.outbox.is_empty(), "early, at {:?}: {:?}", self.now, self.rendered());
        }
        self.now = end;
    }
    /// Checks that nothing is sent until `ms`, inclusive.
    pub fn quiet_until(&mut self, ms: u64) {
        self.at(ms);
        self.assert_nothing_sent();
    }
    pub fn quiet(&mut self) {
        self.assert_nothing_sent();
    }
    fn assert_nothing_sent(&self) {
        assert!(self.outbox.is_empty(), "unchecked at {:?}: {:?}", self.now, self.rendered());
    }

    fn drain(&mut self) {
        while self.reads && self.tcp.read(u32::MAX).is_some() {}
        let mut bursts = 0;
        while let Some(transmit) = self.tcp.poll_transmit(self.now) {
            if !transmit.requested_by_aid {
                self.check_edge(&transmit.segment);
            }
            self.outbox.push(transmit);
            bursts += 1;
            assert!(bursts < 1000, "endless transmission");
        }
        while let Some(event) = self.tcp.poll_event() {
            match event {
                Event::RetransmissionTimeout | Event::FastRetransmit => self.losses.push(event),
                _ => self.events.push(event),
            }
        }
        if self.tcp.state() == State::Listen {
            self.edge = None; // the next peer knows no window yet
        }
        let view = self.tcp.view();
        let number = |known: driftway_base::Known<Seq>| known.value().unwrap();
        assert!(number(view.snd_una).at_or_before(number(view.snd_nxt)));
        assert!(number(view.snd_nxt).at_or_before(number(view.snd_max)));
    }

    /// RFC 9293 §3.8.6: the right edge never moves left, except at an aid's request.
    fn check_edge(&mut self, segment: &TcpSegment) {
        let counts = segment.flags.contains(TcpFlags::ACK)
            && !segment.flags.intersects(TcpFlags::SYN.with(TcpFlags::RST));
        if counts
            && !self.tcp.negotiated().window_scale
            && segment.ack == self.tcp.view().rcv_nxt.value().unwrap()
        {
            let edge = segment.ack + u32::from(segment.window);
            assert!(self.edge.is_none_or(|old| edge.at_or_after(old)), "{segment:?}");
            self.edge = Some(edge);
        }
    }

    /// Checks the segments sent since the last check.
    pub fn sends<const N: usize>(&mut self, expected: [&str; N]) {
        assert_eq!(self.rendered(), expected, "at {:?}", self.now);
        self.last = std::mem::take(&mut self.outbox);
    }
    /// Returns the segments sent since the last check, which counts as one.
    pub fn sends_some(&mut self) -> Vec<String> {
        let rendered = self.rendered();
        self.last = std::mem::take(&mut self.outbox);
        rendered
    }
    fn rendered(&self) -> Vec<String> {
        self.outbox.iter().map(|t| render(&t.segment)).collect()
    }
    /// Window announced by the last segment sent.
    pub fn announced(&self) -> u16 {
        self.last.last().expect("a segment").segment.window
    }
    pub fn cwnd(&self) -> u32 {
        self.tcp.view().cwnd.value().unwrap()
    }
    pub fn ssthresh(&self) -> u32 {
        self.tcp.view().ssthresh.value().unwrap()
    }
    pub fn rto(&self) -> Duration {
        self.tcp.view().rto.value().unwrap()
    }
    /// A connection with `segments` full-sized segments in flight.
    pub fn in_flight(config: &Config, segments: u32) -> Self {
        let config = Config { initial_window: segments, ..*config };
        let mut conn = Self::established(&config);
        conn.writes(u64::from(segments) * 1000);
        assert_eq!(conn.sends_some().len(), segments as usize);
        conn
    }
}

/// Renders a segment as `SYN`, `SYN-ACK 1`, `1..1001`, `1001..1001 FIN`, `ack 1 sack 5..9` or `RST
/// 1`, with ECE and CWR.
pub fn render(segment: &TcpSegment) -> String {
    let flags = segment.flags;
    let theirs = |seq: Seq| seq.0.wrapping_sub(THEIRS.0);
    let start = segment.seq.0.wrapping_sub(OURS.0);
    let end = start.wrapping_add(segment.payload.len);
    let mut text = if flags.contains(TcpFlags::RST) {
        format!("RST {start}")
    } else if flags.contains(TcpFlags::SYN.with(TcpFlags::ACK)) {
        format!("SYN-ACK {}", theirs(segment.ack))
    } else if flags.contains(TcpFlags::SYN) {
        "SYN".into()
    } else if segment.sequence_len() > 0 {
        let at = u64::from(start) - 1;
        assert!(segment.payload.is_empty() || segment.payload.offset == at, "wrong bytes");
        format!("{start}..{end}")
    } else {
        format!("ack {}", theirs(segment.ack))
    };
    for (flag, name) in [(TcpFlags::FIN, " FIN"), (TcpFlags::ECE, " ECE"), (TcpFlags::CWR, " CWR")]
    {
        if flags.contains(flag) {
            text += name;
        }
    }
    for block in segment.options.sack.as_slice() {
        text += &format!(" sack {}..{}", theirs(block.start), theirs(block.end));
    }
    text
}

/// An acknowledgment without effect, for controls that are driven alone.
pub fn no_data() -> driftway_tcp::congestion::AckedData {
    driftway_tcp::congestion::AckedData {
        bytes: 0,
        mss: 1000,
        byte_counting: false,
        srtt: None,
        cwnd_limited: true,
        rtt: None,
        una: Seq(0),
        max: Seq(0),
        phase: driftway_tcp::send_state::RecoveryPhase::Open,
        prior_in_flight: 0,
        in_flight: 0,
        lost: 0,
        rate: None,
        pacing_wait: Duration::ZERO,
    }
}
