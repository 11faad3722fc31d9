//! Queueing delay of the path: round-trip times beyond the shortest one.
//!
//! A full queue delays the packets around the one that it drops, whose acknowledgments reveal the loss. The
//! longest of the last RTTs before a loss is detected therefore shows how long the queue was at the loss.
//! They are taken from each segment's own transmission: the smoothed RTT follows too slowly.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Seq};

/// Maximum number of timed segments. Further segments are not timed.
const TIMED_MAX: usize = 128;

/// Segments are timed at most this often in a round trip.
const TIMED_PER_ROUND: u64 = 64;

/// The last RTTs are those of this fraction of a round trip, and of the one before.
const SPANS_PER_ROUND: u64 = 4;

/// A queue is visible if its delay is at least this: less is within the noise of hosts and of delayed
/// acknowledgments. It is also the delay that CoDel allows (RFC 8289 §4.3), below which it does not drop.
const VISIBLE_MIN: Duration = Duration::from_millis(5);

/// The delay of a visible queue is also at least the shortest RTT over this.
const VISIBLE_DIVISOR: u64 = 8;

/// Queueing delay, from the segments' own round-trip times.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueDelay {
    /// Sequence numbers at the end of segments that were sent once, with the time of sending.
    timed: VecDeque<(Seq, Instant)>,
    /// One past the last byte that is known to have arrived.
    arrived: Option<Seq>,
    min_rtt: Option<Duration>,
    /// Longest RTT of the previous span of time and of this one, and the beginning of this one.
    longest: [Duration; 2],
    span_start: Instant,
}

impl QueueDelay {
    /// The driver's smoothed RTT.
    pub fn on_smoothed(&mut self, srtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(srtt, |least| least.min(srtt)));
    }

    /// Minimum RTT.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// New data up to `end` is sent.
    pub fn on_sent(&mut self, now: Instant, end: Seq) {
        let spacing = self.min_rtt.unwrap_or_default().over(TIMED_PER_ROUND);
        let spaced = self.timed.back().is_none_or(|(_, at)| now.since(*at) >= spacing);
        if spaced && self.timed.len() < TIMED_MAX {
            self.timed.push_back((end, now));
        }
    }

    /// Data from `start` is sent again: its arrival shows no RTT (Karn's algorithm, RFC 6298 §3).
    pub fn on_resent(&mut self, start: Seq) {
        // Below the last arrival nothing is timed any more.
        let again = |arrived: Seq| start.at_or_after(arrived);
        if self.arrived.is_none_or(again) {
            self.timed.retain(|(end, _)| end.at_or_before(start));
        }
    }

    /// Forgets all segments in flight.
    pub fn forget_in_flight(&mut self) {
        self.timed.clear();
    }

    /// The peer reports, by its acknowledgment number and SACK blocks, that data up to `arrived` has arrived.
    pub fn on_arrived(&mut self, now: Instant, arrived: Seq) {
        if self.arrived.is_some_and(|known| arrived.at_or_before(known)) {
            return;
        }
        self.arrived = Some(arrived);
        let mut sample = None;
        while self.timed.front().is_some_and(|(end, _)| end.at_or_before(arrived)) {
            sample = self.timed.pop_front().map(|(_, at)| now.since(at));
        }
        let Some(rtt) = sample else { return };
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        let (age, span) = (now.since(self.span_start), least.over(SPANS_PER_ROUND));
        if age >= span {
            let previous = if age < span.times(2) { self.longest[1] } else { Duration::ZERO };
            (self.longest, self.span_start) = ([previous, Duration::ZERO], now);
        }
        self.longest[1] = self.longest[1].max(rtt);
    }

    /// Returns true if the last RTTs show a queue; `None` if there was no RTT.
    pub fn is_visible(&self) -> Option<bool> {
        let least = self.min_rtt?;
        let [previous, present] = self.longest;
        let longest = previous.max(present);
        if longest.is_zero() {
            return None;
        }
        let visible = VISIBLE_MIN.max(least.over(VISIBLE_DIVISOR));
        Some(longest.saturating_sub(least) >= visible)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Sends a segment at each time and reports its arrival after each RTT (ms); returns whether a queue is
    /// visible then.
    fn after(round_trips: &[(u64, u64)]) -> Option<bool> {
        let mut queue = QueueDelay::default();
        for (n, (at, rtt)) in round_trips.iter().enumerate() {
            let end = Seq(100 * (n as u32 + 1));
            queue.on_sent(ms(*at), end);
            queue.on_arrived(ms(at + rtt), end);
        }
        queue.is_visible()
    }

    #[test]
    fn a_queue_of_five_milliseconds_or_an_eighth_is_visible() {
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[(0, 40)]), Some(false));
        assert_eq!(after(&[(0, 40), (50, 44)]), Some(false));
        assert_eq!(after(&[(0, 40), (50, 45)]), Some(true));
        assert_eq!(after(&[(0, 200), (300, 220)]), Some(false));
        assert_eq!(after(&[(0, 200), (300, 225)]), Some(true));
        // The longest of this span of time and the previous one, and not of earlier ones.
        assert_eq!(after(&[(0, 40), (50, 60), (75, 40), (85, 40)]), Some(true));
        assert_eq!(after(&[(0, 40), (50, 60), (75, 40), (86, 40), (97, 40)]), Some(false));
    }

    #[test]
    fn data_sent_again_shows_no_round_trip() {
        let mut queue = QueueDelay::default();
        queue.on_sent(ms(0), Seq(100));
        queue.on_sent(ms(10), Seq(200));
        queue.on_resent(Seq(0));
        queue.on_arrived(ms(500), Seq(200));
        assert_eq!((queue.is_visible(), queue.min_rtt()), (None, None));
    }

    /// A hole that is filled late acknowledges what a SACK block has reported before.
    #[test]
    fn a_late_cumulative_acknowledgment_shows_no_round_trip() {
        let mut queue = QueueDelay::default();
        (1..=4).for_each(|n| queue.on_sent(ms(u64::from(n)), Seq(100 * n)));
        queue.on_arrived(ms(44), Seq(400));
        queue.on_resent(Seq(0));
        queue.on_arrived(ms(90), Seq(400));
        assert_eq!((queue.is_visible(), queue.min_rtt()), (Some(false), Some(ms(40).since(ms(0)))));
    }

    #[test]
    fn the_number_of_timed_segments_is_limited() {
        let mut queue = QueueDelay::default();
        (1..=1000).for_each(|n| queue.on_sent(ms(u64::from(n)), Seq(100 * n)));
        assert_eq!(queue.timed.len(), TIMED_MAX);
    }
}
