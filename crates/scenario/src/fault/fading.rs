//! False warnings of outages.

use super::schedule::Schedule;
use crate::Time;
use crate::keys::keys;

keys! {
    /// False warnings, `kind = "fading"`: at each scheduled time the hosts at both ends of a hop, or the
    /// host at a node with a radio, are warned that their link is about to go down, and it stays up. The
    /// warning is not withdrawn. There is none while the link is down for another reason.
    pub struct FalseWarning expecting "a table with the keys of a false warning" {
        /// Number of the hop. Alternative to `network.fault.node`.
        hop: Option<u32> => "none",
        /// Node with a radio: its number, or its name in a mixed network or in a movement file.
        /// Alternative to `network.fault.hop`.
        #[schemars(with = "Option<crate::node_reference::NodeReference>")]
        node: Option<u32> => "none",
        /// Time from one warning to the next.
        every: Option<Time> [positive()] => "none, a single warning at `network.fault.first`",
        /// Time of the first warning.
        first: Option<Time> => "the value of `network.fault.every`",
        /// Maximum delay of a warning: each one is later than scheduled by a time drawn uniformly
        /// from 0 to this; shorter than `network.fault.every`.
        jitter: Time => default,
        /// Number of warnings.
        count: Option<u32> => "unlimited",
        /// Time after a warning at which the outage would occur that the hosts are warned of.
        lead: Time [positive()],
    }
}

impl FalseWarning {
    /// Schedule of the warnings; `None` only in a scenario that was not checked.
    pub fn schedule(&self) -> Option<Schedule> {
        Schedule::new(self.first, self.every, self.count)
    }
}
