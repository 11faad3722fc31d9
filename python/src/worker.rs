//! Runs that a worker performs for a study elsewhere.

use std::fs;
use std::path::Path;

use driftway::Duration;
use driftway::Scenario;
use driftway::experiment::Error;
use driftway::experiment::runner::{Job, RunRecord, identity};
use driftway::scenario::Mobility;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::interrupt::{Stop, interruptible};

/// The version of driftway with a digest of its code: runs of equal versions are equal.
#[pyfunction]
pub const fn version() -> &'static str {
    identity::VERSION
}

/// The name of the scenario's file at a worker.
const FILE: &str = "scenario.toml";

/// A run for a worker, with all that it needs. It travels by pickle.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Task {
    #[pyo3(get)]
    version: String,
    /// The digest of the scenario.
    #[pyo3(get)]
    digest: String,
    #[pyo3(get)]
    seed: u64,
    step_ns: Option<u64>,
    /// The scenario with all defaults.
    text: String,
    /// The movement files that it names.
    movements: Vec<(String, Vec<u8>)>,
}

impl Task {
    /// The run of a job with a seed.
    pub fn new(job: &Job, seed: u64, step: Option<Duration>) -> Result<Self, Error> {
        let dir = Path::new(&job.file).parent().unwrap_or(Path::new(""));
        let mut movements = Vec::new();
        for adhoc in job.scenario.network.radio_networks() {
            let Mobility::File(movement) = &adhoc.mobility else { continue };
            let files = movement.at_seed(seed).file;
            for name in files.iter() {
                if name.contains(std::path::is_separator) || name == ".." {
                    let message =
                        format!("{}: the movement file {name} is in another directory", job.file);
                    let help = "workers get the files that are in the directory of the scenario";
                    return Err(Error::refused_with(message, help));
                }
                let path = dir.join(name);
                let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
                movements.push((name.to_owned(), bytes));
            }
        }
        Ok(Self {
            version: identity::VERSION.to_owned(),
            digest: job.digest.clone(),
            seed,
            step_ns: step.map(Duration::as_nanos),
            text: job.scenario.show(),
            movements,
        })
    }

    /// The interval of samples.
    pub fn step(&self) -> Option<Duration> {
        self.step_ns.map(Duration::from_nanos)
    }

    /// Checks that a record is of this run.
    pub fn check(&self, record: &RunRecord) -> PyResult<()> {
        if record.version == self.version
            && record.scenario == self.digest
            && record.seed == self.seed
            && record.samples.is_some() == self.step_ns.is_some()
        {
            return Ok(());
        }
        let (digest, seed) = (&self.digest, self.seed);
        Err(errors::failed(format!(
            "a worker's record is not of scenario {digest} and seed {seed}"
        )))
    }

    /// The job, from its text.
    fn job(&self, dir: &Path) -> PyResult<Job> {
        for (name, bytes) in &self.movements {
            fs::write(dir.join(name), bytes)?;
        }
        let file = dir.join(FILE).to_string_lossy().into_owned();
        let scenario = Scenario::parse(&file, &self.text, &[]);
        let scenario = scenario.map_err(|error| errors::of_scenario(&error))?;
        let job = Job::new(scenario, file, Vec::new());
        let job = job.at_seed(self.seed).map_err(|error| errors::of_study(&error))?.into_owned();
        if job.digest != self.digest {
            let message = "a scenario is another one at the worker than where it comes from";
            return Err(errors::bug(message));
        }
        Ok(job)
    }
}

type Parts = (String, String, u64, Option<u64>, String, Vec<(String, Vec<u8>)>);

#[pymethods]
impl Task {
    #[new]
    fn from_parts(parts: Parts) -> Self {
        let (version, digest, seed, step_ns, text, movements) = parts;
        Self { version, digest, seed, step_ns, text, movements }
    }

    fn __getnewargs__(&self) -> (Parts,) {
        let Self { version, digest, seed, step_ns, text, movements } = self;
        let (version, digest, text) = (version.clone(), digest.clone(), text.clone());
        ((version, digest, *seed, *step_ns, text, movements.clone()),)
    }

    /// A name that equal runs share.
    #[getter]
    fn key(&self) -> String {
        let Self { version, digest, seed, step_ns, .. } = self;
        format!("driftway-{version}-{digest}-{seed}-{}", step_ns.unwrap_or(0))
    }
}

/// Performs a run, and returns its record. A task of another version is refused.
#[pyfunction]
pub fn run_task<'py>(py: Python<'py>, task: &Task) -> PyResult<Bound<'py, PyBytes>> {
    if task.version != identity::VERSION {
        let message = format!(
            "a worker has driftway {}, and the study {}: install the same one on both",
            identity::VERSION,
            task.version
        );
        return Err(errors::failed(message));
    }
    let dir = tempfile::tempdir()?;
    let job = task.job(dir.path())?;
    let stop = Stop::default();
    let made =
        interruptible(py, &stop, |_| Ok(()), || job.run_recorded(task.seed, task.step(), &stop))?;
    let record = made.map_err(|error| errors::of_study(&error))?;
    let record = record.ok_or_else(|| errors::bug("a run was stopped for no reason"))?;
    let bytes = serde_json::to_vec(&record).map_err(|error| errors::bug(&error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}
