//! One run of an ad hoc network, from its event log: the routes of its flows, its queues, and where
//! its nodes went.

use std::collections::BTreeMap;
use std::io::Read;

use driftway_sim::log::{Entry, Event, EventLog, Layer};
use plotly::common::{Line, LineShape, Marker, MarkerSymbol, Mode};
use plotly::layout::RangeMode;
use plotly::{Plot, Scatter};

use super::figure::{Figure, GREY, PALETTE, axis, escaped, layout, plotly_json, rounded};
use super::time_sequence::{EMPTY_SPAN, add_line, thin};

/// Packets shown of one flow; beyond that, every n-th.
const MAX_PACKETS: usize = 15_000;

/// Queues shown: the longest ones.
const MAX_QUEUES: usize = 6;

/// Nodes whose ways are shown, the ends of flows first.
const MAX_NODES: usize = 100;

/// Places shown of all nodes together.
const MAX_POSITIONS: usize = 30_000;

/// Nodes that are labelled with their numbers; more would hide each other.
const MAX_LABELLED_NODES: usize = 60;

/// What the figures need of a log.
#[derive(Debug, Default, PartialEq)]
pub struct EventLogSummary {
    flows: BTreeMap<u32, FlowRouting>,
    /// When a node's route to a destination came (`true`) and went: by node and destination.
    routes: BTreeMap<(u32, u32), Vec<(f64, bool)>>,
    /// How many packets waited at each node.
    queues: BTreeMap<u32, Vec<(f64, f64)>>,
    /// Where each node was.
    positions: BTreeMap<u32, Vec<(f64, f64)>>,
}

/// What happened to one flow's packets.
#[derive(Debug, Default, PartialEq)]
struct FlowRouting {
    /// When data arrived, and over how many hops.
    hops: Vec<(f64, f64)>,
    /// When a link layer gave up on one of its packets, with the neighbour out of range.
    failures: Vec<f64>,
    /// The same with the neighbour in range.
    false_failures: Vec<f64>,
}

impl EventLogSummary {
    /// Reads a log.
    ///
    /// # Errors
    /// It can't be read, or is no log: says in which line.
    pub fn read(log: impl Read) -> Result<Self, csv::Error> {
        let mut journal = Self::default();
        for entry in EventLog::read(log) {
            journal.add_entry(&entry?);
        }
        Ok(journal)
    }

    fn add_entry(&mut self, entry: &Entry) {
        let at = entry.time_s.as_secs_f64();
        match (entry.layer, entry.event) {
            (Layer::Routing, Event::Delivered) => {
                let data = matches!(entry.kind.as_ref(), "tcp-data" | "udp");
                if let (true, Some(flow), Some(hops)) = (data, entry.flow, entry.hops) {
                    self.flows.entry(flow).or_default().hops.push((at, hops.into()));
                }
            }
            (_, Event::LinkFailure) => {
                if let Some(flow) = entry.flow {
                    self.flows.entry(flow).or_default().failures.push(at);
                }
            }
            (_, Event::FalseLinkFailure) => {
                if let Some(flow) = entry.flow {
                    self.flows.entry(flow).or_default().false_failures.push(at);
                }
            }
            (_, Event::RouteFound | Event::RouteLost) => {
                if let Some(to) = entry.destination {
                    let found = entry.event == Event::RouteFound;
                    self.routes.entry((entry.node, to)).or_default().push((at, found));
                }
            }
            (Layer::Queue, _) => {
                if let Some(waiting) = entry.queue_length {
                    self.queues.entry(entry.node).or_default().push((at, waiting.into()));
                }
            }
            (Layer::Mobility, _) => {
                if let (Some(x), Some(y)) = (entry.x_m, entry.y_m) {
                    self.positions.entry(entry.node).or_default().push((x, y));
                }
            }
            _ => {}
        }
    }

