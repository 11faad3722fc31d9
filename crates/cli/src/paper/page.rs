//! HTML page of a paper: its figures, its statements, and the results.

use askama::Template;

use super::print::{
    COUNTS_NOTE, RATIOS_NOTE, counts_table, measured_at, measured_value, paper_value, summary,
    verdict_word,
};
use super::{draw, tables, traces};
use crate::failure::Failure;
use crate::page::figure::Figure;
use crate::page::{Frame, render};
use crate::text::{Grid, count};
use driftway_experiment::command::shell_quoted;
use driftway_experiment::study::document::{Document, StatementResult};
use driftway_experiment::study::format::{Figure as StudyFigure, Group, Study};
use driftway_experiment::study::plan::Plan;
use driftway_experiment::study::results::Results;
use driftway_experiment::study::select::Selection;
use driftway_experiment::study::statement::CountedAs;
use driftway_experiment::study::statement::format::Verdict;

/// Content of the page, in order.
#[derive(Template)]
#[template(path = "paper.html")]
pub struct Page<'a> {
    frame: Frame<'a>,
    study: &'a Study,
    document: &'a Document,
    /// Authors and publication; empty for a study that does not reproduce a paper.
    source: String,
    /// True if any figure has numbers of the paper.
    has_reported: bool,
    /// Number of runs, and of statements that agree.
    summary: Vec<String>,
    /// Number of statements that agree, per reading.
    counts: Grid,
    /// Explanation of the counts.
    counts_note: &'static str,
    /// Statements that differ.
    differing: Vec<Row<'a>>,
    /// Summary of the paired ratios of all figures.
    ratios_summary: Option<Grid>,
    ratios_note: &'static str,
    sections: Vec<Section<'a>>,
    /// Command that reproduces the results.
    reproduce_command: String,
    /// Directory of the paper's files in commands.
    files: String,
}

/// A figure of the paper.
struct Section<'a> {
    about: &'a StudyFigure,
    /// Groups of its arms.
    groups: Vec<GroupBox<'a>>,
    /// Table of the paired ratios of arms.
    ratios: Option<Grid>,
    /// Tables of metrics that are not plotted.
    tables: Vec<(Grid, Option<(&'static str, Grid)>)>,
    /// Plots, each with the id of its element.
    figures: Vec<(String, Figure)>,
    statements: Vec<Row<'a>>,
    /// The command that runs the first point of each arm.
    commands: Vec<(&'a str, String)>,
}

/// Checkbox that shows or hides a group of arms.
struct GroupBox<'a> {
    name: &'a str,
    label: &'a str,
    /// Initial state.
    shown: bool,
}

/// A statement with its verdict.
#[derive(Clone)]
struct Row<'a> {
    statement: &'a StatementResult,
    paper: String,
    measured: String,
    /// `agrees`, `differs`, `capped` or `not run`.
    verdict: &'static str,
    /// The recorded verdict, if it differs.
    recorded: Option<&'static str>,
}

/// Largest number of arms that are all shown at first; otherwise only the first group is shown.
const MAX_ARMS_SHOWN: usize = 6;

