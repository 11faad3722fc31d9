//! The faults of a scenario, and what they act on.

use driftway_scenario::{Fault, Link, Time};

/// The faults of a scenario, and what they act on.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan<'a> {
    /// The faults.
    pub faults: &'a [Fault],
    /// The links that faults can name: hop 1 is the first.
    pub hops: &'a [Link],
    /// The time within which random times fall.
    pub duration: Time,
    /// The seed of the random streams.
    pub seed: u64,
}

impl FaultPlan<'_> {
    pub(super) fn hop(&self, hop: u32) -> &Link {
        &self.hops[hop as usize - 1]
    }
}
