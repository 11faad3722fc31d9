//! A metric against what varies, with what the papers reported laid over it.

use plotly::common::{
    DashType, ErrorData, ErrorType, ExponentFormat, HoverInfo, LegendGroupTitle, Line, Marker,
    MarkerSymbol, Mode,
};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Plot, Scatter};
use scenario::Reference;
use sim::results::Estimate;

use super::comparison::all_complete;
use super::figure::{Figure, QUIET, axis, colours, json, layout, plain};
use super::set::Member;
use super::sweep::{Arm, Axis, Sweep};
use crate::tables::{flow_name, is_transfer};
use crate::text::{Grid, Scale, capital, count, title, value};

/// From this ratio of largest to smallest on, an axis is logarithmic.
pub const LOG_FROM: f64 = 30.0;

/// Flows that get curves of their own.
const FLOWS: usize = 4;

/// An arm's symbols, so that colour is not all that tells curves apart: ours, and a paper's.
pub const SYMBOLS: [(MarkerSymbol, MarkerSymbol); 5] = [
    (MarkerSymbol::Circle, MarkerSymbol::CircleOpen),
    (MarkerSymbol::Square, MarkerSymbol::SquareOpen),
    (MarkerSymbol::Diamond, MarkerSymbol::DiamondOpen),
    (MarkerSymbol::TriangleUp, MarkerSymbol::TriangleUpOpen),
    (MarkerSymbol::Cross, MarkerSymbol::CrossOpen),
];

/// The legend's two groups: its name, and its title.
const OURS: (&str, &str) = ("ours", "simulated by driftway");
const REPORTED: (&str, &str) = ("reported", "reported by a paper");

/// One arm and flow of a metric.
struct Curve {
    name: String,
    points: Vec<Point>,
    /// Where not all runs completed: x, how many did not, and of how many.
    incomplete: Vec<(f64, u64, u64)>,
}

struct Point {
    x: f64,
    estimate: Estimate,
}

/// The figures of a set: completion time, throughput where completion does not say it, and
/// whatever a paper reported.
pub fn figures(set: &[Member], sweep: &Sweep) -> Vec<Figure> {
    let mut metrics = vec!["completion_s".to_owned()];
    if !all_complete(set) {
        metrics.push("throughput_bps".to_owned());
    }
    for reference in set.iter().flat_map(|member| &member.document.scenario.references) {
        if !metrics.contains(&reference.metric) {
            metrics.push(reference.metric.clone());
        }
    }
    metrics.iter().filter_map(|metric| figure(set, sweep, metric)).collect()
}

