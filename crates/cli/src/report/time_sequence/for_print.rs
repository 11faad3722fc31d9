//! The plots of a run for print.

use super::{Points, TimeSequencePlot};
use crate::figures::drawing::{Colour, INK, Pen, pen};
use crate::figures::style::ArmStyle;
use crate::figures::traces::{Extent, Part, TraceChart};
use crate::page::figure::{PALETTE, rgb};
use crate::text::{Scale, capitalized, title_with_unit};
use driftway_sim::trace::FlowEvent;

/// Tints of bands, from the palest.
const TINTS: [Colour; 4] =
    [[0xe6, 0xe9, 0xec], [0xcf, 0xe3, 0xf2], [0xfb, 0xe3, 0xc4], [0xd2, 0xeb, 0xdf]];

impl TimeSequencePlot<'_> {
    /// Time–sequence plot of the time that the page shows at first.
    pub fn time_sequence_for_print(&self) -> TraceChart {
        let shown = self.initial_span();
        let offsets = self.offset_range(shown);
        let scale = self.offset_scale(offsets);
        let (low, high) = offsets.map_or((0.0, 1.0), |(low, high)| {
            let room = (high - low).max(1.0) * 0.04;
            ((low - room).max(0.0) * scale.factor, (high + room) * scale.factor)
        });
        let acks = self.acknowledged(scale, shown);
        let (first, _) = self.segment_strokes(false, scale, shown);
        let (again, _) = self.segment_strokes(true, scale, shown);
        let mut parts = self.fault_parts();
        let line = |colour: &str, width| pen(rgb(colour), width);
        parts.push(("acknowledged".to_owned(), steps(line(PALETTE[2], 0.7), acks)));
        parts.push(("sent".to_owned(), Part::Lines(line(PALETTE[0], 1.0), lines(first))));
        parts.push(("retransmitted".to_owned(), Part::Lines(line(PALETTE[1], 2.2), lines(again))));
        TraceChart {
            x: time_axis(shown),
            y: extent("stream offset", scale, low, high),
            parts: drawn(parts),
        }
    }

    /// Congestion window and slow-start threshold over the whole run.
    pub fn congestion_window_for_print(&self) -> TraceChart {
        let (scale, cwnd, ssthresh) = self.windows();
        let values = cwnd.iter().chain(&ssthresh).filter_map(|(_, y)| *y);
        let high = values.fold(0.0, f64::max);
        let events = |event: &FlowEvent| {
            let points = self.event_points(event, scale.factor);
            points.into_iter().filter_map(|(x, y)| x.zip(y)).collect::<Vec<_>>()
        };
        let mut parts = self.state_parts();
        parts.extend(self.fault_parts());
        let dashed = Pen { dash: &[4.0, 2.0], ..pen(INK, 0.6) };
        parts.push(("ssthresh".to_owned(), steps(dashed, ssthresh)));
        parts.push(("cwnd".to_owned(), steps(pen(rgb(PALETTE[0]), 0.7), cwnd)));
        let timeouts = Part::Marks(ArmStyle::of_arm(6), events(&FlowEvent::Timeout));
        parts.push(("timeout".to_owned(), timeouts));
        let again = Part::Marks(ArmStyle::of_arm(2), events(&FlowEvent::FastRetransmit));
        parts.push(("fast retransmit".to_owned(), again));
        let high = if high > 0.0 { high * 1.05 } else { 1.0 };
        let y = extent("window", scale, 0.0, high);
        TraceChart { x: time_axis((0.0, self.end_s)), y, parts: drawn(parts) }
    }

    fn fault_parts(&self) -> Vec<(String, Part)> {
        let spans = self.fault_spans().into_iter();
        spans.map(|(name, spans)| (name.to_owned(), Part::Bands(TINTS[0], spans))).collect()
    }

    fn state_parts(&self) -> Vec<(String, Part)> {
        let states = self.state_spans().into_iter().enumerate();
        let part = |(index, (state, spans)): (usize, (&str, Vec<_>))| {
            let tint = TINTS[1 + index % (TINTS.len() - 1)];
            (state.to_owned(), Part::Bands(tint, spans))
        };
        states.map(part).collect()
    }
}

/// The parts that have something to draw.
fn drawn(parts: Vec<(String, Part)>) -> Vec<(String, Part)> {
    let is_empty = |part: &Part| match part {
        Part::Bands(_, spans) => spans.is_empty(),
        Part::Lines(_, lines) => lines.is_empty(),
        Part::Marks(_, points) => points.is_empty(),
    };
    parts.into_iter().filter(|(_, part)| !is_empty(part)).collect()
}

fn time_axis((low, high): (f64, f64)) -> Extent {
    Extent { title: "Time (s)".to_owned(), low, high: if high > low { high } else { low + 1.0 } }
}

fn extent(label: &str, scale: Scale, low: f64, high: f64) -> Extent {
    Extent { title: title_with_unit(capitalized(label), scale.unit), low, high }
}

/// The lines between gaps.
fn lines(points: Points) -> Vec<Vec<(f64, f64)>> {
    let parts = points.split(|(x, y)| x.is_none() || y.is_none());
    let line = |part: &[(Option<f64>, Option<f64>)]| -> Vec<(f64, f64)> {
        part.iter().filter_map(|(x, y)| x.zip(*y)).collect()
    };
    parts.map(line).filter(|line| !line.is_empty()).collect()
}

/// A line that keeps each value until the next, as one stroke for each step so that those outside of the shown time are
/// left out.
fn steps(pen: Pen, points: Points) -> Part {
    let points: Vec<(f64, f64)> = points.into_iter().filter_map(|(x, y)| x.zip(y)).collect();
    let step = |pair: &[(f64, f64)]| vec![pair[0], (pair[1].0, pair[0].1), pair[1]];
    Part::Lines(pen, points.windows(2).map(step).collect())
}
