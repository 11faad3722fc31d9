//! One run over time: the time–sequence plot and the congestion window.

mod for_print;
mod initial_span;

use driftway_base::Instant;
use driftway_scenario::FaultKind;
use driftway_sim::trace::{FaultEvent, FlowEvent, FlowTrace, SentSegment};
use plotly::common::{Fill, HoverInfo, Line, LineShape, Marker, MarkerSymbol, Mode};
use plotly::layout::{Axis, RangeMode};
use plotly::{Plot, Scatter};

use super::thinning::{EMPTY_SPAN, MAX_STEPS, Span, span_contains, thin};
use crate::page::figure::{Figure, GREY, PALETTE, axis, escaped, layout, rgb, rounded};
use crate::text::Scale;

/// Largest numbers of segments drawn on a page, sent first and again, of all flows together: of more, every n-th is drawn.
/// With [`MAX_STEPS`] they keep a page of any run below 2 MB, of which plotly.js has half.
const MAX_SENT: usize = 7_000;
const MAX_SENT_AGAIN: usize = 2_000;

/// A gap in a line.
const GAP: (Option<f64>, Option<f64>) = (None, None);

/// Points of a line, `None` at gaps.
pub type Points = Vec<(Option<f64>, Option<f64>)>;

/// A flow's trace, and the network's faults during it.
pub struct TimeSequencePlot<'a> {
    /// Name of the run: `atcp, 20 ms, seed 1`.
    pub name: &'a str,
    /// Trace of the flow.
    pub trace: &'a FlowTrace,
    /// Start and end of the network's faults.
    pub faults: &'a [(Instant, FaultEvent)],
    /// End of the run (s).
    pub end_s: f64,
    /// Number of flows that share the page.
    pub flows: usize,
}

