//! HTML page of `driftway validate`.

use askama::Template;

use super::print::{judgement, source, summary, verdict};
use driftway_experiment::study::reference::AgreementCriterion;
use driftway_experiment::validation::document::{CaseResult, FormulaResult, ValidationDocument};

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
    let formulas = document.formulas.iter();
    let heading = "Comparison with other simulators and with theory";
    let frame = Frame::of_paper(heading, "validation");
    let page = Page {
        frame: Frame { title: "Validation".to_owned(), ..frame },
        summary: summary(document),
        rows: cases
            .clone()
            .map(|case| row(&case.name, &case.title, against(case), case.agrees))
            .chain(formulas.clone().map(|of| row(&of.name, &of.title, "theory".into(), of.agrees)))
            .collect(),
        chains: draw::chains(document),
        sections: cases.map(of_case).chain(formulas.map(of_formula)).collect(),
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

fn of_formula(of: &FormulaResult) -> Section {
    Section {
        id: of.name.clone(),
        title: of.title.clone(),
        source: String::new(),
        verdict: judgement(of.judge, of.agrees),
        note: of.note.clone(),
        figure: Some(draw::formula(of)),
        tables: vec![("", tables::formula_table(of))],
        numbers: None,
        command: None,
    }
}
