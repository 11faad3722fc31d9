//! Comparison of the numbers cited in a paper's texts with their sources.

pub mod expression;
mod passage;
mod sources;
mod table;
pub mod text;

use driftway_scenario::Scenario;

use super::files::{PAPER_FILE, Source};
use super::format::{Measure, Study};
use super::measure::{mean, read_sample};
use super::plan::Plan;
use super::stored_results::{self, StoredResults};
use crate::error::Error;
use crate::runner::{Job, Runner, Task};
use sources::{Derivation, DerivedNumbers, Sources};
use text::{agrees, collapse_whitespace, numbers_in};

/// The prose that accompanies a paper's file.
pub const README: &str = "README.md";

/// The page with tables of several papers. Papers outside of a repository have none.
const SHARED_PAGE: &str = "../../docs/papers.md";

/// A cited number.
#[derive(Clone, Debug, PartialEq)]
pub struct CitedNumber {
    /// The words around it.
    pub passage: String,
    /// The number as written.
    pub cited: String,
    /// The derived value, or the reason why there is none.
    pub value: Result<f64, String>,
    /// The derivation.
    pub derivation: String,
}

impl CitedNumber {
    /// Returns whether both agree to the digits that are cited.
    pub fn agrees(&self) -> bool {
        self.value.as_ref().is_ok_and(|found| agrees(&self.cited, *found))
    }
}

/// Result of the check of a paper's numbers.
#[derive(Clone, Debug, Default)]
pub struct CitationReport {
    /// All cited numbers.
    pub numbers: Vec<CitedNumber>,
    /// Sources of numbers that the text does not have, and tables that are out of date.
    pub missing: Vec<String>,
    /// Numbers without a source: the text, and their context.
    pub uncited: Vec<(String, String)>,
}

impl CitationReport {
    /// Returns whether there are no differences.
    pub fn is_consistent(&self) -> bool {
        self.missing.is_empty()
            && self.uncited.is_empty()
            && self.numbers.iter().all(CitedNumber::agrees)
    }
}

/// Reads the recorded results of a study.
///
/// # Errors
///
/// The file is missing or invalid.
pub fn read_stored_results(source: &Source) -> Result<StoredResults, Error> {
    StoredResults::read(
        &source.display_path(stored_results::RESULTS_FILE),
        &source.read_file(stored_results::RESULTS_FILE)?,
    )
}

/// The files with tables of a paper's results, updated to the results `kept`. Missing files are
/// omitted: the files of a built-in paper are not part of a repository.
///
/// # Errors
///
/// A table cannot be generated.
pub fn tables(plan: &Plan, kept: &StoredResults) -> Result<Vec<(String, String)>, Error> {
    let source = &plan.source;
    let mut files = Vec::new();
    for (file, name) in [(README, ""), (SHARED_PAGE, source.name.as_str())] {
        if source.has_file(file) {
            let text = source.read_file(file)?;
            let updated = table::update_tables(&text, name, &plan.study, kept);
            let updated = updated.map_err(|(line, what)| {
                Error::refused(format!("{}:{line}: {what}", source.display_path(file)))
            })?;
            files.push((file.to_owned(), updated));
        }
    }
    Ok(files)
}

/// A text with numbers.
struct Text {
    /// Its place.
    place: String,
    text: String,
    /// The block with its sources.
    sources: String,
}

/// Checks all numbers of a paper; `shell` runs a command and returns its output.
///
/// # Errors
///
/// Invalid sources, no recorded results, or a failed run.
pub fn check(
    plan: &Plan,
    runner: &Runner<'_>,
    shell: impl Fn(&str) -> Result<String, String>,
) -> Result<CitationReport, Error> {
    let source = &plan.source;
    if !source.has_file(stored_results::RESULTS_FILE) {
        let file = source.display_path(stored_results::RESULTS_FILE);
        let help = "`driftway paper NAME --record` writes it".to_owned();
        return Err(Error::refused_with(format!("{file}: there is no such file"), help));
    }
    let kept = read_stored_results(source)?;
    let mut texts = readme_texts(source)?;
    texts.extend(paper_texts(source, &plan.study));
    let mut checked = CitationReport::default();
    for Text { place, text, sources } in texts {
        let invalid = |what| Error::refused(format!("{place}: {what}"));
        let sources = Sources::parse(&sources).map_err(invalid)?;
        let occurrences = numbers_in(&text);
        let found = sources.attribute(&occurrences);
        for number in found.missing {
            checked.missing.push(format!("{place}: {number} is not in the text at its place"));
        }
        let uncited = found.uncited.iter().map(|of| (place.clone(), of.context.clone()));
        checked.uncited.extend(uncited);
        let mut contexts = found.derived.iter().map(|of| of.context.as_str());
        for numbers in &sources.derived {
            for (cited, (value, derivation)) in
                numbers.numbers.iter().zip(derive_numbers(plan, &kept, runner, &shell, numbers)?)
            {
                let passage = contexts.next().unwrap_or_default().to_owned();
                let cited = cited.clone();
                checked.numbers.push(CitedNumber { passage, cited, value, derivation });
            }
        }
    }
    for (file, right) in tables(plan, &kept)? {
        if source.read_file(&file)? != right {
            let text =
                format!("the tables of {file} differ from the recorded results: use --record");
            checked.missing.push(text);
        }
    }
    Ok(checked)
}

