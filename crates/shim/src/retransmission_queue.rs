//! The retransmission queue: segments that the local TCP has sent and the peer has not
//! acknowledged.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::pool::{BufferPool, PoolBuffer};

/// Maximum number of originals of one flow, with or without their packets.
const ORIGINALS_MAX: usize = 16_384;

/// An empty queue with a larger capacity is shrunk to this.
const ORIGINALS_KEPT: usize = 1024;

/// The smallest path MTU that Linux uses (`net.ipv4.route.min_pmtu`, bytes).
const MIN_PATH_MTU: usize = 552;

/// State of an original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginalState {
    /// Stored, to be sent in order.
    Waiting,
    /// Sent at that time, and not known to be lost.
    InFlight(Instant),
    /// Lost: to be retransmitted ahead of waiting ones.
    Lost,
    /// Selectively acknowledged.
    Sacked,
}

/// A segment as the local TCP first sent it.
#[derive(Debug)]
pub(crate) struct Original {
    /// The sequence numbers that it was the first to carry; its packet may begin before them.
    pub range: SeqRange,
    /// Its TSval.
    pub tsval: u32,
    /// It was sent with an ECT codepoint.
    pub ecn_capable: bool,
    /// The packet; `None` if a limit did not allow storing it. Such an original is never waiting or
    /// lost: the local TCP has to retransmit it.
    pub packet: Option<PoolBuffer>,
    pub state: OriginalState,
    /// It has left this host at least once.
    pub was_sent: bool,
    /// The local TCP has retransmitted it.
    pub retransmitted: bool,
}

/// Originals that an acknowledgment newly covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewlyAcked {
    /// Number of sequence numbers.
    pub sequence_numbers: u32,
    /// The first original that the local TCP has retransmitted: its TSval, and whether it was
    /// ECN-capable.
    pub first_retransmitted: Option<(u32, bool)>,
    /// Send time of the last original sent only once.
    pub last_sent_once: Option<Instant>,
    /// Send time of the most recently sent original.
    pub last_sent: Option<Instant>,
}

/// Numbers of stored originals by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StateCounts {
    waiting: usize,
    lost: usize,
    /// Data in flight, in sequence numbers.
    in_flight_bytes: u32,
}

impl StateCounts {
    fn add(&mut self, original: &Original) {
        match original.state {
            _ if original.packet.is_none() => {}
            OriginalState::Waiting => self.waiting += 1,
            OriginalState::Lost => self.lost += 1,
            OriginalState::InFlight(_) => {
                self.in_flight_bytes = self.in_flight_bytes.saturating_add(original.range.len())
            }
            OriginalState::Sacked => {}
        }
    }
    fn remove(&mut self, original: &Original) {
        match original.state {
            _ if original.packet.is_none() => {}
            OriginalState::Waiting => self.waiting = self.waiting.saturating_sub(1),
            OriginalState::Lost => self.lost = self.lost.saturating_sub(1),
            OriginalState::InFlight(_) => {
                self.in_flight_bytes = self.in_flight_bytes.saturating_sub(original.range.len())
            }
            OriginalState::Sacked => {}
        }
    }
}

