//! Errors as Python's exceptions.

use driftway::{experiment, scenario, sim};
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError};

mod imported {
    pyo3::import_exception!(driftway._errors, ScenarioError);
    pyo3::import_exception!(driftway._errors, RunError);
}

/// The exception for a scenario or a request that is not valid, which is in no line of a file.
pub fn invalid(message: String) -> PyErr {
    imported::ScenarioError::new_err((message, None::<usize>, None::<usize>))
}

/// The exception for an invalid scenario, with its place.
pub fn of_scenario(error: &scenario::Error) -> PyErr {
    placed(error.to_string(), error)
}

fn placed(message: String, error: &scenario::Error) -> PyErr {
    let (line, column) = error.line_and_column().unzip();
    imported::ScenarioError::new_err((message, line, column))
}

/// The exception for an error of a study.
pub fn of_study(error: &experiment::Error) -> PyErr {
    match error {
        experiment::Error::File { error: inner, .. } => placed(error.to_string(), inner),
        experiment::Error::Refused { .. } => invalid(error.to_string()),
        experiment::Error::Io { .. } => PyOSError::new_err(error.to_string()),
        _ => failed(error.to_string()),
    }
}

/// The exception for a simulation that cannot be set up, or that found a bug.
pub fn of_simulation(error: &sim::RunError) -> PyErr {
    failed(error.to_string())
}

/// The exception for a run that failed.
pub fn failed(message: String) -> PyErr {
    imported::RunError::new_err((message,))
}

/// The exception for what an aid raised, with that as its cause: its message has the simulated time.
pub fn raised(
    message: String,
    seed: u64,
    time_s: f64,
    cause: PyErr,
    py: pyo3::Python<'_>,
) -> PyErr {
    let error = imported::RunError::new_err((message, seed, time_s));
    error.set_cause(py, Some(cause));
    error
}

/// The exception for a bug of this module.
pub fn bug(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("a bug in driftway: {what}"))
}
