//! `driftway paper`: reproduces a paper's figures and judges its statements.

mod draw;
mod for_print;
pub mod kernel;
mod numbers;
mod page;
pub mod print;
mod statement_rows;
mod summary_lines;
mod tables;
mod traces;

use std::fs::File;
use std::num::NonZeroU64;
use std::path::Path;

use driftway_experiment::Error;
use driftway_experiment::rows;
use driftway_experiment::runner::{RunRecord, Runner};
use driftway_experiment::study::citations;
use driftway_experiment::study::document::{StatementResult, StudyDocument, Timing};
use driftway_experiment::study::outcome::StudyOutcome;
use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::recorded_verdicts::{StoredVerdicts, VERDICTS_FILE};
use driftway_experiment::study::results::{self, Results, SelectedRun};
use driftway_experiment::study::select::{RecordedVerdicts, Selection, SelectionArgs, select};
use driftway_experiment::study::single_reading::restrict_to_reading;
use driftway_experiment::study::source::Source;
use driftway_experiment::study::stored_results::{self, StoredResults};
use driftway_experiment::study::verdict_recording::verdicts_found;

use crate::args::PaperArgs;
use crate::failure::Failure;
use crate::figures::{self, options::FigureOptions};
use crate::files::Staging;
use crate::output::{check_output, print_results, with_output, write_results};
use crate::runner::{self, RunnerOptions};
use crate::text::list;

/// Argument that lists all papers.
const LIST: &str = "list";

/// Lists the papers, or runs one and reports the results.
///
/// # Errors
/// An invalid paper or command line; a failed run; verdicts that differ from the recorded ones.
pub fn paper(args: &PaperArgs) -> Result<(), Failure> {
    if args.name == LIST {
        return print::list_papers(args.json);
    }
    args.figures_for_print.check_folder(args.out.as_deref())?;
    if args.kernel {
        return kernel::run_with_kernel(args);
    }
    let mut plan = plan(Source::find(&args.name)?)?;
    if let Some(reading) = &args.reading {
        plan = restrict_to_reading(plan, reading)?;
    }
    if args.numbers {
        return numbers::check_numbers(&plan, args.jobs, args.fresh);
    }
    let wanted = SelectionArgs {
        figures: args.figure.clone(),
        runs: args.runs.map(NonZeroU64::get),
        quick: args.quick,
    };
    let output = Output {
        out: args.out.as_deref(),
        json: args.json,
        record: args.record,
        figures: &args.figures_for_print,
    };
    run_study(&plan, &wanted, (args.jobs, args.fresh), output)
}

/// Outputs of a study.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Directory for the page, the results and the tables.
    pub out: Option<&'a Path>,
    /// Prints one JSON document instead of tables.
    pub json: bool,
    /// Records the results in the study's directory.
    pub record: bool,
    /// Figures for print.
    pub figures: &'a FigureOptions,
}

/// Runs the selected part of a study, with this number of jobs (and `fresh`), and reports the results.
///
/// # Errors
/// An invalid selection; a failed run; verdicts that differ from the recorded ones; an interruption.
pub fn run_study(
    plan: &Plan,
    wanted: &SelectionArgs,
    (jobs, fresh): (Option<NonZeroU64>, bool),
    output: Output<'_>,
) -> Result<(), Failure> {
    run_study_from(plan, wanted, (jobs, fresh), output, results::run_recorded)
}

