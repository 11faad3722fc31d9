//! Usage of the congestion window (RFC 2861, RFC 7661): an unused window is not a measure of the
//! path.

use driftway_base::{Instant, Seq};

use crate::congestion::CongestionWindow;

/// Outstanding data after a segment has been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutstandingData {
    pub una: Seq,
    pub max: Seq,
    /// No further segment fits into the congestion window.
    pub cwnd_full: bool,
}

/// Usage of the congestion window in this round trip and since it was last full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CwndUsage {
    /// The window was full in this round trip.
    full: bool,
    /// Maximum FlightSize in this round trip (bytes).
    max_outstanding: u32,
    /// The round trip ends when this is acknowledged.
    round_end: Seq,
    /// Start of the time in which the window has not been full, or last reduction because of that.
    unfilled_since: Instant,
    /// Maximum FlightSize since then (bytes).
    max_used: u32,
}

impl CwndUsage {
    /// Nothing has been sent; the initial sequence number is `iss`.
    pub fn new(iss: Seq) -> Self {
        let unfilled_since = Instant::ZERO;
        Self { full: false, max_outstanding: 0, round_end: iss, unfilled_since, max_used: 0 }
    }

    /// Records that data has been sent.
    pub fn on_sent(&mut self, now: Instant, window: CongestionWindow, out: OutstandingData) {
        let outstanding = out.max.since(out.una);
        let more = !self.full && outstanding > self.max_outstanding;
        if out.una.at_or_after(self.round_end) || out.cwnd_full || more {
            self.full = out.cwnd_full;
            self.max_outstanding = outstanding;
            self.round_end = out.max;
        }
        if self.may_grow(window) {
            self.restart(now);
        } else {
            self.max_used = self.max_used.max(outstanding);
        }
    }

    /// True if acknowledgments of the data sent may grow the window. In slow start up to twice the
    /// data outstanding: no more than with a window of that size.
    pub fn may_grow(&self, window: CongestionWindow) -> bool {
        let starting = window.cwnd < window.ssthresh;
        self.full || (starting && window.cwnd < self.max_outstanding.saturating_mul(2))
    }

    /// Start of the time in which the window has not been full.
    pub fn unfilled_since(&self) -> Instant {
        self.unfilled_since
    }
    /// Maximum FlightSize since then (bytes).
    pub fn max_used(&self) -> u32 {
        self.max_used
    }
    /// Restarts the time in which the window is not full.
    pub fn restart(&mut self, now: Instant) {
        self.unfilled_since = now;
        self.max_used = 0;
    }
}
