//! Log of the outstanding segments: their transmission times, and the lost ones (RFC 8985 §5.2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use crate::delivery_rate::SendSnapshot;
use crate::scoreboard::Scoreboard;

/// An outstanding segment, neither acknowledged nor SACKed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentSegment {
    /// Its sequence numbers.
    pub range: SeqRange,
    /// Its number in the order of all transmissions, since many may be sent at one instant.
    pub transmission: u64,
    /// Time of its last transmission, plus the time for which timers were frozen since.
    pub adjusted_sent_at: Instant,
    /// Time of its last transmission, as in its timestamp.
    pub sent_at: Instant,
    /// Sent more than once.
    pub retransmitted: bool,
    /// Lost, and not retransmitted since.
    pub lost: bool,
    /// State of the connection at its last transmission, for the delivery rate.
    pub snapshot: SendSnapshot,
}

/// Initial capacity in segments; the queue grows to its largest size once.
const RESERVED: usize = 64;

/// The outstanding segments, sorted by sequence number, disjoint.
#[derive(Debug)]
pub struct SentLog {
    segments: VecDeque<SentSegment>,
    /// Number of transmissions so far.
    transmissions: u64,
    /// Bytes outstanding, and those of them that are lost.
    bytes: u32,
    lost_bytes: u32,
    /// Bytes that were ever marked as lost.
    total_lost: u64,
    /// The segments marked as lost since the last call of `take_reported_losses`, if wanted.
    reported_losses: Option<Vec<ReportedLoss>>,
}

/// A segment that was marked as lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportedLoss {
    pub range: SeqRange,
    /// State of the connection when it was sent.
    pub snapshot: SendSnapshot,
    /// Bytes marked as lost by then, its own included.
    pub total_lost: u64,
}

impl Default for SentLog {
    fn default() -> Self {
        Self {
            segments: VecDeque::with_capacity(RESERVED),
            transmissions: 0,
            bytes: 0,
            lost_bytes: 0,
            total_lost: 0,
            reported_losses: None,
        }
    }
}

impl SentLog {
    /// Bytes outstanding and not lost (RFC 6675 §4: pipe, with RACK's loss detection).
    pub fn pipe(&self) -> u32 {
        self.bytes.saturating_sub(self.lost_bytes)
    }
    /// Bytes that are lost.
    pub fn lost_bytes(&self) -> u32 {
        self.lost_bytes
    }
    /// Bytes that were ever marked as lost.
    pub fn total_lost(&self) -> u64 {
        self.total_lost
    }

    /// Keeps the segments that are marked as lost for `take_reported_losses`.
    pub(crate) fn report_losses(&mut self) {
        self.reported_losses = Some(Vec::new());
    }
    /// Takes the segments that were marked as lost since the last call.
    pub(crate) fn take_reported_losses(&mut self, mut each: impl FnMut(ReportedLoss)) {
        self.reported_losses.iter_mut().for_each(|losses| losses.drain(..).for_each(&mut each));
    }

    fn next_transmission(&mut self) -> u64 {
        self.transmissions += 1;
        self.transmissions
    }

    fn add_bytes(&mut self, sent: &SentSegment) {
        let len = sent.range.len();
        self.bytes = self.bytes.saturating_add(len);
        if sent.lost {
            self.lost_bytes = self.lost_bytes.saturating_add(len);
        }
    }

    /// Index of the first segment that ends beyond `seq`.
    fn index_after(&self, seq: Seq) -> usize {
        match self.segments.front() {
            // What an acknowledgment asks for.
            Some(first) if first.range.end.after(seq) => 0,
            _ => self.segments.partition_point(|sent| sent.range.end.at_or_before(seq)),
        }
    }

    /// Removes the sequence numbers of `range`, and passes each segment, or part of one, in it to
    /// `each`.
    pub fn remove(&mut self, range: SeqRange, mut each: impl FnMut(&SentSegment)) {
        let first = self.index_after(range.start);
        let first = first + usize::from(self.split(first, range.start));
        let mut last = first;
        while self.segments.get(last).is_some_and(|sent| sent.range.start.before(range.end)) {
            self.split(last, range.end);
            let Some(sent) = self.segments.get(last) else { break };
            let len = sent.range.len();
            self.bytes = self.bytes.saturating_sub(len);
            if sent.lost {
                self.lost_bytes = self.lost_bytes.saturating_sub(len);
            }
            each(sent);
            last += 1;
        }
        self.segments.drain(first..last);
    }

