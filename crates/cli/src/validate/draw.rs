//! Plots of the comparison with other simulators and theory.

use driftway_sim::results::Estimate;
use plotly::common::{DashType, ErrorData, ErrorType, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, RangeMode};
use plotly::{Plot, Scatter};

use crate::report::figure::{Figure, GREY, PALETTE, axis, escaped, layout, plotly_json};
use driftway_experiment::validation::compare::Interval;
use driftway_experiment::validation::document::{CaseResult, Document, FormulaResult, PointResult};
use driftway_experiment::validation::run_metrics::METRICS;

/// Chain cases that are plotted together: with the options of ns-2, and as in the standards.
const CHAINS: [(&str, &str); 2] =
    [("chain-static-w8", "as in ns-2.35"), ("chain-standard", "as in the standards")];

/// Style of a line with symbols.
struct SeriesStyle {
    name: String,
    colour: &'static str,
    symbol: MarkerSymbol,
    dash: DashType,
}

/// Plot of goodput against the number of hops of a chain, in all four simulations; `None` if a case was
/// not run.
pub fn chains(document: &Document) -> Option<Figure> {
    let mut plot = Plot::new();
    for (number, (name, how)) in CHAINS.into_iter().enumerate() {
        let case = document.cases.iter().find(|case| case.name == name)?;
        let colour = PALETTE[number];
        let ours = SeriesStyle {
            name: format!("driftway, {how}"),
            colour,
            symbol: MarkerSymbol::Circle,
            dash: DashType::Solid,
        };
        add_series(&mut plot, case, &ours, |point| point.metrics[METRICS[0].name].ours);
        let theirs = SeriesStyle {
            name: case.against.name().to_owned(),
            colour,
            symbol: MarkerSymbol::SquareOpen,
            dash: DashType::Dash,
        };
        add_series(&mut plot, case, &theirs, |point| point.metrics[METRICS[0].name].theirs);
    }
    let y = axis("goodput", "kbit/s").range_mode(RangeMode::ToZero);
    plot.set_layout(layout().x_axis(axis("hops", "")).y_axis(y));
    Some(Figure {
        title: "Goodput of a chain against its number of hops".to_owned(),
        explanation:
            "Static routes, nodes 200 m apart, 2 Mbit/s, window 8. Hollow symbols are the other \
              simulators."
                .to_owned(),
        notes: Vec::new(),
        json: plotly_json(plot),
        numbers: None,
        extra_table: None,
    })
}

fn add_series(
    plot: &mut Plot,
    case: &CaseResult,
    series: &SeriesStyle,
    read: impl Fn(&PointResult) -> Option<Estimate>,
) {
    let points = case.points.iter().filter_map(|point| {
        let of = read(point)?;
        let half = of.ci90.map_or(0.0, |[low, high]| (high - low) / 2.0);
        Some((point.name.clone(), of.mean / 1e3, half / 1e3))
    });
    let (mut x, mut y, mut halves) = (Vec::new(), Vec::new(), Vec::new());
    for (name, mean, half) in points {
        x.push(name);
        y.push(mean);
        halves.push(half);
    }
    plot.add_trace(
        Scatter::new(x, y)
            .mode(Mode::LinesMarkers)
            .name(escaped(&series.name))
            .marker(Marker::new().symbol(series.symbol.clone()).size(9).color(series.colour))
            .line(Line::new().color(series.colour).width(2.0).dash(series.dash.clone()))
            .error_y(error_bars(halves, series.colour)),
    );
}

fn error_bars(halves: Vec<f64>, colour: &'static str) -> ErrorData {
    ErrorData::new(ErrorType::Data).array(halves).color(colour).thickness(2.0).width(6)
}

