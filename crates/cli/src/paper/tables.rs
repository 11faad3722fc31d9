//! Tables of a figure, for the terminal and the page.

use driftway_sim::results::Estimate;

use crate::text::{Grid, Scale, mean_in, value_in};
use driftway_experiment::study::document::{
    ArmResult, CurveResult, FigureResult, PointResult, StudyDocument,
};
use driftway_experiment::study::format::{Comparison, Figure, Study};
use driftway_experiment::study::measure::geometric_mean;

/// Table of the measured arms, and below each the paper's numbers, with a column per point.
pub fn points_table(figure: &FigureResult) -> Grid {
    let means = figure.arms.0.iter().flat_map(|arm| &arm.points).filter_map(|p| p.mean);
    let scale = Scale::of(&figure.y.metric, means);
    let header = header(&figure.y.label, scale, figure);
    let empty = || vec![String::new(); header.len() - 1];
    let arms = &figure.arms.0;
    let several = arms.iter().any(|of| of.arm.group != arms[0].arm.group);
    let mut rows = Vec::new();
    let mut last = None;
    for ArmResult { arm, points } in arms {
        let group = &arm.group;
        if several && last.replace(group) != Some(group) {
            rows.push([vec![format!("{group}:")], empty()].concat());
        }
        let cells = points.iter().map(|point| cell(scale, point)).collect();
        rows.push([vec![arm.label.clone()], cells].concat());
        for curve in figure.paper.iter().filter(|curve| curve.arm == arm.name) {
            let cells = points.iter().map(|point| paper_cell(scale, curve, point.x)).collect();
            rows.push([vec![format!("  {}", curve.label)], cells].concat());
        }
    }
    Grid { header, rows }
}

/// Table of the paired differences between arms and the arms that they are compared with; `None` if
/// there are none.
pub fn differences_table(study: &Study, figure: &FigureResult) -> Option<(&'static str, Grid)> {
    let means = figure.differences.iter().flat_map(|d| &d.points).filter_map(|p| p.mean);
    let scale = Scale::of(&figure.y.metric, means);
    let label = |name: &str| study.arm_label(name);
    let rows: Vec<Vec<String>> = figure
        .differences
        .iter()
        .map(|difference| {
            let name = format!("{} − {}", label(&difference.arm), label(&difference.against));
            let cells = difference.points.iter().map(|point| {
                // The side of an open interval is reported with the statements that depend on it.
                let closed = PointResult { incomplete: 0, ..point.clone() };
                let mark = if point.incomplete > 0 { " *" } else { "" };
                cell(scale, &closed) + mark
            });
            std::iter::once(name).chain(cells).collect()
        })
        .collect();
    let header = header(&figure.y.label, scale, figure);
    (!rows.is_empty()).then_some(("Paired differences, seed by seed", Grid { header, rows }))
}

/// Returns true if a figure compares all its measures by ratios, so that one table has them all.
pub fn is_ratios_only(figure: &Figure) -> bool {
    figure.y.iter().all(|measure| measure.compare == Comparison::Ratio)
}

/// Table of the paired ratios of a figure, with a row per point, and per pair of arms if there are
/// several, and a column per measure; `None` if there are none.
pub fn ratios_table(study: &Study, measures: &[&FigureResult]) -> Option<Grid> {
    let first = measures.iter().find(|measure| !measure.ratios.is_empty())?;
    let pairs = &first.ratios;
    let label = |name: &str| study.arm_label(name);
    let of_pair = |at: usize| format!("{} ÷ {}", label(&pairs[at].arm), label(&pairs[at].against));
    let scale = Scale::ONE;
    let mut rows = Vec::new();
    for at in 0..pairs.len() {
        for (number, point) in pairs[at].points.iter().enumerate() {
            let mut name = point.x.map_or(String::new(), |x| point_label(first, x));
            if pairs.len() > 1 || name.is_empty() {
                name = [of_pair(at), name].join(" ").trim_end().to_owned();
            }
            let of_measure = |measure: &&FigureResult| {
                let ratio = measure.ratios.get(at).and_then(|ratio| ratio.points.get(number));
                ratio.map_or_else(String::new, |point| cell(scale, point))
            };
            rows.push(std::iter::once(name).chain(measures.iter().map(of_measure)).collect());
        }
    }
    let title = if pairs.len() > 1 { String::new() } else { of_pair(0) };
    let columns = measures.iter().map(|measure| measure.y.label.clone());
    Some(Grid { header: std::iter::once(title).chain(columns).collect(), rows })
}

