//! Round-trip time estimation, the local TCP's timestamp clock, and pacing.

use driftway_base::{Duration, Instant, Seq};

/// RTT assumed before the first sample.
const INITIAL_RTT: Duration = Duration::from_millis(200);

/// Longest first sample: a SYN is sent again after 1 s, or 3 s by earlier rules (RFC 6298, appendix
/// A), and then gives none.
const MAX_FIRST_RTT: Duration = Duration::from_secs(3);

/// Lower bound of Linux for four times RTTVAR.
const MIN_RTO_VARIATION: Duration = Duration::from_millis(200);

/// RTT estimator below the local TCP (RFC 6298 §2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    min_rtt: Duration,
}

impl RttEstimator {
    /// Takes a sample, of a segment that was sent once. One of more than two RTOs (the local TCP
    /// restarts its timer with each acknowledgment of new data) is hardly of the path: the clock has
    /// jumped, as that of a virtual machine that was stopped. It counts as two RTOs. Returns whether
    /// it was shorter; if not, segments sent before it must not give others.
    #[must_use]
    pub fn sample(&mut self, rtt: Duration) -> bool {
        let longest = self.srtt.map_or(MAX_FIRST_RTT, |_| self.rto().times(2));
        let is_plausible = rtt <= longest;
        let rtt = rtt.min(longest);
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt.over(2);
                self.min_rtt = rtt;
            }
            Some(old) => {
                let quarter = old.abs_diff(rtt).over(4);
                self.rttvar = self.rttvar.saturating_sub(self.rttvar.over(4)) + quarter;
                self.srtt = Some(old.saturating_sub(old.over(8)) + rtt.over(8));
                self.min_rtt = self.min_rtt.min(rtt);
            }
        }
        is_plausible
    }
    /// SRTT, if there was a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    /// SRTT, or [`INITIAL_RTT`] before the first sample.
    pub fn srtt_or_initial(&self) -> Duration {
        self.srtt.unwrap_or(INITIAL_RTT).max(Duration::from_millis(1))
    }
    /// The minimum RTT, which is that of empty queues, as after an outage; [`INITIAL_RTT`] before
    /// the first sample.
    pub fn min_rtt_or_initial(&self) -> Duration {
        self.srtt.map_or(INITIAL_RTT, |_| self.min_rtt)
    }
    /// The RTO as Linux computes it: RFC 6298 §2.3, with at least 200 ms for the variation.
    pub fn rto(&self) -> Duration {
        self.srtt_or_initial() + self.rttvar.times(4).max(MIN_RTO_VARIATION)
    }
    /// Time after which no answer is expected any more: two RTTs with their variation, and a
    /// delayed acknowledgment of 200 ms.
    pub fn response_timeout(&self) -> Duration {
        self.srtt_or_initial().times(2) + self.rttvar.times(4) + Duration::from_millis(200)
    }
}

/// The local TCP's timestamp clock, estimated from the TSvals it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    first: (Instant, u32),
    last: (Instant, u32),
    /// The TSval that was seen soonest after it was sent.
    prompt: (Instant, u32),
    /// Ticks, and the nanoseconds they take.
    rate: (u64, u64),
}

/// The clock's rate is measured over a span between these.
const MIN_RATE_SPAN: Duration = Duration::from_secs(1);
const MAX_RATE_SPAN: Duration = Duration::from_secs(100);

/// Tick of Linux and the BSDs: 1 ms.
const MILLISECONDS: (u64, u64) = (1, 1_000_000);

