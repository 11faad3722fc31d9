//! What the local TCP has sent and the peer has not acknowledged.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::pool::{PoolBuffer, BufferPool};

/// Originals that are remembered for one flow at most, with or without their bytes.
const ORIGINALS_MAX: usize = 16_384;

/// With room for more than so many, a flight that has become empty gives its memory back.
const ORIGINALS_KEPT: usize = 1024;

/// Where an original is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginalState {
    /// In the shim, to be sent in its turn.
    Waiting,
    /// Sent at that time, as far as the shim knows not lost.
    InFlight(Instant),
    /// Sent, and lost: to be sent ahead of those that wait.
    Lost,
    /// The peer has reported it (SACK).
    Sacked,
}

/// A segment as it was sent for the first time.
#[derive(Debug)]
pub(crate) struct Original {
    /// The numbers that it was the first to carry; its packet may begin before.
    pub range: SeqRange,
    /// Its TSval.
    pub tsval: u32,
    /// It was sent with an ECT codepoint.
    pub ecn_capable: bool,
    /// The packet; `None` where a bound did not allow it to be stored. Such a one is never waiting
    /// or lost: the local TCP has to repeat it itself.
    pub packet: Option<PoolBuffer>,
    pub state: OriginalState,
    /// It has left this host at least once.
    pub was_sent: bool,
    /// The local TCP has sent it again.
    pub retransmitted: bool,
}

/// What an acknowledgment covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewlyAcked {
    /// Bytes, or rather numbers.
    pub sequence_numbers: u32,
    /// Of the first original that the local TCP has sent again: TSval, and whether it could have
    /// been marked instead of dropped.
    pub first_retransmitted: Option<(u32, bool)>,
    /// When the last one was sent that was sent only once.
    pub last_sent_once: Option<Instant>,
    /// When the one that was sent last was sent.
    pub last_sent: Option<Instant>,
}

/// Of those that have their bytes: how many are where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StateCounts {
    waiting: usize,
    lost: usize,
    /// In bytes, or rather numbers.
    in_flight_bytes: u32,
}

impl StateCounts {
    fn add(&mut self, original: &Original) {
        match original.state {
            _ if original.packet.is_none() => {}
            OriginalState::Waiting => self.waiting += 1,
            OriginalState::Lost => self.lost += 1,
            OriginalState::InFlight(_) => self.in_flight_bytes = self.in_flight_bytes.saturating_add(original.range.len()),
            OriginalState::Sacked => {}
        }
    }
    fn remove(&mut self, original: &Original) {
        match original.state {
            _ if original.packet.is_none() => {}
            OriginalState::Waiting => self.waiting = self.waiting.saturating_sub(1),
            OriginalState::Lost => self.lost = self.lost.saturating_sub(1),
            OriginalState::InFlight(_) => self.in_flight_bytes = self.in_flight_bytes.saturating_sub(original.range.len()),
            OriginalState::Sacked => {}
        }
    }
}

/// The originals, in the order of their numbers, without gaps, from `una` to `max`.
#[derive(Debug)]
pub(crate) struct RetransmissionQueue {
    originals: VecDeque<Original>,
    /// The peer has acknowledged everything before.
    pub una: Seq,
    /// One past the highest number that the local TCP has sent.
    pub max: Seq,
    /// Bytes of the pool that the packets take.
    pub stored_bytes: usize,
    counts: StateCounts,
    /// No original waits, or is lost, that ends at or before these.
    waiting_from: Seq,
    lost_from: Seq,
    /// Originals without their bytes.
    without_packet: usize,
}

impl RetransmissionQueue {
    pub fn new(first: Seq) -> Self {
        Self {
            originals: VecDeque::new(),
            una: first,
            max: first,
            stored_bytes: 0,
            counts: StateCounts::default(),
            waiting_from: first,
            lost_from: first,
            without_packet: 0,
        }
    }

    pub fn outstanding(&self) -> u32 {
        self.max.since(self.una)
    }
    pub fn is_empty(&self) -> bool {
        self.originals.is_empty()
    }
    /// Is there room for one more of its own?
    pub fn has_room(&self) -> bool {
        self.originals.len() < ORIGINALS_MAX
    }
    pub fn front(&self) -> Option<&Original> {
        self.originals.front()
    }
    pub fn get(&self, index: usize) -> Option<&Original> {
        self.originals.get(index)
    }
    /// How many the shim has to send.
    pub fn waiting(&self) -> usize {
        self.counts.waiting + self.counts.lost
    }
    /// Numbers that were sent and are, as far as the shim knows, neither lost nor delivered.
    pub fn in_flight(&self) -> u32 {
        self.counts.in_flight_bytes
    }

