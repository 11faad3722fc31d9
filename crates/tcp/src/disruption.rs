//! Consecutive timeouts, which may be a connectivity disruption (RFC 6069).

use driftway_base::{Duration, Instant};

/// Consecutive timeouts of one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disruption {
    /// Time of the first timeout.
    first: Instant,
    /// Time of the last timeout, and of the retransmission that it caused.
    last: Instant,
    /// A back-off has been reverted since.
    reverted: bool,
}

impl Disruption {
    /// The disruption after another timeout at `now`.
    pub fn goes_on(before: Option<Self>, now: Instant) -> Self {
        let first = before.map_or(now, |disruption| disruption.first);
        Self { first, last: now, reverted: before.is_some_and(|disruption| disruption.reverted) }
    }

    /// Time of the last timeout.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// Records that a back-off was reverted.
    pub fn revert(&mut self) {
        self.reverted = true;
    }

    /// Time of the first timeout, if a back-off has been reverted since.
    pub fn reverted_since(&self) -> Option<Instant> {
        self.reverted.then_some(self.first)
    }

    /// The same disruption after timers were frozen for `still`.
    pub fn later_by(self, still: Duration) -> Self {
        Self { first: self.first + still, last: self.last + still, ..self }
    }
}
