//! The runner: performs runs, several in parallel, caches each as soon as it completes, and repeats
//! none that is cached.

mod cache;
pub mod identity;
mod parallel;
mod record;
mod samples;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use driftway_base::Duration;
use driftway_sim::Observers;
use driftway_sim::results::RunResult;

pub use cache::{CACHE_VARIABLE, RunCache};
pub use parallel::parallel_map;
pub use record::{Job, RunRecord};
pub use samples::Samples;

use crate::error::Error;

/// Options of running: parallelism, cache and interruption.
pub struct Runner<'a> {
    /// Number of threads.
    pub threads: usize,
    /// Cache of runs; `None` disables it.
    pub cache: Option<RunCache>,
    /// Repeats cached runs.
    pub ignore_cache: bool,
    /// Once set, no new run starts, and running ones are aborted.
    pub stop: &'a AtomicBool,
    /// Called after each completed run.
    pub on_finished: &'a (dyn Fn() + Sync),
}

/// A run to perform.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Its job.
    pub job: &'a Job,
    /// Its seed.
    pub seed: u64,
    /// Interval of samples, if any.
    pub step: Option<Duration>,
}

impl Runner<'_> {
    /// Performs each run, or takes it from the cache; the results are in the order of the tasks. Runs with
    /// registered items are never cached: the scenario does not determine them.
    ///
    /// # Errors
    ///
    /// The first run in that order that failed or could not be stored; or an interruption.
    pub fn run(&self, tasks: &[Task<'_>]) -> Result<Vec<RunRecord>, Error> {
        self.run_each(tasks.len(), |index| {
            let Task { job, seed, step } = tasks[index];
            let job = job.at_seed(seed)?;
            let job = job.as_ref();
            let cache = self.cache.as_ref().filter(|_| !job.scenario.has_registered_items());
            if !self.ignore_cache
                && let Some(record) = cache.and_then(|of| of.get(job, seed, step))
            {
                return Ok(Some(record));
            }
            let made = job.run_recorded(seed, step, self.stop)?;
            if let (Some(cache), Some(record)) = (cache, &made) {
                cache.put(step, record)?;
            }
            Ok(made)
        })
    }

    /// Performs a run with an observer, without the cache; `None` if it was interrupted.
    ///
    /// # Errors
    ///
    /// A bug in driftway.
    pub fn run_watched(
        &self,
        job: &Job,
        seed: u64,
        watch: Observers<'_>,
    ) -> Result<Option<RunResult>, Error> {
        job.run_watched(seed, watch, self.stop)
    }

    /// Calls `work` for each index below `count` in parallel; `None` from `work` means interrupted.
    ///
    /// # Errors
    ///
    /// The first failure by index, or an interruption.
    pub fn run_each<T: Send>(
        &self,
        count: usize,
        work: impl Fn(usize) -> Result<Option<T>, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let finished = AtomicU64::new(0);
        let done = parallel_map(self.threads, count, |index| {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let done = work(index)?;
            if done.is_some() {
                finished.fetch_add(1, Ordering::Relaxed);
                (self.on_finished)();
            }
            Ok::<_, Error>(done)
        })?;
        let total = count as u64;
        let done: Option<Vec<T>> = done.into_iter().collect();
        done.ok_or(Error::Stopped { finished: finished.load(Ordering::Relaxed), total })
    }
}
