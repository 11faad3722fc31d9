//! `driftway paper`: reproduces a paper's figures and judges its statements.

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
use driftway_experiment::study::cited;
use driftway_experiment::study::document::{Document, Timing};
use driftway_experiment::study::find::Source;
use driftway_experiment::study::kept::{self, Kept};
use driftway_experiment::study::only::only;
use driftway_experiment::study::outcome::Outcome;
use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::results::{self, Results};
use driftway_experiment::study::select::{Recorded, Selection, Wanted, select};

use crate::args::PaperArgs;
use crate::failure::Failure;
use crate::files::Destination;
use crate::runner::{self, Asked};
use crate::text::list;

/// File name of the page.
const PAGE: &str = "index.html";

/// Argument that lists all papers.
const LIST: &str = "list";

/// Lists the papers, or runs one and reports the results.
///
/// # Errors
/// An invalid paper or command line; a failed run; verdicts that differ from the recorded ones.
pub fn paper(args: &PaperArgs) -> Result<(), Failure> {
    if args.name == LIST {
        return print::papers(args.json);
    }
    if args.kernel {
        return kernel::kernel(args);
    }
    let mut plan = plan(Source::find(&args.name)?)?;
    if let Some(reading) = &args.reading {
        plan = only(plan, reading)?;
    }
    if args.numbers {
        return numbers::numbers(&plan, args.jobs, args.fresh);
    }
    let wanted = Wanted {
        figures: args.figure.clone(),
        runs: args.runs.map(NonZeroU64::get),
        quick: args.quick,
    };
    let shown = Shown { out: args.out.as_deref(), json: args.json, record: args.record };
    carry_out(&plan, &wanted, (args.jobs, args.fresh), shown)
}

/// Outputs of a study.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Directory for the page, the results and the tables.
    pub out: Option<&'a Path>,
    /// Whether to print one JSON document instead of tables.
    pub json: bool,
    /// Whether to record the results in the study's directory.
    pub record: bool,
}

/// Runs the selected part of a study, with this number of jobs (and `fresh`), and reports the results.
///
/// # Errors
/// An invalid selection; a failed run; verdicts that differ from the recorded ones; an interruption.
pub fn carry_out(
    plan: &Plan,
    wanted: &Wanted,
    (jobs, fresh): (Option<NonZeroU64>, bool),
    shown: Shown<'_>,
) -> Result<(), Failure> {
    let selection = select(plan, wanted)?;
    let asked = Asked { jobs, fresh, runs: results::runs(&selection) };
    let destination = match shown.out {
        Some(dir) if dir.exists() && !dir.is_dir() => {
            let dir = dir.display();
            return Err(Failure::Input(format!("--out {dir}: that is a file, not a directory")));
        }
        Some(dir) => Some(Destination::open(dir)?),
        None => None,
    };
    let beside = match (shown.record, plan.source.dir()) {
        (true, None) => {
            let what = format!("--record: {} is built in, and has no directory", plan.source.name);
            return Err(Failure::Input(what));
        }
        (true, Some(dir)) => Some(dir),
        (false, _) => None,
    };
    let (document, results) = match run(plan, &selection, asked) {
        Ok(done) => done,
        Err(failure) => {
            if let Some(destination) = destination {
                destination.abandon();
            }
            return Err(failure);
        }
    };
    if let Some(destination) = destination {
        keep(&destination, plan, &selection, &results, &document)?;
    }
    let mut out = anstream::stdout().lock();
    if shown.json {
        write!(out, "{}", json(&document))?;
    } else {
        write!(out, "{}", print::document(plan, &document))?;
        if let Some(dir) = shown.out {
            writeln!(out, "Written to {}", dir.join(PAGE).display())?;
        }
    }
    let kept = Kept::of(&Outcome { plan, selection: &selection, results: &results });
    match beside {
        Some(dir) => record(plan, &kept, dir)?,
        None => as_kept(plan, &kept, &document)?,
    }
    recorded(&document)
}

