//! Mobility of the stations of an air: models, and movement files.
//!
//! In every model a station's trajectory is a sequence of legs, straight segments at constant
//! speed, so that a position is an exact function of time. A model generates a station's legs one
//! after another as needed, from the station's own random stream: adding a station changes no other
//! station's trajectory.

mod constant_velocity;
mod random_waypoint;

pub use constant_velocity::ConstantVelocity;
pub use random_waypoint::{InitialDistribution, RandomWaypoint};

use driftway_base::{Instant, StationId};
use typed_index_collections::TiVec;

use crate::leg::Leg;
use crate::movement::Movement;
use crate::{
    ParameterError, mobility::constant_velocity::ReflectedTrajectory,
    mobility::random_waypoint::WaypointTrajectory,
};

/// Mobility of the stations of an air.
#[derive(Clone, Debug)]
pub struct Mobility {
    trajectories: TiVec<StationId, Trajectory>,
}

/// Source of a station's legs.
#[derive(Clone, Debug)]
enum Trajectory {
    /// Legs known in advance: the remaining ones.
    Scripted(std::vec::IntoIter<Leg>),
    RandomWaypoint(Box<WaypointTrajectory>),
    ConstantVelocity(Box<ReflectedTrajectory>),
}

impl Mobility {
    /// Creates stations at fixed positions (metres).
    pub fn fixed(positions: &[(f64, f64)]) -> Self {
        let rest = |&place| vec![Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, place)];
        Self {
            trajectories: positions
                .iter()
                .map(|p| Trajectory::Scripted(rest(p).into_iter()))
                .collect(),
        }
    }

    /// Creates a station for each node of a movement file.
    pub fn scripted(movement: Movement) -> Self {
        Self {
            trajectories: movement
                .into_legs()
                .map(|legs| Trajectory::Scripted(legs.into_iter()))
                .collect(),
        }
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
        let walk = |station| {
            Trajectory::RandomWaypoint(Box::new(WaypointTrajectory::new(*model, seed, station)))
        };
        Ok(Self { trajectories: (0..stations).map(StationId::new).map(walk).collect() })
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
        let bounce = |(number, start)| match ReflectedTrajectory::new(start, area) {
            Ok(bounce) => Ok(Trajectory::ConstantVelocity(Box::new(bounce))),
            Err(bad) => {
                Err(ParameterError { message: format!("node {number}: {}", bad.message), ..bad })
            }
        };
        Ok(Self {
            trajectories: stations.iter().enumerate().map(bounce).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the number of stations.
    pub fn stations(&self) -> usize {
        self.trajectories.len()
    }

    /// Returns the next leg of a station: first the leg at the start of the run, then each time the
    /// leg that follows the previous one.
    pub(crate) fn next_leg(&mut self, station: StationId) -> Option<Leg> {
        match self.trajectories.get_mut(station)? {
            Trajectory::Scripted(legs) => legs.next(),
            Trajectory::RandomWaypoint(walk) => Some(walk.next_leg()),
            Trajectory::ConstantVelocity(bounce) => Some(bounce.next_leg()),
        }
    }
}