impl TimeSequencePlot<'_> {
    /// Time–sequence plot: stream offset of sent, retransmitted and acknowledged data over time.
    pub fn time_sequence(&self) -> Figure {
        let mut plot = Plot::new();
        self.shade_faults(&mut plot);
        let shown = self.initial_span();
        let offsets = self.offset_range(shown);
        let scale = self.offset_scale(offsets);
        let (first, first_left_out) = self.segment_strokes(false, scale, shown);
        let (again, again_left_out) = self.segment_strokes(true, scale, shown);
        let acks = self.acknowledged(scale, shown);
        add_line(&mut plot, acks, "acknowledged", |s| {
            s.line(Line::new().color(PALETTE[2]).width(1.5).shape(LineShape::Hv))
                .hover_template("%{x} s: acknowledged up to %{y}<extra></extra>")
        });
        for (points, name, colour, width) in
            [(first, "sent", PALETTE[0], 3.0), (again, "retransmitted", PALETTE[1], 6.0)]
        {
            add_line(&mut plot, points, name, |s| {
                s.line(Line::new().color(colour).width(width).simplify(false))
                    .hover_template(format!("%{{x}} s: {name}, offset %{{y}}<extra></extra>"))
            });
        }
        let x_axis = axis("time", "s").range(vec![shown.0, shown.1]);
        let y_axis = axis("stream offset", scale.unit);
        let y_axis = match offsets {
            Some((low, high)) => {
                let room = (high - low).max(1.0) * 0.04;
                y_axis.range(vec![(low - room) * scale.factor, (high + room) * scale.factor])
            }
            None => y_axis.range_mode(RangeMode::ToZero),
        };
        plot.set_layout(layout_above_bands(x_axis, y_axis));
        let all = shown == (0.0, self.end_s);
        let window = if all {
            "Drag to zoom, double-click to see all."
        } else {
            "The plot starts with some seconds around a fault or a retransmission; double-click to \
             see all, drag to zoom."
        };
        let explanation = format!(
            "Each stroke is a segment: the time when it was sent, and the range of the stream \
                 that it covers. The line below is the highest acknowledgment that the sender \
                 received. A steep line is a high rate, a flat one an idle period; strokes below \
                 the front are retransmissions. {window}"
        );
        Figure {
            notes: [(first_left_out, "segments"), (again_left_out, "retransmissions")]
                .into_iter()
                .filter(|(step, _)| *step > 1)
                .map(|(step, what)| {
                    format!(
                        "One in {step} {what} is drawn, in the initial range more; the trace's CSV \
                         file has them all."
                    )
                })
                .collect(),
            ..Figure::new(format!("Time–sequence: {}", self.name), explanation, plot)
        }
    }

    /// Congestion window and slow-start threshold over time, with bands for the aid's states.
    pub fn congestion_window(&self) -> Figure {
        let mut plot = Plot::new();
        self.shade_states(&mut plot);
        self.shade_faults(&mut plot);
        let (scale, cwnd, ssthresh) = self.windows();
        let line = |colour, width| Line::new().color(colour).width(width).shape(LineShape::Hv);
        add_line(&mut plot, ssthresh, "ssthresh", |s| {
            s.line(line(PALETTE[4], 1.2)).hover_template("%{x} s: ssthresh %{y}<extra></extra>")
        });
        add_line(&mut plot, cwnd, "cwnd", |s| {
            s.line(line(PALETTE[0], 1.2)).hover_template("%{x} s: cwnd %{y}<extra></extra>")
        });
        for (event, name, symbol, colour) in [
            (FlowEvent::Timeout, "timeout", MarkerSymbol::X, PALETTE[1]),
            (FlowEvent::FastRetransmit, "fast retransmit", MarkerSymbol::TriangleUp, PALETTE[3]),
        ] {
            let points = self.event_points(&event, scale.factor);
            let marks = format!("{name} ({})", points.len());
            add_line(&mut plot, points, &marks, |s| {
                s.mode(Mode::Markers)
                    .marker(Marker::new().symbol(symbol).size(7).color(colour))
                    .hover_template(format!("%{{x}} s: {name}<extra></extra>"))
            });
        }
        let x_axis = axis("time", "s").range(vec![0.0, self.end_s]);
        let y_axis = axis("window", scale.unit).range_mode(RangeMode::ToZero);
        plot.set_layout(layout_above_bands(x_axis, y_axis));
        let explanation = "\
            The congestion window at each transmission of a segment. Crosses mark \
            expirations of the retransmission timer. Coloured bands are states of the aid \
            other than its normal one, grey bands are faults of the network. An aid is to \
            prevent reductions of the window without congestion.";
        Figure::new(format!("Congestion window: {}", self.name), explanation, plot)
    }

    /// The congestion window and the slow-start threshold as step lines, and their scale.
    fn windows(&self) -> (Scale, Points, Points) {
        let sent = |event: &FlowEvent| match event {
            FlowEvent::Sent(segment) => Some(*segment),
            _ => None,
        };
        let cwnds = || self.trace.events.iter().filter_map(|(_, event)| sent(event));
        let largest = cwnds().map(|s| s.cwnd).max().unwrap_or(0);
        let scale = Scale::of("_bytes", [largest.into()]);
        let cwnd =
            self.step_line(scale.factor, EMPTY_SPAN, |event| sent(event).map(|s| s.cwnd.into()));
        // The initial threshold is arbitrarily high (RFC 5681 §3.1): it would flatten the rest.
        let ssthresh = self.step_line(scale.factor, EMPTY_SPAN, |event| {
            sent(event)
                .map(|s| s.ssthresh)
                .filter(|s| *s <= largest.saturating_mul(2))
                .map(f64::from)
        });
        (scale, cwnd, ssthresh)
    }

    /// A unit for the shown range of offsets, but at least kB for offsets above 1 kB.
    fn offset_scale(&self, offsets: Option<(f64, f64)>) -> Scale {
        let size = |(low, high): (f64, f64)| (high - low).max(high.min(1e3));
        Scale::of("_bytes", offsets.map(size))
    }

    /// The highest acknowledgment as a step line.
    fn acknowledged(&self, scale: Scale, shown: Span) -> Points {
        self.step_line(scale.factor, shown, |event| match event {
            FlowEvent::Acked(to) => Some(*to as f64),
            _ => None,
        })
    }

    /// Range of the stream offsets of all events in a time span; `None` without events.
    fn offset_range(&self, times: Span) -> Option<(f64, f64)> {
        let reach = |(at, event): &(Instant, FlowEvent)| {
            if !span_contains(times, at.as_secs_f64()) {
                return None;
            }
            match event {
                FlowEvent::Sent(segment) => {
                    Some((segment.offset, segment.offset + u64::from(segment.length)))
                }
                FlowEvent::Acked(to) => Some((*to, *to)),
                _ => None,
            }
        };
        let all = self.trace.events.iter().filter_map(reach);
        all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).map(|(low, high)| (low as f64, high as f64))
    }

    fn highest_offset(&self) -> u64 {
        let end = |event: &FlowEvent| match event {
            FlowEvent::Sent(segment) => Some(segment.offset + u64::from(segment.length)),
            _ => None,
        };
        self.trace.events.iter().filter_map(|(_, event)| end(event)).max().unwrap_or(0)
    }

    fn time(&self, at: Instant) -> f64 {
        rounded(at.as_secs_f64(), self.end_s)
    }

    /// A stroke for each segment, from its first byte to its last, and the step n: outside of `shown` only every n-th segment
    /// is drawn, and within it as many as outside.
    fn segment_strokes(&self, retransmission: bool, scale: Scale, shown: Span) -> (Points, usize) {
        let all: Vec<_> = self
            .trace
            .events
            .iter()
            .filter_map(|(at, event)| match event {
                FlowEvent::Sent(s) if s.retransmission == retransmission => Some((*at, *s)),
                _ => None,
            })
            .collect();
        let most = if retransmission { MAX_SENT_AGAIN } else { MAX_SENT } / self.flows;
        let is_inside = |(at, _): &(Instant, SentSegment)| span_contains(shown, at.as_secs_f64());
        let inside = all.iter().filter(|of| is_inside(of)).count();
        let step = |count: usize, most: usize| count.div_ceil(most.max(1)).max(1);
        let (step, step_inside) = match all.len() <= most {
            true => (1, 1),
            false => (step(all.len() - inside, most / 2), step(inside, most / 2)),
        };
        let span = self.highest_offset() as f64 * scale.factor;
        let kept = all.iter().enumerate().filter(|(index, of)| {
            index.is_multiple_of(if is_inside(of) { step_inside } else { step })
        });
        let points = kept.flat_map(|(_, (at, segment))| {
            let y = |offset: u64| Some(rounded(offset as f64 * scale.factor, span));
            let x = Some(self.time(*at));
            let end = segment.offset + u64::from(segment.length);
            [(x, y(segment.offset)), (x, y(end)), GAP]
        });
        (points.collect(), step.max(step_inside))
    }

    /// A step line through the values of `read`: its steps, and within `whole` all of them.
    fn step_line(
        &self,
        factor: f64,
        whole: Span,
        read: impl Fn(&FlowEvent) -> Option<f64>,
    ) -> Points {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        let mut last = None;
        for (at, event) in &self.trace.events {
            if let Some(y) = read(event) {
                let point = (self.time(*at), rounded(y * factor, y * factor));
                if corners.last().is_none_or(|corner| corner.1 != point.1) {
                    corners.push(point);
                }
                last = Some(point);
            }
        }
        corners.extend(last);
        thin(&corners, whole, MAX_STEPS / self.flows)
            .into_iter()
            .map(|(x, y)| (Some(x), Some(y)))
            .collect()
    }

    /// Times of an event, at the height of the congestion window at that time.
    fn event_points(&self, wanted: &FlowEvent, factor: f64) -> Points {
        let mut height = 0.0;
        let mut points = Points::new();
        for (at, event) in &self.trace.events {
            if let FlowEvent::Sent(segment) = event {
                height = f64::from(segment.cwnd) * factor;
            }
            if event == wanted {
                points.push((Some(self.time(*at)), Some(height)));
            }
        }
        points
    }

    fn shade_faults(&self, plot: &mut Plot) {
        for (name, spans) in self.fault_spans() {
            add_bands(plot, &spans, name, GREY, 0.35);
        }
    }

    /// The times of each kind of fault.
    fn fault_spans(&self) -> Vec<(&'static str, Vec<Span>)> {
        let spans = fault_spans(self.faults, self.end_s);
        let mut kinds: Vec<_> = spans.iter().map(|(kind, _)| *kind).collect();
        kinds.sort_unstable_by_key(|kind| kind.name());
        kinds.dedup();
        let of_kind = |kind: FaultKind| {
            let its = spans.iter().filter(|(of, _)| *of == kind).map(|(_, span)| *span);
            (kind.name(), its.collect())
        };
        kinds.into_iter().map(of_kind).collect()
    }

    fn shade_states(&self, plot: &mut Plot) {
        for (index, (state, spans)) in self.state_spans().into_iter().enumerate() {
            add_bands(plot, &spans, state, STATE_COLOURS[index % STATE_COLOURS.len()], 0.3);
        }
    }

    /// The times of each state of the aid but the first, which is the normal one.
    fn state_spans(&self) -> Vec<(&str, Vec<Span>)> {
        let changes: Vec<(f64, &str)> = self
            .trace
            .events
            .iter()
            .filter_map(|(at, event)| match event {
                FlowEvent::AidState(state) => Some((self.time(*at), state.as_ref())),
                _ => None,
            })
            .collect();
        let Some(&(_, usual)) = changes.first() else { return Vec::new() };
        let mut states: Vec<&str> = changes.iter().map(|(_, state)| *state).collect();
        states.sort_unstable();
        states.dedup();
        states.retain(|state| *state != usual);
        let ends = changes.iter().skip(1).map(|(at, _)| *at).chain([self.end_s]);
        let spans: Vec<(&str, Span)> =
            changes.iter().zip(ends).map(|((from, state), to)| (*state, (*from, to))).collect();
        let of_state = |state| {
            (state, spans.iter().filter(|(of, _)| *of == state).map(|(_, span)| *span).collect())
        };
        states.into_iter().map(of_state).collect()
    }
}

