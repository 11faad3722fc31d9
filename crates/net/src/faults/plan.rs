//! The faults of a scenario, and what they act on.

use driftway_base::LinkId;
use driftway_scenario::{Fault, Link, Time};
use typed_index_collections::TiSlice;

/// The faults of a scenario, and what they act on.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan<'a> {
    /// The faults.
    pub faults: &'a [Fault],
    /// The links that faults can name: hop 1 is the first.
    pub hops: &'a TiSlice<LinkId, Link>,
    /// The time within which random times fall.
    pub duration: Time,
    /// The seed of the random streams.
    pub seed: u64,
}

/// Returns the link of a hop, which is numbered from 1.
pub(super) fn link_of(hop: u32) -> LinkId {
    LinkId::new(hop - 1)
}

impl FaultPlan<'_> {
    pub(super) fn hop(&self, hop: u32) -> &Link {
        &self.hops[link_of(hop)]
    }
}
