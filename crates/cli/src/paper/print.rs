//! Text output of `driftway paper`: a table per figure, a line per statement.

use std::fmt::Write as _;
use std::io::Write as _;

use driftway_sim::results::Estimate;

use super::tables::{
    differences_table, incomplete_note, is_ratios_only, points_table, ratios_summary, ratios_table,
};
use crate::failure::Failure;
use crate::text::{Grid, capitalized, count, mean, value, value_in, wrapped};
use driftway_experiment::study::document::{
    Count, Counts, FigureResult, StatementResult, StudyDocument,
};
use driftway_experiment::study::format::Study;
use driftway_experiment::study::plan::{Plan, PlannedFigure, plan};
use driftway_experiment::study::select::RecordedVerdicts;
use driftway_experiment::study::source::{Source, paper_names};
use driftway_experiment::study::statement::CountedAs;
use driftway_experiment::study::statement::format::{Bound, StatementKind, Verdict};

/// Indentation of the lines below a statement's verdict.
const INDENT: usize = 11;

/// Element of `driftway paper list --json`.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub struct PaperSummary {
    /// Name of the paper, for `driftway paper NAME`.
    name: String,
    /// Its title.
    title: String,
    /// Its figures, as for `--figure`.
    figures: Vec<String>,
    /// Number of its statements.
    statements: usize,
    /// Number of runs of all figures.
    runs: u64,
}