/// Plot of the log ratio of goodput, for each movement file.
pub fn log_ratios(case: &CaseResult) -> Figure {
    let points: Vec<(String, Interval)> = case
        .points
        .iter()
        .filter_map(|point| Some((point.name.clone(), point.log_ratio?)))
        .collect();
    let mut plot = Plot::new();
    let names: Vec<String> = points.iter().map(|(name, _)| name.clone()).collect();
    let all = "all".to_owned();
    let places: Vec<String> = names.iter().cloned().chain([all.clone()]).collect();
    add_intervals(&mut plot, &points, "each point, over its seeds", PALETTE[0]);
    if let Some(log) = case.log_ratio {
        add_intervals(&mut plot, &[(all, log)], "all points", PALETTE[1]);
    }
    for (at, name) in [(0.0, ""), (libm::log(0.9), "± 10 %"), (libm::log(1.1), "")] {
        add_horizontal_line(&mut plot, &places, at, name);
    }
    plot.set_layout(
        layout()
            .x_axis(axis(&case.axis, "").type_(AxisType::Category))
            .y_axis(axis("log ratio of goodput", "")),
    );
    Figure {
        title: format!("{}: driftway against {}", case.title, case.against.name()),
        explanation:
            "Mean of the logarithm of driftway's goodput minus that of the other simulator's: 0 is \
              equal, 0.1 is about 10 % more. Bars are 90 % intervals."
                .to_owned(),
        notes: Vec::new(),
        json: plotly_json(plot),
        numbers: None,
        extra_table: None,
    }
}

/// Plot of the measured value divided by that of a formula.
pub fn formula(of: &FormulaResult) -> Figure {
    let ratio = |ratio: Estimate| Interval { mean: ratio.mean, ci90: ratio.ci90 };
    let points: Vec<(String, Interval)> = of
        .points
        .iter()
        .filter_map(|point| Some((point.name.clone(), ratio(point.ratio?))))
        .collect();
    let places: Vec<String> = points.iter().map(|(name, _)| name.clone()).collect();
    let mut plot = Plot::new();
    add_intervals(&mut plot, &points, "measured / formula", PALETTE[0]);
    let as_set: Vec<(String, Interval)> = of
        .points
        .iter()
        .filter_map(|point| Some((point.name.clone(), ratio(point.ratio_as_set?))))
        .collect();
    if !as_set.is_empty() {
        add_intervals(
            &mut plot,
            &as_set,
            "measured / formula, configured loss and RTT",
            PALETTE[1],
        );
    }
    add_horizontal_line(&mut plot, &places, 1.0, "");
    plot.set_layout(
        layout().x_axis(axis("", "").type_(AxisType::Category)).y_axis(axis("ratio", "")),
    );
    Figure {
        title: of.title.clone(),
        explanation: "Measured value divided by the formula's, with 90 % intervals.".to_owned(),
        notes: Vec::new(),
        json: plotly_json(plot),
        numbers: None,
        extra_table: None,
    }
}

fn add_intervals(plot: &mut Plot, points: &[(String, Interval)], name: &str, colour: &'static str) {
    let half = |of: &Interval| of.ci90.map_or(0.0, |[low, high]| (high - low) / 2.0);
    let (x, y): (Vec<String>, Vec<f64>) =
        points.iter().map(|(name, of)| (name.clone(), of.mean)).unzip();
    plot.add_trace(
        Scatter::new(x, y)
            .mode(Mode::Markers)
            .name(escaped(name))
            .marker(Marker::new().size(9).color(colour))
            .error_y(error_bars(points.iter().map(|(_, of)| half(of)).collect(), colour)),
    );
}

/// Adds a dotted horizontal line.
fn add_horizontal_line(plot: &mut Plot, places: &[String], at: f64, name: &str) {
    plot.add_trace(
        Scatter::new(places.to_vec(), vec![at; places.len()])
            .mode(Mode::Lines)
            .name(escaped(name))
            .show_legend(!name.is_empty())
            .line(Line::new().color(GREY).width(1.5).dash(DashType::Dot)),
    );
}
