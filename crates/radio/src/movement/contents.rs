//! The contents of a movement file.

use driftway_base::{Duration, Instant};

use crate::leg::Leg;

/// The contents of a movement file.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// The legs of each node, in order of time and without gaps; the last never ends.
    legs: Vec<Vec<Leg>>,
    pub(super) area: Option<(f64, f64)>,
    pub(super) duration: Option<Duration>,
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
