//! Bursts of cross traffic.

use serde::{Deserialize, Serialize};

use super::cross_traffic::default_packet_bytes;
use super::direction::Direction;
use super::schedule::Schedule;
use crate::{BitRate, Size, Time};

/// Bursts of cross traffic, `kind = "congestion"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a congestion")]
pub struct Congestion {
    /// Number of the hop.
    pub hop: u32,
    /// Time from the start of one burst to the start of the next. Default: none, a single burst at
    /// `network.fault.first`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Start of the first burst. Default: the value of `network.fault.every`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Time>,
    /// Duration of a burst; shorter than `network.fault.every`.
    pub lasts: Time,
    /// Size of the IP packets of the cross traffic. 28 B to 65535 B. Default 100 B.
    #[serde(default = "default_packet_bytes")]
    pub size: Size,
    /// Rate of the cross traffic. Default: twice the rate of the hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Direction of the cross traffic: `"forward"`, `"backward"` or `"both"`. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
    /// Marking of every ECN-capable packet in the direction of the burst by the queue of the hop,
    /// during the burst, regardless of its `ecn_threshold` (liu-singh-2001 §V-B: congestion results
    /// in an explicit congestion notification). The link's `mark_loss` applies to these marks too.
    /// Default false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub marks: bool,
}

impl Congestion {
    /// Schedule of the bursts; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}

fn is_false(on: &bool) -> bool {
    !*on
}