fn figure(set: &[Member], sweep: &Sweep, metric: &str) -> Option<Figure> {
    let curves: Vec<Curve> = sweep.arms.iter().flat_map(|arm| curves(set, arm, metric)).collect();
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return None;
    }
    let references = references(set, sweep.axis.as_ref(), metric);
    let ours = curves.iter().flat_map(|curve| &curve.points);
    let theirs = references.iter().flat_map(|reference| &reference.points);
    let largest = |values: &[f64]| values.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    let ys: Vec<f64> =
        ours.clone().map(|p| p.estimate.mean).chain(theirs.clone().map(|p| p.1)).collect();
    let xs: Vec<f64> = ours.map(|p| p.x).chain(theirs.filter_map(|p| p.0.value())).collect();
    let y_scale = Scale::of(metric, largest(&ys));
    let x_metric = sweep.axis.as_ref().map_or("", Axis::as_metric);
    let x_scale = Scale::of(x_metric, largest(&xs));

    let mut plot = Plot::new();
    let by_category = sweep.axis.is_none();
    let colours = colours(&curves.iter().map(|curve| family(&curve.name)).collect::<Vec<_>>());
    for (index, curve) in curves.iter().enumerate() {
        let colour = colours[index].clone();
        let x = |p: &Point| p.x * x_scale.factor;
        let y: Vec<f64> = curve.points.iter().map(|p| p.estimate.mean * y_scale.factor).collect();
        let half = |p: &Point| {
            p.estimate.ci90.map_or(0.0, |[low, high]| (high - low) / 2.0 * y_scale.factor)
        };
        let error = ErrorData::new(ErrorType::Data)
            .array(curve.points.iter().map(half).collect())
            .color(colour.clone())
            .thickness(2.0)
            .width(6);
        let marker = Marker::new()
            .symbol(SYMBOLS[index % SYMBOLS.len()].0.clone())
            .size(8)
            .color(colour.clone());
        let line = Line::new().color(colour).width(2.0);
        let hover: Vec<String> =
            curve.points.iter().map(|p| hover(metric, x_metric, by_category, p)).collect();
        if by_category {
            let names = vec![plain(&curve.name); y.len()];
            plot.add_trace(
                Scatter::new(names, y)
                    .mode(Mode::Markers)
                    .name(plain(&curve.name))
                    .marker(marker)
                    .error_y(error)
                    .hover_text_array(hover)
                    .hover_info(HoverInfo::Text)
                    .show_legend(false),
            );
        } else {
            plot.add_trace(
                Scatter::new(curve.points.iter().map(x).collect(), y)
                    .mode(Mode::LinesMarkers)
                    .name(plain(if curve.name.is_empty() {
                        "mean of the runs"
                    } else {
                        &curve.name
                    }))
                    .legend_group(OURS.0)
                    .legend_group_title(LegendGroupTitle::with_text(OURS.1))
                    .marker(marker)
                    .line(line)
                    .error_y(error)
                    .hover_text_array(hover)
                    .hover_info(HoverInfo::Text)
                    .show_legend(true),
            );
        }
    }
    for reference in &references {
        add_reference(&mut plot, reference, (&curves, &colours), x_scale, y_scale);
    }

    let log = |values: &[f64]| {
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        smallest > 0.0 && largest(values) / smallest >= LOG_FROM
    };
    let y_axis = axis(&title(metric), y_scale.unit);
    let y_axis = if log(&ys) { by_powers(y_axis) } else { y_axis.range_mode(RangeMode::ToZero) };
    let x_axis = match &sweep.axis {
        None => {
            // Half a place of room on either side.
            let places = curves.iter().filter(|curve| !curve.points.is_empty()).count() as f64;
            axis("", "").type_(AxisType::Category).range(vec![-0.5, places - 0.5])
        }
        Some(found) => {
            let x_axis = axis(&found.key, x_scale.unit);
            if log(&xs) { by_powers(x_axis) } else { x_axis }
        }
    };
    // Taller than others: the legend takes its room from it.
    plot.set_layout(layout().height(550).x_axis(x_axis).y_axis(y_axis));

    let against = sweep.axis.as_ref().map_or(String::new(), |a| format!(" against {}", a.key));
    let dashed = if references.is_empty() {
        ""
    } else {
        " Dashed lines with hollow markers are what the paper reported."
    };
    Some(Figure {
        title: capital(&format!("{}{against}", title(metric))),
        how: format!(
            "Each point is the mean over its runs, the bar its 90 % interval (Student's t): where \
             bars overlap far, chance may explain the difference.{dashed}"
        ),
        notes: notes(metric, &curves, x_metric, by_category),
        json: json(plot),
        numbers: Some(numbers(metric, sweep, x_metric, &curves, &references)),
        also: None,
    })
}

/// A logarithmic axis with a tick at each power of ten.
pub fn by_powers(axis: plotly::layout::Axis) -> plotly::layout::Axis {
    axis.type_(AxisType::Log).dtick(1.0).exponent_format(ExponentFormat::Power)
}

/// The curves of an arm, one a flow.
fn curves(set: &[Member], arm: &Arm, metric: &str) -> Vec<Curve> {
    let flows = arm
        .points
        .iter()
        .map(|&(_, member)| set[member].document.summary.flows.len())
        .max()
        .unwrap_or(0);
    let curve = |index: usize| {
        let mut name = arm.label.clone();
        let (mut points, mut incomplete) = (Vec::new(), Vec::new());
        for &(x, member) in &arm.points {
            let document = &set[member].document;
            let summary = &document.summary;
            let Some(flow) = summary.flows.get(index) else { continue };
            if flows > 1 && points.is_empty() {
                let separator = if name.is_empty() { "" } else { ", " };
                name = format!("{name}{separator}{}", flow_name(flow));
            }
            if let Some(Some(estimate)) = flow.metrics.get(metric).copied() {
                points.push(Point { x, estimate });
            }
            if flow.completed < summary.runs && is_transfer(document, index) {
                incomplete.push((x, summary.runs - flow.completed, summary.runs));
            }
        }
        Curve { name, points, incomplete }
    };
    (0..flows.min(FLOWS)).map(curve).collect()
}

/// What papers reported of this metric against this key, each once.
fn references(set: &[Member], axis: Option<&Axis>, metric: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    for reference in set.iter().flat_map(|member| &member.document.scenario.references) {
        let ours = axis.is_some_and(|axis| axis.key == reference.x) && reference.metric == metric;
        if ours && !found.contains(reference) {
            found.push(reference.clone());
        }
    }
    found
}

/// What a paper's line is called. Its source is always said.
fn reference_name(reference: &Reference) -> String {
    match &reference.label {
        Some(label) => format!("{}: {label}", reference.source),
        None => reference.source.clone(),
    }
}

