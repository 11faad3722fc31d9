//! `driftway paper`: a paper's figures and statements, measured.

mod draw;
mod kernel;
mod numbers;
mod page;
mod print;
mod tables;
mod traces;

use std::fs::File;
use std::io::Write;
use std::num::NonZeroU64;
use std::path::Path;

use driftway_experiment::rows;
use driftway_experiment::study::citations;
use driftway_experiment::study::document::{Document, Timing};
use driftway_experiment::study::outcome::StudyOutcome;
use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::results::{self, Results};
use driftway_experiment::study::select::{RecordedVerdicts, Selection, SelectionArgs, select};
use driftway_experiment::study::single_reading::restrict_to_reading;
use driftway_experiment::study::source::Source;
use driftway_experiment::study::stored_results::{self, StoredResults};

use crate::args::PaperArgs;
use crate::failure::Failure;
use crate::files::OutputDir;
use crate::runner::{self, RunnerOptions};
use crate::text::list;

/// The page's name.
const PAGE: &str = "index.html";

/// The name that stands for all papers.
const LIST: &str = "list";

/// Lists the papers, or runs one and tells what came out.
///
/// # Errors
/// What is wrong with the paper or the command line; a run that broke; verdicts that are not the
/// recorded ones.
pub fn paper(args: &PaperArgs) -> Result<(), Failure> {
    if args.name == LIST {
        return print::list_papers(args.json);
    }
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
    let output = Output { out: args.out.as_deref(), json: args.json, record: args.record };
    run_study(&plan, &wanted, (args.jobs, args.fresh), output)
}

/// Where what came out goes, beside the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// A directory for all of it.
    pub out: Option<&'a Path>,
    /// One document in the place of tables.
    pub json: bool,
    /// What came out is what is kept beside the study from now on.
    pub record: bool,
}

/// Runs what is wanted of a study, so many jobs at a time (and `fresh`), and reports what came out.
///
/// # Errors
/// What is wrong with what is wanted; a run that broke; verdicts that are not the recorded ones; it was
/// stopped.
pub fn run_study(
    plan: &Plan,
    wanted: &SelectionArgs,
    (jobs, fresh): (Option<NonZeroU64>, bool),
    output: Output<'_>,
) -> Result<(), Failure> {
    let selection = select(plan, wanted)?;
    let options = RunnerOptions { jobs, fresh, runs: results::run_count(&selection) };
    let destination = match output.out {
        Some(dir) if dir.exists() && !dir.is_dir() => {
            let dir = dir.display();
            return Err(Failure::Input(format!("--out {dir}: that is a file, not a directory")));
        }
        Some(dir) => Some(OutputDir::open(dir)?),
        None => None,
    };
    let record_dir = match (output.record, plan.source.dir()) {
        (true, None) => {
            let what = format!("--record: {} is built in, and has no directory", plan.source.name);
            return Err(Failure::Input(what));
        }
        (true, Some(dir)) => Some(dir),
        (false, _) => None,
    };
    let (document, results) = match run_selection(plan, &selection, options) {
        Ok(done) => done,
        Err(failure) => {
            if let Some(destination) = destination {
                destination.remove_if_created();
            }
            return Err(failure);
        }
    };
    if let Some(destination) = destination {
        write_output(&destination, plan, &selection, &results, &document)?;
    }
    let mut out = anstream::stdout().lock();
    if output.json {
        write!(out, "{}", json(&document))?;
    } else {
        write!(out, "{}", print::document(plan, &document))?;
        if let Some(dir) = output.out {
            writeln!(out, "Written to {}", dir.join(PAGE).display())?;
        }
    }
    let kept = StoredResults::from_outcome(&StudyOutcome {
        plan,
        selection: &selection,
        results: &results,
    });
    match record_dir {
        Some(dir) => record_results(plan, &stored_results, dir)?,
        None => check_recorded_results(plan, &stored_results, &document)?,
    }
    check_recorded_verdicts(&document)
}

