//! What came out, for people: a table a figure, a line a statement.

use std::fmt::Write as _;
use std::io::Write as _;

use driftway_sim::results::Estimate;

use super::tables::{differences_table, incomplete_note, points_table, unit_suffix};
use crate::failure::Failure;
use crate::text::{Grid, capitalized, count, mean, value, wrapped};
use driftway_experiment::study::document::{Count, Document, FigureResult, StatementResult};
use driftway_experiment::study::format::Study;
use driftway_experiment::study::plan::{Plan, plan};
use driftway_experiment::study::select::RecordedVerdicts;
use driftway_experiment::study::source::{Source, paper_names};
use driftway_experiment::study::statement::CountedAs;
use driftway_experiment::study::statement::format::{Bound, StatementKind, Verdict};

/// How far what belongs to a statement is indented: below its verdict.
const INDENT: usize = 9;

/// One line of `driftway paper list --json`.
#[derive(serde::Serialize)]
struct PaperSummary {
    name: String,
    title: String,
    figures: Vec<String>,
    statements: usize,
    runs: u64,
}

/// Lists what papers there are.
///
/// # Errors
/// One of them has a mistake; the others are listed all the same.
pub fn list_papers(json: bool) -> Result<(), Failure> {
    let (mut listed, mut failed) = (Vec::new(), Vec::new());
    for name in paper_names() {
        match Source::find(&name).and_then(plan) {
            Ok(plan) => listed.push(PaperSummary {
                name,
                title: plan.study.title.clone(),
                figures: plan.study.figures.iter().map(|figure| figure.id.clone()).collect(),
                statements: plan.statements.len(),
                runs: plan.jobs.len() as u64 * plan.study.runs,
            }),
            Err(error) if error.is_input() => failed.push(error.to_string()),
            Err(other) => return Err(other.into()),
        }
    }
    let mut out = anstream::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(&listed);
        writeln!(out, "{}", text.expect("names and numbers"))?;
    } else {
        for paper in &listed {
            writeln!(out, "{}", paper.name)?;
            write!(out, "{}", wrapped(&format!("  {}", paper.title), 4))?;
            let figures = paper.figures.join(", ");
            let statements = count(paper.statements as u64, "statement");
            let runs = count(paper.runs, "run");
            let line = format!("  figures {figures}; {statements}; {runs}");
            write!(out, "{}", wrapped(&line, 4))?;
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Input(failed.join("\n"))) }
}

/// What it is, and of a paper where it was published.
pub fn heading(study: &Study) -> String {
    let lines = std::iter::once(&study.title).chain(&study.source);
    lines.map(|line| wrapped(line, 2)).collect()
}

/// Everything that a person wants to know at once.
pub fn document(plan: &Plan, document: &Document) -> String {
    let mut text = heading(&plan.study);
    if plan.study.groups.len() > 1 {
        for group in &plan.study.groups {
            text += &wrapped(&format!("{}: {}", group.name, group.label), 2);
        }
    }
    if document.reduced {
        let runs = count(document.seeds.len() as u64, "run");
        let all = plan.study.runs;
        text += &wrapped(&format!("A part of it: {runs} a point, where all are {all}."), 0);
    }
    for (number, figure) in plan.study.figures.iter().enumerate() {
        let measures: Vec<_> = document.figures.iter().filter(|of| of.index.0 == number).collect();
        if measures.is_empty() {
            continue;
        }
        text += &wrapped(&format!("\nFigure {}: {}", figure.id, figure.title), 2);
        if let Some(x) = &figure.x {
            text += &wrapped(&format!("against {}", x.label), 2);
        }
        for measure in measures {
            text += &figure_table(plan, measure);
        }
        text += &figure.note.as_ref().map_or_else(String::new, |note| wrapped(note, 0));
        for statement in document.statements.iter().filter(|s| s.index.0 == number) {
            text += &statement_line(statement);
        }
    }
    text += "\n";
    if !document.statements.is_empty() {
        for reading in &document.readings {
            text += &wrapped(&format!("{}: {}", reading.name, reading.label), 2);
        }
        text += &counts_table(document).to_string();
        text += &wrapped(COUNTS_NOTE, 0);
    }
    text.extend(summary(document, true).lines().map(|line| wrapped(line, 0)));
    text
}