    /// How the packets of a flow from `ends.0` to `ends.1` travelled; `None`: nothing is known.
    pub fn route_figure(
        &self,
        flow: u32,
        name: &str,
        ends: (u32, u32),
        end_s: f64,
    ) -> Option<Figure> {
        let routes = self.flows.get(&flow)?;
        let mut plot = Plot::new();
        let step = routes.hops.len().div_ceil(MAX_PACKETS).max(1);
        let hops = routes.hops.iter().step_by(step);
        let hops = hops.map(|&(at, hops)| (Some(rounded(at, end_s)), Some(hops)));
        add_line(&mut plot, hops.collect(), "hops", |s| {
            s.mode(Mode::Markers)
                .marker(Marker::new().size(4).color(PALETTE[0]))
                .hover_template("%{x} s: %{y} hops<extra></extra>")
        });
        let known = self.routes.get(&ends).map_or(&[][..], Vec::as_slice);
        let when =
            |found: bool| known.iter().filter(move |(_, of)| *of == found).map(|(at, _)| *at);
        // No packet takes less than a hop: below one there is room for what happened.
        for (times, name, height, symbol, colour) in [
            (when(true).collect(), "route found", 0.75, MarkerSymbol::TriangleUp, PALETTE[2]),
            (when(false).collect(), "route lost", 0.5, MarkerSymbol::TriangleDown, PALETTE[3]),
            (routes.failures.clone(), "link failure", 0.25, MarkerSymbol::X, PALETTE[1]),
            (
                routes.false_failures.clone(),
                "false link failure",
                0.0,
                MarkerSymbol::CircleOpen,
                PALETTE[4],
            ),
        ] {
            let legend = format!("{name} ({})", times.len());
            let points = times.into_iter().map(|at: f64| (Some(rounded(at, end_s)), Some(height)));
            add_line(&mut plot, points.collect(), &legend, |s| {
                s.mode(Mode::Markers)
                    .marker(Marker::new().symbol(symbol).size(8).color(colour))
                    .hover_template(format!("%{{x}} s: {name}<extra></extra>"))
            });
        }
        let x_axis = axis("time", "s").range(vec![0.0, end_s]);
        let y_axis = axis("hops", "").range_mode(RangeMode::ToZero);
        plot.set_layout(layout().x_axis(x_axis).y_axis(y_axis));
        Some(Figure {
            title: format!("Routes: {name}"),
            explanation:
                "Each dot is a data packet at the time it arrived, as high as the number of hops \
                  that it took. Below one hop: when the source found a route and when it lost its \
                  last one, and when a link layer on the way gave up on a packet; in vain \
                  (“false”) if the neighbour was still in range. A gap in the dots is a flow that \
                  stands still."
                    .to_owned(),
            notes: thinning_note(step, "packets"),
            json: plotly_json(plot),
            numbers: None,
            extra_table: None,
        })
    }

    /// How many packets waited where it was most; `None`: nothing waited.
    pub fn queue_figure(&self, name: &str, end_s: f64) -> Option<Figure> {
        let longest = |corners: &[(f64, f64)]| corners.iter().map(|c| c.1).fold(0.0, f64::max);
        let mut nodes: Vec<(u32, f64)> =
            self.queues.iter().map(|(node, corners)| (*node, longest(corners))).collect();
        nodes.retain(|(_, longest)| *longest > 0.0);
        nodes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        if nodes.is_empty() {
            return None;
        }
        let more = nodes.len().saturating_sub(MAX_QUEUES);
        let mut plot = Plot::new();
        for (index, (node, _)) in nodes.iter().take(MAX_QUEUES).enumerate() {
            let corners: Vec<_> = self.queues[node]
                .iter()
                .map(|&(at, waiting)| (rounded(at, end_s), waiting))
                .collect();
            let points = thin(&corners, EMPTY_SPAN).into_iter().map(|(x, y)| (Some(x), Some(y)));
            add_line(&mut plot, points.collect(), &format!("node {node}"), |s| {
                let colour = PALETTE[index % PALETTE.len()];
                s.line(Line::new().color(colour).width(1.2).shape(LineShape::Hv))
                    .hover_template(format!("%{{x}} s: %{{y}} wait at node {node}<extra></extra>"))
            });
        }
        let x_axis = axis("time", "s").range(vec![0.0, end_s]);
        let y_axis = axis("packets that wait", "").range_mode(RangeMode::ToZero);
        plot.set_layout(layout().x_axis(x_axis).y_axis(y_axis));
        let others = match more {
            0 => Vec::new(),
            1 => vec!["One more node had packets waiting, and fewer.".to_owned()],
            more => vec![format!("{more} more nodes had packets waiting, and fewer.")],
        };
        Some(Figure {
            title: format!("Interface queues: {name}"),
            explanation:
                "How many packets waited for the air at the nodes where it was most. What grows \
                  where routes meet is congestion; what grows while nothing is delivered waits for \
                  a link that is gone."
                    .to_owned(),
            notes: others,
            json: plotly_json(plot),
            numbers: None,
            extra_table: None,
        })
    }

