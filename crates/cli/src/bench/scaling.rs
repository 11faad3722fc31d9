//! CPU time per simulated second and node, from 50 to 5,000 nodes at constant density.

use std::fmt::Write;
use std::path::Path;

use super::document::BenchRow;
use super::measured_run::{megabytes, run_in_process};
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::text::{Grid, wrapped};
use driftway_scenario::Scenario;

/// Network sizes: columns and rows of a lattice of nodes.
const SIZES: [(u32, u32); 5] = [(10, 5), (20, 10), (25, 20), (50, 40), (100, 50)];

/// Nodes of the largest network.
const MAX_NODES: u32 = 5000;

/// Spacing of the lattice (m): the density of fifty nodes on 1500 m × 1000 m. A node reaches its
/// eight neighbours; a node two columns away is two hops away.
const SPACING_M: f64 = 173.2;

/// Nodes per flow of [`local_traffic`].
const NODES_PER_FLOW: u32 = 5;

/// Simulated time of the largest network (s).
const DURATION_S: u32 = 20;

/// A traffic pattern, for any size of the lattice.
struct TrafficPattern {
    name: &'static str,
    title: &'static str,
    scenario: fn(u32, u32) -> String,
    /// Simulated time (s) by the number of nodes.
    duration_s: fn(u32) -> u32,
}

const TRAFFIC_PATTERNS: [TrafficPattern; 2] = [
    TrafficPattern {
        name: "lattice-tcp",
        title: "In proportion to nodes: a TCP connection of two hops per five nodes, static routes",
        scenario: local_traffic,
        // As many node-seconds at each size: a run of a tenth of a second cannot be timed well.
        duration_s: |nodes| DURATION_S * MAX_NODES / nodes,
    },
    TrafficPattern {
        name: "lattice-udp",
        title: "For comparison: ten UDP flows across the network, with AODV, whose requests flood it",
        scenario: flooding_traffic,
        // The floods are at the start, so a longer run would cost less per second.
        duration_s: |_| DURATION_S,
    },
];

/// A table for each traffic pattern.
///
/// # Errors
/// A failed run.
pub fn scaling_tables(args: &BenchArgs) -> Result<String, Failure> {
    in_directory(|dir| measure_in(args, dir))
}

/// A row for each traffic pattern and size.
///
/// # Errors
/// A failed run.
pub fn rows(args: &BenchArgs) -> Result<Vec<BenchRow>, Failure> {
    in_directory(|dir| {
        let mut rows = Vec::new();
        for TrafficPattern { name, scenario, duration_s, .. } in TRAFFIC_PATTERNS {
            for (columns, lines) in SIZES {
                let (path, nodes) = (dir.join("scale.toml"), columns * lines);
                let text = scenario(columns, lines);
                write(&path, &text)?;
                let duration = format!("{} s", duration_s(nodes));
                let set = [("duration".to_owned(), duration)];
                let run = |seed| Ok((run_in_process(&path, &set, seed)?.1.user_s, 1.0));
                let costs = (1..=args.runs.get()).map(run).collect::<Result<_, Failure>>()?;
                let parsed = Scenario::parse("scale.toml", &text, &[]);
                let parsed = parsed.map_err(|error| Failure::Failed(error.to_string()))?;
                rows.push(BenchRow::new(format!("{name}/{nodes}"), &parsed, &costs, None));
            }
        }
        Ok(rows)
    })
}

/// Measures with files in a directory, which is kept if that fails.
fn in_directory<T>(measure: impl FnOnce(&Path) -> Result<T, Failure>) -> Result<T, Failure> {
    let dir = tempfile::tempdir()
        .map_err(|error| Failure::Failed(format!("cannot make a temporary directory: {error}")))?;
    let measured = measure(dir.path());
    if measured.is_err() {
        // The scenario is needed to investigate the failure.
        let _ = dir.keep();
    }
    measured
}

fn measure_in(args: &BenchArgs, dir: &Path) -> Result<String, Failure> {
    let mut text = wrapped(
        "User CPU time per simulated second and node at constant density (a lattice, 50 nodes on \
         1.5 km²), 802.11 at 2 Mbit/s.",
        0,
    );
    for TrafficPattern { title, scenario, duration_s, .. } in TRAFFIC_PATTERNS {
        let mut best: [Option<(f64, f64, u64)>; SIZES.len()] = [None; SIZES.len()];
        // One run of each size in turn, so that other load on the machine affects all sizes.
        for seed in 1..=args.runs.get() {
            for ((columns, lines), best) in SIZES.into_iter().zip(&mut best) {
                let path = dir.join("scale.toml");
                write(&path, &scenario(columns, lines))?;
                let duration = format!("{} s", duration_s(columns * lines));
                let (result, used) = run_in_process(&path, &[("duration".into(), duration)], seed)?;
                if best.is_none_or(|(user_s, ..)| used.user_s < user_s) {
                    *best = Some((used.user_s, used.max_rss_bytes as f64, result.events));
                }
            }
        }
        let mut rows = Vec::new();
        let mut first = None;
        for ((columns, lines), best) in SIZES.into_iter().zip(best) {
            let Some((user_s, memory, events)) = best else { continue };
            let nodes = columns * lines;
            let node_s = f64::from(duration_s(nodes)) * f64::from(nodes);
            let cost = user_s / node_s;
            let receivers = mean_receivers(columns, lines);
            let (of_node, of_hearer) = *first.get_or_insert((cost, cost / receivers));
            rows.push(vec![
                nodes.to_string(),
                format!("{user_s:.2}"),
                format!("{:.1}", cost * 1e6),
                format!("{:.2}", cost / of_node),
                format!("{receivers:.1}"),
                format!("{:.2}", cost / receivers / of_hearer),
                format!("{:.0}", events as f64 / node_s),
                megabytes(memory),
            ]);
        }
        let header = ["nodes", "CPU (s)", "µs", "to 50", "receivers", "to 50", "events", "MB"];
        let header = header.map(str::to_owned).to_vec();
        let _ = write!(text, "\n{title}\n{}", Grid { header, rows });
    }
    text += &wrapped(
        "CPU: the minimum over the runs of each size. µs: per node and second, and relative to 50 \
         nodes. The cost of a frame is that of its receivers (nodes in carrier-sense range), of \
         which a small network has fewer: their mean number per node, and the cost per receiver \
         relative to 50 nodes. Events: per node and second. A process that simulates nothing takes \
         about 0.01 s.",
        0,
    );
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::file("write", path, &error))
}

