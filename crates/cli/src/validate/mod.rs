//! `driftway validate`: the lab held against other simulators and against theory.

mod draw;
mod page;
mod print;
mod tables;

use std::io::Write;
use std::path::Path;

use experiment::runner::Job;
use experiment::validation::cases::{Against, Cases, Point};
use experiment::validation::document::{self, Document, Timing};
use experiment::validation::ns2::Simulator;
use experiment::validation::record::Stored;
use experiment::validation::simulate::{Ran, Work, runs, simulate};

use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::files::Destination;
use crate::runner::{self, Asked};
use crate::text::list;

/// The page's name.
const PAGE: &str = "index.html";

/// Runs the cases and tells how ours compare.
///
/// # Errors
/// What is wrong with the cases or the command line; a run that broke; a case that is judged and
/// does not agree.
pub fn validate(args: &ValidateArgs) -> Result<(), Failure> {
    let cases = Cases::load(&args.cases, &args.case)?;
    let stored = |name| Stored::load(&cases.dir.join(name));
    let stored = [stored("ns2.csv")?, stored("ns3.csv")?];
    let ns2 = if args.ns2 { Some(Simulator::find(&cases.dir)?) } else { None };
    let mut points = Vec::new();
    for case in &cases.cases {
        points.push(cases.points(&case.scenario, &case.set, &case.points)?);
    }
    for formula in &cases.formulas {
        let mut of = cases.points(&formula.scenario, &formula.set, &formula.points)?;
        for (point, keys) in of.iter_mut().zip(&formula.points) {
            // A scenario may have more flows than a point is about.
            if let Some(flows) = keys.get("stations").and_then(|n| n.parse().ok()) {
                point.scenario.flows.truncate(flows);
            }
        }
        points.push(of);
    }
    let destination = match &args.out {
        Some(dir) if dir.exists() && !dir.is_dir() => {
            let dir = dir.display();
            return Err(Failure::Input(format!("--out {dir}: that is a file, not a directory")));
        }
        Some(dir) => Some(Destination::open(dir)?),
        None => None,
    };
    let document = match run(args, &cases, (&points, &stored), ns2.as_ref()) {
        Ok(document) => document,
        Err(failure) => {
            if let Some(destination) = destination {
                destination.abandon();
            }
            return Err(failure);
        }
    };
    if let Some(destination) = destination {
        let html =
            page::page(&document).map_err(|error| Failure::Failed(format!("the page: {error}")))?;
        let mut staging = destination.stage()?;
        staging.write_text(PAGE, &html)?;
        staging.write_text("results.json", &json(&document))?;
        staging.replace()?;
    }
    let mut out = anstream::stdout().lock();
    if args.json {
        write!(out, "{}", json(&document))?;
    } else {
        write!(out, "{}", print::document(&document))?;
        if let Some(dir) = &args.out {
            writeln!(out, "Written to {}", dir.join(PAGE).display())?;
        }
    }
    judged(&document)
}

fn run(
    args: &ValidateArgs,
    cases: &Cases,
    (points, stored): (&[Vec<Point>], &[Stored; 2]),
    ns2: Option<&Simulator>,
) -> Result<Document, Failure> {
    let seeds = |own: u64| args.runs.map_or(own, |runs| runs.get());
    let place = |file: &str| Path::new(&cases.dir).join(file).display().to_string();
    let job = |point: &Point, file: &str| {
        Job::new(point.scenario.clone(), place(file), point.set.clone())
    };
    let mut work = Vec::new();
    let (of_cases, of_formulas) = points.split_at(cases.cases.len());
    for (case, points) in cases.cases.iter().zip(of_cases) {
        let theirs = if ns2.is_some() && case.ns2.is_some() { seeds(case.seeds) } else { 0 };
        work.extend(points.iter().enumerate().map(|(at, point)| Work {
            job: job(point, &case.scenario),
            seeds: seeds(case.seeds),
            theirs,
            case: Some((case, at)),
        }));
    }
    for (formula, points) in cases.formulas.iter().zip(of_formulas) {
        work.extend(points.iter().map(|point| Work {
            job: job(point, &formula.scenario),
            seeds: seeds(formula.seeds),
            theirs: 0,
            case: None,
        }));
    }
    #[expect(clippy::disallowed_methods, reason = "timing is of the machine, not of the run")]
    let started = std::time::Instant::now();
    let asked = Asked { jobs: args.jobs, fresh: args.fresh, runs: runs(&work) };
    let ran = runner::with(asked, |runner| simulate(&work, ns2, runner))?;
    let timing = Timing { wall_s: started.elapsed().as_secs_f64(), jobs: asked.jobs() };

    let mut rest: &[Ran] = &ran;
    let mut next = |count: usize| {
        let (these, others) = rest.split_at(count);
        rest = others;
        these
    };
    let results = cases.cases.iter().zip(of_cases).map(|(case, points)| {
        let of = match case.against {
            Against::Ns2 => &stored[0],
            Against::Ns3 => &stored[1],
        };
        let beside = ns2.is_some() && case.ns2.is_some();
        document::case(case, points, next(points.len()), (of, beside), &place(&case.scenario))
    });
    let results = results.collect();
    let formulas = cases
        .formulas
        .iter()
        .zip(of_formulas)
        .map(|(formula, points)| document::formula(formula, points, next(points.len())))
        .collect::<Result<_, _>>()?;
    Ok(Document { version: env!("CARGO_PKG_VERSION"), cases: results, formulas, timing })
}

/// A document as it is printed and kept.
fn json(document: &Document) -> String {
    let text = serde_json::to_string_pretty(document);
    text.expect("a document is plain values with text as keys") + "\n"
}

fn judged(document: &Document) -> Result<(), Failure> {
    let differing: Vec<String> = document.differing().into_iter().map(str::to_owned).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let s = if differing.len() == 1 { "s" } else { "" };
    Err(Failure::Failed(format!("{} differ{s} by more than is allowed", list(&differing))))
}
