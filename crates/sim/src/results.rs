//! The results of runs: plain values, written as JSON and read back by `driftway report`.
//!
//! Keys are in the order of the fields here, and maps are sorted. Only [`Timing`] depends on the
//! machine: equal scenarios, seeds and versions give equal bytes everywhere else.

use std::collections::BTreeMap;

use driftway_scenario::{Scenario, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema version of [`RunDocument`]. It increases when a reader of the old form would misread the
/// new one.
pub const SCHEMA: u32 = 2;

/// The results of one `driftway run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// The version of this form; it increases when a reader of the old one would misread the new one.
    pub schema: u32,
    /// The version of driftway that wrote it.
    pub version: String,
    /// `true` if it is of [`driftway emulate`](#driftway-emulate): its flows are the TCP connections of the nodes' kernels,
    /// whatever flows the scenario has; absent of a simulation.
    #[serde(default, skip_serializing_if = "is_false")]
    pub emulated: bool,
    /// The scenario that was run, in the form of its file.
    pub scenario: Scenario,
    /// One result per seed, in the order of seeds.
    pub runs: Vec<RunResult>,
    /// Means and intervals over the runs.
    pub summary: Summary,
    /// The computing time, which no comparison includes.
    pub timing: Timing,
}

/// The result of one run, with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The seed.
    pub seed: u64,
    /// Simulated time (s).
    pub duration_s: f64,
    /// Events that the simulator handled.
    pub events: u64,
    /// A digest of every event of the run, in hexadecimal: equal for equal runs.
    pub fingerprint: String,
    /// One result per flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// The counters of each hop of a path or wire of a mixed network, forward then backward; empty
    /// without wires.
    pub links: Vec<LinkResult>,
    /// Routing over the air; `null` without radios.
    pub routing: Option<RoutingResult>,
    /// Medium access; `null` without radios.
    pub mac: Option<MacResult>,
    /// The gateway that splits connections; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayResult>,
    /// Packets that were not delivered, by reason.
    pub drops: BTreeMap<String, u64>,
    /// Jain's fairness index of the throughputs of TCP flows, or of all flows if none is TCP: from 1/n, if
    /// one flow has everything, to 1, if all have the same; `null` if no flow has any throughput.
    #[serde(default)]
    pub jain_index: Option<f64>,
    /// Energy that the radios of all nodes have drawn from the start to the end of the run (J); absent
    /// unless the scenario has `network.radio.energy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    /// The energy of each node with a radio; absent with `energy_j`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeResult>,
}

/// The energy of one node. The times are those of its radios, added up if it has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeResult {
    /// The node.
    pub node: u32,
    /// Energy that its radios have drawn: the power of each state by the time in it (J).
    pub energy_j: f64,
    /// Time for which it transmitted (s).
    pub transmit_s: f64,
    /// Time for which it sensed a signal and did not transmit, whether or not it could decode it (s).
    pub receive_s: f64,
    /// Time for which it was on and did neither (s).
    pub idle_s: f64,
    /// Time for which it was off (s).
    pub off_s: f64,
}

