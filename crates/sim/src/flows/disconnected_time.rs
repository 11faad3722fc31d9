//! The time for which an aid considers its connection disconnected.

use driftway_base::{Duration, Instant};

/// The time for which an aid considers its connection disconnected.
#[derive(Debug, Default)]
pub struct DisconnectedTime {
    /// The start of the present disconnection, and whether the report was false: the failed link was
    /// in range.
    since: Option<(Instant, bool)>,
    total: Duration,
    total_false: Duration,
}

impl DisconnectedTime {
    /// Records whether the aid considers the connection disconnected; `is_false` checks the report, and
    /// is called only when a disconnection begins.
    pub fn update(&mut self, now: Instant, disconnected: bool, is_false: impl FnOnce() -> bool) {
        if disconnected == self.since.is_some() {
            return;
        }
        (self.total, self.total_false) = self.totals_at(now);
        self.since = disconnected.then(|| (now, is_false()));
    }

    /// The time disconnected up to `end`, and the part of it that false reports caused.
    pub fn totals_at(&self, end: Instant) -> (Duration, Duration) {
        let Some((since, is_false)) = self.since else { return (self.total, self.total_false) };
        let last = end.since(since);
        let falsely = if is_false { self.total_false + last } else { self.total_false };
        (self.total + last, falsely)
    }
}
