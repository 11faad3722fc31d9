//! `driftway validate`: compares the simulator with other simulators, with theory, with published
//! values, and with a kernel's TCP.

mod compared_value;
mod draw;
mod kernel;
mod page;
mod print;
mod tables;

use std::path::Path;

use driftway_experiment::study::reference::ReferenceSimulator;
use driftway_experiment::validation::cases::{CaseInfo, ValidationCases};
use driftway_experiment::validation::document::{self, SCHEMA, Timing, ValidationDocument};
use driftway_experiment::validation::ns2::Ns2Simulator;
use driftway_experiment::validation::published::published_result;
use driftway_experiment::validation::run_metrics::StoredRuns;
use driftway_experiment::validation::simulate::{PointRuns, PointWork, run_count, simulate};

use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::output::{print_results, with_output, write_results};
use crate::runner::{self, RunnerOptions};
use crate::text::list;

/// The study with the cases, in driftway's sources.
const STUDY: &str = "studies/validation/study.toml";

/// Runs the cases and reports the comparison.
///
/// # Errors
/// Invalid cases or command line; a failed run; a judged case that differs.
pub fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    if args.kernel {
        return kernel::validate_with_kernel(args);
    }
    let study = args.study.as_deref().unwrap_or(Path::new(STUDY));
    let cases = ValidationCases::load(study, &args.case)?;
    let stored = |name| StoredRuns::load(&cases.dir.join(name));
    let stored = [stored("ns2.csv")?, stored("ns3.csv")?];
    let ns2 = if args.ns2 { Some(Ns2Simulator::find(&cases.dir)?) } else { None };
    let out = args.out.as_deref();
    let document = with_output(out, |destination| {
        let document = run(args, &cases, &stored, ns2.as_ref())?;
        if let Some(dir) = destination {
            write_results(dir.stage()?, &page::page(&document)?, &document)?;
        }
        Ok(document)
    })?;
    print_results(args.json, &document, || print::document(&document), out)?;
    check_agreement(&document)
}

fn run(
    args: &ValidateArgs,
    cases: &ValidationCases,
    stored: &[StoredRuns; 2],
    ns2: Option<&Ns2Simulator>,
) -> Result<ValidationDocument, Failure> {
    let seeds = |of: &CaseInfo| args.runs.map_or(of.seeds, |runs| runs.get());
    let mut work = Vec::new();
    for case in &cases.cases {
        let ours = seeds(&case.about);
        let theirs = if ns2.is_some() && case.ns2.is_some() { ours } else { 0 };
        let points = case.about.points.iter();
        work.extend(points.map(|point| PointWork { point, seeds: ours, theirs, case: Some(case) }));
    }
    let formulas = cases.formulas.iter().map(|of| &of.about);
    for about in formulas.chain(cases.published.iter().map(|of| &of.about)) {
        let (seeds, points) = (seeds(about), about.points.iter());
        work.extend(points.map(|point| PointWork { point, seeds, theirs: 0, case: None }));
    }
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
    let started = std::time::Instant::now();
    let options = RunnerOptions { jobs: args.jobs, fresh: args.fresh, runs: run_count(&work) };
    let ran = runner::with_runner(options, |runner| simulate(&work, ns2, runner))?;
    let timing = Timing { wall_s: started.elapsed().as_secs_f64(), jobs: options.jobs() };

    let mut rest: &[PointRuns] = &ran;
    let mut next = |count: usize| {
        let (these, others) = rest.split_at(count);
        rest = others;
        these
    };
    let results = cases.cases.iter().map(|case| {
        let of = match case.against {
            ReferenceSimulator::Ns2 => &stored[0],
            ReferenceSimulator::Ns3 => &stored[1],
        };
        let beside = ns2.is_some() && case.ns2.is_some();
        document::case_result(case, next(case.about.points.len()), (of, beside))
    });
    let results = results.collect();
    let formulas = cases
        .formulas
        .iter()
        .map(|formula| document::formula_result(formula, next(formula.about.points.len())))
        .collect::<Result<_, _>>()?;
    let published = cases
        .published
        .iter()
        .map(|of| published_result(of, next(of.about.points.len())))
        .collect();
    Ok(ValidationDocument {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        cases: results,
        formulas,
        published,
        timing,
    })
}

fn check_agreement(document: &ValidationDocument) -> Result<(), Failure> {
    let differing: Vec<String> = document.differing().into_iter().map(str::to_owned).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let s = if differing.len() == 1 { "s" } else { "" };
    Err(Failure::Failed(format!("{} differ{s} by more than the tolerance", list(&differing))))
}
