//! Values of Python as those of a scenario.

use driftway::base::Duration;
use driftway::scenario::Time;
use pyo3::prelude::*;

use crate::errors;

/// A time as in a scenario, `"10 ms"`, which is not 0.
pub fn step(text: Option<&str>) -> PyResult<Option<Duration>> {
    let Some(text) = text else { return Ok(None) };
    let Time(step) =
        text.parse().map_err(|error: String| errors::invalid(format!("step: {error}")))?;
    match step.is_zero() {
        true => Err(errors::invalid("step: this must be longer than 0 s".to_owned())),
        false => Ok(Some(step)),
    }
}

/// The number of threads: as many as processors, unless one is given.
pub fn threads(jobs: Option<usize>, default: Option<usize>) -> PyResult<usize> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    match jobs {
        Some(0) => Err(errors::invalid("jobs: expected a whole number, at least 1".to_owned())),
        Some(jobs) => Ok(jobs),
        None => Ok(default.unwrap_or_else(processors)),
    }
}
