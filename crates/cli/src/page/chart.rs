//! Charts of means against an axis, with error bars and the values that papers reported.

use plotly::Scatter;
use plotly::common::{
    DashType, ErrorData, ErrorType, HoverInfo, Line, Marker, MarkerSymbol, Mode, TickMode,
};
use plotly::layout::{Axis, AxisType, RangeMode};
use serde::Serialize;

use super::figure::{GREY, axis, escaped};
use crate::text::{Scale, largest};

/// Ratio of the largest to the smallest value from which an axis is logarithmic.
const LOG_AXIS_RATIO: f64 = 30.0;

/// Largest number of powers of ten that have ticks between them.
const MAX_POWERS: usize = 6;

/// Symbols of an arm, for simulated and for reported points, so that curves differ not only by colour.
pub const SYMBOLS: [(MarkerSymbol, MarkerSymbol); 8] = [
    (MarkerSymbol::Circle, MarkerSymbol::CircleOpen),
    (MarkerSymbol::Square, MarkerSymbol::SquareOpen),
    (MarkerSymbol::Diamond, MarkerSymbol::DiamondOpen),
    (MarkerSymbol::TriangleUp, MarkerSymbol::TriangleUpOpen),
    (MarkerSymbol::Cross, MarkerSymbol::CrossOpen),
    (MarkerSymbol::TriangleDown, MarkerSymbol::TriangleDownOpen),
    (MarkerSymbol::Star, MarkerSymbol::StarOpen),
    (MarkerSymbol::X, MarkerSymbol::XOpen),
];

/// Key of the legend's group of reported values.
pub const REPORTED: &str = "reported";

/// A position on the x axis: a number, or a category.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub enum Position {
    /// A number in the axis' unit.
    Number(f64),
    /// The name of a category.
    Category(String),
}

/// The trace of a curve, to which a legend's group can be added.
pub type CurveTrace = Scatter<Position, f64>;

/// Means with their intervals. Numeric positions are connected by lines, categories are not.
pub struct MeanCurve {
    /// Name in the legend, escaped.
    pub name: String,
    /// Colour.
    pub colour: String,
    /// Symbol of its points.
    pub symbol: MarkerSymbol,
    /// Positions, means and half-widths of the intervals, in the units of the axes.
    pub points: Vec<(Position, f64, f64)>,
    /// Description of each point, escaped.
    pub hover: Vec<String>,
    /// True if lines connect the points.
    pub connected: bool,
}

impl MeanCurve {
    /// The curve as a trace.
    pub fn trace(self) -> Box<CurveTrace> {
        let intervals = self.points.iter().map(|(_, mean, half)| (*mean, *half)).collect();
        let (x, y) = self.points.into_iter().map(|(x, y, _)| (x, y)).unzip();
        let trace = CurveTrace::new(x, y)
            .mode(mode(self.connected))
            .name(self.name)
            .marker(Marker::new().symbol(self.symbol).size(8).color(self.colour.clone()))
            .error_y(error_bars(intervals, &self.colour))
            .hover_text_array(self.hover)
            .hover_info(HoverInfo::Text);
        match self.connected {
            true => trace.line(Line::new().color(self.colour).width(2.0)),
            false => trace,
        }
    }
}

/// A curve that a paper reported, dashed and with hollow symbols.
pub fn reported_curve(
    (x, y): (Vec<Position>, Vec<f64>),
    connected: bool,
    (colour, symbol, size): (String, MarkerSymbol, usize),
) -> Box<CurveTrace> {
    let line = Line::new().color(colour.clone()).width(1.5).dash(DashType::Dash);
    let trace = CurveTrace::new(x, y)
        .mode(mode(connected))
        .marker(Marker::new().symbol(symbol).size(size).color(colour))
        .legend_group(REPORTED);
    if connected { trace.line(line) } else { trace }
}

/// A dotted horizontal line.
pub fn horizontal_line(places: &[Position], y: f64, name: &str) -> Box<CurveTrace> {
    CurveTrace::new(places.to_vec(), vec![y; places.len()])
        .mode(Mode::Lines)
        .name(escaped(name))
        .line(Line::new().color(GREY).width(1.5).dash(DashType::Dot))
}

fn mode(connected: bool) -> Mode {
    if connected { Mode::LinesMarkers } else { Mode::Markers }
}

