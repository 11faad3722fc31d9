//! How nodes move: models, and what movement files say.
//!
//! Whatever the model, a node's way is a sequence of legs, straight pieces at one speed, so that a
//! position is an exact function of time. A model makes a node's legs one after another when they
//! are needed, from the node's own random stream: adding a node moves no other node.

mod bounce;
mod leg;
mod waypoint;

pub use bounce::ConstantVelocity;
pub(crate) use leg::{Leg, after};
pub use waypoint::{RandomWaypoint, Start};

use driftway_base::Instant;

use crate::movement::Movement;
use crate::{BadParameter, mobility::bounce::Bounce, mobility::waypoint::Walk};

/// How each node of a network moves.
#[derive(Clone, Debug)]
pub struct Mobility {
    ways: Vec<Way>,
}

/// Where a node's legs come from.
#[derive(Clone, Debug)]
enum Way {
    /// What is known before, the rest of it first.
    Known(std::vec::IntoIter<Leg>),
    Walk(Box<Walk>),
    Bounce(Box<Bounce>),
}

impl Mobility {
    /// Nodes that stay where they are (metres).
    pub fn fixed(positions: &[(f64, f64)]) -> Self {
        let rest = |&place| vec![Leg::rest(Instant::ZERO, Instant::FAR_FUTURE, place)];
        Self { ways: positions.iter().map(|p| Way::Known(rest(p).into_iter())).collect() }
    }

    /// Nodes that move as a movement file says.
    pub fn scripted(movement: Movement) -> Self {
        Self { ways: movement.into_legs().map(|legs| Way::Known(legs.into_iter())).collect() }
    }

    /// `nodes` nodes on random ways, each drawn from the stream (`seed`, `"mobility"`, node).
    ///
    /// # Errors
    /// A parameter that makes no sense, or a steady-state start that does not exist.
    pub fn random_waypoint(
        model: &RandomWaypoint,
        nodes: u32,
        seed: u64,
    ) -> Result<Self, BadParameter> {
        model.check()?;
        let walk = |node| Way::Walk(Box::new(Walk::new(*model, seed, node)));
        Ok(Self { ways: (0..nodes).map(walk).collect() })
    }

    /// Nodes that each keep their speed and are reflected at the edges of `area` (metres; it
    /// starts at the origin), as light is.
    ///
    /// # Errors
    /// A node that starts outside, or a speed that crosses the area in less than a microsecond.
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

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.ways.len()
    }

    /// The next leg of a node: the first call gives what holds at the start of the run, each later
    /// one what holds from the end of the leg before.
    pub(crate) fn next_leg(&mut self, node: usize) -> Option<Leg> {
        match self.ways.get_mut(node)? {
            Way::Known(legs) => legs.next(),
            Way::Walk(walk) => Some(walk.next_leg()),
            Way::Bounce(bounce) => Some(bounce.next_leg()),
        }
    }
}