/// Lists the available papers.
///
/// # Errors
/// An invalid paper; the others are listed all the same.
pub fn list_papers(json: bool) -> Result<(), Failure> {
    let (mut listed, mut failed) = (Vec::new(), Vec::new());
    for name in paper_names() {
        match Source::find(&name).and_then(plan) {
            Ok(plan) => listed.push(PaperSummary {
                name,
                title: plan.study.title.clone(),
                figures: plan.figures.iter().map(|of| of.figure.id.clone()).collect(),
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
        writeln!(out, "{}", text.expect("the list can be serialized"))?;
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

/// Title of the study, and publication of the paper.
pub fn heading(study: &Study) -> String {
    let lines = std::iter::once(&study.title).chain(&study.source);
    lines.map(|line| wrapped(line, 2)).collect()
}

/// All figures and statements as text.
pub fn document(plan: &Plan, document: &StudyDocument) -> String {
    let mut text = heading(&plan.study);
    let groups = plan.study.all_groups();
    if groups.len() > 1 {
        for group in &groups {
            text += &wrapped(&format!("{}: {}", group.name, group.label), 2);
        }
    }
    if document.reduced {
        let runs = count(document.seeds.len() as u64, "run");
        let all = plan.study.runs;
        text += &wrapped(&format!("Reduced: {runs} per point instead of {all}."), 0);
    }
    for PlannedFigure { figure, .. } in &plan.figures {
        let measures: Vec<_> = document.measures(&figure.id).collect();
        if measures.is_empty() {
            continue;
        }
        let fewer = measures[0].runs.map(|runs| format!(" ({})", count(runs, "run")));
        let fewer = fewer.unwrap_or_default();
        text += &wrapped(&format!("\nFigure {}: {}{fewer}", figure.id, figure.title), 2);
        if let Some(x) = &figure.x {
            text += &wrapped(&format!("against {}", x.label), 2);
        }
        let ratios = ratios_table(&plan.study, &measures);
        let has_all = ratios.is_some() && is_ratios_only(figure);
        if let Some(grid) = ratios {
            text += &format!("Paired ratios, seed by seed:\n{grid}");
        }
        // The means of many points would hide the ratios; the page and the tables have them.
        if !has_all {
            for measure in measures {
                text += &figure_table(&plan.study, measure);
            }
        }
        text += &figure.note.as_ref().map_or_else(String::new, |note| wrapped(note, 0));
        for statement in document.about(&figure.id) {
            text += &statement_line(statement);
        }
    }
    if let Some(grid) = ratios_summary(&plan.study, document) {
        text += &format!("\n{RATIOS_NOTE}:\n{grid}");
    }
    text += "\n";
    if !document.statements.is_empty() {
        for reading in &document.readings {
            text += &wrapped(&format!("{}: {}", reading.name, reading.label), 2);
        }
        text += &counts_table(&document.counts.iter().collect::<Vec<_>>()).to_string();
        text += &wrapped(COUNTS_NOTE, 0);
    }
    text.extend(summary(document, true).lines().map(|line| wrapped(line, 0)));
    text
}

/// Title of the summary of ratios.
pub const RATIOS_NOTE: &str = "Paired ratios: geometric mean of the points (lowest to highest)";

/// Explanation of the table of counts.
pub const COUNTS_NOTE: &str = "For each reading, how many of the paper's statements agree / differ / are \
    undecided: numbers that it states, and statements about order, trend, band or difference. Capped statements \
    cannot fail, or were fitted, and are not counted. Ours are not in the paper. A statement that a reading does \
    not change is counted once, in the first reading.";

/// Table of the numbers of statements that agree, differ and are undecided, by reading and kind.
pub fn counts_table(counts: &[&Counts]) -> Grid {
    let of = |count: &Count| match count.total() - count.not_run {
        0 => "–".to_owned(),
        _ => format!("{} / {} / {}", count.agree, count.differ, count.undecided),
    };
    let rows = counts.iter().map(|counts| {
        let capped = if counts.capped == 0 { "–".to_owned() } else { counts.capped.to_string() };
        let name = counts.reading.as_deref().unwrap_or("no reading").to_owned();
        vec![name, of(&counts.numbers), of(&counts.orders), capped, of(&counts.ours)]
    });
    let header = ["reading", "numbers", "orders", "capped", "ours"].map(str::to_owned);
    Grid { header: header.to_vec(), rows: rows.collect() }
}

/// Table of the literal reading's score, a row for each kind of statement; `None` without statements.
pub fn literal_score(document: &StudyDocument) -> Option<Grid> {
    let counts = document.counts.first()?;
    let kinds = [("numbers", counts.numbers), ("orders", counts.orders), ("ours", counts.ours)];
    let row = |(name, count): (&str, Count)| {
        let cells = [count.agree, count.differ, count.undecided].map(|count| count.to_string());
        [vec![name.to_owned()], cells.to_vec()].concat()
    };
    let reading =
        counts.reading.as_ref().map_or("statements".to_owned(), |of| format!("reading {of}"));
    let verdicts = Verdict::ALL.map(|verdict| verdict.name().to_owned());
    let run = kinds.into_iter().filter(|(_, count)| count.total() > count.not_run);
    Some(Grid { header: [vec![reading], verdicts.to_vec()].concat(), rows: run.map(row).collect() })
}

/// Table of a figure: the measured arms, and below each the paper's numbers.
fn figure_table(study: &Study, figure: &FigureResult) -> String {
    let mut text = points_table(figure).to_string();
    for line in &figure.lines {
        text += &wrapped(&format!("{}: {}", line.label, value(&figure.y.metric, line.value)), 2);
    }
    text += &incomplete_note(figure).map_or_else(String::new, |late| wrapped(&late, 2));
    // A paper has many arms; their differences are on its page.
    if !study.is_paper()
        && let Some((title, grid)) = differences_table(study, figure)
    {
        text += &format!("{title}:\n{grid}");
    }
    text
}

/// Line of a statement: the paper's value, the measured value, and the verdict.
pub fn statement_line(statement: &StatementResult) -> String {
    let mut text = format!("{:9}  {}: {}", verdict_word(statement), statement.id, statement.says);
    let (said, measured) = (paper_value(statement), measured_value(statement));
    if !said.is_empty() {
        let _ = write!(text, "; paper {said}");
    }
    if !measured.is_empty() {
        let _ = write!(text, "; measured {measured}{}", measured_at(statement));
    }
    if let Some(expected) = statement.expected.filter(|_| statement.is_unexpected()) {
        let _ = write!(text, " (recorded: {})", expected.name());
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
        // One line, so that the command can be copied.
        let _ = writeln!(text, "{:INDENT$}{command}", "");
    }
    text
}

/// The verdict as a word: `agrees`, `differs`, `capped` (not counted), or `not run`.
pub fn verdict_word(statement: &StatementResult) -> &'static str {
    match statement.verdict {
        None => "not run",
        Some(_) if statement.counted == CountedAs::Capped => "capped",
        Some(verdict) => verdict.name(),
    }
}

/// Place on the x axis where the statement was measured: ` at 10 ms`.
pub fn measured_at(statement: &StatementResult) -> String {
    let x = |at| format!(" at {}", value_in(statement.x_unit, at));
    statement.at.map_or_else(String::new, x)
}

/// Formats a value in the unit of a statement, or as a percentage if the paper does.
fn format_value(statement: &StatementResult, number: f64) -> String {
    if statement.is_percent {
        return format!("{} %", value("", number * 100.0));
    }
    value(unit_metric(statement), number)
}

/// Metric whose unit the statement's numbers have.
fn unit_metric(statement: &StatementResult) -> &str {
    if statement.is_ratio { "" } else { &statement.metric }
}

/// The paper's number: `425 s`, `2 to 3`, `at least 500 s`.
pub fn paper_value(statement: &StatementResult) -> String {
    if let Some((low, high)) = statement.band {
        return format!("between {low} and {high}");
    }
    let Some([low, high]) = statement.number else { return String::new() };
    // The paper's own digits, not four significant ones.
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

/// The measured value: `431 ± 3 s`, for a shape with its sign.
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

/// Summary: the number of statements that agree, and the number of runs.
pub fn summary(document: &StudyDocument, timed: bool) -> String {
    let of = |counted: bool, verdict| {
        let counted = document.statements.iter().filter(|s| s.is_counted() == counted);
        counted.filter(|s| s.verdict == verdict).count()
    };
    let [agree, differ, undecided] = [Verdict::Agrees, Verdict::Differs, Verdict::Undecided]
        .map(|of_all| of(true, Some(of_all)));
    let repeated = document.statements.iter().filter(|s| s.same_as.is_some()).count();
    let not_counted: usize = Verdict::ALL.into_iter().map(|verdict| of(false, Some(verdict))).sum();
    let capped = not_counted - repeated;
    let not = of(true, None) + of(false, None);
    let mut text = String::new();
    if !document.statements.is_empty() {
        let statements = capitalized(&count(document.statements.len() as u64, "statement"));
        let _ = write!(text, "{statements}: {agree} agree, {differ} differ, {undecided} undecided");
        if capped > 0 {
            let _ = write!(text, ", {capped} capped");
        }
        if repeated > 0 {
            let _ = write!(text, ", {repeated} repeated");
        }
        if not > 0 {
            let _ = write!(text, ", {not} not run");
        }
        let has_none = document.statements.iter().all(|of| of.expected.is_none());
        let _ = match (document.unexpected().len(), document.recorded) {
            _ if has_none => {
                writeln!(text, "; no verdicts were recorded before: `--record` records them.")
            }
            (_, RecordedVerdicts::None) => {
                writeln!(text, "; no verdicts are recorded for this many runs.")
            }
            (0, _) => writeln!(text, "; every verdict is as recorded."),
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
