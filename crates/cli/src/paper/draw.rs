//! Plot of a paper's figure: the simulated arms, and the paper's numbers over them.

use plotly::Plot;
use plotly::common::{LegendGroupTitle, MarkerSymbol};
use plotly::layout::Axis;

use super::tables::{differences_table, incomplete_note, points_table};
use crate::page::chart::{
    self, MeanCurve, Position, REPORTED, SYMBOLS, category_axis, half_width, number_axis,
    reported_curve, value_axis,
};
use crate::page::figure::{Figure, PALETTE, escaped, layout, lighter};
use crate::text::{Scale, capitalized, mean, value, value_in};
use driftway_experiment::study::document::{ArmResult, CurveResult, FigureResult, PointResult};
use driftway_experiment::study::format::{Arm, Study};
use driftway_scenario::Unit;

/// Colour and symbols of an arm.
pub struct ArmStyle {
    /// Colour of the arm.
    pub colour: String,
    /// Symbol of measured points.
    pub symbol: MarkerSymbol,
    /// Symbol of the paper's points.
    pub paper_symbol: MarkerSymbol,
}

/// Style of an arm, the same in every figure: the first eight differ by symbol, and all by colour or symbol.
pub fn arm_style(arm: &Arm) -> ArmStyle {
    let paler = [0.0, 0.4, 0.65][(arm.number / PALETTE.len()).min(2)];
    let colour = lighter(PALETTE[arm.number % PALETTE.len()], paler);
    let (symbol, paper_symbol) = SYMBOLS[arm.number % SYMBOLS.len()].clone();
    ArmStyle { colour, symbol, paper_symbol }
}

/// Legend title of an arm's group.
pub fn group_title(arm: &Arm) -> LegendGroupTitle {
    LegendGroupTitle::with_text(escaped(&arm.group))
}

/// Number of arms from which a figure with a single point is plotted.
const MIN_ARMS_DRAWN: usize = 4;

/// Returns true if a figure is plotted. A single point of few arms without the paper's numbers is a table.
pub fn is_drawn(result: &FigureResult) -> bool {
    let over = !result.paper.is_empty() || !result.lines.is_empty();
    result.x.is_some() || over || result.arms.0.len() >= MIN_ARMS_DRAWN
}

/// Plot of one metric of a figure.
pub fn figure(study: &Study, result: &FigureResult) -> Figure {
    let all = || result.arms.0.iter().flat_map(|arm| &arm.points);
    let reported = result.paper.iter().flat_map(|curve| &curve.points);
    let ys: Vec<f64> = all().filter_map(|p| p.mean).chain(reported.map(|(_, y)| *y)).collect();
    let xs: Vec<f64> = all().filter_map(|p| p.x).collect();
    let x_unit = result.x.as_ref().map_or(Unit::One, |x| x.unit);
    let x_scale = Scale::of_unit(x_unit, xs.iter().copied());
    let y_scale = Scale::of(&result.y.metric, ys.iter().copied());
    let drawing = FigureBuilder { result, x_scale, y_scale, x_unit };
    let mut plot = Plot::new();
    for arm in &result.arms.0 {
        drawing.add_arm(&mut plot, arm);
    }
    for curve in &result.paper {
        drawing.add_paper_curve(&mut plot, curve);
    }
    drawing.add_paper_lines(&mut plot, &xs);
    let y_axis = value_axis(&result.y.label, y_scale, &ys);
    plot.set_layout(layout().height(560).x_axis(drawing.x_axis(&xs)).y_axis(y_axis));
    Figure {
        notes: incomplete_note(result).into_iter().collect(),
        numbers: Some(points_table(result)),
        extra_table: differences_table(study, result),
        ..Figure::new(capitalized(&result.y.label), "", plot)
    }
}

struct FigureBuilder<'a> {
    result: &'a FigureResult,
    x_scale: Scale,
    y_scale: Scale,
    x_unit: Unit,
}

