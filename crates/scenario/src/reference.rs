//! The tables `[[reference]]`: published results, which a report draws next to the measured ones.

use serde::{Deserialize, Serialize};

use crate::keys::keys;

keys! {
    /// Published results, `[[reference]]`.
    pub struct Reference expecting "a table with the keys of a reference" {
        /// Source of the numbers, such as `"liu-singh-2001, figure 8"`.
        source: String,
        /// Metric that they are compared with, such as `"completion_s"`.
        metric: String,
        /// Dotted key of the scenario that varies, such as `"network.link.delay.mean"`.
        x: String,
        /// Points: pairs of a value of that key and the published number.
        points: Vec<(Coordinate, f64)>,
        /// Label of the line.
        label: Option<String> => "the value of `source`",
    }
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
