//! Unit disk: constant power up to the receive range, half of it from there to the sense range, so that no frame
//! captures another at the usual capture ratios.

use crate::propagation::link_budget::LinkBudget;

/// Path loss of a unit disk.
#[derive(Clone, Copy, Debug)]
pub struct PathLoss {
    power: f64,
    range_squared: f64,
}

impl PathLoss {
    pub fn new(budget: &LinkBudget) -> Self {
        Self { power: budget.power, range_squared: budget.range * budget.range }
    }

    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        if distance_squared <= self.range_squared { self.power } else { self.power * 0.5 }
    }

    pub fn distance(&self, _power: f64) -> f64 {
        self.range_squared.sqrt()
    }

    /// Returns the ratio of squared distances below which no power exceeds another by a ratio.
    pub fn squared_distances_of(&self, ratio: f64) -> f64 {
        // There are two powers.
        if ratio > 2.0 { f64::INFINITY } else { 1.0 }
    }
}
