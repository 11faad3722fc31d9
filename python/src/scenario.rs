//! Scenarios.

use std::path::Path;

use driftway::Scenario as Parsed;
use driftway::experiment::runner::{Job, identity};
use driftway::experiment::study::source::{PAPER_PREFIX, load_scenario};
use driftway::scenario::{Time, TomlFile};
use pyo3::prelude::*;

use crate::convert;
use crate::errors;
use crate::registry::Registry;
use crate::results::Results;
use crate::runs::{self, Kept, Metrics, Request};

/// A checked scenario.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Scenario {
    job: Job,
    text: String,
}

impl Scenario {
    /// The scenario.
    pub const fn parsed(&self) -> &Parsed {
        &self.job.scenario
    }
}

#[pymethods]
impl Scenario {
    /// Reads the file at `path`, or a paper's scenario (`paper:NAME/FILE`).
    #[staticmethod]
    fn load(path: &str, set: Vec<(String, String)>, registry: &Registry) -> PyResult<Self> {
        if path.starts_with(PAPER_PREFIX) {
            let scenario = load_scenario(Path::new(path), &[]);
            let text = scenario.map_err(|error| errors::of_study(&error))?.show();
            return Self::parse(path, text, set, registry);
        }
        let text = TomlFile::text(Path::new(path)).map_err(|error| errors::of_scenario(&error))?;
        Self::parse(path, text, set, registry)
    }

    /// Parses the text of the file `name`.
    #[staticmethod]
    fn parse(
        name: &str,
        text: String,
        set: Vec<(String, String)>,
        registry: &Registry,
    ) -> PyResult<Self> {
        let scenario = Parsed::parse_with(name, &text, &set, &registry.entries);
        let scenario = scenario.map_err(|error| errors::of_scenario(&error))?;
        Ok(Self { job: Job::new(scenario, name.to_owned(), set), text })
    }

    /// The text of the file, without what was set.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The name of the file.
    #[getter]
    fn file(&self) -> &str {
        &self.job.file
    }

    /// The keys that were set, with their values.
    #[getter]
    fn assignments(&self) -> Vec<(String, String)> {
        self.job.set.clone()
    }

    /// The name in the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.parsed().name
    }

    /// The longest duration of a run (s).
    #[getter]
    fn duration_s(&self) -> f64 {
        let Time(duration) = self.parsed().duration;
        duration.as_secs_f64()
    }

    /// A digest of everything that can change a run.
    #[getter]
    fn digest(&self) -> String {
        identity::digest(self.parsed())
    }

    /// True if an aid of the scenario is Python's.
    #[getter]
    fn has_python_items(&self) -> bool {
        self.parsed().has_registered_items()
    }

    /// The scenario as a file with all defaults; with the documentation of each key, if asked for.
    fn to_toml(&self, documented: bool) -> String {
        let scenario = self.parsed();
        if documented { scenario.show_documented() } else { scenario.show() }
    }

    /// Runs the scenario with each of these seeds.
    #[expect(clippy::too_many_arguments, reason = "the package calls it by keywords")]
    fn run(
        &self,
        py: Python<'_>,
        seeds: Vec<u64>,
        jobs: Option<usize>,
        step: Option<&str>,
        events: bool,
        metrics: Metrics,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Results> {
        // Threads would wait for each other to call Python.
        let default = self.has_python_items().then_some(1);
        let request = Request {
            seeds,
            threads: convert::threads(jobs, default)?,
            kept: Kept { step: convert::step(step)?, events, metrics },
        };
        let done = runs::perform(py, &self.job, &request, on_progress)?;
        Ok(Results::new(self.parsed().clone(), done, &request))
    }
}
