//! Node mobility: models, and movement files.
//!
//! In every model a node's trajectory is a sequence of legs, straight segments at constant speed,
//! so that a position is an exact function of time. A model generates a node's legs one after
//! another as needed, from the node's own random stream: adding a node changes no other node's
//! trajectory.

mod bounce;
mod leg;
mod waypoint;

pub use bounce::ConstantVelocity;
pub(crate) use leg::{Leg, after};
pub use waypoint::{RandomWaypoint, Start};

use driftway_base::Instant;

use crate::movement::Movement;
use crate::{BadParameter, mobility::bounce::Bounce, mobility::waypoint::Walk};

/// Mobility of the nodes of a network.
#[derive(Clone, Debug)]
pub struct Mobility {
    ways: Vec<Way>,
}

/// Source of a node's legs.
#[derive(Clone, Debug)]
enum Way {
    /// Legs known in advance: the remaining ones.
    Known(std::vec::IntoIter<Leg>),
    Walk(Box<Walk>),
    Bounce(Box<Bounce>),
}

impl Mobility {
    /// Creates nodes at fixed positions (metres).
    pub fn fixed(positions: &[(f64, f64)]) -> Self {
        let rest = |&place| vec![Leg::rest(Instant::ZERO, Instant::FAR_FUTURE, place)];
        Self { ways: positions.iter().map(|p| Way::Known(rest(p).into_iter())).collect() }
    }

    /// Creates nodes that follow a movement file.
    pub fn scripted(movement: Movement) -> Self {
        Self { ways: movement.into_legs().map(|legs| Way::Known(legs.into_iter())).collect() }
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
    ) -> Result<Self, BadParameter> {
        model.check()?;
        let walk = |node| Way::Walk(Box::new(Walk::new(*model, seed, node)));
        Ok(Self { ways: (0..nodes).map(walk).collect() })
    }

    /// Creates nodes of constant speed that are reflected at the borders of `area` (metres, from
    /// the origin).
    ///
    /// # Errors
    /// A start outside the area, or a speed that crosses the area in less than a microsecond.
    pub fn constant_velocity(
        nodes: &[ConstantVelocity],
        area: (f64, f64),
    ) -> Result<Self, BadParameter> {
        let bounce = |(number, node)| match Bounce::new(node, area) {
            Ok(bounce) => Ok(Way::Bounce(Box::new(bounce))),
            Err(bad) => {
                Err(BadParameter { message: format!("node {number}: {}", bad.message), ..bad })
            }
        };
        Ok(Self { ways: nodes.iter().enumerate().map(bounce).collect::<Result<_, _>>()? })
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.ways.len()
    }

    /// Returns the next leg of a node: first the leg at the start of the run, then each time the
    /// leg that follows the previous one.
    pub(crate) fn next_leg(&mut self, node: usize) -> Option<Leg> {
        match self.ways.get_mut(node)? {
            Way::Known(legs) => legs.next(),
            Way::Walk(walk) => Some(walk.next_leg()),
            Way::Bounce(bounce) => Some(bounce.next_leg()),
        }
    }
}