/// Records the results and the README's tables in the paper's directory.
fn record(plan: &Plan, kept: &Kept, dir: &Path) -> Result<(), Failure> {
    let text = kept.write().map_err(|error| Failure::Failed(format!("{}: {error}", kept::FILE)))?;
    write_beside(dir, kept::FILE, &text)?;
    for (file, text) in cited::tables(plan, kept)? {
        write_beside(dir, &file, &text)?;
    }
    Ok(())
}

fn write_beside(dir: &Path, file: &str, text: &str) -> Result<(), Failure> {
    let path = dir.join(file);
    std::fs::write(&path, text)
        .map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))
}

/// Compares the results with the recorded ones, if results are recorded for this number of runs.
fn as_kept(plan: &Plan, found: &Kept, document: &Document) -> Result<(), Failure> {
    if document.recorded == Recorded::None || !plan.source.has(kept::FILE) {
        return Ok(());
    }
    let parts = cited::kept(&plan.source)?.parts(found);
    match &parts[..] {
        [] => Ok(()),
        [first, more @ ..] => {
            let more = match more.len() {
                0 => String::new(),
                n => format!(", and {n} more"),
            };
            let place = plan.source.place(kept::FILE);
            let help =
                format!("`driftway paper {} --record` records the new results", plan.source.name);
            Err(Failure::Failed(format!("{place}: {first}{more}\nhelp: {help}")))
        }
    }
}

/// Runs the selected part of the study.
fn run(plan: &Plan, selection: &Selection, asked: Asked) -> Result<(Document, Results), Failure> {
    #[expect(clippy::disallowed_methods, reason = "measures wall-clock time only")]
    let started = std::time::Instant::now();
    let results = runner::with(asked, |runner| results::run(plan, selection, runner))?;
    let wall_s = started.elapsed().as_secs_f64();
    let timing = Timing {
        wall_s,
        runs: results.runs,
        jobs: asked.jobs(),
        events_per_s: (wall_s > 0.0).then(|| results.events as f64 / wall_s),
    };
    let document = Outcome { plan, selection, results: &results }.document(timing);
    Ok((document, results))
}

/// Writes the page, the results, the tables, the traces, and the study's own files, so that the
/// directory is a study that can be run again.
fn keep(
    destination: &Destination,
    plan: &Plan,
    selection: &Selection,
    results: &Results,
    document: &Document,
) -> Result<(), Failure> {
    let mut staging = destination.stage()?;
    let mut files: Vec<&str> = plan.files.iter().map(String::as_str).collect();
    files.push(plan.source.own());
    for file in files {
        staging.write_text(file, &plan.source.read(file)?)?;
    }
    for (name, path) in plan.movements() {
        staging.write(&name, |out| std::io::copy(&mut File::open(&path)?, out).map(drop))?;
    }
    for (traced, trace) in selection.traces.iter().zip(&results.traces) {
        staging.write(&traces::file(plan, traced), |out| trace.write(out))?;
    }
    for table in rows::tables(plan, selection, results) {
        staging.write(&format!("{}.csv", table.name), |out| table.write_csv(out))?;
        staging.write(&format!("{}.parquet", table.name), |out| table.write_parquet(out))?;
    }
    let html = page::page(plan, selection, results, document)
        .map_err(|error| Failure::Failed(format!("can't render the page: {error}")))?;
    staging.write_text(PAGE, &html)?;
    staging.write_text("results.json", &json(document))?;
    staging.replace()
}

/// JSON text of a document.
fn json(document: &Document) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("the document can be serialized") + "\n"
}

/// Compares the verdicts with the recorded ones, if verdicts are recorded for this number of runs.
fn recorded(document: &Document) -> Result<(), Failure> {
    let unexpected: Vec<String> =
        document.unexpected().iter().map(|statement| statement.id.clone()).collect();
    if unexpected.is_empty() || document.recorded == Recorded::None {
        return Ok(());
    }
    let (are, s) = if unexpected.len() == 1 { ("differs", "") } else { ("differ", "s") };
    Err(Failure::Failed(format!(
        "verdict{s} that {are} from the recorded one{s}: {}",
        list(&unexpected)
    )))
}
