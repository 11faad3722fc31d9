//! Results of an emulation, as a JSON document and as text.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use driftway_base::{Duration, Instant, NodeId};
use driftway_linux::{EmulationCounts, EmulationReport, KernelCounts, ipv6_refusal};
use driftway_scenario::{Feedback, Scenario};
use schemars::JsonSchema;
use serde::Serialize;

use super::mtu::mtu;
use super::plan::{BackgroundProgram, Plan};
use super::session::{End, ProgramEnd};
use crate::args::EmulateArgs;
use crate::ctl::protocol::Changed;
use crate::text::{count, list, value, wrapped};

/// Version of the schema of [`EmulationDocument`], incremented by incompatible changes.
const SCHEMA: u32 = 4;

/// Results of one `driftway emulate`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EmulationDocument {
    /// Version of this form, incremented by incompatible changes.
    schema: u32,
    /// Version of driftway.
    version: &'static str,
    /// Scenario with the changes of the command line.
    scenario: Scenario,
    /// Seed of the network's random streams.
    seed: u64,
    /// Program with which the emulation ended: a command with its arguments, or a line for the shell.
    command: Vec<String>,
    /// Number of its node.
    node: usize,
    /// Time of the scenario at which the command was started (s); `null` if it was not.
    started_s: Option<f64>,
    /// Exit status of the command, or of the program in `failed_program`.
    pub exit_status: u8,
    /// Index in `programs` of the program whose failure within a second ended the emulation; `null` if
    /// none did.
    failed_program: Option<usize>,
    /// Exit status of the far program, if it exited by itself; `null` if it did not.
    far_exit_status: Option<u8>,
    /// Other programs, those of `--far` and `--at`.
    programs: Vec<OtherProgram>,
    /// Time for which the network ran (s).
    duration_s: f64,
    /// Packets from the near end; `null` if it has no kernel.
    forward: Option<Direction>,
    /// Packets from the far end; `null` if it has no kernel.
    backward: Option<Direction>,
    /// Packets by the node at which they entered, of all nodes with a kernel.
    nodes: Vec<NodePackets>,
    /// Packets that were dropped, by reason.
    drops: BTreeMap<&'static str, u64>,
    /// Packets that queues marked (ECN CE).
    marks: u64,
    /// Packets addressed to routers, and messages from routers to kernels.
    routers: Routers,
    /// Packets that were neither IPv4 nor IPv6 and were not forwarded.
    not_ip: u64,
    /// Packets of IPv6 that were refused because routing over the air finds routes for IPv4 only.
    ipv6_refused: u64,
    /// Packets that a kernel dropped before they reached the network.
    overflows: u64,
    /// Packets that a kernel did not accept after the network delivered them.
    refused: u64,
    /// Delay of packets beyond their due time when they left the network.
    lateness: Lateness,
    /// True if the emulation kept real time, so that the result can be trusted.
    trusted: bool,
    /// Reasons not to trust the result.
    because: Vec<String>,
    /// Properties of the network that programs may not expect, and of the results.
    pub notes: Vec<String>,
    /// Changes by `driftway ctl` while it ran.
    changes: Vec<Changed>,
    /// Events that `--pcap` and `--events` left out because the disk did not keep up.
    unrecorded: u64,
    /// False if there were changes: the same command does not have them.
    reproducible: bool,
}

/// The end of the programs, and what was changed while they ran.
pub struct Ends<'a> {
    /// The end of the emulation.
    pub end: End,
    /// The start of the main program, and what became of the others.
    pub starts: &'a (Option<Instant>, Vec<ProgramEnd>),
    /// Changes while it ran.
    pub changes: Vec<Changed>,
    /// Events that were not recorded.
    pub unrecorded: u64,
}

