//! Movement files: ns-2's ([`ns2`]) and BonnMotion's ([`bonnmotion`]), as text; [`text`] makes that
//! of a file's bytes, and [`parse`] sees for itself which of the two it is.

pub mod bonnmotion;
mod error;
pub mod ns2;
mod number;

pub use error::MovementError;

use driftway_base::{Duration, Instant};

use crate::mobility::Leg;
use error::Line;

/// A movement file's text.
///
/// # Errors
/// Bytes that are no text. BonnMotion compresses its files: what is to do about that is said.
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
        let line = Line { file: name, number: lines + 1, decode };
        line.error_at(decode.len(), "this is no text in UTF-8", "a movement file is plain text")
    })
}

/// Reads a movement file of either format: BonnMotion's starts with a number, ns-2's with anything
/// else.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn parse(name: &str, text: &str) -> Result<Movement, MovementError> {
    let lines = decode.lines().map(str::trim_start);
    let first = lines.filter(|line| !line.starts_with('#')).find(|line| !line.is_empty());
    let number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.');
    if first.is_some_and(|line| line.starts_with(number)) {
        bonnmotion::parse(name, decode)
    } else {
        ns2::parse(name, decode)
    }
}

/// What a movement file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// Per node, in order of time, without gaps; the last lasts for ever.
    legs: Vec<Vec<Leg>>,
    area: Option<(f64, f64)>,
    duration: Option<Duration>,
}

/// The smallest rectangle that holds every place of a movement (metres).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least x and y.
    pub low: (f64, f64),
    /// The greatest x and y.
    pub high: (f64, f64),
}

impl Movement {
    pub(crate) const fn new(legs: Vec<Vec<Leg>>) -> Self {
        Self { legs, area: None, duration: None }
    }

    pub(crate) fn into_legs(self) -> impl Iterator<Item = Vec<Leg>> {
        self.legs.into_iter()
    }

    /// How many nodes it moves.
    pub fn nodes(&self) -> usize {
        self.legs.len()
    }

    /// When the last node has come to rest.
    pub fn end(&self) -> Instant {
        let last = |legs: &Vec<Leg>| legs.last().map_or(Instant::ZERO, |leg| leg.since);
        self.legs.iter().map(last).max().unwrap_or_default()
    }

    /// The area's width and height (m), where the file says it.
    pub const fn area(&self) -> Option<(f64, f64)> {
        self.area
    }

    /// How long the run is that the movement was made for, where the file says it.
    pub const fn duration(&self) -> Option<Duration> {
        self.duration
    }

    /// The rectangle that nodes stay in; all zero without a node.
    pub fn bounds(&self) -> Bounds {
        // Legs are straight and each starts where the one before ended.
        let mut places = self.legs.iter().flatten().map(|leg| (leg.x, leg.y));
        let first = places.next().unwrap_or_default();
        places.fold(Bounds { low: first, high: first }, |bounds, (x, y)| Bounds {
            low: (bounds.low.0.min(x), bounds.low.1.min(y)),
            high: (bounds.high.0.max(x), bounds.high.1.max(y)),
        })
    }
}
