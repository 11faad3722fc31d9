//! Movement files: ns-2's and BonnMotion's.

pub mod bonnmotion;
mod error;
pub mod ns2;
mod number;

pub use error::MovementError;

use base::{Duration, Instant};

use crate::mobility::Leg;

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