/// Originals in order of sequence numbers, contiguous from `snd_una` to `snd_max`.
#[derive(Debug)]
pub(crate) struct RetransmissionQueue {
    originals: VecDeque<Original>,
    /// Everything before is acknowledged by the peer.
    pub una: Seq,
    /// One past the highest sequence number of the local TCP.
    pub max: Seq,
    /// Size of the stored packets in the pool (bytes).
    pub stored_bytes: usize,
    counts: StateCounts,
    /// No waiting, or lost, original ends at or before these.
    waiting_from: Seq,
    lost_from: Seq,
    /// Number of originals without a packet.
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
        self.counts.waiting + self.counts.lost
    }
    /// Sequence numbers that were sent, and are neither known to be lost nor sacked.
    pub fn in_flight(&self) -> u32 {
        self.counts.in_flight_bytes
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

    /// Appends an original that begins at SND.MAX. Adjacent originals without a packet are
    /// merged; with the queue full, the new one is merged with the last.
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

    /// Removes the data from `snd_nxt` on, and the packet that it cuts. Returns whether there were any.
    pub fn truncate(&mut self, snd_nxt: Seq, pool: &mut BufferPool) -> bool {
        if snd_nxt.before(self.una) || snd_nxt.at_or_after(self.max) {
            return false;
        }
        while self.originals.back().is_some_and(|last| last.range.end.after(snd_nxt)) {
            self.discard_packet(self.originals.len() - 1, pool);
            let Some(last) = self.originals.back_mut() else { break };
            if last.range.start.before(snd_nxt) {
                last.range.end = snd_nxt;
            } else {
                self.originals.pop_back();
                self.without_packet = self.without_packet.saturating_sub(1);
            }
        }
        self.max = snd_nxt;
        true
    }

    /// Discards the packet of an original.
    fn discard_packet(&mut self, index: usize, pool: &mut BufferPool) {
        let Some(original) = self.originals.get_mut(index) else { return };
        self.counts.remove(original);
        let Some(piece) = original.packet.take() else { return };
        original.state = OriginalState::InFlight(Instant::ZERO);
        self.without_packet += 1;
        self.stored_bytes = self.stored_bytes.saturating_sub(piece.size());
        pool.release(piece);
    }

    /// Records that the local TCP retransmits `range` in a packet of `total` bytes. A segment that
    /// ends within an original was resegmented: the path MTU has shrunk (RFC 1191), and longer
    /// stored packets are useless. One that is shorter than any path MTU is the rest of a packet of several
    /// segments, whose limits are not known exactly.
    pub fn on_retransmission(
        &mut self,
        range: SeqRange,
        total: usize,
        pool: &mut BufferPool,
    ) -> bool {
        let first = self.index_of(range.start);
        let mut cut = false;
        for original in self.originals.range_mut(first..) {
            if original.range.start.at_or_after(range.end) {
                break;
            }
            original.retransmitted = true;
            cut |= range.end.before(original.range.end);
        }
        let has_shrunk = cut && total >= MIN_PATH_MTU;
        if has_shrunk {
            self.discard_longer(total, pool);
        }
        has_shrunk
    }

    /// Discards stored packets longer than `total` bytes.
    fn discard_longer(&mut self, total: usize, pool: &mut BufferPool) {
        for index in 0..self.originals.len() {
            let packet = self.get(index).and_then(|original| original.packet.as_ref());
            if packet.is_some_and(|packet| packet.bytes().len() > total) {
                self.discard_packet(index, pool);
            }
        }
    }

    /// Returns whether the first retransmitted original that `ack` covers was ECN-capable, so that
    /// congestion would have marked it.
    pub fn first_retransmitted_is_ecn_capable(&self, ack: Seq) -> Option<bool> {
        let mut covered = self.originals.iter().take_while(|o| o.range.end.at_or_before(ack));
        covered.find(|original| original.retransmitted).map(|original| original.ecn_capable)
    }

    /// Processes a cumulative acknowledgment, which is not beyond SND.MAX.
    pub fn on_ack(&mut self, ack: Seq, pool: &mut BufferPool) -> NewlyAcked {
        let mut covered =
            NewlyAcked { sequence_numbers: ack.since(self.una), ..NewlyAcked::default() };
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

    /// A cumulative acknowledgment that ends before a sacked original revokes it (RFC 2018 §8), and
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

    /// Processes a SACK block. Returns the send time of the most recently sent original that it
    /// newly covers.
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
            if original.range.start.before(inside.start) || original.state == OriginalState::Sacked
            {
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

    /// Queues all originals that are stored and not sacked.
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
    /// Number of lost originals.
    pub fn lost(&self) -> usize {
        self.counts.lost
    }

    /// Removes all originals from the queue of the shim.
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

    /// Marks originals as lost that were sent `margin` before `newest`, and with `oldest` the first
    /// one, too. Returns whether there was any.
    pub fn detect_losses(
        &mut self,
        newest: Option<Instant>,
        margin: Duration,
        oldest: bool,
    ) -> bool {
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

    /// Index of the next original to send: lost ones first, then in order.
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

    /// Records that an original is sent.
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

    /// End of the contiguous range of stored originals.
    pub fn stored_until(&self) -> Seq {
        if self.without_packet == 0 {
            return self.max;
        }
        let missing = self.originals.iter().find(|original| original.packet.is_none());
        missing.map_or(self.max, |original| original.range.start.max(self.una))
    }

    /// Removes everything.
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

    /// Four segments of 100 bytes across the wrap, sent at 0, 1, 2 and 3 ms; two were
    /// retransmitted.
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
    fn an_acknowledgment_frees_originals_across_the_wrap() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert_eq!((pool.used_and_reserved().0, flight.in_flight()), (4 * 512, 400));
        let covered = flight.on_ack(start + 250, &mut pool);
        assert_eq!(covered.sequence_numbers, 250);
        assert_eq!(covered.first_retransmitted, Some((1, true)));
        assert_eq!(covered.last_sent_once, Some(MS(0)));
        assert_eq!(covered.last_sent, Some(MS(1)));
        assert_eq!(
            (flight.una, pool.used_and_reserved().0, flight.in_flight()),
            (start + 250, 2 * 512, 200)
        );
        flight.on_ack(start + 400, &mut pool);
        assert!(flight.is_empty() && flight.stored_bytes == 0 && pool.used_and_reserved().0 == 0);
        assert_eq!(flight.counts, StateCounts::default());
    }

    #[test]
    fn what_was_not_sent_is_removed() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        assert!(!flight.truncate(start + 400, &mut pool) && !flight.truncate(start - 1, &mut pool));
        // The packet of the third segment has more than was sent.
        assert!(flight.truncate(start + 250, &mut pool));
        assert_eq!((flight.max, flight.stored_until()), (start + 250, start + 200));
        assert_eq!((pool.used_and_reserved().0, flight.in_flight()), (2 * 512, 200));
        assert!(flight.truncate(start, &mut pool) && flight.is_empty());
        assert_eq!((pool.used_and_reserved().0, flight.counts), (0, StateCounts::default()));
        assert_eq!((flight.without_packet, flight.stored_bytes), (0, 0));
    }

    #[test]
    fn sack_blocks_count_whole_segments_once() {
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
    fn a_revoked_sack_counts_no_more() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        flight.on_sack_block(SeqRange::new(start + 100, start + 400));
        flight.on_ack(start + 100, &mut pool);
        assert_eq!(places(&flight), [OriginalState::InFlight(Instant::ZERO); 3]);
        assert_eq!(flight.in_flight(), 300);
    }

    #[test]
    fn lost_originals_are_sent_first() {
        let (mut flight, mut pool) = flight();
        let start = flight.una;
        flight.requeue_all();
        assert_eq!((flight.waiting(), flight.in_flight(), flight.next_to_send()), (4, 0, Some(0)));
        for n in 0..3 {
            flight.on_sent(n, MS(100 + n as u64));
        }
        assert_eq!(
            (flight.waiting(), flight.in_flight(), flight.next_to_send()),
            (1, 300, Some(3))
        );
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
    fn missing_packets_limit_the_repair() {
        let mut pool = BufferPool::new(1 << 20);
        let start = Seq(u32::MAX - 150);
        let mut flight = RetransmissionQueue::new(start);
        for n in 0..4 {
            let packet = pool.store(&[n as u8; 700]);
            let original = Original { packet, ..original(&mut pool, start, n) };
            flight.push(original, &mut pool);
        }
        assert_eq!(flight.stored_until(), start + 400);
        // A full-sized packet that ends with an original says nothing about the path MTU.
        flight.on_retransmission(SeqRange::new(start + 150, start + 300), 600, &mut pool);
        assert_eq!((flight.stored_until(), flight.stored_bytes), (start + 400, 4 * 1024));
        // Nor does one that is shorter than any.
        assert!(!flight.on_retransmission(SeqRange::new(start + 200, start + 250), 551, &mut pool));
        assert_eq!(flight.stored_until(), start + 400);
        // A resegmented one: the path MTU has shrunk.
        flight.on_retransmission(SeqRange::new(start + 200, start + 250), 700, &mut pool);
        assert_eq!(flight.stored_until(), start + 400, "no stored packet is longer");
        assert!(flight.on_retransmission(SeqRange::new(start + 200, start + 250), 600, &mut pool));
        assert_eq!((flight.stored_until(), flight.stored_bytes), (start, 0));
        let mut later = original(&mut pool, start, 4);
        later.packet = pool.store(&[4; 250]);
        flight.push(later, &mut pool);
        flight.on_ack(start + 400, &mut pool);
        assert_eq!(flight.stored_until(), start + 500);
    }

    #[test]
    fn originals_without_packets_and_beyond_the_limit_are_merged() {
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
