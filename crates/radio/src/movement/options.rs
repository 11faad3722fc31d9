//! Options of the reading of movement files.

use driftway_base::Duration;

use super::format::Format;

/// Options of [`read`](super::read).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Format of the files; `None`: detected from their content.
    pub format: Option<Format>,
    /// Time in the file at which the run begins.
    pub start: Duration,
    /// Latitude and longitude (degrees) of the point with the coordinates 0, 0; `None`: the first
    /// position of the first node.
    pub origin: Option<(f64, f64)>,
    /// Added to all coordinates (metres).
    pub offset: (f64, f64),
}
