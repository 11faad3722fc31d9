//! Runs in real time, many at once, in the order of a schedule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::RealClock;
use indicatif::ProgressBar;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::register;

use super::schedule::Schedule;
use crate::failure::{Failure, failed};

/// Largest number of attempts at a run whose packets are late.
const MAX_ATTEMPTS: u32 = 3;

/// A run that starts.
#[derive(Clone, Copy, Debug)]
pub struct StartedRun<'a> {
    /// Index of its case.
    pub case: usize,
    /// Its number among those of the case, from 0.
    pub number: u64,
    /// Aborts it as soon as it is set.
    pub stop: &'a AtomicBool,
    clock: RealClock,
    /// The latest time at which it can be repeated.
    latest: Duration,
}

impl StartedRun<'_> {
    /// Performs a run, repeatedly if packets `are_late` and there is time for it.
    ///
    /// # Errors
    /// That of `run`.
    pub fn on_time<T, E>(
        &self,
        run: impl Fn() -> Result<T, E>,
        are_late: impl Fn(&T) -> bool,
    ) -> Result<T, E> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let done = run()?;
            let is_time = self.clock.now().since(Instant::ZERO) <= self.latest;
            let is_last = attempts == MAX_ATTEMPTS || !is_time;
            if is_last || !are_late(&done) || self.stop.load(Ordering::Relaxed) {
                return Ok(done);
            }
        }
    }
}

/// The end of a run: its case and number, and the result.
type Ended<T> = ((usize, u64), Result<T, Failure>);

/// Performs the runs of a schedule whose time is that of `clock`, each in a thread of its own. `finish` takes each result
/// with its case and number, and returns true if the case needs no further run. Returns the number of runs.
///
/// # Errors
/// The first failure of a run, which ends all others, or an interruption by a signal.
pub fn run_scheduled<T: Send>(
    mut schedule: Schedule,
    clock: RealClock,
    bar: &ProgressBar,
    run: impl Fn(StartedRun<'_>) -> Result<T, Failure> + Sync,
    mut finish: impl FnMut((usize, u64), T) -> Result<bool, Failure>,
) -> Result<u64, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        register(signal, Arc::clone(&stop)).map_err(|error| failed("handle Ctrl-C", &error))?;
    }
    let (stop, run): (&AtomicBool, _) = (&stop, &run);
    let (mut finished, mut failure) = (0, None);
    thread::scope(|scope| {
        let (ended, ends): (_, Receiver<Ended<T>>) = channel();
        loop {
            while !stop.load(Ordering::Relaxed)
                && let Some((case, number)) = schedule.start_next(clock.now().since(Instant::ZERO))
            {
                let ended = ended.clone();
                let latest = schedule.latest_start(case);
                let started = StartedRun { case, number, stop, clock, latest };
                scope.spawn(move || {
                    // A run that never reports its end would be waited for.
                    let done = catch_unwind(AssertUnwindSafe(|| run(started)));
                    let panicked =
                        |_| Err(Failure::Failed("a bug in driftway: a run panicked".into()));
                    // The receiver outlives the runs.
                    let _ = ended.send(((case, number), done.unwrap_or_else(panicked)));
                });
            }
            if schedule.running() == 0 {
                break;
            }
            let Ok((of, done)) = ends.recv() else { break };
            let is_stopped = stop.load(Ordering::Relaxed);
            let done = done.and_then(|done| if is_stopped { Ok(true) } else { finish(of, done) });
            let is_decided = match done {
                Ok(is_decided) => is_decided,
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                    true
                }
            };
            if !is_stopped {
                finished += 1;
                bar.inc(1);
            }
            bar.inc_length(schedule.finish(of.0, || is_decided));
        }
    });
    bar.finish_and_clear();
    match failure {
        Some(failure) => Err(failure),
        None if stop.load(Ordering::Relaxed) => {
            Err(Failure::Interrupted(format!("stopped after {finished} runs with the kernel")))
        }
        None => Ok(finished),
    }
}
