//! `driftway paper --kernel`: a paper's figures with the kernel's TCP, without and with the shim.
//!
//! Each point is a connection between two network namespaces over the scenario's path in real time, as
//! in `driftway emulate`: a transfer, whose time is measured, or unlimited data for the scenario's
//! duration, of which the throughput is measured. Many runs go on at once: they are slow, and need little processor time.

mod arms;
pub mod counters;
pub mod document;
mod emulated_run;
mod kernel_plan;
mod page;
mod print;

use std::num::NonZeroU64;

use driftway_scenario::Application;
use driftway_sim::results::{FlowResult, RunResult};

use crate::args::PaperArgs;
use crate::failure::Failure;
use crate::kernel::machine::{self, JOBS_PER_PROCESSOR, MAX_FILES_PER_RUN};
use crate::output::{check_output, print_results, with_output, write_results};
use crate::run::progress_bar;
use crate::runner::{self, RunnerOptions};
use document::KernelDocument;
use driftway_experiment::runner::parallel_map;
use driftway_experiment::study::plan::plan;
use driftway_experiment::study::results::{self, JobRun, Results};
use driftway_experiment::study::source::Source;
use emulated_run::EmulatedRun;
use kernel_plan::{KernelPlan, PlannedRun};

/// Largest sum of the throughputs of parallel runs without an end per processor, by default (bit/s).
const THROUGHPUT_PER_PROCESSOR_BPS: f64 = 3e7;
/// Largest number of attempts at a run that cannot be trusted.
const MAX_ATTEMPTS: u32 = 3;

/// Runs the selected figures and reports the results.
///
/// # Errors
/// An invalid paper or command line, or a machine that lacks a requirement.
pub fn run_with_kernel(args: &PaperArgs) -> Result<(), Failure> {
    let whole = plan(Source::find(&args.name)?)?;
    let work = kernel_plan::kernel_plan(&whole, args)?;
    let out = args.out.as_deref();
    check_output(out)?;
    check_requirements(&work)?;
    let processors = machine::processors();
    let document = with_output(out, |destination| {
        let document = run_all(&work, processors, args.jobs.map(NonZeroU64::get))?;
        if let Some(dir) = destination {
            write_results(dir.stage()?, &page::page(&work, &document)?, &document)?;
        }
        Ok(document)
    })?;
    print_results(args.json, &document, || print::document(&work, &document), out)
}

/// Checks the machine's requirements: namespaces, capabilities and congestion controls.
fn check_requirements(work: &KernelPlan) -> Result<(), Failure> {
    machine::check_machine()?;
    let mut names = work.congestion_controls.iter();
    names.try_for_each(|name| {
        machine::check_congestion_control(name, &format!("--congestion-control {name}"))
    })
}

/// Runs all jobs: first the simulator, whose results predict the duration of the kernel's runs.
fn run_all(
    work: &KernelPlan,
    processors: usize,
    jobs: Option<u64>,
) -> Result<KernelDocument, Failure> {
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
    let started = std::time::Instant::now();
    let options = RunnerOptions {
        jobs: NonZeroU64::new(processors as u64),
        fresh: false,
        runs: results::run_count(&work.plan, &work.selection),
    };
    let mut results = runner::with_runner(options, |runner| {
        results::run_selection(&work.plan, &work.selection, runner)
    })?;
    let expected = |run: &PlannedRun| simulated_end_s(&results, run.twin);
    // The longest runs start first.
    let mut order: Vec<(usize, &PlannedRun)> = work.runs.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| expected(b).total_cmp(&expected(a)));
    let jobs = jobs.unwrap_or_else(|| default_jobs(work, &results, processors));
    let jobs = jobs
        .min(machine::raise_open_file_limit()? / MAX_FILES_PER_RUN)
        .max(1)
        .min(order.len() as u64);
    let bar = progress_bar(order.len() as u64);
    let ran = parallel_map(jobs as usize, order.len(), |index| {
        let (at, run) = order[index];
        let ran = run_until_trusted(work, run).map(|ran| (at, run.clone(), ran));
        bar.inc(1);
        ran
    });
    bar.finish_and_clear();
    let mut ran = ran?;
    ran.sort_by_key(|(at, ..)| *at);
    let ran: Vec<_> = ran.into_iter().map(|(_, run, ran)| (run, ran)).collect();
    for (run, EmulatedRun { completion_s, throughput_bps, .. }) in &ran {
        let (completion_s, throughput_bps) = (*completion_s, *throughput_bps);
        let flows = vec![FlowResult { completion_s, throughput_bps, ..FlowResult::default() }];
        let result = RunResult { flows, ..RunResult::default() };
        results.jobs.entry(run.job).or_default().push(JobRun { result, samples: None });
    }
    Ok(KernelDocument::new(work, &results, ran, jobs, started.elapsed().as_secs_f64()))
}

/// Default number of parallel runs: fewer if those without an end would need more than this machine's
/// processors, by the throughput of their simulated counterparts.
fn default_jobs(work: &KernelPlan, results: &Results, processors: usize) -> u64 {
    let endless = work.runs.iter().filter(|run| {
        let flow = work.plan.jobs[run.job].scenario.flows.first();
        flow.is_some_and(|flow| flow.application == Application::Ftp)
    });
    let twins = endless.flat_map(|run| results.runs(run.twin));
    let throughputs =
        twins.flat_map(|run| &run.result.flows).filter_map(|flow| flow.throughput_bps);
    let fastest = throughputs.fold(0.0, f64::max);
    let most = JOBS_PER_PROCESSOR as f64;
    let per_processor = most.min(THROUGHPUT_PER_PROCESSOR_BPS / fastest);
    // A conversion from a float saturates.
    ((per_processor * processors as f64) as u64).max(1)
}

/// End of the simulated counterpart's flow, or 0 if it was not run (s).
fn simulated_end_s(results: &Results, job: usize) -> f64 {
    let runs = results.runs(job).iter();
    runs.flat_map(|run| &run.result.flows).map(|flow| flow.end_s).fold(0.0, f64::max)
}

/// Runs a job, repeatedly if the result cannot be trusted.
fn run_until_trusted(work: &KernelPlan, run: &PlannedRun) -> Result<EmulatedRun, Failure> {
    let job = &work.plan.jobs[run.job];
    let mut attempts = 0;
    loop {
        attempts += 1;
        let ran = emulated_run::emulate_run(&job.scenario, run).map_err(|error| {
            let name = &job.scenario.name;
            Failure::Failed(format!("cannot run {name} with seed {}: {error}", run.seed))
        })?;
        if ran.trusted || attempts == MAX_ATTEMPTS {
            return Ok(EmulatedRun { attempts, ..ran });
        }
    }
}
