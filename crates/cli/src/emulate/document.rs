//! Results of an emulation, as a JSON document and as text.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use driftway_base::Duration;
use driftway_host::{EmulationCounts, EmulationReport};
use driftway_scenario::Scenario;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::EmulateArgs;
use crate::text::{count, list, value, wrapped};

/// Version of the schema of [`Document`], incremented by incompatible changes.
const SCHEMA: u32 = 2;

/// Results of one `driftway emulate`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// Version of this form, incremented by incompatible changes.
    schema: u32,
    /// Version of driftway.
    version: &'static str,
    /// Scenario with the changes of the command line.
    scenario: Scenario,
    /// Seed of the path's random streams.
    seed: u64,
    /// Command at the near end.
    command: Vec<String>,
    /// Exit status of the command.
    pub exit_status: u8,
    /// Exit status of the far program, if it exited by itself; `null` if it did not.
    far_exit_status: Option<u8>,
    /// Time for which the path ran (s).
    duration_s: f64,
    /// Packets from the near end to the far one.
    forward: Direction,
    /// Packets from the far end.
    backward: Direction,
    /// Packets that were dropped, by reason.
    drops: BTreeMap<&'static str, u64>,
    /// Packets that queues marked (ECN CE).
    marks: u64,
    /// Packets addressed to routers, and ICMP messages from routers to the ends.
    routers: Routers,
    /// Packets that were not IPv4 and were not forwarded.
    not_ipv4: u64,
    /// Packets that a kernel dropped before they reached the path.
    overflows: u64,
    /// Packets that a kernel did not accept after the path delivered them.
    refused: u64,
    /// Delay of packets beyond their due time at the end of the path.
    lateness: Lateness,
    /// True if the emulation kept real time, so that the result can be trusted.
    trusted: bool,
    /// Reasons not to trust the result.
    because: Vec<String>,
}

/// One direction of the path.
#[derive(Debug, Serialize, JsonSchema)]
struct Direction {
    /// Address of the end that sends.
    from: Ipv4Addr,
    /// Packets that entered the path.
    packets: u64,
    /// Packets that reached the other end.
    delivered: u64,
    /// Their bytes, from the IP header on.
    delivered_bytes: u64,
}

/// Packets and messages of routers.
#[derive(Debug, Serialize, JsonSchema)]
struct Routers {
    /// Packets addressed to routers.
    packets: u64,
    /// ICMP messages from routers to the ends.
    messages: u64,
}

/// Delay of packets beyond their due time.
#[derive(Debug, Serialize, JsonSchema)]
struct Lateness {
    /// Number of packets.
    packets: u64,
    /// Median (s).
    p50_s: f64,
    /// 99th percentile (s).
    p99_s: f64,
    /// Maximum (s).
    max_s: f64,
    /// True if the path's thread was in a real-time scheduling class.
    real_time_class: bool,
    /// Limit on `p99_s`: a tenth of the shortest time that a full packet takes over a hop (s).
    tolerated_s: f64,
}

impl Document {
    /// Builds the document from the command line, the scenario and the path's report.
    pub fn new(
        args: &EmulateArgs,
        scenario: &Scenario,
        addresses: [Ipv4Addr; 2],
        exit_status: u8,
        far_exit_status: Option<u8>,
        report: &EmulationReport,
    ) -> Self {
        let EmulationCounts {
            by_end: carried,
            drops: lost,
            to_routers,
            icmp_from_routers: messages,
            not_ipv4,
        } = report.counts.clone();
        let direction = |n: usize| Direction {
            from: addresses[n],
            packets: carried[n].entered,
            delivered: carried[n].delivered,
            delivered_bytes: carried[n].bytes,
        };
        let seconds = Duration::as_secs_f64;
        let because = report.warnings();
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            scenario: scenario.clone(),
            seed: args.seed,
            command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            exit_status,
            far_exit_status,
            duration_s: seconds(report.duration),
            forward: direction(0),
            backward: direction(1),
            drops: lost,
            marks: report.marked,
            routers: Routers { packets: to_routers, messages },
            not_ipv4,
            overflows: report.overflows,
            refused: report.refused,
            lateness: Lateness {
                packets: report.lateness.count(),
                p50_s: seconds(report.lateness.quantile(0.5)),
                p99_s: seconds(report.lateness.quantile(0.99)),
                max_s: seconds(report.lateness.max()),
                real_time_class: report.is_realtime,
                tolerated_s: seconds(report.tolerated_lateness()),
            },
            trusted: because.is_empty(),
            because,
        }
    }

    /// JSON text of the document.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("the document can be serialized") + "\n"
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.scenario.name;
        writeln!(f, "{name}: {} in real time, seed {}", value("_s", self.duration_s), self.seed)?;
        for (to, direction) in [("far", &self.forward), ("near", &self.backward)] {
            let Direction { packets, delivered, delivered_bytes, .. } = direction;
            let bytes = value("_bytes", *delivered_bytes as f64);
            let packets = count(*packets, "packet");
            writeln!(f, "to the {to} end: {packets}, {delivered} of them delivered ({bytes})")?;
        }
        let drops: Vec<_> = self.drops.iter().map(|(why, n)| format!("{n} {why}")).collect();
        if !drops.is_empty() {
            writeln!(f, "dropped: {}", list(&drops))?;
        }
        if self.marks > 0 {
            writeln!(f, "marked: {}", self.marks)?;
        }
        if self.routers.messages > 0 {
            writeln!(f, "from routers: {}", count(self.routers.messages, "message"))?;
        }
        if self.not_ipv4 > 0 {
            writeln!(f, "not IPv4, not forwarded: {}", count(self.not_ipv4, "packet"))?;
        }
        if let Some(status) = self.far_exit_status {
            writeln!(f, "The far program exited by itself, with status {status}.")?;
        }
        let Lateness { p50_s, p99_s, max_s, .. } = self.lateness;
        let [p50, p99, max] = [p50_s, p99_s, max_s].map(|late| value("_s", late));
        writeln!(f, "lateness: median {p50}, 99th percentile {p99}, maximum {max}")?;
        for why in &self.because {
            write!(f, "{}", wrapped(&format!("Do not trust this result: {why}."), 2))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_document_is_documented() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
        let direction = || Direction {
            from: Ipv4Addr::LOCALHOST,
            packets: 1,
            delivered: 1,
            delivered_bytes: 1,
        };
        let document = Document {
            schema: SCHEMA,
            version: "",
            scenario: Scenario::load(Path::new(file), &[]).unwrap(),
            seed: 1,
            command: vec!["true".to_owned()],
            exit_status: 0,
            far_exit_status: None,
            duration_s: 1.0,
            forward: direction(),
            backward: direction(),
            drops: BTreeMap::from([("partition", 1)]),
            marks: 0,
            routers: Routers { packets: 0, messages: 0 },
            not_ipv4: 0,
            overflows: 0,
            refused: 0,
            lateness: Lateness {
                packets: 0,
                p50_s: 0.0,
                p99_s: 0.0,
                max_s: 0.0,
                real_time_class: false,
                tolerated_s: 0.0,
            },
            trusted: true,
            because: Vec::new(),
        };
        crate::results_reference::assert_documented("driftway-emulate", &document);
    }
}
