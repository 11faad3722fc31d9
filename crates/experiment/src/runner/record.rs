//! What is kept of a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use driftway_base::{Duration, Instant};
use driftway_scenario::Scenario;
use driftway_sim::results::RunResult;
use driftway_sim::{Observers, RunError, Simulation};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::identity;
use super::samples::Samples;
use crate::command;
use crate::error::Error;

/// A scenario that is run with several seeds.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario, with all that is set.
    pub scenario: Scenario,
    /// Its digest ([`identity::digest`]).
    pub digest: String,
    /// Its file, as commands name it.
    pub file: String,
    /// What is set in it.
    pub set: Vec<(String, String)>,
    /// The first of its seeds, where that is not the study's.
    pub first_seed: Option<u64>,
}

impl Job {
    /// A job of this scenario.
    pub fn new(scenario: Scenario, file: String, set: Vec<(String, String)>) -> Self {
        Self { digest: identity::digest(&scenario), scenario, file, set, first_seed: None }
    }

    /// The command that runs it.
    pub fn command(&self) -> String {
        command::run_command(&self.file, &self.set)
    }

    fn bug(&self, seed: u64, what: &dyn std::fmt::Display) -> Error {
        let command = format!("{} --seed {seed}", self.command());
        Error::Bug { what: what.to_string(), command }
    }

    /// Makes a run, watched. It is given up when `stop` says so: `None`.
    ///
    /// # Errors
    /// A mistake in driftway.
    pub fn run_watched(
        &self,
        seed: u64,
        watch: Observers<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<RunResult>, Error> {
        self.catch_failure(seed, || {
            let mut simulation = Simulation::new(&self.scenario, seed, watch)?;
            if advance(&mut simulation, Instant::FAR_FUTURE, stop)?.is_none() {
                return Ok(None);
            }
            simulation.finish().map(Some)
        })
    }

    /// Makes a run of which a record is kept, with samples every `step`. It is given up when `stop`
    /// says so: `None`.
    ///
    /// # Errors
    /// A mistake in driftway.
    pub fn run_recorded(
        &self,
        seed: u64,
        step: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<Option<RunRecord>, Error> {
        let before = thread_cpu_time();
        let made = self.catch_failure(seed, || {
            let mut simulation = Simulation::new(&self.scenario, seed, None)?;
            let mut samples = step.map(|_| Samples::default());
            let mut until = Instant::ZERO;
            loop {
                until = step.map_or(Instant::FAR_FUTURE, |step| until + step);
                let Some(more) = advance(&mut simulation, until, stop)? else { return Ok(None) };
                if let Some(samples) = &mut samples {
                    samples.record(&mut simulation, &self.scenario);
                }
                if !more {
                    return Ok(Some((simulation.finish()?, samples)));
                }
            }
        })?;
        let user_s = thread_cpu_time().saturating_sub(before).as_secs_f64();
        Ok(made.map(|(result, samples)| RunRecord {
            version: identity::VERSION.to_owned(),
            scenario: self.digest.clone(),
            seed,
            user_s,
            result,
            samples,
        }))
    }

    /// Whatever breaks a run is a mistake in driftway.
    fn catch_failure<T>(
        &self,
        seed: u64,
        work: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, Error> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(error)) => Err(self.bug(seed, &error)),
            // What panicked, and where, stands on standard error already.
            Err(_) => Err(self.bug(seed, &"it panicked")),
        }
    }
}

/// Events between two looks at whether to stop: some milliseconds.
const EVENTS_PER_STOP_CHECK: u64 = 1 << 12;

/// Goes on up to `until`, or to the end where that is in the far future; is the run not over? `None`: it
/// was stopped on the way.
fn advance(
    simulation: &mut Simulation<'_>,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Option<bool>, RunError> {
    for events in 0_u64.. {
        if events.is_multiple_of(EVENTS_PER_STOP_CHECK) && stop.load(Ordering::Relaxed) {
            break;
        }
        if until < Instant::FAR_FUTURE {
            return simulation.run_until(until).map(Some);
        }
        if !simulation.step()? {
            return Ok(Some(false));
        }
    }
    Ok(None)
}

/// The CPU time of this thread. Zero where there is no such clock.
fn thread_cpu_time() -> StdDuration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(StdDuration::ZERO, StdDuration::from)
}

/// A run that was made, and what it gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The driftway that made it ([`identity::VERSION`]).
    pub version: String,
    /// The digest of its scenario ([`identity::digest`]).
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// The CPU time that it took (s); it is of the machine, and no comparison includes it.
    pub user_s: f64,
    /// What came out.
    pub result: RunResult,
    /// What was seen on the way, where samples were asked for.
    pub samples: Option<Samples>,
}
