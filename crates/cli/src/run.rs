//! `driftway run`: simulates a scenario with one or more seeds.

use std::io::Write;
use std::time::Duration;

use driftway_experiment::runner::{Job, parallel_map};
use driftway_experiment::summary::summarise;
use driftway_scenario::Scenario;
use driftway_sim::results::{RunDocument, SCHEMA, Timing};
use driftway_sim::trace::Trace;
use indicatif::{ProgressBar, ProgressStyle};

use crate::args::{RunArgs, ScenarioArgs};
use crate::check::load_scenario;
use crate::failure::Failure;
use crate::files::{OutputDir, Staging};
use crate::output::{json, with_output};
use crate::records::{FinishedRecords, Records, write_samples};
use crate::tables;
use crate::text::count;

/// Simulates, and prints the results.
///
/// # Errors
/// An invalid scenario, an output directory that cannot be written, or a bug in driftway.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let scenario = load_scenario(&args.scenario)?;
    let runs = args.runs.get();
    if args.seed.checked_add(runs - 1).is_none() {
        return Err(Failure::Input(format!(
            "the largest seed is {}: --seed {} leaves no room for {runs} runs",
            u64::MAX,
            args.seed
        )));
    }
    if scenario.has_seeded_movement() {
        let shared = std::sync::Arc::new(scenario.clone());
        for seed in args.seed..args.seed + runs {
            std::sync::Arc::clone(&shared)
                .at_seed(seed)
                .map_err(driftway_experiment::Error::from)?;
        }
    }
    let mut records = Records::open(args, &scenario)?;
    let (document, traces) = with_output(args.out.as_deref(), |destination| {
        simulate_and_write(args, &scenario, &mut records, destination)
    })?;
    records.commit()?;

    let mut out = anstream::stdout().lock();
    if args.json {
        write!(out, "{}", json(&document))?;
        return Ok(());
    }
    write!(out, "{}", tables::document(&document))?;
    if let Some(dir) = &args.out {
        let dir = dir.display();
        let traces = count(traces, "seed");
        writeln!(
            out,
            "Written to {dir}, with traces of {traces}; to plot them: driftway report {dir}"
        )?;
    }
    if let Some(path) = &args.pcap {
        writeln!(out, "Every frame sent is in {0}; to see them: wireshark {0}", path.display())?;
    }
    Ok(())
}

/// Simulates, and writes the results to the output directory. Returns the number of traced runs.
fn simulate_and_write(
    args: &RunArgs,
    scenario: &Scenario,
    records: &mut Records,
    destination: Option<&OutputDir>,
) -> Result<(RunDocument, u64), Failure> {
    // Event logs are written during the runs; all other files at the end, so that a killed run
    // leaves none.
    let early = destination.filter(|_| args.events).map(OutputDir::stage).transpose()?;
    let (document, kept) = simulate(args, scenario, records, early.as_ref())?;
    let mut staging = match (early, destination) {
        (None, Some(destination)) => Some(destination.stage()?),
        (early, _) => early,
    };
    let mut traces = 0;
    for (seed, mut done) in kept {
        if let (Some(staging), Some(trace)) = (&mut staging, done.trace.take()) {
            for (index, flow) in trace.flows.iter().enumerate() {
                staging.write(&Trace::flow_file_name(seed, index), |out| flow.write(out))?;
            }
            let name = Trace::network_file_name(seed);
            staging.write(&name, |out| trace.write_network(out))?;
            traces += 1;
        }
        if let (Some(staging), Some(samples)) = (&mut staging, done.samples.take()) {
            write_samples(staging, seed, &samples)?;
        }
        records.finish_run(staging.as_mut(), seed, done)?;
    }
    if let Some(mut staging) = staging {
        staging.write_text("scenario.toml", &scenario.show())?;
        staging.write_text("results.json", &json(&document))?;
        staging.replace_previous()?;
    }
    Ok((document, traces))
}

fn simulate(
    args: &RunArgs,
    scenario: &Scenario,
    records: &Records,
    staging: Option<&Staging>,
) -> Result<(RunDocument, Vec<(u64, FinishedRecords)>), Failure> {
    let runs = args.runs.get();
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let jobs = args.jobs.map_or(processors, |jobs| jobs.get()).min(runs);
    let job = job(args, scenario);
    let progress = progress_bar(runs);
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
    let started = std::time::Instant::now();
    let outcomes = parallel_map(jobs as usize, runs as usize, |index| {
        let traced = args.out.is_some() && (index == 0 || args.trace);
        let seed = args.seed + index as u64;
        let mut kept = records.start_run(staging, scenario, seed, traced)?;
        let result = job.catch_failure(seed, || driftway_sim::run(scenario, seed, kept.watch()));
        progress.inc(1);
        Ok::<_, Failure>((result?, kept.finish()))
    });
    let wall_s = started.elapsed().as_secs_f64();
    progress.finish_and_clear();

    let (mut runs, mut kept) = (Vec::new(), Vec::new());
    for (result, done) in outcomes? {
        kept.push((result.seed, done));
        runs.push(result);
    }
    let events: u64 = runs.iter().map(|run| run.events).sum();
    let document = RunDocument {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        emulated: false,
        scenario: scenario.clone(),
        summary: summarise(&runs),
        runs,
        timing: Timing {
            wall_s,
            jobs,
            events_per_s: (wall_s > 0.0).then(|| events as f64 / wall_s),
        },
    };
    Ok((document, kept))
}

/// The scenario with the command that runs it.
fn job(args: &RunArgs, scenario: &Scenario) -> Job {
    let ScenarioArgs { scenario: file, set } = &args.scenario;
    Job::new(scenario.clone(), file.to_string_lossy().into_owned(), set.clone())
}

/// Progress bar on standard error, shown only on a terminal.
pub fn progress_bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::new(runs);
    let template = if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        "{bar:40} {pos} of {len} runs, {elapsed} {eta:>6} left"
    } else {
        "{bar:40.cyan} {pos} of {len} runs, {elapsed} {eta:>6} left"
    };
    bar.set_style(ProgressStyle::with_template(template).expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod test {
    use clap::Parser;
    use driftway_sim::RunError;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn a_failed_run_prints_the_command_that_reproduces_it() {
        let line = ["driftway", "run", "a b.toml", "--set", "duration=9 s", "--runs", "5"];
        let Command::Run(args) = Cli::parse_from(line).command else { unreachable!() };
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
        let scenario = Scenario::load(std::path::Path::new(path), &[]).unwrap();
        let lost = || Err::<(), _>(RunError::Conservation("1 packet is nowhere".to_owned()));
        let failure = job(&args, &scenario).catch_failure(3, lost).unwrap_err().into();
        let Failure::Failed(message) = failure else { unreachable!() };
        let parts = [
            "a bug in driftway",
            "1 packet is nowhere",
            "driftway run 'a b.toml' --set 'duration=9 s' --seed 3",
        ];
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}
