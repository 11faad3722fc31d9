//! Plot of a paper's figure: the simulated arms, and the paper's numbers over them.

use driftway_sim::results::Estimate;
use plotly::common::{
    DashType, ErrorData, ErrorType, HoverInfo, LegendGroupTitle, Line, Marker, MarkerSymbol, Mode,
};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Plot, Scatter};

use super::tables::{differences_table, points_table, unit_suffix};
use crate::report::curves::{LOG_AXIS_RATIO, SYMBOLS, log_axis};
use crate::report::figure::{Figure, GREY, PALETTE, axis, escaped, layout, lighter, plotly_json};
use crate::text::{Scale, capitalized, mean, value};
use driftway_experiment::study::document::{ArmResult, CurveResult, FigureResult, PointResult};
use driftway_experiment::study::plan::Plan;

/// Legend group of the paper's numbers.
pub const PAPER_GROUP: &str = "reported";

/// Colour and symbols of an arm.
pub struct ArmStyle {
    /// Colour of the arm.
    pub colour: String,
    /// Symbol of measured points.
    pub symbol: MarkerSymbol,
    /// Symbol of the paper's points.
    pub paper_symbol: MarkerSymbol,
}

/// Style of the arm with this index, the same in every figure: arms differ by colour, groups by
/// symbol.
pub fn arm_style(plan: &Plan, arm: usize) -> ArmStyle {
    let study = &plan.study;
    let group = &study.arms[arm].group;
    let number = study.groups.iter().position(|other| other.name == *group).unwrap_or(0);
    let paler = [0.0, 0.4, 0.65][(arm / PALETTE.len()).min(2)];
    let colour = lighter(PALETTE[arm % PALETTE.len()], paler);
    let (symbol, paper_symbol) = SYMBOLS[number % SYMBOLS.len()].clone();
    ArmStyle { colour, symbol, paper_symbol }
}

/// Legend title of an arm's group.
pub fn group_title(plan: &Plan, arm: usize) -> LegendGroupTitle {
    LegendGroupTitle::with_text(escaped(&plan.study.arms[arm].group))
}

/// Number of arms from which a figure with a single point is plotted.
const MIN_ARMS_DRAWN: usize = 4;

/// Returns true if a figure is plotted. A single point of few arms without the paper's numbers is a table.
pub fn is_drawn(result: &FigureResult) -> bool {
    let over = !result.paper.is_empty() || !result.lines.is_empty();
    result.x.is_some() || over || result.arms.0.len() >= MIN_ARMS_DRAWN
}

/// Plot of one metric of a figure.
pub fn figure(plan: &Plan, result: &FigureResult) -> Figure {
    let metric = result.y.metric.as_str();
    let x_metric = unit_suffix(result.x.as_ref().map_or("", |x| x.unit));
    let all = || result.arms.0.iter().flat_map(|arm| &arm.points);
    let reported = || result.paper.iter().flat_map(|curve| &curve.points);
    let mut ys: Vec<f64> = all().filter_map(|p| p.mean).collect();
    ys.extend(reported().map(|(_, y)| *y));
    let xs: Vec<f64> = all().filter_map(|p| p.x).collect();
    let (x_scale, y_scale) = (Scale::of(x_metric, largest(&xs)), Scale::of(metric, largest(&ys)));
    let drawing = FigureBuilder { plan, result, x_scale, y_scale, x_metric };

    let mut plot = Plot::new();
    for arm in &result.arms.0 {
        drawing.add_arm(&mut plot, arm);
    }
    for curve in &result.paper {
        drawing.add_paper_curve(&mut plot, curve);
    }
    drawing.add_paper_lines(&mut plot, &xs);

    let log = |values: &[f64]| {
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        smallest > 0.0 && largest(values) / smallest >= LOG_AXIS_RATIO
    };
    let y_axis = axis(&result.y.label, y_scale.unit);
    let y_axis = if log(&ys) { log_axis(y_axis) } else { y_axis.range_mode(RangeMode::ToZero) };
    let x_axis = match &result.x {
        None => {
            // A margin of half a category on either side.
            let places = result.arms.0.len() as f64;
            axis("", "").type_(AxisType::Category).range(vec![-0.5, places - 0.5])
        }
        Some(x) => {
            let x_axis = axis(&x.label, x_scale.unit);
            if !x.names.is_empty() {
                let (places, names): (Vec<f64>, Vec<String>) = x.names.iter().cloned().unzip();
                let places = places.iter().map(|place| place * x_scale.factor).collect();
                x_axis.tick_values(places).tick_text(names)
            } else if log(&xs) {
                log_axis(x_axis)
            } else {
                x_axis
            }
        }
    };
    plot.set_layout(layout().height(560).x_axis(x_axis).y_axis(y_axis));

    Figure {
        title: capitalized(&result.y.label),
        explanation: String::new(),
        notes: drawing.incomplete_note().into_iter().collect(),
        json: plotly_json(plot),
        numbers: Some(points_table(plan, result)),
        extra_table: differences_table(plan, result),
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0_f64, |a, b| a.max(b.abs()))
}

struct FigureBuilder<'a> {
    plan: &'a Plan,
    result: &'a FigureResult,
    x_scale: Scale,
    y_scale: Scale,
    x_metric: &'static str,
}

