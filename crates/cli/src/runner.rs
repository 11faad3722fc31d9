//! The runner of studies as the command line wants it: so many jobs, a progress bar, runs kept where this
//! user keeps them, and Ctrl-C.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use driftway_experiment::Error;
use driftway_experiment::runner::{RunCache, Runner};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::failure::Failure;
use crate::run::progress_bar;

/// What the command line says of it.
#[derive(Clone, Copy, Debug)]
pub struct RunnerOptions {
    /// Runs at a time, if not one a processor.
    pub jobs: Option<NonZeroU64>,
    /// Nothing is taken from what is kept.
    pub fresh: bool,
    /// How many runs there will be.
    pub runs: u64,
}

impl RunnerOptions {
    /// Runs at a time.
    pub fn jobs(&self) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        self.jobs.map_or(processors, NonZeroU64::get)
    }
}

/// Does `work` with a runner. The first Ctrl-C (or SIGTERM) stops it between two events, the second ends
/// the program at once.
///
/// # Errors
/// What the work fails with; or it was stopped.
pub fn with_runner<T>(
    options: RunnerOptions,
    work: impl FnOnce(&Runner<'_>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::Failed(format!("can't listen to Ctrl-C: {error}")))?;
    }
    let cache = RunCache::standard().unwrap_or_else(|error| {
        anstream::eprintln!("warning: no run will be kept: {error}");
        None
    });
    let is_kept = cache.is_some();
    let bar = progress_bar(options.runs);
    let finished = || bar.inc(1);
    let jobs = options.jobs() as usize;
    let runner = Runner {
        threads: jobs,
        cache,
        ignore_cache: options.fresh,
        stop: &stop,
        on_finished: &finished,
    };
    let done = work(&runner);
    bar.finish_and_clear();
    done.map_err(|error| match error {
        Error::Stopped { .. } => {
            let how = match is_kept {
                true if options.fresh => "they are kept: the same command without --fresh goes on",
                true => "they are kept: the same command goes on from there",
                false => "nothing is kept of them",
            };
            Failure::Interrupted(format!("{error}; {how}"))
        }
        other => other.into(),
    })
}
