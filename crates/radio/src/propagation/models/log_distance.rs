//! Log-distance path loss beyond one metre, with optional log-normal shadowing for each pair of stations.

use crate::ParameterError;
use crate::propagation::link_budget::LinkBudget;

/// Options of log-distance path loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogDistance {
    /// Path loss exponent: 2 in free space, 2.7 to 5 in urban areas (rappaport-2002 §4.9).
    pub exponent: f64,
    /// Standard deviation of the shadowing (dB); 0: none. A pair's shadowing is symmetric and depends only on the
    /// seed, the pair and the distances its stations have moved. It is truncated at three standard deviations, so
    /// that the range is finite.
    pub shadowing_db: f64,
    /// Decorrelation distance (m): after the two stations together have moved this far, the correlation with the
    /// earlier shadowing is 1/e. `None`: constant shadowing.
    pub decorrelation: Option<f64>,
}

impl LogDistance {
    /// Maximum number of stations for shadowing with decorrelation: each pair has its own state, 32 MB in total.
    pub const MAX_DECORRELATING_STATIONS: u32 = 1024;

    /// An exponent between free space (2) and two-ray ground reflection (4), without shadowing.
    pub const STANDARD: Self = Self { exponent: 3.0, shadowing_db: 0.0, decorrelation: None };

    /// Checks the options for this number of stations.
    pub fn check(&self, stations: u32) -> Result<(), ParameterError> {
        let Self { exponent, shadowing_db, decorrelation } = *self;
        if !(1.0..=10.0).contains(&exponent) {
            let message = format!("{exponent} is not a valid path loss exponent");
            return Err(ParameterError::new("exponent", message, "1 to 10; 2 in free space"));
        }
        if !(0.0..=30.0).contains(&shadowing_db) {
            let message = format!("a standard deviation of {shadowing_db} dB");
            return Err(ParameterError::new("shadowing", message, "0 to 30 dB; 0 for none"));
        }
        let Some(distance) = decorrelation else { return Ok(()) };
        if !(0.1..=1e6).contains(&distance) {
            let message = format!("a decorrelation distance of {distance} m");
            return Err(ParameterError::new("decorrelation", message, "0.1 m to 1000 km"));
        }
        if stations > Self::MAX_DECORRELATING_STATIONS {
            let message = format!("shadowing with decorrelation for {stations} nodes");
            let help = "at most 1024 nodes, or constant shadowing";
            return Err(ParameterError::new("decorrelation", message, help));
        }
        Ok(())
    }
}

/// Path loss with an exponent.
#[derive(Clone, Copy, Debug)]
pub struct PathLoss {
    /// Power received at one metre (W).
    one: f64,
    /// Half of the exponent.
    half: f64,
}

impl PathLoss {
    pub fn new(budget: &LinkBudget, options: &LogDistance) -> Self {
        Self { one: budget.at_one_metre(), half: options.exponent * 0.5 }
    }

    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        self.one / libm::pow(distance_squared, self.half)
    }

    pub fn distance(&self, power: f64) -> f64 {
        libm::pow(self.one / power, 0.5 / self.half)
    }

    /// Returns the ratio of squared distances below which no power exceeds another by a ratio.
    pub fn squared_distances_of(&self, ratio: f64) -> f64 {
        libm::pow(ratio, 1.0 / self.half)
    }
}
