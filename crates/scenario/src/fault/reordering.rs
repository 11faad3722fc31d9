//! Packets that overtake others.

use driftway_base::Duration;
use serde::{Deserialize, Serialize};

use super::direction::Direction;
use super::schedule::Schedule;
use crate::Time;

/// Reordering, `kind = "reordering"`: at each scheduled time, the next packets that arrive at the
/// hop's queue are reordered as `how` specifies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reordering")]
pub struct Reordering {
    /// Number of the hop.
    pub hop: u32,
    /// Time from one reordering to the next. Default: none, a single reordering at
    /// `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Time of the first reordering. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Number of packets in each reordering. Default 4.
    #[serde(default = "default_reordered_packets")]
    pub packets: u32,
    /// Direction of the packets: `"forward"`, `"backward"` or `"both"`. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
    /// Reordering method: `"front"` (each packet is moved to the front of the queue) or `"reverse"`
    /// (the packets are held back and sent in reverse order). Default `"front"`.
    #[serde(default, skip_serializing_if = "is_front")]
    pub how: ReorderMode,
    /// Maximum time for which the first packet is held back with `network.fault.how = "reverse"`;
    /// then the packets that have arrived are released. Default 5 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Time>,
}

impl Reordering {
    /// Maximum time for which a packet is held back.
    pub fn at_most(&self) -> Duration {
        self.at_most.map_or(Duration::from_secs(5), |Time(span)| span)
    }

    /// Schedule of the reorderings; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}

/// Reordering method (`liu-singh-2001` §V-D allows both interpretations).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderMode {
    /// `"front"`: each packet is moved to the front of the queue on arrival.
    #[default]
    Front,
    /// `"reverse"`: the packets are held back until all of them have arrived, and then appended to
    /// the queue in reverse order. They occupy the queue meanwhile. They are released earlier when
    /// `at_most` expires, when the queue is full, when a partition starts, and at the next
    /// scheduled reordering: none is held indefinitely, and none is lost.
    Reverse,
}

fn is_front(how: &ReorderMode) -> bool {
    *how == ReorderMode::Front
}

fn default_reordered_packets() -> u32 {
    4
}
