//! `driftway paper`: a paper's figures and statements, measured.

mod check;
mod document;
mod find;
mod format;
mod measure;
mod number;
mod plan;
mod print;
mod select;
mod simulate;
mod statement;
mod verdict;

use std::io::Write;

use crate::args::PaperArgs;
use crate::failure::Failure;
use crate::paper::document::{Document, Outcome, Timing};
use crate::paper::find::Source;
use crate::paper::plan::{Plan, plan};
use crate::paper::select::{Selection, select};
use crate::paper::simulate::{Results, simulate};
use crate::text::list;

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
    let plan = plan(Source::find(&args.name)?)?;
    let selection = select(&plan, args)?;
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let jobs = args.jobs.map_or(processors, |jobs| jobs.get());

    #[expect(clippy::disallowed_methods, reason = "timing is of the machine, not of the run")]
    let started = std::time::Instant::now();
    let results = simulate(&plan, &selection, jobs as usize)?;
    let wall_s = started.elapsed().as_secs_f64();
    let timing = Timing {
        wall_s,
        runs: results.runs,
        jobs,
        events_per_s: (wall_s > 0.0).then(|| results.events as f64 / wall_s),
    };
    let document = outcome(&plan, &selection, &results).document(timing);
    let mut out = anstream::stdout().lock();
    if args.json {
        write!(out, "{}", json(&document))?;
    } else {
        write!(out, "{}", print::document(&plan, &document))?;
    }
    recorded(&document)
}

fn outcome<'a>(plan: &'a Plan, selection: &'a Selection, results: &'a Results) -> Outcome<'a> {
    Outcome { plan, selection, results }
}

/// A document as it is printed and kept.
fn json(document: &Document) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("a document is plain values with text as keys") + "\n"
}

/// Verdicts that are not the recorded ones. They are recorded for the paper's number of runs at all
/// points: with others a verdict is told, and decides nothing.
fn recorded(document: &Document) -> Result<(), Failure> {
    let unexpected: Vec<String> =
        document.unexpected().iter().map(|statement| statement.id.clone()).collect();
    if unexpected.is_empty() || document.reduced {
        return Ok(());
    }
    let (are, s) = if unexpected.len() == 1 { ("is", "") } else { ("are", "s") };
    Err(Failure::Failed(format!(
        "verdict{s} that {are} not the recorded one{s}: {}",
        list(&unexpected)
    )))
}