/// The kinds and time spans of faults up to the end of a run.
pub fn fault_spans(faults: &[(Instant, FaultEvent)], end_s: f64) -> Vec<(FaultKind, Span)> {
    let time = |at: Instant| rounded(at.as_secs_f64(), end_s);
    let mut spans = Vec::new();
    let mut open: Vec<(FaultKind, u32, Instant)> = Vec::new();
    for (at, mark) in faults {
        let begun =
            |(kind, hop, _): &(FaultKind, u32, Instant)| (*kind, *hop) == (mark.kind, mark.hop);
        if mark.begins {
            open.push((mark.kind, mark.hop, *at));
        } else if let Some(index) = open.iter().position(begun) {
            spans.push((mark.kind, (time(open.remove(index).2), time(*at))));
        }
    }
    spans.extend(open.iter().map(|(kind, _, from)| (*kind, (time(*from), end_s))));
    spans
}

/// Layout with the bands on a y axis of their own, from 0 to 1, below the main one.
fn layout_above_bands(x_axis: Axis, y_axis: Axis) -> plotly::Layout {
    let below = Axis::new().visible(false).fixed_range(true).range(vec![0.0, 1.0]);
    layout().x_axis(x_axis).y_axis(y_axis.overlaying("y2")).y_axis2(below)
}

