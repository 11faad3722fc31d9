//! HTML page of a paper: its figures, its statements, and the results.

use askama::Template;

use super::print::{COUNTS_NOTE, RATIOS_NOTE, counts_table, literal_score, summary};
use super::statement_rows::{CauseGroup, StatementRow, causes, rows};
use super::summary_lines::{SummaryLine, summary_lines};
use super::{draw, tables, traces};
use crate::failure::Failure;
use crate::page::figure::Figure;
use crate::page::{Frame, render};
use crate::text::Grid;
use driftway_experiment::command::shell_quoted;
use driftway_experiment::study::citations::README;
use driftway_experiment::study::document::{Counts, FigureResult, StudyDocument};
use driftway_experiment::study::format::{Figure as StudyFigure, Group, Study};
use driftway_experiment::study::outcome::StudyOutcome;
use driftway_experiment::study::plan::{Plan, PlannedArm, PlannedFigure};
use driftway_experiment::study::select::Selection;

/// Content of the page, in order.
#[derive(Template)]
#[template(path = "paper.html")]
pub struct Page<'a> {
    frame: Frame<'a>,
    study: &'a Study,
    document: &'a StudyDocument,
    /// Authors and publication; empty for a study that does not reproduce a paper.
    source: String,
    /// True if any figure has numbers of the paper.
    has_reported: bool,
    /// The lines with which the paper's README begins.
    lines: Vec<SummaryLine>,
    /// Number of runs, and of statements that agree.
    summary: Vec<String>,
    /// The literal reading's score by kind.
    score: Option<Grid>,
    /// Numbers of statements by verdict, per reading of the paper, and per variant of ours.
    counts: Grid,
    variants: Option<Grid>,
    /// Explanation of the counts.
    counts_note: &'static str,
    /// Statements that differ, by cause.
    causes: Vec<CauseGroup<'a>>,
    /// Summary of the paired ratios of all figures.
    ratios_summary: Option<Grid>,
    ratios_note: &'static str,
    /// The deciding figure, the other ones of the paper, and those that are not the paper's.
    deciding: Option<Section<'a>>,
    sections: Vec<Section<'a>>,
    own_sections: Vec<Section<'a>>,
    /// Command that reproduces the results.
    reproduce_command: String,
    /// Directory of the paper's files in commands.
    files: String,
}

