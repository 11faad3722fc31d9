//! Continuous cross traffic.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cross_traffic::default_packet_bytes;
use super::direction::Direction;
use super::hop_or_word;
use crate::{Size, Time};

/// Continuous cross traffic, `kind = "interference"`, which uses the queue and rate of a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of an interference")]
pub struct Interference {
    /// Number of the hop, or `"intermediate"`: every hop whose sending node is not an end of the
    /// path (paths only).
    pub hop: InterferenceHop,
    /// Interval between two packets; the mean interval with `network.fault.spacing = "poisson"`.
    pub every: Time,
    /// Size of the IP packets of the cross traffic. 28 B to 65535 B. Default 100 B.
    #[serde(default = "default_packet_bytes")]
    pub size: Size,
    /// Distribution of the intervals: `"constant"` or `"poisson"`. Default `"constant"`.
    #[serde(default)]
    pub spacing: Spacing,
    /// Direction of the cross traffic: `"forward"`, `"backward"` or `"both"`. Default `"forward"`.
    #[serde(default)]
    pub direction: Direction,
}

/// Hop with continuous cross traffic: a number or `"intermediate"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterferenceHop {
    /// This hop.
    Number(u32),
    /// `"intermediate"`: every hop whose sending node is not an end of the path.
    Intermediate,
}

/// Word for [`InterferenceHop::Intermediate`].
const INTERMEDIATE: &str = "intermediate";

impl Serialize for InterferenceHop {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(hop) => serializer.serialize_u32(*hop),
            Self::Intermediate => serializer.serialize_str(INTERMEDIATE),
        }
    }
}

impl<'de> Deserialize<'de> for InterferenceHop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hop = hop_or_word::deserialize(deserializer, INTERMEDIATE)?;
        Ok(hop.map_or(Self::Intermediate, Self::Number))
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
