//! The tables `[[network.fault]]`: faults of a network and their schedule.

mod change;
mod congestion;
mod cross_traffic;
mod direction;
mod fading;
mod interference;
mod outage;
mod partition;
mod radio_down;
mod reordering;
mod schedule;

use std::fmt;

use driftway_base::Rate;

use crate::tagged::tagged;
use crate::{BitRate, Time};

pub use change::{ChangeTrigger, HopChange};
pub use congestion::Congestion;
pub use direction::Direction;
pub use fading::FalseWarning;
pub use interference::{Interference, InterferenceHop, Spacing};
pub use outage::{Outage, OutagePlace};
pub use partition::{Partition, PartitionHop, PartitionQueue, PartitionSignal};
pub use radio_down::{RadioDown, RadioSignal};
pub use reordering::{ReorderMode, Reordering};
pub use schedule::Schedule;

tagged! {
    /// A fault of a network, `[[network.fault]]`; the key `kind` selects the variant. In a mixed network
    /// the hops are its wires, and hop 1 is the first `[[network.wire]]` of the file.
    pub enum Fault by "kind",
    /// A kind of fault, the value of the key `kind` of `[[network.fault]]`.
    #[derive(PartialOrd, Ord)]
    pub enum FaultKind {
        /// `"partition"`: an outage of a hop in both directions.
        Partition(Partition) = "partition",
        /// `"congestion"`: bursts of cross traffic through a hop.
        Congestion(Congestion) = "congestion",
        /// `"reordering"`: packets overtake others.
        Reordering(Reordering) = "reordering",
        /// `"interference"`: continuous cross traffic through a hop.
        Interference(Interference) = "interference",
        /// `"change"`: a hop changes its rate or delay.
        Change(HopChange) = "change",
        /// `"radio-down"`: an outage of the radio of a node, in networks of kind `"adhoc"` and
        /// `"mixed"`. All other kinds but `"fading"` and `"outage"` are of paths and of the wires of mixed networks.
        RadioDown(RadioDown) = "radio-down",
        /// `"fading"`: a false warning of an outage that does not occur.
        Fading(FalseWarning) = "fading",
        /// `"outage"`: an outage of a hop, or of all that a node has, of which nobody is notified.
        Outage(Outage) = "outage",
    }
}

impl FaultKind {
    /// Returns true if such a fault interrupts a hop or a radio.
    pub const fn is_outage(self) -> bool {
        matches!(self, Self::Partition | Self::RadioDown | Self::Outage)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Fills in the defaults that depend on other keys. `rate_of` returns the rate of a hop, if it exists, in
/// the mean; `places_of` what a node has.
pub(crate) fn resolve(
    faults: &mut [Fault],
    rate_of: impl Fn(u32) -> Option<BitRate>,
    places_of: impl Fn(u32) -> Vec<OutagePlace>,
) {
    for fault in faults {
        match fault {
            Fault::Congestion(flood) => {
                let twice = |BitRate(hop)| BitRate(Rate::from_bps(hop.as_bps().saturating_mul(2)));
                flood.rate = flood.rate.or_else(|| rate_of(flood.hop).map(twice));
            }
            Fault::Reordering(fault) if fault.how == ReorderMode::Reverse => {
                fault.at_most = Some(Time(fault.at_most()));
            }
            Fault::Outage(fault) => {
                let of_hop = fault.hop.map(OutagePlace::Hop);
                let of_node = fault.node.into_iter().flat_map(&places_of);
                fault.places = of_hop.into_iter().chain(of_node).collect();
            }
            _ => {}
        }
    }
}