    /// The index of the first original that reaches beyond `seq`.
    fn index_of(&self, seq: Seq) -> usize {
        self.originals.partition_point(|original| original.range.end.at_or_before(seq))
    }

    /// Those that have a number in `range`.
    pub fn overlapping(&self, range: SeqRange) -> impl Iterator<Item = &Original> {
        let rest = self.originals.range(self.index_of(range.start)..);
        rest.take_while(move |original| original.range.start.before(range.end))
    }

    /// Appends what begins at `max`. Neighbours without their bytes are one; once there are too many,
    /// what comes and the last one are.
    pub fn push(&mut self, original: Original, pool: &mut BufferPool) {
        self.max = original.range.end;
        if !self.has_room() {
            self.discard_packet(self.originals.len() - 1, pool);
        }
        if let Some(last) = self.originals.back_mut()
            && last.packet.is_none()
            && original.packet.is_none()
        {
            last.range.end = original.range.end;
            last.state = original.state;
            return;
        }
        match &original.packet {
            Some(piece) => self.stored_bytes += piece.size(),
            None => self.without_packet += 1,
        }
        if original.state == OriginalState::Waiting && self.counts.waiting == 0 {
            self.waiting_from = original.range.start;
        }
        self.counts.add(&original);
        self.originals.push_back(original);
    }

    /// The bytes of an original are of no use any more.
    fn discard_packet(&mut self, index: usize, pool: &mut BufferPool) {
        let Some(original) = self.originals.get_mut(index) else { return };
        self.counts.remove(original);
        let Some(piece) = original.packet.take() else { return };
        original.state = OriginalState::InFlight(Instant::ZERO);
        self.without_packet += 1;
        self.stored_bytes = self.stored_bytes.saturating_sub(piece.size());
        pool.release(piece);
    }

    /// The local TCP believes `range` lost, and sends it again in a packet of `total` bytes. A segment
    /// that ends within an original was cut anew: the path takes no longer packets any more (RFC 1191),
    /// and no stored one that is longer is of use.
    pub fn on_retransmission(&mut self, range: SeqRange, total: usize, pool: &mut BufferPool) {
        let first = self.index_of(range.start);
        let mut cut = false;
        for original in self.originals.range_mut(first..) {
            if original.range.start.at_or_after(range.end) {
                break;
            }
            original.retransmitted = true;
            cut |= range.end.before(original.range.end);
        }
        if cut {
            self.discard_longer(total, pool);
        }
    }

    /// Packets longer than `total` bytes are not stored any more.
    fn discard_longer(&mut self, total: usize, pool: &mut BufferPool) {
        for index in 0..self.originals.len() {
            let packet = self.get(index).and_then(|original| original.packet.as_ref());
            if packet.is_some_and(|packet| packet.bytes().len() > total) {
                self.discard_packet(index, pool);
            }
        }
    }

    /// Of the first one that the local TCP has sent again and `ack` covers: could it have been marked
    /// instead of dropped?
    pub fn first_retransmitted_is_ecn_capable(&self, ack: Seq) -> Option<bool> {
        let mut covered = self.originals.iter().take_while(|o| o.range.end.at_or_before(ack));
        covered.find(|original| original.retransmitted).map(|original| original.ecn_capable)
    }

