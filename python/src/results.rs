//! Results of runs.

use std::sync::Arc;

use driftway::Duration;
use driftway::experiment::rows::{self, Table as Rows};
use driftway::experiment::runner::Samples;
use driftway::experiment::summary;
use driftway::scenario::Scenario;
use driftway::sim::results::{RunDocument, RunResult, SCHEMA, Timing};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::columns;
use crate::errors;
use crate::event_table::{EventFile, EventTable};
use crate::replay::Replayed;
use crate::runs::{Done, Request};
use crate::table::{Table, of_arrow};

/// The results of runs of one scenario.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Results {
    scenario: Scenario,
    runs: Vec<RunResult>,
    samples: Option<(Duration, Vec<Samples>)>,
    events: Option<Vec<Arc<EventFile>>>,
    /// The values of metrics by their names, one for each run.
    metrics: Vec<(String, Vec<Option<f64>>)>,
}

impl Results {
    /// The results of what was asked for.
    pub fn new(scenario: Scenario, done: Vec<Done>, request: &Request) -> Self {
        let (mut runs, mut samples, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let names = request.kept.metrics.iter().map(|(name, _)| (name.clone(), Vec::new()));
        let mut metrics: Vec<(String, Vec<Option<f64>>)> = names.collect();
        for run in done {
            runs.push(run.record.result);
            samples.extend(run.record.samples);
            events.extend(run.events);
            for ((_, values), value) in metrics.iter_mut().zip(run.metrics) {
                values.push(value);
            }
        }
        let samples = request.kept.step.map(|step| (step, samples));
        let events = request.kept.events.then_some(events);
        Self { scenario, runs, samples, events, metrics }
    }

    /// The run with a seed, with its events.
    pub fn replayed(&self, seed: u64) -> PyResult<Replayed> {
        let Some(events) = &self.events else {
            let message = "these results have no events: run with events=True";
            return Err(PyValueError::new_err(message));
        };
        let run = self.runs.iter().find(|run| run.seed == seed);
        let events = events.iter().find(|file| file.seed == seed);
        let (Some(run), Some(events)) = (run, events) else {
            let seeds: Vec<String> = self.runs.iter().map(|run| run.seed.to_string()).collect();
            let message = format!("seed: no run has {seed}; there are {}", seeds.join(", "));
            return Err(PyValueError::new_err(message));
        };
        let (scenario, run) = (self.scenario.clone(), run.clone());
        Ok(Replayed { scenario, run, events: Arc::clone(events) })
    }

    /// The results of one run, without samples and events.
    pub fn of_run(scenario: Scenario, run: RunResult) -> Self {
        Self { scenario, runs: vec![run], samples: None, events: None, metrics: Vec::new() }
    }
}

/// The mean of values with its 90 % and 95 % confidence intervals, and their number; `None` without values.
#[pyfunction]
pub fn estimate(py: Python<'_>, values: Vec<f64>) -> PyResult<Option<Bound<'_, PyDict>>> {
    let Some(found) = summary::estimate(&values) else { return Ok(None) };
    let of = PyDict::new(py);
    of.set_item("mean", found.mean)?;
    of.set_item("ci90", found.ci90)?;
    of.set_item("ci95", found.ci95)?;
    of.set_item("n", found.n)?;
    Ok(Some(of))
}

/// A table of rows.
pub fn table(rows: &Rows) -> PyResult<Table> {
    columns::batch(rows).map(Table::new).map_err(|error| of_arrow(&error))
}

#[pymethods]
impl Results {
    /// The table of runs, without metrics of the user.
    fn runs(&self, py: Python<'_>) -> PyResult<Table> {
        let [runs, _] = py.detach(|| rows::tables_of_runs(&self.runs));
        table(&runs)
    }

    /// The table of flows.
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        let [_, flows] = py.detach(|| rows::tables_of_runs(&self.runs));
        table(&flows)
    }

    /// The table of time steps; `None` if the runs had no step.
    fn steps(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let Some((step, samples)) = &self.samples else { return Ok(None) };
        let seeds = self.runs.iter().map(|run| run.seed);
        let rows: Vec<(u64, &Samples)> = seeds.zip(samples).collect();
        table(&py.detach(|| rows::steps_of_runs(&rows, *step))).map(Some)
    }

    /// The event logs; `None` if the runs had none.
    fn events(&self) -> Option<EventTable> {
        self.events.clone().map(EventTable::new)
    }

    /// The values of the user's metrics.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyList>)>> {
        let list = |(name, values): &(String, Vec<Option<f64>>)| {
            Ok((name.clone(), PyList::new(py, values)?))
        };
        self.metrics.iter().map(list).collect()
    }

    /// The number of runs.
    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// The document that `driftway run --json` prints, with no computing time.
    fn to_json(&self) -> PyResult<String> {
        let document = RunDocument {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            emulated: false,
            scenario: self.scenario.clone(),
            summary: summary::summarise(&self.runs),
            runs: self.runs.clone(),
            timing: Timing { wall_s: 0.0, jobs: 0, events_per_s: None },
        };
        serde_json::to_string_pretty(&document).map_err(|error| errors::bug(&error.to_string()))
    }

    /// All but the events, for pickle.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let samples = self.samples.as_ref().map(|(step, samples)| (step.as_nanos(), samples));
        let bytes = serde_json::to_vec(&(&self.runs, samples, &self.metrics));
        let bytes = bytes.map_err(|error| errors::bug(&error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The results of a scenario that `to_bytes` has written.
    #[staticmethod]
    fn from_bytes(scenario: &crate::scenario::Scenario, bytes: &[u8]) -> PyResult<Self> {
        type Parts = (Vec<RunResult>, Option<(u64, Vec<Samples>)>, Vec<(String, Vec<Option<f64>>)>);
        let (runs, samples, metrics): Parts = serde_json::from_slice(bytes)
            .map_err(|error| errors::invalid(format!("these are no results: {error}")))?;
        let samples = samples.map(|(step, samples)| (Duration::from_nanos(step), samples));
        Ok(Self { scenario: scenario.parsed().clone(), runs, samples, events: None, metrics })
    }
}
