//! A run on one time axis: capacity and throughput, round-trip times, queues, and congestion windows.

use driftway_base::Instant;
use driftway_sim::results::{Direction, RunDocument};
use driftway_sim::samples::{FlowSampleRow, LinkSampleRow};
use driftway_sim::trace::FaultEvent;
use plotly::Plot;
use plotly::common::{DashType, Line, LineShape};
use plotly::layout::{Axis, RangeMode, Shape, ShapeLayer, ShapeLine, ShapeType};

use super::thinning::{EMPTY_SPAN, MAX_STEPS, thin};
use super::time_sequence::{add_line, fault_spans};
use crate::flow_names::{flow_name, hop_name};
use crate::page::figure::{Figure, GREY, PALETTE, axis, layout, rounded};
use crate::text::Scale;

/// Largest number of flows, and of directions of links, that are drawn.
const MAX_FLOWS: usize = 6;
const MAX_LINKS: usize = 4;
/// Share of the busiest direction's bytes from which a direction is drawn: those of acknowledgments have less.
const LEAST_SHARE: f64 = 0.1;
/// Capacity, as a multiple of that of the narrowest link, up to which a link's is drawn: a fast one would flatten the others.
const MOST_CAPACITY: f64 = 5.0;
/// Lines of capacities, and of queues.
const DASHES: [DashType; MAX_LINKS] =
    [DashType::Solid, DashType::Dash, DashType::Dot, DashType::DashDot];
/// Height of the figure, and the parts of it that the four axes have, from the top.
const HEIGHT: usize = 860;
const DOMAINS: [[f64; 2]; 4] = [[0.74, 1.0], [0.5, 0.7], [0.25, 0.45], [0.0, 0.2]];

/// Corners of a line: time (s) and value.
type Corners = Vec<(f64, f64)>;

/// The samples of a run.
pub struct TimeLine<'a> {
    /// The results.
    pub document: &'a RunDocument,
    /// Samples of links.
    pub links: &'a [LinkSampleRow],
    /// Samples of flows.
    pub flows: &'a [FlowSampleRow],
    /// Beginnings and ends of faults.
    pub faults: &'a [(Instant, FaultEvent)],
    /// End of the run (s).
    pub end_s: f64,
}

/// One line, of the axis with this number.
struct Curve {
    axis: usize,
    name: String,
    colour: &'static str,
    dash: DashType,
    corners: Corners,
}

