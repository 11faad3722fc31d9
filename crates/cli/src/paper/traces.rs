//! Plots of one run over time: sequence number, congestion window or RTO of the arms of a figure.

use driftway_sim::trace::{FlowEvent, FlowTrace, SentSegment};
use plotly::common::{HoverInfo, Line, LineShape, Marker, MarkerSymbol, Mode};
use plotly::layout::RangeMode;
use plotly::{Plot, Scatter};

use super::draw::{ArmStyle, arm_style, group_title};
use crate::page::figure::{Figure, axis, escaped, layout, rounded};
use crate::text::{Scale, capitalized};
use driftway_experiment::study::check::axis_position;
use driftway_experiment::study::format::{
    Arm, Figure as StudyFigure, Study, TraceAxis, TracePlot, TraceView,
};
use driftway_experiment::study::results::Results;
use driftway_experiment::study::select::TracedRun;

/// Largest number of segments drawn per arm; of more, every n-th is drawn.
const MAX_SEGMENTS: usize = 10_000;

/// Largest number of segments that are drawn as markers.
const MAX_MARKERS: usize = 3_000;

/// File name of a trace.
pub fn file_name(traced: &TracedRun) -> String {
    let (figure, arm) = (file_name_part(&traced.figure), file_name_part(&traced.arm.name));
    format!("trace-figure-{figure}-{arm}-seed-{}.csv", traced.seed)
}

/// Replaces all but letters and digits, for a portable file name.
fn file_name_part(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect()
}

/// Trace plots of the figure with this index.
pub fn figures(study: &Study, results: &Results, about: &StudyFigure) -> Vec<Figure> {
    let Some(trace) = &about.trace else { return Vec::new() };
    let of_figure = results.traces.iter().filter(|(traced, _)| traced.figure == about.id);
    let traces: Vec<_> = of_figure.collect();
    let seed = trace.seed.unwrap_or(study.first_seed);
    trace.draw.iter().map(|&draw| figure(trace, seed, draw, &traces)).collect()
}

/// A segment and its x: the time when it was sent, or its number among the transmissions.
type PlacedSegment<'a> = (f64, &'a SentSegment);

/// Labels of the y axis, the metric whose unit it has, and an explanation.
const fn description(draw: TracePlot) -> (&'static str, &'static str, &'static str) {
    match draw {
        TracePlot::Sequence => (
            "sequence number",
            "_bytes",
            "Each marker is a segment at the time it was sent: a step down is a retransmission, a \
             long flat line an idle period. Crosses are timeouts.",
        ),
        TracePlot::Cwnd => {
            ("congestion window", "_bytes", "At each transmission of data. Crosses are timeouts.")
        }
        TracePlot::Rto => (
            "retransmission timeout",
            "_s",
            "At each transmission of data, with back-off. Crosses are timeouts.",
        ),
    }
}

/// One plot of all arms of a figure.
fn figure(
    trace: &TraceView,
    seed: u64,
    draw: TracePlot,
    traces: &[&(TracedRun, FlowTrace)],
) -> Figure {
    let windows: Vec<_> = traces.iter().map(|(_, flow)| shown_segments(trace, flow)).collect();
    let (label, metric, explanation) = description(draw);
    let read = |segment: &SentSegment| match draw {
        TracePlot::Sequence => Some(segment.offset as f64),
        TracePlot::Cwnd => Some(f64::from(segment.cwnd)),
        TracePlot::Rto => segment.rto.map(driftway_base::Duration::as_secs_f64),
    };
    let all = || windows.iter().flatten();
    let scale = Scale::of(metric, all().filter_map(|(_, s)| read(s)));
    let span = all().map(|(x, _)| *x).fold(0.0, f64::max);
    let place = |(x, s): &PlacedSegment<'_>| Some((rounded(*x, span), read(s)? * scale.factor));
    let mut plot = Plot::new();
    let mut notes = Vec::new();
    for (sent, (TracedRun { arm, .. }, flow)) in windows.iter().zip(traces) {
        let step = sent.len().div_ceil(MAX_SEGMENTS).max(1);
        if step > 1 {
            notes.push(format!("{}: one in {step} segments is drawn.", arm.label));
        }
        let points: Vec<_> = sent.iter().step_by(step).filter_map(place).collect();
        let (mode, shape) = match draw {
            _ if sent.len() > MAX_MARKERS => (Mode::Lines, LineShape::Hv),
            TracePlot::Sequence => (Mode::LinesMarkers, LineShape::Linear),
            TracePlot::Cwnd | TracePlot::Rto => (Mode::LinesMarkers, LineShape::Hv),
        };
        let timeouts: Vec<_> = shown_timeouts(trace, flow).iter().filter_map(place).collect();
        add_arm(&mut plot, arm, points, (mode, shape));
        if !timeouts.is_empty() {
            add_timeouts(&mut plot, arm, timeouts);
        }
    }
    let (x_label, unit) = match trace.against {
        TraceAxis::Time => ("time", "s"),
        TraceAxis::Transmission => ("transmission", ""),
    };
    let y_axis = axis(label, scale.unit);
    let y_axis = match draw {
        TracePlot::Sequence => y_axis,
        TracePlot::Cwnd | TracePlot::Rto => y_axis.range_mode(RangeMode::ToZero),
    };
    plot.set_layout(layout().height(520).x_axis(axis(x_label, unit)).y_axis(y_axis));
    let title = format!("{}, seed {seed}", capitalized(label));
    Figure { notes, ..Figure::new(title, explanation, plot) }
}

