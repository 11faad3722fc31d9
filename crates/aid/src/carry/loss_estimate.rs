//! Loss and delivery estimates, to distinguish an unreachable peer from congestion.
//!
//! Silence alone is not conclusive: at a loss rate of one third, one segment in ten is lost twice in
//! succession. The question is therefore how likely a number of successive losses is on *this* connection,
//! given its previous losses. Only transmissions separated by a timeout count, because a full queue drops
//! adjacent packets together.
//!
//! As this estimate may be wrong, probes use a small share of the previous throughput, which limits the load
//! on a congested path.

use driftway_base::{Duration, Instant};

/// Segments sent and lost, weighted towards recent ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossEstimate {
    sent: u64,
    lost: u64,
}

/// Counts are halved after this many segments. With fewer than 32 the loss rate is not known well enough to
/// make two successive losses unlikely.
const HALVING_SEGMENTS: u64 = 128;

/// Successive losses less likely than one in this many are excluded.
const UNLIKELY_ONE_IN: u64 = 1000;

/// 1 in fixed-point arithmetic.
const ONE: u64 = 1 << 20;

impl LossEstimate {
    pub fn on_sent(&mut self, segments: u64, lost: u64) {
        self.sent = self.sent.saturating_add(segments);
        self.lost = self.lost.saturating_add(lost);
        while self.sent >= HALVING_SEGMENTS {
            (self.sent, self.lost) = (self.sent / 2, self.lost / 2);
        }
    }

    /// Returns true if this many successive losses are unlikely. The probability of one loss is estimated by
    /// Laplace's rule of succession, which is cautious with few observations.
    pub fn is_run_unlikely(&self, in_a_row: u32) -> bool {
        let one = ONE * (self.lost + 1).min(self.sent + 2) / (self.sent + 2);
        let mut all = ONE;
        (0..in_a_row).any(|_| {
            all = all * one / ONE;
            all * UNLIKELY_ONE_IN <= ONE
        })
    }

    /// Returns true if more than `few` segments are lost, and more than one in `one_in`.
    pub fn exceeds(&self, few: u32, one_in: u32) -> bool {
        self.lost > few.into() && self.lost * u64::from(one_in) > self.sent
    }
}

/// Amount of acknowledged data and the time it took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryEstimate {
    bytes: u64,
    span: Duration,
    last: Option<Instant>,
}

/// Counts are halved after this time.
const HALVING_TIME: Duration = Duration::from_secs(4);

/// Probes use at most one byte per this many delivered in the same time.
const PROBE_SHARE: u64 = 20;

impl DeliveryEstimate {
    pub fn on_acknowledged(&mut self, now: Instant, bytes: u32) {
        let last = self.last.replace(now).unwrap_or(now);
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        self.span = self.span + now.since(last);
        if self.span > HALVING_TIME {
            (self.bytes, self.span) = (self.bytes / 2, self.span.over(2));
        }
    }

    /// Interval at which probes of `bytes` use that share; `None` if nothing was delivered.
    pub fn probe_interval(&self, bytes: u32) -> Option<Duration> {
        let nanos = u128::from(self.span.as_nanos()) * u128::from(bytes) * u128::from(PROBE_SHARE);
        let nanos = nanos.checked_div(self.bytes.into())?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Number of successive losses that is unlikely after `sent` segments of which `lost` were lost.
    fn too_many(sent: u64, lost: u64) -> Option<u32> {
        let mut losses = LossEstimate::default();
        losses.on_sent(sent, lost);
        (1..100).find(|in_a_row| losses.is_run_unlikely(*in_a_row))
    }

    #[test]
    fn the_limit_of_successive_losses_grows_with_the_loss_rate() {
        let lost = [0, 3, 10, 30, 60, 100].map(|lost| too_many(100, lost));
        assert_eq!(lost, [2, 3, 4, 6, 14, 99].map(Some).map(|n| n.filter(|n| *n < 99)));
        // No observations, and few.
        assert_eq!([too_many(0, 0), too_many(10, 0)], [Some(10), Some(3)]);
    }

    #[test]
    fn old_observations_are_forgotten() {
        let mut losses = LossEstimate::default();
        losses.on_sent(100, 100);
        assert!(losses.exceeds(3, 2) && !losses.exceeds(100, 2));
        (0..1000).for_each(|_| losses.on_sent(1, 0));
        assert!(losses.is_run_unlikely(2) && !losses.exceeds(3, 100));
        losses.on_sent(u64::MAX, u64::MAX);
        assert!(!losses.is_run_unlikely(100));
    }

    #[test]
    fn probes_use_a_twentieth_of_the_delivery_rate() {
        let mut delivered = DeliveryEstimate::default();
        assert_eq!(delivered.probe_interval(1), None);
        for ms in (0..60_000).step_by(10) {
            delivered.on_acknowledged(Instant::from_millis(ms), 1000);
        }
        let gap = delivered.probe_interval(1000).unwrap();
        assert!(gap.abs_diff(Duration::from_millis(200)) < Duration::from_millis(2), "{gap:?}");
        // The flow becomes slow.
        for s in 60..120 {
            delivered.on_acknowledged(Instant::from_secs(s), 1000);
        }
        let gap = delivered.probe_interval(1000).unwrap();
        assert!(gap >= Duration::from_secs(15) && gap <= Duration::from_secs(20), "{gap:?}");
    }
}