/// Does the same as [`run_study`] with `records`, which performs the recorded runs or takes them from elsewhere.
///
/// # Errors
/// Those of [`run_study`], and of `records`.
pub fn run_study_from(
    plan: &Plan,
    wanted: &SelectionArgs,
    (jobs, fresh): (Option<NonZeroU64>, bool),
    output: Output<'_>,
    records: impl FnOnce(&[SelectedRun<'_>], &Runner<'_>) -> Result<Vec<RunRecord>, Error>,
) -> Result<(), Failure> {
    let selection = select(plan, wanted)?;
    let options = RunnerOptions { jobs, fresh, runs: results::run_count(plan, &selection) };
    check_output(output.out)?;
    let record_dir = match (output.record, plan.source.dir()) {
        (true, None) => {
            let what = format!("--record: {} is built in, and has no directory", plan.source.name);
            return Err(Failure::Input(what));
        }
        (true, Some(dir)) => Some(dir),
        (false, _) => None,
    };
    let (document, kept, verdicts) = with_output(output.out, |destination| {
        let (results, timing) = run_selection(plan, &selection, options, records)?;
        let outcome = StudyOutcome { plan, selection: &selection, results: &results };
        let document = outcome.document(timing);
        if let Some(dir) = destination {
            write_files(dir.stage()?, &outcome, &document, output.figures)?;
        }
        let verdicts = match record_dir {
            Some(_) => verdicts_found(&outcome, wanted)?,
            None => StoredVerdicts::default(),
        };
        Ok((document, StoredResults::from_outcome(&outcome), verdicts))
    })?;
    print_results(output.json, &document, || print::document(plan, &document), output.out)?;
    match record_dir {
        Some(dir) => {
            record_results(plan, kept, dir)?;
            return record_verdicts(plan, verdicts, dir);
        }
        None => check_recorded_results(plan, &kept, &document)?,
    }
    check_recorded_verdicts(plan, &document)
}

/// Records the results and the README's tables in the paper's directory; results of figures that were
/// not run stay as they are.
fn record_results(plan: &Plan, found: StoredResults, dir: &Path) -> Result<(), Failure> {
    let figures: Vec<&str> = plan.figures.iter().map(|figure| figure.figure.id.as_str()).collect();
    let kept = match plan.source.has_file(stored_results::RESULTS_FILE) {
        true => found.with_other_figures(citations::read_stored_results(&plan.source)?, &figures),
        false => found,
    };
    let kept = &kept;
    let text = kept
        .write()
        .map_err(|error| Failure::Failed(format!("{}: {error}", stored_results::RESULTS_FILE)))?;
    write_to_paper_dir(dir, stored_results::RESULTS_FILE, &text)?;
    for (file, text) in citations::tables(plan, kept)? {
        write_to_paper_dir(dir, &file, &text)?;
    }
    Ok(())
}

/// Records the verdicts of these runs in the paper's directory; those of other runs stay as they are.
fn record_verdicts(plan: &Plan, found: StoredVerdicts, dir: &Path) -> Result<(), Failure> {
    let known: Vec<&str> = plan.statements.iter().map(|of| of.id.as_str()).collect();
    let recorded = StoredVerdicts::of(&plan.source)?.replaced_by(found, &known);
    let text =
        recorded.write().map_err(|error| Failure::Failed(format!("{VERDICTS_FILE}: {error}")))?;
    write_to_paper_dir(dir, VERDICTS_FILE, &text)
}

fn write_to_paper_dir(dir: &Path, file: &str, text: &str) -> Result<(), Failure> {
    let path = dir.join(file);
    std::fs::write(&path, text)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// Compares the results with the recorded ones, if results are recorded for this number of runs.
fn check_recorded_results(
    plan: &Plan,
    found: &StoredResults,
    document: &StudyDocument,
) -> Result<(), Failure> {
    if document.recorded == RecordedVerdicts::None
        || !plan.source.has_file(stored_results::RESULTS_FILE)
    {
        return Ok(());
    }
    let parts = citations::read_stored_results(&plan.source)?.differences(found);
    match &parts[..] {
        [] => Ok(()),
        [first, more @ ..] => {
            let more = match more.len() {
                0 => String::new(),
                n => format!(", and {n} more"),
            };
            let place = plan.source.display_path(stored_results::RESULTS_FILE);
            let help =
                format!("`driftway paper {} --record` records the new results", plan.source.name);
            Err(Failure::Failed(format!("{place}: {first}{more}\nhelp: {help}")))
        }
    }
}

/// Performs the runs, and measures how long they take.
fn run_selection(
    plan: &Plan,
    selection: &Selection,
    asked: RunnerOptions,
    records: impl FnOnce(&[SelectedRun<'_>], &Runner<'_>) -> Result<Vec<RunRecord>, Error>,
) -> Result<(Results, Timing), Failure> {
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
    let started = std::time::Instant::now();
    let results = runner::with_runner(asked, |runner| {
        let records = records(&results::selected_runs(plan, selection), runner)?;
        results::complete(plan, selection, records, runner)
    })?;
    let wall_s = started.elapsed().as_secs_f64();
    let timing = Timing {
        wall_s,
        runs: results.runs,
        jobs: asked.jobs(),
        events_per_s: (wall_s > 0.0).then(|| results.events as f64 / wall_s),
    };
    Ok((results, timing))
}

/// Writes the page, the results, the tables, the traces, and the study's own files, so that the
/// directory is a study that can be run again.
fn write_files(
    mut staging: Staging,
    outcome: &StudyOutcome<'_>,
    document: &StudyDocument,
    options: &FigureOptions,
) -> Result<(), Failure> {
    let StudyOutcome { plan, selection, results } = *outcome;
    let mut files: Vec<&str> = plan.files.iter().map(String::as_str).collect();
    files.push(plan.source.study_file_name());
    for file in files {
        staging.write_text(file, &plan.source.read_file(file)?)?;
    }
    for (name, path) in plan.movements() {
        staging.write(&name, |out| std::io::copy(&mut File::open(&path)?, out).map(drop))?;
    }
    for (traced, trace) in &results.traces {
        staging.write(&traces::file_name(traced), |out| trace.write(out))?;
    }
    for table in rows::tables(plan, selection, results) {
        staging.write(&format!("{}.csv", table.name), |out| table.write_csv(out))?;
        staging.write(&format!("{}.parquet", table.name), |out| table.write_parquet(out))?;
    }
    if options.is_wanted() {
        figures::write(&mut staging, &for_print::figures(document, options.band()), options)?;
    }
    write_results(staging, &page::page(outcome, document)?, document)
}

/// Compares the verdicts with the recorded ones, if verdicts are recorded for this number of runs.
fn check_recorded_verdicts(plan: &Plan, document: &StudyDocument) -> Result<(), Failure> {
    if document.recorded == RecordedVerdicts::None || !plan.source.has_file(VERDICTS_FILE) {
        return Ok(());
    }
    let names = |of: Vec<&StatementResult>| of.iter().map(|of| of.id.clone()).collect::<Vec<_>>();
    let unexpected = names(document.unexpected());
    let unrecorded = names(document.unrecorded());
    let s = |names: &[String]| if names.len() == 1 { "" } else { "s" };
    let differ = if unexpected.len() == 1 { "differs" } else { "differ" };
    let message = match (&unexpected[..], &unrecorded[..]) {
        ([], []) => return Ok(()),
        ([], new) => {
            let help = format!("`driftway paper {} --record` records them", plan.source.name);
            format!("statement{} with no recorded verdict: {}\nhelp: {help}", s(new), list(new))
        }
        (other, _) => {
            let s = s(other);
            format!("verdict{s} that {differ} from the recorded one{s}: {}", list(other))
        }
    };
    Err(Failure::Failed(message))
}