/// The name of an aid; `none` stands for none.
mod aid_name {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(
        aid: &Option<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(aid.as_deref().unwrap_or("none"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
        Ok(Some(String::deserialize(from)?).filter(|name| name != "none"))
    }
}

/// The result of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowResult {
    /// The sending node.
    pub source: u32,
    /// The receiving node.
    pub destination: u32,
    /// The flow's name in the scenario; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its transport protocol, `tcp` or `udp`.
    #[serde(default)]
    pub transport: Transport,
    /// Its TCP, by the names of loss recovery and window growth; `null` for UDP.
    pub tcp: Option<String>,
    /// Its aid, or `none`.
    #[serde(with = "aid_name")]
    #[schemars(with = "String")]
    pub aid: Option<String>,
    /// The aid of its receiver; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_aid: Option<String>,
    /// Start (s).
    pub start_s: f64,
    /// Completion or failure of the connection, else the run's end (s).
    pub end_s: f64,
    /// Payload delivered in order (bytes).
    pub delivered_bytes: u64,
    /// Delivered payload over (end − start) (bit/s); `null` if that time is zero.
    pub throughput_bps: Option<f64>,
    /// Payload delivered over payload sent, retransmissions included; `null` if none was sent.
    pub goodput_ratio: Option<f64>,
    /// The flow's outcome.
    pub outcome: FlowOutcome,
    /// Completion time of the transfer, from start to end (s); `null` if it did not complete.
    pub completion_s: Option<f64>,
    /// Data segments (or datagrams) sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions among the segments sent; `null` for UDP.
    pub retransmissions: Option<u64>,
    /// Retransmission timeouts; `null` for UDP.
    pub timeouts: Option<u64>,
    /// Loss recoveries that began without a timeout; `null` for UDP.
    pub fast_retransmits: Option<u64>,
    /// Timeouts that set the congestion window to one segment; `null` for UDP.
    pub slow_starts: Option<u64>,
    /// Persist probes sent, which are neither segments nor retransmissions; `null` for UDP.
    pub probes: Option<u64>,
    /// Mean of the round-trip samples that TCP took (s). Samples have the granularity of TCP's clock
    /// and exclude retransmitted segments, so it can differ much from the packets' real delay. `null`
    /// for UDP, or without a sample.
    pub rtt_s: Option<f64>,
    /// Mean time from a payload's first transmission to its in-order delivery (s); `null` if nothing
    /// was delivered.
    pub delay_s: Option<f64>,
    /// Packets that the application's data left in: of TCP the segments with data that had not been sent
    /// before, of UDP the datagrams. Retransmissions do not count.
    #[serde(default)]
    pub sent_packets: u64,
    /// Those of `sent_packets` whose data has been delivered to the receiving application: of TCP in
    /// order, of UDP as they arrive. Each counts once.
    #[serde(default)]
    pub delivered_packets: u64,
    /// `delivered_packets` over `sent_packets`; `null` if none was sent. Packets under way when the run
    /// ends count as sent and not delivered.
    #[serde(default)]
    pub delivery_ratio: Option<f64>,
    /// Median of the delays whose mean is `delay_s`, one for each of `delivered_packets`: from the
    /// packet's first transmission to the delivery of its last byte to the application (s). The
    /// percentiles are nearest ranks, within 1/256 (0.4 %) of the exact ones: delays are counted in
    /// buckets of that relative width. `null` if nothing was delivered.
    #[serde(default)]
    pub delay_p50_s: Option<f64>,
    /// The 95th percentile of the same delays, as exact (s).
    #[serde(default)]
    pub delay_p95_s: Option<f64>,
    /// The 99th percentile of the same delays, as exact (s).
    #[serde(default)]
    pub delay_p99_s: Option<f64>,
    /// Interarrival jitter of RFC 3550 §6.4.1 after the last packet (s): for each packet of
    /// `delivered_packets` in order of delivery, J grows by (|D| − J)/16, where D is the difference of its
    /// delay from that of the packet before. `null` for fewer than two packets.
    #[serde(default)]
    pub jitter_rfc3550_s: Option<f64>,
    /// Mean of the same |D| over all packets (s); `null` for fewer than two packets.
    #[serde(default)]
    pub jitter_mean_s: Option<f64>,
    /// Mean number of hops of the packets with data that have reached the receiver's host, by their time
    /// to live: of UDP each datagram once, of TCP every segment with data, retransmissions included. Of a
    /// split connection the hops from the gateway on. `null` if there was none.
    #[serde(default)]
    pub mean_hops: Option<f64>,
    /// Mean of the fewest hops that were possible when each of `delivered_packets` was first sent: over
    /// wires that are not cut, and between radios, switched on, that could decode each other's frames at
    /// that time. Packets do not count that were sent when no path existed. `null` if there was none, or if
    /// `measures.shortest_hops` is not set and nodes move.
    #[serde(default)]
    pub shortest_hops: Option<f64>,
    /// Retransmissions over segments sent; `null` for UDP, or if none was sent.
    #[serde(default)]
    pub retransmission_ratio: Option<f64>,
    /// Reductions of the congestion window: by a loss, a timeout, an ECN mark, source quench or an
    /// aid; not by the restart after an idle period. `null` for UDP.
    #[serde(default)]
    pub cwnd_reductions: Option<u64>,
    /// Share of the congestion window that is left after a fast retransmit: the window when new data are first
    /// acknowledged, with what an aid has made of it, over that before; the mean. `null` without one.
    #[serde(default)]
    pub cwnd_after_fast_retransmit_ratio: Option<f64>,
    /// The same after timeouts, those included that follow a fast retransmit. `null` without one.
    #[serde(default)]
    pub cwnd_after_timeout_ratio: Option<f64>,
    /// Duplicate datagrams, which do not count as delivered; `null` for TCP.
    #[serde(default)]
    pub duplicates: Option<u64>,
    /// The longest retransmission timeout in force since the first round-trip sample, back-off
    /// included (s); `null` for UDP, or without a sample.
    #[serde(default)]
    pub rto_max_s: Option<f64>,
    /// Time for which the retransmission timeout was above its value without back-off (s); `null` for
    /// UDP.
    #[serde(default)]
    pub rto_backed_off_s: Option<f64>,
    /// Time from the end of a partition of the path to the sender's next data: the mean over
    /// partitions (s); absent if the scenario has none, or nothing was sent after one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_s: Option<f64>,
    /// Time from the end of an outage, a partition or the outage of a radio, to the next new data for
    /// the receiving application: the mean over outages while the flow runs (s). Outages that overlap
    /// are one. Outages after which nothing was delivered do not count. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_resume_s: Option<f64>,
    /// Time from the end of each outage that ended while the flow ran to the next new data for the receiving
    /// application, as in `delivery_resume_s`, in order, of the first 1000 outages (s); `null` where nothing
    /// was delivered any more. Metrics and tables have the mean of the others. Absent if there was no
    /// outage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery_s: Vec<Option<f64>>,
    /// The longest of these times (s). An outage after which nothing was delivered although there was
    /// something to deliver counts with the time to the end of the run. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_delivery_resume_s: Option<f64>,
    /// Time for which the aid considered the connection disconnected (s): its state was `disconnected`,
    /// `snooze` (TCP-F), `standby` (ELFN, EPLN), or one of the mobile host's `idle`, `sending` and
    /// `waiting`. 0 for an aid without such a state, absent without an aid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnected_s: Option<f64>,
    /// The part of `disconnected_s` that began with the report of a node whose link had failed although
    /// its neighbour was in range (s); 0 on a path, absent without an aid. A lower bound: a packet
    /// dropped later, after a failed route repair, counts as rightly reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub falsely_disconnected_s: Option<f64>,
    /// Data of the reverse direction, delivered in order (bytes); absent if the flow has no reverse
    /// direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_delivered_bytes: Option<u64>,
    /// `back_delivered_bytes` over the time from the flow's start to the end of the reverse direction
    /// (bit/s): its completion or the failure of its connection, else the run's end; absent if
    /// `back_delivered_bytes` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_throughput_bps: Option<f64>,
    /// Completion time of the reverse transfer, from the flow's start to its end (s); absent if
    /// `back_delivered_bytes` is, or if the transfer did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_completion_s: Option<f64>,
    /// `true` if a gateway split the connection; absent if not. The counters and times of TCP are then
    /// those of the sender's leg, up to the gateway.
    #[serde(default, skip_serializing_if = "is_false")]
    pub split: bool,
    /// The most data that one direction of the connection had in the gateway's buffer (bytes); absent if
    /// the connection is not split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_buffer_bytes: Option<u64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The outcome of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowOutcome {
    /// Everything was delivered.
    Complete,
    /// It was not complete when the run ended.
    #[default]
    Running,
    /// The sender's connection failed after the maximum number of timeouts.
    TimedOut,
    /// The connection was reset.
    Reset,
}

impl FlowOutcome {
    /// The name in results.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkResult {
    /// The hop, from 1 at node 0.
    pub hop: u32,
    /// The direction, towards higher or lower nodes.
    pub direction: Direction,
    /// Frames transmitted on the link.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Packets in which this hop set an ECN congestion mark.
    pub marks: u64,
    /// Packets dropped here for any reason.
    pub drops: u64,
    /// Share of the run's time in which this direction was sending, or of its delivery opportunities that
    /// it has used; `null` if the run took no time or had none.
    pub utilisation: Option<f64>,
}

/// Routing over all nodes of an ad hoc network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingResult {
    /// Control packets of routing, sent and forwarded, route errors included.
    pub packets_sent: u64,
    /// Bytes of these packets at the IP layer.
    pub bytes_sent: u64,
    /// Route discoveries started by all nodes, forwarders included.
    pub discoveries: u64,
    /// Route discoveries that ended without a route.
    #[serde(default)]
    pub failed_discoveries: u64,
    /// Route errors originated.
    pub route_errors: u64,
    /// Cache notifications to other nodes among `route_errors` (DSR).
    #[serde(default)]
    pub notices: u64,
    /// Packets that a link layer failed to send.
    pub link_failures: u64,
    /// Packets that were returned to routing because ARP did not resolve the next hop.
    #[serde(default)]
    pub arp_failures: u64,
    /// Packets among `link_failures` and `arp_failures` whose next hop was in range.
    pub false_link_failures: u64,
    /// Packets that a link layer failed to send and got again (`link_retry`). They count as
    /// `link_failures` only if they failed finally.
    #[serde(default)]
    pub link_retries: u64,
    /// Packets among `link_retries` whose next hop was out of range.
    #[serde(default)]
    pub vain_link_retries: u64,
    /// Packets that were sent after a link retry.
    #[serde(default)]
    pub link_retries_sent: u64,
    /// Route replies by nodes other than the destination.
    pub replies_from_cache: u64,
    /// Packets that an intermediate node gave another route.
    pub salvaged: u64,
    /// Overheard packets from which a node in promiscuous mode learned a route (DSR).
    #[serde(default)]
    pub overheard: u64,
    /// Route errors that carried another route error (DSR).
    #[serde(default)]
    pub nested_errors: u64,
    /// Route errors that report the packets lost on a link (yu-2004 §4.2).
    #[serde(default)]
    pub loss_notices: u64,
    /// Route errors among `loss_notices` forwarded by nodes between the link and an end of a connection.
    #[serde(default)]
    pub passed_notices: u64,
    /// Route errors among `loss_notices` dropped because no route was cached.
    #[serde(default)]
    pub lost_notices: u64,
    /// Acknowledgments that intermediate nodes sent again (yu-2004 §4.3.2).
    #[serde(default)]
    pub resent_acks: u64,
    /// Hops taken by TCP segments with payload, SYN or FIN, and by datagrams: transmissions that a
    /// link layer completed, as broadcasts or acknowledged by the neighbour. A packet that ARP or a
    /// full queue drops takes no hop, nor does one that the link layer fails to send, even if only the
    /// acknowledgment was lost.
    pub data_hops: u64,
    /// Hops taken by other TCP segments: pure acknowledgments, and resets.
    pub ack_hops: u64,
    /// Hops taken by ICMP messages.
    #[serde(default)]
    pub icmp_hops: u64,
    /// Packets as in `data_hops` that routing sent or forwarded, whatever happened to them below, and
    /// again when they got another route: the lines of ns-2's trace for its routing layer (`RTR`, sent
    /// and forwarded).
    #[serde(default)]
    pub data_routed: u64,
    /// The same for the packets of `ack_hops`.
    #[serde(default)]
    pub acks_routed: u64,
    /// The same for the packets of `icmp_hops`.
    #[serde(default)]
    pub icmp_routed: u64,
    /// Normalised routing load (broch-1998, das-2000): `packets_sent`, where each hop of a control packet
    /// counts, over the packets of data delivered to applications, which are the `delivered_packets` of all
    /// flows and of their reverse directions; `null` if none was delivered.
    #[serde(default)]
    pub normalised_load: Option<f64>,
}

