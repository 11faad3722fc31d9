//! Statements for a page: a row each, with the readings side by side, and those that differ by their cause.

use std::borrow::Cow;

use super::print::{measured_at, measured_value, paper_value, verdict_word};
use crate::text::count;
use driftway_experiment::study::document::StatementResult;
use driftway_experiment::study::statement::format::Verdict;

/// A statement about a figure, in all readings in which it is judged.
pub struct StatementRow<'a> {
    /// Its name without that of the reading.
    pub id: String,
    pub figure: &'a str,
    pub says: &'a str,
    /// The paper's value.
    pub paper: String,
    /// Reason why it is not counted.
    pub capped: Option<&'a str>,
    pub readings: Vec<ReadingCell<'a>>,
}

/// The result of a statement in one reading.
pub struct ReadingCell<'a> {
    /// Name of the reading; empty for a statement outside all readings.
    pub reading: &'a str,
    pub measured: String,
    /// Number of runs, or of pairs of runs, behind the verdict.
    pub runs: String,
    /// `agrees`, `differs`, `undecided`, `capped` or `not run`.
    pub verdict: &'static str,
    /// The recorded verdict, if it differs.
    pub recorded: Option<&'static str>,
    pub notes: &'a [String],
}

impl ReadingCell<'_> {
    /// CSS class of the verdict.
    pub fn class(&self) -> Cow<'static, str> {
        match self.verdict {
            "not run" => Cow::Borrowed("not-run"),
            word => Cow::Borrowed(word),
        }
    }
}

/// A cause, and the statements that differ for it.
pub struct CauseGroup<'a> {
    /// Name of the cause.
    pub name: &'a str,
    /// The cause in words.
    pub text: &'a str,
    /// The command that shows it at the first of its statements.
    pub command: &'a str,
    pub rows: Vec<StatementRow<'a>>,
}

/// The rows of these statements, which are in the order of the document.
pub fn rows<'a>(statements: impl Iterator<Item = &'a StatementResult>) -> Vec<StatementRow<'a>> {
    let mut rows: Vec<StatementRow<'a>> = Vec::new();
    for statement in statements {
        let id = base_id(statement);
        let cell = cell(statement);
        match rows.last_mut().filter(|row| row.id == id) {
            Some(row) => row.readings.push(cell),
            None => rows.push(StatementRow {
                id: id.to_owned(),
                figure: &statement.figure,
                says: &statement.says,
                paper: paper_value(statement),
                capped: statement.capped.as_deref(),
                readings: vec![cell],
            }),
        }
    }
    rows
}

/// The statements that differ, by their causes; those without a known cause come last, with an empty name.
pub fn causes(statements: &[StatementResult]) -> Vec<CauseGroup<'_>> {
    let differs = |of: &&StatementResult| of.verdict == Some(Verdict::Differs) && of.is_counted();
    let mut groups: Vec<CauseGroup<'_>> = Vec::new();
    for statement in statements.iter().filter(differs) {
        let name = statement.cause.as_deref().unwrap_or_default();
        let at = match groups.iter().position(|group| group.name == name) {
            Some(at) => at,
            None => {
                groups.push(CauseGroup {
                    name,
                    text: statement.because.as_deref().unwrap_or_default(),
                    command: statement.shown_by.as_deref().unwrap_or_default(),
                    rows: Vec::new(),
                });
                groups.len() - 1
            }
        };
        let id = base_id(statement);
        if !groups[at].rows.iter().any(|row| row.id == id) {
            let all = statements.iter().filter(|of| base_id(of) == id);
            groups[at].rows.extend(rows(all));
        }
    }
    groups.sort_by_key(|group| group.name.is_empty());
    groups
}

/// The name of a statement without that of its reading.
fn base_id(statement: &StatementResult) -> &str {
    let reading = statement.reading.as_deref().unwrap_or_default();
    let id = statement.id.strip_suffix(reading).and_then(|id| id.strip_suffix('-'));
    id.unwrap_or(&statement.id)
}

fn cell(statement: &StatementResult) -> ReadingCell<'_> {
    let n = statement.n;
    ReadingCell {
        reading: statement.reading.as_deref().unwrap_or_default(),
        measured: measured_value(statement) + &measured_at(statement) + &repeated(statement),
        runs: if n > 0 { count(n, "run") } else { String::new() },
        verdict: verdict_word(statement),
        recorded: statement.expected.filter(|_| statement.is_unexpected()).map(Verdict::name),
        notes: &statement.notes,
    }
}

/// The earlier reading with the same runs, in words.
fn repeated(statement: &StatementResult) -> String {
    let reading = statement.same_as.as_deref();
    reading.map_or_else(String::new, |reading| format!(" (runs of {reading}, not counted)"))
}
