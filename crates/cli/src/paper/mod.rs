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
    let output = Shown { out: args.out.as_deref(), json: args.json, record: args.record };
    carry_out(&plan, &wanted, (args.jobs, args.fresh), output)
}

/// Where what came out goes, beside the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
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
pub fn carry_out(
    plan: &Plan,
    wanted: &Wanted,
    (jobs, fresh): (Option<NonZeroU64>, bool),
    output: Shown<'_>,
) -> Result<(), Failure> {
    let selection = select(plan, wanted)?;
    let options = Asked { jobs, fresh, runs: results::runs(&selection) };
    let destination = match output.out {
        Some(dir) if dir.exists() && !dir.is_dir() => {
            let dir = dir.display();
            return Err(Failure::Input(format!("--out {dir}: that is a file, not a directory")));
        }
        Some(dir) => Some(Destination::open(dir)?),
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
    let (document, results) = match run(plan, &selection, options) {
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
    if output.json {
        write!(out, "{}", json(&document))?;
    } else {
        write!(out, "{}", print::document(plan, &document))?;
        if let Some(dir) = output.out {
            writeln!(out, "Written to {}", dir.join(PAGE).display())?;
        }
    }
    let kept = Kept::of(&Outcome { plan, selection: &selection, results: &results });
    match record_dir {
        Some(dir) => record(plan, &kept, dir)?,
        None => as_kept(plan, &kept, &document)?,
    }
    recorded(&document)
}

/// Writes the results and the README's tables beside the paper.
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

/// Are the results those that are kept beside the paper, where so many runs are?
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
                format!("`driftway paper {} --record` keeps what comes out", plan.source.name);
            Err(Failure::Failed(format!("{place}: {first}{more}\nhelp: {help}")))
        }
    }
}

/// Runs what is selected.
fn run(plan: &Plan, selection: &Selection, asked: Asked) -> Result<(Document, Results), Failure> {
    #[expect(clippy::disallowed_methods, reason = "timing is of the machine, not of the run")]
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

/// Writes the page, the results, the tables, the traces, and the study's own files, so that the directory
/// is a study that can be run again.
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
        .map_err(|error| Failure::Failed(format!("the page: {error}")))?;
    staging.write_text(PAGE, &html)?;
    staging.write_text("results.json", &json(document))?;
    staging.replace()
}

/// A document as it is printed and kept.
fn json(document: &Document) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("a document is plain values with text as keys") + "\n"
}

/// Verdicts that are not the recorded ones, where verdicts of so many runs are recorded.
fn recorded(document: &Document) -> Result<(), Failure> {
    let unexpected: Vec<String> =
        document.unexpected().iter().map(|statement| statement.id.clone()).collect();
    if unexpected.is_empty() || document.recorded == Recorded::None {
        return Ok(());
    }
    let (differ, s) = if unexpected.len() == 1 { ("is", "") } else { ("are", "s") };
    Err(Failure::Failed(format!(
        "verdict{s} that {differ} not the recorded one{s}: {}",
        list(&unexpected)
    )))
}
