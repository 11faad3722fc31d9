//! Plots of a metric against the varying key, with the values that papers reported.

use driftway_scenario::Reference;
use driftway_sim::results::Estimate;
use plotly::common::{
    DashType, ErrorData, ErrorType, ExponentFormat, HoverInfo, LegendGroupTitle, Line, Marker,
    MarkerSymbol, Mode,
};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Plot, Scatter};

use super::comparison::{all_transfers_complete, any_has_many_flows};
use super::figure::{Figure, GREY, axis, colours, escaped, layout, plotly_json};
use super::result_dirs::ResultDir;
use super::variation::{Arm, Axis, Variation};
use crate::aggregate::{AGGREGATION_NOTE, FlowStatistics, flow_statistics};
use crate::text::{Grid, Scale, capitalized, chosen_value, count, title, title_with_unit, value};

/// Ratio of the largest to the smallest value from which an axis is logarithmic.
pub const LOG_AXIS_RATIO: f64 = 30.0;

/// Symbols of an arm, for simulated and for reported points, so that curves differ not only by colour.
pub const SYMBOLS: [(MarkerSymbol, MarkerSymbol); 5] = [
    (MarkerSymbol::Circle, MarkerSymbol::CircleOpen),
    (MarkerSymbol::Square, MarkerSymbol::SquareOpen),
    (MarkerSymbol::Diamond, MarkerSymbol::DiamondOpen),
    (MarkerSymbol::TriangleUp, MarkerSymbol::TriangleUpOpen),
    (MarkerSymbol::Cross, MarkerSymbol::CrossOpen),
];

/// Name and title of the legend's two groups.
const OURS: (&str, &str) = ("ours", "simulated by driftway");
const REPORTED: (&str, &str) = ("reported", "reported by a paper");

/// Values of a metric of one arm, and of one flow if there are several.
struct Curve {
    name: String,
    /// Name by which a paper would refer to the arm.
    paper_name: String,
    points: Vec<Point>,
    /// Points where not all runs completed: x, the number that did not, and the number of all.
    incomplete: Vec<(f64, u64, u64)>,
}

struct Point {
    x: f64,
    estimate: Estimate,
}

/// Figures of a set: completion time, throughput unless the completion time determines it, and the
/// metrics that papers reported.
pub fn figures(set: &[ResultDir], sweep: &Variation) -> Vec<Figure> {
    let mut metrics = vec!["completion_s".to_owned()];
    if !all_transfers_complete(set) {
        metrics.push("throughput_bps".to_owned());
    }
    for reference in set.iter().flat_map(|member| &member.document.scenario.references) {
        if !metrics.contains(&reference.metric) {
            metrics.push(reference.metric.clone());
        }
    }
    metrics.iter().filter_map(|metric| figure(set, sweep, metric)).collect()
}

