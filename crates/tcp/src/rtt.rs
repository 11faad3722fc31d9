//! The retransmission timeout (RFC 6298).

use driftway_base::Duration;

use crate::linux_rttvar::LinuxRttvar;

/// Smoothed round-trip time (SRTT), its variation (RTTVAR), and the timeout (RTO) computed from
/// them.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    /// Linux's variation, which replaces RTTVAR and the minimum.
    linux_rttvar: Option<LinuxRttvar>,
    /// Computes RFC 793's timeout, without a variation.
    rfc_793: bool,
    rto: Duration,
    doublings: u32,
    /// Timeouts since the last sample.
    timeouts: u32,
    /// Timeouts after which the next sample counts as the first.
    clear_after: Option<u32>,
    granularity: Duration,
    /// The timeout is a multiple of it; zero: exact.
    unit: Duration,
    min: Duration,
    max: Duration,
    initial: Duration,
}

impl RttEstimator {
    /// Creates the estimator; the timeout is `initial` until the first sample (RFC 6298 §2.1).
    pub fn new(initial: Duration, min: Duration, max: Duration, granularity: Duration) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            linux_rttvar: None,
            rfc_793: false,
            rto: initial,
            doublings: 0,
            timeouts: 0,
            clear_after: None,
            granularity,
            unit: Duration::ZERO,
            min,
            max,
            initial,
        }
    }

    /// SRTT, once measured.
    pub fn srtt(&self) -> Option<Duration> {
        self.srtt
    }
    /// RTTVAR, the mean deviation of the round-trip time.
    pub fn rttvar(&self) -> Duration {
        self.rttvar
    }
    /// Sets the number of timeouts after which the next sample counts as the first (RFC 6298 §5).
    pub fn with_clear_after(mut self, after: Option<u32>) -> Self {
        self.clear_after = after;
        self
    }

    /// Selects Linux's variation and minimum.
    pub fn with_linux_rttvar(mut self, so: bool) -> Self {
        self.linux_rttvar = so.then(|| LinuxRttvar::new(self.min));
        self
    }

    /// Selects RFC 793's timeout.
    pub fn with_rfc_793(mut self, so: bool) -> Self {
        self.rfc_793 = so;
        self
    }

    /// Rounds the timeout up to a multiple of `unit`, before it is backed off.
    pub fn with_unit(mut self, unit: Duration) -> Self {
        self.unit = unit;
        self
    }

    /// RTO without back-off.
    pub fn base_rto(&self) -> Duration {
        self.rto
    }
    /// Number of back-offs in effect.
    pub fn doublings(&self) -> u32 {
        self.doublings
    }
    /// RTO with back-off, at most the maximum (RFC 6298 §2.5, §5.5).
    pub fn rto(&self) -> Duration {
        self.rto.times(1_u64 << self.doublings.min(32)).min(self.max)
    }

    /// Adds one measurement, which also ends the back-off (RFC 6298 §5, last paragraph).
    /// `per_round_trip` is the number of samples in one round trip: with timestamps the gains are
    /// divided by it, so that the estimator's memory is about the same (RFC 7323 §4.2).
    pub fn sample(&mut self, rtt: Duration, per_round_trip: u32) {
        let n = if self.linux_rttvar.is_some() { 1 } else { u64::from(per_round_trip.max(1)) };
        if let Some(linux) = &mut self.linux_rttvar {
            match self.srtt {
                None => linux.restart(rtt.over(2)),
                Some(srtt) => linux.sample(srtt, rtt),
            }
        }
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt.over(2);
            }
            Some(srtt) => {
                // RFC 6298 §2.3, beta 1/4 and alpha 1/8.
                let blend = |old: Duration, new: Duration, gain: u64| {
                    old.saturating_sub(old.over(gain)) + new.over(gain)
                };
                self.rttvar = blend(self.rttvar, srtt.abs_diff(rtt), 4 * n);
                self.srtt = Some(blend(srtt, rtt, 8 * n));
            }
        }
        self.update_rto();
    }

    /// Continues with these estimates (RFC 4015 §3.2, step 11).
    pub fn restore(&mut self, srtt: Duration, variation: Duration) {
        (self.srtt, self.rttvar) = (Some(srtt), variation);
        if let Some(linux) = &mut self.linux_rttvar {
            linux.restart(variation);
        }
        self.update_rto();
    }

    /// Ends a round of measurements: all data sent at its start is acknowledged.
    pub fn end_round(&mut self) {
        if let Some(linux) = &mut self.linux_rttvar {
            linux.end_round();
            self.update_rto();
        }
    }

    fn update_rto(&mut self) {
        let srtt = self.srtt.unwrap_or_default();
        let margin = self.linux_rttvar.as_ref().map_or(self.rttvar.times(4), LinuxRttvar::rttvar);
        let sum = match self.rfc_793 && self.linux_rttvar.is_none() {
            // RFC 793 §3.7: BETA × SRTT. Its ALPHA of 7/8 is RFC 6298's.
            true => srtt.times(2).max(self.granularity),
            false => srtt + margin.max(self.granularity),
        };
        let rounded = match self.unit.is_zero() {
            true => sum,
            false => self.unit.times(sum.as_nanos().div_ceil(self.unit.as_nanos())),
        };
        self.rto = rounded.clamp(self.min, self.max.max(self.min));
        (self.doublings, self.timeouts) = (0, 0);
    }

    /// Backs the timer off after a timeout (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        if self.rto() < self.max {
            self.doublings += 1;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        // The timeout stays unchanged until that sample.
        if self.clear_after.is_some_and(|after| self.timeouts >= after) {
            self.srtt = None;
        }
    }
    /// Reverts one back-off (RFC 6069 §4.2); true if there was one.
    pub fn undo_back_off(&mut self) -> bool {
        let doubled = self.doublings > 0;
        self.doublings -= u32::from(doubled);
        self.timeouts = self.timeouts.saturating_sub(1);
        doubled
    }
    /// Reverts all back-offs.
    pub fn clear_back_off(&mut self) {
        (self.doublings, self.timeouts) = (0, 0);
    }
    /// Starts from 3 s after the SYN was lost before any sample (RFC 6298 §5.7).
    pub fn on_syn_lost(&mut self) {
        if self.srtt.is_none() {
            self.rto = self.rto.max(Duration::from_secs(3)).min(self.max);
            self.doublings = 0;
        }
    }
    /// Discards all measurements; starts from `rto`, or from the initial timeout.
    pub fn reset(&mut self, rto: Option<Duration>) {
        self.srtt = None;
        self.rttvar = Duration::ZERO;
        (self.doublings, self.timeouts) = (0, 0);
        self.rto = rto.unwrap_or(self.initial).clamp(self.min.min(self.max), self.max);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn estimator() -> RttEstimator {
        RttEstimator::new(MS(1000), MS(200), MS(60_000), MS(1))
    }

    #[test]
    fn first_and_second_sample() {
        let mut e = estimator();
        assert_eq!(e.rto(), MS(1000));
        e.sample(MS(100), 1);
        assert_eq!((e.srtt(), e.rttvar(), e.rto()), (Some(MS(100)), MS(50), MS(300)));
        e.sample(MS(180), 1);
        // variation = 3/4·50 + 1/4·80, srtt = 7/8·100 + 1/8·180
        assert_eq!((e.srtt(), e.rto()), (Some(MS(110)), MS(110) + MS(4 * 57) + MS(2)));
    }

    /// RFC 6298 §5: the path may have changed after a long back-off.
    #[test]
    fn the_estimate_can_be_discarded_after_some_timeouts() {
        for (after, srtt) in
            [(None, MS(937) + driftway_base::Duration::from_micros(500)), (Some(4), MS(500))]
        {
            let mut e = estimator().with_clear_after(after);
            e.sample(MS(1000), 1);
            (0..4).for_each(|_| e.back_off());
            assert_eq!(e.rto(), MS(48_000));
            e.sample(MS(500), 1);
            assert_eq!(e.srtt(), Some(srtt));
        }
        // The same where the maximum prevents so many doublings.
        let mut e = estimator().with_clear_after(Some(4));
        e.sample(MS(10_000), 1);
        (0..4).for_each(|_| e.back_off());
        assert_eq!((e.rto(), e.doublings(), e.srtt()), (MS(60_000), 1, None));
    }

    #[test]
    fn doubles_up_to_the_maximum_and_ends_back_off_with_a_sample() {
        let mut e = estimator();
        e.sample(MS(1000), 1);
        assert_eq!(e.rto(), MS(3000));
        for expected in [6, 12, 24, 48, 60, 60] {
            e.back_off();
            assert_eq!(e.rto(), MS(expected * 1000));
        }
        e.sample(MS(1000), 1);
        assert_eq!(e.doublings(), 0);
        assert!(e.rto() < MS(3000));
    }

    #[test]
    fn rfc_793_has_no_variation() {
        let mut e = estimator().with_rfc_793(true);
        e.sample(MS(800), 1);
        assert_eq!(e.rto(), MS(1600));
        e.sample(MS(1600), 1);
        assert_eq!((e.srtt(), e.rto()), (Some(MS(900)), MS(1800)));
        for _ in 0..99 {
            e.sample(MS(10), 1);
        }
        assert_eq!(e.rto(), MS(200), "the minimum");
    }

    #[test]
    fn granularity_and_minimum_bound_it_below() {
        let mut e = RttEstimator::new(MS(1000), MS(0), MS(60_000), MS(500));
        e.sample(MS(0), 1);
        assert_eq!(e.rto(), MS(500));
        let mut e = estimator();
        e.sample(MS(10), 1);
        assert_eq!(e.rto(), MS(200));
    }

    #[test]
    fn many_samples_per_round_trip_weigh_less() {
        let (mut one, mut many) = (estimator(), estimator());
        one.sample(MS(100), 1);
        many.sample(MS(100), 10);
        one.sample(MS(500), 1);
        many.sample(MS(500), 10);
        assert!(many.srtt() < one.srtt() && many.srtt() > Some(MS(100)));
    }
}