/// What the counts are of.
pub const COUNTS_NOTE: &str = "Of each reading, how many of the paper's statements agree: numbers that it \
    states, and what it says of order, trend, band or difference. Capped is what no aid could break: it is \
    not counted. Ours is beyond the paper.";

/// How many statements of each reading agree, by what they are.
pub fn counts_table(document: &Document) -> Grid {
    let of = |count: &Count| match (count.agree, count.total() - count.not_run) {
        (_, 0) => "–".to_owned(),
        (agree, all) => format!("{agree} of {all}"),
    };
    let rows = document.counts.iter().map(|counts| {
        let capped = if counts.capped == 0 { "–".to_owned() } else { counts.capped.to_string() };
        let name = counts.reading.as_deref().unwrap_or("no reading").to_owned();
        vec![name, of(&counts.numbers), of(&counts.orders), capped, of(&counts.ours)]
    });
    let header = ["reading", "numbers", "orders", "capped", "ours"].map(str::to_owned);
    Grid { header: header.to_vec(), rows: rows.collect() }
}

/// A figure's table: our arms, and below each the paper's numbers.
fn figure_table(plan: &Plan, figure: &FigureResult) -> String {
    let mut text = points_table(plan, figure).to_string();
    for line in &figure.lines {
        text += &wrapped(&format!("{}: {}", line.label, value(&figure.y.metric, line.value)), 2);
    }
    text += &incomplete_note(plan, figure).map_or_else(String::new, |late| wrapped(&late, 2));
    // A paper's arms are many, and their differences stand on its page.
    if !plan.study.is_paper()
        && let Some((title, grid)) = differences_table(plan, figure)
    {
        text += &format!("{title}:\n{grid}");
    }
    text
}

/// What is said, what was measured, and whether they agree.
pub fn statement_line(statement: &StatementResult) -> String {
    let mut text = format!("{:7}  {}: {}", verdict_word(statement), statement.id, statement.says);
    let (said, measured) = (paper_value(statement), measured_value(statement));
    if !said.is_empty() {
        let _ = write!(text, "; paper {said}");
    }
    if !measured.is_empty() {
        let _ = write!(text, "; measured {measured}{}", measured_at(statement));
    }
    if statement.counted != CountedAs::Capped
        && statement.verdict.is_some_and(|found| found != statement.expected)
    {
        let recorded = match statement.expected {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
        };
        let _ = write!(text, " (recorded: {recorded})");
    }
    let mut text = wrapped(&text, INDENT);
    let indented = |more: &str| wrapped(&format!("{:INDENT$}{more}", ""), INDENT);
    for note in &statement.notes {
        text += &indented(note);
    }
    if let Some(capped) = &statement.capped {
        text += &indented(&format!("not counted: {capped}"));
    }
    if let Some(because) = &statement.because {
        text += &indented(&format!("cause: {because}"));
    }
    if let Some(command) = &statement.shown_by {
        // A command is copied: it stays on one line.
        let _ = writeln!(text, "{:INDENT$}{command}", "");
    }
    text
}

/// How it ends: `agrees`, `differs`, `capped` where neither is counted, or `not run`.
pub fn verdict_word(statement: &StatementResult) -> &'static str {
    match statement.verdict {
        None => "not run",
        Some(_) if statement.counted == CountedAs::Capped => "capped",
        Some(Verdict::Agrees) => "agrees",
        Some(Verdict::Differs) => "differs",
    }
}