fn figure(set: &[ResultDir], sweep: &Variation, metric: &str) -> Option<Figure> {
    let as_one = any_has_many_flows(set);
    let curves: Vec<Curve> =
        sweep.arms.iter().flat_map(|arm| curves(set, arm, metric, as_one)).collect();
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
    let x_metric = sweep.axis.as_ref().map_or("", Axis::unit_suffix);
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
            curve.points.iter().map(|p| hover(metric, sweep.axis.as_ref(), p)).collect();
        if by_category {
            let names = vec![escaped(&curve.name); y.len()];
            plot.add_trace(
                Scatter::new(names, y)
                    .mode(Mode::Markers)
                    .name(escaped(&curve.name))
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
                    .name(escaped(if curve.name.is_empty() {
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
        smallest > 0.0 && largest(values) / smallest >= LOG_AXIS_RATIO
    };
    let y_axis = axis(&title(metric), y_scale.unit);
    let y_axis = if log(&ys) { log_axis(y_axis) } else { y_axis.range_mode(RangeMode::ToZero) };
    let x_axis = match &sweep.axis {
        None => {
            // A margin of half a category on either side.
            let places = curves.iter().filter(|curve| !curve.points.is_empty()).count() as f64;
            axis("", "").type_(AxisType::Category).range(vec![-0.5, places - 0.5])
        }
        Some(found) => {
            let x_axis = axis(&found.name(), found.unit(x_scale));
            if log(&xs) { log_axis(x_axis) } else { x_axis }
        }
    };
    // Taller than other figures, because of the legend.
    plot.set_layout(layout().height(550).x_axis(x_axis).y_axis(y_axis));

    let against = sweep.axis.as_ref().map_or(String::new(), |a| format!(" against {}", a.name()));
    let together = if as_one { format!(" {AGGREGATION_NOTE}") } else { String::new() };
    let dashed = if references.is_empty() {
        ""
    } else {
        " Dashed lines with hollow markers are the values reported by a paper."
    };
    Some(Figure {
        title: capitalized(&format!("{}{against}", title(metric))),
        explanation: format!(
            "Each point is the mean over the runs, its bar the 90 % confidence interval (Student's \
             t): a difference may be due to chance if bars overlap.{together}{dashed}"
        ),
        notes: incomplete_notes(metric, &curves, sweep.axis.as_ref(), as_one),
        json: plotly_json(plot),
        numbers: Some(numbers_table(metric, sweep, x_scale, &curves, &references)),
        extra_table: None,
    })
}

/// A logarithmic axis with a tick at each power of ten.
pub fn log_axis(axis: plotly::layout::Axis) -> plotly::layout::Axis {
    axis.type_(AxisType::Log).dtick(1.0).exponent_format(ExponentFormat::Power)
}

/// Curves of an arm: one per flow, or one for all flows together.
fn curves(set: &[ResultDir], arm: &Arm, metric: &str, as_one: bool) -> Vec<Curve> {
    let points: Vec<(f64, Vec<FlowStatistics>)> = arm
        .points
        .iter()
        .map(|&(x, member)| (x, flow_statistics(&set[member].document, as_one)))
        .collect();
    let most = points.iter().map(|(_, subjects)| subjects.len()).max().unwrap_or(0);
    let curve = |index: usize| {
        let of_flow = || points.iter().filter_map(|(x, all)| Some((*x, all.get(index)?)));
        let flow = match of_flow().next() {
            Some((_, subject)) if most > 1 => Some(subject.name.clone()),
            _ if as_one && arm.label.is_empty() => Some("all flows together".to_owned()),
            _ => None,
        };
        let parts: Vec<String> =
            [arm.label.clone()].into_iter().filter(|l| !l.is_empty()).chain(flow).collect();
        let point = |(x, subject): (f64, &FlowStatistics)| {
            let estimate = subject.metrics.get(metric).copied().flatten()?;
            Some(Point { x, estimate })
        };
        let late = |(x, subject): (f64, &FlowStatistics)| {
            let late = subject.transfers - subject.completed;
            (late > 0).then_some((x, late, subject.transfers))
        };
        Curve {
            name: parts.join(", "),
            paper_name: arm.paper_name.clone(),
            points: of_flow().filter_map(point).collect(),
            incomplete: of_flow().filter_map(late).collect(),
        }
    };
    (0..most).map(curve).collect()
}

/// Reported values of this metric against this key, without duplicates.
fn references(set: &[ResultDir], axis: Option<&Axis>, metric: &str) -> Vec<Reference> {
    let mut found: Vec<Reference> = Vec::new();
    for reference in set.iter().flat_map(|member| &member.document.scenario.references) {
        let ours = axis.is_some_and(|axis| axis.key == reference.x) && reference.metric == metric;
        if ours && !found.contains(reference) {
            found.push(reference.clone());
        }
    }
    found
}

/// Legend entry of reported values, with their source.
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
    // Values reported for one of the arms have its colour and symbol.
    let about = reference.label.as_ref().unwrap_or(&reference.source);
    let arm = curves.iter().position(|curve| refers_to(about, &curve.paper_name));
    let colour = arm.map_or(GREY.to_owned(), |i| colours[i].clone());
    let symbol = arm.map_or(MarkerSymbol::StarOpen, |i| SYMBOLS[i % SYMBOLS.len()].1.clone());
    let (x, y): (Vec<f64>, Vec<f64>) = reference
        .points
        .iter()
        .filter_map(|(x, y)| Some((x.value()? * x_scale.factor, y * y_scale.factor)))
        .unzip();
    plot.add_trace(
        Scatter::new(x, y)
            .mode(Mode::LinesMarkers)
            .name(escaped(&name))
            .line(Line::new().color(colour.clone()).width(1.5).dash(DashType::Dash))
            .marker(Marker::new().symbol(symbol).size(11).color(colour))
            .legend_group(REPORTED.0)
            .legend_group_title(LegendGroupTitle::with_text(REPORTED.1))
            .show_legend(true),
    );
}

/// Returns true if the name of reported values has every word of an arm's name. An arm without an aid is
/// plain TCP.
fn refers_to(line: &str, subject: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let (line, subject) = (words(line), words(subject));
    if subject == ["no", "aid"] {
        return line.iter().any(|word| word == "tcp");
    }
    !subject.is_empty() && subject.iter().all(|word| line.contains(word))
}

/// First part of an arm's name, such as its routing protocol. Arms of a family have shades of one
/// colour.
fn family(name: &str) -> &str {
    name.split(", ").next().unwrap_or_default()
}

fn hover(metric: &str, axis: Option<&Axis>, point: &Point) -> String {
    let x = axis.map_or_else(String::new, |axis| format!("{}: ", axis.label_at(point.x)));
    let mean = crate::text::mean(metric, &point.estimate);
    format!("{x}{mean}, {}", count(point.estimate.n, "run"))
}

/// Notes on runs that did not complete, because their points are means over the other runs only.
fn incomplete_notes(
    metric: &str,
    curves: &[Curve],
    axis: Option<&Axis>,
    as_one: bool,
) -> Vec<String> {
    if metric != "completion_s" {
        return Vec::new();
    }
    let things = if as_one { "transfer" } else { "run" };
    let note = |(curve, &(x, late, all)): (&Curve, &(f64, u64, u64))| {
        let at = axis.map_or_else(String::new, |axis| format!(" at {}", axis.label_at(x)));
        let rest =
            if late == all { "there is no point" } else { "the point is the mean of the others" };
        let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
        format!("{name}{late} of {} did not complete{at}; {rest}.", count(all, things))
    };
    let late =
        curves.iter().flat_map(|curve| curve.incomplete.iter().map(move |late| (curve, late)));
    late.map(note).collect()
}

fn numbers_table(
    metric: &str,
    sweep: &Variation,
    x_scale: Scale,
    curves: &[Curve],
    references: &[Reference],
) -> Grid {
    let dash = || "–".to_owned();
    let axis = sweep.axis.as_ref();
    let x_title = axis.map(|axis| title_with_unit(axis.name(), axis.unit(x_scale)));
    let others = ["mean", "90 % from", "to", "runs"].map(str::to_owned);
    let header = ["curve".to_owned()].into_iter().chain(x_title).chain(others).collect();
    let row = |name: String, x: Option<f64>, cells: [String; 4]| -> Vec<String> {
        let x = axis.map(|_| x.map_or_else(dash, |x| chosen_value(x * x_scale.factor)));
        [name].into_iter().chain(x).chain(cells).collect()
    };
    let mut rows = Vec::new();
    for curve in curves {
        for point in &curve.points {
            let ends = point.estimate.ci90;
            let [low, high] =
                ends.map_or([dash(), dash()], |ends| ends.map(|end| value(metric, end)));
            let mean = value(metric, point.estimate.mean);
            let cells = [mean, low, high, point.estimate.n.to_string()];
            rows.push(row(curve.name.clone(), Some(point.x), cells));
        }
    }
    for reference in references {
        for (x, y) in &reference.points {
            let cells = [value(metric, *y), dash(), dash(), dash()];
            rows.push(row(reference_name(reference), x.value(), cells));
        }
    }
    Grid { header, rows }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn reported_values_are_matched_with_their_arm() {
        assert!(refers_to("ATCP (liu-singh-2001, figure 8)", "ATCP"));
        assert!(!refers_to("TCP (liu-singh-2001, figure 8)", "ATCP"));
        assert!(refers_to("TCP (liu-singh-2001, figure 8)", "no aid"));
        assert!(!refers_to("ATCP (liu-singh-2001)", "no aid"));
        assert!(!refers_to("TCP", ""));
    }
}
