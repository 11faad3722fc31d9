//! The retransmission queue: segments that the local TCP has sent and the peer has not
//! acknowledged.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::pool::{Piece, Pool};

/// Maximum number of originals of one flow, with or without their packets.
const ORIGINALS_MAX: usize = 16_384;

/// An empty queue with a larger capacity is shrunk to this.
const ORIGINALS_KEPT: usize = 1024;

/// State of an original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Stored, to be sent in order.
    Waiting,
    /// Sent at that time, and not known to be lost.
    Out(Instant),
    /// Lost: to be retransmitted ahead of waiting ones.
    Lost,
    /// Selectively acknowledged.
    Delivered,
}

/// A segment as the local TCP first sent it.
#[derive(Debug)]
pub(crate) struct Original {
    /// The sequence numbers that it was the first to carry; its packet may begin before them.
    pub range: SeqRange,
    /// Its TSval.
    pub stamp: u32,
    /// It was sent with an ECT codepoint.
    pub capable: bool,
    /// The packet; `None` if a limit did not allow storing it. Such an original is never waiting or
    /// lost: the local TCP has to retransmit it.
    pub packet: Option<Piece>,
    pub place: Place,
    /// It has left this host at least once.
    pub left: bool,
    /// The local TCP has retransmitted it.
    pub resent: bool,
}

/// Originals that an acknowledgment newly covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Number of sequence numbers.
    pub numbers: u32,
    /// The first original that the local TCP has retransmitted: its TSval, and whether it was
    /// ECN-capable.
    pub resent: Option<(u32, bool)>,
    /// Send time of the last original sent only once.
    pub sent_once: Option<Instant>,
    /// Send time of the most recently sent original.
    pub newest: Option<Instant>,
}

/// Numbers of stored originals by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    waiting: usize,
    lost: usize,
    /// In sequence numbers.
    out: u32,
}

impl Tally {
    fn enter(&mut self, original: &Original) {
        match original.place {
            _ if original.packet.is_none() => {}
            Place::Waiting => self.waiting += 1,
            Place::Lost => self.lost += 1,
            Place::Out(_) => self.out = self.out.saturating_add(original.range.len()),
            Place::Delivered => {}
        }
    }
    fn leave(&mut self, original: &Original) {
        match original.place {
            _ if original.packet.is_none() => {}
            Place::Waiting => self.waiting = self.waiting.saturating_sub(1),
            Place::Lost => self.lost = self.lost.saturating_sub(1),
            Place::Out(_) => self.out = self.out.saturating_sub(original.range.len()),
            Place::Delivered => {}
        }
    }
}

/// Originals in order of sequence numbers, contiguous from `snd_una` to `snd_max`.
#[derive(Debug)]
pub(crate) struct Flight {
    originals: VecDeque<Original>,
    /// Everything before is acknowledged by the peer.
    pub una: Seq,
    /// One past the highest sequence number of the local TCP.
    pub max: Seq,
    /// Size of the stored packets in the pool (bytes).
    pub stored: usize,
    tally: Tally,
    /// No waiting, or lost, original ends at or before these.
    waiting_from: Seq,
    lost_from: Seq,
    /// Number of originals without a packet.
    missing: usize,
}

impl Flight {
    pub fn new(first: Seq) -> Self {
        Self {
            originals: VecDeque::new(),
            una: first,
            max: first,
            stored: 0,
            tally: Tally::default(),
            waiting_from: first,
            lost_from: first,
            missing: 0,
        }
    }

    pub fn outstanding(&self) -> u32 {
        self.max.since(self.una)
    }
    pub fn is_empty(&self) -> bool {
        self.originals.is_empty()
    }
    /// Returns whether there is room for one more entry.
    pub fn has_room(&self) -> bool {
        self.originals.len() < ORIGINALS_MAX
    }
    pub fn front(&self) -> Option<&Original> {
        self.originals.front()
    }
    pub fn get(&self, index: usize) -> Option<&Original> {
        self.originals.get(index)
    }
    /// Number of originals that the shim has to send.
    pub fn waiting(&self) -> usize {
        self.tally.waiting + self.tally.lost
    }
    /// Sequence numbers that were sent, and are neither known to be lost nor sacked.
    pub fn out(&self) -> u32 {
        self.tally.out
    }