    /// The peer has acknowledged everything before `ack`, which is not beyond `max`.
    pub fn on_ack(&mut self, ack: Seq, pool: &mut BufferPool) -> NewlyAcked {
        let mut covered = NewlyAcked { sequence_numbers: ack.since(self.una), ..NewlyAcked::default() };
        if covered.sequence_numbers == 0 {
            return covered;
        }
        self.una = ack;
        while self.originals.front().is_some_and(|o| o.range.end.at_or_before(ack)) {
            let Some(original) = self.originals.pop_front() else { break };
            self.counts.remove(&original);
            if original.retransmitted && covered.first_retransmitted.is_none() {
                covered.first_retransmitted = Some((original.tsval, original.ecn_capable));
            }
            if let OriginalState::InFlight(at) = original.state {
                covered.last_sent = covered.last_sent.max(Some(at));
                if !original.retransmitted {
                    covered.last_sent_once = Some(at);
                }
            }
            match original.packet {
                Some(piece) => {
                    self.stored_bytes = self.stored_bytes.saturating_sub(piece.size());
                    pool.release(piece);
                }
                None => self.without_packet = self.without_packet.saturating_sub(1),
            }
        }
        self.waiting_from = self.waiting_from.max(ack);
        self.lost_from = self.lost_from.max(ack);
        if self.originals.is_empty() && self.originals.capacity() > ORIGINALS_KEPT {
            self.originals.shrink_to(ORIGINALS_KEPT);
        }
        self.detect_reneging();
        covered
    }

    /// An acknowledgment that ends before what was reported takes the report back (RFC 2018 §8), and
    /// with it all others.
    fn detect_reneging(&mut self) {
        if self.originals.front().is_none_or(|front| front.state != OriginalState::Sacked) {
            return;
        }
        for original in &mut self.originals {
            if original.state == OriginalState::Sacked {
                original.state = OriginalState::InFlight(Instant::ZERO);
                self.counts.add(original);
            }
        }
    }

