//! The tables `[[network.fault]]`: faults of a network and their schedule.

mod change;
mod congestion;
mod cross_traffic;
mod direction;
mod fading;
mod hop_or_word;
mod interference;
mod kind;
mod partition;
mod radio_down;
mod reordering;
mod schedule;

use driftway_base::Rate;
use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use crate::tagged::{self, Tagged};
use crate::{BitRate, Time};

pub use change::{ChangeTrigger, HopChange};
pub use congestion::Congestion;
pub use direction::Direction;
pub use fading::FalseWarning;
pub use interference::{Interference, InterferenceHop, Spacing};
pub use kind::FaultKind;
pub use partition::{Partition, PartitionHop, PartitionQueue, PartitionSignal};
pub use radio_down::{RadioDown, RadioSignal};
pub use reordering::{ReorderMode, Reordering};
pub use schedule::Schedule;

/// A fault of a network, `[[network.fault]]`; the key `kind` selects the variant. In a mixed network
/// the hops are its wires, and hop 1 is the first `[[network.wire]]` of the file.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// `"partition"`: an outage of a hop in both directions.
    Partition(Partition),
    /// `"congestion"`: bursts of cross traffic through a hop.
    Congestion(Congestion),
    /// `"reordering"`: packets overtake others.
    Reordering(Reordering),
    /// `"interference"`: continuous cross traffic through a hop.
    Interference(Interference),
    /// `"change"`: a hop changes its rate or delay.
    Change(HopChange),
    /// `"radio-down"`: an outage of the radio of a node, in networks of kind `"adhoc"` and
    /// `"mixed"`. All other kinds but `"fading"` are of paths and of the wires of mixed networks.
    RadioDown(RadioDown),
    /// `"fading"`: a false warning of an outage that does not occur.
    Fading(FalseWarning),
}

impl Fault {
    /// Value of the key `kind`.
    pub const fn kind(&self) -> FaultKind {
        match self {
            Self::Partition(_) => FaultKind::Partition,
            Self::Congestion(_) => FaultKind::Congestion,
            Self::Reordering(_) => FaultKind::Reordering,
            Self::Interference(_) => FaultKind::Interference,
            Self::Change(_) => FaultKind::Change,
            Self::RadioDown(_) => FaultKind::RadioDown,
            Self::Fading(_) => FaultKind::Fading,
        }
    }
}

/// Fills in the defaults that depend on other keys; `rate_of` returns the rate of a hop, if it exists.
pub(crate) fn resolve(faults: &mut [Fault], rate_of: impl Fn(u32) -> Option<BitRate>) {
    for fault in faults {
        match fault {
            Fault::Congestion(flood) => {
                let twice = |BitRate(hop)| BitRate(Rate::from_bps(hop.as_bps().saturating_mul(2)));
                flood.rate = flood.rate.or_else(|| rate_of(flood.hop).map(twice));
            }
            Fault::Reordering(fault) if fault.how == ReorderMode::Reverse => {
                fault.at_most = Some(Time(fault.at_most()));
            }
            _ => {}
        }
    }
}

/// Values of `kind`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Partition,
    Congestion,
    Reordering,
    Interference,
    Change,
    RadioDown,
    Fading,
}

impl<'de> Tagged<'de> for Fault {
    const KEY: &'static str = "kind";
    type Kind = Kind;
    fn read<A: MapAccess<'de>>(
        kind: Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match kind {
            Kind::Partition => Partition::deserialize(rest).map(Self::Partition),
            Kind::Congestion => Congestion::deserialize(rest).map(Self::Congestion),
            Kind::Reordering => Reordering::deserialize(rest).map(Self::Reordering),
            Kind::Interference => Interference::deserialize(rest).map(Self::Interference),
            Kind::Change => HopChange::deserialize(rest).map(Self::Change),
            Kind::RadioDown => RadioDown::deserialize(rest).map(Self::RadioDown),
            Kind::Fading => FalseWarning::deserialize(rest).map(Self::Fading),
        }
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
