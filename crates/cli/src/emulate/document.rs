//! What an emulation tells: one document, and the same for people.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use driftway_base::Duration;
use driftway_host::{EmulationCounts, EmulationReport};
use driftway_scenario::Scenario;
use serde::Serialize;

use crate::args::EmulateArgs;
use crate::text::{count, list, value, wrapped};

/// The schema of [`Document`]. It grows by one when a reader of the old form would go wrong.
const SCHEMA: u32 = 1;

/// Everything that one `driftway emulate` found out.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Which form this document has.
    schema: u32,
    /// The version of driftway that wrote it.
    version: &'static str,
    /// The scenario, as its file would say it.
    scenario: Scenario,
    /// The seed of the path's random streams.
    seed: u64,
    /// What ran at the near end.
    command: Vec<String>,
    /// What it ended with.
    pub exit_status: u8,
    /// What the far program ended with, if it did so by itself.
    far_exit_status: Option<u8>,
    /// How long the path was at work.
    duration_s: f64,
    /// Packets from the near end to the far one.
    forward: Direction,
    /// Packets from the far end.
    backward: Direction,
    /// Packets that were not delivered, by reason.
    drops: BTreeMap<&'static str, u64>,
    /// Packets that queues marked.
    marks: u64,
    /// Packets for routers, and what routers sent to the ends.
    routers: Routers,
    /// Packets that were not of IPv4, and were not carried.
    not_ipv4: u64,
    /// Packets that a kernel dropped before the path saw them.
    overflows: u64,
    /// Packets that came through and that a kernel did not take.
    refused: u64,
    /// How much later than they should packets left the path.
    lateness: Lateness,
    /// Is the result to be trusted?
    trusted: bool,
    /// If not, why.
    because: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Direction {
    from: Ipv4Addr,
    packets: u64,
    delivered: u64,
    delivered_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Routers {
    packets: u64,
    messages: u64,
}

#[derive(Debug, Serialize)]
struct Lateness {
    packets: u64,
    p50_s: f64,
    p99_s: f64,
    max_s: f64,
    /// Was the path's thread in the scheduler's real time class?
    real_time_class: bool,
    /// What `p99_s` may be: a tenth of the shortest hop's time.
    tolerated_s: f64,
}

impl Document {
    /// From what ran and what happened.
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

    /// As it is printed and kept.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a document is plain values with text as keys") + "\n"
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
            writeln!(f, "lost: {}", list(&drops))?;
        }
        if self.marks > 0 {
            writeln!(f, "marked: {}", self.marks)?;
        }
        if self.routers.messages > 0 {
            writeln!(f, "from routers: {}", count(self.routers.messages, "message"))?;
        }
        if self.not_ipv4 > 0 {
            writeln!(f, "not IPv4, and not carried: {}", count(self.not_ipv4, "packet"))?;
        }
        if let Some(status) = self.far_exit_status {
            writeln!(f, "The far program ended by itself, with status {status}.")?;
        }
        let Lateness { p50_s, p99_s, max_s, .. } = self.lateness;
        let [p50, p99, max] = [p50_s, p99_s, max_s].map(|late| value("_s", late));
        writeln!(f, "late: {p50} in the median, {p99} at the 99th percentile, {max} at most")?;
        for why in &self.because {
            write!(f, "{}", wrapped(&format!("Do not trust this result: {why}."), 2))?;
        }
        Ok(())
    }
}