    /// Index of the first original that ends after `seq`.
    fn index_of(&self, seq: Seq) -> usize {
        self.originals.partition_point(|original| original.range.end.at_or_before(seq))
    }

    /// Originals that overlap `range`.
    pub fn overlapping(&self, range: SeqRange) -> impl Iterator<Item = &Original> {
        let rest = self.originals.range(self.index_of(range.start)..);
        rest.take_while(move |original| original.range.start.before(range.end))
    }

    /// Appends an original that begins at `snd_max`. Adjacent originals without a packet are
    /// merged; with the queue full, the new one is merged with the last.
    pub fn push(&mut self, original: Original, pool: &mut Pool) {
        self.max = original.range.end;
        if !self.has_room() {
            self.drop_bytes(self.originals.len() - 1, pool);
        }
        if let Some(last) = self.originals.back_mut()
            && last.packet.is_none()
            && original.packet.is_none()
        {
            last.range.end = original.range.end;
            last.place = original.place;
            return;
        }
        match &original.packet {
            Some(piece) => self.stored += piece.size(),
            None => self.missing += 1,
        }
        if original.place == Place::Waiting && self.tally.waiting == 0 {
            self.waiting_from = original.range.start;
        }
        self.tally.enter(&original);
        self.originals.push_back(original);
    }

    /// Discards the packet of an original.
    fn drop_bytes(&mut self, index: usize, pool: &mut Pool) {
        let Some(original) = self.originals.get_mut(index) else { return };
        self.tally.leave(original);
        let Some(piece) = original.packet.take() else { return };
        original.place = Place::Out(Instant::ZERO);
        self.missing += 1;
        self.stored = self.stored.saturating_sub(piece.size());
        pool.give_back(piece);
    }

    /// Records that the local TCP retransmits `range` in a packet of `total` bytes. A segment that
    /// ends within an original was resegmented: the path MTU has shrunk (RFC 1191), and longer
    /// stored packets are useless.
    pub fn on_sent_again(&mut self, range: SeqRange, total: usize, pool: &mut Pool) {
        let first = self.index_of(range.start);
        let mut cut = false;
        for original in self.originals.range_mut(first..) {
            if original.range.start.at_or_after(range.end) {
                break;
            }
            original.resent = true;
            cut |= range.end.before(original.range.end);
        }
        if cut {
            self.drop_longer(total, pool);
        }
    }

    /// Discards stored packets longer than `total` bytes.
    fn drop_longer(&mut self, total: usize, pool: &mut Pool) {
        for index in 0..self.originals.len() {
            let packet = self.get(index).and_then(|original| original.packet.as_ref());
            if packet.is_some_and(|packet| packet.bytes().len() > total) {
                self.drop_bytes(index, pool);
            }
        }
    }

    /// Returns whether the first retransmitted original that `ack` covers was ECN-capable, so that
    /// congestion would have marked it.
    pub fn resent_before(&self, ack: Seq) -> Option<bool> {
        let mut covered = self.originals.iter().take_while(|o| o.range.end.at_or_before(ack));
        covered.find(|original| original.resent).map(|original| original.capable)
    }

    /// Processes a cumulative acknowledgment, which is not beyond `snd_max`.
    pub fn advance(&mut self, ack: Seq, pool: &mut Pool) -> Covered {
        let mut covered = Covered { numbers: ack.since(self.una), ..Covered::default() };
        if covered.numbers == 0 {
            return covered;
        }
        self.una = ack;
        while self.originals.front().is_some_and(|o| o.range.end.at_or_before(ack)) {
            let Some(original) = self.originals.pop_front() else { break };
            self.tally.leave(&original);
            if original.resent && covered.resent.is_none() {
                covered.resent = Some((original.stamp, original.capable));
            }
            if let Place::Out(at) = original.place {
                covered.newest = covered.newest.max(Some(at));
                if !original.resent {
                    covered.sent_once = Some(at);
                }
            }
            match original.packet {
                Some(piece) => {
                    self.stored = self.stored.saturating_sub(piece.size());
                    pool.give_back(piece);
                }
                None => self.missing = self.missing.saturating_sub(1),
            }
        }
        self.waiting_from = self.waiting_from.max(ack);
        self.lost_from = self.lost_from.max(ack);
        if self.originals.is_empty() && self.originals.capacity() > ORIGINALS_KEPT {
            self.originals.shrink_to(ORIGINALS_KEPT);
        }
        self.look_for_reneging();
        covered
    }

