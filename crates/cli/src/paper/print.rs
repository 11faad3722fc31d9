//! What came out, for people: a table a figure, a line a statement.

use std::fmt::Write as _;
use std::io::Write as _;

use sim::results::Estimate;

use super::document::{Document, FigureResult, StatementResult};
use super::find::{Source, names};
use super::format::{Bound, Kind, Verdict};
use super::plan::{Plan, plan};
use crate::failure::Failure;
use crate::text::{Grid, Scale, capital, count, mean, mean_in, value};

/// One line of `driftway paper list --json`.
#[derive(serde::Serialize)]
struct Listed {
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
pub fn papers(json: bool) -> Result<(), Failure> {
    let (mut listed, mut failed) = (Vec::new(), Vec::new());
    for name in names() {
        match Source::find(&name).and_then(plan) {
            Ok(plan) => listed.push(Listed {
                name,
                title: plan.paper.title.clone(),
                figures: plan.paper.figures.iter().map(|figure| figure.id.clone()).collect(),
                statements: plan.paper.statements.len(),
                runs: plan.jobs.len() as u64 * plan.paper.runs,
            }),
            Err(Failure::Input(message)) => failed.push(message),
            Err(other) => return Err(other),
        }
    }
    let mut out = anstream::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(&listed);
        writeln!(out, "{}", text.expect("names and numbers"))?;
    } else {
        for paper in &listed {
            writeln!(out, "{}\n  {}", paper.name, paper.title)?;
            let figures = paper.figures.join(", ");
            let statements = count(paper.statements as u64, "statement");
            let runs = count(paper.runs, "run");
            writeln!(out, "  figures {figures}; {statements}; {runs}")?;
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Input(failed.join("\n"))) }
}

/// Everything that a person wants to know at once.
pub fn document(plan: &Plan, document: &Document) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n{}", plan.paper.title, plan.paper.source);
    for figure in &document.figures {
        let _ = write!(text, "\n{}", self::figure(plan, figure));
        for statement in document.statements.iter().filter(|s| s.of == figure.at) {
            text += &line(statement);
        }
    }
    text += "\n";
    text += &summary(document);
    text
}

/// A figure's table: our arms, and below each the paper's numbers.
fn figure(plan: &Plan, figure: &FigureResult) -> String {
    let means = || figure.arms.0.iter().flat_map(|arm| &arm.points).filter_map(|p| p.mean);
    let largest = means().fold(0.0_f64, |a, b| a.max(b.abs()));
    let metric = &figure.y.metric;
    let scale = Scale::of(metric, largest);
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" ({})", scale.unit) };
    let mut header = vec![format!("{}{unit}", figure.y.label)];
    let (number, _) = figure.at;
    let xs = figure.arms.0.first().map_or(&[][..], |arm| &arm.points);
    let x_metric = as_metric(figure.x.as_ref().map_or("", |x| x.unit));
    header.extend(xs.iter().map(|point| match point.x {
        Some(x) => value(x_metric, x),
        None => "mean".to_owned(),
    }));
    let dash = || "–".to_owned();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let group = |arm: usize| &plan.paper.arms[arm].group;
    let several = figure.arms.0.iter().any(|arm| group(arm.arm) != group(figure.arms.0[0].arm));
    let mut last = None;
    for arm in &figure.arms.0 {
        if several && last.replace(group(arm.arm)) != Some(group(arm.arm)) {
            let group = plan.paper.groups.iter().find(|g| g.name == *group(arm.arm));
            let label = group.map_or(String::new(), |group| capital(&group.label) + ":");
            rows.push(std::iter::once(label).chain(xs.iter().map(|_| String::new())).collect());
        }
        let cells = arm.points.iter().map(|point| {
            let estimate = |mean| Estimate { mean, ci90: point.ci90, ci95: None, n: point.n };
            let at_least = if point.incomplete > 0 { "≥ " } else { "" };
            point
                .mean
                .map_or_else(dash, |mean| format!("{at_least}{}", mean_in(scale, &estimate(mean))))
        });
        let label = &plan.paper.arms[arm.arm].label;
        rows.push(std::iter::once(label.clone()).chain(cells).collect());
        for curve in figure.paper.iter().filter(|curve| curve.arm == arm.name) {
            let at = |x: f64| curve.points.iter().find(|(at, _)| (at - x).abs() <= 1e-9 * x.abs());
            let cells = xs.iter().map(|point| {
                let said = match point.x {
                    Some(x) => at(x),
                    None => curve.points.first(),
                };
                said.map_or_else(String::new, |(_, y)| {
                    mean_in(scale, &Estimate { mean: *y, ci90: None, ci95: None, n: 0 })
                })
            });
            rows.push(std::iter::once(format!("  {}", curve.label)).chain(cells).collect());
        }
    }
    let mut text = format!("Figure {}: {}\n", figure.figure, figure.title);
    if let Some(x) = &figure.x {
        let _ = writeln!(text, "against {}", x.label);
    }
    let _ = write!(text, "{}", Grid { header, rows });
    for line in &figure.lines {
        let _ = writeln!(text, "{}: {}", line.label, value(metric, line.value));
    }
    let late: Vec<String> = figure
        .arms
        .0
        .iter()
        .flat_map(|arm| arm.points.iter().map(move |point| (arm, point)))
        .filter(|(_, point)| point.incomplete > 0)
        .map(|(arm, point)| {
            let at = point.x.map_or(String::new(), |x| format!(" at {}", value(x_metric, x)));
            format!("{} of {} of {}{at}", point.incomplete, point.n, arm.name)
        })
        .collect();
    if !late.is_empty() {
        let _ = writeln!(
            text,
            "≥: transfers that did not complete count with the time that they had ({}).",
            late.join("; ")
        );
    }
    if let Some(note) = &plan.paper.figures[number].note {
        let _ = writeln!(text, "{note}");
    }
    text
}

