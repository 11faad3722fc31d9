//! Time: round trips, the local TCP's clock of timestamps, and the spacing of what is sent.

use driftway_base::{Duration, Instant, Seq};

/// Before the first measurement.
const UNKNOWN: Duration = Duration::from_millis(200);

/// What Linux takes the variation of round trips to be at least, four times.
const LEAST_VARIATION: Duration = Duration::from_millis(200);

/// Round trips as seen from below the local TCP (RFC 6298 §2, without its timeout).
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
    /// The smoothed round trip, if one was measured.
    pub fn measured(&self) -> Option<Duration> {
        self.smoothed
    }
    /// The smoothed round trip; a guess before the first.
    pub fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(UNKNOWN).max(Duration::from_millis(1))
    }
    /// The shortest one: with queues that are empty, as after an outage. A guess before the first.
    pub fn least(&self) -> Duration {
        self.smoothed.map_or(UNKNOWN, |_| self.least)
    }
    /// The timeout that Linux makes of it: RFC 6298 §2.3, with a variation of at least 200 ms.
    pub fn timeout(&self) -> Duration {
        self.smoothed() + self.variation.times(4).max(LEAST_VARIATION)
    }
    /// When nothing was heard for so long, nothing will be: twice a round trip with its variation,
    /// and a delayed acknowledgment of 200 ms.
    pub fn patience(&self) -> Duration {
        self.smoothed().times(2) + self.variation.times(4) + Duration::from_millis(200)
    }
}

/// The clock of the local TCP's timestamps, learnt from what it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampClock {
    first: (Instant, u32),
    last: (Instant, u32),
    /// Ticks, and in how many nanoseconds.
    rate: (u64, u64),
}

/// What a clock does in a second is measured over a span between these.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(100);

/// What Linux and the BSDs count.
const MILLISECONDS: (u64, u64) = (1, 1_000_000);

impl StampClock {
    /// Until a second of it has been seen, it is taken to count milliseconds (RFC 7323 §5.4 allows
    /// one tick to one thousand a second).
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
            // An outage is longer than what was measured: what seems to be milliseconds, is.
            let about = ticks.abs_diff(span.as_millis()) <= span.as_millis() / 16;
            self.rate = if about { MILLISECONDS } else { (ticks, span.as_nanos()) };
        }
    }
    /// The highest value seen.
    pub fn last(&self) -> u32 {
        self.last.1
    }
    /// How long ago the clock showed `stamp`.
    pub fn age(&self, now: Instant, stamp: u32) -> Duration {
        let ticks = u128::from(Seq(self.at(now)).since(Seq(stamp)));
        let (per, nanos) = (u128::from(self.rate.0).max(1), u128::from(self.rate.1));
        Duration::from_nanos(u64::try_from(ticks * nanos / per).unwrap_or(u64::MAX))
    }
    /// What stood on the clock at the time `at`, before or after the last value seen.
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

/// The distance between segments of `len` bytes that spreads `flight` bytes over a round trip.
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
        assert_eq!(clock.at(at(10)), u32::MAX - 89, "milliseconds until more is known");
        clock.on_stamp(at(2000), 100);
        assert_eq!(clock.last.1, 100);
        assert_eq!(clock.at(at(3000)), 200, "a tick of 10 ms, as seen");
        assert_eq!(clock.at(at(1000)), 0);
        let mut even = StampClock::new(at(0), 0);
        even.on_stamp(at(1500), 1501);
        assert_eq!(even.at(at(61_500)), 61_501, "milliseconds, seen roughly");
        clock.on_stamp(at(2500), 90);
        assert_eq!(clock.last.1, 100, "an old one says nothing");
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
