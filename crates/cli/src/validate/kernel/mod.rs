//! `driftway validate --kernel`: compares presets of TCP with this machine's own TCP over the same paths.
//!
//! The simulator runs each path first; its results say how many runs of the kernel fit on this machine at
//! once. The kernel's runs are in real time. Rows whose interval does not decide get more of them while there is time.

mod emulated_run;
mod print;

use std::num::NonZeroU64;
use std::path::Path;

use driftway_base::Instant;
use driftway_experiment::runner::{RunRecord, Task};
use driftway_experiment::validation::kernel::cases::{KernelCase, kernel_presets, plan_cases};
use driftway_experiment::validation::kernel::causes::Causes;
use driftway_experiment::validation::kernel::document::{
    CaseRuns, KernelTiming, KernelValidation, SCHEMA, rows,
};
use driftway_experiment::validation::kernel::extent::{Extent, MOST_TIMES_FIRST};
use driftway_experiment::validation::kernel::verdict::Verdict;
use driftway_linux::RealClock;

use crate::args::ValidateArgs;
use crate::failure::{Failure, failed};
use crate::kernel::machine::{self, JOBS_PER_PROCESSOR, ProcessorShare};
use crate::kernel::schedule::{Schedule, ScheduledCase};
use crate::kernel::scheduled_runs::{StartedRun, run_scheduled};
use crate::output::print_results;
use crate::run::progress_bar;
use crate::runner::{self, RunnerOptions};
use emulated_run::EmulatedFlows;

/// The study with the paths, in driftway's sources.
pub const STUDY: &str = "studies/validation/kernel/study.toml";
/// More throughput than with papers, whose segments are smaller.
const PROCESSOR_SHARE: ProcessorShare =
    ProcessorShare { jobs: JOBS_PER_PROCESSOR, throughput_bps: 4e7 };

/// Runs the paths with the simulator and the kernel, and reports the comparison.
///
/// # Errors
/// An invalid study or command line; a machine that lacks a requirement; a failed run; a row that is outside.
pub fn validate_with_kernel(args: &ValidateArgs) -> Result<(), Failure> {
    let clock = RealClock::start();
    let study = args.study.as_deref().unwrap_or(Path::new(STUDY));
    let presets = kernel_presets();
    machine::check_machine()?;
    for of in &presets {
        let option = format!("--kernel: preset {} is held to {}", of.preset, of.congestion_control);
        machine::check_congestion_control(of.congestion_control, &option)?;
    }
    let cases = plan_cases(study, &presets, &args.case, machine::timer_tick()?, args.quick)?;
    let causes = Causes::load(study.parent().unwrap_or(Path::new("")))?;
    let extent = Extent::of(args.quick);
    let mut runs = simulate(&cases, args.fresh)?;
    let kernel_runs = run_all(&cases, &mut runs, Work { extent, args, clock })?;
    let document = KernelValidation {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        release: machine::kernel_release(),
        quick: args.quick,
        rows: cases.iter().zip(&runs).flat_map(|(case, runs)| rows(case, runs, &causes)).collect(),
        timing: KernelTiming {
            wall_s: clock.now().since(Instant::ZERO).as_secs_f64(),
            kernel_runs,
            simulated_runs: runs.iter().map(|runs| runs.simulated.len() as u64).sum(),
        },
    };
    print_results(args.json, &document, || print::document(&document), None)?;
    check_rows(&document)
}

/// The simulated runs of all cases.
fn simulate(cases: &[KernelCase], fresh: bool) -> Result<Vec<CaseRuns>, Failure> {
    let tasks = cases.iter().flat_map(|KernelCase { job, simulated_runs, .. }| {
        (1..=*simulated_runs).map(move |seed| Task { job, seed, step: None })
    });
    let tasks: Vec<Task<'_>> = tasks.collect();
    let options = RunnerOptions { jobs: None, fresh, runs: tasks.len() as u64 };
    let records = runner::with_runner(options, |runner| runner.run(&tasks))?;
    let throughputs = |record: RunRecord| -> Vec<f64> {
        record.result.flows.iter().map(|flow| flow.throughput_bps.unwrap_or(0.0)).collect()
    };
    let mut simulated = records.into_iter().map(throughputs);
    let of_case = |case: &KernelCase| CaseRuns {
        simulated: simulated.by_ref().take(case.simulated_runs as usize).collect(),
        ..CaseRuns::default()
    };
    Ok(cases.iter().map(of_case).collect())
}

/// Parameters that all runs with the kernel share.
#[derive(Clone, Copy)]
struct Work<'a> {
    extent: Extent,
    args: &'a ValidateArgs,
    clock: RealClock,
}

/// Runs all cases with the kernel, and adds the results. Returns the number of runs.
fn run_all(cases: &[KernelCase], runs: &mut [CaseRuns], work: Work<'_>) -> Result<u64, Failure> {
    let limits = machine::limits(work.args.jobs, PROCESSOR_SHARE, work.extent.limit)?;
    let schedule = Schedule::new(limits, scheduled_cases(cases, runs, work.args));
    let bar = progress_bar(schedule.wanted());
    let run = |started: StartedRun<'_>| {
        let case = &cases[started.case];
        let seed = started.number + 1;
        let run = || emulated_run::emulate(case, seed, started.stop);
        started
            .on_time(run, |run| run.is_late)
            .map_err(|error| failed(&format!("run {} with seed {seed}", case.path), &error))
    };
    let finish = |(case, _): (usize, u64), run: EmulatedFlows| {
        let of_case = &mut runs[case];
        of_case.late += u64::from(run.is_late);
        of_case.kernel.push(run.throughputs);
        let flows = cases[case].flows.len();
        Ok((0..flows).all(|flow| of_case.verdict(flow) != Verdict::Undecided))
    };
    run_scheduled(schedule, work.clock, &bar, run, finish)
}

fn scheduled_cases(
    cases: &[KernelCase],
    runs: &[CaseRuns],
    args: &ValidateArgs,
) -> Vec<ScheduledCase> {
    let scheduled = cases.iter().zip(runs).map(|(case, runs)| {
        let sums = runs.simulated.iter().map(|run| run.iter().sum::<f64>());
        let throughput_bps = sums.fold(0.0, f64::max);
        let first = args.runs.map_or(case.first_runs, NonZeroU64::get);
        let most = if args.runs.is_some() { first } else { first * MOST_TIMES_FIRST };
        ScheduledCase::new(case.duration(), throughput_bps, first, most)
    });
    scheduled.collect()
}

/// Fails if a row is outside.
fn check_rows(document: &KernelValidation) -> Result<(), Failure> {
    let outside = document.rows.iter().filter(|row| row.verdict == Verdict::Outside).count();
    if outside == 0 {
        return Ok(());
    }
    let (rows, are) = if outside == 1 { ("row", "is") } else { ("rows", "are") };
    Err(Failure::Failed(format!(
        "{outside} {rows} of {} {are} not within 5 % of the kernel's throughput",
        document.rows.len()
    )))
}
