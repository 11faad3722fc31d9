//! The receiving half: RCV.NXT, the receive window, reassembly and SACK blocks.

use alloc::collections::VecDeque;

use driftway_base::{Seq, SeqRange};
use driftway_wire::{Payload, SackBlocks};

use crate::reassembly::Reassembly;

/// Order of an arriving payload, which decides on delaying the acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Next in order, and no hole is left.
    InOrder,
    /// Filled a hole, opened one, or was a duplicate: acknowledge at once (RFC 5681 §4.2).
    OutOfOrder,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Initial sequence number of the peer.
    irs: Seq,
    /// RCV.NXT: next sequence number expected.
    nxt: Seq,
    /// Right edge of the window as advertised.
    edge: Seq,
    /// Scale of the announced window (Rcv.Wind.Shift).
    shift: u8,
    capacity: u32,
    /// In-order data not yet read.
    ready: VecDeque<Payload>,
    ready_bytes: u32,
    /// Out-of-order data.
    waiting: Reassembly,
    /// Reports duplicate segments.
    reports: bool,
    /// Duplicate to be reported once as D-SACK (RFC 2883).
    duplicate: Option<SeqRange>,
    /// Sequence number of the peer's FIN.
    fin: Option<Seq>,
}

impl Receiver {
    /// Creates the receiver; `shift` is the scale of the announced window, if it is negotiated.
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

    /// Initial sequence number of the peer.
    pub fn irs(&self) -> Seq {
        self.irs
    }
    /// RCV.NXT: next sequence number expected.
    pub fn nxt(&self) -> Seq {
        self.nxt
    }
    /// Right edge of the window as advertised.
    pub fn edge(&self) -> Seq {
        self.edge
    }
    /// Scale of the announced window.
    pub fn shift(&self) -> u8 {
        self.shift
    }
    /// Turns window scaling off because the peer does not offer it.
    pub fn do_not_shift(&mut self) {
        self.shift = 0;
    }
    /// Sequence number of the peer's FIN, if it has arrived.
    pub fn fin(&self) -> Option<Seq> {
        self.fin
    }
    /// True once the peer's FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt.after(fin))
    }

    /// Records the peer's FIN at `seq`, new or retransmitted.
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
    /// Advances RCV.NXT past the FIN if that is next; true if so.
    pub fn take_fin(&mut self) -> bool {
        let next = self.fin == Some(self.nxt);
        if next {
            self.waiting.take_fin();
            self.nxt += 1;
            self.edge = self.edge.max(self.nxt);
        }
        next
    }
    /// Records that an unscaled window was advertised in a SYN (RFC 7323 §2.2).
    pub fn offered(&mut self, window: u16) {
        self.edge = self.edge.max(self.nxt + u32::from(window));
    }

    /// Initializes the receiver from the peer's SYN.
    pub fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.nxt = irs + 1;
        self.edge = self.nxt;
    }

    /// Buffer space beyond RCV.NXT: out-of-order data is inside it already.
    fn room(&self) -> u32 {
        self.capacity.saturating_sub(self.ready_bytes)
    }

    /// Right edge that could be advertised now: never left of the advertised one (RFC 9293 §3.8.6),
    /// and within the range of the window field.
    fn open_edge(&self) -> Seq {
        let most = 65_535_u32 << self.shift;
        let room = self.room().min(most);
        let granule = 1_u32 << self.shift;
        // Round down to a multiple of the scale.
        (self.nxt + (room - room % granule)).max(self.edge)
    }

    /// Advertises a window and returns it (bytes). For silly window syndrome avoidance (RFC 9293
    /// §3.8.6.2.2) the edge does not move by small steps, and the caller asks
    /// [`has_window_update`](Self::has_window_update) before it sends a pure window update.
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

    /// The advertised window (bytes).
    pub fn window(&self) -> u32 {
        self.edge.since(self.nxt)
    }

    /// True if the window has grown enough for an update: two segments, or half of the buffer.
    pub fn opens(&self, mss: u32) -> bool {
        let gain = self.open_edge().since(self.edge);
        gain > 0 && gain >= mss.saturating_mul(2).min(self.capacity / 2)
    }

    /// Acceptability test for a segment of `len` sequence numbers at `seq` (RFC 9293 §3.10.7.4,
    /// first check).
    pub fn accepts(&self, seq: Seq, len: u32) -> bool {
        let window = SeqRange::new(self.nxt, self.edge);
        match len {
            // RFC 9293 excludes the right edge. If the peer has filled the window and part of the
            // data is lost, that edge is its SND.NXT, and its acknowledgments must count all the
            // same, as in BSD and Linux.
            0 => seq.at_or_after(self.nxt) && seq.at_or_before(self.edge),
            _ => window.contains(seq) || window.contains(seq + len - 1),
        }
    }

    /// Accepts the new part of the payload at `seq` that is inside the window. Returns that part
    /// and the order of its arrival.
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

    /// Records a duplicate range for D-SACK.
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

    /// Passes at most `most` bytes in order to the application.
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

    /// In-order bytes not yet read.
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

    /// One past the highest byte received.
    pub fn highest(&self) -> Seq {
        self.waiting.end().unwrap_or(self.nxt)
    }

    /// True if data is queued behind a hole.
    pub fn has_hole(&self) -> bool {
        !self.waiting.is_empty()
    }
}
