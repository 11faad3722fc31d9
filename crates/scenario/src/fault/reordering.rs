//! Packets that overtake others.

use driftway_base::Duration;
use serde::{Deserialize, Serialize};

use super::direction::Direction;
use super::schedule::Schedule;
use crate::Time;
use crate::keys::keys;

keys! {
    /// Reordering, `kind = "reordering"`: at each scheduled time, the next packets that arrive at the
    /// hop's queue are reordered as `how` specifies.
    pub struct Reordering expecting "a table with the keys of a reordering" {
        /// Number of the hop.
        hop: u32,
        /// Time from one reordering to the next.
        every: Option<Time> [positive()] => "none, a single reordering at `network.fault.first`",
        /// Time of the first reordering.
        first: Option<Time> => "the value of `network.fault.every`",
        /// Number of packets in each reordering.
        #[serde(default = "default_reordered_packets")]
        packets: u32,
        /// Direction of the packets: `"forward"`, `"backward"` or `"both"`.
        direction: Direction = default,
        /// Reordering method: `"front"` (each packet is moved to the front of the queue) or
        /// `"reverse"` (the packets are held back and sent in reverse order).
        how: ReorderMode => default,
        /// Maximum time for which the first packet is held back with
        /// `network.fault.how = "reverse"`; then the packets that have arrived are released.
        at_most: Option<Time> [positive()] => "`\"5 s\"`",
    }
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

fn default_reordered_packets() -> u32 {
    4
}