    /// Where nodes were and went; `ends` are those of flows. `None`: nobody knows.
    pub fn movement_figure(&self, name: &str, ends: &[u32]) -> Option<Figure> {
        let mut nodes: Vec<u32> = self.positions.keys().copied().collect();
        nodes.sort_by_key(|node| (!ends.contains(node), *node));
        let more = nodes.len().saturating_sub(MAX_NODES);
        nodes.truncate(MAX_NODES);
        let places: usize = nodes.iter().map(|node| self.positions[node].len()).sum();
        let step = places.div_ceil(MAX_POSITIONS).max(1);
        let mut plot = Plot::new();
        for node in &nodes {
            let track = &self.positions[node];
            let last = track.last().filter(|_| !(track.len() - 1).is_multiple_of(step));
            let points = track.iter().step_by(step).chain(last);
            let points = points
                .map(|(x, y)| (Some(round_to_decimetre(*x)), Some(round_to_decimetre(*y))))
                .collect();
            let end = ends.iter().position(|end| end == node);
            let (colour, width) = end.map_or((GREY, 0.8), |at| (PALETTE[at % 6], 2.0));
            add_line(&mut plot, points, &format!("node {node}"), |s| {
                s.line(Line::new().color(colour).width(width))
                    .show_legend(end.is_some())
                    .hover_template(format!("node {node}: %{{x}} m, %{{y}} m<extra></extra>"))
            });
        }
        if nodes.is_empty() {
            return None;
        }
        let starts = nodes.iter().filter_map(|node| self.positions[node].first());
        let (x, y): (Vec<f64>, Vec<f64>) =
            starts.map(|(x, y)| (round_to_decimetre(*x), round_to_decimetre(*y))).unzip();
        let mode = if nodes.len() > MAX_LABELLED_NODES { Mode::Markers } else { Mode::MarkersText };
        let labels: Vec<String> = nodes.iter().map(u32::to_string).collect();
        plot.add_trace(
            Scatter::new(x, y)
                .mode(mode)
                .name(escaped("at the start"))
                .marker(Marker::new().size(6).color(PALETTE[1]))
                .text_array(labels)
                .text_position(plotly::common::Position::TopCenter)
                .hover_template("node %{text}: %{x} m, %{y} m<extra></extra>"),
        );
        plot.set_layout(layout().x_axis(axis("x", "m")).y_axis(axis("y", "m")).height(620));
        let mut notes = thinning_note(step, "places");
        if more > 0 {
            notes.push(format!("{more} more nodes are not drawn."));
        }
        Some(Figure {
            title: format!("Where nodes were: {name}"),
            explanation:
                "The way of each node, from its place at the start (dot); those of flows' ends in \
                  colour. Positions are of every second."
                    .to_owned(),
            notes,
            json: plotly_json(plot),
            numbers: None,
            extra_table: None,
        })
    }
}

/// A screen shows no more of a metre.
fn round_to_decimetre(metres: f64) -> f64 {
    (metres * 10.0).round() / 10.0
}

