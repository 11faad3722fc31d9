//! Consecutive timeouts, which may be a connectivity disruption (RFC 6069).

use driftway_base::{Duration, Instant};

/// Consecutive timeouts of one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disruption {
    /// Time of the first timeout.
    first_timeout: Instant,
    /// Time of the last timeout, and of the retransmission that it caused.
    last_timeout: Instant,
    /// A back-off has been reverted since.
    reverted: bool,
}

impl Disruption {
    /// The disruption after another timeout at `now`.
    pub fn after_timeout(before: Option<Self>, now: Instant) -> Self {
        let first_timeout = before.map_or(now, |disruption| disruption.first_timeout);
        Self {
            first_timeout,
            last_timeout: now,
            reverted: before.is_some_and(|disruption| disruption.reverted),
        }
    }

    /// Time of the last timeout.
    pub fn last_timeout(&self) -> Instant {
        self.last_timeout
    }

    /// Records that a back-off was reverted.
    pub fn mark_reverted(&mut self) {
        self.reverted = true;
    }

    /// Time of the first timeout, if a back-off has been reverted since.
    pub fn reverted_since(&self) -> Option<Instant> {
        self.reverted.then_some(self.first_timeout)
    }

    /// The same disruption after timers were frozen for `frozen_for`.
    pub fn postponed_by(self, frozen_for: Duration) -> Self {
        Self {
            first_timeout: self.first_timeout + frozen_for,
            last_timeout: self.last_timeout + frozen_for,
            ..self
        }
    }
}
