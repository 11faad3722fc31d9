//! RTTVAR as in Linux's retransmission timeout (Sarolahti and Kuznetsov, "Congestion Control in
//! Linux TCP", USENIX 2002, §4): the largest mean deviation of each round trip, which decays slowly
//! and has a floor. A falling RTT does not raise the timeout, and the minimum bounds the variation
//! instead of the sum.

use driftway_base::Duration;

/// The deviations, each times four, as the timeout uses them.
#[derive(Clone, Debug)]
pub(crate) struct LinuxVariation {
    floor: Duration,
    /// Mean deviation (Linux: mdev).
    mean: Duration,
    /// Largest mean deviation in this round trip (mdev_max).
    largest: Duration,
    /// Variation added to SRTT in the timeout (rttvar).
    used: Duration,
}

impl LinuxVariation {
    pub fn new(floor: Duration) -> Self {
        Self { floor, mean: Duration::ZERO, largest: floor, used: floor }
    }

    /// Variation added to SRTT in the timeout.
    pub fn used(&self) -> Duration {
        self.used
    }

    /// Restarts with this deviation, as after a first measurement.
    pub fn start(&mut self, deviation: Duration) {
        self.mean = deviation.times(4);
        self.used = self.mean.max(self.floor);
        self.largest = self.used;
    }

    /// Adds one round-trip sample.
    pub fn add(&mut self, srtt: Duration, rtt: Duration) {
        let (error, quarter) = (srtt.abs_diff(rtt), self.mean.over(4));
        if error >= quarter {
            let excess = error.saturating_sub(quarter);
            // A falling RTT counts for an eighth only.
            self.mean = self.mean + if rtt < srtt { excess.over(8) } else { excess };
        } else {
            self.mean = self.mean.saturating_sub(quarter.saturating_sub(error));
        }
        self.largest = self.largest.max(self.mean);
        self.used = self.used.max(self.largest);
    }

    /// Ends a round of measurements.
    pub fn end_round(&mut self) {
        self.used = self.used.saturating_sub(self.used.saturating_sub(self.largest).over(4));
        self.largest = self.floor;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn keeps_the_largest_deviation_and_decays_by_quarters() {
        let mut v = LinuxVariation::new(MS(40));
        v.start(MS(50));
        assert_eq!(v.used(), MS(200));
        // 200 + (100 − 200/4)
        v.add(MS(100), MS(200));
        assert_eq!(v.used(), MS(250));
        v.end_round();
        // 250 − 250/4 for an RTT equal to the mean; the maximum of this round is below 250.
        v.add(MS(100), MS(100));
        assert_eq!(v.used(), MS(250));
        v.end_round();
        // 250 − (250 − 187.5)/4
        assert_eq!(v.used(), Duration::from_micros(234_375));
        for _ in 0..40 {
            v.add(MS(100), MS(100));
            v.end_round();
        }
        assert!((MS(40)..MS(41)).contains(&v.used()), "{:?}", v.used());
    }

    #[test]
    fn a_shorter_round_trip_weighs_an_eighth() {
        let (mut slower, mut faster) = (LinuxVariation::new(MS(1)), LinuxVariation::new(MS(1)));
        slower.add(MS(100), MS(180));
        faster.add(MS(100), MS(20));
        assert_eq!((slower.used(), faster.used()), (MS(80), MS(10)));
    }
}