fn add_arm(plot: &mut Plot, arm: &Arm, points: Vec<(f64, f64)>, (mode, shape): (Mode, LineShape)) {
    let ArmStyle { colour, symbol, .. } = arm_style(arm);
    let (x, y) = points.into_iter().unzip();
    plot.add_trace(
        Scatter::new(x, y)
            .mode(mode)
            .name(escaped(&arm.label))
            .legend_group(&*arm.group)
            .legend_group_title(group_title(arm))
            .line(Line::new().color(colour.clone()).width(1.2).shape(shape))
            .marker(Marker::new().color(colour).symbol(symbol).size(4)),
    );
}

fn add_timeouts(plot: &mut Plot, arm: &Arm, points: Vec<(f64, f64)>) {
    let ArmStyle { colour, .. } = arm_style(arm);
    let line = Line::new().color(colour.clone()).width(2.0);
    let marker = Marker::new().symbol(MarkerSymbol::XThin).size(12).color(colour).line(line);
    let (x, y) = points.into_iter().unzip();
    plot.add_trace(
        Scatter::new(x, y)
            .mode(Mode::Markers)
            .name(format!("{}: timeouts", escaped(&arm.label)))
            .legend_group(&*arm.group)
            .hover_info(HoverInfo::Name)
            .marker(marker),
    );
}

/// Segments sent in the part of the trace that is shown.
fn shown_segments<'a>(trace: &TraceView, flow: &'a FlowTrace) -> Vec<PlacedSegment<'a>> {
    let sent = flow.events.iter().filter_map(|(at, event)| match event {
        FlowEvent::Sent(segment) => Some((at.as_secs_f64(), segment)),
        _ => None,
    });
    let placed = sent.enumerate().map(|(before, (at, segment))| match trace.against {
        TraceAxis::Time => (at, segment),
        TraceAxis::Transmission => ((before + 1) as f64, segment),
    });
    placed.filter(|(x, _)| is_shown(trace, *x)).collect()
}

/// Timeouts in the part of the trace that is shown, each with the next segment sent.
fn shown_timeouts<'a>(trace: &TraceView, flow: &'a FlowTrace) -> Vec<PlacedSegment<'a>> {
    let (mut found, mut waiting, mut before) = (Vec::new(), Vec::new(), 0_u64);
    for (at, event) in &flow.events {
        match event {
            FlowEvent::Timeout => waiting.push(at.as_secs_f64()),
            FlowEvent::Sent(segment) => {
                before += 1;
                found.extend(waiting.drain(..).map(|at| match trace.against {
                    TraceAxis::Time => (at, segment),
                    TraceAxis::Transmission => (before as f64, segment),
                }));
            }
            _ => {}
        }
    }
    found.retain(|(x, _)| is_shown(trace, *x));
    found
}

fn is_shown(trace: &TraceView, x: f64) -> bool {
    let end = |end: &Option<_>| end.as_ref().and_then(axis_position).map(|(value, _)| value);
    end(&trace.from).is_none_or(|from| x >= from) && end(&trace.to).is_none_or(|to| x <= to)
}

#[cfg(test)]
mod test {
    use driftway_base::{Duration, Instant};
    use driftway_scenario::Coordinate;

    use super::*;

    fn flow() -> FlowTrace {
        let mut flow = FlowTrace::default();
        for second in 0..10 {
            let segment = SentSegment {
                offset: second * 100,
                length: 100,
                retransmission: false,
                cwnd: 100,
                ssthresh: 900,
                rto: Some(Duration::from_secs(second)),
            };
            if second == 6 {
                flow.timeout(Instant::from_millis(5_500));
            }
            flow.sent(Instant::from_secs(second), segment);
        }
        flow
    }

    fn trace(against: TraceAxis, from: &str, to: &str) -> TraceView {
        let end = |text: &str| (!text.is_empty()).then(|| Coordinate::Quantity(text.to_owned()));
        let draw = vec![TracePlot::Sequence];
        TraceView { draw, flow: 0, seed: None, against, from: end(from), to: end(to) }
    }

    #[test]
    fn the_shown_part_is_given_by_times_or_transmissions() {
        let flow = flow();
        let xs = |trace: &TraceView| {
            shown_segments(trace, &flow).iter().map(|(x, _)| *x).collect::<Vec<_>>()
        };
        assert_eq!(xs(&trace(TraceAxis::Time, "7 s", "")), [7.0, 8.0, 9.0]);
        assert_eq!(xs(&trace(TraceAxis::Time, "", "1500 ms")), [0.0, 1.0]);
        assert_eq!(xs(&trace(TraceAxis::Transmission, "9", "10")), [9.0, 10.0]);
        let first = shown_segments(&trace(TraceAxis::Transmission, "9", "10"), &flow)[0].1.offset;
        assert_eq!(first, 800);
    }

    #[test]
    fn a_timeout_has_its_time_and_the_next_segment() {
        let flow = flow();
        let found = |trace: &TraceView| -> Vec<(f64, u64)> {
            shown_timeouts(trace, &flow).iter().map(|(x, s)| (*x, s.offset)).collect()
        };
        assert_eq!(found(&trace(TraceAxis::Time, "", "")), [(5.5, 600)]);
        assert_eq!(found(&trace(TraceAxis::Transmission, "", "")), [(7.0, 600)]);
        assert_eq!(found(&trace(TraceAxis::Time, "6 s", "")), []);
    }
}
