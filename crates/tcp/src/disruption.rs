//! Timeouts in a row: a connectivity disruption, perhaps (RFC 6069).

use driftway_base::{Duration, Instant};

/// Timeouts of one segment in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disruption {
    /// When the first of them was.
    first_timeout: Instant,
    /// When the last of them was: the segment went again then.
    last_timeout: Instant,
    /// Has a back-off been taken back since?
    reverted: bool,
}

impl Disruption {
    /// Another timeout.
    pub fn after_timeout(before: Option<Self>, now: Instant) -> Self {
        let first = before.map_or(now, |disruption| disruption.first_timeout);
        Self { first_timeout: first, last_timeout: now, reverted: before.is_some_and(|disruption| disruption.reverted) }
    }

    /// When the last of them was.
    pub fn last_timeout(&self) -> Instant {
        self.last_timeout
    }

    /// A back-off is taken back.
    pub fn mark_reverted(&mut self) {
        self.reverted = true;
    }

    /// When the first of them was, if a back-off has been taken back since.
    pub fn reverted_since(&self) -> Option<Instant> {
        self.reverted.then_some(self.first_timeout)
    }

    /// Time stood still for so long.
    pub fn postponed_by(self, still: Duration) -> Self {
        Self { first_timeout: self.first_timeout + still, last_timeout: self.last_timeout + still, ..self }
    }
}