/// Renders the page.
///
/// # Errors
/// A failure to render the template.
pub fn page(
    plan: &Plan,
    selection: &Selection,
    results: &Results,
    document: &Document,
) -> Result<String, Failure> {
    let study = &plan.study;
    let rows: Vec<Row> = document.statements.iter().map(row).collect();
    let figures = study.figures.iter().enumerate();
    let sections = figures
        .filter(|(number, _)| !selection.points[*number].is_empty())
        .map(|(number, figure)| {
            let measures = || document.figures.iter().filter(|of| of.index.0 == number);
            let pictures = traces::figures(plan, selection, &results.traces, number)
                .into_iter()
                .chain(measures().filter(|of| draw::is_drawn(of)).map(|of| draw::figure(plan, of)));
            let planned = &plan.figures[number];
            let first = selection.points[number][0];
            Section {
                about: figure,
                groups: groups(plan, number),
                ratios: tables::ratios_table(plan, &measures().collect::<Vec<_>>()),
                tables: measures()
                    .filter(|of| !draw::is_drawn(of))
                    .map(|of| (tables::points_table(plan, of), tables::differences_table(plan, of)))
                    .collect(),
                figures: pictures
                    .enumerate()
                    .map(|(at, figure)| (format!("plot-{number}-{at}"), figure))
                    .collect(),
                statements: rows
                    .iter()
                    .filter(|row| row.statement.index.0 == number)
                    .cloned()
                    .collect(),
                commands: planned
                    .arms
                    .iter()
                    .zip(&planned.jobs)
                    .map(|(&arm, jobs)| {
                        let runs = selection.seeds.len();
                        let job = &plan.jobs[jobs[first]];
                        let (command, label) = (job.command(), study.arms[arm].label.as_str());
                        let seed = job.first_seed.unwrap_or(study.first_seed);
                        (label, format!("{command} --seed {seed} --runs {runs}"))
                    })
                    .collect(),
            }
        })
        .collect();
    let kind = if study.is_paper() { "a paper, reproduced" } else { "a study" };
    let page = Page {
        frame: Frame::of_paper(&study.title, kind),
        study,
        document,
        source: source(study),
        has_reported: document.figures.iter().any(|f| !f.paper.is_empty() || !f.lines.is_empty()),
        summary: summary(document, false).lines().map(str::to_owned).collect(),
        counts: counts_table(document),
        counts_note: COUNTS_NOTE,
        differing: rows.into_iter().filter(|row| row.differs()).collect(),
        ratios_summary: tables::ratios_summary(plan, document),
        ratios_note: RATIOS_NOTE,
        sections,
        reproduce_command: reproduce_command(plan, selection),
        files: plan.source.command_path(""),
    };
    render(&page)
}

/// Authors and publication of the paper; empty for a study.
pub fn source(study: &Study) -> String {
    study
        .source
        .as_ref()
        .map_or_else(String::new, |source| format!("{}. {source}.", study.authors.join(", ")))
}

/// Groups of a figure's arms. If there are many arms, only the first group is shown at first.
fn groups<'a>(plan: &'a Plan, figure: usize) -> Vec<GroupBox<'a>> {
    let arms = &plan.figures[figure].arms;
    let of = |group: &&Group| arms.iter().any(|&arm| plan.study.arms[arm].group == group.name);
    if plan.study.groups.len() == 1 {
        return Vec::new();
    }
    let groups = plan.study.groups.iter().filter(of);
    let few = arms.len() <= MAX_ARMS_SHOWN;
    let group = |(at, group): (usize, &'a Group)| GroupBox {
        name: &group.name,
        label: &group.label,
        shown: few || at == 0,
    };
    groups.enumerate().map(group).collect()
}

fn row(statement: &StatementResult) -> Row<'_> {
    let counts = statement.counted != CountedAs::Capped;
    let unexpected = counts && statement.verdict.is_some_and(|found| found != statement.expected);
    let recorded = match statement.expected {
        Verdict::Agrees => "agrees",
        Verdict::Differs => "differs",
    };
    Row {
        statement,
        paper: paper_value(statement),
        measured: measured_value(statement) + &measured_at(statement),
        verdict: verdict_word(statement),
        recorded: unexpected.then_some(recorded),
    }
}

/// Command that reproduces the results.
fn reproduce_command(plan: &Plan, selection: &Selection) -> String {
    let verb = if plan.study.is_paper() { "paper" } else { "sweep" };
    let mut command = format!("driftway {verb} {}", shell_quoted(&plan.source.command_argument()));
    let run = selection.points.iter().filter(|points| !points.is_empty()).count();
    if run < plan.figures.len() {
        for (figure, points) in plan.study.figures.iter().zip(&selection.points) {
            if !points.is_empty() {
                command += &format!(" --figure {}", shell_quoted(&figure.id));
            }
        }
    }
    if selection.quick {
        command += " --quick";
    }
    let runs = selection.seeds.len();
    if runs as u64 != plan.study.runs {
        command += &format!(" --runs {runs}");
    }
    command
}

impl Row<'_> {
    fn differs(&self) -> bool {
        self.statement.verdict == Some(Verdict::Differs)
            && self.statement.counted != CountedAs::Capped
    }
    /// CSS class of the verdict.
    fn class(&self) -> String {
        self.verdict.replace(' ', "-")
    }
    /// Number of runs, or pairs of runs, behind the verdict.
    fn runs(&self) -> String {
        if self.statement.n > 0 { count(self.statement.n, "run") } else { String::new() }
    }
}
