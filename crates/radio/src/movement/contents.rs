//! The contents of a movement file.

use std::fmt;

use driftway_base::{Duration, Instant};

use crate::leg::Leg;

/// The contents of a movement file.
#[derive(Clone, PartialEq)]
pub struct Movement {
    /// The legs of each node, in order of time and without gaps; the last never ends.
    pub(super) legs: Vec<Vec<Leg>>,
    pub(super) area: Option<(f64, f64)>,
    pub(super) duration: Option<Duration>,
    pub(super) names: Vec<String>,
    pub(super) tracks: Vec<NodeTrack>,
    pub(super) origin: Option<(f64, f64)>,
}

/// Prints what determines the positions: neither names nor where the coordinates come from.
impl fmt::Debug for Movement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Movement");
        shown.field("legs", &self.legs).field("area", &self.area);
        shown.field("duration", &self.duration).finish()
    }
}

/// The time of a node's track in a file that has positions over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTrack {
    /// Time of its first position, at which it stands before.
    pub first: Instant,
    /// Time of its last position, at which it stands afterwards.
    pub last: Instant,
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
        Self {
            legs,
            area: None,
            duration: None,
            names: Vec::new(),
            tracks: Vec::new(),
            origin: None,
        }
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

    /// Returns the name of each node in its file, in order of node numbers: in ns-2's files its number there; it may
    /// be empty, and that of several nodes, in GPX. BonnMotion's nodes have none.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the track of each node, in order of node numbers; none of ns-2 and BonnMotion, whose
    /// nodes are there all the time.
    pub fn tracks(&self) -> &[NodeTrack] {
        &self.tracks
    }

    /// Returns the latitude and longitude (degrees) of the origin, if positions are on the globe.
    pub const fn origin(&self) -> Option<(f64, f64)> {
        self.origin
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
