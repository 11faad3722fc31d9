//! Node mobility: models, and movement files.
//!
//! In every model a node's trajectory is a sequence of legs, straight segments at constant speed,
//! so that a position is an exact function of time. A model generates a node's legs one after
//! another as needed, from the node's own random stream: adding a node changes no other node's
//! trajectory.

mod constant_velocity;
mod random_waypoint;

pub use constant_velocity::ConstantVelocity;
pub use random_waypoint::{InitialDistribution, RandomWaypoint};

use driftway_base::Instant;

use crate::leg::Leg;
use crate::movement::Movement;
use crate::{
    ParameterError, mobility::constant_velocity::ReflectedTrajectory,
    mobility::random_waypoint::WaypointTrajectory,
};

/// Mobility of the nodes of a network.
#[derive(Clone, Debug)]
pub struct Mobility {
    trajectories: Vec<Trajectory>,
}

/// Source of a node's legs.
#[derive(Clone, Debug)]
enum Trajectory {
    /// Legs known in advance: the remaining ones.
    Scripted(std::vec::IntoIter<Leg>),
    RandomWaypoint(Box<WaypointTrajectory>),
    ConstantVelocity(Box<ReflectedTrajectory>),
}

impl Mobility {
    /// Creates nodes at fixed positions (metres).
    pub fn fixed(positions: &[(f64, f64)]) -> Self {
        let rest = |&place| vec![Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, place)];
        Self {
            trajectories: positions
                .iter()
                .map(|p| Trajectory::Scripted(rest(p).into_iter()))
                .collect(),
        }
    }

    /// Creates nodes that follow a movement file.
    pub fn scripted(movement: Movement) -> Self {
        Self {
            trajectories: movement
                .into_legs()
                .map(|legs| Trajectory::Scripted(legs.into_iter()))
                .collect(),
        }
    }

    /// Creates `nodes` random waypoint nodes, each drawn from the stream (`seed`, `"mobility"`,
    /// node).
    ///
    /// # Errors
    /// An invalid parameter, or a steady-state start for a model without a steady state.
    pub fn random_waypoint(
        model: &RandomWaypoint,
        nodes: u32,
        seed: u64,
    ) -> Result<Self, ParameterError> {
        model.check()?;
        let walk = |node| {
            Trajectory::RandomWaypoint(Box::new(WaypointTrajectory::new(*model, seed, node)))
        };
        Ok(Self { trajectories: (0..nodes).map(walk).collect() })
    }

    /// Creates nodes of constant speed that are reflected at the borders of `area` (metres, from
    /// the origin).
    ///
    /// # Errors
    /// A start outside the area, or a speed that crosses the area in less than a microsecond.
    pub fn constant_velocity(
        nodes: &[ConstantVelocity],
        area: (f64, f64),
    ) -> Result<Self, ParameterError> {
        let bounce = |(number, node)| match ReflectedTrajectory::new(node, area) {
            Ok(bounce) => Ok(Trajectory::ConstantVelocity(Box::new(bounce))),
            Err(bad) => {
                Err(ParameterError { message: format!("node {number}: {}", bad.message), ..bad })
            }
        };
        Ok(Self { trajectories: nodes.iter().enumerate().map(bounce).collect::<Result<_, _>>()? })
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.trajectories.len()
    }

    /// Returns the next leg of a node: first the leg at the start of the run, then each time the
    /// leg that follows the previous one.
    pub(crate) fn next_leg(&mut self, node: usize) -> Option<Leg> {
        match self.trajectories.get_mut(node)? {
            Trajectory::Scripted(legs) => legs.next(),
            Trajectory::RandomWaypoint(walk) => Some(walk.next_leg()),
            Trajectory::ConstantVelocity(bounce) => Some(bounce.next_leg()),
        }
    }
}