impl TimeLine<'_> {
    /// The figure; `None` if no sample has a value to draw.
    pub fn figure(&self, name: &str) -> Option<Figure> {
        let mut curves = Vec::new();
        let (links, more_links) = self.shown_links();
        let narrowest = links.iter().map(ShownLink::mean_capacity).fold(f64::INFINITY, f64::min);
        for (number, link) in links.iter().enumerate() {
            let curve = |axis, what: &str, corners| Curve {
                axis,
                name: format!("{what}, {}", link.name),
                colour: GREY,
                dash: DASHES[number % DASHES.len()].clone(),
                corners,
            };
            if link.mean_capacity() <= narrowest * MOST_CAPACITY {
                curves.push(curve(0, "capacity", link.capacity.clone()));
            }
            if link.queue.iter().any(|corner| corner.1 > 0.0) {
                curves.push(curve(2, "queue", link.queue.clone()));
            }
        }
        let flows = &self.document.summary.flows;
        for (number, flow) in flows.iter().enumerate().take(MAX_FLOWS) {
            let name = flow_name(self.document, flow);
            let rows = || self.flows.iter().filter(|row| row.flow as usize == number);
            let lines: [(usize, &str, Corners); 3] = [
                (0, "throughput", throughput(rows())),
                (1, "round trip", rows().filter_map(|of| Some((of.time_s, of.rtt_s?))).collect()),
                (
                    3,
                    "cwnd",
                    rows().filter_map(|of| Some((of.time_s, of.cwnd_bytes? as f64))).collect(),
                ),
            ];
            curves.extend(lines.into_iter().map(|(axis, what, corners)| Curve {
                axis,
                name: format!("{what}, {name}"),
                colour: PALETTE[number % MAX_FLOWS],
                dash: DashType::Solid,
                corners,
            }));
        }
        curves.retain(|curve| !curve.corners.is_empty());
        if curves.is_empty() {
            return None;
        }
        let more_flows = flows.len().saturating_sub(MAX_FLOWS);
        let notes = [(more_links, "directions of links"), (more_flows, "flows")]
            .into_iter()
            .filter(|(more, _)| *more > 0)
            .map(|(more, what)| format!("Not drawn: {more} more {what}; the CSV files have them."));
        let explanation = "\
            From the top: what links could carry (grey; 0 while a link is cut) and the throughput of \
            flows, both means since the sample before; the sender's smoothed round-trip times; packets \
            queued; congestion windows. Links with little traffic, such as those of acknowledgments \
            alone, and capacities of over five times the narrowest are left out. Grey bands are faults \
            of the network. Drag to zoom all four, double-click to see all.";
        Some(Figure {
            notes: notes.collect(),
            ..Figure::new(format!("Over time: {name}"), explanation, self.plot(&curves))
        })
    }

    fn plot(&self, curves: &[Curve]) -> Plot {
        let mut plot = Plot::new();
        let largest = |axis: usize| {
            let of = curves.iter().filter(move |curve| curve.axis == axis);
            of.flat_map(|curve| &curve.corners).map(|corner| corner.1).fold(0.0, f64::max)
        };
        let metrics = ["throughput_bps", "rtt_s", "", "cwnd_bytes"];
        let scales: Vec<Scale> =
            metrics.iter().enumerate().map(|(at, of)| Scale::of(of, [largest(at)])).collect();
        for curve in curves {
            let factor = scales[curve.axis].factor;
            let scaled = curve.corners.iter().map(|&(at, value)| {
                (rounded(at, self.end_s), rounded(value * factor, value * factor))
            });
            let points = thin(&scaled.collect::<Vec<_>>(), EMPTY_SPAN, MAX_STEPS);
            let points = points.into_iter().map(|(x, y)| (Some(x), Some(y))).collect();
            let axis = ["y", "y2", "y3", "y4"][curve.axis];
            // A mean holds from the sample before on.
            let shape = if curve.axis == 0 { LineShape::Vh } else { LineShape::Hv };
            let line = Line::new().color(curve.colour).width(1.4).shape(shape);
            let hover = format!("%{{x}} s: %{{y}} {}<extra></extra>", scales[curve.axis].unit);
            add_line(&mut plot, points, &curve.name, |s| {
                s.line(line.dash(curve.dash.clone())).y_axis(axis).hover_template(hover)
            });
        }
        let titles = ["throughput", "round trip", "queue", "cwnd"];
        let y_axis = |at: usize| {
            let unit = if at == 2 { "packets" } else { scales[at].unit };
            axis(titles[at], unit).range_mode(RangeMode::ToZero).domain(&DOMAINS[at])
        };
        let x_axis: Axis = axis("time", "s").range(vec![0.0, self.end_s]).anchor("y4");
        plot.set_layout(
            layout()
                .height(HEIGHT)
                .x_axis(x_axis)
                .y_axis(y_axis(0))
                .y_axis2(y_axis(1))
                .y_axis3(y_axis(2))
                .y_axis4(y_axis(3))
                .shapes(self.fault_bands()),
        );
        plot
    }

    fn fault_bands(&self) -> Vec<Shape> {
        let spans = fault_spans(self.faults, self.end_s);
        let band = |(_, (from, to)): (_, (f64, f64))| {
            Shape::new()
                .shape_type(ShapeType::Rect)
                .layer(ShapeLayer::Below)
                .x_ref("x")
                .y_ref("paper")
                .x0(from)
                .x1(to)
                .y0(0.0)
                .y1(1.0)
                .fill_color(GREY)
                .opacity(0.2)
                .line(ShapeLine::new().width(0.0))
        };
        spans.into_iter().map(band).collect()
    }

    /// The directions of links with the most traffic, in order of hops, those of equal capacity and queue as one; and
    /// the number of those left out.
    fn shown_links(&self) -> (Vec<ShownLink>, usize) {
        let mut directions: Vec<ShownLink> = Vec::new();
        let mut of_row = std::collections::BTreeMap::new();
        for row in self.links {
            let is_forward = row.direction == Direction::Forward;
            let index = *of_row.entry((!is_forward, row.hop)).or_insert_with(|| {
                let way = if is_forward { "forward" } else { "backward" };
                let name = format!("hop {} {way}", hop_name(self.document, row.hop));
                directions.push(ShownLink { name, ..ShownLink::default() });
                directions.len() - 1
            });
            let link = &mut directions[index];
            link.capacity.push((row.time_s, row.capacity_bps));
            link.queue.push((row.time_s, row.queue_packets as f64));
            link.sent_bytes = row.sent_bytes;
        }
        let busiest = directions.iter().map(|link| link.sent_bytes).max().unwrap_or(0);
        let least = busiest as f64 * LEAST_SHARE;
        directions.retain(|link| link.sent_bytes > 0 && link.sent_bytes as f64 >= least);
        // The narrowest, whose queues are the longest, go before the others.
        let longest = |link: &ShownLink| link.queue.iter().map(|of| of.1).fold(0.0, f64::max);
        let mut by_queue: Vec<usize> = (0..directions.len()).collect();
        by_queue.sort_by(|one, other| {
            longest(&directions[*other]).total_cmp(&longest(&directions[*one]))
        });
        let mut kept: Vec<usize> = by_queue.into_iter().take(MAX_LINKS).collect();
        kept.sort_unstable();
        let more = directions.len() - kept.len();
        (kept.into_iter().map(|at| std::mem::take(&mut directions[at])).collect(), more)
    }
}

