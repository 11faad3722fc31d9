//! How much of the congestion window is used (RFC 2861, RFC 7661): what was not used says nothing
//! about the path.

use driftway_base::{Instant, Seq};

use crate::growth::CongestionWindow;

/// What is outstanding after a segment of data has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutstandingData {
    pub una: Seq,
    pub max: Seq,
    /// No further segment fits into the congestion window.
    pub cwnd_full: bool,
}

/// The use of the window, in this round trip and since it was last full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CwndUsage {
    /// It was full in this round trip.
    full: bool,
    /// The most that was outstanding in it (bytes).
    max_outstanding: u32,
    /// The round trip is over when this is acknowledged.
    round_end: Seq,
    /// Since when the window has not been full, or since it last fell for that.
    unfilled_since: Instant,
    /// The most that was outstanding since then (bytes).
    max_used: u32,
}

impl CwndUsage {
    /// Nothing is sent; the first number is `iss`.
    pub fn new(iss: Seq) -> Self {
        let unfilled_since = Instant::ZERO;
        Self { full: false, max_outstanding: 0, round_end: iss, unfilled_since, max_used: 0 }
    }

    /// Data has left.
    pub fn on_sent(&mut self, now: Instant, window: &CongestionWindow, out: OutstandingData) {
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

    /// Whether acknowledgments of what was sent may open the window. In slow start up to twice what
    /// was outstanding: no more than it would be, had the window been that large.
    pub fn may_grow(&self, window: &CongestionWindow) -> bool {
        let starting = window.cwnd < window.ssthresh;
        self.full || (starting && window.cwnd < self.max_outstanding.saturating_mul(2))
    }

    /// Since when the window has not been full.
    pub fn unfilled_since(&self) -> Instant {
        self.unfilled_since
    }
    /// What of it was used since then (bytes).
    pub fn max_used(&self) -> u32 {
        self.max_used
    }
    /// The time in which the window is not full begins now.
    pub fn restart(&mut self, now: Instant) {
        self.unfilled_since = now;
        self.max_used = 0;
    }
}
