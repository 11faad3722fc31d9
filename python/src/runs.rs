//! Runs of a scenario with several seeds.

use std::collections::BTreeSet;
use std::io::{self, BufWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use driftway::Duration;
use driftway::experiment::runner::{Job, RunRecord, parallel_map};
use driftway::experiment::{self};
use driftway::sim::Observers;
use driftway::sim::log::EventLog;
use pyo3::prelude::*;
use tempfile::NamedTempFile;

use crate::errors;
use crate::event_table::{EventFile, EventTable};
use crate::interrupt::{Stop, interruptible};
use crate::run_context::{Failure, RunContext};

/// Names of metrics and the functions that compute them from the events of a run.
pub type Metrics = Vec<(String, Py<PyAny>)>;

/// A request for runs.
pub struct Request {
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The number of threads.
    pub threads: usize,
    /// The parts of each run that are kept.
    pub kept: Kept,
}

/// The parts of a run that are kept besides its result.
pub struct Kept {
    /// Samples at this interval.
    pub step: Option<Duration>,
    /// The event log.
    pub events: bool,
    /// The values of metrics.
    pub metrics: Metrics,
}

/// A completed run.
pub struct Done {
    /// Its record.
    pub record: RunRecord,
    /// Its event log, if it is kept.
    pub events: Option<Arc<EventFile>>,
    /// The values of the metrics.
    pub metrics: Vec<Option<f64>>,
}

/// The reason why a run was not completed.
pub enum Undone {
    /// An exception of the user's code.
    Raised(Arc<RunContext>),
    /// A failure.
    Failed(experiment::Error),
    /// A file of events cannot be written.
    Io(io::Error),
    /// Another run has ended it.
    Stopped,
}

/// Performs the runs, in the order of the seeds. `on_progress` is called with the number of completed runs.
pub fn perform(
    py: Python<'_>,
    job: &Job,
    request: &Request,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Done>> {
    check_seeds(&request.seeds)?;
    let stop = Arc::new(Stop::default());
    let finished = AtomicU64::new(0);
    let mut shown = None;
    let report = |_: Python<'_>| {
        let count = finished.load(Ordering::Relaxed);
        match on_progress {
            Some(call) if shown.replace(count) != Some(count) => call.call1((count,)).map(drop),
            _ => Ok(()),
        }
    };
    let results = interruptible(py, &stop, report, || {
        parallel_map(request.threads, request.seeds.len(), |index| {
            let done = perform_one(job, request.seeds[index], &request.kept, &stop);
            match &done {
                Ok(_) => _ = finished.fetch_add(1, Ordering::Relaxed),
                Err(_) => stop.store(true, Ordering::Relaxed),
            }
            // A failure ends the others by `stop`, and which of them is reported is decided below.
            Ok::<_, ()>(done)
        })
    })?;
    if let Some(call) = on_progress {
        call.call1((finished.load(Ordering::Relaxed),))?;
    }
    collect(py, results.map_err(|()| errors::bug("no run failed"))?)
}

/// The results of all runs, or the exception of the first that failed by itself.
pub fn collect<T>(py: Python<'_>, results: Vec<Result<T, Undone>>) -> PyResult<Vec<T>> {
    let mut done = Vec::with_capacity(results.len());
    let mut stopped = false;
    for result in results {
        match result {
            Ok(run) => done.push(run),
            Err(Undone::Stopped) => stopped = true,
            Err(Undone::Failed(error)) => return Err(errors::of_study(&error)),
            Err(Undone::Io(error)) => return Err(error.into()),
            Err(Undone::Raised(context)) => {
                return Err(context.take_error(py).unwrap_or_else(|| errors::bug("no exception")));
            }
        }
    }
    if stopped { Err(errors::bug("a run was stopped for no reason")) } else { Ok(done) }
}

fn check_seeds(seeds: &[u64]) -> PyResult<()> {
    if seeds.is_empty() {
        return Err(errors::invalid("seeds: at least one is needed".to_owned()));
    }
    let mut known = BTreeSet::new();
    match seeds.iter().find(|seed| !known.insert(**seed)) {
        Some(twice) => Err(errors::invalid(format!("seeds: {twice} is given twice"))),
        None => Ok(()),
    }
}

/// Performs a run of a job with a seed.
pub fn perform_one(job: &Job, seed: u64, kept: &Kept, stop: &Arc<Stop>) -> Result<Done, Undone> {
    if stop.load(Ordering::Relaxed) {
        return Err(Undone::Stopped);
    }
    let context = RunContext::new(seed, Arc::clone(stop));
    let logs = kept.events || !kept.metrics.is_empty();
    let file = logs.then(NamedTempFile::new).transpose().map_err(Undone::Io)?;
    let mut log = match &file {
        Some(file) => {
            let out = file.reopen().map_err(Undone::Io)?;
            Some(EventLog::new(Box::new(BufWriter::with_capacity(1 << 16, out))))
        }
        None => None,
    };
    let watch = Observers { log: log.as_mut(), ..Observers::default() };
    let job = job.at_seed(seed).map_err(Undone::Failed)?;
    let record = record(&context, (&*job, seed), kept.step, watch, stop)?;
    if let Some(log) = log {
        log.finish().map_err(Undone::Io)?;
    }
    let events = file.map(|file| Arc::new(EventFile { seed, path: file.into_temp_path() }));
    let mut metrics = Vec::new();
    if let Some(events) = &events {
        for (name, function) in &kept.metrics {
            match stop.among_threads(|| measure(function, events)) {
                Ok(value) => metrics.push(value),
                Err(error) => {
                    let end =
                        driftway::Instant::from_nanos((record.result.duration_s * 1e9) as u64);
                    let who = format!("the metric `{name}`");
                    context.fail(Failure { who, at: end, error });
                    return Err(Undone::Raised(context));
                }
            }
        }
    }
    Ok(Done { record, events: events.filter(|_| kept.events), metrics })
}

/// The record of a run with a seed.
fn record(
    context: &Arc<RunContext>,
    (job, seed): (&Job, u64),
    step: Option<Duration>,
    watch: Observers<'_>,
    stop: &Stop,
) -> Result<RunRecord, Undone> {
    let run = || context.within(|| job.run_observed(seed, step, watch, stop));
    let record = match job.scenario.has_registered_items() {
        true => stop.among_threads(run),
        false => run(),
    };
    if context.has_failed() {
        return Err(Undone::Raised(Arc::clone(context)));
    }
    record.map_err(Undone::Failed)?.ok_or(Undone::Stopped)
}

/// The value of a metric of a run; `None` if it has none.
fn measure(function: &Py<PyAny>, events: &Arc<EventFile>) -> PyResult<Option<f64>> {
    Python::attach(|py| {
        let table = EventTable::new(vec![Arc::clone(events)]);
        function.call1(py, (table,))?.extract(py)
    })
}