/// One direction of a link.
#[derive(Default)]
struct ShownLink {
    name: String,
    capacity: Corners,
    queue: Corners,
    sent_bytes: u64,
}

impl ShownLink {
    /// Mean of the samples of its capacity (bit/s).
    fn mean_capacity(&self) -> f64 {
        let sum: f64 = self.capacity.iter().map(|corner| corner.1).sum();
        sum / self.capacity.len().max(1) as f64
    }
}

/// Throughput of a flow between its samples (bit/s).
fn throughput<'a>(rows: impl Iterator<Item = &'a FlowSampleRow>) -> Corners {
    let mut before: Option<&FlowSampleRow> = None;
    let mut corners = Corners::new();
    for row in rows {
        if let Some(before) = before
            && row.time_s > before.time_s
        {
            let bytes = row.delivered_bytes.saturating_sub(before.delivered_bytes) as f64;
            corners.push((row.time_s, bytes * 8.0 / (row.time_s - before.time_s)));
        }
        before = Some(row);
    }
    corners
}

#[cfg(test)]
mod test {
    use std::collections::BTreeMap;

    use driftway_scenario::{FaultKind, Scenario};
    use driftway_sim::results::{FlowSummary, SCHEMA, Summary, Timing};

    use super::*;

    fn document() -> RunDocument {
        let text = "name = 'n'\nduration = '9 s'\n[network]\nkind = 'path'\nhops = 1\n\
                    link = { rate = '1 Mbit/s', delay = '1 ms' }\n\
                    [[flow]]\nfrom = 0\nto = 1\napplication = 'ftp'\n";
        let flow = FlowSummary {
            source: 0,
            destination: 1,
            name: None,
            tcp: Some("sack+reno".into()),
            aid: None,
            receiver_aid: None,
            completed: 0,
            metrics: BTreeMap::new(),
        };
        RunDocument {
            schema: SCHEMA,
            version: String::new(),
            emulated: false,
            scenario: Scenario::parse("n.toml", text, &[]).unwrap(),
            runs: Vec::new(),
            summary: Summary { runs: 1, flows: vec![flow], drops: BTreeMap::new() },
            timing: Timing { wall_s: 0.0, jobs: 1, events_per_s: None },
        }
    }

    fn link(second: u64, direction: Direction, sent_bytes: u64) -> LinkSampleRow {
        LinkSampleRow {
            time_s: second as f64,
            hop: 1,
            direction,
            capacity_bps: 1e6 * second as f64,
            queue_packets: second,
            sent_bytes,
        }
    }

    /// A hop that is never full.
    fn fast(of: LinkSampleRow) -> LinkSampleRow {
        LinkSampleRow { hop: 2, capacity_bps: 1e9, queue_packets: 0, ..of }
    }

    #[test]
    fn capacity_throughput_round_trip_queue_and_window_share_an_axis() {
        let document = document();
        let links: Vec<_> = (0..4)
            .flat_map(|second| {
                let forward = link(second, Direction::Forward, second * 1000);
                [forward, link(second, Direction::Backward, second * 40), fast(forward)]
            })
            .collect();
        let flow = |second: u64| FlowSampleRow {
            time_s: second as f64,
            flow: 0,
            delivered_bytes: second * 250_000,
            cwnd_bytes: Some(3000),
            rtt_s: Some(0.25),
            retransmissions: Some(0),
        };
        let flows: Vec<_> = (0..4).map(flow).collect();
        let fault = |begins| FaultEvent { kind: FaultKind::Partition, hop: 1, begins };
        let faults = [(Instant::from_secs(1), fault(true)), (Instant::from_secs(2), fault(false))];
        let time_line = TimeLine {
            document: &document,
            links: &links,
            flows: &flows,
            faults: &faults,
            end_s: 9.0,
        };
        let json = time_line.figure("seed 1").unwrap().json;
        for part in [
            "capacity, hop 1 forward",
            "queue, hop 1 forward",
            "throughput, 0 → 1",
            "round trip, 0 → 1",
            "cwnd, 0 → 1",
            // 250 kB each second.
            "\"y\":[2.0,2.0,2.0]",
            "\"anchor\":\"y4\"",
            "\"x0\":1.0,",
        ] {
            assert!(json.contains(part), "{part}: {json}");
        }
        assert!(!json.contains("backward"), "acknowledgments alone: {json}");
        assert!(!json.contains("hop 2"), "neither narrow nor full: {json}");
        let nothing = TimeLine { links: &[], flows: &[], ..time_line };
        assert!(nothing.figure("").is_none());
    }
}
