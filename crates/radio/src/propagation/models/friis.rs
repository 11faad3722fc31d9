//! Free space: power falls with the square of the distance (friis-1946).

use crate::propagation::link_budget::LinkBudget;

/// Path loss in free space.
#[derive(Clone, Copy, Debug)]
pub struct PathLoss {
    /// Power received at one metre (W).
    one: f64,
}

impl PathLoss {
    pub fn new(budget: &LinkBudget) -> Self {
        Self { one: budget.at_one_metre() }
    }

    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        self.one / distance_squared
    }

    pub fn distance(&self, power: f64) -> f64 {
        (self.one / power).sqrt()
    }

    /// Returns the ratio of squared distances below which no power exceeds another by a ratio.
    pub fn squared_distances_of(&self, ratio: f64) -> f64 {
        ratio
    }
}