    /// A cumulative acknowledgment that ends before a sacked original revokes it (RFC 2018 §8), and
    /// with it all others.
    fn look_for_reneging(&mut self) {
        if self.originals.front().is_none_or(|front| front.place != Place::Delivered) {
            return;
        }
        for original in &mut self.originals {
            if original.place == Place::Delivered {
                original.place = Place::Out(Instant::ZERO);
                self.tally.enter(original);
            }
        }
    }

    /// Processes a SACK block. Returns the send time of the most recently sent original that it
    /// newly covers.
    pub fn report(&mut self, block: SeqRange) -> Option<Instant> {
        let mut newest = None;
        let inside = SeqRange::new(block.start.max(self.una), block.end.min(self.max));
        if block.is_empty() || inside.is_empty() {
            return None;
        }
        let first = self.index_of(inside.start);
        for original in self.originals.range_mut(first..) {
            if original.range.end.after(inside.end) {
                break;
            }
            if original.range.start.before(inside.start) || original.place == Place::Delivered {
                continue;
            }
            self.tally.leave(original);
            if let Place::Out(at) = original.place {
                newest = newest.max(Some(at));
            }
            original.place = Place::Delivered;
        }
        newest
    }

    /// Queues all originals that are stored and not sacked.
    pub fn all_wait(&mut self) {
        for original in &mut self.originals {
            if original.packet.is_some() && original.place != Place::Delivered {
                self.tally.leave(original);
                original.place = Place::Waiting;
                self.tally.enter(original);
            }
        }
        self.waiting_from = self.una;
    }

    /// Queues the original in which `range` begins, and those that end in it, for retransmission
    /// ahead of waiting ones, if they are in flight. `false`, without any change, if a packet is
    /// not stored.
    pub fn resend(&mut self, range: SeqRange) -> bool {
        let first = self.index_of(range.start);
        let asked = |(n, original): &(usize, &Original)| {
            *n == 0 || original.range.end.at_or_before(range.end)
        };
        let count = self.originals.range(first..).enumerate().take_while(asked).count();
        let mut all = self.originals.range(first..).take(count);
        if count == 0 || all.any(|original| original.packet.is_none()) {
            return false;
        }
        for original in self.originals.range_mut(first..).take(count) {
            if let Place::Out(_) = original.place {
                if self.tally.lost == 0 || original.range.start.before(self.lost_from) {
                    self.lost_from = original.range.start;
                }
                self.tally.leave(original);
                original.place = Place::Lost;
                self.tally.enter(original);
            }
        }
        true
    }
    /// Number of lost originals.
    pub fn lost(&self) -> usize {
        self.tally.lost
    }

    /// Removes all originals from the queue of the shim.
    pub fn none_waits(&mut self) {
        for original in &mut self.originals {
            if matches!(original.place, Place::Waiting | Place::Lost) {
                self.tally.leave(original);
                original.place = Place::Out(Instant::ZERO);
                original.left = true;
                self.tally.enter(original);
            }
        }
    }

    /// Marks originals as lost that were sent `margin` before `newest`, and with `oldest` the first
    /// one, too. Returns whether there was any.
    pub fn find_lost(&mut self, newest: Option<Instant>, margin: Duration, oldest: bool) -> bool {
        if newest.is_none() && !oldest {
            return false;
        }
        let from = (self.tally.lost > 0).then_some(self.lost_from);
        let mut first = None;
        for (index, original) in self.originals.iter_mut().enumerate() {
            let Place::Out(at) = original.place else { continue };
            let passed = newest.is_some_and(|newest| at + margin <= newest);
            if original.packet.is_some() && (passed || oldest && index == 0) {
                self.tally.leave(original);
                original.place = Place::Lost;
                self.tally.enter(original);
                first = first.or(Some(original.range.start));
            }
        }
        if let Some(first) = first {
            self.lost_from = from.map_or(first, |from| from.min(first));
        }
        first.is_some()
    }

