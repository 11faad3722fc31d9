//! Runs all that a paper needs: one list of jobs, each scenario and seed once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sim::results::FlowResult;
use sim::trace::{FlowTrace, Trace};

use super::plan::{Job, Plan};
use super::select::Selection;
use crate::failure::Failure;
use crate::jobs::in_order;
use crate::run::{progress, quoted};

/// What the runs gave.
#[derive(Debug, Default)]
pub struct Results {
    /// For each job, where it was run: for each seed, what became of its flows.
    pub flows: Vec<Vec<Vec<FlowResult>>>,
    /// Traces, as [`Selection::traces`] has them.
    pub traces: Vec<FlowTrace>,
    /// Runs that it took.
    pub runs: u64,
    /// Events that they had.
    pub events: u64,
}

/// What one task gave.
struct Done {
    job: usize,
    flows: Vec<FlowResult>,
    events: u64,
    trace: Option<FlowTrace>,
}

/// Runs what is selected, `jobs` at a time.
///
/// # Errors
/// A run broke: a bug in driftway.
pub fn simulate(plan: &Plan, selection: &Selection, jobs: usize) -> Result<Results, Failure> {
    let seeds = selection.seeds.len();
    let runs = selection.jobs.len() * seeds;
    let count = runs + selection.traces.len();
    let bar = progress(count as u64);
    let done = in_order(jobs, count, |index| {
        let done = if index < runs {
            let job = selection.jobs[index / seeds];
            one(plan, job, selection.seeds[index % seeds], None)
        } else {
            let of = &selection.traces[index - runs];
            one(plan, of.job, of.seed, Some(of.flow))
        };
        bar.inc(1);
        done
    });
    bar.finish_and_clear();
    let mut results = Results {
        flows: vec![Vec::new(); plan.jobs.len()],
        runs: count as u64,
        ..Results::default()
    };
    for done in done? {
        results.events += done.events;
        match done.trace {
            Some(trace) => results.traces.push(trace),
            None => results.flows[done.job].push(done.flows),
        }
    }
    Ok(results)
}

fn one(plan: &Plan, number: usize, seed: u64, traced: Option<usize>) -> Result<Done, Failure> {
    let job = &plan.jobs[number];
    let mut trace = traced.map(|_| Trace::default());
    let result = catch_unwind(AssertUnwindSafe(|| sim::run(&job.scenario, seed, trace.as_mut())));
    let broken = |what: &dyn std::fmt::Display| {
        Failure::Failed(format!(
            "a bug in driftway {}: {what}\n  please report it with the scenario and this \
             command:\n  {} --seed {seed}",
            env!("CARGO_PKG_VERSION"),
            command(job)
        ))
    };
    match result {
        Ok(Ok(result)) => Ok(Done {
            job: number,
            flows: result.flows,
            events: result.events,
            trace: traced.map(|flow| {
                trace.map(|mut trace| std::mem::take(trace.flow(flow))).unwrap_or_default()
            }),
        }),
        Ok(Err(error)) => Err(broken(&error)),
        // What panicked, and where, stands on standard error already.
        Err(_) => Err(broken(&"it panicked")),
    }
}

/// The command that runs a job.
pub fn command(job: &Job) -> String {
    let mut command = format!("driftway run {}", quoted(&job.file));
    for (key, value) in &job.set {
        command += &format!(" --set {}", quoted(&format!("{key}={value}")));
    }
    command
}
