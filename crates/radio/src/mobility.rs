//! Mobility of the stations of an air: models, and movement files.
//!
//! In every model a station's trajectory is a sequence of legs, straight segments at constant
//! speed, so that a position is an exact function of time. A model generates a station's legs one
//! after another as needed, from the station's own random stream: adding a station changes no other
//! station's trajectory.

mod constant_velocity;
mod gauss_markov;
mod manhattan;
mod random_waypoint;
mod reference_point_group;
mod trajectory;

use driftway_base::{Entry, Instant, StationId};
use typed_index_collections::TiVec;

use crate::ParameterError;
use crate::leg::Leg;
use crate::movement::Movement;
pub use constant_velocity::ConstantVelocity;
use constant_velocity::ReflectedTrajectory;
pub use gauss_markov::GaussMarkov;
pub use manhattan::Manhattan;
use random_waypoint::WaypointTrajectory;
pub use random_waypoint::{InitialDistribution, RandomWaypoint};
pub use reference_point_group::ReferencePointGroup;
pub use trajectory::Trajectory;

/// Mobility of the stations of an air.
#[derive(Clone, Debug)]
pub struct Mobility {
    trajectories: TiVec<StationId, Box<dyn Trajectory>>,
}

/// Legs known in advance.
#[derive(Clone, Debug)]
struct Script(std::vec::IntoIter<Leg>);

impl Trajectory for Script {
    fn next_leg(&mut self) -> Option<Leg> {
        self.0.next()
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

/// The stations for which a model makes trajectories, and the area in which they move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Number of stations.
    pub stations: u32,
    /// Width and height (metres, from the origin).
    pub area: (f64, f64),
    /// Key of all random streams; a station's stream is (`seed`, a purpose, station).
    pub seed: u64,
}

/// A mobility model that scenarios name: it makes the trajectories of all stations, or names the option that is
/// not valid with the others.
pub type MobilityEntry = Entry<Plane, Result<Mobility, ParameterError>>;

impl Mobility {
    /// Creates a station for each trajectory.
    pub fn new<T: Trajectory + 'static>(trajectories: impl IntoIterator<Item = T>) -> Self {
        let boxed = |trajectory| -> Box<dyn Trajectory> { Box::new(trajectory) };
        Self { trajectories: trajectories.into_iter().map(boxed).collect() }
    }

    /// Creates stations at fixed positions (metres).
    pub fn fixed(positions: &[(f64, f64)]) -> Self {
        let rest = |&place| vec![Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, place)];
        Self::new(positions.iter().map(|place| Script(rest(place).into_iter())))
    }

    /// Creates a station for each node of a movement file.
    pub fn scripted(movement: Movement) -> Self {
        Self::new(movement.into_legs().map(|legs| Script(legs.into_iter())))
    }

    /// Creates this number of stations, each with a random waypoint trajectory drawn from the
    /// stream (`seed`, `"mobility"`, station).
    ///
    /// # Errors
    /// An invalid parameter, or a steady-state start for a model without a steady state.
    pub fn random_waypoint(
        model: &RandomWaypoint,
        stations: u32,
        seed: u64,
    ) -> Result<Self, ParameterError> {
        model.check()?;
        let walk = |station| WaypointTrajectory::new(*model, seed, StationId::new(station));
        Ok(Self::new((0..stations).map(walk)))
    }

    /// Creates stations of constant speed that are reflected at the borders of `area` (metres, from
    /// the origin).
    ///
    /// # Errors
    /// A start outside the area, or a speed that crosses the area in less than a microsecond.
    pub fn constant_velocity(
        stations: &[ConstantVelocity],
        area: (f64, f64),
    ) -> Result<Self, ParameterError> {
        let bounce = |(number, start)| {
            ReflectedTrajectory::new(start, area).map_err(|bad| ParameterError {
                message: format!("node {number}: {}", bad.message),
                ..bad
            })
        };
        let trajectories =
            stations.iter().enumerate().map(bounce).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::new(trajectories))
    }

    /// Returns the number of stations.
    pub fn stations(&self) -> usize {
        self.trajectories.len()
    }

    /// Returns the next leg of a station that takes time: first the leg at the start of the run, then each time the
    /// leg that follows the previous one. After a thousand legs that take none the station stays where it is.
    pub(crate) fn next_leg(&mut self, station: StationId) -> Option<Leg> {
        let trajectory = self.trajectories.get_mut(station)?;
        let mut last = None;
        for _ in 0..1000 {
            match trajectory.next_leg() {
                Some(leg) if leg.until > leg.since => return Some(leg),
                Some(leg) => last = Some(leg),
                None => return last.map(|leg| Leg { until: Instant::FAR_FUTURE, ..leg }),
            }
        }
        last.map(|leg| Leg::at_rest(leg.since, Instant::FAR_FUTURE, (leg.x, leg.y)))
    }
}
