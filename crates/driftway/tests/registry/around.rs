//! Nodes that walk along the borders of the area, one behind the other.

use driftway::Instant;
use driftway::base::{Declared, options};
use driftway::radio::mobility::{Plane, Trajectory};
use driftway::radio::{Leg, Mobility, ParameterError};

options! {
    /// Options of the model.
    pub struct AroundOptions {
        /// Speed of the nodes.
        speed: speed(10.0, 0.0..=1000.0),
        /// Distance between a node and the next, as a part of the way around.
        spacing: number(0.05, 0.0..=0.5),
    }
}

impl Declared<Plane, Result<Mobility, ParameterError>> for AroundOptions {
    const NAME: &'static str = "around";
    const SUMMARY: &'static str = "Nodes that walk along the borders of the area.";

    fn build(self, plane: &Plane) -> Result<Mobility, ParameterError> {
        if self.speed <= 0.0 {
            let message = "nodes that do not move";
            return Err(ParameterError::new("speed", message, "a speed above 0 m/s"));
        }
        let (width, height) = plane.area;
        let corners = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
        Ok(Mobility::new((0..plane.stations).map(|station| {
            let behind = (f64::from(station) * self.spacing).fract() * 2.0 * (width + height);
            Around { speed: self.speed, corners, next: 0, time: Instant::ZERO, behind }
        })))
    }
}

/// The trajectory of a station.
#[derive(Clone, Debug)]
struct Around {
    /// m/s.
    speed: f64,
    corners: [(f64, f64); 4],
    /// Index of the corner at which the next leg starts.
    next: usize,
    time: Instant,
    /// Distance from the first corner at the start (metres).
    behind: f64,
}

impl Trajectory for Around {
    fn next_leg(&mut self) -> Option<Leg> {
        loop {
            let (mut from, to) = (self.corners[self.next % 4], self.corners[(self.next + 1) % 4]);
            let length = (to.0 - from.0).abs() + (to.1 - from.1).abs();
            self.next += 1;
            if self.behind >= length {
                self.behind -= length;
                continue;
            }
            let part = self.behind / length;
            from = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            self.behind = 0.0;
            let leg = Leg::towards(self.time, from, to, self.speed);
            self.time = leg.until;
            return Some(leg);
        }
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}