/// Colours of an aid's states, different from those of the lines above them.
const STATE_COLOURS: [&str; 4] = ["#56B4E9", "#E69F00", "#CC79A7", "#009E73"];

/// Adds bands over the whole height of the plot: one path for all of a kind, which is fast to draw
/// and can be switched off in the legend.
fn add_bands(plot: &mut Plot, spans: &[(f64, f64)], name: &str, colour: &str, opacity: f64) {
    let points = spans.iter().flat_map(|&(from, to)| {
        let corner = |x, y| (Some(x), Some(y));
        let band = [corner(from, 0.0), corner(from, 1.0), corner(to, 1.0), corner(to, 0.0)];
        band.into_iter().chain([corner(from, 0.0), GAP])
    });
    let fill = with_opacity(colour, opacity);
    add_line(plot, points.collect(), name, |s| {
        s.fill(Fill::ToSelf)
            .fill_color(fill.clone())
            .line(Line::new().width(0.5).color(fill.clone()))
            .hover_info(HoverInfo::Skip)
            .y_axis("y2")
    });
}

/// `#rrggbb` with an opacity, in the notation of plotly.js.
fn with_opacity(colour: &str, opacity: f64) -> String {
    let [red, green, blue] = rgb(colour);
    format!("rgba({red},{green},{blue},{opacity})")
}

/// Adds a line, unless it has no points.
pub fn add_line(
    plot: &mut Plot,
    points: Points,
    name: &str,
    dress: impl FnOnce(Box<LineTrace>) -> Box<LineTrace>,
) {
    if !points.is_empty() {
        let (x, y) = points.into_iter().unzip();
        plot.add_trace(dress(Scatter::new(x, y).mode(Mode::Lines).name(escaped(name))));
    }
}

pub type LineTrace = Scatter<Option<f64>, Option<f64>>;

#[cfg(test)]
mod test {
    use super::*;

    /// The segments of a fast link: no plot outgrows its share of the page.
    #[test]
    fn many_segments_are_thinned_also_in_the_initial_span() {
        let segment = |number: u64| SentSegment {
            rto: None,
            offset: number * 1000,
            length: 1000,
            retransmission: number.is_multiple_of(7),
            cwnd: (number % 90) as u32 * 1000,
            ssthresh: 0,
        };
        let mut trace = FlowTrace::default();
        for number in 0..200_000 {
            let at = Instant::from_micros(number * 500);
            trace.events.push((at, FlowEvent::Sent(segment(number))));
            trace.events.push((at, FlowEvent::Acked(number * 1000)));
        }
        for flows in [1, 12] {
            let plot =
                TimeSequencePlot { name: "", trace: &trace, faults: &[], end_s: 100.0, flows };
            let bytes = plot.time_sequence().json.len() + plot.congestion_window().json.len();
            assert!(bytes * flows < 850_000, "{flows}: {bytes}");
        }
    }

    #[test]
    fn a_colour_has_an_opacity() {
        assert_eq!(with_opacity("#0072B2", 0.3), "rgba(0,114,178,0.3)");
    }
}