/// Writes the results and the README's tables beside the paper.
fn record_results(plan: &Plan, kept: &StoredResults, dir: &Path) -> Result<(), Failure> {
    let text = stored_results
        .write()
        .map_err(|error| Failure::Failed(format!("{}: {error}", stored_results::RESULTS_FILE)))?;
    write_to_paper_dir(dir, stored_results::RESULTS_FILE, &text)?;
    for (file, text) in citations::tables(plan, stored_results)? {
        write_to_paper_dir(dir, &file, &text)?;
    }
    Ok(())
}

fn write_to_paper_dir(dir: &Path, file: &str, text: &str) -> Result<(), Failure> {
    let path = dir.join(file);
    std::fs::write(&path, text)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// Are the results those that are kept beside the paper, where so many runs are?
fn check_recorded_results(
    plan: &Plan,
    found: &StoredResults,
    document: &Document,
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
                format!("`driftway paper {} --record` keeps what comes out", plan.source.name);
            Err(Failure::Failed(format!("{place}: {first}{more}\nhelp: {help}")))
        }
    }
}

/// Runs what is selected.
fn run_selection(
    plan: &Plan,
    selection: &Selection,
    asked: RunnerOptions,
) -> Result<(Document, Results), Failure> {
    #[expect(clippy::disallowed_methods, reason = "timing is of the machine, not of the run")]
    let started = std::time::Instant::now();
    let results =
        runner::with_runner(asked, |runner| results::run_selection(plan, selection, runner))?;
    let wall_s = started.elapsed().as_secs_f64();
    let timing = Timing {
        wall_s,
        runs: results.runs,
        jobs: asked.jobs(),
        events_per_s: (wall_s > 0.0).then(|| results.events as f64 / wall_s),
    };
    let document = StudyOutcome { plan, selection, results: &results }.document(timing);
    Ok((document, results))
}

/// Writes the page, the results, the tables, the traces, and the study's own files, so that the directory
/// is a study that can be run again.
fn write_output(
    destination: &OutputDir,
    plan: &Plan,
    selection: &Selection,
    results: &Results,
    document: &Document,
) -> Result<(), Failure> {
    let mut staging = destination.stage()?;
    let mut files: Vec<&str> = plan.files.iter().map(String::as_str).collect();
    files.push(plan.source.study_file_name());
    for file in files {
        staging.write_text(file, &plan.source.read_file(file)?)?;
    }
    for (name, path) in plan.movements() {
        staging.write(&name, |out| std::io::copy(&mut File::open(&path)?, out).map(drop))?;
    }
    for (traced, trace) in selection.traces.iter().zip(&results.traces) {
        staging.write(&traces::file_name(plan, traced), |out| trace.write(out))?;
    }
    for table in rows::tables(plan, selection, results) {
        staging.write(&format!("{}.csv", table.name), |out| table.write_csv(out))?;
        staging.write(&format!("{}.parquet", table.name), |out| table.write_parquet(out))?;
    }
    let html = page::page(plan, selection, results, document)
        .map_err(|error| Failure::Failed(format!("the page: {error}")))?;
    staging.write_text(PAGE, &html)?;
    staging.write_text("results.json", &json(document))?;
    staging.replace_previous()
}

/// A document as it is printed and kept.
fn json(document: &Document) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("a document is plain values with text as keys") + "\n"
}

/// Verdicts that are not the recorded ones, where verdicts of so many runs are recorded.
fn check_recorded_verdicts(document: &Document) -> Result<(), Failure> {
    let unexpected: Vec<String> =
        document.unexpected().iter().map(|statement| statement.id.clone()).collect();
    if unexpected.is_empty() || document.recorded == RecordedVerdicts::None {
        return Ok(());
    }
    let (differ, s) = if unexpected.len() == 1 { ("is", "") } else { ("are", "s") };
    Err(Failure::Failed(format!(
        "verdict{s} that {differ} not the recorded one{s}: {}",
        list(&unexpected)
    )))
}
