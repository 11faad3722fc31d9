//! Figures from the event log of an ad hoc network: routes of its flows, queue lengths, and movement
//! of its nodes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use driftway_sim::log::{Entry, Event, EventLog, Layer};
use plotly::common::{Line, LineShape, Marker, MarkerSymbol, Mode};
use plotly::layout::RangeMode;
use plotly::{Plot, Scatter};

use super::thinning::{EMPTY_SPAN, MAX_STEPS, thin};
use super::time_sequence::add_line;
use crate::failure::Failure;
use crate::page::figure::{Figure, GREY, PALETTE, axis, escaped, layout, rounded};
use crate::result_dirs::{ResultDir, unreadable};

/// Largest number of packets drawn of all flows together; of more, every n-th is drawn. With the limits of queues and
/// positions it keeps the page of a run below 2 MB.
const MAX_PACKETS: usize = 5_000;

/// Largest number of queues drawn: the longest ones.
const MAX_QUEUES: usize = 6;

/// Largest number of nodes whose movement is drawn, the ends of flows first.
const MAX_NODES: usize = 100;

/// Largest number of positions drawn of all nodes together.
const MAX_POSITIONS: usize = 6_000;

/// Largest number of nodes that are labelled with their numbers.
const MAX_LABELLED_NODES: usize = 60;

/// Data of an event log for the figures.
#[derive(Debug, Default, PartialEq)]
pub struct EventLogSummary {
    flows: BTreeMap<u32, FlowRouting>,
    /// Times at which a node found (`true`) or lost its route to a destination, by node and
    /// destination.
    routes: BTreeMap<(u32, u32), Vec<(f64, bool)>>,
    /// Queue length over time (packets), by node.
    queues: BTreeMap<u32, Vec<(f64, f64)>>,
    /// Positions (m), by node.
    positions: BTreeMap<u32, Vec<(f64, f64)>>,
}

/// Data of the event log of the first run; `None` if there is no file.
///
/// # Errors
/// A file that cannot be read.
pub fn of_first_run(results: &ResultDir) -> Result<Option<EventLogSummary>, Failure> {
    let Some(seed) = results.first_seed() else { return Ok(None) };
    let log = results.event_log(seed)?;
    let read = |(path, file): (PathBuf, File)| {
        EventLogSummary::read(file).map_err(|error| unreadable(&path, &error))
    };
    log.map(read).transpose()
}

/// Deliveries and link failures of one flow's packets.
#[derive(Debug, Default, PartialEq)]
struct FlowRouting {
    /// Arrival times of data packets, and their numbers of hops.
    hops: Vec<(f64, f64)>,
    /// Times of link failures with the neighbour out of range.
    failures: Vec<f64>,
    /// Times of link failures with the neighbour in range.
    false_failures: Vec<f64>,
}

impl EventLogSummary {
    /// Reads an event log.
    ///
    /// # Errors
    /// A log that cannot be read or is invalid, with the line.
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

    /// Figure of the routes of a flow from `ends.0` to `ends.1`; `None` without entries.
    pub fn route_figure(
        &self,
        flow: u32,
        name: &str,
        ends: (u32, u32),
        end_s: f64,
    ) -> Option<Figure> {
        let routes = self.flows.get(&flow)?;
        let mut plot = Plot::new();
        let most = (MAX_PACKETS / self.flows.len().max(1)).max(100);
        let step = routes.hops.len().div_ceil(most).max(1);
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
        // No packet takes less than one hop: the space below one is free for route events.
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
        let explanation = "\
            Each dot is the arrival of a data packet, at the height of its number of hops. \
            Below one hop: the times at which the source found a route and lost its last \
            one, and at which a link layer on the path reported a link failure (“false” if \
            the neighbour was still in range). A gap in the dots is a time without \
            deliveries.";
        Some(Figure {
            notes: thinning_note(step, "packets"),
            ..Figure::new(format!("Routes: {name}"), explanation, plot)
        })
    }