    /// Splits a segment at `seq`; false if that is not inside of it.
    fn split(&mut self, place: usize, seq: Seq) -> bool {
        let Some(sent) = self.segments.get_mut(place) else { return false };
        if !(sent.range.start.before(seq) && sent.range.end.after(seq)) {
            return false;
        }
        let front = SentSegment { range: SeqRange::new(sent.range.start, seq), ..*sent };
        sent.range.start = seq;
        self.segments.insert(place, front);
        true
    }

    /// Records a transmission.
    pub fn on_sent(&mut self, now: Instant, range: SeqRange, snapshot: SendSnapshot) {
        let mut retransmitted = false;
        if self.segments.back().is_some_and(|last| last.range.end.after(range.start)) {
            self.remove(range, |_| retransmitted = true);
        }
        let transmission = self.next_transmission();
        let sent = SentSegment {
            range,
            transmission,
            adjusted_sent_at: now,
            sent_at: now,
            retransmitted,
            lost: false,
            snapshot,
        };
        self.add_bytes(&sent);
        match self.segments.back() {
            Some(last) if last.range.end.after(range.start) => {
                self.segments.insert(self.index_after(range.start), sent);
            }
            _ => self.segments.push_back(sent),
        }
    }

    /// Marks the segments before `end` as lost for which `is_lost` returns true, in order, until it
    /// returns `None`.
    pub fn mark_lost(&mut self, end: Seq, mut is_lost: impl FnMut(&SentSegment) -> Option<bool>) {
        for sent in &mut self.segments {
            if sent.range.end.after(end) {
                return;
            }
            if sent.lost {
                continue;
            }
            match is_lost(sent) {
                Some(true) => {
                    sent.lost = true;
                    self.lost_bytes = self.lost_bytes.saturating_add(sent.range.len());
                    self.total_lost += u64::from(sent.range.len());
                    if let Some(losses) = &mut self.reported_losses {
                        let (range, snapshot) = (sent.range, sent.snapshot);
                        losses.push(ReportedLoss { range, snapshot, total_lost: self.total_lost });
                    }
                }
                Some(false) => {}
                None => return,
            }
        }
    }

    /// Unmarks all lost segments.
    pub fn clear_lost(&mut self) {
        self.lost_bytes = 0;
        self.segments.iter_mut().for_each(|sent| sent.lost = false);
    }

    /// Postpones the transmission times by the time `frozen_for` for which timers were frozen until
    /// `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        for sent in &mut self.segments {
            sent.adjusted_sent_at = (sent.adjusted_sent_at + frozen_for).min(now);
            sent.snapshot.postpone(now, frozen_for);
        }
    }

    /// The first lost range, of at most one segment.
    pub fn first_lost(&self, mss: u32) -> Option<SeqRange> {
        let mut lost = self.segments.iter().skip_while(|sent| !sent.lost);
        let mut range = lost.next()?.range;
        for next in lost {
            let joined = SeqRange::new(range.start, next.range.end);
            if !next.lost || next.range.start != range.end || joined.len() > mss {
                break;
            }
            range = joined;
        }
        Some(range)
    }

    /// The segment with the lowest sequence numbers.
    pub fn first(&self) -> Option<SentSegment> {
        self.segments.front().copied()
    }

    /// The segment with the highest sequence numbers.
    pub fn last(&self) -> Option<SentSegment> {
        self.segments.back().copied()
    }

    /// Records all data between `una` and `max` as lost, after the peer has reneged (RFC 2018 §8).
    pub fn reset_as_lost(&mut self, una: Seq, max: Seq, mss: u32, sent: Instant) {
        self.segments.clear();
        (self.bytes, self.lost_bytes) = (0, 0);
        let mut start = una;
        while start.before(max) {
            let range = SeqRange::new(start, (start + mss.max(1)).min(max));
            let transmission = self.next_transmission();
            let sent = SentSegment {
                range,
                transmission,
                adjusted_sent_at: sent,
                sent_at: sent,
                retransmitted: true,
                lost: true,
                snapshot: SendSnapshot::default(),
            };
            self.add_bytes(&sent);
            self.segments.push_back(sent);
            start = range.end;
        }
    }

    /// True if the log has exactly the data between `una` and `max` that is not on `board`. For
    /// assertions.
    pub fn is_consistent_with(&self, una: Seq, max: Seq, board: &Scoreboard) -> bool {
        let bytes = self.segments.iter().fold(0, |sum, sent| sum + sent.range.len());
        let lost = self.segments.iter().filter(|s| s.lost).fold(0, |sum, s| sum + s.range.len());
        let sorted = self
            .segments
            .iter()
            .zip(self.segments.iter().skip(1))
            .all(|(a, b)| a.range.end.at_or_before(b.range.start));
        let within = self.segments.iter().all(|sent| {
            sent.range.start.at_or_after(una)
                && sent.range.end.at_or_before(max)
                && board.unsacked_bytes(sent.range) == sent.range.len()
        });
        sorted
            && within
            && (bytes, lost) == (self.bytes, self.lost_bytes)
            && bytes == board.unsacked_bytes(SeqRange::new(una, max))
    }
}

