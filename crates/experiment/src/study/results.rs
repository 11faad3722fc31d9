//! Execution of the selected runs of a study: each scenario and seed once.

use driftway_base::Duration;
use driftway_scenario::Time;
use driftway_sim::Observers;
use driftway_sim::results::RunResult;
use driftway_sim::trace::{FlowTrace, Trace};

use super::plan::Plan;
use super::select::Selection;
use crate::error::Error;
use crate::runner::{Runner, Samples, Task};

/// Results of the runs.
#[derive(Debug, Default)]
pub struct Results {
    /// Results of each job that was run, by seed.
    pub results: Vec<Vec<RunResult>>,
    /// Samples of each job, if the study requests them.
    pub samples: Vec<Vec<Samples>>,
    /// Traces, in the order of [`Selection::traces`].
    pub traces: Vec<FlowTrace>,
    /// Number of runs.
    pub runs: u64,
    /// Number of their events.
    pub events: u64,
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
    let tasks: Vec<Task<'_>> = selection
        .jobs
        .iter()
        .flat_map(|&job| selection.seeds.iter().map(move |&seed| (job, seed)))
        .map(|(job, seed)| {
            let job = &plan.jobs[job];
            let first = job.first_seed.unwrap_or(plan.study.first_seed);
            Task { job, seed: first + (seed - plan.study.first_seed), step }
        })
        .collect();
    let records = runner.run(&tasks)?;
    let traced = runner.run_each(selection.traces.len(), |index| {
        let of = &selection.traces[index];
        let mut trace = Trace::default();
        let watch = Observers::from(Some(&mut trace));
        let made = runner.run_watched(&plan.jobs[of.job], of.seed, watch)?;
        Ok(made.map(|result| (result.events, std::mem::take(trace.flow(of.flow)))))
    })?;
    let mut results = Results {
        results: vec![Vec::new(); plan.jobs.len()],
        samples: vec![Vec::new(); plan.jobs.len()],
        runs: run_count(selection),
        ..Results::default()
    };
    let seeds = selection.seeds.len();
    for (index, record) in records.into_iter().enumerate() {
        let job = selection.jobs[index / seeds];
        results.events += record.result.events;
        results.results[job].push(record.result);
        results.samples[job].extend(record.samples);
    }
    for (events, trace) in traced {
        results.events += events;
        results.traces.push(trace);
    }
    Ok(results)
}