/// A figure of the paper.
struct Section<'a> {
    about: &'a StudyFigure,
    /// Groups of its arms.
    groups: Vec<GroupBox>,
    /// Table of the paired ratios of arms.
    ratios: Option<Grid>,
    /// Tables of metrics that are not plotted.
    tables: Vec<(Grid, Option<(&'static str, Grid)>)>,
    /// Plots, each with the id of its element.
    figures: Vec<(String, Figure)>,
    statements: Vec<StatementRow<'a>>,
    /// The number of runs, if it is less than the study's.
    fewer_runs: Option<u64>,
    /// The command that runs the first point of each arm.
    commands: Vec<(&'a str, String)>,
}

/// Checkbox that shows or hides a group of arms.
struct GroupBox {
    name: String,
    label: String,
    /// Initial state.
    shown: bool,
}

/// Largest number of arms that are all shown at first; otherwise only the first group is shown.
const MAX_ARMS_SHOWN: usize = 6;

/// Renders the page.
///
/// # Errors
/// A failure to render the template.
pub fn page(outcome: &StudyOutcome<'_>, document: &StudyDocument) -> Result<String, Failure> {
    let StudyOutcome { plan, selection, .. } = outcome;
    let study = &plan.study;
    let run = plan.figures.iter().enumerate();
    let run = run.filter(|(_, planned)| !selection.points(planned).is_empty());
    let sections = run.map(|(number, planned)| section(outcome, document, number, planned));
    let (own_sections, mut sections): (Vec<_>, Vec<_>) =
        sections.partition(|section| section.about.ours);
    let deciding = deciding(study, &sections).map(|at| sections.remove(at));
    let has_readme = study.is_paper() && plan.source.has_file(README);
    let readme = if has_readme { plan.source.read_file(README)? } else { String::new() };
    let is_ours = |of: &&Counts| {
        let mut readings = document.readings.iter();
        readings.any(|reading| reading.ours && Some(&reading.name) == of.reading.as_ref())
    };
    let (variants, counted): (Vec<&Counts>, Vec<&Counts>) =
        document.counts.iter().partition(is_ours);
    let kind = if study.is_paper() { "a paper, reproduced" } else { "a study" };
    let page = Page {
        frame: Frame::of_paper(&study.title, kind),
        study,
        document,
        source: source(study),
        has_reported: document.figures.iter().any(|f| !f.paper.is_empty() || !f.lines.is_empty()),
        lines: summary_lines(&readme),
        summary: summary(document, false).lines().map(str::to_owned).collect(),
        score: literal_score(document),
        counts: counts_table(&counted),
        variants: (!variants.is_empty()).then(|| counts_table(&variants)),
        counts_note: COUNTS_NOTE,
        causes: causes(&document.statements),
        ratios_summary: tables::ratios_summary(study, document),
        ratios_note: RATIOS_NOTE,
        deciding,
        sections,
        own_sections,
        reproduce_command: reproduce_command(plan, selection),
        files: plan.source.command_path(""),
    };
    render(&page)
}

/// The section of a figure that was run.
fn section<'a>(
    outcome: &StudyOutcome<'a>,
    document: &'a StudyDocument,
    number: usize,
    planned: &'a PlannedFigure,
) -> Section<'a> {
    let StudyOutcome { plan, selection, results } = *outcome;
    let (study, about) = (&plan.study, &planned.figure);
    let (drawn, listed): (Vec<&FigureResult>, Vec<_>) =
        document.measures(&about.id).partition(|of| draw::is_drawn(of));
    let pictures = traces::figures(study, results, about).into_iter();
    let pictures = pictures.chain(drawn.iter().map(|of| draw::figure(study, of)));
    let first = selection.points(planned)[0];
    let command = |PlannedArm { arm, jobs, .. }: &'a PlannedArm| {
        let job = &plan.jobs[jobs[first]];
        let seed = job.first_seed.unwrap_or(study.first_seed);
        let runs = selection.runs_of(job);
        (arm.label.as_str(), format!("{} --seed {seed} --runs {runs}", job.command()))
    };
    Section {
        about,
        fewer_runs: selection.fewer_runs(plan, planned),
        groups: groups(study, planned),
        ratios: tables::ratios_table(study, &document.measures(&about.id).collect::<Vec<_>>()),
        tables: listed
            .iter()
            .map(|of| (tables::points_table(of), tables::differences_table(study, of)))
            .collect(),
        figures: pictures
            .enumerate()
            .map(|(at, figure)| (format!("plot-{number}-{at}"), figure))
            .collect(),
        statements: rows(document.about(&about.id)),
        commands: planned.arms.iter().map(command).collect(),
    }
}

/// Authors and publication of the paper; empty for a study.
pub fn source(study: &Study) -> String {
    study
        .source
        .as_ref()
        .map_or_else(String::new, |source| format!("{}. {source}.", study.authors.join(", ")))
}

/// Groups of a figure's arms. If there are many arms, only the first group is shown at first.
fn groups(study: &Study, planned: &PlannedFigure) -> Vec<GroupBox> {
    let mut groups = study.all_groups();
    groups.retain(|group| planned.arms.iter().any(|of| of.arm.group == group.name));
    if groups.len() == 1 {
        return Vec::new();
    }
    let few = planned.arms.len() <= MAX_ARMS_SHOWN;
    let group = |(at, Group { name, label }): (usize, Group)| GroupBox {
        name,
        label,
        shown: few || at == 0,
    };
    groups.into_iter().enumerate().map(group).collect()
}

/// Index of the deciding figure among those that were run.
fn deciding(study: &Study, sections: &[Section<'_>]) -> Option<usize> {
    let position = |is: &dyn Fn(&StudyFigure) -> bool| sections.iter().position(|of| is(of.about));
    match &study.deciding {
        Some(id) => position(&|figure| figure.id == *id),
        None => position(&|figure| !figure.paper.is_empty()),
    }
}

/// Command that reproduces the results.
fn reproduce_command(plan: &Plan, selection: &Selection) -> String {
    let verb = if plan.study.is_paper() { "paper" } else { "sweep" };
    let mut command = format!("driftway {verb} {}", shell_quoted(&plan.source.command_argument()));
    if selection.points.len() < plan.figures.len() {
        let run = plan.figures.iter().filter(|of| !selection.points(of).is_empty());
        for PlannedFigure { figure, .. } in run {
            command += &format!(" --figure {}", shell_quoted(&figure.id));
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