/// Where it was measured: ` at 10 ms`.
pub fn measured_at(statement: &StatementResult) -> String {
    let x = |at| format!(" at {}", value(unit_suffix(statement.x_unit), at));
    statement.at.map_or_else(String::new, x)
}

/// A value in the unit of a statement: percentages where the paper has them.
fn format_value(statement: &StatementResult, number: f64) -> String {
    if statement.is_percent {
        return format!("{} %", value("", number * 100.0));
    }
    value(unit_metric(statement), number)
}

/// The metric by whose unit a statement's numbers are told.
fn unit_metric(statement: &StatementResult) -> &str {
    if statement.is_ratio { "" } else { &statement.metric }
}

/// The paper's number: `425 s`, `2 to 3`, `at least 500 s`.
pub fn paper_value(statement: &StatementResult) -> String {
    if let Some((low, high)) = statement.band {
        return format!("between {low} and {high}");
    }
    let Some([low, high]) = statement.number else { return String::new() };
    // A paper has as many digits as it has, and not four.
    let end = |end: f64| {
        let text = format_value(statement, end);
        let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
        let short = match number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => number,
        };
        format!("{short} {unit}").trim_end().to_owned()
    };
    let bound = match statement.bound {
        Some(Bound::AtLeast) => "at least ",
        Some(Bound::AtMost) => "at most ",
        None => "",
    };
    let (low, high) = (end(low), end(high));
    if low == high { format!("{bound}{low}") } else { format!("{bound}{low} to {high}") }
}

/// What was measured: `431 ± 3 s`, for a shape with its sign.
pub fn measured_value(statement: &StatementResult) -> String {
    let Some(measured) = statement.measured else { return String::new() };
    let factor = if statement.is_percent { 100.0 } else { 1.0 };
    let ci90 = statement.ci90.map(|ends| ends.map(|end| end * factor));
    let estimate = Estimate { mean: measured * factor, ci90, ci95: None, n: statement.n };
    let text = match statement.is_percent {
        true => mean("", &estimate) + " %",
        false => mean(unit_metric(statement), &estimate),
    };
    match statement.kind {
        StatementKind::Shape if measured > 0.0 && statement.band.is_none() => format!("+{text}"),
        _ => text,
    }
}

/// How many agree, of how many runs.
pub fn summary(document: &Document, timed: bool) -> String {
    let of = |counted: bool, verdict| {
        let counted =
            document.statements.iter().filter(|s| (s.counted != CountedAs::Capped) == counted);
        counted.filter(|s| s.verdict == verdict).count()
    };
    let (agrees, differs) = (Some(Verdict::Agrees), Some(Verdict::Differs));
    let (agree, differ) = (of(true, agrees), of(true, differs));
    let capped = of(false, agrees) + of(false, differs);
    let not = of(true, None) + of(false, None);
    let mut text = String::new();
    if !document.statements.is_empty() {
        let statements = capitalized(&count(document.statements.len() as u64, "statement"));
        let _ = write!(text, "{statements}: {agree} agree, {differ} differ");
        if capped > 0 {
            let _ = write!(text, ", {capped} capped");
        }
        if not > 0 {
            let _ = write!(text, ", {not} not run");
        }
        let _ = match (document.unexpected().len(), document.recorded) {
            (_, RecordedVerdicts::None) => {
                writeln!(text, "; for so many runs no verdict is recorded.")
            }
            (0, _) => writeln!(text, "; each verdict is the recorded one."),
            (n, _) => writeln!(text, "; {n} not as recorded."),
        };
    }
    let timing = &document.timing;
    let took = match timed {
        true => format!(" in {:.1} s, {} at a time", timing.wall_s, timing.jobs),
        false => String::new(),
    };
    let _ = writeln!(
        text,
        "{}{took}. Means over {}, ± half of the 90 % interval (Student's t).",
        count(timing.runs, "run"),
        count(document.seeds.len() as u64, "seed"),
    );
    text
}
