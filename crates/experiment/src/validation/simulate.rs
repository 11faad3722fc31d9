//! Runs what is needed, ours and ns-2's, as one list of jobs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use scenario::Scenario;
use sim::results::RunResult;

use super::cases::{Case, Cases, Point};
use super::ns2::Simulator;
use super::record::Record;
use crate::failure::Failure;
use crate::jobs::in_order;
use crate::run::{progress, quoted};

/// What is run of one point.
#[derive(Debug)]
pub struct Work<'a> {
    /// The point.
    pub point: &'a Point,
    /// The scenario's file, for commands.
    pub file: String,
    /// Ours: seeds 1 to this.
    pub seeds: u64,
    /// ns-2's seeds, where it runs beside us.
    pub theirs: u64,
    /// The case, where ns-2 runs, and the point's number in it.
    pub case: Option<(&'a Case, usize)>,
}

/// What the runs of one point gave.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Ours.
    pub ours: Vec<(RunResult, f64)>,
    /// ns-2's.
    pub theirs: Vec<Record>,
}

enum Done {
    Ours(Box<RunResult>, f64),
    Theirs(Record),
}

/// Runs all of it, `jobs` at a time; one answer a work.
///
/// # Errors
/// A run broke: a bug in driftway, or ns-2 failed.
pub fn simulate(
    work: &[Work],
    cases: &Cases,
    ns2: Option<&Simulator>,
    jobs: usize,
) -> Result<Vec<Ran>, Failure> {
    let mut list = Vec::new();
    for (at, of) in work.iter().enumerate() {
        list.extend((1..=of.seeds).map(|seed| (at, seed, false)));
        list.extend((1..=of.theirs).map(|seed| (at, seed, true)));
    }
    let bar = progress(list.len() as u64);
    let done = in_order(jobs, list.len(), |index| {
        let (at, seed, beside) = list[index];
        let of = &work[at];
        let done = match (beside, ns2, of.case) {
            (true, Some(ns2), Some((case, point))) => {
                theirs(ns2, case, point, seed).map(Done::Theirs)
            }
            _ => ours(of, cases, seed),
        };
        bar.inc(1);
        done
    });
    bar.finish_and_clear();
    let mut ran = vec![Ran::default(); work.len()];
    for ((at, ..), done) in list.iter().zip(done?) {
        match done {
            Done::Ours(result, user_s) => ran[*at].ours.push((*result, user_s)),
            // DSDV had no route when it was frozen: that is no run.
            Done::Theirs(record) if record.get("delivered_packets") == Some(0.0) => {}
            Done::Theirs(record) => ran[*at].theirs.push(record),
        }
    }
    Ok(ran)
}

fn theirs(ns2: &Simulator, case: &Case, point: usize, seed: u64) -> Result<Record, Failure> {
    let of = case.ns2.as_ref().map(|of| (case, of, &case.points[point]));
    let of = of.ok_or_else(|| Failure::Failed(format!("{}: ns-2 has no such case", case.name)))?;
    ns2.run(of, seed, &of.1.trace).map(|(record, _)| record)
}

fn ours(work: &Work, cases: &Cases, seed: u64) -> Result<Done, Failure> {
    let before = cpu();
    let result = catch_unwind(AssertUnwindSafe(|| sim::run(&work.point.scenario, seed, None)));
    let user_s = cpu().saturating_sub(before).as_secs_f64();
    let broken = |what: &dyn std::fmt::Display| {
        let file = cases.dir.join(&work.file);
        Failure::Failed(format!(
            "a bug in driftway {}: {what}\n  please report it with the scenario and this \
             command:\n  {} --seed {seed}",
            env!("CARGO_PKG_VERSION"),
            command(&file.to_string_lossy(), &work.point.set)
        ))
    };
    match result {
        Ok(Ok(result)) => Ok(Done::Ours(Box::new(result), user_s)),
        Ok(Err(error)) => Err(broken(&error)),
        // What panicked, and where, stands on standard error already.
        Err(_) => Err(broken(&"it panicked")),
    }
}

/// The CPU time of this thread.
fn cpu() -> Duration {
    // Where there is no such clock, no time is told.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The command that runs a scenario.
pub fn command(file: &str, set: &[(String, String)]) -> String {
    let mut command = format!("driftway run {}", quoted(file));
    for (key, value) in set {
        command += &format!(" --set {}", quoted(&format!("{key}={value}")));
    }
    command
}

/// How long the flows of a scenario had (s), from the first one's start.
pub fn lasts(scenario: &Scenario) -> f64 {
    let seconds = |time: scenario::Time| time.0.as_secs_f64();
    let start = scenario.flows.iter().map(|flow| seconds(flow.start)).fold(f64::INFINITY, f64::min);
    seconds(scenario.duration) - if start.is_finite() { start } else { 0.0 }
}
