//! Plots of a metric against the varying key, with the values that papers reported.

use driftway_scenario::{Coordinate, Reference, Unit};
use driftway_sim::results::Estimate;
use plotly::Plot;
use plotly::common::{LegendGroupTitle, MarkerSymbol};

use super::comparison::{all_transfers_complete, any_has_many_flows};
use super::variation::{Arm, Axis, Variation};
use crate::aggregate::{AGGREGATION_NOTE, FlowStatistics, flow_statistics};
use crate::page::chart::{
    CurveTrace, MeanCurve, Position, SYMBOLS, category_axis, half_width, number_axis,
    reported_curve, value_axis,
};
use crate::page::figure::{Figure, GREY, colours, escaped, layout};
use crate::result_dirs::ResultDir;
use crate::text::{Grid, Scale, capitalized, chosen_value, count, title, title_with_unit, value};

/// Name and title of the legend's group of simulated values.
const OURS: (&str, &str) = ("ours", "simulated by driftway");

/// Values of a metric of one arm, and of one flow if there are several.
pub struct Curve {
    /// Name of the arm and the flow; empty if there is only one of each.
    pub name: String,
    /// Name by which a paper would refer to the arm.
    paper_name: String,
    /// Means.
    pub points: Vec<Point>,
    /// Points where not all runs completed: x, the number that did not, and the number of all.
    incomplete: Vec<(f64, u64, u64)>,
}

/// A mean at a value of the axis.
pub struct Point {
    /// Value of the axis in its base unit; 0 without an axis.
    pub x: f64,
    /// The mean.
    pub estimate: Estimate,
}

/// A metric of a set against its varying key.
pub struct MeasuredMetric<'a> {
    /// Name of the metric.
    pub metric: String,
    /// The varying key, if there is one.
    pub axis: Option<&'a Axis>,
    /// Curves of the arms.
    pub curves: Vec<Curve>,
    /// Values that papers reported.
    pub references: Vec<Reference>,
    /// Scale of the axis.
    pub x_scale: Scale,
    /// Scale of the metric.
    pub y_scale: Scale,
    /// All flows of a scenario are one.
    as_one: bool,
}

/// The metrics of a set that are plotted: completion time, throughput unless the completion time determines it, and those
/// that papers reported; without those that no arm has a value for.
pub fn measured_metrics<'a>(set: &[ResultDir], sweep: &'a Variation) -> Vec<MeasuredMetric<'a>> {
    let mut metrics = vec!["completion_s".to_owned()];
    if !all_transfers_complete(set) {
        metrics.push("throughput_bps".to_owned());
    }
    for reference in set.iter().flat_map(|member| &member.document.scenario.references) {
        if !metrics.contains(&reference.metric) {
            metrics.push(reference.metric.clone());
        }
    }
    metrics.into_iter().filter_map(|metric| MeasuredMetric::new(set, sweep, metric)).collect()
}

impl<'a> MeasuredMetric<'a> {
    /// `None` if no arm has a value for it.
    fn new(set: &[ResultDir], sweep: &'a Variation, metric: String) -> Option<Self> {
        let as_one = any_has_many_flows(set);
        let axis = sweep.axis.as_ref();
        let curves: Vec<Curve> =
            sweep.arms.iter().flat_map(|arm| curves(set, arm, &metric, as_one)).collect();
        if curves.iter().all(|curve| curve.points.is_empty()) {
            return None;
        }
        let references = references(set, axis, &metric);
        let x_unit = axis.map_or(Unit::One, |axis| axis.unit);
        let mut found = Self {
            metric,
            axis,
            curves,
            references,
            x_scale: Scale::ONE,
            y_scale: Scale::ONE,
            as_one,
        };
        found.x_scale = Scale::of_unit(x_unit, found.xs());
        found.y_scale = Scale::of(&found.metric, found.ys());
        Some(found)
    }