impl FigureBuilder<'_> {
    fn arm_label(&self, arm: &ArmResult) -> String {
        escaped(&self.plan.study.arms[arm.arm].label)
    }

    fn add_arm(&self, plot: &mut Plot, arm: &ArmResult) {
        let look = arm_style(self.plan, arm.arm);
        let label = self.arm_label(arm);
        let points: Vec<&PointResult> = arm.points.iter().filter(|p| p.mean.is_some()).collect();
        let factor = self.y_scale.factor;
        let y: Vec<f64> = points.iter().filter_map(|p| Some(p.mean? * factor)).collect();
        let half = |p: &&PointResult| p.ci90.map_or(0.0, |[low, high]| (high - low) / 2.0 * factor);
        let error = ErrorData::new(ErrorType::Data)
            .array(points.iter().map(half).collect())
            .color(look.colour.clone())
            .thickness(2.0)
            .width(6);
        let marker = Marker::new().symbol(look.symbol).size(8).color(look.colour.clone());
        let hover: Vec<String> = points.iter().map(|p| self.hover_text(&label, p)).collect();
        let group = self.plan.study.arms[arm.arm].group.as_str();
        let title = group_title(self.plan, arm.arm);
        if self.result.x.is_none() {
            plot.add_trace(
                Scatter::new(vec![label.clone(); y.len()], y)
                    .mode(Mode::Markers)
                    .name(label)
                    .marker(marker)
                    .error_y(error)
                    .legend_group(group)
                    .legend_group_title(title)
                    .hover_text_array(hover)
                    .hover_info(HoverInfo::Text),
            );
            return;
        }
        let x = points.iter().filter_map(|p| Some(p.x? * self.x_scale.factor)).collect();
        plot.add_trace(
            Scatter::new(x, y)
                .mode(Mode::LinesMarkers)
                .name(label)
                .marker(marker)
                .line(Line::new().color(look.colour).width(2.0))
                .error_y(error)
                .legend_group(group)
                .legend_group_title(title)
                .hover_text_array(hover)
                .hover_info(HoverInfo::Text),
        );
    }

    fn hover_text(&self, label: &str, point: &PointResult) -> String {
        let x = point.x.map_or(String::new(), |x| format!(" at {}", value(self.x_metric, x)));
        let measured =
            point.mean.map(|mean| Estimate { mean, ci90: point.ci90, ci95: None, n: point.n });
        let y = measured.map_or(String::new(), |m| mean(&self.result.y.metric, &m));
        format!("{label}{x}: {}, {} runs", escaped(&y), point.n)
    }

    fn add_paper_curve(&self, plot: &mut Plot, curve: &CurveResult) {
        let arm = self.result.arms.0.iter().find(|arm| arm.name == curve.arm);
        let Some(arm) = arm else { return };
        let look = arm_style(self.plan, arm.arm);
        let y: Vec<f64> = curve.points.iter().map(|(_, y)| y * self.y_scale.factor).collect();
        let marker = Marker::new().symbol(look.paper_symbol).size(12).color(look.colour.clone());
        let title = LegendGroupTitle::with_text("the paper");
        let name = escaped(&curve.label);
        if self.result.x.is_none() {
            plot.add_trace(
                Scatter::new(vec![self.arm_label(arm); y.len()], y)
                    .mode(Mode::Markers)
                    .name(name)
                    .marker(marker)
                    .legend_group(PAPER_GROUP)
                    .legend_group_title(title),
            );
            return;
        }
        let x = curve.points.iter().map(|(x, _)| x * self.x_scale.factor).collect();
        plot.add_trace(
            Scatter::new(x, y)
                .mode(Mode::LinesMarkers)
                .name(name)
                .marker(marker)
                .line(Line::new().color(look.colour).width(1.5).dash(DashType::Dash))
                .legend_group(PAPER_GROUP)
                .legend_group_title(title),
        );
    }

    /// Adds the paper's numbers that belong to no arm, as dotted horizontal lines.
    fn add_paper_lines(&self, plot: &mut Plot, xs: &[f64]) {
        let low = xs.iter().copied().fold(f64::INFINITY, f64::min) * self.x_scale.factor;
        let high = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max) * self.x_scale.factor;
        for line in &self.result.lines {
            let y = line.value * self.y_scale.factor;
            let name = format!("{}: {}", line.label, value(&self.result.y.metric, line.value));
            let dress = Line::new().color(GREY).width(1.5).dash(DashType::Dot);
            let title = LegendGroupTitle::with_text("the paper");
            if self.result.x.is_some() {
                plot.add_trace(
                    Scatter::new(vec![low, high], vec![y, y])
                        .mode(Mode::Lines)
                        .name(escaped(&name))
                        .line(dress)
                        .legend_group(PAPER_GROUP)
                        .legend_group_title(title),
                );
            } else {
                let arms: Vec<String> =
                    self.result.arms.0.iter().map(|a| self.arm_label(a)).collect();
                let y = vec![y; arms.len()];
                plot.add_trace(
                    Scatter::new(arms, y)
                        .mode(Mode::Lines)
                        .name(escaped(&name))
                        .line(dress)
                        .legend_group(PAPER_GROUP)
                        .legend_group_title(title),
                );
            }
        }
    }

    /// Note on the transfers that did not complete.
    fn incomplete_note(&self) -> Option<String> {
        super::tables::incomplete_note(self.plan, self.result)
    }
}