/// A program that was terminated at the end, unless it had exited by itself.
#[derive(Debug, Serialize, JsonSchema)]
struct OtherProgram {
    /// Number of its node.
    node: usize,
    /// Line for the shell.
    command: String,
    /// Time of the scenario at which it was started (s); `null` if it was not.
    started_s: Option<f64>,
    /// Exit status, if it exited by itself; `null` if it did not.
    exit_status: Option<u8>,
    #[serde(skip)]
    is_far: bool,
}

impl OtherProgram {
    fn new(program: &BackgroundProgram, end: &ProgramEnd) -> Self {
        Self {
            node: program.node.index(),
            command: program.line.to_string_lossy().into_owned(),
            started_s: end.started.map(seconds_at),
            exit_status: end.status,
            is_far: program.is_far,
        }
    }
}

/// A time of the scenario (s).
fn seconds_at(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_secs_f64()
}

/// Packets that a node with a kernel sent.
#[derive(Debug, Serialize, JsonSchema)]
struct NodePackets {
    /// Number of the node.
    node: usize,
    #[serde(flatten)]
    sent: Direction,
}

/// Packets from one node.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Direction {
    /// Address of the node that sends.
    from: Ipv4Addr,
    /// Packets that entered the network.
    packets: u64,
    /// Time of the scenario at which the first of them entered (s); `null` if there is none.
    first_packet_s: Option<f64>,
    /// Packets that reached another kernel.
    delivered: u64,
    /// Their bytes, from the IP header on.
    delivered_bytes: u64,
    /// Packets that reached a router to which they were addressed: a node at which no program runs.
    delivered_to_routers: u64,
}

/// Packets and messages of routers.
#[derive(Debug, Serialize, JsonSchema)]
struct Routers {
    /// Packets addressed to routers.
    packets: u64,
    /// ICMP messages from routers to kernels.
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
    /// True if the network's thread was in a real-time scheduling class.
    real_time_class: bool,
    /// Lateness that a program does not see (s): the network's own jitter, which is the time of a full
    /// packet over the slowest link or air and the spread of delays, or a tenth of the shortest time that
    /// a full packet takes over a link where that is more.
    tolerated_s: f64,
    /// Share of packets that were later; above 0.01 the result is not to be trusted.
    late_share: f64,
}

impl EmulationDocument {
    /// Builds the document from the command line, the scenario, the ends of the programs, and the
    /// network's report.
    pub fn new(
        args: &EmulateArgs,
        scenario: &Scenario,
        plan: &Plan,
        addresses: &[Ipv4Addr],
        Ends { end, starts: (main_started, ends), changes, unrecorded }: Ends<'_>,
        report: &EmulationReport,
    ) -> Self {
        let EmulationCounts {
            by_kernel,
            drops,
            to_routers,
            icmp_from_routers: messages,
            not_ip,
            ipv6_refused,
            ..
        } = report.counts.clone();
        let of_node = |(node, counts): (NodeId, &KernelCounts)| NodePackets {
            node: node.index(),
            sent: Direction {
                from: addresses[node.index()],
                packets: counts.entered,
                first_packet_s: counts.first_entered.map(seconds_at),
                delivered: counts.delivered,
                delivered_bytes: counts.bytes,
                delivered_to_routers: counts.to_routers,
            },
        };
        let nodes: Vec<_> = plan.kernels().zip(&by_kernel).map(of_node).collect();
        let [forward, backward] = plan.ends.map(|end| {
            nodes.iter().find(|packets| packets.node == end.index()).map(|packets| packets.sent)
        });
        let others = || plan.background.iter().zip(ends);
        let far_exit_status = others().find(|(program, _)| program.is_far);
        let seconds = Duration::as_secs_f64;
        let because = report.warnings();
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            scenario: scenario.clone(),
            seed: args.seed,
            command: plan.main.words(),
            node: plan.main.node.index(),
            started_s: main_started.map(seconds_at),
            exit_status: end.status,
            failed_program: end.failed,
            far_exit_status: far_exit_status.and_then(|(_, end)| end.status),
            programs: others().map(|(program, end)| OtherProgram::new(program, end)).collect(),
            duration_s: seconds(report.duration),
            forward,
            backward,
            nodes,
            drops,
            marks: report.marked,
            routers: Routers { packets: to_routers, messages },
            not_ip,
            ipv6_refused,
            overflows: report.overflows,
            refused: report.refused,
            lateness: Lateness {
                packets: report.lateness.count(),
                p50_s: seconds(report.lateness.quantile(0.5)),
                p99_s: seconds(report.lateness.quantile(0.99)),
                max_s: seconds(report.lateness.max()),
                real_time_class: report.is_realtime,
                tolerated_s: seconds(report.tolerance.unnoticed()),
                late_share: report.late_share(),
            },
            trusted: because.is_empty(),
            because,
            notes: notes(scenario),
            reproducible: changes.is_empty(),
            changes,
            unrecorded,
        }
    }
}

