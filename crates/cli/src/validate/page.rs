//! HTML page of `driftway validate`.

use askama::Template;

use super::print::{judgement, source, summary, verdict};
use driftway_experiment::study::reference::AgreementCriterion;
use driftway_experiment::validation::document::{CaseResult, ValidationDocument};

use super::compared_value::ComparedValues;
use super::{draw, tables};
use crate::failure::Failure;
use crate::page::figure::Figure;
use crate::page::{Frame, render};
use crate::text::Grid;

/// Content of the page, in order.
#[derive(Template)]
#[template(path = "validate.html")]
struct Page<'a> {
    frame: Frame<'a>,
    /// Number of cases that agree.
    summary: String,
    /// A row per case.
    rows: Vec<Row>,
    /// Plot of the chains in all simulators.
    chains: Option<Figure>,
    sections: Vec<Section>,
}

/// A case in the table of verdicts.
struct Row {
    id: String,
    title: String,
    against: String,
    verdict: &'static str,
}

/// Section of a case.
struct Section {
    id: String,
    title: String,
    source: String,
    verdict: String,
    note: Option<String>,
    figure: Option<Figure>,
    tables: Vec<(&'static str, Grid)>,
    /// Table of all metrics.
    numbers: Option<Grid>,
    /// Command that runs the first point.
    command: Option<String>,
}

/// Renders the page.
///
/// # Errors
/// A failure to render the template.
pub fn page(document: &ValidationDocument) -> Result<String, Failure> {
    let word = |agrees| match agrees {
        Some(true) => "agrees",
        Some(false) => "differs",
        None => "not judged",
    };
    let row = |id: &str, title: &str, against: String, agrees| Row {
        id: id.to_owned(),
        title: title.to_owned(),
        against,
        verdict: word(agrees),
    };
    let against = |case: &CaseResult| {
        let beside = if case.beside { "run as well" } else { "stored" };
        format!("{}, {beside}", case.against.name())
    };
    let cases = document.cases.iter();
    let values = ComparedValues::of(document);
    let heading = "Comparison with other simulators, with theory and with published values";
    let frame = Frame::of_paper(heading, "validation");
    let page = Page {
        frame: Frame { title: "Validation".to_owned(), ..frame },
        summary: summary(document),
        rows: cases
            .clone()
            .map(|case| row(&case.name, &case.title, against(case), case.agrees))
            .chain(values.iter().map(|of| row(of.name, of.title, theory(of), of.agrees)))
            .collect(),
        chains: draw::chains(document),
        sections: cases.map(of_case).chain(values.iter().map(of_values)).collect(),
    };
    render(&page)
}

fn of_case(case: &CaseResult) -> Section {
    let counts = tables::counts_table(case)
        .map(|grid| ("Ratio to the other simulator; small counts as pairs", grid));
    Section {
        id: case.name.clone(),
        title: case.title.clone(),
        source: source(case),
        verdict: verdict(case),
        note: case.note.clone(),
        figure: (case.judge == AgreementCriterion::LogRatio).then(|| draw::log_ratios(case)),
        tables: [("", tables::goodput_table(case))].into_iter().chain(counts).collect(),
        numbers: Some(tables::numbers_table(case)),
        command: case.points.first().map(|point| point.command.clone()),
    }
}

/// The reference of a comparison of values, in a word or two.
fn theory(of: &ComparedValues<'_>) -> String {
    let word = if of.reference == "formula" { "theory" } else { "published values" };
    word.to_owned()
}

fn of_values(of: &ComparedValues<'_>) -> Section {
    Section {
        id: of.name.to_owned(),
        title: of.title.to_owned(),
        source: of.source.map_or_else(String::new, |source| format!("Source: {source}.")),
        verdict: judgement(of.judge, of.agrees),
        note: of.note.map(str::to_owned),
        figure: Some(draw::ratios(of)),
        tables: vec![("", tables::value_table(of))],
        numbers: None,
        command: of.points.first().and_then(|point| point.command).map(str::to_owned),
    }
}
