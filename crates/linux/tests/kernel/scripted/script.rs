//! Scripts: what the application and the peer do, and when.

use driftway_base::{Duration, Instant};
use driftway_wire::{TcpFlags, UnreachableCode};

use super::receiver::Path;
use super::segment::{PeerSegment, ack, syn, syn_ack};

/// A step of a script.
#[derive(Clone, Debug)]
pub enum Step {
    /// The application writes this many bytes.
    Write(u64),
    /// The application stops reading; otherwise it reads whatever arrives.
    StopReading,
    /// The application reads everything, and again whatever arrives.
    Read,
    /// The application closes its direction.
    Close,
    /// The application aborts the connection.
    Abort,
    /// The peer's segment arrives.
    Segment(PeerSegment),
    /// An ICMP destination unreachable about the segment at this sequence number arrives.
    Unreachable(UnreachableCode, u32),
    /// From now on the peer is a receiver behind this path, which answers by itself.
    Receiver(Path),
}

/// The end that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The TCP under test connects, at time zero.
    Active,
    /// It listens.
    Passive,
}

/// A script for the TCP under test: everything but what that TCP sends.
#[derive(Clone, Debug)]
pub struct Script {
    pub name: &'static str,
    /// The subject, and its source.
    pub about: &'static str,
    /// Congestion control, by its name in Linux and in a scenario.
    pub control: &'static str,
    /// Its data is paced, also where it has no pacing rate of its own.
    pub paced: bool,
    pub opening: Opening,
    /// Options that the peer offers, and the TCP under test, too.
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// The peer's window scale.
    pub window_scale: Option<u8>,
    /// The peer's window where a segment gives none (bytes).
    pub window: u32,
    pub steps: Vec<(Instant, Step)>,
    pub end: Instant,
    /// Time of the step that is added next.
    at: Instant,
}

/// Payload of a full segment: round numbers are easier to read.
pub const SEGMENT: u32 = 1000;
/// Round-trip time of the handshake (ms).
pub const RTT: u64 = 100;
/// Time between segments of the peer that follow each other (ms): on no path do two arrive at
/// once, and the kernel needs some time for each.
pub const SPACING: u64 = 2;

impl Script {
    pub fn new(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            control: "cubic",
            paced: false,
            opening: Opening::Active,
            sack: true,
            timestamps: true,
            ecn: false,
            window_scale: Some(7),
            window: 1_000_000,
            steps: Vec::new(),
            end: Instant::ZERO,
            at: Instant::ZERO,
        }
    }
    pub fn reno(self) -> Self {
        Self { control: "reno", ..self }
    }
    pub fn bbr(self) -> Self {
        Self { control: "bbr", ..self }
    }
    pub fn paced(self) -> Self {
        Self { paced: true, ..self }
    }
    pub fn without_sack(self) -> Self {
        Self { sack: false, ..self }
    }
    pub fn without_timestamps(self) -> Self {
        Self { timestamps: false, ..self }
    }
    pub fn without_window_scale(self) -> Self {
        Self { window_scale: None, ..self }
    }
    pub fn ecn(self) -> Self {
        Self { ecn: true, ..self }
    }
    pub fn passive(self) -> Self {
        Self { opening: Opening::Passive, ..self }
    }
    /// The peer's window (bytes).
    pub fn window(self, window: u32) -> Self {
        Self { window, ..self }
    }

    /// Its data is paced, by its congestion control or otherwise.
    pub fn is_paced(&self) -> bool {
        self.paced || self.control == "bbr"
    }

    /// MSS in the SYNs, from which timestamps are subtracted (RFC 6691).
    pub fn mss(&self) -> u16 {
        SEGMENT as u16 + if self.timestamps { 12 } else { 0 }
    }

    /// Moves to this time (ms).
    pub fn at(mut self, ms: u64) -> Self {
        let at = Instant::from_millis(ms);
        assert!(at >= self.at, "{}: steps in the order of time", self.name);
        (self.at, self.end) = (at, at);
        self
    }
    /// Moves on by this time (ms).
    pub fn later(self, ms: u64) -> Self {
        let at = (self.at + Duration::from_millis(ms)).as_nanos() / 1_000_000;
        self.at(at)
    }
    fn step(mut self, step: Step) -> Self {
        self.steps.push((self.at, step));
        self
    }
    pub fn writes(self, bytes: u64) -> Self {
        self.step(Step::Write(bytes))
    }
    pub fn reads(self) -> Self {
        self.step(Step::Read)
    }
    pub fn stops_reading(self) -> Self {
        self.step(Step::StopReading)
    }
    pub fn closes(self) -> Self {
        self.step(Step::Close)
    }
    pub fn aborts(self) -> Self {
        self.step(Step::Abort)
    }
    /// Receives a segment; what follows is [`SPACING`] later.
    pub fn receives(self, segment: PeerSegment) -> Self {
        self.step(Step::Segment(segment)).later(SPACING)
    }
    /// Receives these segments, one after the other.
    pub fn receives_all(self, segments: impl IntoIterator<Item = PeerSegment>) -> Self {
        segments.into_iter().fold(self, Self::receives)
    }
    pub fn unreachable(self, code: UnreachableCode, seq: u32) -> Self {
        self.step(Step::Unreachable(code, seq))
    }
    pub fn receiver(self, path: Path) -> Self {
        self.step(Step::Receiver(path))
    }

    /// Opens the connection with a round trip of [`RTT`].
    pub fn established(self) -> Self {
        match self.opening {
            Opening::Active => {
                let ece = if self.ecn { TcpFlags::ECE } else { TcpFlags(0) };
                self.at(RTT).receives(syn_ack().with(ece))
            }
            Opening::Passive => {
                let ecn = TcpFlags::ECE.with(TcpFlags::CWR);
                let flags = if self.ecn { ecn } else { TcpFlags(0) };
                self.at(0).receives(syn().with(flags)).at(RTT).receives(ack(1))
            }
        }
    }
    /// Opens the connection and has `segments` full segments written at once, of which the
    /// initial window permits ten.
    pub fn in_flight(self, segments: u64) -> Self {
        self.established().writes(segments * u64::from(SEGMENT))
    }
}
