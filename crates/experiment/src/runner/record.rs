//! Records of runs.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
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

/// A scenario to run with several seeds.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario, with all overrides applied.
    pub scenario: Scenario,
    /// Its digest ([`identity::digest`]).
    pub digest: String,
    /// Its file, as in commands.
    pub file: String,
    /// The overrides.
    pub set: Vec<(String, String)>,
    /// The first seed, if it differs from the study's.
    pub first_seed: Option<u64>,
    /// The number of runs, if it is less than the study's.
    pub runs: Option<u64>,
}

impl Job {
    /// Creates a job for this scenario.
    pub fn new(scenario: Scenario, file: String, set: Vec<(String, String)>) -> Self {
        let digest = identity::digest(&scenario);
        Self { digest, scenario, file, set, first_seed: None, runs: None }
    }

    /// The job of one seed: its digest has the movement file of the seed, if each seed has one.
    ///
    /// # Errors
    ///
    /// That file is missing or invalid.
    pub fn at_seed(&self, seed: u64) -> Result<Cow<'_, Self>, Error> {
        if !self.scenario.has_seeded_movement() {
            return Ok(Cow::Borrowed(self));
        }
        let scenario = Arc::new(self.scenario.clone()).at_seed(seed)?;
        let digest = identity::digest(&scenario);
        let scenario = Arc::unwrap_or_clone(scenario);
        Ok(Cow::Owned(Self { scenario, digest, ..self.clone() }))
    }

    /// The command that runs it.
    pub fn command(&self) -> String {
        command::run_command(&self.file, &self.set)
    }

    fn bug(&self, seed: u64, what: &dyn std::fmt::Display) -> Error {
        let command = format!("{} --seed {seed}", self.command());
        Error::Bug { what: what.to_string(), command }
    }

    /// Performs a run with an observer; `None` if `stop` was set.
    ///
    /// # Errors
    ///
    /// A bug in driftway.
    pub fn run_watched(
        &self,
        seed: u64,
        watch: Observers<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<RunResult>, Error> {
        Ok(self.run_observed(seed, None, watch, stop)?.map(|record| record.result))
    }

    /// Performs a run for the cache, with samples every `step`; `None` if `stop` was set.
    ///
    /// # Errors
    ///
    /// A bug in driftway.
    pub fn run_recorded(
        &self,
        seed: u64,
        step: Option<Duration>,
        stop: &AtomicBool,
    ) -> Result<Option<RunRecord>, Error> {
        self.run_observed(seed, step, Observers::default(), stop)
    }

    /// Performs a run with samples every `step` and with an observer; `None` if `stop` was set.
    ///
    /// # Errors
    ///
    /// A bug in driftway.
    pub fn run_observed(
        &self,
        seed: u64,
        step: Option<Duration>,
        watch: Observers<'_>,
        stop: &AtomicBool,
    ) -> Result<Option<RunRecord>, Error> {
        let before = thread_cpu_time();
        let made = self.catch_failure(seed, || {
            let mut simulation = Simulation::new(&self.scenario, seed, watch)?;
            let mut samples = step.map(|_| Samples::default());
            let mut until = Instant::ZERO;
            loop {
                until = step.map_or(Instant::FAR_FUTURE, |step| until + step);
                let Some(more) = advance(&mut simulation, until, stop)? else { return Ok(None) };
                if let Some(samples) = &mut samples {
                    samples.record(&mut simulation);
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

    /// Any failure of a run is a bug in driftway.
    ///
    /// # Errors
    ///
    /// A failed run, with the command that reproduces it.
    pub fn catch_failure<T>(
        &self,
        seed: u64,
        work: impl FnOnce() -> Result<T, RunError>,
    ) -> Result<T, Error> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(error)) => Err(self.bug(seed, &error)),
            // The panic message is already on standard error.
            Err(_) => Err(self.bug(seed, &"the run panicked")),
        }
    }
}

/// Events between two checks of `stop`: some milliseconds.
const EVENTS_PER_STOP_CHECK: u64 = 1 << 12;

/// Advances the simulation to `until`, or to the end if that is in the far future, and returns
/// whether the run continues. `None` if it was interrupted.
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

/// CPU time of this thread; zero where that clock is not available.
fn thread_cpu_time() -> StdDuration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(StdDuration::ZERO, StdDuration::from)
}

/// A completed run and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The version of driftway that performed it ([`identity::VERSION`]).
    pub version: String,
    /// The digest of its scenario ([`identity::digest`]).
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// CPU time of the run (s); it depends on the machine and is never compared.
    pub user_s: f64,
    /// Results.
    pub result: RunResult,
    /// Samples, if requested.
    pub samples: Option<Samples>,
}
