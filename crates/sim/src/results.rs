//! What a run leaves behind: plain values, written as JSON and read back by `driftway report`.
//!
//! The order of keys is the order of fields here, maps are sorted, and what depends on the machine
//! stands in [`Timing`] alone: equal scenarios, seeds and versions give equal bytes elsewhere.

use std::collections::BTreeMap;

use driftway_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// The schema of [`Document`]. It grows by one when a reader of the old form would go wrong.
pub const SCHEMA: u32 = 1;

/// Everything that one `driftway run` found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Which form this document has: [`SCHEMA`].
    pub schema: u32,
    /// The version of driftway that wrote it.
    pub version: String,
    /// The scenario that was run, as its file would say it.
    pub scenario: Scenario,
    /// One result a seed, in the order of seeds.
    pub runs: Vec<RunResult>,
    /// Means and intervals over the runs.
    pub summary: Summary,
    /// How long it took; no comparison includes it.
    pub timing: Timing,
}

/// What one run, one seed, gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The seed.
    pub seed: u64,
    /// Simulated time (s).
    pub duration_s: f64,
    /// Events the simulator handled.
    pub events: u64,
    /// A digest of every event of the run, in hexadecimal: equal for equal runs.
    pub fingerprint: String,
    /// One result a flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// What each hop of a path carried, forward then backward; empty where nothing is a path.
    pub links: Vec<LinkResult>,
    /// Routing; `null` where nothing routes, as on a path.
    pub routing: Option<RoutingResult>,
    /// Medium access; `null` on a path.
    pub mac: Option<MacResult>,
    /// Packets that were not delivered, by reason.
    pub drops: BTreeMap<String, u64>,
}

/// What became of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// The node that sends.
    pub source: u32,
    /// The node that receives.
    pub destination: u32,
    /// Its TCP, by the names of loss recovery and window growth; `null` for UDP.
    pub tcp: Option<String>,
    /// Its aid, or `none`.
    pub aid: String,
    /// When it started (s).
    pub start_s: f64,
    /// When it was complete or its connection gave up, else the run's end (s).
    pub end_s: f64,
    /// Payload delivered in order (bytes).
    pub delivered_bytes: u64,
    /// Delivered payload over (end − start) (bit/s).
    pub throughput_bps: Option<f64>,
    /// Payload delivered over payload sent, retransmissions included.
    pub goodput_ratio: Option<f64>,
    /// What became of it.
    pub outcome: FlowOutcome,
    /// How long the transfer took, from start to end (s); `null` if it did not complete.
    pub completion_s: Option<f64>,
    /// Data segments (or datagrams) sent, retransmissions included.
    pub segments_sent: u64,
    /// Of these, retransmissions; `null` for UDP, as the next three.
    pub retransmissions: Option<u64>,
    /// Retransmission timeouts.
    pub timeouts: Option<u64>,
    /// Retransmissions without a timeout that began a recovery.
    pub fast_retransmits: Option<u64>,
    /// Timeouts that set the congestion window to one segment.
    pub slow_starts: Option<u64>,
    /// Persist probes sent; they are neither segments nor retransmissions.
    pub probes: Option<u64>,
    /// Mean of the round-trip samples that TCP took (s): by its own clock, and none of what was
    /// sent twice, so it can be far from what packets needed.
    pub rtt_s: Option<f64>,
    /// Mean time from a payload's first transmission to its in-order delivery (s).
    pub delay_s: Option<f64>,
    /// Retransmissions over segments sent; `null` for UDP, as the next three.
    #[serde(default)]
    pub retransmission_ratio: Option<f64>,
    /// Times the congestion window was reduced: by a loss, a timeout, a mark, source quench or an
    /// aid; not by the restart after an idle period.
    #[serde(default)]
    pub cwnd_reductions: Option<u64>,
    /// Datagrams that came again, and do not count as delivered; `null` for TCP.
    #[serde(default)]
    pub duplicates: Option<u64>,
    /// The longest retransmission timeout in force since the first round-trip sample, back-off
    /// included (s).
    #[serde(default)]
    pub rto_max_s: Option<f64>,
    /// How long the retransmission timeout was above its value without back-off (s).
    #[serde(default)]
    pub rto_backed_off_s: Option<f64>,
    /// From the end of a partition of the path to when the sender sends data next: the mean over
    /// partitions (s); absent where the scenario has none, or nothing was sent after one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_s: Option<f64>,
    /// How long the aid was in the state *disconnected* (s); 0 for an aid without one, absent without an
    /// aid, as the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnected_s: Option<f64>,
    /// Of this, the times that began with the report of a node whose link had failed although its
    /// neighbour was in range (s); nothing of it on a path. A lower bound: what is dropped later, when a
    /// repair that the failure began has failed, counts as rightly lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falsely_disconnected_s: Option<f64>,
    /// What came back on the same connection, delivered in order (bytes); absent where the scenario
    /// sends nothing back, as the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_delivered_bytes: Option<u64>,
    /// `back_delivered_bytes` over the time from the flow's start to the end of what goes back (bit/s):
    /// when that was complete or its connection gave up, else the run's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_throughput_bps: Option<f64>,
    /// How long the transfer back took, from the flow's start to its end (s); absent as well if it did
    /// not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_completion_s: Option<f64>,
}

