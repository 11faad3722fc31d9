//! Partitions of a hop.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::hop_or_word;
use super::schedule::{Schedule, is_zero};
use crate::{Delay, Time};

/// Partitions of a hop, `kind = "partition"`: packets on the hop or sent into it during a partition
/// are lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a partition")]
pub struct Partition {
    /// Number of the hop, or `"random"`: another hop for each partition.
    pub hop: PartitionHop,
    /// Time from the start of one partition to the start of the next. Default: none, a single
    /// partition at `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Start of the first partition. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Maximum delay of the start of a partition: each one starts later than scheduled by a time
    /// drawn uniformly from 0 to this, which does not shift those after it. `network.fault.lasts`
    /// and this together are shorter than `network.fault.every`. Default 0 s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Time,
    /// Duration of a partition: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
    /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
    /// `network.fault.every`.
    pub lasts: Delay,
    /// Number of partitions. Without `network.fault.every` and `network.fault.first`, and with
    /// `network.fault.hop = "random"`, their starts are distributed at random over the duration of
    /// the scenario. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Treatment of the packets queued for the hop when a partition starts: `"wait"` or `"drop"`.
    /// Default `"wait"`.
    #[serde(default)]
    pub queue: PartitionQueue,
    /// Notification that the router in front of the partition sends for each packet it cannot
    /// forward: `"icmp-unreachable"`, `"rfn"`, `"link"` or `"none"`. Default `"icmp-unreachable"`.
    #[serde(default)]
    pub signal: PartitionSignal,
    /// Probability that a notification is lost at its origin; with `network.fault.signal = "rfn"`,
    /// of each RFN and RRN; with `network.fault.signal = "link"`, that a partition occurs without
    /// its warning (`network.fault.lead`): that the link is down or up is always signalled. 0 to 1.
    /// Default 0.
    #[serde(default)]
    pub signal_loss: f64,
    /// Time before a partition at which the hosts at both ends of the hop are warned of it. Needs
    /// `network.fault.signal = "link"`. Default: no warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Time>,
}

impl Partition {
    /// Schedule of the partitions; `None`: `count` of them at random times.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

/// Hop of a partition: a number or `"random"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionHop {
    /// This hop.
    Number(u32),
    /// `"random"`: another hop each time.
    Random,
}

/// Word for [`PartitionHop::Random`].
const RANDOM: &str = "random";

impl Serialize for PartitionHop {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(hop) => serializer.serialize_u32(*hop),
            Self::Random => serializer.serialize_str(RANDOM),
        }
    }
}

impl<'de> Deserialize<'de> for PartitionHop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hop = hop_or_word::deserialize(deserializer, RANDOM)?;
        Ok(hop.map_or(Self::Random, Self::Number))
    }
}

/// Treatment of the packets queued for a hop when a partition starts, or for a radio when its outage
/// starts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionQueue {
    /// `"wait"`: they stay queued until the partition or outage ends.
    #[default]
    Wait,
    /// `"drop"`: they are dropped.
    Drop,
}

/// Notification by the router in front of a partition.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionSignal {
    /// `"icmp-unreachable"`: an ICMP destination unreachable for each packet that cannot be
    /// forwarded (RFC 792).
    #[default]
    IcmpUnreachable,
    /// `"rfn"`: a route failure notification for each packet that cannot be forwarded and, when the
    /// partition ends, a route re-establishment notification to each source that was sent one.
    /// Intermediate routers record the failure and use another route if they have one
    /// (chandran-1998 §4; see `network.routers`). Paths only.
    Rfn,
    /// `"link"`: routers send nothing, but the hosts at both ends of the hop are informed that
    /// their link goes down and comes up again, and with `lead` that it is about to go down. In
    /// emulation the device of a kernel at an end of the hop loses its carrier and regains it, if
    /// the node has no other link; what the kernel sends meanwhile is lost, also with `queue =
    /// "wait"`. A kernel has no equivalent of `lead`.
    Link,
    /// `"none"`: no notification.
    None,
}
