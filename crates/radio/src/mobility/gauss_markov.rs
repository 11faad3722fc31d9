//! Gauss–Markov mobility: a velocity that changes gradually.

use std::f64::consts::FRAC_1_SQRT_2;

use driftway_base::{Declared, Duration, Instant, RandomStream, options};

use super::{Mobility, Plane, Trajectory};
use crate::ParameterError;
use crate::leg::{Leg, seconds_after};
use crate::normal::truncated_normal;

options! {
    /// Options of Gauss–Markov mobility.
    pub struct GaussMarkov {
        /// Root mean square of the speed.
        speed: speed(10.0, 0.001..=1000.0),
        /// Correlation of the velocities before and after a step. 0: they are independent, a random walk; towards
        /// 1: nodes move in straight lines.
        alpha: number(0.75, 0.0..=1.0),
        /// Time between two changes of the velocity.
        step: time(1 s, 1 ms..=3600 s),
    }
}

impl Declared<Plane, Result<Mobility, ParameterError>> for GaussMarkov {
    const NAME: &'static str = "gauss-markov";
    const SUMMARY: &'static str = "Gauss–Markov (Liang & Haas 1999): after each step both components of a node's \
                                   velocity are α times their previous values plus √(1 − α²) times normal deviates. \
                                   Positions at the start are uniform in `area`; nodes are reflected at its borders.";

    fn build(self, plane: &Plane) -> Result<Mobility, ParameterError> {
        let sides: [f64; 2] = plane.area.into();
        // This bounds the number of reflections in a run, too.
        let least = self.speed * 1e-3;
        if let Some(side) = sides.iter().find(|side| !(least..1e9).contains(*side)) {
            let message = format!("a side of {side} m for a speed of {} m/s", self.speed);
            let help = "sides that take a node a millisecond or more to cross, below 1e9 m";
            return Err(ParameterError::new("area", message, help));
        }
        Ok(Mobility::new((0..plane.stations).map(|station| Walk::new(self, plane, station))))
    }
}

/// Limit of the deviates: less than one in 10⁸ is beyond it.
const MAX_DEVIATIONS: f64 = 6.0;

/// The trajectory of one station.
#[derive(Clone, Debug)]
struct Walk {
    model: GaussMarkov,
    random: RandomStream,
    /// Start of the next leg.
    time: Instant,
    /// Time of the next change of the velocity.
    change: Instant,
    /// The movement along x and y.
    axes: [Axis; 2],
}

#[derive(Clone, Copy, Debug)]
struct Axis {
    /// Length of the area (metres).
    side: f64,
    /// Coordinate (metres).
    place: f64,
    /// m/s.
    velocity: f64,
}

impl Walk {
    fn new(model: GaussMarkov, plane: &Plane, station: u32) -> Self {
        let mut random = RandomStream::new(plane.seed, "mobility", station.into());
        let axes = <[f64; 2]>::from(plane.area).map(|side| Axis {
            side,
            place: side * random.uniform_f64(),
            velocity: model.deviate(&mut random),
        });
        let start = Instant::ZERO;
        Self { model, random, time: start, change: start + model.step, axes }
    }
}

impl GaussMarkov {
    /// Draws a component of a velocity.
    fn deviate(&self, random: &mut RandomStream) -> f64 {
        self.speed * FRAC_1_SQRT_2 * truncated_normal(random, MAX_DEVIATIONS)
    }

    /// Returns the component of the velocity after a step.
    fn step_velocity(&self, velocity: f64, random: &mut RandomStream) -> f64 {
        self.alpha * velocity + (1.0 - self.alpha * self.alpha).sqrt() * self.deviate(random)
    }
}

impl Axis {
    /// Reverses a velocity that leads out of the area.
    fn reflect(&mut self) {
        let leads_out =
            if self.velocity < 0.0 { self.place <= 0.0 } else { self.place >= self.side };
        if leads_out {
            self.velocity = -self.velocity;
        }
    }

    /// Returns the time until the border is reached (s).
    fn until_border(&self) -> f64 {
        let way = if self.velocity < 0.0 { self.place } else { self.side - self.place };
        way / self.velocity.abs()
    }

    /// Moves the coordinate for a time, at most to the border.
    fn advance(&mut self, time: Duration) {
        self.place = (self.place + self.velocity * time.as_secs_f64()).clamp(0.0, self.side);
    }
}

impl Trajectory for Walk {
    fn next_leg(&mut self) -> Option<Leg> {
        if self.time == self.change {
            self.change = self.time + self.model.step;
            for axis in &mut self.axes {
                axis.velocity = self.model.step_velocity(axis.velocity, &mut self.random);
            }
        }
        self.axes.iter_mut().for_each(Axis::reflect);
        let since = self.time;
        let [x, y] = self.axes.map(|axis| axis.place);
        let [vx, vy] = self.axes.map(|axis| axis.velocity * 1e-9);
        let border = self.axes.map(|axis| axis.until_border());
        let step = self.change.since(since);
        let first = border[0].min(border[1]).min(step.as_secs_f64());
        // Some time passes in each leg.
        let until = seconds_after(since, first).clamp(since + Duration::from_nanos(1), self.change);
        for (axis, border) in self.axes.iter_mut().zip(border) {
            axis.advance(until.since(since));
            // To the border itself, where rounding would leave it short of it.
            if border <= first {
                axis.place = if axis.velocity < 0.0 { 0.0 } else { axis.side };
            }
        }
        self.time = until;
        Some(Leg { since, until, x, y, vx, vy })
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod test;
