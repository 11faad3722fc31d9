//! Runs of both simulators: driftway's by the runner, ns-2's alongside.

use driftway_scenario::Scenario;
use driftway_sim::results::RunResult;

use super::cases::{Point, SimulatorCase};
use super::ns2::Ns2Simulator;
use super::run_metrics::RunMetrics;
use crate::error::Error;
use crate::runner::{Runner, Task};

/// The runs of one point.
#[derive(Debug)]
pub struct PointWork<'a> {
    /// The point.
    pub point: &'a Point,
    /// Number of driftway's runs, with the seeds 1 to this.
    pub seeds: u64,
    /// Number of ns-2's runs.
    pub theirs: u64,
    /// The case, if ns-2 is run.
    pub case: Option<&'a SimulatorCase>,
}

/// Results of the runs of one point.
#[derive(Clone, Debug, Default)]
pub struct PointRuns {
    /// Results of driftway, with the CPU time of each (s).
    pub ours: Vec<(RunResult, f64)>,
    /// Results of ns-2.
    pub theirs: Vec<RunMetrics>,
}

/// Number of all runs.
pub fn run_count(work: &[PointWork<'_>]) -> u64 {
    work.iter().map(|of| of.seeds + of.theirs).sum()
}

/// Performs all runs; one result per point.
///
/// # Errors
///
/// A failed run, a failure of ns-2, or an interruption.
pub fn simulate(
    work: &[PointWork<'_>],
    ns2: Option<&Ns2Simulator>,
    runner: &Runner<'_>,
) -> Result<Vec<PointRuns>, Error> {
    let each = |seeds: fn(&PointWork<'_>) -> u64| -> Vec<(usize, u64)> {
        let of = |(at, of)| (1..=seeds(of)).map(move |seed| (at, seed));
        work.iter().enumerate().flat_map(of).collect()
    };
    let (ours, theirs) = (each(|of| of.seeds), each(|of| of.theirs));
    let task = |&(at, seed): &(usize, u64)| Task { job: &work[at].point.job, seed, step: None };
    let records = runner.run(&ours.iter().map(task).collect::<Vec<_>>())?;
    let beside = runner.run_each(theirs.len(), |index| {
        let (at, seed) = theirs[index];
        self::theirs(ns2, &work[at], seed).map(Some)
    })?;
    let mut ran = vec![PointRuns::default(); work.len()];
    for ((at, _), record) in ours.iter().zip(records) {
        ran[*at].ours.push((record.result, record.user_s));
    }
    for ((at, _), record) in theirs.iter().zip(beside) {
        // DSDV had no route when it was frozen: the run is invalid.
        if record.get("delivered_packets") != Some(0.0) {
            ran[*at].theirs.push(record);
        }
    }
    Ok(ran)
}

fn theirs(
    ns2: Option<&Ns2Simulator>,
    work: &PointWork<'_>,
    seed: u64,
) -> Result<RunMetrics, Error> {
    let of = work.case.and_then(|case| Some((case, case.ns2.as_ref()?, work.point)));
    let (Some(ns2), Some(of)) = (ns2, of) else {
        return Err(Error::ExternalSimulator("ns-2 has no such case".to_owned()));
    };
    ns2.run(of, seed, &of.1.trace).map(|(record, _)| record)
}

/// Duration of the flows of a scenario (s), from the start of the first one.
pub fn flow_seconds(scenario: &Scenario) -> f64 {
    let seconds = |time: driftway_scenario::Time| time.0.as_secs_f64();
    let start = scenario.flows.iter().map(|flow| seconds(flow.start)).fold(f64::INFINITY, f64::min);
    seconds(scenario.duration) - if start.is_finite() { start } else { 0.0 }
}
