//! HTML page of `driftway paper --kernel`.

use askama::Template;

use super::super::draw;
use super::document::Document;
use super::kernel_plan::KernelPlan;
use super::print::{summary, table};
use crate::report::figure::Figure;
use crate::report::page::{SCRIPT, STYLE, plotly_script};
use crate::text::Grid;
use driftway_experiment::command::shell_quoted;

/// Content of the page, in order. The template escapes text, except style, script and the figures'
/// JSON, which come from this crate.
#[derive(Template)]
#[template(path = "kernel.html")]
struct Page<'a> {
    title: &'a str,
    /// Authors and publication.
    source: String,
    version: &'static str,
    /// Number of runs, and whether they can be trusted.
    summary: Vec<String>,
    sections: Vec<Section<'a>>,
    /// Command that repeats the runs.
    reproduce_command: String,
    library: String,
    style: String,
    script: &'static str,
}

/// A figure of the paper.
struct Section<'a> {
    id: &'a str,
    title: &'a str,
    /// Label of the x axis.
    against: Option<&'a str>,
    note: Option<&'a str>,
    table: Grid,
    plot: String,
    figure: Figure,
}

/// Renders the page.
///
/// # Errors
/// A failure to render the template.
pub fn page(work: &KernelPlan, document: &Document) -> Result<String, askama::Error> {
    let paper = &work.plan.study;
    let section = |result| {
        let result: &driftway_experiment::study::document::FigureResult = result;
        let figure = &paper.figures[result.index.0];
        Section {
            id: &figure.id,
            title: &figure.title,
            against: figure.x.as_ref().map(|axis| axis.label.as_str()),
            note: figure.note.as_deref(),
            table: table(work, document, result),
            plot: format!("plot-{}", result.index.0),
            // The table has its numbers.
            figure: Figure { numbers: None, ..draw::figure(&work.plan, result) },
        }
    };
    let page = Page {
        title: &paper.title,
        source: super::super::page::source(paper),
        version: env!("CARGO_PKG_VERSION"),
        summary: summary(document),
        sections: document.paper.figures.iter().map(section).collect(),
        reproduce_command: reproduce_command(work),
        library: plotly_script(),
        style: format!("{STYLE}{}", include_str!("../../../templates/paper.css")),
        script: SCRIPT,
    };
    page.render()
}

/// Command that repeats the runs.
fn reproduce_command(work: &KernelPlan) -> String {
    let plan = &work.plan;
    let mut command =
        format!("driftway paper {} --kernel", shell_quoted(&plan.source.command_argument()));
    let all = plan.study.kernel.as_ref().map_or(0, |kernel| kernel.figures.len());
    if plan.study.figures.len() < all {
        for figure in &plan.study.figures {
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
