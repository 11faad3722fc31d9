//! Usage of the congestion window (RFC 2861, RFC 7661): an unused window is not a measure of the
//! path.

use driftway_base::{Instant, Seq};

use crate::growth::Window;

/// Outstanding data after a segment has been sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub una: Seq,
    pub max: Seq,
    /// No further segment fits into the congestion window.
    pub full: bool,
}

/// Usage of the congestion window in this round trip and since it was last full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowUse {
    /// The window was full in this round trip.
    full: bool,
    /// Maximum FlightSize in this round trip (bytes).
    most: u32,
    /// The round trip ends when this is acknowledged.
    round_end: Seq,
    /// Start of the time in which the window has not been full, or last reduction because of that.
    unfilled_since: Instant,
    /// Maximum FlightSize since then (bytes).
    used: u32,
}

impl WindowUse {
    /// Nothing has been sent; the initial sequence number is `iss`.
    pub fn new(iss: Seq) -> Self {
        let unfilled_since = Instant::ZERO;
        Self { full: false, most: 0, round_end: iss, unfilled_since, used: 0 }
    }

    /// Records that data has been sent.
    pub fn on_sent(&mut self, now: Instant, window: &Window, out: Outstanding) {
        let outstanding = out.max.since(out.una);
        let more = !self.full && outstanding > self.most;
        if out.una.at_or_after(self.round_end) || out.full || more {
            self.full = out.full;
            self.most = outstanding;
            self.round_end = out.max;
        }
        if self.may_grow(window) {
            self.start_over(now);
        } else {
            self.used = self.used.max(outstanding);
        }
    }

    /// True if acknowledgments of the data sent may grow the window. In slow start up to twice the
    /// data outstanding: no more than with a window of that size.
    pub fn may_grow(&self, window: &Window) -> bool {
        let starting = window.cwnd < window.ssthresh;
        self.full || (starting && window.cwnd < self.most.saturating_mul(2))
    }

    /// Start of the time in which the window has not been full.
    pub fn unfilled_since(&self) -> Instant {
        self.unfilled_since
    }
    /// Maximum FlightSize since then (bytes).
    pub fn used(&self) -> u32 {
        self.used
    }
    /// Restarts the time in which the window is not full.
    pub fn start_over(&mut self, now: Instant) {
        self.unfilled_since = now;
        self.used = 0;
    }
}