/// Properties of a network that programs may not expect.
fn notes(scenario: &Scenario) -> Vec<String> {
    let mut airs = scenario.network.radio_networks();
    let is_silent = airs.any(|adhoc| adhoc.feedback == Feedback::None);
    let silent = "nodes with radios report no undeliverable packet and no expired time to live \
                  (feedback is \"none\", as in ns-2), so traceroute and mtr do not show them; \
                  feedback = \"icmp-unreachable\" makes them";
    let silent = is_silent.then(|| silent.to_owned());
    let ipv6 = no_ipv6(mtu(scenario)).or_else(|| ipv6_refusal(scenario));
    silent.into_iter().chain(ipv6).collect()
}

/// The smallest MTU of a link with IPv6 (RFC 8200 section 5).
const IPV6_MTU: u16 = 1280;

/// The reason why nodes have no IPv6, if they have none: a kernel gives a device with a smaller MTU
/// no address.
fn no_ipv6(mtu: u16) -> Option<String> {
    (mtu < IPV6_MTU).then(|| {
        format!(
            "the nodes have no IPv6, which needs an MTU of {IPV6_MTU} bytes; that of their devices \
             is {mtu}, the largest `mss` of a flow plus 40"
        )
    })
}

/// The packets of a direction, such as `7 packets, 6 of them delivered (525 B)`.
fn sent_text(sent: &Direction) -> String {
    let Direction { packets, delivered, delivered_to_routers: routers, .. } = *sent;
    let (packets, delivered) = (count(packets, "packet"), delivered + routers);
    let to_programs = value("_bytes", sent.delivered_bytes as f64);
    match routers {
        0 => format!("{packets}, {delivered} of them delivered ({to_programs})"),
        _ => format!(
            "{packets}, {delivered} of them delivered: {routers} to routers, the others to programs \
             ({to_programs})"
        ),
    }
}

