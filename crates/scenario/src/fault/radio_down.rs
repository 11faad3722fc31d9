//! Outages of a radio.

use serde::{Deserialize, Serialize};

use super::partition::PartitionQueue;
use super::schedule::{Schedule, is_zero};
use crate::{Delay, Time};

/// Outages of the radio of a node, `kind = "radio-down"`: during an outage the radio neither sends
/// nor receives, and frames on the air from it or to it when the outage starts are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an outage of a radio")]
pub struct RadioDown {
    /// Node: its number, or its name in a mixed network.
    #[schemars(with = "crate::schema::NodeReference")]
    pub node: u32,
    /// Time from the start of one outage to the start of the next. Default: none, a single outage
    /// at `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Start of the first outage. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Maximum delay of the start of an outage: each one starts later than scheduled by a time drawn
    /// uniformly from 0 to this, which does not shift those after it. `network.fault.lasts` and
    /// this together are shorter than `network.fault.every`. Default 0 s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Time,
    /// Duration of an outage: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
    /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
    /// `network.fault.every`.
    pub lasts: Delay,
    /// Number of outages. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Treatment of the packets in the node's interface queue when an outage starts: `"wait"` or
    /// `"drop"`. Default `"wait"`.
    #[serde(default)]
    pub queue: PartitionQueue,
    /// Notification of the host at the node: `"link"` or `"none"`. It concerns all connections of
    /// the host, those over wires too. Default `"none"`.
    #[serde(default, skip_serializing_if = "is_without_signal")]
    pub signal: RadioSignal,
    /// Probability that an outage occurs without its warning (`network.fault.lead`). 0 to 1.
    /// Default 0.
    #[serde(default, skip_serializing_if = "is_zero_f64")]
    pub signal_loss: f64,
    /// Time before an outage at which the host at the node is warned of it. Needs
    /// `network.fault.signal = "link"`. Default: no warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Time>,
}

impl RadioDown {
    /// Schedule of the outages; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

/// Notification of the host at a node whose radio has an outage.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RadioSignal {
    /// `"link"`: the host is informed that its link goes down and comes up again, and with `lead`
    /// that it is about to go down. Hosts at other nodes learn of it only by
    /// `network.link_signals`.
    Link,
    /// `"none"`: no notification.
    #[default]
    None,
}

fn is_zero_f64(value: &f64) -> bool {
    *value == 0.0
}

fn is_without_signal(signal: &RadioSignal) -> bool {
    *signal == RadioSignal::None
}
