//! The runner of studies for the command line: with parallel jobs, a progress bar, the user's cache of
//! runs, and Ctrl-C.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use driftway_experiment::Error;
use driftway_experiment::runner::{RunCache, Runner};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::failure::Failure;
use crate::run::progress_bar;

/// Options of the runner on the command line.
#[derive(Clone, Copy, Debug)]
pub struct RunnerOptions {
    /// Runs in parallel; by default one per processor.
    pub jobs: Option<NonZeroU64>,
    /// True if cached runs are ignored.
    pub fresh: bool,
    /// Total number of runs, for the progress bar.
    pub runs: u64,
}

impl RunnerOptions {
    /// Number of runs in parallel.
    pub fn jobs(&self) -> u64 {
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        self.jobs.map_or(processors, NonZeroU64::get)
    }
}

/// Calls `work` with a runner. The first Ctrl-C (or SIGTERM) stops it between two events, the second
/// terminates the program at once.
///
/// # Errors
/// The error of `work`, or the interruption.
pub fn with_runner<T>(
    options: RunnerOptions,
    work: impl FnOnce(&Runner<'_>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| register(signal, Arc::clone(&stop)))
            .map_err(|error| Failure::Failed(format!("cannot handle Ctrl-C: {error}")))?;
    }
    let cache = RunCache::standard().unwrap_or_else(|error| {
        anstream::eprintln!("warning: no run will be cached: {error}");
        None
    });
    let is_kept = cache.is_some();
    let bar = progress_bar(options.runs);
    let finished = || bar.inc(1);
    let threads = options.jobs() as usize;
    let runner =
        Runner { threads, cache, ignore_cache: options.fresh, stop: &stop, on_finished: &finished };
    let done = work(&runner);
    bar.finish_and_clear();
    done.map_err(|error| match error {
        Error::Stopped { .. } => {
            let how = match is_kept {
                true if options.fresh => "they are cached: continue without --fresh",
                true => "they are cached: the same command continues from there",
                false => "they are not cached",
            };
            Failure::Interrupted(format!("{error}; {how}"))
        }
        other => other.into(),
    })
}
