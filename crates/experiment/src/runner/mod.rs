//! The one runner: it makes runs, several at a time, keeps each as soon as it is made, and makes none that
//! is kept.

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

/// How runs are made.
pub struct Runner<'a> {
    /// So many at a time.
    pub threads: usize,
    /// Where they are kept, if they are.
    pub cache: Option<RunCache>,
    /// Makes those anew that are kept.
    pub ignore_cache: bool,
    /// When somebody sets it, no new run begins, and those under way are given up.
    pub stop: &'a AtomicBool,
    /// Called after each run that is finished.
    pub on_finished: &'a (dyn Fn() + Sync),
}

/// A run that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Of what.
    pub job: &'a Job,
    /// With which seed.
    pub seed: u64,
    /// With samples so often, if at all.
    pub step: Option<Duration>,
}

impl Runner<'_> {
    /// Makes each run, or takes it from where it is kept; the answers are in the order of the tasks.
    ///
    /// # Errors
    /// The first run by that order that broke, or could not be kept; or it was stopped.
    pub fn run(&self, tasks: &[Task<'_>]) -> Result<Vec<RunRecord>, Error> {
        self.run_each(tasks.len(), |index| {
            let Task { job, seed, step } = tasks[index];
            if !self.ignore_cache
                && let Some(record) = self.cache.as_ref().and_then(|of| of.get(job, seed, step))
            {
                return Ok(Some(record));
            }
            let made = job.run_recorded(seed, step, self.stop)?;
            if let (Some(cache), Some(record)) = (&self.cache, &made) {
                cache.put(job, step, record)?;
            }
            Ok(made)
        })
    }

    /// Makes a run that is watched, of which nothing is kept; `None`: it was stopped.
    ///
    /// # Errors
    /// A mistake in driftway.
    pub fn run_watched(
        &self,
        job: &Job,
        seed: u64,
        watch: Observers<'_>,
    ) -> Result<Option<RunResult>, Error> {
        job.run_watched(seed, watch, self.stop)
    }

    /// Does `work` for each index below `count`, as runs are made; `None`: it was stopped.
    ///
    /// # Errors
    /// The first failure by index, or it was stopped.
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
        let of = count as u64;
        let done: Option<Vec<T>> = done.into_iter().collect();
        done.ok_or(Error::Stopped { finished: finished.load(Ordering::Relaxed), total: of })
    }
}
