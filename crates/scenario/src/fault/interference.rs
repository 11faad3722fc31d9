//! Continuous cross traffic.

use serde::{Deserialize, Serialize};

use super::cross_traffic::{MIN_PACKET_BYTES, default_packet_bytes};
use super::direction::Direction;
use crate::keys::keys;
use crate::value_or::value_or;
use crate::{Size, Time};

keys! {
    /// Continuous cross traffic, `kind = "interference"`, which uses the queue and rate of a hop.
    pub struct Interference expecting "a table with the keys of an interference" {
        /// Number of the hop, or `"intermediate"`: every hop whose sending node is not an end of
        /// the path (paths only).
        hop: InterferenceHop,
        /// Interval between two packets; the mean interval with
        /// `network.fault.spacing = "poisson"`.
        every: Time [positive()],
        /// Size of the IP packets of the cross traffic.
        #[serde(default = "default_packet_bytes")]
        size: Size [range("the packet size in bytes", MIN_PACKET_BYTES..=65_535)],
        /// Distribution of the intervals: `"constant"` or `"poisson"`.
        spacing: Spacing = default,
        /// Direction of the cross traffic: `"forward"`, `"backward"` or `"both"`.
        direction: Direction = default,
    }
}

value_or! {
    /// Hop with continuous cross traffic: a number or `"intermediate"`.
    #[derive(Eq)]
    pub enum InterferenceHop expecting "the number of a hop, or \"intermediate\"" {
        /// This hop.
        Number(hop: u32) from number,
        /// `"intermediate"`: every hop whose sending node is not an end of the path.
        Intermediate = "intermediate",
    }
}

/// Distribution of the intervals between packets of cross traffic.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// `"constant"`: equal intervals.
    #[default]
    Constant,
    /// `"poisson"`: exponentially distributed intervals.
    Poisson,
}
