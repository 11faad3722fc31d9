//! The trajectory of one station.

use std::fmt::Debug;

use crate::leg::Leg;

/// A station's trajectory.
pub trait Trajectory: Debug + Send {
    /// Returns the next leg: first the one at the start of the run, then each time the one that begins when the
    /// previous one ends. Each should take time; a station with a thousand legs on end that take none stays there. `None`:
    /// the station goes on for ever with the velocity of the last one.
    ///
    /// Positions within [`Plane::area`](super::Plane::area) are up to the model.
    fn next_leg(&mut self) -> Option<Leg>;

    /// Returns a copy, which returns the same legs.
    fn clone_boxed(&self) -> Box<dyn Trajectory>;
}

impl Clone for Box<dyn Trajectory> {
    fn clone(&self) -> Self {
        self.clone_boxed()
    }
}
