//! Aggregation of acknowledgments: how much more than the bandwidth is acknowledged at once, for
//! which the window needs room.

use driftway_base::{Duration, Instant};

use crate::congestion::path::RoundMaximum;

/// Rounds in one half of the window of the maximum.
const ROUNDS: u64 = 5;
/// The excess counts up to the bandwidth in this time.
const MOST: Duration = Duration::from_millis(100);

/// Excess of acknowledged data, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    excess: RoundMaximum<2>,
    epoch_start: Instant,
    epoch_acked: f64,
}

impl AckAggregation {
    /// Starts an epoch.
    pub fn restart(&mut self, now: Instant) {
        (self.epoch_start, self.epoch_acked) = (now, 0.0);
    }

    /// Handles `acked` bytes at an estimated `bandwidth` (bytes per second).
    pub fn on_acked(&mut self, now: Instant, round: u64, acked: u32, bandwidth: f64, cwnd: u32) {
        let mut expected = bandwidth * now.since(self.epoch_start).as_secs_f64();
        if self.epoch_acked <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.epoch_acked += f64::from(acked);
        let excess = (self.epoch_acked - expected).clamp(0.0, f64::from(cwnd));
        self.excess.add(round / ROUNDS, excess);
    }

    /// Room for the excess in the window.
    pub fn room(&self, bandwidth: f64) -> f64 {
        self.excess.get().min(bandwidth * MOST.as_secs_f64())
    }

    /// Postpones its time by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.epoch_start = (self.epoch_start + frozen_for).min(now);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_excess_over_the_bandwidth_is_remembered_for_five_to_ten_rounds() {
        let mut aggregation = AckAggregation::default();
        let mut ack = |ms, round, bytes| {
            let now = Instant::from_millis(ms);
            aggregation.on_acked(now, round, bytes, 1e6, 100_000);
            aggregation.room(1e6)
        };
        // A megabyte per second: 1000 bytes in each millisecond.
        assert_eq!(ack(1, 1, 1000), 1000.0);
        assert_eq!(ack(2, 1, 1000), 1000.0);
        assert_eq!(ack(2, 1, 9000), 10_000.0);
        assert_eq!(ack(50, 6, 1000), 10_000.0);
        assert_eq!(ack(90, 10, 1000), 1000.0, "two halves of five rounds");
    }
}