fn thinning_note(step: usize, what: &str) -> Vec<String> {
    let note = format!("One of {step} {what} is drawn; the event log has them all.");
    (step > 1).then_some(note).into_iter().collect()
}

#[cfg(test)]
mod test {
    use driftway_base::Instant;

    use super::*;

    fn entry(second: u64, node: u32, layer: Layer, event: Event) -> Entry {
        Entry::new(Instant::from_secs(second), node, layer, event)
    }

    fn event_log() -> EventLogSummary {
        let mut journal = EventLogSummary::default();
        let arrived = |second, hops, kind: &'static str| Entry {
            flow: Some(0),
            hops: Some(hops),
            kind: kind.into(),
            ..entry(second, 4, Layer::Routing, Event::Delivered)
        };
        let route = |second, event| Entry {
            destination: Some(4),
            ..entry(second, 0, Layer::Routing, event)
        };
        let failure = |second, event| Entry {
            flow: Some(0),
            neighbour: Some(3),
            ..entry(second, 2, Layer::Routing, event)
        };
        for entry in [
            route(1, Event::RouteFound),
            arrived(2, 3, "tcp-data"),
            arrived(3, 3, "tcp-ack"),
            failure(4, Event::LinkFailure),
            failure(5, Event::FalseLinkFailure),
            route(6, Event::RouteLost),
            arrived(7, 5, "udp"),
        ] {
            journal.add_entry(&entry);
        }
        for (second, node, waiting) in [(1, 2, 1), (2, 2, 9), (2, 3, 4), (3, 5, 0)] {
            journal.add_entry(&Entry {
                queue_length: Some(waiting),
                ..entry(second, node, Layer::Queue, Event::Enqueued)
            });
        }
        for (second, node, x) in [(0, 0, 10.0), (0, 4, 900.04), (1, 0, 20.0), (1, 4, 890.0)] {
            journal.add_entry(&Entry {
                x_m: Some(x),
                y_m: Some(5.0),
                ..entry(second, node, Layer::Mobility, Event::Position)
            });
        }
        journal
    }

    #[test]
    fn acknowledgments_are_not_among_the_data() {
        let journal = event_log();
        assert_eq!(journal.flows[&0].hops, [(2.0, 3.0), (7.0, 5.0)]);
        assert_eq!(journal.routes[&(0, 4)], [(1.0, true), (6.0, false)]);
    }

    #[test]
    fn the_figures_show_what_happened() {
        let journal = event_log();
        let routes = journal.route_figure(0, "0 → 4", (0, 4), 10.0).unwrap();
        for part in
            ["route found (1)", "route lost (1)", "\"link failure (1)", "false link failure (1)"]
        {
            assert!(routes.json.contains(part), "{part}: {}", routes.json);
        }
        let queues = journal.queue_figure("seed 1", 10.0).unwrap();
        assert!(queues.json.contains("node 2") && queues.json.contains("node 3"));
        assert!(!queues.json.contains("node 5"), "nothing waited there");
        let places = journal.movement_figure("seed 1", &[0, 4]).unwrap();
        assert!(places.json.contains("900.0") && places.json.contains("890.0"));
    }

    #[test]
    fn where_nothing_is_known_nothing_is_drawn() {
        let journal = EventLogSummary::default();
        assert!(journal.route_figure(0, "", (0, 1), 1.0).is_none());
        assert!(journal.queue_figure("", 1.0).is_none());
        assert!(journal.movement_figure("", &[]).is_none());
    }

    #[test]
    fn many_places_are_thinned_and_the_last_one_is_kept() {
        let mut journal = EventLogSummary::default();
        for second in 0..100_000 {
            let x = f64::from(second);
            journal.positions.entry(0).or_default().push((x, 0.0));
        }
        let figure = journal.movement_figure("", &[]).unwrap();
        assert!(figure.json.contains("99999.0"), "the last place is missing");
        assert_eq!(figure.notes.len(), 1);
        assert!(figure.json.len() < 700_000, "{}", figure.json.len());
    }
}
