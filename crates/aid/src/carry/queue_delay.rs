//! Queueing delay of the path: round-trip times beyond the shortest one.
//!
//! A full queue delays the packets around the one that it drops, whose acknowledgments reveal the loss. The
//! shortest of the last RTTs before a loss is detected therefore shows how long the queue stood at the loss; a
//! longer one may be due to a burst of this connection's own. They are taken from each segment's own
//! transmission: the smoothed RTT follows too slowly.

use alloc::collections::VecDeque;

use driftway_base::{Duration, Instant, Seq};

/// Maximum number of timed segments. Further segments are not timed.
const TIMED_MAX: usize = 128;

/// Segments within this fraction of a round trip are timed as one.
const TIMED_PER_ROUND: u64 = 64;

/// The last RTTs are those of this fraction of a round trip, and of the one before.
const SPANS_PER_ROUND: u64 = 4;

/// A queue is visible if its delay is at least this: less is within the noise of hosts and of delayed
/// acknowledgments. It is also the delay that CoDel allows (RFC 8289 §4.3), below which it does not drop.
const VISIBLE_MIN: Duration = Duration::from_millis(5);

/// The delay of a visible queue is also at least the shortest RTT over this.
const VISIBLE_DIVISOR: u64 = 8;

/// A queue is long if its delay is at least twice that of a visible one, and the shortest RTT over this. A window
/// that is reduced to 0.7 (RFC 9438 §4.6) there still fills the path.
const LONG_FACTOR: u64 = 2;
const LONG_DIVISOR: u64 = 2;

/// A queue, as the last round-trip times show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ObservedQueue {
    /// A queue that cannot be distinguished from none.
    Invisible,
    /// A visible queue.
    Visible,
    /// A queue with one and a half times the delay at which it is visible: more than noise.
    Evident,
    /// A queue that keeps the path full over a reduction.
    Long,
}

