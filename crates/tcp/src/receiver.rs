//! The receiving half: RCV.NXT, the window, reassembly, acknowledgments and SACK.

use alloc::collections::VecDeque;

use driftway_base::{Seq, SeqRange};
use driftway_wire::{Payload, SackBlocks};

use crate::reassembly::Reassembly;

/// What a segment's payload did to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It was the next in order and no hole is left.
    InOrder,
    /// It filled a hole, opened one, or was there already: acknowledge at once (RFC 5681 §4.2).
    OutOfOrder,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The peer's initial sequence number.
    irs: Seq,
    /// Next sequence number expected.
    nxt: Seq,
    /// Right edge of the window that the peer knows.
    edge: Seq,
    /// How our window field is shifted.
    shift: u8,
    capacity: u32,
    /// In order, not yet read.
    ready: VecDeque<Payload>,
    ready_bytes: u32,
    /// Out of order.
    waiting: Reassembly,
    /// Reports what comes twice.
    reports: bool,
    /// To be reported once as D-SACK (RFC 2883).
    duplicate: Option<SeqRange>,
    /// Where the peer's FIN stands.
    fin: Option<Seq>,
}

impl Receiver {
    /// `shift` is how our window field is shifted if the ends agree on it.
    pub fn new(capacity: u32, shift: u8, reports: bool) -> Self {
        Self {
            reports,
            irs: Seq(0),
            nxt: Seq(0),
            edge: Seq(0),
            shift,
            capacity,
            ready: VecDeque::with_capacity(4),
            ready_bytes: 0,
            waiting: Reassembly::default(),
            duplicate: None,
            fin: None,
        }
    }

