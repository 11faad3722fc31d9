//! Constant velocity in an area with reflecting borders.

use driftway_base::Instant;

use super::trajectory::Trajectory;
use crate::ParameterError;
use crate::leg::{Leg, seconds_after};

/// Initial position (metres) and velocity (m/s) of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantVelocity {
    /// Position at the start of the run.
    pub position: (f64, f64),
    /// Initial velocity.
    pub velocity: (f64, f64),
}

/// The trajectory of one station. The axes are independent: with the area unfolded at its borders
/// the trajectory is a straight line, so that a position is computed from the start of the run
/// after any number of reflections.
#[derive(Clone, Debug)]
pub(super) struct ReflectedTrajectory {
    axes: [Axis; 2],
    time: Instant,
}

#[derive(Clone, Debug)]
struct Axis {
    start: f64,
    /// m/s.
    velocity: f64,
    size: f64,
    /// Number of reflections so far.
    reflections: u64,
}

impl Axis {
    /// Returns the time of the next reflection.
    fn next_reflection(&self) -> Instant {
        if self.velocity == 0.0 {
            return Instant::FAR_FUTURE;
        }
        let first = if self.velocity > 0.0 { self.size - self.start } else { self.start };
        let way = first + self.reflections as f64 * self.size;
        seconds_after(Instant::ZERO, way / self.velocity.abs())
    }

    /// Returns the coordinate at a time.
    fn coordinate(&self, now: Instant) -> f64 {
        let straight = self.start + self.velocity * (now.as_nanos() as f64 * 1e-9);
        // A velocity to the left is mirrored to the right.
        let right = if self.velocity < 0.0 { self.size - straight } else { straight };
        let turns = self.reflections as f64;
        let folded = if self.reflections.is_multiple_of(2) {
            right - turns * self.size
        } else {
            (turns + 1.0) * self.size - right
        };
        let place = if self.velocity < 0.0 { self.size - folded } else { folded };
        place.clamp(0.0, self.size)
    }

    /// Returns the current velocity in metres per nanosecond.
    fn signed_speed(&self) -> f64 {
        let way = self.velocity * 1e-9;
        if self.reflections.is_multiple_of(2) { way } else { -way }
    }
}

impl ReflectedTrajectory {
    pub fn new(start: &ConstantVelocity, area: (f64, f64)) -> Result<Self, ParameterError> {
        let axis = |start: f64, velocity: f64, size: f64| {
            if !(0.0..1e9).contains(&size) {
                let message = format!("a side of {size} m");
                return Err(ParameterError::new("area", message, "a width and a height in metres"));
            }
            if !(0.0..=size).contains(&start) {
                let message = format!("{start} m is outside of 0 m to {size} m");
                return Err(ParameterError::new("position", message, "a place in the area"));
            }
            // This also bounds the number of legs per nanosecond by one.
            if velocity != 0.0 && !(0.0..=size).contains(&(velocity.abs() * 1e-6)) {
                let message = format!("{velocity} m/s along a side of {size} m");
                let help = "a speed that crosses the area in a microsecond or more";
                return Err(ParameterError::new("velocity", message, help));
            }
            Ok(Axis { start, velocity, size, reflections: 0 })
        };
        let (position, velocity) = (start.position, start.velocity);
        let axes = [axis(position.0, velocity.0, area.0)?, axis(position.1, velocity.1, area.1)?];
        Ok(Self { axes, time: Instant::ZERO })
    }
}

impl Trajectory for ReflectedTrajectory {
    fn next_leg(&mut self) -> Option<Leg> {
        let since = self.time;
        for axis in &mut self.axes {
            if axis.next_reflection() <= since && since < Instant::FAR_FUTURE {
                axis.reflections += 1;
            }
        }
        let [across, up] = &self.axes;
        let until = across.next_reflection().min(up.next_reflection());
        self.time = until;
        let (x, y) = (across.coordinate(since), up.coordinate(since));
        Some(Leg { since, until, x, y, vx: across.signed_speed(), vy: up.signed_speed() })
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod test;
