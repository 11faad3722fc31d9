//! The page on which the events of runs are seen on one time line.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use driftway::Instant;
use driftway::experiment::replay::{self, MAX_PAGE, Replay, TimeWindow};
use driftway::scenario::Scenario;
use driftway::sim::results::RunResult;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::aid::seconds;
use crate::errors;
use crate::event_table::EventFile;
use crate::results::Results;

/// A run to replay, with its event log.
pub struct Replayed {
    /// Its scenario.
    pub scenario: Scenario,
    /// Its result.
    pub run: RunResult,
    /// Its events.
    pub events: Arc<EventFile>,
}

/// The page of runs with these labels and seeds, from `from_s` to `to_s` (s; `None`: to the end), and for each run that was
/// thinned a sentence that says how.
#[pyfunction]
pub fn replay_page(
    py: Python<'_>,
    title: &str,
    runs: Vec<(PyRef<'_, Results>, String, u64)>,
    from_s: f64,
    to_s: Option<f64>,
) -> PyResult<(String, Vec<String>)> {
    let instant = |what, time| seconds(what, time).map(|time| Instant::ZERO + time);
    let from = instant("from_s", from_s)?;
    let to = to_s.map(|time| instant("to_s", time)).transpose()?;
    if to.is_some_and(|to| to <= from) {
        return Err(PyValueError::new_err("to_s: this must be later than from_s"));
    }
    let mut found = Vec::new();
    for (results, label, seed) in runs {
        let of = results.replayed(seed)?;
        let end = of.run.duration_s;
        if from > Instant::ZERO && from_s >= end {
            let message = format!("from_s: {from_s} s is not before the end of the run, {end} s");
            return Err(PyValueError::new_err(message));
        }
        found.push((label, of));
    }
    let made = py.detach(|| -> Result<_, csv::Error> {
        let mut replays = Vec::new();
        for (label, Replayed { scenario, run, events }) in found {
            let log = BufReader::new(File::open(&events.path)?);
            replays.push(Replay::read(label, (&scenario, &run), log, TimeWindow { from, to })?);
        }
        Ok(replay::page(title, replays, MAX_PAGE)?)
    });
    let page = made.map_err(|error| errors::failed(format!("cannot make the page: {error}")))?;
    Ok((page.html, page.thinned))
}