    /// Index of the next original to send: lost ones first, then in order.
    pub fn next(&self) -> Option<usize> {
        let first = |from: Seq, place: Place| {
            let index = self.index_of(from);
            let found = self.originals.range(index..).position(|o| o.place == place)?;
            Some(index + found)
        };
        if self.tally.lost > 0 {
            first(self.lost_from, Place::Lost)
        } else if self.tally.waiting > 0 {
            first(self.waiting_from, Place::Waiting)
        } else {
            None
        }
    }

    /// Records that an original is sent.
    pub fn send(&mut self, index: usize, now: Instant) {
        let Some(original) = self.originals.get_mut(index) else { return };
        self.tally.leave(original);
        match original.place {
            Place::Lost => self.lost_from = original.range.end,
            Place::Waiting => self.waiting_from = original.range.end,
            Place::Out(_) | Place::Delivered => {}
        }
        original.place = Place::Out(now);
        original.left = true;
        self.tally.enter(original);
    }

    /// End of the contiguous range of stored originals.
    pub fn stored_to(&self) -> Seq {
        if self.missing == 0 {
            return self.max;
        }
        let missing = self.originals.iter().find(|original| original.packet.is_none());
        missing.map_or(self.max, |original| original.range.start.max(self.una))
    }

    /// Removes everything.
    pub fn clear(&mut self, pool: &mut Pool) {
        while let Some(original) = self.originals.pop_front() {
            if let Some(piece) = original.packet {
                pool.give_back(piece);
            }
        }
        (self.stored, self.missing, self.tally) = (0, 0, Tally::default());
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::vec::Vec;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn original(pool: &mut Pool, start: Seq, n: u32) -> Original {
        Original {
            range: SeqRange::new(start + 100 * n, start + 100 * (n + 1)),
            stamp: n,
            capable: true,
            packet: pool.store(&[n as u8; 300]),
            place: Place::Out(MS(u64::from(n))),
            left: true,
            resent: false,
        }
    }

    /// Four segments of 100 bytes across the wrap, sent at 0, 1, 2 and 3 ms; two were
    /// retransmitted.
    fn flight() -> (Flight, Pool) {
        let mut pool = Pool::new(1 << 20);
        let start = Seq(u32::MAX - 150);
        let mut flight = Flight::new(start);
        for n in 0..4 {
            let original = original(&mut pool, start, n);
            flight.push(original, &mut pool);
        }
        flight.on_sent_again(SeqRange::new(start + 100, start + 300), 300, &mut pool);
        (flight, pool)
    }

    fn places(flight: &Flight) -> Vec<Place> {
        flight.originals.iter().map(|original| original.place).collect()
    }

    #[test]
    fn an_acknowledgment_frees_originals_across_the_wrap() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert_eq!((pool.held().0, flight.out()), (4 * 512, 400));
        let covered = flight.advance(start + 250, &mut pool);
        assert_eq!(covered.numbers, 250);
        assert_eq!(covered.resent, Some((1, true)));
        assert_eq!(covered.sent_once, Some(MS(0)));
        assert_eq!(covered.newest, Some(MS(1)));
        assert_eq!((flight.una, pool.held().0, flight.out()), (start + 250, 2 * 512, 200));
        flight.advance(start + 400, &mut pool);
        assert!(flight.is_empty() && flight.stored == 0 && pool.held().0 == 0);
        assert_eq!(flight.tally, Tally::default());
    }

    #[test]
    fn sack_blocks_count_whole_segments_once() {
        let (mut flight, _pool) = flight();
        let start = flight.una;
        let block = |from, to| SeqRange::new(start + from, start + to);
        assert_eq!(flight.report(block(150, 300)), Some(MS(2)));
        assert_eq!(flight.report(block(150, 300)), None);
        let [a, b, _, d] = [0, 1, 2, 3].map(|n| Place::Out(MS(n)));
        assert_eq!(places(&flight), [a, b, Place::Delivered, d]);
        assert_eq!(flight.report(block(300, 100)), None);
        assert_eq!(flight.report(SeqRange::new(start - 50, start + 100)), Some(MS(0)));
        assert_eq!(flight.out(), 200);
    }

