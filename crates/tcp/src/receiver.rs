//! The receiving half: RCV.NXT, the receive window, reassembly and SACK blocks.

use alloc::collections::VecDeque;

use driftway_base::{Seq, SeqRange};
use driftway_wire::{Payload, SackBlocks};

use crate::reassembly::Reassembly;

/// Order of an arriving payload, which decides on delaying the acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrivalOrder {
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
    right_edge: Seq,
    /// Scale of the announced window (Rcv.Wind.Shift).
    window_shift: u8,
    capacity: u32,
    /// Data in order that is not yet read.
    in_order: VecDeque<Payload>,
    in_order_bytes: u32,
    /// Out-of-order data.
    out_of_order: Reassembly,
    /// Reports duplicate segments.
    dsack_enabled: bool,
    /// Duplicate to be reported once as D-SACK (RFC 2883).
    dsack_block: Option<SeqRange>,
    /// Sequence number of the peer's FIN.
    fin: Option<SeqRange>,
}

impl Receiver {
    /// Creates the receiver; `window_shift` is the scale of the announced window, if it is negotiated.
    pub fn new(capacity: u32, window_shift: u8, dsack_enabled: bool) -> Self {
        Self {
            dsack_enabled,
            irs: Seq(0),
            nxt: Seq(0),
            right_edge: Seq(0),
            window_shift,
            capacity,
            in_order: VecDeque::with_capacity(4),
            in_order_bytes: 0,
            out_of_order: Reassembly::default(),
            dsack_block: None,
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
    pub fn right_edge(&self) -> Seq {
        self.right_edge
    }
    /// Scale of the announced window.
    pub fn window_shift(&self) -> u8 {
        self.window_shift
    }
    /// Turns window scaling off because the peer does not offer it.
    pub fn disable_window_scaling(&mut self) {
        self.window_shift = 0;
    }
    /// Sequence number of the peer's FIN, if it has arrived.
    pub fn fin_seq(&self) -> Option<Seq> {
        self.fin.map(|fin| fin.start)
    }
    /// True once the peer's FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt.at_or_after(fin.end))
    }

    /// Records the peer's FIN, new or retransmitted.
    pub fn on_fin(&mut self, fin: SeqRange) {
        let contradicts = self.fin.is_some_and(|known| known != fin);
        if contradicts || self.is_finished() || fin.start.before(self.highest()) {
            return;
        }
        self.fin = Some(fin);
        if fin.start != self.nxt {
            self.out_of_order.insert_fin(fin);
        }
    }
    /// Advances RCV.NXT past the FIN if that is next; true if so.
    pub fn take_fin(&mut self) -> bool {
        let Some(fin) = self.fin.filter(|fin| fin.start == self.nxt) else { return false };
        self.out_of_order.take_fin();
        self.nxt = fin.end;
        self.right_edge = self.right_edge.max(self.nxt);
        true
    }
    /// Records that an unscaled window was advertised in a SYN (RFC 7323 §2.2).
    pub fn on_unscaled_window_offered(&mut self, window: u16) {
        self.right_edge = self.right_edge.max(self.nxt + u32::from(window));
    }

    /// Initializes the receiver from the peer's SYN.
    pub fn synchronize(&mut self, irs: Seq) {
        self.irs = irs;
        self.nxt = irs + 1;
        self.right_edge = self.nxt;
    }

    /// Buffer space beyond RCV.NXT: out-of-order data is inside it already.
    fn free_space(&self) -> u32 {
        self.capacity.saturating_sub(self.in_order_bytes)
    }

    /// Right edge that could be advertised now: never left of the advertised one (RFC 9293 §3.8.6),
    /// and within the range of the window field.
    fn available_right_edge(&self) -> Seq {
        let most = 65_535_u32 << self.window_shift;
        let room = self.free_space().min(most);
        let granule = 1_u32 << self.window_shift;
        // Round down to a multiple of the scale.
        (self.nxt + (room - room % granule)).max(self.right_edge)
    }

    /// Advertises a window and returns it (bytes). For silly window syndrome avoidance (RFC 9293
    /// §3.8.6.2.2) the edge does not move by small steps, and the caller asks
    /// [`has_window_update`](Self::has_window_update) before it sends a pure window update.
    pub fn advertise(&mut self, mss: u32) -> u32 {
        let edge = self.available_right_edge();
        if edge.since(self.right_edge) >= mss.min(self.capacity / 2) || self.window() == 0 {
            let silly = self.window() == 0 && edge.since(self.nxt) < mss.min(self.capacity / 2);
            if !silly {
                self.right_edge = edge;
            }
        }
        self.window()
    }

    /// The advertised window (bytes).
    pub fn window(&self) -> u32 {
        self.right_edge.since(self.nxt)
    }

    /// True if the window that could be advertised now is as large as the one in the acknowledgment of
    /// `last_acked`.
    pub fn keeps_window(&self, last_acked: Seq) -> bool {
        self.free_space() >= self.right_edge.since(last_acked)
    }

    /// True if the window has grown enough for an update: two segments, or half of the buffer.
    pub fn has_window_update(&self, mss: u32) -> bool {
        let gain = self.available_right_edge().since(self.right_edge);
        gain > 0 && gain >= mss.saturating_mul(2).min(self.capacity / 2)
    }

    /// Acceptability test for a segment of `len` sequence numbers at `seq` (RFC 9293 §3.10.7.4,
    /// first check).
    pub fn is_acceptable(&self, seq: Seq, len: u32) -> bool {
        let window = SeqRange::new(self.nxt, self.right_edge);
        match len {
            // RFC 9293 excludes the right edge. If the peer has filled the window and part of the
            // data is lost, that edge is its SND.NXT, and its acknowledgments must count all the
            // same, as in BSD and Linux.
            0 => seq.at_or_after(self.nxt) && seq.at_or_before(self.right_edge),
            _ => window.contains(seq) || window.contains(seq + len - 1),
        }
    }

    /// Accepts the new part of the payload at `seq` that is inside the window. Returns that part
    /// and the order of its arrival.
    pub fn take(&mut self, seq: Seq, payload: Payload) -> (Payload, ArrivalOrder) {
        if payload.is_empty() {
            return (Payload::EMPTY, ArrivalOrder::OutOfOrder);
        }
        let end = seq + payload.len;
        if end.at_or_before(self.nxt) {
            self.record_duplicate(SeqRange::new(seq, end));
            return (Payload::EMPTY, ArrivalOrder::OutOfOrder);
        }
        let mut start = seq;
        let mut part = payload;
        let mut fresh = true;
        if seq.before(self.nxt) {
            self.record_duplicate(SeqRange::new(seq, self.nxt));
            part = part.without_front(self.nxt.since(seq));
            start = self.nxt;
            fresh = false;
        }
        part = part.truncated(self.right_edge.since(start));
        if part.is_empty() {
            return (Payload::EMPTY, ArrivalOrder::OutOfOrder);
        }
        if start == self.nxt && self.out_of_order.is_empty() {
            self.deliver(part);
            return (part, if fresh { ArrivalOrder::InOrder } else { ArrivalOrder::OutOfOrder });
        }
        if let Some(duplicate) = self.out_of_order.insert(start, part) {
            self.record_duplicate(duplicate);
        }
        while let Some(next) = self.out_of_order.take(self.nxt) {
            self.deliver(next);
        }
        (part, ArrivalOrder::OutOfOrder)
    }

    /// Records a duplicate range for D-SACK.
    fn record_duplicate(&mut self, range: SeqRange) {
        self.dsack_block = self.dsack_enabled.then_some(range);
    }

    fn deliver(&mut self, part: Payload) {
        self.nxt += part.len;
        self.in_order_bytes = self.in_order_bytes.saturating_add(part.len);
        let joins = |last: &Payload| {
            last.stream == part.stream
                && last.offset.wrapping_add(u64::from(last.len)) == part.offset
        };
        match self.in_order.back_mut().filter(|last| joins(last)) {
            Some(last) => last.len += part.len,
            None => self.in_order.push_back(part),
        }
    }

    /// Passes at most `most` bytes in order to the application.
    pub fn read(&mut self, most: u32) -> Option<Payload> {
        let first = self.in_order.front_mut()?;
        let part = first.truncated(most);
        *first = first.without_front(part.len);
        if first.is_empty() {
            self.in_order.pop_front();
        }
        self.in_order_bytes -= part.len;
        (!part.is_empty()).then_some(part)
    }

    /// The number of bytes in order that are not yet read.
    pub fn readable_bytes(&self) -> u32 {
        self.in_order_bytes
    }

    /// The SACK blocks of the next acknowledgment, at most `room`. A duplicate is reported once,
    /// first, followed by the block that encloses it (RFC 2883 §4).
    pub fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        if room == 0 {
            return blocks;
        }
        if let Some(duplicate) = self.dsack_block.take() {
            blocks.push(duplicate);
            if let Some(run) = self.out_of_order.enclosing(duplicate).filter(|_| room > 1) {
                blocks.push(run);
            }
        }
        self.out_of_order.fill_sack_blocks(&mut blocks, room);
        blocks
    }

    /// One past the highest byte received.
    pub fn highest(&self) -> Seq {
        self.out_of_order.end().unwrap_or(self.nxt)
    }

    /// True if data is queued behind a hole.
    pub fn has_hole(&self) -> bool {
        !self.out_of_order.is_empty()
    }
}
