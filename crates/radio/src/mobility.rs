//! How nodes move: models, and what movement files say.
//!
//! Whatever the model, a node's way is a sequence of legs, straight pieces at one speed, so that a
//! position is an exact function of time. A model makes a node's legs one after another when they
//! are needed, from the node's own random stream: adding a node moves no other node.

mod constant_velocity;
mod leg;
mod random_waypoint;

pub use constant_velocity::ConstantVelocity;
pub(crate) use leg::{Leg, seconds_after};
pub use random_waypoint::{RandomWaypoint, InitialDistribution};

use driftway_base::Instant;

use crate::movement::Movement;
use crate::{ParameterError, mobility::constant_velocity::ReflectedTrajectory, mobility::random_waypoint::WaypointTrajectory};

/// How each node of a network moves.
#[derive(Clone, Debug)]
pub struct Mobility {
    trajectories: Vec<Trajectory>,
}

/// Where a node's legs come from.
#[derive(Clone, Debug)]
enum Trajectory {
    /// What is known before, the rest of it first.
    Scripted(std::vec::IntoIter<Leg>),
    RandomWaypoint(Box<WaypointTrajectory>),
    ConstantVelocity(Box<ReflectedTrajectory>),
}

impl Mobility {
    /// Nodes that stay where they are (metres).
    pub fn fixed(positions: &[(f64, f64)]) -> Self {
        let rest = |&place| vec![Leg::at_rest(Instant::ZERO, Instant::FAR_FUTURE, place)];
        Self { trajectories: positions.iter().map(|p| Trajectory::Scripted(rest(p).into_iter())).collect() }
    }

    /// Nodes that move as a movement file says.
    pub fn scripted(movement: Movement) -> Self {
        Self { trajectories: movement.into_legs().map(|legs| Trajectory::Scripted(legs.into_iter())).collect() }
    }

    /// `nodes` nodes on random ways, each drawn from the stream (`seed`, `"mobility"`, node).
    ///
    /// # Errors
    /// A parameter that makes no sense, or a steady-state start that does not exist.
    pub fn random_waypoint(
        model: &RandomWaypoint,
        nodes: u32,
        seed: u64,
    ) -> Result<Self, ParameterError> {
        model.check()?;
        let walk = |node| Trajectory::RandomWaypoint(Box::new(WaypointTrajectory::new(*model, seed, node)));
        Ok(Self { trajectories: (0..nodes).map(walk).collect() })
    }

    /// Nodes that each keep their speed and are reflected at the edges of `area` (metres; it
    /// starts at the origin), as light is.
    ///
    /// # Errors
    /// A node that starts outside, or a speed that crosses the area in less than a microsecond.
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

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.trajectories.len()
    }

    /// The next leg of a node: the first call gives what holds at the start of the run, each later
    /// one what holds from the end of the leg before.
    pub(crate) fn next_leg(&mut self, node: usize) -> Option<Leg> {
        match self.trajectories.get_mut(node)? {
            Trajectory::Scripted(legs) => legs.next(),
            Trajectory::RandomWaypoint(walk) => Some(walk.next_leg()),
            Trajectory::ConstantVelocity(bounce) => Some(bounce.next_leg()),
        }
    }
}