/// What became of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowOutcome {
    /// Everything was delivered.
    Complete,
    /// It was still going when the run ended.
    #[default]
    Running,
    /// The sender gave up after as many timeouts as it may have.
    TimedOut,
    /// The connection was reset.
    Reset,
}

impl FlowOutcome {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Running => "running",
            Self::TimedOut => "timed-out",
            Self::Reset => "reset",
        }
    }
}

/// One direction of one hop of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Which hop, from 1 at node 0.
    pub hop: u32,
    /// Towards higher or lower nodes.
    pub direction: Direction,
    /// Frames put on the link.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that left with a congestion mark set here.
    pub marks: u64,
    /// Packets lost here, whatever the reason.
    pub drops: u64,
    /// Share of the run's time in which this direction was sending.
    pub utilisation: Option<f64>,
}

/// What routing did, over all nodes of an ad hoc network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingResult {
    /// Routing's own packets, sent and forwarded, route errors included.
    pub packets_sent: u64,
    /// Their bytes at the IP layer.
    pub bytes_sent: u64,
    /// Searches for a route.
    pub discoveries: u64,
    /// Searches that ended without a route.
    #[serde(default)]
    pub failed_discoveries: u64,
    /// Route errors made.
    pub route_errors: u64,
    /// Of these, notices of a cache to other nodes (DSR).
    #[serde(default)]
    pub notices: u64,
    /// Packets that a link layer gave up.
    pub link_failures: u64,
    /// Packets that went back to routing because ARP found no address of the next hop.
    #[serde(default)]
    pub arp_failures: u64,
    /// Of both, with the neighbour in range.
    pub false_link_failures: u64,
    /// Packets that a link layer gave up and that were handed to it again (`link_retry`); they are not
    /// among `link_failures` unless they failed again, for good.
    #[serde(default)]
    pub link_retries: u64,
    /// Of these, with the neighbour out of range.
    #[serde(default)]
    pub vain_link_retries: u64,
    /// Packets that were sent after such a retry.
    #[serde(default)]
    pub link_retries_sent: u64,
    /// Answers by others than the destination.
    pub replies_from_cache: u64,
    /// Packets given another route on the way.
    pub salvaged: u64,
    /// Packets for others that told a listening node of a route (DSR).
    #[serde(default)]
    pub overheard: u64,
    /// Route errors that took others along (DSR).
    #[serde(default)]
    pub nested_errors: u64,
    /// Route errors that say what a link has lost (yu-2004 §4.2).
    #[serde(default)]
    pub loss_notices: u64,
    /// Of these, passed on by who stands between the link and the end of a connection.
    #[serde(default)]
    pub passed_notices: u64,
    /// Such errors that ended for want of a cached route.
    #[serde(default)]
    pub lost_notices: u64,
    /// Acknowledgments that nodes have sent again (yu-2004 §4.3.2).
    #[serde(default)]
    pub resent_acks: u64,
    /// Hops taken by TCP segments with payload, or a SYN or FIN, and by datagrams: those that a link
    /// layer has sent, to all or to a neighbour that acknowledged them. What ARP or a full queue
    /// drops takes none, nor what a link layer gives up, even if only the acknowledgment was lost.
    pub data_hops: u64,
    /// Hops taken by segments with none of these: pure acknowledgments, and resets.
    pub ack_hops: u64,
    /// Hops taken by ICMP messages.
    #[serde(default)]
    pub icmp_hops: u64,
    /// Packets as in `data_hops` that routing sent or forwarded, whatever became of them below, and
    /// again when it gave them another route: the lines that ns-2's trace has of its routing layer
    /// (`RTR`, sent and forwarded).
    #[serde(default)]
    pub data_routed: u64,
    /// The same of what `ack_hops` counts.
    #[serde(default)]
    pub acks_routed: u64,
    /// The same of what `icmp_hops` counts.
    #[serde(default)]
    pub icmp_routed: u64,
}

/// What the link layers did, over all nodes of an ad hoc network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacResult {
    /// RTS frames sent.
    pub rts: u64,
    /// CTS frames sent.
    pub cts: u64,
    /// Data frames sent to one neighbour, retries included.
    pub data: u64,
    /// ACK frames sent.
    pub ack: u64,
    /// Data frames sent to all.
    pub broadcast: u64,
    /// RTS and data frames sent again.
    pub retries: u64,
    /// Frames that a node could have decoded and lost to another frame.
    pub collisions: u64,
    /// Packets given up because no CTS came.
    #[serde(default)]
    pub failed_no_cts: u64,
    /// Packets given up because no ACK came.
    #[serde(default)]
    pub failed_no_ack: u64,
    /// Data frames that came again and were not handed up.
    pub duplicates: u64,
    /// Time that frames took on the air, summed over senders (µs).
    pub airtime_us: u64,
}

/// Which way along a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Towards higher nodes.
    Forward,
    /// Towards lower nodes.
    Backward,
}