fn add_reference(
    plot: &mut Plot,
    reference: &Reference,
    (curves, colours): (&[Curve], &[String]),
    x_scale: Scale,
    y_scale: Scale,
) {
    let name = reference_name(reference);
    // A line that speaks of one of our arms has its colour and symbol.
    let about = reference.label.as_ref().unwrap_or(&reference.source);
    let arm = curves.iter().position(|curve| speaks_of(about, &curve.name));
    let colour = arm.map_or(QUIET.to_owned(), |i| colours[i].clone());
    let symbol = arm.map_or(MarkerSymbol::StarOpen, |i| SYMBOLS[i % SYMBOLS.len()].1.clone());
    let (x, y): (Vec<f64>, Vec<f64>) = reference
        .points
        .iter()
        .filter_map(|(x, y)| Some((x.value()? * x_scale.factor, y * y_scale.factor)))
        .unzip();
    plot.add_trace(
        Scatter::new(x, y)
            .mode(Mode::LinesMarkers)
            .name(plain(&name))
            .line(Line::new().color(colour.clone()).width(1.5).dash(DashType::Dash))
            .marker(Marker::new().symbol(symbol).size(11).color(colour))
            .legend_group(REPORTED.0)
            .legend_group_title(LegendGroupTitle::with_text(REPORTED.1))
            .show_legend(true),
    );
}

/// Does a paper's line speak of this arm? Every word of what the arm's name begins with, its aid,
/// stands in the line's name; an arm without an aid is plain TCP.
fn speaks_of(line: &str, arm: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let line = words(line);
    let aid = words(family(arm));
    if aid == ["no", "aid"] {
        return line.iter().any(|word| word == "tcp");
    }
    !aid.is_empty() && aid.iter().all(|word| line.contains(word))
}

/// What tells most about an arm comes first in its name: its aid, where aids differ. Arms that have
/// it in common have shades of one colour.
fn family(name: &str) -> &str {
    name.split(", ").next().unwrap_or_default()
}

fn hover(metric: &str, x_metric: &str, by_category: bool, point: &Point) -> String {
    let x = if by_category { String::new() } else { format!("{}: ", value(x_metric, point.x)) };
    let mean = crate::text::mean(metric, &point.estimate);
    format!("{x}{mean}, {}", count(point.estimate.n, "run"))
}

/// A mean over some of the runs is not the mean over all: where that is so it is said.
fn notes(metric: &str, curves: &[Curve], x_metric: &str, by_category: bool) -> Vec<String> {
    if metric != "completion_s" {
        return Vec::new();
    }
    let note = |(curve, &(x, late, runs)): (&Curve, &(f64, u64, u64))| {
        let at = if by_category { String::new() } else { format!(" at {}", value(x_metric, x)) };
        let rest =
            if late == runs { "there is no point" } else { "the point is the mean of the others" };
        let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
        format!("{name}{late} of {} did not complete{at}; {rest}.", count(runs, "run"))
    };
    curves
        .iter()
        .flat_map(|curve| curve.incomplete.iter().map(move |late| (curve, late)))
        .map(note)
        .collect()
}

fn numbers(
    metric: &str,
    sweep: &Sweep,
    x_metric: &str,
    curves: &[Curve],
    references: &[Reference],
) -> Grid {
    let x_title = sweep.axis.as_ref().map_or("", |axis| axis.key.as_str());
    let header = ["curve", x_title, "mean", "90 % from", "to", "runs"];
    let mut rows = Vec::new();
    for curve in curves {
        for point in &curve.points {
            let [low, high] = point.estimate.ci90.map_or(["–".into(), "–".into()], |interval| {
                interval.map(|end| value(metric, end))
            });
            rows.push(vec![
                curve.name.clone(),
                if sweep.axis.is_some() { value(x_metric, point.x) } else { String::new() },
                value(metric, point.estimate.mean),
                low,
                high,
                point.estimate.n.to_string(),
            ]);
        }
    }
    for reference in references {
        for (x, y) in &reference.points {
            let x = x.value().map_or("–".into(), |x| value(x_metric, x));
            let dash = || "–".to_owned();
            rows.push(vec![
                reference_name(reference),
                x,
                value(metric, *y),
                dash(),
                dash(),
                dash(),
            ]);
        }
    }
    Grid { header: header.map(str::to_owned).to_vec(), rows }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_papers_line_finds_its_arm() {
        assert!(speaks_of("ATCP (liu-singh-2001, figure 8)", "atcp"));
        assert!(!speaks_of("TCP (liu-singh-2001, figure 8)", "atcp"));
        assert!(speaks_of("TCP (liu-singh-2001, figure 8)", "no aid"));
        assert!(!speaks_of("ATCP (liu-singh-2001)", "no aid"));
        assert!(speaks_of("ATCP, as reported", "atcp, mss 60 B"));
        assert!(!speaks_of("TCP", ""));
    }
}
