//! False warnings of outages.

use serde::{Deserialize, Serialize};

use super::schedule::{Schedule, is_zero};
use crate::Time;

/// False warnings, `kind = "fading"`: at each scheduled time the hosts at both ends of a hop, or the
/// host at a node with a radio, are warned that their link is about to go down, and it stays up. The
/// warning is not withdrawn. There is none while the link is down for another reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a false warning")]
pub struct FalseWarning {
    /// Number of the hop. Alternative to `network.fault.node`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u32>,
    /// Node with a radio: its number, or its name in a mixed network. Alternative to
    /// `network.fault.hop`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::schema::NodeReference>")]
    pub node: Option<u32>,
    /// Time from one warning to the next. Default: none, a single warning at
    /// `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Time of the first warning. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Maximum delay of a warning: each one is later than scheduled by a time drawn uniformly from 0
    /// to this; shorter than `network.fault.every`. Default 0 s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Time,
    /// Number of warnings. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Time after a warning at which the outage would occur that the hosts are warned of.
    pub lead: Time,
}

impl FalseWarning {
    /// Schedule of the warnings; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}
