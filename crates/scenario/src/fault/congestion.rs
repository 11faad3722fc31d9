//! Bursts of cross traffic.

use super::cross_traffic::{MIN_PACKET_BYTES, default_packet_bytes};
use super::direction::Direction;
use super::schedule::Schedule;
use crate::keys::keys;
use crate::{BitRate, Size, Time};

keys! {
    /// Bursts of cross traffic, `kind = "congestion"`.
    pub struct Congestion expecting "a table with the keys of a congestion" {
        /// Number of the hop.
        hop: u32,
        /// Time from the start of one burst to the start of the next.
        every: Option<Time> [positive()] => "none, a single burst at `network.fault.first`",
        /// Start of the first burst.
        first: Option<Time> => "the value of `network.fault.every`",
        /// Duration of a burst; shorter than `network.fault.every`.
        lasts: Time [positive()],
        /// Size of the IP packets of the cross traffic.
        #[serde(default = "default_packet_bytes")]
        size: Size [range("the packet size in bytes", MIN_PACKET_BYTES..=65_535)],
        /// Rate of the cross traffic.
        rate: Option<BitRate> => "twice the rate of the hop",
        /// Direction of the cross traffic: `"forward"`, `"backward"` or `"both"`.
        direction: Direction = default,
        /// Marking of every ECN-capable packet in the direction of the burst by the queue of the
        /// hop, during the burst, regardless of its `ecn_threshold` (liu-singh-2001 §V-B:
        /// congestion results in an explicit congestion notification). The link's `mark_loss`
        /// applies to these marks too.
        marks: bool => default,
    }
}

impl Congestion {
    /// Schedule of the bursts; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, None)
    }
}
