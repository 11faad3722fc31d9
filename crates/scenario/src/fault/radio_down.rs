//! Outages of a radio.

use serde::{Deserialize, Serialize};

use super::partition::PartitionQueue;
use super::schedule::Schedule;
use crate::keys::keys;
use crate::{Delay, Time};

keys! {
    /// Outages of the radio of a node, `kind = "radio-down"`: during an outage the radio neither sends
    /// nor receives, and frames on the air from it or to it when the outage starts are lost.
    pub struct RadioDown expecting "a table with the keys of an outage of a radio" {
        /// Node: its number, or its name in a mixed network or in a movement file.
        #[schemars(with = "crate::node_reference::NodeReference")]
        node: u32,
        /// Time from the start of one outage to the start of the next.
        every: Option<Time> [positive()] => "none, a single outage at `network.fault.first`",
        /// Start of the first outage.
        first: Option<Time> => "the value of `network.fault.every`",
        /// Maximum delay of the start of an outage: each one starts later than scheduled by a time
        /// drawn uniformly from 0 to this, which does not shift those after it.
        /// `network.fault.lasts` and this together are shorter than `network.fault.every`.
        jitter: Time => default,
        /// Duration of an outage: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
        /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
        /// `network.fault.every`.
        lasts: Delay [inside()],
        /// Number of outages.
        count: Option<u32> => "unlimited",
        /// Treatment of the packets in the node's interface queue when an outage starts: `"wait"`
        /// or `"drop"`.
        queue: PartitionQueue = default,
        /// Notification of the host at the node: `"link"` or `"none"`. It concerns all connections
        /// of the host, those over wires too.
        signal: RadioSignal => default,
        /// Probability that an outage occurs without its warning (`network.fault.lead`).
        signal_loss: f64 [probability()] => default,
        /// Time before an outage at which the host at the node is warned of it. Needs
        /// `network.fault.signal = "link"`.
        lead: Option<Time> [positive()] => "no warning",
    }
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
