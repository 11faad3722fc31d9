//! Studies: many runs, their cache, and tables of results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use driftway::experiment::Error;
use driftway::experiment::rows;
use driftway::experiment::runner::{RunCache, RunRecord, Runner, parallel_map};
use driftway::experiment::study::document::Timing;
use driftway::experiment::study::outcome::StudyOutcome;
use driftway::experiment::study::plan::{Plan, plan_with};
use driftway::experiment::study::results::{self, SelectedRun, run_count, selected_runs};
use driftway::experiment::study::select::{Selection, SelectionArgs, select};
use driftway::experiment::study::source::{self, Source};
use driftway::experiment::sweep::{Sweep, build_study_with, study_with_settings_and};
use driftway::experiment::vary::Vary;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::convert;
use crate::errors;
use crate::interrupt::{Stop, interruptible};
use crate::registry::Registry;
use crate::results::table;
use crate::runs::{self, Done, Kept, Metrics};
use crate::table::Table;
use crate::worker::Task;

/// The number of runs of a sweep for each point, as that of the command.
const DEFAULT_RUNS: u64 = 10;

/// The names of the papers.
#[pyfunction]
pub fn paper_names() -> Vec<String> {
    source::paper_names().into_iter().collect()
}

/// A part of a study, planned and checked.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Study {
    plan: Plan,
    selection: Selection,
}

/// The cache of runs: that in a directory, or that of the command.
fn open_cache(cache: Option<&Path>) -> PyResult<Option<RunCache>> {
    let opened = match cache {
        Some(dir) => RunCache::at(dir).map(Some),
        None => RunCache::standard(),
    };
    opened.map_err(|error| errors::of_study(&error))
}

impl Study {
    fn new(source: Source, registry: &Registry, part: &SelectionArgs) -> Result<Self, Error> {
        let plan = plan_with(source, &registry.entries)?;
        let selection = select(&plan, part)?;
        Ok(Self { plan, selection })
    }

    /// Performs the recorded runs with aids and metrics in Python, without the cache.
    fn run_with_python(
        &self,
        py: Python<'_>,
        runner: &Runner<'_>,
        metrics: Metrics,
        stop: &Arc<Stop>,
        report: impl FnMut(Python<'_>) -> PyResult<()>,
    ) -> PyResult<Vec<Done>> {
        let all = self.runs();
        let step = all.first().and_then(|run| run.task.step);
        let kept = Kept { step, events: false, metrics };
        let results = interruptible(py, stop, report, || {
            parallel_map(runner.threads, all.len(), |index| {
                let task = &all[index].task;
                let done = runs::perform_one(task.job, task.seed, &kept, stop);
                match &done {
                    Ok(_) => (runner.on_finished)(),
                    Err(_) => stop.store(true, Ordering::Relaxed),
                }
                Ok::<_, ()>(done)
            })
        })?;
        runs::collect(py, results.map_err(|()| errors::bug("no run failed"))?)
    }

    /// The values of metrics, each with the scenario and the seed of its run.
    fn measured(&self, names: &[String], done: &[Done]) -> Vec<Measured> {
        let of_metric = |(index, name): (usize, &String)| {
            let runs = self.runs().into_iter().zip(done);
            let value = |(run, done): (SelectedRun<'_>, &Done)| {
                (run.task.job.digest.clone(), run.task.seed, done.metrics[index])
            };
            (name.clone(), runs.map(value).collect())
        };
        names.iter().enumerate().map(of_metric).collect()
    }

    fn runs(&self) -> Vec<SelectedRun<'_>> {
        selected_runs(&self.plan, &self.selection)
    }
}

#[pymethods]
impl Study {
    /// The study in a file, with further settings.
    #[staticmethod]
    fn load(
        file: PathBuf,
        set: Vec<(String, String)>,
        figures: Vec<String>,
        runs: Option<u64>,
        quick: bool,
        registry: &Registry,
    ) -> PyResult<Self> {
        let part = SelectionArgs { figures, runs, quick };
        let source = match set.is_empty() {
            true => Source::from_file(&file),
            false => study_with_settings_and(&file, &set, &registry.entries),
        };
        let made = source.and_then(|source| Self::new(source, registry, &part));
        made.map_err(|error| errors::of_study(&error))
    }

    /// A paper, by its name.
    #[staticmethod]
    fn paper(
        name: &str,
        figures: Vec<String>,
        runs: Option<u64>,
        quick: bool,
        registry: &Registry,
    ) -> PyResult<Self> {
        let part = SelectionArgs { figures, runs, quick };
        let made = Source::find(name).and_then(|source| Self::new(source, registry, &part));
        made.map_err(|error| errors::of_study(&error))
    }

    /// A scenario over varying keys: of each variation the keys, and at each place a value for each.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the package calls it by keywords")]
    fn vary(
        file: PathBuf,
        vary: Vec<(Vec<String>, Vec<Vec<String>>)>,
        set: Vec<(String, String)>,
        metrics: Vec<String>,
        runs: Option<u64>,
        step: Option<&str>,
        quick: bool,
        registry: &Registry,
    ) -> PyResult<Self> {
        convert::step(step)?;
        let vary = vary.into_iter().map(|(keys, values)| Vary { keys, values }).collect();
        let part = SelectionArgs { figures: Vec::new(), runs, quick };
        let runs = runs.unwrap_or(DEFAULT_RUNS);
        let sweep = Sweep { vary, set, metrics, runs, step: step.map(str::to_owned) };
        let source = build_study_with(&file, &sweep, &registry.entries);
        let made = source.and_then(|source| Self::new(source, registry, &part));
        made.map_err(|error| errors::of_study(&error))
    }

