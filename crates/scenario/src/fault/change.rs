//! Changes of the rate or the delay of a hop.

use serde::{Deserialize, Serialize};

use crate::{BitRate, Delay, Time};

/// Change of a hop, `kind = "change"`: its rate, its delay or both are set to a value drawn at
/// random from those listed that differ from the current one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a change")]
pub struct HopChange {
    /// Number of the hop.
    pub hop: u32,
    /// Trigger of the change: `"partition"`, the end of each partition of this hop. Alternative to
    /// `network.fault.at`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ChangeTrigger>,
    /// Time of a single change. Alternative to `network.fault.after`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// Candidate rates. Default: none, the rate is unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate: Vec<BitRate>,
    /// Candidate delays. Default: none, the delay is unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay: Vec<Delay>,
}

/// Trigger of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeTrigger {
    /// `"partition"`: the end of each partition of the same hop.
    Partition,
}