/// Medium access over all nodes of an ad hoc network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MacResult {
    /// RTS frames sent.
    pub rts: u64,
    /// CTS frames sent.
    pub cts: u64,
    /// Data frames sent to one neighbour, retransmissions included.
    pub data: u64,
    /// ACK frames sent.
    pub ack: u64,
    /// Broadcast data frames.
    pub broadcast: u64,
    /// RTS and data frames retransmitted.
    pub retries: u64,
    /// Frames that a node could have decoded but for another frame.
    pub collisions: u64,
    /// Packets dropped by the MAC layer because no CTS was received.
    #[serde(default)]
    pub failed_no_cts: u64,
    /// Packets dropped by the MAC layer because no ACK was received.
    #[serde(default)]
    pub failed_no_ack: u64,
    /// Duplicate data frames, which were discarded.
    pub duplicates: u64,
    /// Airtime of frames, summed over senders (µs).
    pub airtime_us: u64,
    /// Frames among `data` and `broadcast` that carry a message of routing or of ARP, retransmissions
    /// included.
    #[serde(default)]
    pub control_data: u64,
    /// Normalised MAC load (das-2000): frames other than those with data of hosts, `rts` + `cts` + `ack` +
    /// `control_data`, over the delivered packets of `runs[].routing.normalised_load`; `null` if none was
    /// delivered.
    #[serde(default)]
    pub normalised_load: Option<f64>,
    /// `airtime_us` over the duration of the run, with several airs over that of each: 1 stands for a medium
    /// that carries one frame at any time; stations out of each other's range can exceed it. `null` if the
    /// run took no time.
    #[serde(default)]
    pub airtime_ratio: Option<f64>,
}