    /// The peer reports `block`. Returns when the one of those newly reported was sent that was
    /// sent last.
    pub fn on_sack_block(&mut self, block: SeqRange) -> Option<Instant> {
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
            if original.range.start.before(inside.start) || original.state == OriginalState::Sacked {
                continue;
            }
            self.counts.remove(original);
            if let OriginalState::InFlight(at) = original.state {
                newest = newest.max(Some(at));
            }
            original.state = OriginalState::Sacked;
        }
        newest
    }

    /// Everything that is stored and not delivered is to be sent, in order.
    pub fn requeue_all(&mut self) {
        for original in &mut self.originals {
            if original.packet.is_some() && original.state != OriginalState::Sacked {
                self.counts.remove(original);
                original.state = OriginalState::Waiting;
                self.counts.add(original);
            }
        }
        self.waiting_from = self.una;
    }

    /// The one that `range` begins in, and those that end in it, are to be sent once more if they are on
    /// their way, ahead of all that wait. `false`, and nothing is changed: the bytes of one are missing.
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
            if let OriginalState::InFlight(_) = original.state {
                if self.counts.lost == 0 || original.range.start.before(self.lost_from) {
                    self.lost_from = original.range.start;
                }
                self.counts.remove(original);
                original.state = OriginalState::Lost;
                self.counts.add(original);
            }
        }
        true
    }
    /// How many are lost and to be sent again.
    pub fn lost(&self) -> usize {
        self.counts.lost
    }

    /// Nothing is to be sent by the shim any more.
    pub fn dequeue_all(&mut self) {
        for original in &mut self.originals {
            if matches!(original.state, OriginalState::Waiting | OriginalState::Lost) {
                self.counts.remove(original);
                original.state = OriginalState::InFlight(Instant::ZERO);
                original.was_sent = true;
                self.counts.add(original);
            }
        }
    }

    /// Declares lost what was sent `margin` before `newest`, and with `oldest` the first one, too.
    /// Returns whether there was any.
    pub fn detect_losses(&mut self, newest: Option<Instant>, margin: Duration, oldest: bool) -> bool {
        if newest.is_none() && !oldest {
            return false;
        }
        let from = (self.counts.lost > 0).then_some(self.lost_from);
        let mut first = None;
        for (index, original) in self.originals.iter_mut().enumerate() {
            let OriginalState::InFlight(at) = original.state else { continue };
            let passed = newest.is_some_and(|newest| at + margin <= newest);
            if original.packet.is_some() && (passed || oldest && index == 0) {
                self.counts.remove(original);
                original.state = OriginalState::Lost;
                self.counts.add(original);
                first = first.or(Some(original.range.start));
            }
        }
        if let Some(first) = first {
            self.lost_from = from.map_or(first, |from| from.min(first));
        }
        first.is_some()
    }

    /// The next one that the shim has to send: those that were lost, then in order.
    pub fn next_to_send(&self) -> Option<usize> {
        let first = |from: Seq, place: OriginalState| {
            let index = self.index_of(from);
            let found = self.originals.range(index..).position(|o| o.state == place)?;
            Some(index + found)
        };
        if self.counts.lost > 0 {
            first(self.lost_from, OriginalState::Lost)
        } else if self.counts.waiting > 0 {
            first(self.waiting_from, OriginalState::Waiting)
        } else {
            None
        }
    }

    /// One is sent.
    pub fn on_sent(&mut self, index: usize, now: Instant) {
        let Some(original) = self.originals.get_mut(index) else { return };
        self.counts.remove(original);
        match original.state {
            OriginalState::Lost => self.lost_from = original.range.end,
            OriginalState::Waiting => self.waiting_from = original.range.end,
            OriginalState::InFlight(_) | OriginalState::Sacked => {}
        }
        original.state = OriginalState::InFlight(now);
        original.was_sent = true;
        self.counts.add(original);
    }

    /// One past the last number up to which every original has its bytes.
    pub fn stored_until(&self) -> Seq {
        if self.without_packet == 0 {
            return self.max;
        }
        let missing = self.originals.iter().find(|original| original.packet.is_none());
        missing.map_or(self.max, |original| original.range.start.max(self.una))
    }

    /// Forgets everything.
    pub fn clear(&mut self, pool: &mut BufferPool) {
        while let Some(original) = self.originals.pop_front() {
            if let Some(piece) = original.packet {
                pool.release(piece);
            }
        }
        (self.stored_bytes, self.without_packet, self.counts) = (0, 0, StateCounts::default());
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::vec::Vec;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn original(pool: &mut BufferPool, start: Seq, n: u32) -> Original {
        Original {
            range: SeqRange::new(start + 100 * n, start + 100 * (n + 1)),
            tsval: n,
            ecn_capable: true,
            packet: pool.store(&[n as u8; 300]),
            state: OriginalState::InFlight(MS(u64::from(n))),
            was_sent: true,
            retransmitted: false,
        }
    }

    /// Four of 100 bytes across the wrap, sent at 0, 1, 2 and 3 ms; two have been sent again.
    fn flight() -> (RetransmissionQueue, BufferPool) {
        let mut pool = BufferPool::new(1 << 20);
        let start = Seq(u32::MAX - 150);
        let mut flight = RetransmissionQueue::new(start);
        for n in 0..4 {
            let original = original(&mut pool, start, n);
            flight.push(original, &mut pool);
        }
        flight.on_retransmission(SeqRange::new(start + 100, start + 300), 300, &mut pool);
        (flight, pool)
    }

    fn places(flight: &RetransmissionQueue) -> Vec<OriginalState> {
        flight.originals.iter().map(|original| original.state).collect()
    }

    #[test]
    fn an_acknowledgment_frees_what_it_covers_across_the_wrap() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert_eq!((pool.used_and_reserved().0, flight.in_flight()), (4 * 512, 400));
        let covered = flight.on_ack(start + 250, &mut pool);
        assert_eq!(covered.sequence_numbers, 250);
        assert_eq!(covered.first_retransmitted, Some((1, true)));
        assert_eq!(covered.last_sent_once, Some(MS(0)));
        assert_eq!(covered.last_sent, Some(MS(1)));
        assert_eq!((flight.una, pool.used_and_reserved().0, flight.in_flight()), (start + 250, 2 * 512, 200));
        flight.on_ack(start + 400, &mut pool);
        assert!(flight.is_empty() && flight.stored_bytes == 0 && pool.used_and_reserved().0 == 0);
        assert_eq!(flight.counts, StateCounts::default());
    }

    #[test]
    fn reports_count_whole_segments_only_and_once() {
        let (mut flight, _pool) = flight();
        let start = flight.una;
        let block = |from, to| SeqRange::new(start + from, start + to);
        assert_eq!(flight.on_sack_block(block(150, 300)), Some(MS(2)));
        assert_eq!(flight.on_sack_block(block(150, 300)), None);
        let [a, b, _, d] = [0, 1, 2, 3].map(|n| OriginalState::InFlight(MS(n)));
        assert_eq!(places(&flight), [a, b, OriginalState::Sacked, d]);
        assert_eq!(flight.on_sack_block(block(300, 100)), None);
        assert_eq!(flight.on_sack_block(SeqRange::new(start - 50, start + 100)), Some(MS(0)));
        assert_eq!(flight.in_flight(), 200);
    }

    #[test]
    fn a_report_that_is_taken_back_counts_no_more() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        flight.on_sack_block(SeqRange::new(start + 100, start + 400));
        flight.on_ack(start + 100, &mut pool);
        assert_eq!(places(&flight), [OriginalState::InFlight(Instant::ZERO); 3]);
        assert_eq!(flight.in_flight(), 300);
    }

    #[test]
    fn lost_ones_go_first_and_the_others_in_order() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        flight.requeue_all();
        assert_eq!((flight.waiting(), flight.in_flight(), flight.next_to_send()), (4, 0, Some(0)));
        for n in 0..3 {
            flight.on_sent(n, MS(100 + n as u64));
        }
        assert_eq!((flight.waiting(), flight.in_flight(), flight.next_to_send()), (1, 300, Some(3)));
        let newest = flight.on_sack_block(SeqRange::new(start + 200, start + 300));
        assert!(flight.detect_losses(newest, Duration::from_millis(2), false));
        assert_eq!((flight.waiting(), flight.next_to_send()), (2, Some(0)));
        flight.on_sent(0, MS(110));
        assert_eq!(flight.next_to_send(), Some(3));
        assert!(flight.detect_losses(Some(MS(110)), Duration::from_millis(9), false));
        assert_eq!(flight.next_to_send(), Some(1));
        flight.on_ack(start + 300, &mut pool);
        assert_eq!((flight.next_to_send(), flight.waiting(), flight.in_flight()), (Some(0), 1, 0));
        flight.on_sent(0, MS(120));
        assert_eq!(flight.next_to_send(), None);
    }

    #[test]
    fn bytes_that_are_missing_end_what_can_be_repaired() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert_eq!(flight.stored_until(), start + 400);
        // A full packet that ends where an original ends says nothing of the path.
        flight.on_retransmission(SeqRange::new(start + 150, start + 300), 200, &mut pool);
        assert_eq!((flight.stored_until(), flight.stored_bytes), (start + 400, 4 * 512));
        // A segment that is cut: the path has become narrower.
        flight.on_retransmission(SeqRange::new(start + 200, start + 250), 300, &mut pool);
        assert_eq!(flight.stored_until(), start + 400, "none is longer");
        flight.on_retransmission(SeqRange::new(start + 200, start + 250), 250, &mut pool);
        assert_eq!((flight.stored_until(), flight.stored_bytes), (start, 0));
        let mut later = original(&mut pool, start, 4);
        later.packet = pool.store(&[4; 250]);
        flight.push(later, &mut pool);
        flight.on_ack(start + 400, &mut pool);
        assert_eq!(flight.stored_until(), start + 500);
    }

    #[test]
    fn neighbours_without_bytes_are_one_and_too_many_are_too() {
        let mut pool = BufferPool::new(1 << 20);
        let mut flight = RetransmissionQueue::new(Seq(0));
        for n in 0..3 {
            let without = Original { packet: None, ..original(&mut pool, Seq(0), n) };
            flight.push(without, &mut pool);
        }
        assert_eq!((flight.originals.len(), flight.max), (1, Seq(300)));
        flight.on_ack(Seq(300), &mut pool);
        let (mut flight, mut pool) = (RetransmissionQueue::new(Seq(0)), BufferPool::new(1 << 30));
        for n in 0..=ORIGINALS_MAX as u32 {
            let room = flight.has_room();
            assert_eq!(room, n < ORIGINALS_MAX as u32);
            let full = original(&mut pool, Seq(0), n);
            let packet = if room { full.packet } else { None };
            flight.push(Original { packet, ..full }, &mut pool);
        }
        assert_eq!(flight.originals.len(), ORIGINALS_MAX);
        assert_eq!(flight.max, Seq(100 * (ORIGINALS_MAX as u32 + 1)));
        assert_eq!(flight.stored_until(), Seq(100 * (ORIGINALS_MAX as u32 - 1)));
        flight.on_ack(flight.max, &mut pool);
        assert_eq!((flight.stored_bytes, flight.stored_until()), (0, flight.max));
        assert!(flight.originals.capacity() <= 2 * ORIGINALS_KEPT);
    }
}
