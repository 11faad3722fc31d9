//! Movement files of ns-2 ([`ns2`]) and BonnMotion ([`bonnmotion`]): [`decode`] converts a file's
//! bytes to text, and [`parse`] detects the format.

pub mod bonnmotion;
mod error;
pub mod ns2;
mod number;

pub use error::MovementError;

use driftway_base::{Duration, Instant};

use crate::mobility::Leg;
use error::Line;

/// Decodes a movement file.
///
/// # Errors
/// Bytes that are not UTF-8, with a hint for the compressed files that BonnMotion writes.
pub fn decode<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, MovementError> {
    let line = Line { file: name, number: 1, text: "" };
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let help = format!("unpack it: gunzip {name}");
        return Err(line.error_at(0, "this file is compressed by gzip", help));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let lines = good.iter().filter(|byte| **byte == b'\n').count();
        let start = good.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&good[start..]).unwrap_or_default();
        let line = Line { file: name, number: lines + 1, text };
        line.error_at(text.len(), "this file is not UTF-8 text", "a movement file is plain text")
    })
}

/// Parses a movement file of either format: a BonnMotion file starts with a number, an ns-2 file
/// does not.
///
/// # Errors
/// The first problem and its location.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    let lines = text.lines().map(str::trim_start);
    let first = lines.filter(|line| !line.starts_with('#')).find(|line| !line.is_empty());
    let number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    if first.is_some_and(|line| line.starts_with(number)) {
        bonnmotion::parse(name, text)
    } else {
        ns2::parse(name, text)
    }
}

/// The contents of a movement file.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// Per node, in order of time and without gaps; the last never ends.
    legs: Vec<Vec<Leg>>,
    area: Option<(f64, f64)>,
    duration: Option<Duration>,
}

/// Bounding rectangle of all positions of a movement (metres).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Minimum x and y.
    pub low: (f64, f64),
    /// Maximum x and y.
    pub high: (f64, f64),
}

impl Movement {
    pub(crate) const fn new(legs: Vec<Vec<Leg>>) -> Self {
        Self { legs, area: None, duration: None }
    }

    pub(crate) fn into_legs(self) -> impl Iterator<Item = Vec<Leg>> {
        self.legs.into_iter()
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.legs.len()
    }

    /// Returns the time at which the last node stops.
    pub fn end(&self) -> Instant {
        let last = |legs: &Vec<Leg>| legs.last().map_or(Instant::ZERO, |leg| leg.since);
        self.legs.iter().map(last).max().unwrap_or_default()
    }

    /// Returns the width and height of the area (m), if the file declares them.
    pub const fn area(&self) -> Option<(f64, f64)> {
        self.area
    }

    /// Returns the duration of the run, if the file declares it.
    pub const fn duration(&self) -> Option<Duration> {
        self.duration
    }

    /// Returns the bounding rectangle of all positions; all zero without nodes.
    pub fn bounds(&self) -> Bounds {
        // Legs are straight, and each starts where the previous one ended.
        let mut places = self.legs.iter().flatten().map(|leg| (leg.x, leg.y));
        let first = places.next().unwrap_or_default();
        places.fold(Bounds { low: first, high: first }, |bounds, (x, y)| Bounds {
            low: (bounds.low.0.min(x), bounds.low.1.min(y)),
            high: (bounds.high.0.max(x), bounds.high.1.max(y)),
        })
    }
}
