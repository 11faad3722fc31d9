//! Directions of a hop.

use serde::{Deserialize, Serialize};

/// Direction along the path, or over the wire of a mixed network.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// `"forward"`: from node 0 to the last node; in a mixed network from the first node in the
    /// wire's `between` to the second.
    #[default]
    Forward,
    /// `"backward"`: the opposite direction.
    Backward,
    /// `"both"`: both directions.
    Both,
}