impl fmt::Display for EmulationDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.scenario.name;
        writeln!(f, "{name}: {} in real time, seed {}", value("_s", self.duration_s), self.seed)?;
        match (&self.forward, &self.backward) {
            (Some(forward), Some(backward)) if self.nodes.len() == 2 => {
                writeln!(f, "to the far end: {}", sent_text(forward))?;
                writeln!(f, "to the near end: {}", sent_text(backward))?;
            }
            _ => {
                for NodePackets { node, sent: packets } in &self.nodes {
                    let node = self.scenario.node_name(*node as u32);
                    writeln!(f, "from node {node}: {}", sent_text(packets))?;
                }
            }
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
        if self.not_ip > 0 {
            writeln!(f, "no IP, not forwarded: {}", count(self.not_ip, "packet"))?;
        }
        if self.ipv6_refused > 0 {
            writeln!(f, "IPv6, refused: {}", count(self.ipv6_refused, "packet"))?;
        }
        if let Some(status) = self.far_exit_status {
            writeln!(f, "The far program exited by itself, with status {status}.")?;
        }
        for OtherProgram { node, exit_status, .. } in self.programs.iter().filter(|p| !p.is_far) {
            if let Some(status) = exit_status {
                let node = self.scenario.node_name(*node as u32);
                writeln!(f, "The program at node {node} exited by itself, with status {status}.")?;
            }
        }
        if let Some(program) = self.failed_program.and_then(|number| self.programs.get(number)) {
            let node = self.scenario.node_name(program.node as u32);
            let text = format!(
                "The emulation ended with the program at node {node}, which failed at once, with \
                 status {}. With --keep-going it goes on.",
                self.exit_status
            );
            write!(f, "{}", wrapped(&text, 2))?;
        }
        let Lateness { p50_s, p99_s, max_s, .. } = self.lateness;
        let [p50, p99, max] = [p50_s, p99_s, max_s].map(|late| value("_s", late));
        writeln!(f, "lateness: median {p50}, 99th percentile {p99}, maximum {max}")?;
        if self.unrecorded > 0 {
            let events = count(self.unrecorded, "event");
            writeln!(f, "not recorded, because the disk did not keep up: {events}")?;
        }
        for Changed { time_s, change } in &self.changes {
            writeln!(f, "changed at {time_s:.3} s: {change}")?;
        }
        if !self.reproducible {
            writeln!(f, "The network was changed while it ran: this run is not reproducible.")?;
        }
        for note in &self.notes {
            write!(f, "{}", wrapped(&format!("Note: {note}."), 2))?;
        }
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
    fn routers_that_report_nothing_are_noted() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/adhoc-aodv.toml");
        let notes_with = |feedback: &str, mss: &str| {
            let set = [("network.feedback", feedback), ("flow.0.tcp.mss", mss)];
            let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
            notes(&Scenario::load(Path::new(file), &set).unwrap())
        };
        assert!(notes_with("none", "1460 B")[0].contains("traceroute"));
        let [ipv6] = &notes_with("icmp-unreachable", "1460 B")[..] else { panic!() };
        assert!(ipv6.contains("AODV finds routes to IPv4 addresses only"), "{ipv6}");
        let [ipv6] = &notes_with("icmp-unreachable", "1239 B")[..] else { panic!() };
        assert!(ipv6.contains("of their devices is 1279"), "{ipv6}");
    }

    #[test]
    fn the_document_is_documented() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lossy-path.toml");
        let direction = || Direction {
            from: Ipv4Addr::LOCALHOST,
            packets: 1,
            first_packet_s: Some(0.0),
            delivered: 1,
            delivered_bytes: 1,
            delivered_to_routers: 0,
        };
        let document = EmulationDocument {
            schema: SCHEMA,
            version: "",
            scenario: Scenario::load(Path::new(file), &[]).unwrap(),
            seed: 1,
            command: vec!["true".to_owned()],
            node: 0,
            started_s: Some(0.0),
            exit_status: 0,
            failed_program: None,
            far_exit_status: None,
            programs: vec![OtherProgram {
                node: 1,
                command: String::new(),
                started_s: None,
                exit_status: None,
                is_far: false,
            }],
            duration_s: 1.0,
            forward: Some(direction()),
            backward: Some(direction()),
            nodes: vec![NodePackets { node: 0, sent: direction() }],
            drops: BTreeMap::from([("partition", 1)]),
            marks: 0,
            routers: Routers { packets: 0, messages: 0 },
            not_ip: 0,
            ipv6_refused: 0,
            overflows: 0,
            refused: 0,
            lateness: Lateness {
                packets: 0,
                p50_s: 0.0,
                p99_s: 0.0,
                max_s: 0.0,
                real_time_class: false,
                tolerated_s: 0.0,
                late_share: 0.0,
            },
            trusted: true,
            because: Vec::new(),
            notes: Vec::new(),
            changes: vec![Changed { time_s: 0.0, change: String::new() }],
            unrecorded: 0,
            reproducible: false,
        };
        crate::results_reference::assert_documented("driftway-emulate", &document);
    }
}
