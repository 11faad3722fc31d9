//! HTML page of `driftway paper --kernel`.

use askama::Template;

use super::super::draw;
use super::document::KernelDocument;
use super::kernel_plan::KernelPlan;
use super::print::{summary, table};
use crate::failure::Failure;
use crate::page::figure::Figure;
use crate::page::{Frame, render};
use crate::text::Grid;
use driftway_experiment::command::shell_quoted;
use driftway_experiment::study::format::Figure as StudyFigure;
use driftway_experiment::study::plan::PlannedFigure;

/// Content of the page, in order.
#[derive(Template)]
#[template(path = "kernel.html")]
struct Page<'a> {
    frame: Frame<'a>,
    /// Authors and publication.
    source: String,
    /// Number of runs, and whether they can be trusted.
    summary: Vec<String>,
    sections: Vec<Section<'a>>,
    /// Command that repeats the runs.
    reproduce_command: String,
}

/// A figure of the paper.
struct Section<'a> {
    about: &'a StudyFigure,
    table: Grid,
    plot: String,
    figure: Figure,
}

/// Renders the page.
///
/// # Errors
/// A failure to render the template.
pub fn page<'a>(work: &'a KernelPlan, document: &KernelDocument) -> Result<String, Failure> {
    let paper = &work.plan.study;
    let section = |(number, planned): (usize, &'a PlannedFigure)| {
        let result = document.paper.measures(&planned.figure.id).next()?;
        Some(Section {
            about: &planned.figure,
            table: table(document, result),
            plot: format!("plot-{number}"),
            // The table has its numbers.
            figure: Figure { numbers: None, ..draw::figure(paper, result) },
        })
    };
    let frame = Frame::of_paper(&paper.title, "a paper, with this machine's own TCP");
    render(&Page {
        frame: Frame { title: format!("{}, with a kernel", paper.title), ..frame },
        source: super::super::page::source(paper),
        summary: summary(document),
        sections: work.plan.figures.iter().enumerate().filter_map(section).collect(),
        reproduce_command: reproduce_command(work),
    })
}

/// Command that repeats the runs.
fn reproduce_command(work: &KernelPlan) -> String {
    let plan = &work.plan;
    let mut command =
        format!("driftway paper {} --kernel", shell_quoted(&plan.source.command_argument()));
    let all = plan.study.kernel.as_ref().map_or(0, |kernel| kernel.figures.len());
    if plan.figures.len() < all {
        for PlannedFigure { figure, .. } in &plan.figures {
            command += &format!(" --figure {}", shell_quoted(&figure.id));
        }
    }
    for name in &work.congestion_controls {
        command += &format!(" --congestion-control {name}");
    }
    if work.selection.quick {
        command += " --quick";
    }
    if let Some(bytes) = work.transfer_limit {
        command += &format!(" --transfer {}", shell_quoted(&format!("{bytes} B")));
    }
    command + &format!(" --runs {}", work.selection.seeds.len())
}