/// A gateway that splits connections. Counters of legs are those of the gateway's TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayResult {
    /// Connections that it split: it opened a second leg for a SYN.
    pub connections: u64,
    /// Connections of these both of whose legs were established.
    pub established: u64,
    /// Connections that it reset because a leg was refused, was reset or timed out.
    pub failed: u64,
    /// The most data that one direction of a connection had in the buffer (bytes).
    pub longest_buffer_bytes: u64,
    /// Data segments that it sent on wireless legs, retransmissions included.
    pub wireless_segments: u64,
    /// Retransmissions among `wireless_segments`.
    pub wireless_retransmissions: u64,
    /// Retransmission timeouts of wireless legs.
    pub wireless_timeouts: u64,
    /// Data segments that it sent on wired legs, retransmissions included.
    pub wired_segments: u64,
    /// Retransmissions among `wired_segments`.
    pub wired_retransmissions: u64,
    /// Retransmission timeouts of wired legs.
    pub wired_timeouts: u64,
}

/// A direction along a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The direction towards higher nodes.
    Forward,
    /// The direction towards lower nodes.
    Backward,
}

/// Means and intervals over the runs of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The number of runs.
    pub runs: u64,
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowSummary>,
    /// Drops per run, by reason.
    pub drops: BTreeMap<String, Estimate>,
}