/// A name with the unit's ending, for [`crate::text`].
pub const fn as_metric(unit: &'static str) -> &'static str {
    match unit.as_bytes() {
        b"s" => "_s",
        b"bit/s" => "_bps",
        b"B" => "_bytes",
        _ => "",
    }
}

/// What is said, what was measured, and whether they agree.
pub fn line(statement: &StatementResult) -> String {
    let verdict = match statement.verdict {
        Some(Verdict::Agrees) => "agrees ",
        Some(Verdict::Differs) => "differs",
        None => "not run",
    };
    let mut text = format!("{verdict}  {}: {}", statement.id, statement.says);
    let (said, measured) = (said(statement), measured(statement));
    if !said.is_empty() {
        let _ = write!(text, "; paper {said}");
    }
    if !measured.is_empty() {
        let _ = write!(text, "; measured {measured}");
    }
    if let Some(at) = statement.at {
        let _ = write!(text, " at {}", value(as_metric(statement.x_unit), at));
    }
    if statement.verdict.is_some_and(|found| found != statement.expected) {
        let recorded = match statement.expected {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
        };
        let _ = write!(text, " (recorded: {recorded})");
    }
    text += "\n";
    for note in &statement.notes {
        let _ = writeln!(text, "         {note}");
    }
    if let Some(because) = &statement.because {
        let _ = writeln!(text, "         because {because}");
    }
    if let Some(command) = &statement.shown_by {
        let _ = writeln!(text, "         {command}");
    }
    text
}

/// The metric by whose unit a statement's numbers are told.
fn metric(statement: &StatementResult) -> &str {
    if statement.is_ratio { "" } else { &statement.metric }
}

/// The paper's number: `425 s`, `2 to 3`, `at least 500 s`.
pub fn said(statement: &StatementResult) -> String {
    let Some([low, high]) = statement.number else { return String::new() };
    let end = |end| value(metric(statement), end);
    let bound = match statement.bound {
        Some(Bound::AtLeast) => "at least ",
        Some(Bound::AtMost) => "at most ",
        None => "",
    };
    if low == high {
        format!("{bound}{}", end(low))
    } else {
        format!("{bound}{} to {}", end(low), end(high))
    }
}

/// What was measured: `431 ± 3 s`, for a shape with its sign.
pub fn measured(statement: &StatementResult) -> String {
    let Some(measured) = statement.measured else { return String::new() };
    let estimate = Estimate { mean: measured, ci90: statement.ci90, ci95: None, n: statement.n };
    let text = mean(metric(statement), &estimate);
    match statement.kind {
        Kind::Shape if measured > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// How many agree, and how long it took.
pub fn summary(document: &Document) -> String {
    let of = |verdict| document.statements.iter().filter(|s| s.verdict == verdict).count() as u64;
    let (agree, differ, not) = (of(Some(Verdict::Agrees)), of(Some(Verdict::Differs)), of(None));
    let unexpected = document.unexpected().len();
    let mut text = format!(
        "{}: {agree} agree, {differ} differ",
        capital(&count(document.statements.len() as u64, "statement"))
    );
    if not > 0 {
        let _ = write!(text, ", {not} not run");
    }
    let _ = match (unexpected, document.reduced) {
        (0, _) => writeln!(text, "; each verdict is the recorded one."),
        (n, true) => writeln!(
            text,
            "; {n} not as recorded, which decides nothing: verdicts are recorded for all runs."
        ),
        (n, false) => writeln!(text, "; {n} not as recorded."),
    };
    let timing = &document.timing;
    let _ = writeln!(
        text,
        "{} in {:.1} s, {} at a time. Means over {}, ± half of the 90 % interval (Student's t).",
        count(timing.runs, "run"),
        timing.wall_s,
        timing.jobs,
        count(document.seeds.len() as u64, "seed"),
    );
    text
}
