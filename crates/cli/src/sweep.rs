//! `driftway sweep`: runs a study, or a scenario over varying parameters.

use std::num::NonZeroU64;

use driftway_experiment::Error;
use driftway_experiment::study::plan::plan;
use driftway_experiment::study::select::SelectionArgs;
use driftway_experiment::study::source::Source;
use driftway_experiment::sweep::{Sweep, build_study, study_with_settings};
use driftway_scenario::TomlFile;

use crate::args::SweepArgs;
use crate::failure::Failure;
use crate::paper::{Output, run_study};

/// Default number of runs per point.
const DEFAULT_RUNS: u64 = 10;

/// Runs a study, or a scenario over varying parameters, and reports the results.
///
/// # Errors
/// An invalid study, scenario or command line; a failed run; an interruption.
pub fn sweep(args: &SweepArgs) -> Result<(), Failure> {
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
    let output = Output { out: args.out.as_deref(), json: args.json, record: false };
    run_study(&plan(source)?, &wanted, (args.jobs, args.fresh), output)
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
