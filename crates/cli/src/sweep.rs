//! `driftway sweep`: runs a study, or a scenario over varying parameters.

use std::io::Write;
use std::num::NonZeroU64;
use std::path::Path;

use driftway_experiment::Error;
use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::results::{run_recorded, selected_runs};
use driftway_experiment::study::select::{SelectionArgs, select};
use driftway_experiment::study::shard::{self, Manifest, Shard};
use driftway_experiment::study::source::Source;
use driftway_experiment::sweep::{Sweep, build_study, study_with_settings};
use driftway_scenario::TomlFile;

use crate::args::SweepArgs;
use crate::dask::{SharedCache, run_on_dask};
use crate::failure::Failure;
use crate::output::{json, with_output};
use crate::paper::{Output, run_study, run_study_from};
use crate::runner::{RunnerOptions, with_runner};
use crate::text;

/// Default number of runs per point.
const DEFAULT_RUNS: u64 = 10;

/// Runs a study, or a scenario over varying parameters, and reports the results.
///
/// # Errors
/// An invalid study, scenario or command line; a failed run; an interruption.
pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    args.figures_for_print.check_folder(args.out.as_deref())?;
    let runs = args.runs.map(NonZeroU64::get);
    let source = if args.vary.is_empty() {
        check_is_study(args)?;
        match args.set.is_empty() {
            true => Source::from_file(&args.file)?,
            false => study_with_settings(&args.file, &args.set)?,
        }
    } else {
        let sweep_args = Sweep {
            vary: args.vary.clone(),
            set: args.set.clone(),
            metrics: args.metric.clone(),
            runs: runs.unwrap_or(DEFAULT_RUNS),
            step: args.step.map(|step| step.to_string()),
        };
        build_study(&args.file, &sweep_args)?
    };
    let wanted = SelectionArgs { figures: args.figure.clone(), runs, quick: args.quick };
    let output = Output {
        out: args.out.as_deref(),
        json: args.json,
        record: false,
        figures: &args.figures_for_print,
    };
    let plan = plan(source)?;
    match (args.shard, &args.out) {
        (Some(shard), Some(out)) => run_shard(args, &plan, &wanted, (shard, out)),
        _ if !args.merge.is_empty() => {
            run_study_from(&plan, &wanted, (args.jobs, false), output, |all, _| {
                shard::merge(all, &args.merge)
            })
        }
        _ => match &args.dask {
            Some(address) => {
                let cache = SharedCache::open()?;
                run_study_from(&plan, &wanted, (args.jobs, false), output, |all, runner| {
                    run_on_dask(args, (address, &cache), all, runner)
                })
            }
            None => run_study(&plan, &wanted, (args.jobs, args.fresh), output),
        },
    }
}

/// Performs a shard of the runs of a study, and writes their records.
fn run_shard(
    args: &SweepArgs,
    plan: &Plan,
    wanted: &SelectionArgs,
    (shard, out): (Shard, &Path),
) -> Result<(), Failure> {
    let selection = select(plan, wanted)?;
    let all = selected_runs(plan, &selection);
    let runs = shard.runs(&all);
    let manifest = Manifest::new(shard, &all)?;
    let count = runs.len() as u64;
    with_output(Some(out), |dir| {
        let options = RunnerOptions { jobs: args.jobs, fresh: args.fresh, runs: count };
        let records = with_runner(options, |runner| run_recorded(&runs, runner))?;
        let Some(dir) = dir else { return Ok(()) };
        let mut staging = dir.stage()?;
        staging.write(shard::RECORDS_FILE, |out| shard::write_records(&records, out))?;
        staging.write_text(shard::MANIFEST_FILE, &json(&manifest))?;
        staging.replace_previous()
    })?;
    let Shard { number, of } = shard;
    let (runs, total, dir) = (text::count(count, "run"), all.len(), out.display());
    writeln!(
        anstream::stdout().lock(),
        "Shard {number} of {of}: {runs} of {total}, written to {dir}; with all shards: driftway sweep {} --merge \
         DIR… --out DIR",
        args.file.display()
    )?;
    Ok(())
}

/// Rejects a scenario, which has a table `network`, where a study is needed.
fn check_is_study(args: &SweepArgs) -> Result<(), Failure> {
    let text = TomlFile::text(&args.file).map_err(Error::from)?;
    let table: Result<toml::Table, _> = text.parse();
    if table.is_ok_and(|table| table.contains_key("network")) {
        let file = args.file.display();
        return Err(Failure::Input(format!(
            "{file}: this is a scenario, and no key varies\nhelp: vary a key, as in --vary \
             network.link.delay=5ms,50ms, or run the scenario with `driftway run`"
        )));
    }
    Ok(())
}
