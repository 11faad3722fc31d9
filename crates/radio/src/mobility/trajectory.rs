//! The trajectory of one station.

use std::fmt::Debug;

use crate::leg::Leg;

/// A station's trajectory.
pub trait Trajectory: Debug + Send {
    /// Returns the next leg: first the one at the start of the run, then each time the one that begins when the
    /// previous one ends. `None`: the station stays on the line of the last one.
    fn next_leg(&mut self) -> Option<Leg>;

    /// Returns a copy, which returns the same legs.
    fn clone_boxed(&self) -> Box<dyn Trajectory>;
}

impl Clone for Box<dyn Trajectory> {
    fn clone(&self) -> Self {
        self.clone_boxed()
    }
}
