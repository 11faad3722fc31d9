//! What came out, as one page.

use askama::Template;

use super::super::draw;
use super::document::Document;
use super::kernel_plan::KernelPlan;
use super::print::{summary, table};
use crate::report::figure::Figure;
use crate::report::page::{SCRIPT, STYLE, plotly_script};
use crate::text::Grid;
use driftway_experiment::command::shell_quoted;

/// What the page shows, in order. Text is escaped by the template; what it takes as it is comes
/// from this crate: style, script, and the figures' JSON.
#[derive(Template)]
#[template(path = "kernel.html")]
struct Page<'a> {
    title: &'a str,
    /// Who, where and when.
    source: String,
    version: &'static str,
    /// How much was run, and whether to trust it.
    summary: Vec<String>,
    sections: Vec<Section<'a>>,
    /// What runs it again.
    reproduce_command: String,
    library: String,
    style: String,
    script: &'static str,
}

/// A figure of the paper.
struct Section<'a> {
    id: &'a str,
    title: &'a str,
    /// What it is drawn against.
    against: Option<&'a str>,
    note: Option<&'a str>,
    table: Grid,
    plot: String,
    figure: Figure,
}

/// The page.
///
/// # Errors
/// The template can't be rendered.
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
            // Its numbers stand in the table.
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

/// The command that runs the same.
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
