//! Segments of the scripted peer, with sequence numbers relative to the initial ones: a stream
//! begins at 1.

use driftway_wire::TcpFlags;

use super::script::SEGMENT;

/// The timestamps of a segment of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerTimestamps {
    /// The time as TSval. TSecr is that of the last transmission of the first byte that this
    /// segment acknowledges: the first one that arrived since the last acknowledgment (RFC 7323
    /// §4.3).
    OfLastTransmission,
    /// The same, but what is acknowledged arrived by its first transmission.
    OfFirstTransmission,
    /// This TSval, and the TSecr of before.
    Value(u32),
    /// These values.
    Exact { value: u32, echo: u32 },
    /// None, although negotiated.
    Absent,
}

/// A segment of the peer.
#[derive(Clone, Debug)]
pub struct PeerSegment {
    pub flags: TcpFlags,
    /// Relative to the peer's initial sequence number; `None`: the peer's next one.
    pub seq: Option<u32>,
    /// Relative to the initial sequence number of the TCP under test.
    pub ack: u32,
    /// Payload (bytes).
    pub len: u32,
    /// Window (bytes), before scaling; `None`: the script's.
    pub window: Option<u32>,
    pub sack: Vec<(u32, u32)>,
    pub timestamps: PeerTimestamps,
    /// Arrives with a mark: CE in the IP header.
    pub marked: bool,
}

/// An acknowledgment of everything before `number`.
pub fn ack(number: u32) -> PeerSegment {
    PeerSegment {
        flags: TcpFlags::ACK,
        seq: None,
        ack: number,
        len: 0,
        window: None,
        sack: Vec::new(),
        timestamps: PeerTimestamps::OfLastTransmission,
        marked: false,
    }
}

/// Acknowledgments of everything before `una` with one block from `start` that grows by a segment
/// each time, up to `end`.
pub fn growing_block(una: u32, start: u32, end: u32) -> impl Iterator<Item = PeerSegment> {
    let ends = (start..=end).step_by(SEGMENT as usize).skip(1);
    ends.map(move |end| ack(una).sack(&[(start, end)]))
}

/// An acknowledgment of each segment after `una`, up to `end`.
pub fn acks(una: u32, end: u32) -> impl Iterator<Item = PeerSegment> {
    (una..=end).step_by(SEGMENT as usize).skip(1).map(ack)
}

/// The same acknowledgment several times.
pub fn duplicates(una: u32, count: usize) -> impl Iterator<Item = PeerSegment> {
    std::iter::repeat_with(move || ack(una)).take(count)
}

/// `len` bytes from `start` on, with an acknowledgment of nothing but the SYN.
pub fn data(start: u32, len: u32) -> PeerSegment {
    PeerSegment { seq: Some(start), len, ..ack(1) }
}

/// A reset at `seq`.
pub fn rst(seq: u32) -> PeerSegment {
    ack(1).at(seq).flags(TcpFlags::RST)
}

/// A SYN.
pub fn syn() -> PeerSegment {
    ack(0).at(0).flags(TcpFlags::SYN)
}

/// A SYN with an acknowledgment of ours.
pub fn syn_ack() -> PeerSegment {
    ack(1).at(0).flags(TcpFlags::SYN.with(TcpFlags::ACK))
}

impl PeerSegment {
    pub fn at(self, seq: u32) -> Self {
        Self { seq: Some(seq), ..self }
    }
    pub fn acking(self, ack: u32) -> Self {
        Self { ack, ..self }
    }
    pub fn flags(self, flags: TcpFlags) -> Self {
        Self { flags, ..self }
    }
    pub fn with(self, flags: TcpFlags) -> Self {
        Self { flags: self.flags.with(flags), ..self }
    }
    pub fn fin(self) -> Self {
        self.with(TcpFlags::FIN)
    }
    /// Echoes a mark (RFC 3168 §6.1.3).
    pub fn ece(self) -> Self {
        self.with(TcpFlags::ECE)
    }
    pub fn window(self, bytes: u32) -> Self {
        Self { window: Some(bytes), ..self }
    }
    pub fn sack(self, blocks: &[(u32, u32)]) -> Self {
        Self { sack: blocks.to_vec(), ..self }
    }
    pub fn marked(self) -> Self {
        Self { marked: true, ..self }
    }
    pub fn timestamps(self, timestamps: PeerTimestamps) -> Self {
        Self { timestamps, ..self }
    }
    /// Acknowledges data that arrived by its first transmission.
    pub fn of_first(self) -> Self {
        self.timestamps(PeerTimestamps::OfFirstTransmission)
    }
}