    /// The number of runs.
    #[getter]
    fn run_count(&self) -> u64 {
        run_count(&self.plan, &self.selection)
    }

    /// True if an aid of one of the scenarios is Python's.
    #[getter]
    fn has_python_items(&self) -> bool {
        self.plan.jobs.iter().any(|job| job.scenario.has_registered_items())
    }

    /// The runs that are not in the cache, for workers elsewhere; all of them, if `fresh`.
    fn tasks(&self, py: Python<'_>, cache: Option<PathBuf>, fresh: bool) -> PyResult<Vec<Task>> {
        if self.has_python_items() {
            let message = "aids in Python run in this process only: leave out `client`";
            return Err(errors::invalid(message.to_owned()));
        }
        let cache = open_cache(cache.as_deref())?.filter(|_| !fresh);
        let tasks = py.detach(|| -> Result<Vec<Task>, Error> {
            let mut tasks = Vec::new();
            for SelectedRun { task, .. } in self.runs() {
                let job = task.job.at_seed(task.seed)?;
                let kept = cache.as_ref().and_then(|of| of.get(&job, task.seed, task.step));
                if kept.is_none() {
                    tasks.push(Task::new(&job, task.seed, task.step)?);
                }
            }
            Ok(tasks)
        });
        tasks.map_err(|error| errors::of_study(&error))
    }

    /// Keeps the record of a run that a worker has returned.
    fn store(&self, task: &Task, record: &[u8], cache: Option<PathBuf>) -> PyResult<()> {
        let record: RunRecord = serde_json::from_slice(record)
            .map_err(|error| errors::failed(format!("this is no record of a run: {error}")))?;
        task.check(&record)?;
        let Some(cache) = open_cache(cache.as_deref())? else { return Ok(()) };
        cache.put(task.step(), &record).map_err(|error| errors::of_study(&error))
    }

    /// Performs the runs that are not cached, and returns the results of all. With `metrics` all are performed.
    fn run(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        fresh: bool,
        cache: Option<PathBuf>,
        metrics: Metrics,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<StudyResults> {
        let default = self.has_python_items().then_some(1);
        let threads = convert::threads(jobs, default)?;
        let cache = open_cache(cache.as_deref())?;
        let (stop, finished) = (Arc::new(Stop::default()), AtomicU64::new(0));
        let mut shown = None;
        let mut report = |_: Python<'_>| {
            let count = finished.load(Ordering::Relaxed);
            match on_progress {
                Some(call) if shown.replace(count) != Some(count) => call.call1((count,)).map(drop),
                _ => Ok(()),
            }
        };
        let on_finished = || _ = finished.fetch_add(1, Ordering::Relaxed);
        let runner =
            Runner { threads, cache, ignore_cache: fresh, stop: &stop, on_finished: &on_finished };
        let names: Vec<String> = metrics.iter().map(|(name, _)| name.clone()).collect();
        let done = match self.has_python_items() || !metrics.is_empty() {
            true => Some(self.run_with_python(py, &runner, metrics, &stop, &mut report)?),
            false => None,
        };
        let measured = self.measured(&names, done.as_deref().unwrap_or_default());
        let records = done.map(|done| done.into_iter().map(|done| done.record).collect());
        let made = interruptible(py, &stop, report, || match records {
            Some(records) => results::complete(&self.plan, &self.selection, records, &runner),
            None => results::run_selection(&self.plan, &self.selection, &runner),
        })?;
        let results = made.map_err(|error| match error {
            Error::Stopped { .. } => PyKeyboardInterrupt::new_err(error.to_string()),
            error => errors::of_study(&error),
        })?;
        let tables = rows::tables(&self.plan, &self.selection, &results);
        let outcome =
            StudyOutcome { plan: &self.plan, selection: &self.selection, results: &results };
        let timing = Timing { wall_s: 0.0, runs: results.runs, jobs: 0, events_per_s: None };
        let document = serde_json::to_string(&outcome.document(timing));
        let document = document.map_err(|error| errors::bug(&error.to_string()))?;
        Ok(StudyResults { tables, document, measured })
    }
}

/// The results of a study.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct StudyResults {
    tables: Vec<rows::Table>,
    document: String,
    measured: Vec<Measured>,
}

/// A metric of the user: its name, and of each run the digest of the scenario, the seed and the value.
type Measured = (String, Vec<(String, u64, Option<f64>)>);

#[pymethods]
impl StudyResults {
    /// The table `runs`, `flows` or `steps`; `None` if there is none.
    fn table(&self, name: &str) -> PyResult<Option<Table>> {
        self.tables.iter().find(|rows| rows.name == name).map(table).transpose()
    }

    /// The values of the user's metrics.
    fn metrics(&self) -> Vec<Measured> {
        self.measured.clone()
    }

    /// The document that `driftway sweep --json` prints, with no computing time.
    fn to_json(&self) -> &str {
        &self.document
    }
}
