//! Round-trip time estimation, the local TCP's timestamp clock, and pacing.

use driftway_base::{Duration, Instant, Seq};

/// RTT assumed before the first sample.
const UNKNOWN: Duration = Duration::from_millis(200);

/// Lower bound of Linux for four times RTTVAR.
const LEAST_VARIATION: Duration = Duration::from_millis(200);

/// RTT estimator below the local TCP (RFC 6298 §2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    smoothed: Option<Duration>,
    variation: Duration,
    least: Duration,
}

impl RoundTrip {
    pub fn sample(&mut self, rtt: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt.over(2);
                self.least = rtt;
            }
            Some(old) => {
                let quarter = old.abs_diff(rtt).over(4);
                self.variation = self.variation.saturating_sub(self.variation.over(4)) + quarter;
                self.smoothed = Some(old.saturating_sub(old.over(8)) + rtt.over(8));
                self.least = self.least.min(rtt);
            }
        }
    }
    /// SRTT, if there was a sample.
    pub fn measured(&self) -> Option<Duration> {
        self.smoothed
    }
    /// SRTT, or [`INITIAL_RTT`] before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(UNKNOWN).max(Duration::from_millis(1))
    }
    /// The minimum RTT, which is that of empty queues, as after an outage; [`INITIAL_RTT`] before
    /// the first sample.
    pub fn least(&self) -> Duration {
        self.smoothed.map_or(UNKNOWN, |_| self.least)
    }
    /// The RTO as Linux computes it: RFC 6298 §2.3, with at least 200 ms for the variation.
    pub fn timeout(&self) -> Duration {
        self.smoothed() + self.variation.times(4).max(LEAST_VARIATION)
    }
    /// Time after which no answer is expected any more: two RTTs with their variation, and a
    /// delayed acknowledgment of 200 ms.
    pub fn patience(&self) -> Duration {
        self.smoothed().times(2) + self.variation.times(4) + Duration::from_millis(200)
    }
}

/// The local TCP's timestamp clock, estimated from the TSvals it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampClock {
    first: (Instant, u32),
    last: (Instant, u32),
    /// Ticks, and the nanoseconds they take.
    rate: (u64, u64),
}

/// The clock's rate is measured over a span between these.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(100);

/// Tick of Linux and the BSDs: 1 ms.
const MILLISECONDS: (u64, u64) = (1, 1_000_000);

impl StampClock {
    /// A clock assumed to tick in milliseconds until a second of it has been seen (RFC 7323 §5.4
    /// allows 1 ms to 1 s).
    pub fn new(now: Instant, stamp: u32) -> Self {
        Self { first: (now, stamp), last: (now, stamp), rate: MILLISECONDS }
    }
    pub fn on_stamp(&mut self, now: Instant, stamp: u32) {
        if !Seq(stamp).after(Seq(self.last.1)) {
            return;
        }
        self.last = (now, stamp);
        let span = now.since(self.first.0);
        if span > LONGEST {
            self.first = self.last;
        } else if span >= SHORTEST {
            let ticks = u64::from(Seq(stamp).since(Seq(self.first.1)));
            // An outage is longer than the measured span: a rate close to 1 kHz is taken to be
            // exactly that.
            let about = ticks.abs_diff(span.as_millis()) <= span.as_millis() / 16;
            self.rate = if about { MILLISECONDS } else { (ticks, span.as_nanos()) };
        }
    }
    /// The highest TSval seen.
    pub fn last(&self) -> u32 {
        self.last.1
    }
    /// Time since the clock showed `tsval`.
    pub fn age(&self, now: Instant, stamp: u32) -> Duration {
        let ticks = u128::from(Seq(self.at(now)).since(Seq(stamp)));
        let (per, nanos) = (u128::from(self.rate.0).max(1), u128::from(self.rate.1));
        Duration::from_nanos(u64::try_from(ticks * nanos / per).unwrap_or(u64::MAX))
    }
    /// The clock's value at time `at`, which may lie before or after the last TSval seen.
    pub fn at(&self, at: Instant) -> u32 {
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
pub(crate) fn spacing(round_trip: Duration, len: u32, flight: u32) -> Duration {
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
        let mut clock = StampClock::new(at(0), u32::MAX - 99);
        assert_eq!(clock.at(at(10)), u32::MAX - 89, "1 ms until the rate is measured");
        clock.on_stamp(at(2000), 100);
        assert_eq!(clock.last.1, 100);
        assert_eq!(clock.at(at(3000)), 200, "the measured tick of 10 ms");
        assert_eq!(clock.at(at(1000)), 0);
        let mut even = StampClock::new(at(0), 0);
        even.on_stamp(at(1500), 1501);
        assert_eq!(even.at(at(61_500)), 61_501, "nearly 1 kHz counts as 1 kHz");
        clock.on_stamp(at(2500), 90);
        assert_eq!(clock.last.1, 100, "an older TSval is ignored");
    }

    #[test]
    fn a_flight_is_spread_over_a_round_trip() {
        assert_eq!(spacing(MS(100), 1000, 10_000), MS(10));
        assert_eq!(spacing(MS(100), 1000, 0), MS(100));
    }

    #[test]
    fn round_trips_are_smoothed() {
        let mut rtt = RoundTrip::default();
        assert_eq!(rtt.measured(), None);
        rtt.sample(MS(80));
        rtt.sample(MS(160));
        assert_eq!((rtt.measured(), rtt.least()), (Some(MS(90)), MS(80)));
        assert!(rtt.patience() > MS(380));
    }
}