    #[test]
    fn a_revoked_sack_counts_no_more() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        flight.report(SeqRange::new(start + 100, start + 400));
        flight.advance(start + 100, &mut pool);
        assert_eq!(places(&flight), [Place::Out(Instant::ZERO); 3]);
        assert_eq!(flight.out(), 300);
    }

    #[test]
    fn lost_originals_are_sent_first() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        flight.all_wait();
        assert_eq!((flight.waiting(), flight.out(), flight.next()), (4, 0, Some(0)));
        for n in 0..3 {
            flight.send(n, MS(100 + n as u64));
        }
        assert_eq!((flight.waiting(), flight.out(), flight.next()), (1, 300, Some(3)));
        let newest = flight.report(SeqRange::new(start + 200, start + 300));
        assert!(flight.find_lost(newest, Duration::from_millis(2), false));
        assert_eq!((flight.waiting(), flight.next()), (2, Some(0)));
        flight.send(0, MS(110));
        assert_eq!(flight.next(), Some(3));
        assert!(flight.find_lost(Some(MS(110)), Duration::from_millis(9), false));
        assert_eq!(flight.next(), Some(1));
        flight.advance(start + 300, &mut pool);
        assert_eq!((flight.next(), flight.waiting(), flight.out()), (Some(0), 1, 0));
        flight.send(0, MS(120));
        assert_eq!(flight.next(), None);
    }

    #[test]
    fn missing_packets_limit_the_repair() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert_eq!(flight.stored_to(), start + 400);
        // A full-sized packet that ends with an original says nothing about the path MTU.
        flight.on_sent_again(SeqRange::new(start + 150, start + 300), 200, &mut pool);
        assert_eq!((flight.stored_to(), flight.stored), (start + 400, 4 * 512));
        // A resegmented one: the path MTU has shrunk.
        flight.on_sent_again(SeqRange::new(start + 200, start + 250), 300, &mut pool);
        assert_eq!(flight.stored_to(), start + 400, "no stored packet is longer");
        flight.on_sent_again(SeqRange::new(start + 200, start + 250), 250, &mut pool);
        assert_eq!((flight.stored_to(), flight.stored), (start, 0));
        let mut later = original(&mut pool, start, 4);
        later.packet = pool.store(&[4; 250]);
        flight.push(later, &mut pool);
        flight.advance(start + 400, &mut pool);
        assert_eq!(flight.stored_to(), start + 500);
    }

    #[test]
    fn originals_without_packets_and_beyond_the_limit_are_merged() {
        let mut pool = Pool::new(1 << 20);
        let mut flight = Flight::new(Seq(0));
        for n in 0..3 {
            let without = Original { packet: None, ..original(&mut pool, Seq(0), n) };
            flight.push(without, &mut pool);
        }
        assert_eq!((flight.originals.len(), flight.max), (1, Seq(300)));
        flight.advance(Seq(300), &mut pool);
        let (mut flight, mut pool) = (Flight::new(Seq(0)), Pool::new(1 << 30));
        for n in 0..=ORIGINALS_MAX as u32 {
            let room = flight.has_room();
            assert_eq!(room, n < ORIGINALS_MAX as u32);
            let full = original(&mut pool, Seq(0), n);
            let packet = if room { full.packet } else { None };
            flight.push(Original { packet, ..full }, &mut pool);
        }
        assert_eq!(flight.originals.len(), ORIGINALS_MAX);
        assert_eq!(flight.max, Seq(100 * (ORIGINALS_MAX as u32 + 1)));
        assert_eq!(flight.stored_to(), Seq(100 * (ORIGINALS_MAX as u32 - 1)));
        flight.advance(flight.max, &mut pool);
        assert_eq!((flight.stored, flight.stored_to()), (0, flight.max));
        assert!(flight.originals.capacity() <= 2 * ORIGINALS_KEPT);
    }
}
