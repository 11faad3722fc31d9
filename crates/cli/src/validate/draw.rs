//! Figures of the validation.

use driftway_sim::results::Estimate;
use plotly::Plot;
use plotly::common::{DashType, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, RangeMode};

use super::compared_value::ComparedValues;
use crate::page::chart::{CurveTrace, Position, error_bars, half_width, horizontal_line};
use crate::page::figure::{Figure, PALETTE, axis, escaped, layout};
use driftway_experiment::validation::compare::Interval;
use driftway_experiment::validation::document::{CaseResult, PointResult, ValidationDocument};
use driftway_experiment::validation::run_metrics::METRICS;

/// Chain cases that are plotted together: with the options of ns-2, and as in the standards.
const CHAINS: [(&str, &str); 2] =
    [("chain-static-w8", "as in ns-2.35"), ("chain-standard", "as in the standards")];

/// Plot of goodput against the number of hops of a chain, in all four simulations; `None` if a case was
/// not run.
pub fn chains(document: &ValidationDocument) -> Option<Figure> {
    let mut plot = Plot::new();
    for ((name, how), colour) in CHAINS.into_iter().zip(PALETTE) {
        let case = document.cases.iter().find(|case| case.name == name)?;
        let goodput = |read: fn(&PointResult) -> Option<Estimate>| {
            values(case.points.iter().map(|point| (&point.name, read(point).map(interval))), 1e3)
        };
        let ours = goodput(|point| point.metrics[METRICS[0].name].ours);
        let theirs = goodput(|point| point.metrics[METRICS[0].name].theirs);
        let name = format!("driftway, {how}");
        for (points, name, symbol, dash) in [
            (ours, name.as_str(), MarkerSymbol::Circle, DashType::Solid),
            (theirs, case.against.name(), MarkerSymbol::SquareOpen, DashType::Dash),
        ] {
            let line = Line::new().color(colour).width(2.0).dash(dash);
            let trace = with_bars(points, name, colour).mode(Mode::LinesMarkers).line(line);
            plot.add_trace(trace.marker(Marker::new().symbol(symbol).size(9).color(colour)));
        }
    }
    let y = axis("goodput", "kbit/s").range_mode(RangeMode::ToZero);
    plot.set_layout(layout().x_axis(axis("hops", "")).y_axis(y));
    let explanation = "\
        Static routes, nodes 200 m apart, 2 Mbit/s, window 8. Hollow symbols are the other \
        simulators.";
    Some(Figure::new("Goodput of a chain against its number of hops", explanation, plot))
}

/// Plot of the log ratio of goodput, for each movement file.
pub fn log_ratios(case: &CaseResult) -> Figure {
    let points = values(case.points.iter().map(|point| (&point.name, point.log_ratio)), 1.0);
    let all = "all".to_owned();
    let mut places: Vec<Position> = points.iter().map(|(place, ..)| place.clone()).collect();
    places.push(Position::Category(all.clone()));
    let mut plot = Plot::new();
    plot.add_trace(with_bars(points, "each point, over its seeds", PALETTE[0]));
    if case.log_ratio.is_some() {
        let log = values([(&all, case.log_ratio)], 1.0);
        plot.add_trace(with_bars(log, "all points", PALETTE[1]));
    }
    for (at, name) in [(0.0, ""), (libm::log(0.9), "± 10 %"), (libm::log(1.1), "")] {
        plot.add_trace(horizontal_line(&places, at, name).show_legend(!name.is_empty()));
    }
    let x_axis = axis(&case.axis, "").type_(AxisType::Category);
    plot.set_layout(layout().x_axis(x_axis).y_axis(axis("log ratio of goodput", "")));
    let title = format!("{}: driftway against {}", case.title, case.against.name());
    let explanation = "\
        Mean of the logarithm of driftway's goodput minus that of the other simulator's: 0 is \
        equal, 0.1 is about 10 % more. Bars are 90 % intervals.";
    Figure::new(title, explanation, plot)
}

/// Plot of the measured value divided by that of a formula or a publication.
pub fn ratios(of: &ComparedValues<'_>) -> Figure {
    let ratios = of.points.iter().map(|point| (point.name, point.ratio));
    let as_set = of.points.iter().map(|point| (point.name, point.ratio_as_set));
    let (ratios, as_set) = (values(ratios, 1.0), values(as_set, 1.0));
    let places: Vec<Position> = ratios.iter().map(|(place, ..)| place.clone()).collect();
    let mut plot = Plot::new();
    plot.add_trace(with_bars(ratios, &format!("measured / {}", of.reference), PALETTE[0]));
    if !as_set.is_empty() {
        let name = "measured / formula, configured loss and RTT";
        plot.add_trace(with_bars(as_set, name, PALETTE[1]));
    }
    plot.add_trace(horizontal_line(&places, 1.0, "").show_legend(false));
    let x_axis = axis("", "").type_(AxisType::Category);
    plot.set_layout(layout().x_axis(x_axis).y_axis(axis("ratio", "")));
    let explanation = format!(
        "Measured value divided by that of the {}, with 90 % intervals.",
        of.reference_noun()
    );
    Figure::new(of.title.to_owned(), explanation, plot)
}

fn interval(of: Estimate) -> Interval {
    Interval { mean: of.mean, ci90: of.ci90 }
}

/// The known values with the half-widths of their intervals, divided by `unit`.
fn values<'a>(
    points: impl IntoIterator<Item = (&'a String, Option<Interval>)>,
    unit: f64,
) -> Vec<(Position, f64, f64)> {
    let value = |(name, of): (&String, Option<Interval>)| {
        let Interval { mean, ci90 } = of?;
        Some((Position::Category(name.clone()), mean / unit, half_width(ci90) / unit))
    };
    points.into_iter().filter_map(value).collect()
}

fn with_bars(points: Vec<(Position, f64, f64)>, name: &str, colour: &str) -> Box<CurveTrace> {
    let intervals = points.iter().map(|(_, mean, half)| (*mean, *half)).collect();
    let (x, y) = points.into_iter().map(|(x, y, _)| (x, y)).unzip();
    CurveTrace::new(x, y)
        .mode(Mode::Markers)
        .name(escaped(name))
        .marker(Marker::new().size(9).color(colour.to_owned()))
        .error_y(error_bars(intervals, colour))
}
