//! Comparison of the numbers cited in a paper's texts with their derivations.

pub mod expression;
pub mod format;
pub mod table;
pub mod text;

use driftway_scenario::Scenario;

use super::files::{PAPER_FILE as PAPER, Source};
use super::format::{Measure, Study};
use super::measure::{mean, read_sample};
use super::plan::Plan;
use super::stored_results::{self, StoredResults};
use crate::error::Error;
use crate::runner::{Job, Runner, Task};
pub use format::README;
use format::{CitedPassage, NUMBERS_FILE, NumbersFile};
use text::{AnnotatedPassage, agrees, collapse_whitespace, find_uncited};

/// A cited number.
#[derive(Clone, Debug, PartialEq)]
pub struct CitedNumber {
    /// The passage in which it is cited.
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
    /// Passages that no text contains, and tables that are out of date.
    pub missing: Vec<String>,
    /// Numbers without a derivation: the text, and their context.
    pub uncited: Vec<(&'static str, String)>,
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
    if !source.has_file(NUMBERS_FILE) {
        return Ok(Vec::new());
    }
    let wrong = |what| invalid_numbers(source, what);
    let mut files: Vec<(String, String)> = Vec::new();
    for table in read_numbers_file(source)?.tables {
        if !source.has_file(&table.file) {
            continue;
        }
        let at = match files.iter().position(|(file, _)| *file == table.file) {
            Some(at) => at,
            None => {
                files.push((table.file.clone(), source.read_file(&table.file)?));
                files.len() - 1
            }
        };
        files[at].1 = table.insert_into(&files[at].1, &plan.study, kept).map_err(wrong)?;
    }
    Ok(files)
}

fn invalid_numbers(source: &Source, what: String) -> Error {
    Error::refused(format!("{}: {what}", source.display_path(NUMBERS_FILE)))
}

fn read_numbers_file(source: &Source) -> Result<NumbersFile, Error> {
    Ok(driftway_scenario::TomlFile::parse(
        &source.display_path(NUMBERS_FILE),
        source.read_file(NUMBERS_FILE)?,
    )?
    .read()?)
}

/// Checks all numbers of a paper; `shell` runs a command and returns its output.
///
/// # Errors
///
/// An invalid file, or a failed run.
pub fn check(
    plan: &Plan,
    runner: &Runner<'_>,
    shell: impl Fn(&str) -> Result<String, String>,
) -> Result<CitationReport, Error> {
    let source = &plan.source;
    for (file, help) in [
        (NUMBERS_FILE, "it lists the numbers that README.md and the causes in paper.toml cite"),
        (stored_results::RESULTS_FILE, "`driftway paper NAME --record` writes it"),
    ] {
        if !source.has_file(file) {
            let message = format!("{}: there is no such file", source.display_path(file));
            return Err(Error::refused_with(message, help.to_owned()));
        }
    }
    let numbers = read_numbers_file(source)?;
    let kept = read_stored_results(source)?;
    let prose = if source.has_file(README) { source.read_file(README)? } else { String::new() };
    let texts =
        [(README, collapse_whitespace(&table::prose(&prose))), (PAPER, cause_texts(&plan.study))];
    let mut checked = CitationReport::default();
    let mut known: Vec<String> =
        numbers.given.iter().map(|passage| collapse_whitespace(passage)).collect();
    for (at, passage) in known.iter().enumerate() {
        if !texts.iter().any(|(_, text)| text.contains(passage.as_str())) {
            checked.missing.push(format!("given, number {}: “{passage}” is in no text", at + 1));
        }
    }
    for cited in &numbers.cited {
        let passage = AnnotatedPassage::parse(&cited.text);
        let passage = passage.map_err(|what| invalid_numbers(source, what))?;
        if !texts.iter().any(|(_, text)| text.contains(&passage.text)) {
            checked.missing.push(format!("“{}” is in no text", passage.text));
        }
        let found = derive_numbers(plan, &kept, runner, &shell, cited, passage.numbers.len())?;
        for (number, (value, derivation)) in passage.numbers.iter().zip(found) {
            let (passage, cited) = (passage.text.clone(), number.clone());
            checked.numbers.push(CitedNumber { passage, cited, value, derivation });
        }
        known.push(passage.text);
    }
    for (file, right) in tables(plan, &kept)? {
        if source.read_file(&file)? != right {
            let text =
                format!("the tables of {file} differ from the recorded results: use --record");
            checked.missing.push(text);
        }
    }
    for (name, text) in &texts {
        checked
            .uncited
            .extend(find_uncited(text, &known).into_iter().map(|around| (*name, around)));
    }
    Ok(checked)
}

/// A number, or the reason why there is none, and its derivation.
type Derived = (Result<f64, String>, String);

/// Derives the `count` numbers of a passage.
fn derive_numbers(
    plan: &Plan,
    kept: &StoredResults,
    runner: &Runner<'_>,
    shell: &impl Fn(&str) -> Result<String, String>,
    cited: &CitedPassage,
    count: usize,
) -> Result<Vec<Derived>, Error> {
    if let Some(command) = &cited.command {
        let numbers = shell(command).and_then(|text| {
            let numbers: Option<Vec<f64>> =
                text.split_whitespace().map(|n| n.parse().ok()).collect();
            let numbers = numbers.filter(|numbers| numbers.len() == count);
            numbers.ok_or_else(|| {
                format!("it prints “{}” instead of {count} numbers", collapse_whitespace(&text))
            })
        });
        let each = |at: usize| numbers.as_ref().map(|of| of[at]).map_err(Clone::clone);
        return Ok((0..count).map(|at| (each(at), command.clone())).collect());
    }
    if cited.gives.len() != count {
        let given = cited.gives.len();
        let what = format!(
            "“{}” has {count} numbers, and `gives` {given}",
            collapse_whitespace(&cited.text)
        );
        return Err(invalid_numbers(&plan.source, what));
    }
    let Some(file) = &cited.run else {
        let each = |text: &String| (expression::evaluate(text, &plan.study, kept), text.clone());
        return Ok(cited.gives.iter().map(each).collect());
    };
    let set: Vec<_> = cited.set.iter().map(|(key, value)| (key.clone(), value.0.clone())).collect();
    let scenario =
        Scenario::parse(&plan.source.display_path(file), &plan.source.read_file(file)?, &set)?;
    let job = Job::new(scenario, plan.source.command_path(file), set);
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
    Ok(cited.gives.iter().map(each).collect())
}

/// The causes of disagreements and open questions in a study's file, as one text.
fn cause_texts(study: &Study) -> String {
    let placed = study.statements.iter().flat_map(|statement| &statement.because.0);
    let numbers = placed.filter_map(|placed| placed.numbers.as_deref());
    let causes = study.causes.values().map(|cause| cause.text.as_str()).chain(numbers);
    let open = study.open.iter().map(|open| open.because.as_str());
    collapse_whitespace(&causes.chain(open).collect::<Vec<_>>().join("\n"))
}
