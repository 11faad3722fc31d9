//! Partitions of a hop.

use serde::{Deserialize, Serialize};

use super::schedule::Schedule;
use crate::keys::keys;
use crate::value_or::value_or;
use crate::{Delay, Time};

keys! {
    /// Partitions of a hop, `kind = "partition"`: packets on the hop or sent into it during a partition
    /// are lost.
    pub struct Partition expecting "a table with the keys of a partition" {
        /// Number of the hop, or `"random"`: another hop for each partition.
        hop: PartitionHop,
        /// Time from the start of one partition to the start of the next.
        every: Option<Time> [positive()] => "none, a single partition at `network.fault.first`",
        /// Start of the first partition.
        first: Option<Time> => "the value of `network.fault.every`",
        /// Maximum delay of the start of a partition: each one starts later than scheduled by a
        /// time drawn uniformly from 0 to this, which does not shift those after it.
        /// `network.fault.lasts` and this together are shorter than `network.fault.every`.
        jitter: Time => default,
        /// Duration of a partition: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
        /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
        /// `network.fault.every`.
        lasts: Delay [inside()],
        /// Number of partitions. Without `network.fault.every` and `network.fault.first`, and with
        /// `network.fault.hop = "random"`, their starts are distributed at random over the duration
        /// of the scenario.
        count: Option<u32> => "unlimited",
        /// Treatment of the packets queued for the hop when a partition starts: `"wait"` or
        /// `"drop"`.
        queue: PartitionQueue = default,
        /// Notification that the router in front of the partition sends for each packet it cannot
        /// forward: `"icmp-unreachable"`, `"rfn"`, `"link"` or `"none"`.
        signal: PartitionSignal = default,
        /// Probability that a notification is lost at its origin; with
        /// `network.fault.signal = "rfn"`, of each RFN and RRN; with
        /// `network.fault.signal = "link"`, that a partition occurs without its warning
        /// (`network.fault.lead`): that the link is down or up is always signalled.
        signal_loss: f64 [probability()] = default,
        /// Time before a partition at which the hosts at both ends of the hop are warned of it.
        /// Needs `network.fault.signal = "link"`.
        lead: Option<Time> [positive()] => "no warning",
    }
}

impl Partition {
    /// Schedule of the partitions; `None`: `count` of them at random times.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}

value_or! {
    /// Hop of a partition: a number or `"random"`.
    #[derive(Eq)]
    pub enum PartitionHop expecting "the number of a hop, or \"random\"" {
        /// This hop.
        Number(hop: u32) from number,
        /// `"random"`: another hop each time.
        Random = "random",
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
