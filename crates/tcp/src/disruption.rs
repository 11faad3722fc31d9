//! Timeouts in a row: a connectivity disruption, perhaps (RFC 6069).

use driftway_base::{Duration, Instant};

/// Timeouts of one segment in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disruption {
    /// When the first of them was.
    first: Instant,
    /// When the last of them was: the segment went again then.
    last: Instant,
    /// Has a back-off been taken back since?
    reverted: bool,
}

impl Disruption {
    /// Another timeout.
    pub fn goes_on(before: Option<Self>, now: Instant) -> Self {
        let first = before.map_or(now, |disruption| disruption.first);
        Self { first, last: now, reverted: before.is_some_and(|disruption| disruption.reverted) }
    }

    /// When the last of them was.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// A back-off is taken back.
    pub fn revert(&mut self) {
        self.reverted = true;
    }

    /// When the first of them was, if a back-off has been taken back since.
    pub fn reverted_since(&self) -> Option<Instant> {
        self.reverted.then_some(self.first)
    }

    /// Time stood still for so long.
    pub fn later_by(self, still: Duration) -> Self {
        Self { first: self.first + still, last: self.last + still, ..self }
    }
}
