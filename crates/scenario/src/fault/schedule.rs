//! Times at which a fault occurs.

use driftway_base::{Duration, Instant};

use crate::Time;

/// Schedule of a recurring event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Start of the first occurrence.
    pub first: Duration,
    /// Time from one start to the next; `None`: there is only one.
    pub every: Option<Duration>,
    /// Number of occurrences; `None`: unlimited.
    pub count: Option<u32>,
}

impl Schedule {
    pub(super) fn new(
        first: Option<Time>,
        every: Option<Time>,
        count: Option<u32>,
    ) -> Option<Self> {
        let Time(first) = first.or(every)?;
        Some(Self { first, every: every.map(|Time(gap)| gap), count })
    }

    /// Start of occurrence `n`, counted from 0; `None` if there is no such occurrence.
    pub fn nth(self, n: u32) -> Option<Instant> {
        if self.count.is_some_and(|count| n >= count) {
            return None;
        }
        match self.every {
            Some(gap) => Some(Instant::ZERO + self.first + gap.times(u64::from(n))),
            None => (n == 0).then(|| Instant::ZERO + self.first),
        }
    }
}
