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

impl Results {
    /// The first runs of each job, without traces.
    pub fn first_runs(&self, count: usize) -> Self {
        let first = |(job, runs): (&usize, &Vec<JobRun>)| {
            (*job, runs.iter().take(count).cloned().collect())
        };
        Self { jobs: self.jobs.iter().map(first).collect(), ..Self::default() }
    }
}

/// Number of runs of a selection.
pub fn run_count(plan: &Plan, selection: &Selection) -> u64 {
    let recorded: u64 = selection.jobs.iter().map(|&job| selection.runs_of(&plan.jobs[job])).sum();
    recorded + selection.traces.len() as u64
}

/// A recorded run of a selection.
#[derive(Clone, Copy, Debug)]
pub struct SelectedRun<'a> {
    /// The index of its job in the plan.
    pub job: usize,
    /// The run.
    pub task: Task<'a>,
}

/// The runs of a selection that are recorded, which are all but the traced ones: by job, then by seed.
pub fn selected_runs<'a>(plan: &'a Plan, selection: &Selection) -> Vec<SelectedRun<'a>> {
    let step: Option<Duration> = plan.study.step.map(|Time(step)| step);
    let of_job = |&number: &usize| {
        let job = &plan.jobs[number];
        let first = job.first_seed.unwrap_or(plan.study.first_seed);
        let seeds = (0..selection.runs_of(job)).map(move |at| first + at);
        seeds.map(move |seed| SelectedRun { job: number, task: Task { job, seed, step } })
    };
    selection.jobs.iter().flat_map(of_job).collect()
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
    let records = run_recorded(&selected_runs(plan, selection), runner)?;
    complete(plan, selection, records, runner)
}

/// Performs some of the selected runs; the records are in their order.
///
/// # Errors
///
/// A failed run, or an interruption.
pub fn run_recorded(
    runs: &[SelectedRun<'_>],
    runner: &Runner<'_>,
) -> Result<Vec<RunRecord>, Error> {
    // A file that is missing is found before anything runs.
    for SelectedRun { task: Task { job, seed, .. }, .. } in runs {
        job.at_seed(*seed)?;
    }
    runner.run(&runs.iter().map(|run| run.task).collect::<Vec<_>>())
}

/// The results of a selection from the records of all [`selected_runs`], in their order; performs the traced
/// runs.
///
/// # Errors
///
/// A failed run, or an interruption.
pub fn complete(
    plan: &Plan,
    selection: &Selection,
    records: Vec<RunRecord>,
    runner: &Runner<'_>,
) -> Result<Results, Error> {
    let traced = runner.run_each(selection.traces.len(), |index| {
        let of = &selection.traces[index];
        let mut trace = Trace::default();
        let watch = Observers::from(Some(&mut trace));
        let made = runner.run_watched(&plan.jobs[of.job], of.seed, watch)?;
        Ok(made.map(|result| (of.clone(), result.events, std::mem::take(trace.flow(of.flow)))))
    })?;
    let mut results = Results { runs: run_count(plan, selection), ..Results::default() };
    let runs = selected_runs(plan, selection);
    for (run, RunRecord { result, samples, .. }) in runs.into_iter().zip(records) {
        results.events += result.events;
        results.jobs.entry(run.job).or_default().push(JobRun { result, samples });
    }
    for (of, events, trace) in traced {
        results.events += events;
        results.traces.push((of, trace));
    }
    Ok(results)
}