/// Table of the paired ratios of all figures, with a row per figure and pair of arms, and a column per
/// label of a measure; `None` unless two figures have ratios.
pub fn ratios_summary(study: &Study, document: &StudyDocument) -> Option<Grid> {
    let compared: Vec<&FigureResult> =
        document.figures.iter().filter(|figure| !figure.ratios.is_empty()).collect();
    let mut labels: Vec<&str> = Vec::new();
    let mut rows: Vec<(String, String)> = Vec::new();
    for figure in &compared {
        if !labels.contains(&figure.y.label.as_str()) {
            labels.push(&figure.y.label);
        }
        for ratio in &figure.ratios {
            let row = (figure.figure.clone(), ratio.arm.clone());
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    if rows.iter().all(|(figure, _)| *figure == rows[0].0) {
        return None;
    }
    let summarize = |(figure, arm): &(String, String)| {
        let cells = labels.iter().map(|label| {
            let of = compared.iter().find(|of| of.figure == *figure && of.y.label == *label);
            let ratio = of.and_then(|of| of.ratios.iter().find(|ratio| ratio.arm == *arm));
            let means = ratio.map_or(&[][..], |ratio| &ratio.points);
            let means: Vec<f64> = means.iter().filter_map(|point| point.mean).collect();
            geometric_mean(&means).map_or_else(
                || "–".to_owned(),
                |(mean, [low, high])| format!("{mean:.2} ({low:.2}–{high:.2})"),
            )
        });
        let of = compared.iter().find(|of| of.figure == *figure);
        let title = of.map_or("", |of| &of.title);
        let against = of.and_then(|of| of.ratios.iter().find(|ratio| ratio.arm == *arm));
        let label = |name: &str| study.arm_label(name);
        let pair = against
            .map_or(String::new(), |of| format!("{} ÷ {}", label(&of.arm), label(&of.against)));
        [title.to_owned(), pair].into_iter().chain(cells).collect()
    };
    let header = ["figure", "arms"].into_iter().chain(labels.iter().copied()).map(str::to_owned);
    Some(Grid { header: header.collect(), rows: rows.iter().map(summarize).collect() })
}

fn header(label: &str, scale: Scale, figure: &FigureResult) -> Vec<String> {
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" ({})", scale.unit) };
    let points = figure.arms.0.first().map_or(&[][..], |arm| &arm.points);
    let columns = points.iter().map(|p| p.x.map_or("mean".to_owned(), |x| point_label(figure, x)));
    std::iter::once(format!("{label}{unit}")).chain(columns).collect()
}

/// Name of a point of the axis, or its value.
fn point_label(figure: &FigureResult, x: f64) -> String {
    let Some(axis) = &figure.x else { return String::new() };
    axis.name(x).map_or_else(|| value_in(axis.unit, x), str::to_owned)
}

fn cell(scale: Scale, point: &PointResult) -> String {
    let Some(estimate) = point.estimate() else { return "–".to_owned() };
    let at_least = if point.incomplete > 0 { "≥ " } else { "" };
    // A no-break space, so that the interval stays together if a cell takes two lines.
    let mean = mean_in(scale, &estimate).replace("± ", "±\u{a0}");
    format!("{at_least}{mean}")
}

/// The paper's value at this point, or an empty cell.
fn paper_cell(scale: Scale, curve: &CurveResult, x: Option<f64>) -> String {
    let here = |at: f64| x.is_none_or(|x| (at - x).abs() <= 1e-9 * x.abs());
    let point = curve.points.iter().find(|(at, _)| here(*at));
    point.map_or_else(String::new, |(_, y)| {
        mean_in(scale, &Estimate { mean: *y, ci90: None, ci95: None, n: 0 })
    })
}

/// Note on the transfers that did not complete.
pub fn incomplete_note(figure: &FigureResult) -> Option<String> {
    let points = figure.arms.0.iter().flat_map(|arm| arm.points.iter().map(move |p| (arm, p)));
    let late: Vec<String> = points
        .filter(|(_, point)| point.incomplete > 0)
        .map(|(arm, point)| {
            let at = point.x.map_or(String::new(), |x| format!(" at {}", point_label(figure, x)));
            let label = &arm.arm.label;
            format!("{} of {} of {label}{at}", point.incomplete, point.n)
        })
        .collect();
    (!late.is_empty()).then(|| {
        format!(
            "≥: transfers that did not complete count with the time that they had: {}.",
            late.join("; ")
        )
    })
}