/// A number, or the reason why there is none, and its derivation.
type Derived = (Result<f64, String>, String);

fn derive_numbers(
    plan: &Plan,
    kept: &StoredResults,
    runner: &Runner<'_>,
    shell: &impl Fn(&str) -> Result<String, String>,
    of: &DerivedNumbers,
) -> Result<Vec<Derived>, Error> {
    let count = of.numbers.len();
    match &of.derivation {
        Derivation::Expression(text) => {
            Ok(vec![(expression::evaluate(text, &plan.study, kept), text.clone())])
        }
        Derivation::Command(command) => {
            let numbers = shell(command).and_then(|text| {
                let numbers: Option<Vec<f64>> =
                    text.split_whitespace().map(|n| n.parse().ok()).collect();
                let numbers = numbers.filter(|numbers| numbers.len() == count);
                numbers.ok_or_else(|| {
                    format!("it prints “{}” instead of {count} numbers", collapse_whitespace(&text))
                })
            });
            let each = |at: usize| numbers.as_ref().map(|of| of[at]).map_err(Clone::clone);
            Ok((0..count).map(|at| (each(at), command.clone())).collect())
        }
        Derivation::Runs { metrics, file, set } => {
            let set: Vec<_> =
                set.iter().map(|(key, value)| (key.clone(), value.0.clone())).collect();
            run_scenario(plan, runner, metrics, file, set)
        }
    }
}

/// The means of `metrics` over as many runs as the figures have.
fn run_scenario(
    plan: &Plan,
    runner: &Runner<'_>,
    metrics: &[String],
    file: &str,
    set: Vec<(String, String)>,
) -> Result<Vec<Derived>, Error> {
    let source = &plan.source;
    let scenario = Scenario::parse(&source.display_path(file), &source.read_file(file)?, &set)?;
    let job = Job::new(scenario, source.command_path(file), set);
    let seeds = (0..plan.study.runs).map(|at| plan.study.first_seed + at);
    let tasks: Vec<Task<'_>> = seeds.map(|seed| Task { job: &job, seed, step: None }).collect();
    let records = runner.run(&tasks)?;
    let each = |metric: &String| {
        let measure = Measure { metric: metric.clone(), ..Measure::default() };
        let samples: Vec<_> =
            records.iter().map(|of| read_sample(&measure, &job.scenario, &of.result)).collect();
        let mean = mean(&samples).ok_or_else(|| format!("there is no `{metric}`"));
        let by = format!("{metric}: {} --runs {}", job.command(), plan.study.runs);
        (mean.map(|of| of.mean), by)
    };
    Ok(metrics.iter().map(each).collect())
}

/// The texts of the README.
fn readme_texts(source: &Source) -> Result<Vec<Text>, Error> {
    if !source.has_file(README) {
        return Ok(Vec::new());
    }
    let of = |passage: passage::Passage| Text {
        place: format!("{}:{}", source.display_path(README), passage.line),
        text: passage.text,
        sources: passage.sources,
    };
    Ok(passage::passages(&source.read_file(README)?).into_iter().map(of).collect())
}

/// The causes of disagreements, with the numbers of their places, and the open questions.
fn paper_texts(source: &Source, study: &Study) -> Vec<Text> {
    let file = source.display_path(PAPER_FILE);
    let text = |what: String, text: &str, sources: &Option<String>| Text {
        place: format!("{file}: {what}"),
        text: text.to_owned(),
        sources: sources.clone().unwrap_or_default(),
    };
    let causes = study.causes.iter();
    let mut all: Vec<_> = causes
        .map(|(name, cause)| text(format!("cause `{name}`"), &cause.text, &cause.sources))
        .collect();
    for statement in &study.statements {
        for placed in &statement.because.0 {
            if let Some(numbers) = &placed.numbers {
                let what = format!("statement `{}`", statement.id);
                all.push(text(what, numbers, &placed.sources));
            }
        }
    }
    let open = study.open.iter();
    let open = open.map(|of| text(format!("open, “{}”", of.what), &of.because, &of.sources));
    all.extend(open);
    all
}