/// Minimum over the last few minutes, since the minimum RTT changes when the path does.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMinimum {
    since: Instant,
    /// Minima of the window before and of this one, and their times.
    previous: Option<(Instant, Duration)>,
    current: Option<(Instant, Duration)>,
}

impl WindowedMinimum {
    /// Length of a window; a minimum is kept for one to two of these (Linux: `tcp_min_rtt_wlen`, 300 s).
    const PERIOD: Duration = Duration::from_secs(150);

    /// Adds a sample.
    pub fn add(&mut self, now: Instant, span: Duration) {
        if now.since(self.since) > Self::PERIOD {
            *self = Self { since: now, previous: self.current, current: None };
        }
        self.previous =
            self.previous.filter(|(at, _)| now.since(*at) <= Self::PERIOD + Self::PERIOD);
        self.current = Some(self.current.filter(|(_, least)| *least < span).unwrap_or((now, span)));
    }

    /// The minimum.
    pub fn get(&self) -> Option<Duration> {
        [self.previous, self.current].into_iter().flatten().map(|(_, least)| least).min()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(Seq(start), Seq(end))
    }

    const AT: fn(u64) -> Instant = Instant::from_millis;

    fn log(ends: &[u32]) -> SentLog {
        let mut log = SentLog::default();
        for (n, end) in (0_u64..).zip(ends) {
            log.on_sent(AT(n), range(end - 100, *end), SendSnapshot::default());
        }
        log
    }

    #[test]
    fn delivered_ranges_are_removed_and_the_rest_stays() {
        let mut log = log(&[100, 200, 300]);
        let mut gone = std::vec![];
        log.remove(range(50, 220), |sent| gone.push((sent.range, sent.adjusted_sent_at)));
        assert_eq!(
            gone,
            [(range(50, 100), AT(0)), (range(100, 200), AT(1)), (range(200, 220), AT(2))]
        );
        assert_eq!(log.pipe(), 130);
        let mut board = Scoreboard::default();
        board.add(range(50, 220));
        assert!(log.is_consistent_with(Seq(0), Seq(300), &board));
        log.remove(range(230, 240), |_| {});
        board.add(range(230, 240));
        assert!(log.is_consistent_with(Seq(0), Seq(300), &board));
        assert!(!log.is_consistent_with(Seq(0), Seq(301), &board));
    }

    #[test]
    fn a_retransmission_is_outstanding_and_not_lost() {
        let mut log = log(&[100, 200, 300]);
        log.mark_lost(Seq(300), |sent| Some(sent.range.start.before(Seq(200))));
        assert_eq!((log.pipe(), log.lost_bytes()), (100, 200));
        assert_eq!(log.first_lost(100), Some(range(0, 100)));
        assert_eq!(log.first_lost(250), Some(range(0, 200)));
        log.on_sent(AT(9), range(0, 150), SendSnapshot::default());
        assert_eq!((log.pipe(), log.lost_bytes()), (250, 50));
        assert_eq!(log.first_lost(100), Some(range(150, 200)));
        assert!(log.is_consistent_with(Seq(0), Seq(300), &Scoreboard::default()));
        log.clear_lost();
        assert_eq!((log.pipe(), log.first_lost(100)), (300, None));
        log.reset_as_lost(Seq(0), Seq(250), 100, AT(0));
        assert_eq!((log.pipe(), log.lost_bytes()), (0, 250));
    }

    #[test]
    fn an_old_minimum_is_forgotten() {
        let mut least = WindowedMinimum::default();
        let ms = Duration::from_millis;
        least.add(AT(0), ms(10));
        least.add(AT(100_000), ms(30));
        assert_eq!(least.get(), Some(ms(10)));
        least.add(AT(151_000), ms(40));
        assert_eq!(least.get(), Some(ms(10)));
        least.add(AT(302_000), ms(50));
        assert_eq!(least.get(), Some(ms(40)));
        // After a long silence, too.
        least.add(AT(603_000), ms(60));
        assert_eq!(least.get(), Some(ms(60)));
    }
}