/// One flow over all runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// The sending node; of a drawn pair that of the first run.
    pub source: u32,
    /// The receiving node; of a drawn pair that of the first run.
    pub destination: u32,
    /// The flow's name; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its TCP, as in `runs[].flows[].tcp`.
    pub tcp: Option<String>,
    /// Its aid, as in `runs[].flows[].aid`.
    #[serde(with = "aid_name")]
    #[schemars(with = "String")]
    pub aid: Option<String>,
    /// The receiver's aid, as in `runs[].flows[].receiver_aid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_aid: Option<String>,
    /// Runs in which it completed.
    pub completed: u64,
    /// Estimates of fields of `runs[].flows[]`, by the names of the fields; `null` if no run has a
    /// value.
    pub metrics: BTreeMap<String, Option<Estimate>>,
}

/// A mean with its confidence intervals (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Lower and upper end of the 90 % interval; `null` for one value.
    pub ci90: Option<[f64; 2]>,
    /// Lower and upper end of the 95 % interval; `null` for one value.
    pub ci95: Option<[f64; 2]>,
    /// The number of values; fewer than the runs if some had none.
    pub n: u64,
}

/// The computing time of a document. It differs between machines and between repetitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// Wall-clock time (s).
    pub wall_s: f64,
    /// Concurrent runs.
    pub jobs: u64,
    /// Events handled per second of wall-clock time, over all jobs; `null` if no time passed.
    pub events_per_s: Option<f64>,
}

