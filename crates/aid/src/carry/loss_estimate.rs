//! Is a peer that does not answer out of reach, or is the path congested?
//!
//! Silence alone tells nothing: where a third of what is sent is lost, every tenth segment is lost
//! twice in a row. So the question is how likely so many losses are on *this* connection, by what it
//! has lost before. Only transmissions that a timeout separates count, because a full queue drops
//! neighbours together.
//!
//! And as this may still be wrong, what is sent to find out takes a small share of what the connection
//! carried before: a path that is congested is not loaded with more than that.

use driftway_base::{Duration, Instant};

/// What was sent, and what of it was lost (segments), with recent ones counting more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossEstimate {
    sent: u64,
    lost: u64,
}

/// After so many segments, what was counted counts half. With fewer than 32 no loss rate is known
/// well enough for two losses in a row to be unlikely.
const HALVING_SEGMENTS: u64 = 128;

/// Losses in a row that are less likely than that do not occur.
const UNLIKELY_ONE_IN: u64 = 1000;

/// Fixed point: what stands for one.
const ONE: u64 = 1 << 20;

impl LossEstimate {
    pub fn on_sent(&mut self, segments: u64, lost: u64) {
        self.sent = self.sent.saturating_add(segments);
        self.lost = self.lost.saturating_add(lost);
        while self.sent >= HALVING_SEGMENTS {
            (self.sent, self.lost) = (self.sent / 2, self.lost / 2);
        }
    }

    /// Is it unlikely that so many were lost one after another? The probability of one loss is
    /// estimated by Laplace's rule of succession, which takes little for granted while little is known.
    pub fn is_run_unlikely(&self, in_a_row: u32) -> bool {
        let one = ONE * (self.lost + 1).min(self.sent + 2) / (self.sent + 2);
        let mut all = ONE;
        (0..in_a_row).any(|_| {
            all = all * one / ONE;
            all * UNLIKELY_ONE_IN <= ONE
        })
    }

    /// Are more than `few` lost, and more than one in `one_in`?
    pub fn exceeds(&self, few: u32, one_in: u32) -> bool {
        self.lost > few.into() && self.lost * u64::from(one_in) > self.sent
    }
}

/// What the peer has acknowledged, and in what time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryEstimate {
    bytes: u64,
    span: Duration,
    last: Option<Instant>,
}

/// After so long, what was counted counts half.
const HALVING_TIME: Duration = Duration::from_secs(4);

/// Probes take at most one byte for so many that were delivered in the same time.
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

    /// The time in which `bytes` are a small share; `None` if nothing was delivered.
    pub fn probe_interval(&self, bytes: u32) -> Option<Duration> {
        let nanos = u128::from(self.span.as_nanos()) * u128::from(bytes) * u128::from(PROBE_SHARE);
        let nanos = nanos.checked_div(self.bytes.into())?;
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// How many losses in a row are too many, after so many segments of which so many were lost.
    fn too_many(sent: u64, lost: u64) -> Option<u32> {
        let mut losses = LossEstimate::default();
        losses.on_sent(sent, lost);
        (1..100).find(|in_a_row| losses.is_run_unlikely(*in_a_row))
    }

    #[test]
    fn the_more_is_lost_the_more_losses_are_chance() {
        let lost = [0, 3, 10, 30, 60, 100].map(|lost| too_many(100, lost));
        assert_eq!(lost, [2, 3, 4, 6, 14, 99].map(Some).map(|n| n.filter(|n| *n < 99)));
        // Nothing is known, and little.
        assert_eq!([too_many(0, 0), too_many(10, 0)], [Some(10), Some(3)]);
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut losses = LossEstimate::default();
        losses.on_sent(100, 100);
        assert!(losses.exceeds(3, 2) && !losses.exceeds(100, 2));
        (0..1000).for_each(|_| losses.on_sent(1, 0));
        assert!(losses.is_run_unlikely(2) && !losses.exceeds(3, 100));
        losses.on_sent(u64::MAX, u64::MAX);
        assert!(!losses.is_run_unlikely(100));
    }

    #[test]
    fn probes_take_a_twentieth_of_what_was_delivered() {
        let mut delivered = DeliveryEstimate::default();
        assert_eq!(delivered.probe_interval(1), None);
        for ms in (0..60_000).step_by(10) {
            delivered.on_acknowledged(Instant::from_millis(ms), 1000);
        }
        let gap = delivered.probe_interval(1000).unwrap();
        assert!(gap.abs_diff(Duration::from_millis(200)) < Duration::from_millis(2), "{gap:?}");
        // The flow has become slow.
        for s in 60..120 {
            delivered.on_acknowledged(Instant::from_secs(s), 1000);
        }
        let gap = delivered.probe_interval(1000).unwrap();
        assert!(gap >= Duration::from_secs(15) && gap <= Duration::from_secs(20), "{gap:?}");
    }
}