impl TimestampClock {
    /// A clock assumed to tick in milliseconds until a second of it has been seen (RFC 7323 §5.4
    /// allows 1 ms to 1 s).
    pub fn new(now: Instant, stamp: u32) -> Self {
        let seen = (now, stamp);
        Self { first: seen, last: seen, prompt: seen, rate: MILLISECONDS }
    }
    pub fn on_tsval(&mut self, now: Instant, stamp: u32) {
        if !Seq(stamp).after(Seq(self.last.1)) {
            return;
        }
        if self.ticks_late(now, stamp) < 0 {
            self.prompt = (now, stamp);
        }
        self.last = (now, stamp);
        let span = now.since(self.first.0);
        if span > MAX_RATE_SPAN {
            self.first = self.last;
        } else if span >= MIN_RATE_SPAN {
            let ticks = u64::from(Seq(stamp).since(Seq(self.first.1)));
            // An outage is longer than the measured span: a rate close to 1 kHz is taken to be
            // exactly that.
            let about = ticks.abs_diff(span.as_millis()) <= span.as_millis() / 16;
            self.rate = if about { MILLISECONDS } else { (ticks, span.as_nanos()) };
        }
    }
    /// The highest TSval seen.
    pub fn last_tsval(&self) -> u32 {
        self.last.1
    }
    /// Time since the clock showed `stamp`.
    pub fn age(&self, now: Instant, stamp: u32) -> Duration {
        let ticks = u128::from(Seq(self.tsval_at(now)).since(Seq(stamp)));
        let (per, nanos) = (u128::from(self.rate.0).max(1), u128::from(self.rate.1));
        Duration::from_nanos(u64::try_from(ticks * nanos / per).unwrap_or(u64::MAX))
    }
    /// Time by which a segment with this TSval is seen later than others are; known for a clock that
    /// ticks in milliseconds.
    pub fn lateness(&self, now: Instant, stamp: u32) -> Duration {
        let late = u64::try_from(self.ticks_late(now, stamp)).unwrap_or(0);
        if self.rate == MILLISECONDS { Duration::from_millis(late) } else { Duration::ZERO }
    }
    fn ticks_late(&self, now: Instant, stamp: u32) -> i32 {
        let passed = now.since(self.prompt.0).as_millis() as u32;
        Seq(self.prompt.1.wrapping_add(passed)).distance(Seq(stamp))
    }
    /// The clock's value at time `at`, which may lie before or after the last TSval seen.
    pub fn tsval_at(&self, at: Instant) -> u32 {
        let (ticks, nanos) = (u128::from(self.rate.0), u128::from(self.rate.1));
        let ticks_in = |span: Duration| (u128::from(span.as_nanos()) * ticks / nanos) as u32;
        if at >= self.last.0 {
            self.last.1.wrapping_add(ticks_in(at.since(self.last.0)))
        } else {
            self.last.1.wrapping_sub(ticks_in(self.last.0.since(at)))
        }
    }
}

/// Interval between segments of `len` bytes that spreads `flight` bytes over one RTT.
pub(crate) fn pacing_interval(round_trip: Duration, len: u32, flight: u32) -> Duration {
    let nanos = u128::from(round_trip.as_nanos()) * u128::from(len) / u128::from(flight.max(1));
    Duration::from_nanos(nanos.min(u128::from(round_trip.as_nanos())) as u64)
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_clock_is_followed_across_its_wrap() {
        let at = Instant::from_millis;
        let mut clock = TimestampClock::new(at(0), u32::MAX - 99);
        assert_eq!(clock.tsval_at(at(10)), u32::MAX - 89, "1 ms until the rate is measured");
        clock.on_tsval(at(2000), 100);
        assert_eq!(clock.last.1, 100);
        assert_eq!(clock.tsval_at(at(3000)), 200, "the measured tick of 10 ms");
        assert_eq!(clock.tsval_at(at(1000)), 0);
        let mut even = TimestampClock::new(at(0), 0);
        even.on_tsval(at(1500), 1501);
        assert_eq!(even.tsval_at(at(61_500)), 61_501, "nearly 1 kHz counts as 1 kHz");
        clock.on_tsval(at(2500), 90);
        assert_eq!(clock.last.1, 100, "an older TSval is ignored");
    }

    #[test]
    fn a_segment_that_is_seen_late() {
        let at = Instant::from_millis;
        let mut clock = TimestampClock::new(at(7), u32::MAX - 1);
        clock.on_tsval(at(100), 90);
        assert_eq!(clock.lateness(at(110), 100), MS(1));
        // Seen sooner than any other.
        assert_eq!(clock.lateness(at(110), 103), MS(0));
        clock.on_tsval(at(110), 103);
        assert_eq!(clock.lateness(at(200), 180), MS(13));
        clock.on_tsval(at(200), 180);
        assert_eq!(clock.lateness(at(201), 194), MS(0));
    }

    #[test]
    fn a_flight_is_spread_over_a_round_trip() {
        assert_eq!(pacing_interval(MS(100), 1000, 10_000), MS(10));
        assert_eq!(pacing_interval(MS(100), 1000, 0), MS(100));
    }

    #[test]
    fn a_jump_of_the_clock_is_no_round_trip() {
        let mut rtt = RttEstimator::default();
        assert!(!rtt.sample(Duration::from_secs(50_000)));
        assert_eq!(rtt.srtt(), Some(MAX_FIRST_RTT));
        let mut rtt = RttEstimator::default();
        assert!(rtt.sample(MS(40)));
        assert!(!rtt.sample(Duration::from_secs(50_000)));
        // An eighth of two RTOs of 240 ms.
        assert_eq!(rtt.srtt(), Some(MS(35 + 60)));
    }

    #[test]
    fn round_trips_are_smoothed() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.srtt(), None);
        assert!(rtt.sample(MS(80)));
        assert!(rtt.sample(MS(160)));
        assert_eq!((rtt.srtt(), rtt.min_rtt_or_initial()), (Some(MS(90)), MS(80)));
        assert!(rtt.response_timeout() > MS(380));
    }
}
