//! Runs of a sweep on a Dask cluster, through the Python package `driftway`.
//!
//! A process of Python plans the same study, has the workers perform the runs that the cache does not have, and
//! puts their records there. Afterwards this process takes all runs from the cache, as a sweep does that continues.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use driftway_experiment::Error;
use driftway_experiment::runner::identity::VERSION;
use driftway_experiment::runner::{CACHE_VARIABLE, RunCache, RunRecord, Runner};
use driftway_experiment::study::results::{SelectedRun, run_recorded};
use serde::Serialize;

use crate::args::SweepArgs;
use crate::failure::Failure;

/// The environment variable that names another Python than `python3`.
const PYTHON_VARIABLE: &str = "DRIFTWAY_PYTHON";

/// Calls the package, wherever it is installed: not a folder of that name here.
const PROGRAM: &str = "
import sys
sys.path[:] = [path for path in sys.path if path]
try:
    from driftway.sweep_on_dask import main
except ImportError as error:
    print(f'the package driftway cannot be imported: {error}\\nhelp: pip install ./python, and pip install distributed')
    sys.exit(2)
sys.exit(main())
";

/// A request to the package.
#[derive(Serialize)]
struct Request<'a> {
    version: &'static str,
    address: &'a str,
    file: &'a Path,
    vary: Vec<(&'a [String], &'a [Vec<String>])>,
    set: &'a [(String, String)],
    metrics: &'a [String],
    step: Option<String>,
    figures: &'a [String],
    quick: bool,
    runs: Option<u64>,
    fresh: bool,
    cache: Option<PathBuf>,
}

/// The cache by which records come back: the user's, or a temporary one if that is switched off.
#[derive(Debug)]
pub struct SharedCache {
    scratch: Option<tempfile::TempDir>,
}

impl SharedCache {
    /// Opens the cache.
    ///
    /// # Errors
    /// A temporary directory cannot be created.
    pub fn open() -> Result<Self, Failure> {
        let is_off = std::env::var_os(CACHE_VARIABLE).is_some_and(|value| value == "off");
        let scratch = is_off.then(tempfile::tempdir).transpose();
        let scratch =
            scratch.map_err(|error| Failure::file("write into", &std::env::temp_dir(), &error))?;
        Ok(Self { scratch })
    }

    fn dir(&self) -> Option<PathBuf> {
        self.scratch.as_ref().map(|dir| dir.path().to_owned())
    }
}

/// Has the workers of the scheduler at `address` perform the runs, and takes their records from the cache.
///
/// # Errors
/// The package is missing or of another version; there is no scheduler; a run failed; an interruption.
pub fn run_on_dask(
    args: &SweepArgs,
    (address, shared): (&str, &SharedCache),
    all: &[SelectedRun<'_>],
    runner: &Runner<'_>,
) -> Result<Vec<RunRecord>, Error> {
    let cache = match shared.dir() {
        Some(dir) => Some(RunCache::at(&dir)?),
        None => runner.cache.clone(),
    };
    let runner = Runner {
        threads: runner.threads,
        cache,
        ignore_cache: false,
        stop: runner.stop,
        on_finished: runner.on_finished,
    };
    let request = Request {
        version: VERSION,
        address,
        file: &args.file,
        vary: args.vary.iter().map(|vary| (&vary.keys[..], &vary.values[..])).collect(),
        set: &args.set,
        metrics: &args.metric,
        step: args.step.map(|step| step.to_string()),
        figures: &args.figure,
        quick: args.quick,
        runs: args.runs.map(std::num::NonZeroU64::get),
        fresh: args.fresh,
        cache: shared.dir(),
    };
    perform(&request).map_err(|undone| match undone {
        Undone::Refused(message) => Error::refused(format!("--dask: {message}")),
        Undone::Failed(message) => Error::Cluster(message),
        Undone::Stopped => {
            let is_there = |run: &&SelectedRun<'_>| {
                let task = run.task;
                let kept = runner.cache.as_ref();
                kept.is_some_and(|cache| cache.get(task.job, task.seed, task.step).is_some())
            };
            let finished = all.iter().filter(is_there).count() as u64;
            Error::Stopped { finished, total: all.len() as u64 }
        }
    })?;
    run_recorded(all, &runner)
}

enum Undone {
    Refused(String),
    Failed(String),
    Stopped,
}

/// Calls the package. Its progress goes to standard error; a refusal is what it prints.
fn perform(request: &Request<'_>) -> Result<(), Undone> {
    let python = std::env::var_os(PYTHON_VARIABLE).filter(|name| !name.is_empty());
    let python = python.unwrap_or_else(|| "python3".into());
    let name = python.to_string_lossy().into_owned();
    let failed = |error: &dyn std::fmt::Display| Undone::Failed(format!("{name}: {error}"));
    let mut child = Command::new(&python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| {
            Undone::Refused(format!(
                "cannot start {name}: {error}\nhelp: the package for Python performs these runs: install Python 3.11 \
                 or newer, pip install ./python, and pip install distributed"
            ))
        })?;
    let text = serde_json::to_vec(request).map_err(|error| failed(&error))?;
    if let Some(mut input) = child.stdin.take() {
        // A child that has refused does not read it, and says why.
        let _ = input.write_all(&text);
    }
    let done = child.wait_with_output().map_err(|error| failed(&error))?;
    let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    match done.status.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Undone::Refused(said)),
        Some(130) => Err(Undone::Stopped),
        // Killed by the signal that stops this process, too.
        None => Err(Undone::Stopped),
        Some(_) => Err(Undone::Failed(format!("runs on a cluster failed: {said}"))),
    }
}