    fn xs(&self) -> Vec<f64> {
        let ours = self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x);
        let theirs = self.references.iter().flat_map(|reference| &reference.points);
        ours.chain(theirs.filter_map(|(x, _)| x.value())).collect()
    }

    fn ys(&self) -> Vec<f64> {
        let ours = self.curves.iter().flat_map(|curve| &curve.points);
        let theirs = self.references.iter().flat_map(|reference| &reference.points);
        ours.map(|point| point.estimate.mean).chain(theirs.map(|(_, y)| *y)).collect()
    }

    /// Title of a figure: `Completion time against pause`.
    pub fn title(&self) -> String {
        let against = self.axis.map_or(String::new(), |axis| format!(" against {}", axis.name()));
        capitalized(&format!("{}{against}", title(&self.metric)))
    }

    /// The figure of the page.
    pub fn figure(&self, sweep: &Variation) -> Figure {
        let Self { metric, axis, curves, references, .. } = self;
        let names: Vec<&str> = curves.iter().map(|curve| family(&curve.name)).collect();
        let drawing = Drawing { of: self, colours: colours(&names) };
        let mut plot = Plot::new();
        for index in 0..curves.len() {
            plot.add_trace(drawing.curve(index));
        }
        for reference in references {
            plot.add_trace(drawing.reference(reference));
        }
        let x_axis = match axis {
            None => category_axis(curves.iter().filter(|curve| !curve.points.is_empty()).count()),
            Some(found) => {
                let scale = Scale { unit: found.unit(self.x_scale), ..self.x_scale };
                number_axis(&found.name(), scale, &self.xs())
            }
        };
        let y_axis = value_axis(&title(metric), self.y_scale, &self.ys());
        plot.set_layout(layout().height(550).x_axis(x_axis).y_axis(y_axis));

        let together = if self.as_one { format!(" {AGGREGATION_NOTE}") } else { String::new() };
        let dashed = match references.is_empty() {
            true => "",
            false => " Dashed lines with hollow markers are the values reported by a paper.",
        };
        let explanation = format!(
            "Each point is the mean over the runs, its bar the 90 % confidence interval (Student's \
             t): a difference may be due to chance if bars overlap.{together}{dashed}"
        );
        let numbers = numbers_table(metric, sweep, self.x_scale, curves, references);
        Figure {
            notes: incomplete_notes(metric, curves, *axis, self.as_one),
            constants: numbers.constants(),
            numbers: Some(numbers.varying()),
            ..Figure::new(self.title(), explanation, plot)
        }
    }

    /// The arm to which reported values refer, if one is known.
    pub fn arm_of(&self, reference: &Reference) -> Option<usize> {
        let about = reference.label.as_ref().unwrap_or(&reference.source);
        self.curves.iter().position(|curve| refers_to(about, &curve.paper_name))
    }
}

/// A figure while its curves are drawn.
struct Drawing<'a> {
    of: &'a MeasuredMetric<'a>,
    /// A colour for each curve.
    colours: Vec<String>,
}

impl Drawing<'_> {
    fn curve(&self, index: usize) -> Box<CurveTrace> {
        let MeasuredMetric { metric, axis, curves, x_scale, y_scale, .. } = self.of;
        let Curve { name, points, .. } = &curves[index];
        let connected = axis.is_some();
        let place = |point: &Point| match connected {
            true => Position::Number(point.x * x_scale.factor),
            false => Position::Category(escaped(name)),
        };
        let factor = y_scale.factor;
        let point =
            |p: &Point| (place(p), p.estimate.mean * factor, half_width(p.estimate.ci90) * factor);
        let shown: &str = if connected && name.is_empty() { "mean of the runs" } else { name };
        let trace = MeanCurve {
            name: escaped(shown),
            colour: self.colours[index].clone(),
            symbol: SYMBOLS[index % SYMBOLS.len()].0.clone(),
            points: points.iter().map(point).collect(),
            hover: points.iter().map(|point| hover(metric, *axis, point)).collect(),
            connected,
        }
        .trace();
        if !connected {
            return trace.show_legend(false);
        }
        let title = LegendGroupTitle::with_text(OURS.1);
        trace.legend_group(OURS.0).legend_group_title(title).show_legend(true)
    }

    /// A curve that a paper reported, in the colour of the arm to which it refers.
    fn reference(&self, reference: &Reference) -> Box<CurveTrace> {
        let (colour, symbol) =
            self.of.arm_of(reference).map_or((GREY.to_owned(), MarkerSymbol::StarOpen), |arm| {
                (self.colours[arm].clone(), SYMBOLS[arm % SYMBOLS.len()].1.clone())
            });
        let place = |(x, y): &(Coordinate, f64)| {
            let (x_scale, y_scale) = (self.of.x_scale, self.of.y_scale);
            Some((Position::Number(x.value()? * x_scale.factor), y * y_scale.factor))
        };
        let points = reference.points.iter().filter_map(place).unzip();
        reported_curve(points, true, (colour, symbol, 11))
            .name(escaped(&reference_name(reference)))
            .legend_group_title(LegendGroupTitle::with_text("reported by a paper"))
            .show_legend(true)
    }
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
pub fn reference_name(reference: &Reference) -> String {
    match &reference.label {
        Some(label) => format!("{}: {label}", reference.source),
        None => reference.source.clone(),
    }
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