/// Carrier-sense range (m).
const CARRIER_SENSE_RANGE_M: f64 = 550.0;

/// Mean number of nodes in the carrier-sense range of a node of the lattice.
fn mean_receivers(columns: u32, lines: u32) -> f64 {
    let reach = CARRIER_SENSE_RANGE_M / SPACING_M;
    let (mut pairs, nodes) = (0.0, f64::from(columns * lines));
    for across in 0..=columns.saturating_sub(1).min(reach as u32) {
        for down in 0..=lines.saturating_sub(1).min(reach as u32) {
            let (x, y) = (f64::from(across), f64::from(down));
            if x + y > 0.0 && x * x + y * y <= reach * reach {
                // Ordered pairs at this distance, in both directions along each axis.
                let signs = if across > 0 { 2.0 } else { 1.0 } * if down > 0 { 2.0 } else { 1.0 };
                pairs += signs * f64::from(columns - across) * f64::from(lines - down);
            }
        }
    }
    pairs / nodes
}

/// The scenario without flows: a lattice of `columns` by `lines` nodes.
fn network_toml(columns: u32, lines: u32, routing: &str) -> String {
    let mut text = format!(
        "name = \"a lattice\"\nduration = \"{DURATION_S} s\"\n[network]\nkind = \"adhoc\"\n\
         nodes = {}\narp = false\nmac = {{ kind = \"dcf\", rts_threshold = \"0 B\" }}\n\
         routing = {{ protocol = \"{routing}\" }}\n[network.mobility]\npositions = [\n",
        columns * lines
    );
    for line in 0..lines {
        for column in 0..columns {
            let metres = |n: u32| f64::from(n) * SPACING_M;
            let _ = writeln!(text, "[\"{:.1} m\", \"{:.1} m\"],", metres(column), metres(line));
        }
    }
    text + "]\n"
}

/// A TCP connection over two columns for every five nodes.
fn local_traffic(columns: u32, lines: u32) -> String {
    let mut text = network_toml(columns, lines, "static");
    for block in 0..columns * lines / NODES_PER_FLOW {
        let from = block * NODES_PER_FLOW;
        let _ = write!(
            text,
            "[[flow]]\nfrom = {from}\nto = {}\nstart = \"{} ms\"\napplication = \"ftp\"\n\
             tcp = {{ preset = \"ns-2\", recovery = \"reno\", window = 8 }}\n",
            from + 2,
            block % 100 * 10
        );
    }
    text
}

/// Ten UDP flows across the whole network, whose routes AODV finds by flooding.
fn flooding_traffic(columns: u32, lines: u32) -> String {
    let nodes = columns * lines;
    let mut text = network_toml(columns, lines, "aodv");
    for flow in 0..10 {
        let _ = write!(
            text,
            "[[flow]]\nfrom = {}\nto = {}\nstart = \"{} ms\"\ntransport = \"udp\"\n\
             application = {{ cbr = {{ every = \"0.25 s\", size = \"512 B\" }} }}\n",
            nodes / 20 * flow,
            nodes / 20 * (19 - flow),
            500 + 100 * flow
        );
    }
    text
}

#[cfg(test)]
mod test {
    use driftway_scenario::Scenario;

    use super::*;

    #[test]
    fn every_size_gives_a_valid_scenario() {
        for (columns, lines) in SIZES {
            for text in [local_traffic(columns, lines), flooding_traffic(columns, lines)] {
                let scenario = Scenario::parse("scale.toml", &text, &[]).unwrap();
                assert!(!scenario.flows.is_empty());
            }
        }
    }

    #[test]
    fn mean_receivers_matches_hand_computed_counts() {
        // Three nodes in a line: each has two receivers. A wide lattice: a circle with a radius of
        // 3.18 spacings has 37 points.
        assert!((mean_receivers(3, 1) - 2.0).abs() < 1e-12);
        assert!(
            (mean_receivers(10_000, 10_000) - 36.0).abs() < 0.1,
            "{}",
            mean_receivers(10_000, 10_000)
        );
    }

    #[test]
    fn flows_are_two_hops_long_and_in_proportion() {
        for (columns, lines) in SIZES {
            let text = local_traffic(columns, lines);
            let flows = Scenario::parse("scale.toml", &text, &[]).unwrap().flows;
            assert_eq!(flows.len() as u32, columns * lines / NODES_PER_FLOW);
            for flow in flows {
                // Two columns away in the same line: 346 m, and 173 m to the node between.
                assert_eq!(flow.from / columns, flow.to / columns);
                assert_eq!(flow.from + 2, flow.to);
            }
        }
    }
}
