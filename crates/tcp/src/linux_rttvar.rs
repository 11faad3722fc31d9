//! RTTVAR as in Linux's retransmission timeout (Sarolahti and Kuznetsov, "Congestion Control in
//! Linux TCP", USENIX 2002, §4): the largest mean deviation of each round trip, which decays slowly
//! and has a floor. A falling RTT does not raise the timeout, and the minimum bounds the variation
//! instead of the sum.

use driftway_base::Duration;

/// The deviations, each times four, as the timeout uses them.
#[derive(Clone, Debug)]
pub(crate) struct LinuxRttvar {
    floor: Duration,
    /// Mean deviation (Linux: mdev).
    mdev: Duration,
    /// Largest mean deviation in this round trip (mdev_max).
    mdev_max: Duration,
    /// Variation added to SRTT in the timeout (rttvar).
    rttvar: Duration,
}

impl LinuxRttvar {
    pub fn new(floor: Duration) -> Self {
        Self { floor, mdev: Duration::ZERO, mdev_max: floor, rttvar: floor }
    }

    /// Variation added to SRTT in the timeout.
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// Restarts with this deviation, as after a first measurement.
    pub fn restart(&mut self, deviation: Duration) {
        self.mdev = deviation.times(4);
        self.rttvar = self.mdev.max(self.floor);
        self.mdev_max = self.rttvar;
    }

    /// Adds one round-trip sample.
    pub fn sample(&mut self, srtt: Duration, rtt: Duration) {
        let (error, quarter) = (srtt.abs_diff(rtt), self.mdev.over(4));
        if error >= quarter {
            let excess = error.saturating_sub(quarter);
            // A falling RTT counts for an eighth only.
            self.mdev = self.mdev + if rtt < srtt { excess.over(8) } else { excess };
        } else {
            self.mdev = self.mdev.saturating_sub(quarter.saturating_sub(error));
        }
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
    }

    /// Ends a round of measurements.
    pub fn end_round(&mut self) {
        self.rttvar = self.rttvar.saturating_sub(self.rttvar.saturating_sub(self.mdev_max).over(4));
        self.mdev_max = self.floor;
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn keeps_the_largest_deviation_and_decays_by_quarters() {
        let mut v = LinuxRttvar::new(MS(40));
        v.restart(MS(50));
        assert_eq!(v.rttvar(), MS(200));
        // 200 + (100 − 200/4)
        v.sample(MS(100), MS(200));
        assert_eq!(v.rttvar(), MS(250));
        v.end_round();
        // 250 − 250/4 for an RTT equal to the mean; the maximum of this round is below 250.
        v.sample(MS(100), MS(100));
        assert_eq!(v.rttvar(), MS(250));
        v.end_round();
        // 250 − (250 − 187.5)/4
        assert_eq!(v.rttvar(), Duration::from_micros(234_375));
        for _ in 0..40 {
            v.sample(MS(100), MS(100));
            v.end_round();
        }
        assert!((MS(40)..MS(41)).contains(&v.rttvar()), "{:?}", v.rttvar());
    }

    #[test]
    fn a_shorter_round_trip_weighs_an_eighth() {
        let (mut slower, mut faster) = (LinuxRttvar::new(MS(1)), LinuxRttvar::new(MS(1)));
        slower.sample(MS(100), MS(180));
        faster.sample(MS(100), MS(20));
        assert_eq!((slower.rttvar(), faster.rttvar()), (MS(80), MS(10)));
    }
}
