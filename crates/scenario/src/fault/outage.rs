//! Outages of a hop or of a node, about which nobody is notified.

use std::sync::Arc;

use driftway_base::Instant;

use super::partition::{Partition, PartitionHop, PartitionQueue, PartitionSignal};
use super::schedule::Schedule;
use crate::keys::keys;
use crate::{Delay, RadioDown, RadioSignal, Time};

keys! {
    /// Outages of a hop, or of all links and radios of a node, `kind = "outage"`, as links have them
    /// whose users walk into a tunnel: what is queued is lost, and nobody is notified. `"partition"`
    /// has other defaults.
    pub struct Outage expecting "a table with the keys of an outage" {
        /// Number of the hop. Alternative to `network.fault.node`.
        hop: Option<u32> => "none",
        /// Node whose wires and radio all have the outage: its number, or its name in a mixed
        /// network or in a movement file. Alternative to `network.fault.hop`.
        #[schemars(with = "Option<crate::node_reference::NodeReference>")]
        node: Option<u32> => "none",
        /// Name of a CSV file with the outages, relative to the scenario's directory; at most 64
        /// MiB. Its columns are `start` and `end` in seconds, or in RFC 3339 with
        /// `network.fault.origin`; outages that overlap are merged. Alternative to `every`,
        /// `first`, `lasts`, `jitter` and `count`.
        file: Option<String> => "none",
        /// Time of the log at which the run begins, such as `"2026-03-01T08:00:00Z"`; what the file
        /// has before it is left out.
        origin: Option<String> => "none, the file has seconds",
        /// Time from the start of one outage to the start of the next.
        every: Option<Time> [positive()] => "none, a single outage at `network.fault.first`",
        /// Start of the first outage.
        first: Option<Time> => "the value of `network.fault.every`",
        /// Maximum delay of the start of an outage: each one starts later than scheduled by a time
        /// drawn uniformly from 0 to this, which does not shift those after it.
        jitter: Time => default,
        /// Duration of an outage: `"5 s"`, or `{ uniform = ["50 ms", "4 s"] }` or
        /// `{ mean = "2 s", spread = 0.5 }`, which is drawn for each one; shorter than
        /// `network.fault.every`.
        lasts: Option<Delay> [inside()] => "required, unless there is a `file`",
        /// Number of outages.
        count: Option<u32> => "unlimited",
        /// Treatment of the packets queued when an outage starts: `"drop"` or `"wait"`.
        queue: Option<PartitionQueue> => (PartitionQueue::Drop),
        /// Notification: `"none"`, `"icmp-unreachable"` (not of radios), or `"link"`, as of a
        /// partition.
        signal: Option<PartitionSignal> => (PartitionSignal::None),
        /// Probability that a notification is lost, as of a partition.
        signal_loss: f64 [probability()] => default,
        /// Time before an outage at which the hosts concerned are warned of it. Needs
        /// `network.fault.signal = "link"`.
        lead: Option<Time> [positive()] => "no warning",
        /// Content of the file, once the scenario is loaded.
        #[serde(skip)]
        outages: Option<Arc<[(Instant, Instant)]>>,
        /// Places that have the outages, once the scenario is loaded.
        #[serde(skip)]
        places: Vec<OutagePlace>,
    }
}

/// A place that has an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutagePlace {
    /// A hop.
    Hop(u32),
    /// The radios of a node.
    Radio(u32),
}

impl Outage {
    /// Schedule of the outages; `None`: they are those of the file.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }

    /// These outages as partitions of a hop, which differ only in their defaults.
    pub fn of_hop(&self, hop: u32) -> Partition {
        Partition {
            hop: PartitionHop::Number(hop),
            every: self.every,
            first: self.first,
            jitter: self.jitter,
            lasts: self.lasts.unwrap_or(Delay::Fixed(Time::default())),
            count: self.count,
            queue: self.queue(),
            signal: self.signal(),
            signal_loss: self.signal_loss,
            lead: self.lead,
        }
    }

    /// These outages as those of a node's radio, which differ only in their defaults.
    pub fn of_radio(&self, node: u32) -> RadioDown {
        RadioDown {
            node,
            every: self.every,
            first: self.first,
            jitter: self.jitter,
            lasts: self.lasts.unwrap_or(Delay::Fixed(Time::default())),
            count: self.count,
            queue: self.queue(),
            signal: match self.signal() {
                PartitionSignal::Link => RadioSignal::Link,
                _ => RadioSignal::None,
            },
            signal_loss: self.signal_loss,
            lead: self.lead,
        }
    }
}