    /// The peer's initial sequence number.
    pub fn irs(&self) -> Seq {
        self.irs
    }
    /// Next sequence number expected.
    pub fn nxt(&self) -> Seq {
        self.nxt
    }
    /// Right edge of the window that the peer knows.
    pub fn edge(&self) -> Seq {
        self.edge
    }
    /// How our window field is shifted.
    pub fn shift(&self) -> u8 {
        self.shift
    }
    /// Windows are not scaled after all.
    pub fn do_not_shift(&mut self) {
        self.shift = 0;
    }
    /// Where the peer's FIN stands, if it has come.
    pub fn fin(&self) -> Option<Seq> {
        self.fin
    }
    /// Has the peer's FIN arrived, with everything before it?
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt.after(fin))
    }

    /// The peer's FIN, which stands at `seq`, has come, or come again.
    pub fn on_fin(&mut self, seq: Seq) {
        let known = self.fin.is_some_and(|fin| fin != seq);
        if known || self.is_finished() || seq.before(self.highest()) {
            return;
        }
        self.fin = Some(seq);
        if seq != self.nxt {
            self.waiting.insert_fin(seq);
        }
    }
    /// Takes the FIN's number, if it is next; was it?
    pub fn take_fin(&mut self) -> bool {
        let next = self.fin == Some(self.nxt);
        if next {
            self.waiting.take_fin();
            self.nxt += 1;
            self.edge = self.edge.max(self.nxt);
        }
        next
    }
    /// A window that is not scaled has been offered (RFC 7323 §2.2: that of a SYN).
    pub fn offered(&mut self, window: u16) {
        self.edge = self.edge.max(self.nxt + u32::from(window));
    }

    /// The peer's SYN arrived.
    pub fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.nxt = irs + 1;
        self.edge = self.nxt;
    }

    /// Room for data beyond RCV.NXT: what is buffered out of order has its place already.
    fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.ready_bytes)
    }

    /// The right edge that could be advertised now: never less than what was (RFC 9293 §3.8.6),
    /// never more than the field can say.
    fn open_edge(&self) -> Seq {
        let most = 65_535_u32 << self.shift;
        let room = self.room().min(most);
        let granule = 1_u32 << self.shift;
        // Round down to what the shifted field can express.
        (self.nxt + (room - room % granule)).max(self.edge)
    }

    /// The window to put into a segment (bytes), which then counts as advertised. Silly windows
    /// are avoided by the caller asking [`opens`](Self::opens) before it sends a bare update, and
    /// here by not moving the edge a little (RFC 9293 §3.8.6.2.2).
    pub fn advertise(&mut self, mss: u32) -> u32 {
        let edge = self.open_edge();
        if edge.since(self.edge) >= mss.min(self.capacity / 2) || self.window() == 0 {
            let silly = self.window() == 0 && edge.since(self.nxt) < mss.min(self.capacity / 2);
            if !silly {
                self.edge = edge;
            }
        }
        self.window()
    }

    /// The window as the peer knows it (bytes).
    pub fn window(&self) -> u32 {
        self.edge.since(self.nxt)
    }

    /// Has so much been read that the peer should hear of it: two segments, or half the buffer?
    pub fn opens(&self, mss: u32) -> bool {
        let gain = self.open_edge().since(self.edge);
        gain > 0 && gain >= mss.saturating_mul(2).min(self.capacity / 2)
    }

    /// Is a segment of `len` numbers at `seq` acceptable (RFC 9293 §3.10.7.4, first check)?
    pub fn accepts(&self, seq: Seq, len: u32) -> bool {
        let window = SeqRange::new(self.nxt, self.edge);
        match len {
            // RFC 9293 leaves the right edge out. Where that edge is SND.NXT for the peer, because
            // it has filled the window and some of it is missing, its acknowledgments must count
            // all the same; BSD and Linux do as here.
            0 => seq.at_or_after(self.nxt) && seq.at_or_before(self.edge),
            _ => window.contains(seq) || window.contains(seq + len - 1),
        }
    }

    /// Takes the payload at `seq`: what of it is new and inside the window. Returns that part as a
    /// payload, and what it did.
    pub fn take(&mut self, seq: Seq, payload: Payload) -> (Payload, Arrival) {
        if payload.is_empty() {
            return (Payload::EMPTY, Arrival::OutOfOrder);
        }
        let end = seq + payload.len;
        if end.at_or_before(self.nxt) {
            self.repeats(SeqRange::new(seq, end));
            return (Payload::EMPTY, Arrival::OutOfOrder);
        }
        let mut start = seq;
        let mut part = payload;
        let mut fresh = true;
        if seq.before(self.nxt) {
            self.repeats(SeqRange::new(seq, self.nxt));
            part = part.without_front(self.nxt.since(seq));
            start = self.nxt;
            fresh = false;
        }
        part = part.truncated(self.edge.since(start));
        if part.is_empty() {
            return (Payload::EMPTY, Arrival::OutOfOrder);
        }
        if start == self.nxt && self.waiting.is_empty() {
            self.deliver(part);
            return (part, if fresh { Arrival::InOrder } else { Arrival::OutOfOrder });
        }
        if let Some(duplicate) = self.waiting.insert(start, part) {
            self.repeats(duplicate);
        }
        while let Some(next) = self.waiting.take(self.nxt) {
            self.deliver(next);
        }
        (part, Arrival::OutOfOrder)
    }

    /// These numbers have come twice.
    fn repeats(&mut self, range: SeqRange) {
        self.duplicate = self.reports.then_some(range);
    }

    fn deliver(&mut self, part: Payload) {
        self.nxt += part.len;
        self.ready_bytes = self.ready_bytes.saturating_add(part.len);
        let joins = |last: &Payload| {
            last.stream == part.stream
                && last.offset.wrapping_add(u64::from(last.len)) == part.offset
        };
        match self.ready.back_mut().filter(|last| joins(last)) {
            Some(last) => last.len += part.len,
            None => self.ready.push_back(part),
        }
    }

    /// Hands at most `most` bytes in order to the application.
    pub fn read(&mut self, most: u32) -> Option<Payload> {
        let first = self.ready.front_mut()?;
        let part = first.truncated(most);
        *first = first.without_front(part.len);
        if first.is_empty() {
            self.ready.pop_front();
        }
        self.ready_bytes -= part.len;
        (!part.is_empty()).then_some(part)
    }

    /// Bytes in order, not yet read.
    pub fn readable(&self) -> u32 {
        self.ready_bytes
    }

    /// The SACK blocks of the next acknowledgment, at most `room`. A duplicate is reported once,
    /// first, followed by the block that encloses it (RFC 2883 §4).
    pub fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        if room == 0 {
            return blocks;
        }
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(duplicate);
            if let Some(run) = self.waiting.enclosing(duplicate).filter(|_| room > 1) {
                blocks.push(run);
            }
        }
        self.waiting.report(&mut blocks, room);
        blocks
    }

    /// One past the highest byte that has arrived.
    pub fn highest(&self) -> Seq {
        self.waiting.end().unwrap_or(self.nxt)
    }

    /// Does anything wait behind a hole?
    pub fn has_hole(&self) -> bool {
        !self.waiting.is_empty()
    }
}