impl FigureBuilder<'_> {
    fn x_axis(&self, xs: &[f64]) -> Axis {
        let Some(x) = &self.result.x else { return category_axis(self.result.arms.0.len()) };
        if x.names.is_empty() {
            return number_axis(&x.label, self.x_scale, xs);
        }
        let (places, names): (Vec<f64>, Vec<String>) = x.names.iter().cloned().unzip();
        let places = places.iter().map(|place| place * self.x_scale.factor).collect();
        number_axis(&x.label, self.x_scale, &[]).tick_values(places).tick_text(names)
    }

    /// The position of a point: its x, or without an axis its arm.
    fn position(&self, arm: &Arm, x: Option<f64>) -> Position {
        let x = x.filter(|_| self.result.x.is_some());
        let category = || Position::Category(escaped(&arm.label));
        x.map_or_else(category, |x| Position::Number(x * self.x_scale.factor))
    }

    fn add_arm(&self, plot: &mut Plot, ArmResult { arm, points }: &ArmResult) {
        let ArmStyle { colour, symbol, .. } = arm_style(arm);
        let name = escaped(&arm.label);
        let known = points.iter().filter(|point| point.mean.is_some());
        let factor = self.y_scale.factor;
        let point = |p: &PointResult| {
            Some((self.position(arm, p.x), p.mean? * factor, half_width(p.ci90) * factor))
        };
        let points = points.iter().filter_map(point).collect();
        let hover = known.map(|point| self.hover_text(&name, point)).collect();
        let connected = self.result.x.is_some();
        let trace = MeanCurve { name, colour, symbol, points, hover, connected }.trace();
        plot.add_trace(trace.legend_group(&*arm.group).legend_group_title(group_title(arm)));
    }

    fn hover_text(&self, label: &str, point: &PointResult) -> String {
        let x = point.x.map_or(String::new(), |x| format!(" at {}", value_in(self.x_unit, x)));
        let y = point.estimate().map_or(String::new(), |m| mean(&self.result.y.metric, &m));
        format!("{label}{x}: {}, {} runs", escaped(&y), point.n)
    }

    fn add_paper_curve(&self, plot: &mut Plot, curve: &CurveResult) {
        let arm = self.result.arms.0.iter().find(|of| of.arm.name == curve.arm);
        let Some(ArmResult { arm, .. }) = arm else { return };
        let ArmStyle { colour, paper_symbol, .. } = arm_style(arm);
        let place = |(x, y): &(f64, f64)| (self.position(arm, Some(*x)), y * self.y_scale.factor);
        let points = curve.points.iter().map(place).unzip();
        let connected = self.result.x.is_some();
        let trace = reported_curve(points, connected, (colour, paper_symbol, 12));
        plot.add_trace(of_paper(trace.name(escaped(&curve.label))));
    }

    /// Adds the paper's numbers that belong to no arm, as dotted horizontal lines.
    fn add_paper_lines(&self, plot: &mut Plot, xs: &[f64]) {
        let places: Vec<Position> = if self.result.x.is_some() {
            let low = xs.iter().copied().fold(f64::INFINITY, f64::min);
            let high = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            [low, high].map(|x| Position::Number(x * self.x_scale.factor)).into()
        } else {
            self.result.arms.0.iter().map(|of| self.position(&of.arm, None)).collect()
        };
        for line in &self.result.lines {
            let name = format!("{}: {}", line.label, value(&self.result.y.metric, line.value));
            let trace = chart::horizontal_line(&places, line.value * self.y_scale.factor, &name);
            plot.add_trace(of_paper(trace.legend_group(REPORTED)));
        }
    }
}

/// Adds the title of the legend's group of reported values.
fn of_paper(trace: Box<chart::CurveTrace>) -> Box<chart::CurveTrace> {
    trace.legend_group_title(LegendGroupTitle::with_text("the paper"))
}
