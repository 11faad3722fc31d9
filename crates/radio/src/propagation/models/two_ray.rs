//! Two-ray ground reflection: as free space up to the crossover distance 4π·h²/λ, beyond which the reflected ray
//! cancels the direct one and power falls with the fourth power of the distance (rappaport-2002 §4.6).

use crate::propagation::link_budget::LinkBudget;

/// Path loss with a reflection from the ground.
#[derive(Clone, Copy, Debug)]
pub struct PathLoss {
    /// Power received at one metre (W).
    one: f64,
    /// Power times the fourth power of the distance beyond the crossover (W·m⁴).
    fourth_power: f64,
    crossover_squared: f64,
}

impl PathLoss {
    pub fn new(budget: &LinkBudget) -> Self {
        let height_squared = budget.antenna_height * budget.antenna_height;
        let crossover = height_squared / budget.wavelength_ratio;
        Self {
            one: budget.at_one_metre(),
            fourth_power: budget.sent * height_squared * height_squared,
            crossover_squared: crossover * crossover,
        }
    }

    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        if distance_squared < self.crossover_squared {
            self.one / distance_squared
        } else {
            self.fourth_power / (distance_squared * distance_squared)
        }
    }

    pub fn distance(&self, power: f64) -> f64 {
        let near = self.one / power;
        if near < self.crossover_squared {
            near.sqrt()
        } else {
            (self.fourth_power / power).sqrt().sqrt()
        }
    }

    /// Returns the ratio of squared distances below which no power exceeds another by a ratio.
    pub fn squared_distances_of(&self, ratio: f64) -> f64 {
        // The fourth power of the distance is the steepest part.
        ratio.sqrt()
    }
}