/// Vertical error bars of these means and half-widths. No value that is drawn can be negative, so that the bar of a
/// positive mean ends at zero.
pub fn error_bars(intervals: Vec<(f64, f64)>, colour: &str) -> ErrorData {
    let below = |(mean, half): &(f64, f64)| if *mean < 0.0 { *half } else { half.min(*mean) };
    let minus = intervals.iter().map(below).collect();
    let plus = intervals.into_iter().map(|(_, half)| half).collect();
    let bars = ErrorData::new(ErrorType::Data).symmetric(false).array(plus).array_minus(minus);
    bars.color(colour.to_owned()).thickness(2.0).width(6)
}

/// Half of an interval; 0 without one.
pub fn half_width(interval: Option<[f64; 2]>) -> f64 {
    interval.map_or(0.0, |[low, high]| (high - low) / 2.0)
}

/// The y axis of these values in their base unit: logarithmic if they span orders of magnitude, otherwise from
/// zero.
pub fn value_axis(label: &str, scale: Scale, values: &[f64]) -> Axis {
    let plain = axis(label, scale.unit);
    if spans_magnitudes(values) {
        logarithmic(plain, scale, values)
    } else {
        plain.range_mode(RangeMode::ToZero)
    }
}

/// The x axis of these values in their base unit: logarithmic if they span orders of magnitude.
pub fn number_axis(label: &str, scale: Scale, values: &[f64]) -> Axis {
    let plain = axis(label, scale.unit);
    if spans_magnitudes(values) { logarithmic(plain, scale, values) } else { plain }
}

/// The x axis of this many categories.
pub fn category_axis(count: usize) -> Axis {
    axis("", "").type_(AxisType::Category).range(vec![-0.5, count as f64 - 0.5])
}

fn spans_magnitudes(values: &[f64]) -> bool {
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    smallest > 0.0 && largest(values.iter().copied()) / smallest >= LOG_AXIS_RATIO
}

/// Makes an axis logarithmic, with ticks at 1, 2 and 5 of each power of ten: a part of the values, which may be all that
/// is shown, can lie between two powers.
fn logarithmic(axis: Axis, scale: Scale, values: &[f64]) -> Axis {
    let values = || values.iter().map(|value| value * scale.factor);
    let ticks = log_ticks(values().fold(f64::INFINITY, f64::min), largest(values()));
    let text = ticks.iter().map(|tick| format!("{tick}")).collect();
    axis.type_(AxisType::Log).tick_mode(TickMode::Array).tick_values(ticks).tick_text(text)
}

/// The power of ten that is not above this positive value, from its scientific notation.
fn power_of_ten(value: f64) -> i32 {
    let text = format!("{value:e}");
    text.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or_default()
}

/// The ticks around these values: at 1, 2 and 5 of each power of ten, or at the powers alone if there are many.
fn log_ticks(least: f64, most: f64) -> Vec<f64> {
    let powers = power_of_ten(least)..=power_of_ten(most) + 1;
    let digits: &[u32] = if powers.clone().count() > MAX_POWERS { &[1] } else { &[1, 2, 5] };
    let tick = |power: i32| digits.iter().map(move |digit| format!("{digit}e{power}"));
    // Parsed, so that 0.2 is the number that is nearest to it.
    powers.flat_map(tick).filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn no_error_bar_ends_below_zero() {
        let bars = error_bars(vec![(5.0, 2.0), (1.0, 3.0), (-1.0, 2.0)], "#000");
        let json = serde_json::to_value(bars).unwrap();
        assert_eq!(json["array"], serde_json::json!([2.0, 3.0, 2.0]));
        assert_eq!(json["arrayminus"], serde_json::json!([2.0, 1.0, 2.0]));
    }

    #[test]
    fn ticks_are_in_the_unit_of_the_axis() {
        let scale = Scale { factor: 1e-3, unit: "kbit/s" };
        let json = serde_json::to_value(value_axis("throughput", scale, &[300.0, 20_000.0]));
        assert_eq!(json.unwrap()["tickvals"][0], 0.1);
    }

    #[test]
    fn a_logarithmic_axis_has_ticks_between_powers() {
        let ticks = log_ticks(0.3, 20.0);
        assert_eq!(ticks, [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0]);
        assert_eq!(log_ticks(2e-4, 900.0), [1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(log_ticks(1.0, 1.5), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    }
}
