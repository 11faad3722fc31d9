//! Execution of the selected runs of a study: each scenario and seed once.

use std::collections::BTreeMap;

use driftway_base::Duration;
use driftway_scenario::Time;
use driftway_sim::Observers;
use driftway_sim::results::RunResult;
use driftway_sim::trace::{FlowTrace, Trace};

use super::plan::Plan;
use super::select::{Selection, TracedRun};
use crate::error::Error;
use crate::runner::{RunRecord, Runner, Samples, Task};

/// Results of the runs.
#[derive(Debug, Default)]
pub struct Results {
    /// Runs of each job that was run, by seed.
    pub jobs: BTreeMap<usize, Vec<JobRun>>,
    /// Traced runs with their traces.
    pub traces: Vec<(TracedRun, FlowTrace)>,
    /// Number of runs.
    pub runs: u64,
    /// Number of their events.
    pub events: u64,
}

/// A run of a job.
#[derive(Clone, Debug, Default)]
pub struct JobRun {
    /// Its result.
    pub result: RunResult,
    /// Its samples, if the study requests them.
    pub samples: Option<Samples>,
}

impl Results {
    /// The runs of a job, by its index in the plan; none if it was not run.
    pub fn runs(&self, job: usize) -> &[JobRun] {
        self.jobs.get(&job).map_or(&[], Vec::as_slice)
    }
}

/// Number of runs of a selection.
pub fn run_count(selection: &Selection) -> u64 {
    (selection.jobs.len() * selection.seeds.len() + selection.traces.len()) as u64
}

/// Performs the selected runs, with samples if the study requests them.
///
/// # Errors
///
/// A failed run, or an interruption.
pub fn run_selection(
    plan: &Plan,
    selection: &Selection,
    runner: &Runner<'_>,
) -> Result<Results, Error> {
    let step: Option<Duration> = plan.study.step.map(|Time(step)| step);
    let all = selection.jobs.iter().flat_map(|job| selection.seeds.iter().map(move |s| (*job, *s)));
    let all: Vec<(usize, u64)> = all.collect();
    let task = |&(number, seed): &(usize, u64)| {
        let job = &plan.jobs[number];
        let first = job.first_seed.unwrap_or(plan.study.first_seed);
        Task { job, seed: first + (seed - plan.study.first_seed), step }
    };
    // A file that is missing is found before anything runs.
    for Task { job, seed, .. } in all.iter().map(task) {
        job.at_seed(seed)?;
    }
    let records = runner.run(&all.iter().map(task).collect::<Vec<_>>())?;
    let traced = runner.run_each(selection.traces.len(), |index| {
        let of = &selection.traces[index];
        let mut trace = Trace::default();
        let watch = Observers::from(Some(&mut trace));
        let made = runner.run_watched(&plan.jobs[of.job], of.seed, watch)?;
        Ok(made.map(|result| (of.clone(), result.events, std::mem::take(trace.flow(of.flow)))))
    })?;
    let mut results = Results { runs: run_count(selection), ..Results::default() };
    for ((job, _), RunRecord { result, samples, .. }) in all.into_iter().zip(records) {
        results.events += result.events;
        results.jobs.entry(job).or_default().push(JobRun { result, samples });
    }
    for (of, events, trace) in traced {
        results.events += events;
        results.traces.push((of, trace));
    }
    Ok(results)
}