    /// Figure of the longest queues; `None` if no packet was queued.
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
            let points = thin(&corners, EMPTY_SPAN, MAX_STEPS / MAX_QUEUES);
            let points = points.into_iter().map(|(x, y)| (Some(x), Some(y)));
            add_line(&mut plot, points.collect(), &format!("node {node}"), |s| {
                let colour = PALETTE[index % PALETTE.len()];
                s.line(Line::new().color(colour).width(1.2).shape(LineShape::Hv))
                    .hover_template(format!("node {node}, %{{x}} s: queue %{{y}}<extra></extra>"))
            });
        }
        let x_axis = axis("time", "s").range(vec![0.0, end_s]);
        let y_axis = axis("packets queued", "").range_mode(RangeMode::ToZero);
        plot.set_layout(layout().x_axis(x_axis).y_axis(y_axis));
        let notes = match more {
            0 => Vec::new(),
            1 => vec!["One more node had a shorter queue.".to_owned()],
            more => vec![format!("{more} more nodes had shorter queues.")],
        };
        let explanation = "\
            Number of packets in the interface queue, at the nodes with the longest queues. \
            A queue that grows where routes meet is congestion; one that grows while \
            nothing is delivered waits for a broken link.";
        Some(Figure {
            notes,
            ..Figure::new(format!("Interface queues: {name}"), explanation, plot)
        })
    }

    /// Figure of the nodes' movement; `ends` are the two ends of each flow. `None` without positions.
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
            let end = flow_of_end(ends, *node);
            let (colour, width) = end.map_or((GREY, 0.8), |flow| (flow_colour(flow), 2.0));
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
        let colour = |node: &u32| flow_of_end(ends, *node).map_or(GREY, flow_colour);
        let colours = nodes.iter().map(colour).collect();
        let labels: Vec<String> = nodes.iter().map(u32::to_string).collect();
        plot.add_trace(
            Scatter::new(x, y)
                .mode(mode)
                .name(escaped("at the start"))
                .marker(Marker::new().size(6).color_array(colours))
                .text_array(labels)
                .text_position(plotly::common::Position::TopCenter)
                .hover_template("node %{text}: %{x} m, %{y} m<extra></extra>"),
        );
        plot.set_layout(layout().x_axis(axis("x", "m")).y_axis(axis("y", "m")).height(620));
        let mut notes = thinning_note(step, "positions");
        if more > 0 {
            notes.push(format!("{more} more nodes are not drawn."));
        }
        let explanation = "\
            Trajectory of each node from its initial position (dot); both ends of a flow have its \
            colour. One position per second.";
        Some(Figure { notes, ..Figure::new(format!("Movement: {name}"), explanation, plot) })
    }
}

/// The first flow that a node is an end of.
fn flow_of_end(ends: &[u32], node: u32) -> Option<usize> {
    ends.iter().position(|end| *end == node).map(|at| at / 2)
}

/// The colour of a flow's ends; other nodes are grey.
fn flow_colour(flow: usize) -> &'static str {
    PALETTE[flow % (PALETTE.len() - 1)]
}

/// Rounds to 0.1 m, which is as much as a screen shows.
fn round_to_decimetre(metres: f64) -> f64 {
    (metres * 10.0).round() / 10.0
}

fn thinning_note(step: usize, what: &str) -> Vec<String> {
    let note = format!("One in {step} {what} is drawn; the event log has them all.");
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
    fn acknowledgments_are_not_counted_as_data() {
        let journal = event_log();
        assert_eq!(journal.flows[&0].hops, [(2.0, 3.0), (7.0, 5.0)]);
        assert_eq!(journal.routes[&(0, 4)], [(1.0, true), (6.0, false)]);
    }

    #[test]
    fn the_figures_show_routes_queues_and_movement() {
        let journal = event_log();
        let routes = journal.route_figure(0, "0 → 4", (0, 4), 10.0).unwrap();
        for part in
            ["route found (1)", "route lost (1)", "\"link failure (1)", "false link failure (1)"]
        {
            assert!(routes.json.contains(part), "{part}: {}", routes.json);
        }
        let queues = journal.queue_figure("seed 1", 10.0).unwrap();
        assert!(queues.json.contains("node 2") && queues.json.contains("node 3"));
        assert!(!queues.json.contains("node 5"), "its queue was empty");
        let places = journal.movement_figure("seed 1", &[0, 4]).unwrap();
        assert!(places.json.contains("900.0") && places.json.contains("890.0"));
    }

    #[test]
    fn both_ends_of_a_flow_have_its_colour() {
        let mut journal = EventLogSummary::default();
        for node in 0..5 {
            journal.positions.insert(node, vec![(f64::from(node), 0.0), (1.0, 1.0)]);
        }
        let figure = journal.movement_figure("", &[0, 4, 1, 3]).unwrap();
        let plot: serde_json::Value = serde_json::from_str(&figure.json).unwrap();
        let traces = plot["data"].as_array().unwrap();
        let colour = |node: u32| {
            let name = format!("node {node}");
            let trace = traces.iter().find(|trace| trace["name"] == name.as_str()).unwrap();
            trace["line"]["color"].as_str().unwrap().to_owned()
        };
        assert_eq!((colour(0), colour(1)), (colour(4), colour(3)));
        assert!(colour(0) != colour(1) && colour(2) == GREY, "{} {}", colour(0), colour(2));
        let dots = traces.last().unwrap()["marker"]["color"].as_array().unwrap();
        let ours = [0, 1, 3, 4, 2].map(|node| serde_json::Value::from(colour(node)));
        assert_eq!(dots, &ours);
    }

    #[test]
    fn an_empty_log_has_no_figures() {
        let journal = EventLogSummary::default();
        assert!(journal.route_figure(0, "", (0, 1), 1.0).is_none());
        assert!(journal.queue_figure("", 1.0).is_none());
        assert!(journal.movement_figure("", &[]).is_none());
    }

    #[test]
    fn many_positions_are_thinned_and_the_last_one_is_kept() {
        let mut journal = EventLogSummary::default();
        for second in 0..100_000 {
            let x = f64::from(second);
            journal.positions.entry(0).or_default().push((x, 0.0));
        }
        let figure = journal.movement_figure("", &[]).unwrap();
        assert!(figure.json.contains("99999.0"), "the last position is missing");
        assert_eq!(figure.notes.len(), 1);
        assert!(figure.json.len() < 150_000, "{}", figure.json.len());
    }
}
