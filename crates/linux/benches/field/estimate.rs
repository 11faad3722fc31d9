//! Means and 90 % intervals.

use std::fmt;

use statrs::distribution::{ContinuousCDF, StudentsT};

/// An estimate from values, one per run.
#[derive(Clone, Debug)]
pub struct Estimate {
    values: Vec<f64>,
    decimals: usize,
}

impl Estimate {
    pub fn of(values: impl IntoIterator<Item = f64>, decimals: usize) -> Self {
        Self { values: values.into_iter().collect(), decimals }
    }

    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Half the width of the 90 % interval (Student's t); `None` with one value.
    pub fn half(&self) -> Option<f64> {
        let n = self.values.len() as f64;
        let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.95);
        let mean = self.mean();
        let squares = self.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        Some(t * (squares / (n - 1.0) / n).sqrt())
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.decimals;
        let text = match self.half() {
            Some(half) => format!("{:.places$} ± {half:.places$}", self.mean()),
            None => format!("{:.places$}", self.mean()),
        };
        f.pad(&text)
    }
}
