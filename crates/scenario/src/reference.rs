//! `[[reference]]`: what a paper reported, for a report to draw beside our results.

use serde::{Deserialize, Serialize};

/// `[[reference]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys of a reference")]
pub struct Reference {
    /// Where the numbers stand: `"liu-singh-2001, figure 8"`.
    pub source: String,
    /// The measurement of ours that they compare with: `"completion_s"`.
    pub metric: String,
    /// The key of the scenario that varies: `"network.link.delay.mean"`.
    pub x: String,
    /// (value of that key, reported number).
    pub points: Vec<(Coordinate, f64)>,
    /// What to call the line. Default: `source`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A value on the x axis: `"10 ms"` or a bare number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "a quantity such as \"10 ms\", or a number")]
pub enum Coordinate {
    /// A bare number.
    Number(f64),
    /// A quantity with its unit.
    Quantity(String),
}

impl Coordinate {
    /// Its value in SI base units; `None` only in a scenario that was not checked.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Quantity(text) => crate::quantity(text).map(|(value, _)| value),
        }
    }
}
