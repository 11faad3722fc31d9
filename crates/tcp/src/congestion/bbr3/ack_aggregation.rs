//! Aggregation of acknowledgments (draft-ietf-ccwg-bbr-04 §5.5.9): how much more than the bandwidth
//! is acknowledged at once, for which the window needs room.

use driftway_base::{Duration, Instant};

use crate::congestion::path::RoundMaximum;

/// Rounds of the maximum (ExtraAckedFilterLen); one in Startup.
const ROUNDS: usize = 10;

/// Excess of acknowledged data, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckAggregation {
    excess: RoundMaximum<ROUNDS>,
    since: Instant,
    acked: f64,
}

/// Contents of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub bytes: f64,
    pub round: u64,
    /// Estimated bandwidth (bytes per second).
    pub bandwidth: f64,
    pub cwnd: f64,
    pub in_startup: bool,
}

impl AckAggregation {
    /// Starts an interval.
    pub fn restart(&mut self, now: Instant) {
        self.since = now;
    }
    /// Handles acknowledged data (BBRUpdateACKAggregation).
    pub fn on_acked(&mut self, now: Instant, acked: &Acked) {
        let mut expected = acked.bandwidth * now.since(self.since).as_secs_f64();
        if self.acked <= expected {
            (self.acked, self.since, expected) = (0.0, now, 0.0);
        }
        self.acked += acked.bytes;
        self.excess.add(acked.round, (self.acked - expected).clamp(0.0, acked.cwnd.max(0.0)));
        if acked.in_startup {
            self.excess.forget_before(acked.round, 1);
        }
    }
    /// Room for the excess in the window.
    pub fn room(&self) -> f64 {
        self.excess.get()
    }
    /// Postpones its time by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.since = (self.since + frozen_for).min(now);
    }
}
