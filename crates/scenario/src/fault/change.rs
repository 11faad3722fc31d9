//! Changes of the rate or the delay of a hop.

use serde::{Deserialize, Serialize};

use crate::keys::keys;
use crate::{BitRate, Delay, Time};

keys! {
    /// Change of a hop, `kind = "change"`: its rate, its delay or both are set to a value drawn at
    /// random from those listed that differ from the current one.
    pub struct HopChange expecting "a table with the keys of a change" {
        /// Number of the hop.
        hop: u32,
        /// Trigger of the change: `"partition"`, the end of each partition of this hop. Alternative
        /// to `network.fault.at`.
        after: Option<ChangeTrigger> => "none",
        /// Time of a single change. Alternative to `network.fault.after`.
        at: Option<Time> => "none",
        /// Candidate rates.
        rate: Vec<BitRate> => "none, the rate is unchanged",
        /// Candidate delays.
        delay: Vec<Delay> [inside()] => "none, the delay is unchanged",
    }
}

/// Trigger of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeTrigger {
    /// `"partition"`: the end of each partition of the same hop.
    Partition,
}