/// Means and intervals over the runs of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many runs.
    pub runs: u64,
    /// One a flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// Drops a run, by reason.
    pub drops: BTreeMap<String, Estimate>,
}

/// One flow over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// The node that sends.
    pub source: u32,
    /// The node that receives.
    pub destination: u32,
    /// As in [`FlowResult::tcp`].
    pub tcp: Option<String>,
    /// As in [`FlowResult::aid`].
    pub aid: String,
    /// Runs in which it completed.
    pub completed: u64,
    /// By the names of [`METRICS`]; `null` where no run has a value.
    pub metrics: BTreeMap<String, Option<Estimate>>,
}

/// A mean with its intervals (Student's t; `null` for one value).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Lower and upper end of the 90 % interval.
    pub ci90: Option<[f64; 2]>,
    /// Lower and upper end of the 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// How many values it stands on; fewer than the runs where some had none.
    pub n: u64,
}

/// What a document's making took. It differs from one machine, and one minute, to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Runs at a time.
    pub jobs: u64,
    /// Events handled in a second of wall-clock time, over all jobs.
    pub events_per_s: Option<f64>,
}

/// How a metric is read from a flow's result.
pub type FlowMetricReader = fn(&FlowResult) -> Option<f64>;

/// What a summary speaks of: each metric's name and where it stands.
pub const FLOW_METRICS: [(&str, FlowMetricReader); 21] = [
    ("completion_s", |f| f.completion_s),
    ("throughput_bps", |f| f.throughput_bps),
    ("delivered_bytes", |f| Some(f.delivered_bytes as f64)),
    ("goodput_ratio", |f| f.goodput_ratio),
    ("segments_sent", |f| Some(f.segments_sent as f64)),
    ("retransmissions", |f| f.retransmissions.map(|n| n as f64)),
    ("timeouts", |f| f.timeouts.map(|n| n as f64)),
    ("fast_retransmits", |f| f.fast_retransmits.map(|n| n as f64)),
    ("slow_starts", |f| f.slow_starts.map(|n| n as f64)),
    ("rtt_s", |f| f.rtt_s),
    ("delay_s", |f| f.delay_s),
    ("retransmission_ratio", |f| f.retransmission_ratio),
    ("cwnd_reductions", |f| f.cwnd_reductions.map(|n| n as f64)),
    ("rto_max_s", |f| f.rto_max_s),
    ("rto_backed_off_s", |f| f.rto_backed_off_s),
    ("resume_s", |f| f.resume_s),
    ("disconnected_s", |f| f.disconnected_s),
    ("falsely_disconnected_s", |f| f.falsely_disconnected_s),
    ("back_completion_s", |f| f.back_completion_s),
    ("back_throughput_bps", |f| f.back_throughput_bps),
    ("back_delivered_bytes", |f| f.back_delivered_bytes.map(|n| n as f64)),
];

/// Is a metric of this name about what goes back on a flow's connection? Where nothing does, nothing is
/// said of it.
pub fn is_reverse_metric(metric: &str) -> bool {
    metric.starts_with("back_")
}

#[cfg(test)]
mod test {
    use super::*;

    fn flow() -> FlowResult {
        FlowResult {
            destination: 4,
            tcp: Some("reno".into()),
            aid: "atcp".into(),
            end_s: 412.5,
            delivered_bytes: 1_000_000,
            completion_s: Some(412.5),
            retransmissions: Some(3),
            ..FlowResult::default()
        }
    }

    #[test]
    fn the_names_are_those_of_the_design_and_in_its_order() {
        let text = serde_json::to_string(&flow()).unwrap();
        let mut rest = text.as_str();
        for name in [
            "source",
            "destination",
            "tcp",
            "aid",
            "start_s",
            "end_s",
            "delivered_bytes",
            "throughput_bps",
            "goodput_ratio",
            "completion_s",
            "segments_sent",
            "retransmissions",
            "timeouts",
            "fast_retransmits",
            "slow_starts",
            "rtt_s",
            "delay_s",
        ] {
            let at = rest.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name}: {text}"));
            rest = &rest[at..];
        }
    }

    #[test]
    fn a_run_survives_the_way_to_json_and_back() {
        let run = RunResult {
            seed: u64::MAX,
            duration_s: 0.1 + 0.2,
            events: 12,
            fingerprint: "00ff".into(),
            flows: vec![flow()],
            links: vec![LinkResult {
                hop: 1,
                direction: Direction::Backward,
                frames: 9,
                bytes: 900,
                marks: 0,
                drops: 1,
                utilisation: Some(0.25),
            }],
            routing: None,
            mac: None,
            drops: BTreeMap::from([("link-error".to_owned(), 2), ("partition".to_owned(), 1)]),
        };
        let text = serde_json::to_string(&run).unwrap();
        assert!(text.contains(r#""routing":null,"mac":null"#), "{text}");
        assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), run);
    }

    #[test]
    fn every_metric_is_a_field_of_that_name() {
        let value = serde_json::to_value(flow()).unwrap();
        for (name, reading) in FLOW_METRICS {
            assert_eq!(value[name].as_f64(), reading(&flow()), "{name}");
        }
    }
}
