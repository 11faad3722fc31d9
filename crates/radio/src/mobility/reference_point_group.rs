//! Reference point group mobility: groups of nodes, each around a point that moves.

use driftway_base::{Declared, Instant, RandomStream, options};

use super::random_waypoint::WaypointTrajectory;
use super::{InitialDistribution, Mobility, Plane, RandomWaypoint, Trajectory};
use crate::ParameterError;
use crate::leg::Leg;

options! {
    /// Options of reference point group mobility.
    pub struct ReferencePointGroup {
        /// Number of nodes in a group: nodes 0, 1, … are the first group. The last group may have fewer.
        group_size: count(5, 1..=65000),
        /// Maximum distance of a node from the reference point of its group.
        radius: distance(50.0, 0.001..=1000000.0),
        /// Time between two random displacements of a node from its reference point.
        step: time(10 s, 1 ms..=3600 s),
        /// Minimum speed of a reference point.
        min_speed: speed(1.0, 0.001..=1000.0),
        /// Maximum speed of a reference point.
        max_speed: speed(10.0, 0.001..=1000.0),
        /// Pause of a reference point at its destination.
        pause: time(0 s, 0 s..=86400 s),
    }
}

impl Declared<Plane, Result<Mobility, ParameterError>> for ReferencePointGroup {
    const NAME: &'static str = "reference-point-group";
    const SUMMARY: &'static str = "Reference point group (Hong, Gerla, Pei & Chiang 1999; Camp, Boleng & Davies 2002): \
                                   the reference point of each group moves between random waypoints, at least `radius` from \
                                   the borders of `area`, from its steady state. At each step every node draws a displacement from it, of a \
                                   length uniform from 0 to `radius` in a uniform direction, to which it moves \
                                   until the next step while it follows the reference point.";

    fn build(self, plane: &Plane) -> Result<Mobility, ParameterError> {
        let inner = (plane.area.0 - 2.0 * self.radius, plane.area.1 - 2.0 * self.radius);
        if !(inner.0 > 0.0 && inner.1 > 0.0) {
            let message =
                format!("{} m in an area of {} m × {} m", self.radius, plane.area.0, plane.area.1);
            return Err(ParameterError::new(
                "radius",
                message,
                "less than half of each side of `area`",
            ));
        }
        let centre = RandomWaypoint {
            area: inner,
            speed: (self.min_speed, self.max_speed),
            pause: (self.pause, self.pause),
            start: InitialDistribution::SteadyState,
        };
        centre.check().map_err(|bad| match bad.parameter {
            "speed" => ParameterError { parameter: "min_speed", ..bad },
            _ => bad,
        })?;
        let member = |station: u32| {
            let group = u64::from(station / self.group_size);
            let stream = RandomStream::new(plane.seed, "mobility group", group);
            Member::new(self, WaypointTrajectory::from_stream(centre, stream), plane.seed, station)
        };
        Ok(Mobility::new((0..plane.stations).map(member)))
    }
}

/// The trajectory of one station. All members of a group draw the same trajectory of their reference point.
#[derive(Clone, Debug)]
struct Member {
    model: ReferencePointGroup,
    reference: WaypointTrajectory,
    /// Current leg of the reference point, in an area that begins at `radius`, `radius`.
    reference_leg: Leg,
    random: RandomStream,
    time: Instant,
    /// Displacements (m) at the last step and at the next one, at `next_step`.
    displacements: [(f64, f64); 2],
    next_step: Instant,
}

impl Member {
    fn new(
        model: ReferencePointGroup,
        mut reference: WaypointTrajectory,
        seed: u64,
        station: u32,
    ) -> Self {
        let mut random = RandomStream::new(seed, "mobility", station.into());
        let displacements = [model.displacement(&mut random), model.displacement(&mut random)];
        let reference_leg = next_leg_that_takes_time(&mut reference);
        let next_step = Instant::ZERO + model.step;
        Self {
            model,
            reference,
            reference_leg,
            random,
            time: Instant::ZERO,
            displacements,
            next_step,
        }
    }

    /// The position at a time until the next step (m).
    fn place(&self, at: Instant) -> (f64, f64) {
        let (x, y) = self.reference_leg.at(at);
        let [from, to] = self.displacements;
        let left = self.next_step.since(at).as_nanos() as f64 / self.model.step.as_nanos() as f64;
        let between = |from: f64, to: f64| to + (from - to) * left;
        let radius = self.model.radius;
        (x + radius + between(from.0, to.0), y + radius + between(from.1, to.1))
    }
}

/// The next leg of a reference point, whose legs of no time are not needed.
fn next_leg_that_takes_time(reference: &mut WaypointTrajectory) -> Leg {
    loop {
        match reference.next_leg() {
            Some(leg) if leg.until > leg.since => return leg,
            Some(_) => {}
            // Never: random waypoints do not end.
            None => return Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, (0.0, 0.0)),
        }
    }
}

impl ReferencePointGroup {
    /// Draws a displacement (m): a direction by a point in the unit disc, and a length.
    fn displacement(&self, random: &mut RandomStream) -> (f64, f64) {
        loop {
            let (u, v) = (2.0 * random.uniform_f64() - 1.0, 2.0 * random.uniform_f64() - 1.0);
            let square = u * u + v * v;
            if square > 1e-6 && square <= 1.0 {
                let factor = self.radius * random.uniform_f64() / square.sqrt();
                return (u * factor, v * factor);
            }
        }
    }
}

impl Trajectory for Member {
    fn next_leg(&mut self) -> Option<Leg> {
        if self.time == self.next_step {
            let next = self.model.displacement(&mut self.random);
            self.displacements = [self.displacements[1], next];
            self.next_step = self.time + self.model.step;
        }
        if self.time == self.reference_leg.until {
            self.reference_leg = next_leg_that_takes_time(&mut self.reference);
        }
        let until = self.next_step.min(self.reference_leg.until);
        let leg = Leg::between(self.time, until, self.place(self.time), self.place(until));
        self.time = until;
        Some(leg)
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod test;