/// Queueing delay, from the segments' own round-trip times.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueDelay {
    /// Sequence numbers at the end of segments that were sent once, with the time of sending.
    timed: VecDeque<(Seq, Instant)>,
    /// One past the last byte that is known to have arrived.
    arrived: Option<Seq>,
    min_rtt: Option<Duration>,
    /// Shortest RTT of the previous span of time and of this one, and the beginning of this one.
    shortest: [Option<Duration>; 2],
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

    /// New data up to `end` is sent. Segments sent together are timed as one.
    pub fn on_sent(&mut self, now: Instant, end: Seq) {
        let spacing = self.min_rtt.unwrap_or_default().over(TIMED_PER_ROUND);
        let together = self.timed.back_mut().filter(|(_, at)| now.since(*at) < spacing);
        if let Some((last, _)) = together {
            *last = end;
        } else if self.timed.len() < TIMED_MAX {
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
    /// If it may have waited with that report (RFC 1122 §4.2.3.2), it shows no RTT.
    pub fn on_arrived(&mut self, now: Instant, arrived: Seq, may_have_waited: bool) {
        if self.arrived.is_some_and(|known| arrived.at_or_before(known)) {
            return;
        }
        self.arrived = Some(arrived);
        let mut newest = None;
        while self.timed.front().is_some_and(|(end, _)| end.at_or_before(arrived)) {
            newest = self.timed.pop_front();
        }
        // If later segments arrived with it, the report of this one has waited for them.
        let Some((_, at)) = newest.filter(|(end, _)| *end == arrived && !may_have_waited) else {
            return;
        };
        let rtt = now.since(at);
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        let (age, span) = (now.since(self.span_start), least.over(SPANS_PER_ROUND));
        if age >= span {
            let [_, present] = self.shortest;
            let previous = present.filter(|_| age < span.times(2));
            (self.shortest, self.span_start) = ([previous, None], now);
        }
        let [_, present] = &mut self.shortest;
        *present = Some(present.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    /// The queue that the last RTTs show; `None` if there was none.
    pub fn observed(&self) -> Option<ObservedQueue> {
        let least = self.min_rtt?;
        let shortest = self.shortest.into_iter().flatten().min()?;
        let delay = shortest.saturating_sub(least);
        let visible = VISIBLE_MIN.max(least.over(VISIBLE_DIVISOR));
        let evident = visible + visible.over(2);
        let long = visible.times(LONG_FACTOR).max(least.over(LONG_DIVISOR));
        Some(match delay {
            _ if delay < visible => ObservedQueue::Invisible,
            _ if delay < evident => ObservedQueue::Visible,
            _ if delay < long => ObservedQueue::Evident,
            _ => ObservedQueue::Long,
        })
    }
}

#[cfg(test)]
mod test {
    use super::ObservedQueue::*;
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// Sends a segment at each time and reports its arrival after each RTT (ms); returns the queue observed
    /// then.
    fn after(round_trips: &[(u64, u64)]) -> Option<ObservedQueue> {
        let mut queue = QueueDelay::default();
        for (n, (at, rtt)) in round_trips.iter().enumerate() {
            let end = Seq(100 * (n as u32 + 1));
            queue.on_sent(ms(*at), end);
            queue.on_arrived(ms(at + rtt), end, false);
        }
        queue.observed()
    }

    #[test]
    fn a_queue_of_five_milliseconds_or_an_eighth_is_visible() {
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[(0, 40)]), Some(Invisible));
        assert_eq!(after(&[(0, 40), (50, 44)]), Some(Invisible));
        assert_eq!(after(&[(0, 40), (50, 45)]), Some(Visible));
        assert_eq!(after(&[(0, 40), (50, 48)]), Some(Evident));
        assert_eq!(after(&[(0, 40), (50, 60)]), Some(Long));
        assert_eq!(after(&[(0, 5), (50, 14)]), Some(Evident));
        assert_eq!(after(&[(0, 5), (50, 15)]), Some(Long));
        assert_eq!(after(&[(0, 200), (300, 220)]), Some(Invisible));
        assert_eq!(after(&[(0, 200), (300, 225)]), Some(Visible));
        // The shortest of this span of time and the previous one, and not of earlier ones.
        assert_eq!(after(&[(0, 40), (50, 40), (75, 58), (80, 58)]), Some(Evident));
        assert_eq!(after(&[(0, 40), (50, 60), (75, 42), (65, 60)]), Some(Invisible));
    }

    #[test]
    fn data_sent_again_shows_no_round_trip() {
        let mut queue = QueueDelay::default();
        queue.on_sent(ms(0), Seq(100));
        queue.on_sent(ms(10), Seq(200));
        queue.on_resent(Seq(0));
        queue.on_arrived(ms(500), Seq(200), false);
        assert_eq!((queue.observed(), queue.min_rtt()), (None, None));
    }

    /// A hole that is filled late acknowledges what a SACK block has reported before.
    #[test]
    fn a_late_cumulative_acknowledgment_shows_no_round_trip() {
        let mut queue = QueueDelay::default();
        (1..=4).for_each(|n| queue.on_sent(ms(u64::from(n)), Seq(100 * n)));
        queue.on_arrived(ms(44), Seq(400), false);
        queue.on_resent(Seq(0));
        queue.on_arrived(ms(90), Seq(400), false);
        assert_eq!(
            (queue.observed(), queue.min_rtt()),
            (Some(Invisible), Some(ms(40).since(ms(0))))
        );
    }

    #[test]
    fn a_report_that_may_have_waited_shows_no_round_trip() {
        let mut queue = QueueDelay::default();
        (1..=4).for_each(|n| queue.on_sent(ms(u64::from(n)), Seq(100 * n)));
        queue.on_arrived(ms(81), Seq(100), true);
        // The report of the second one and half of the third.
        queue.on_arrived(ms(90), Seq(250), false);
        assert_eq!(queue.observed(), None);
        queue.on_arrived(ms(91), Seq(400), false);
        assert_eq!(queue.min_rtt(), Some(ms(91).since(ms(4))));
    }

    #[test]
    fn the_number_of_timed_segments_is_limited() {
        let mut queue = QueueDelay::default();
        (1..=1000).for_each(|n| queue.on_sent(ms(u64::from(n)), Seq(100 * n)));
        assert_eq!(queue.timed.len(), TIMED_MAX);
    }
}