/// Reads a metric from a flow's result.
pub type FlowMetricReader = fn(&FlowResult) -> Option<f64>;

/// The metrics of a summary, by name.
pub const FLOW_METRICS: [(&str, FlowMetricReader); 37] = [
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
    ("delay_p50_s", |f| f.delay_p50_s),
    ("delay_p95_s", |f| f.delay_p95_s),
    ("delay_p99_s", |f| f.delay_p99_s),
    ("jitter_rfc3550_s", |f| f.jitter_rfc3550_s),
    ("jitter_mean_s", |f| f.jitter_mean_s),
    ("sent_packets", |f| Some(f.sent_packets as f64)),
    ("delivered_packets", |f| Some(f.delivered_packets as f64)),
    ("delivery_ratio", |f| f.delivery_ratio),
    ("mean_hops", |f| f.mean_hops),
    ("shortest_hops", |f| f.shortest_hops),
    ("retransmission_ratio", |f| f.retransmission_ratio),
    ("cwnd_reductions", |f| f.cwnd_reductions.map(|n| n as f64)),
    ("cwnd_after_fast_retransmit_ratio", |f| f.cwnd_after_fast_retransmit_ratio),
    ("cwnd_after_timeout_ratio", |f| f.cwnd_after_timeout_ratio),
    ("rto_max_s", |f| f.rto_max_s),
    ("rto_backed_off_s", |f| f.rto_backed_off_s),
    ("resume_s", |f| f.resume_s),
    ("delivery_resume_s", |f| f.delivery_resume_s),
    ("longest_delivery_resume_s", |f| f.longest_delivery_resume_s),
    ("recovery_s", |f| mean_of_known(&f.recovery_s)),
    ("disconnected_s", |f| f.disconnected_s),
    ("falsely_disconnected_s", |f| f.falsely_disconnected_s),
    ("back_completion_s", |f| f.back_completion_s),
    ("back_throughput_bps", |f| f.back_throughput_bps),
    ("back_delivered_bytes", |f| f.back_delivered_bytes.map(|n| n as f64)),
    ("split_buffer_bytes", |f| f.split_buffer_bytes.map(|n| n as f64)),
];

/// The mean of the values that are there.
fn mean_of_known(values: &[Option<f64>]) -> Option<f64> {
    let (sum, count) =
        values.iter().flatten().fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// True for a metric that only some flows have: those with a reverse direction, or whose connection is
/// split.
pub fn is_optional_metric(metric: &str) -> bool {
    metric.starts_with("back_") || metric.starts_with("split_")
}

#[cfg(test)]
mod test {
    use super::*;

    fn flow() -> FlowResult {
        FlowResult {
            destination: 4,
            tcp: Some("reno".into()),
            aid: Some("atcp".into()),
            end_s: 412.5,
            delivered_bytes: 1_000_000,
            completion_s: Some(412.5),
            retransmissions: Some(3),
            ..FlowResult::default()
        }
    }

    #[test]
    fn fields_have_their_documented_names_and_order() {
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
    fn a_run_round_trips_through_json() {
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
            gateway: None,
            drops: BTreeMap::from([("link-error".to_owned(), 2), ("partition".to_owned(), 1)]),
            ..RunResult::default()
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
        let recovery_s = vec![Some(1.0), None, Some(4.0)];
        let flow = FlowResult { recovery_s, ..flow() };
        let (_, mean) = FLOW_METRICS.iter().find(|(name, _)| *name == "recovery_s").unwrap();
        assert_eq!(mean(&flow), Some(2.5));
    }
}
