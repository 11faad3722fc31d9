//! State of a shim, as a JSON document and as metrics for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddrV4;

use driftway_base::{Duration, Endpoint};
use driftway_linux::{KernelTcp, ShimSnapshot, kernel_tcp};
use driftway_shim::{FlowState, FlowStatus, LossDecisions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SCHEMA: u32 = 2;

/// `driftway shim status --json`
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShimStatus {
    /// Version of this form, incremented by incompatible changes.
    pub schema: u32,
    /// Version of driftway.
    pub version: String,
    /// Time since the shim started (s).
    pub uptime_s: f64,
    /// Memory for stored packets.
    pub memory: MemoryUsage,
    /// Counters of the shim, by name.
    pub counts: ShimCounts,
    /// Counters of the shim's driver, by name.
    pub driver: BTreeMap<String, u64>,
    /// Packets that pass without reaching the shim, counted by the kernel, by name.
    pub unseen: BTreeMap<String, u64>,
    /// The tracked flows.
    pub flows: Vec<Flow>,
}

/// Counters of a shim.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShimCounts {
    /// Losses that counted as congestion, so that the reduction was kept.
    pub refused: RefusedUndos,
    /// Events, by name.
    #[serde(flatten)]
    pub events: BTreeMap<String, u64>,
}

/// Losses that counted as congestion, by reason.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RefusedUndos {
    /// The network has signalled congestion (ECN).
    pub ce: u64,
    /// A queue was visible in the round-trip times.
    pub delay: u64,
    /// Many segments were lost, or losses were more frequent than with reductions.
    pub rate: u64,
    /// Losses had become more frequent without reductions, and no queue was visible.
    pub short_queue: u64,
    /// Nothing showed that it was another loss.
    pub unknown: u64,
}

/// The state of a flow, by its name.
mod flow_state {
    use driftway_shim::FlowState;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(state: &FlowState, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(state.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FlowState, D::Error> {
        let name = String::deserialize(deserializer)?;
        let state = FlowState::ALL.into_iter().find(|state| state.name() == name);
        state.ok_or_else(|| D::Error::custom(format!("unknown state of a flow: {name}")))
    }
}

/// Memory of a shim.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUsage {
    /// Bytes of stored packets.
    pub stored_bytes: u64,
    /// Bytes allocated for stored packets.
    pub held_bytes: u64,
}

/// A tracked flow: the data that this host sends on one connection.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Address and port of this host.
    pub source: SocketAddrV4,
    /// Address and port of the peer.
    pub destination: SocketAddrV4,
    /// `open`, `held` (the aid repairs a loss), `disconnected` or `resuming`.
    #[serde(with = "flow_state")]
    #[schemars(with = "String")]
    pub state: FlowState,
    /// Name of its aid.
    pub aid: String,
    /// State of its aid.
    pub aid_state: String,
    /// Number of the aid's actions that were refused.
    pub refused: u64,
    /// Bytes that the peer has not acknowledged.
    pub outstanding_bytes: u64,
    /// Size of its stored packets (bytes).
    pub stored_bytes: u64,
    /// Segments waiting to be sent.
    pub waiting: u64,
    /// Smoothed round-trip time, as measured by the shim (s); `null` before the first sample.
    pub rtt_s: Option<f64>,
    /// True if timestamps were negotiated, as always for a tracked flow.
    pub timestamps: bool,
    /// True if ECN was negotiated; without it losses are not undone.
    pub ecn: bool,
    /// Window reductions of the kernel's TCP that were undone.
    pub undone: u64,
    /// Outages that the connection survived.
    pub survived: u64,
    /// Time from the sending of the probe that found the path, or from this host's own link being
    /// restored, to the first new acknowledgment passed to the kernel (s), for the last outage; `null`
    /// before one.
    pub time_to_resume_s: Option<f64>,
    /// The kernel's state of the connection; `null` if the connection is closed.
    pub kernel: Option<Kernel>,
}

/// The kernel's state of a connection.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Congestion window (segments).
    pub cwnd: u32,
    /// Slow-start threshold (segments); `null` until it is first set.
    pub ssthresh: Option<u32>,
    /// Retransmission timeout (s).
    pub rto_s: f64,
    /// Smoothed round-trip time (s).
    pub rtt_s: f64,
    /// The kernel's name of the congestion control.
    pub congestion_control: String,
}

/// Linux's initial slow-start threshold, `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl From<LossDecisions> for RefusedUndos {
    fn from(decisions: LossDecisions) -> Self {
        let LossDecisions { undone: _, ce, delay, rate, short_queue, unknown } = decisions;
        Self { ce, delay, rate, short_queue, unknown }
    }
}

impl From<KernelTcp> for Kernel {
    fn from(kernel: KernelTcp) -> Self {
        let seconds = |micros: u32| f64::from(micros) / 1e6;
        Self {
            cwnd: kernel.info.snd_cwnd,
            ssthresh: (kernel.info.snd_ssthresh < INFINITE_SSTHRESH)
                .then_some(kernel.info.snd_ssthresh),
            rto_s: seconds(kernel.info.rto),
            rtt_s: seconds(kernel.info.rtt),
            congestion_control: kernel.congestion_control,
        }
    }
}

impl From<FlowStatus> for Flow {
    fn from(flow: FlowStatus) -> Self {
        let end = |end: Endpoint| SocketAddrV4::new(end.address, end.port);
        Self {
            source: end(flow.key.source),
            destination: end(flow.key.destination),
            state: flow.state,
            aid: flow.aid.to_owned(),
            aid_state: flow.aid_state.to_owned(),
            refused: flow.refused,
            outstanding_bytes: flow.outstanding.into(),
            stored_bytes: flow.stored_bytes as u64,
            waiting: flow.waiting as u64,
            rtt_s: flow.srtt.map(Duration::as_secs_f64),
            timestamps: flow.timestamps,
            ecn: flow.ecn,
            undone: flow.undone,
            survived: flow.survived,
            time_to_resume_s: flow.time_to_resume.map(Duration::as_secs_f64),
            kernel: None,
        }
    }
}

impl From<ShimSnapshot> for ShimStatus {
    fn from(snapshot: ShimSnapshot) -> Self {
        let named = |(name, count): (&str, u64)| (name.to_owned(), count);
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_s: snapshot.uptime.as_secs_f64(),
            memory: MemoryUsage {
                stored_bytes: snapshot.memory.0 as u64,
                held_bytes: snapshot.memory.1 as u64,
            },
            counts: ShimCounts {
                refused: snapshot.counts.loss_decisions.into(),
                events: snapshot.counts.each().map(named).collect(),
            },
            driver: snapshot.daemon_counts.named_counts().map(named).collect(),
            unseen: snapshot.unseen.named_counts().map(named).collect(),
            flows: snapshot.flows.into_iter().map(Flow::from).collect(),
        }
    }
}

impl ShimStatus {
    /// Queries the kernel's state of each flow; a closed connection has none.
    pub fn query_kernel(&mut self) {
        for flow in &mut self.flows {
            flow.kernel = kernel_tcp(flow.source, flow.destination).ok().map(Kernel::from);
        }
    }

    /// Metrics in Prometheus' text format 0.0.4.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let mut metric = |kind: &str, name: &str, help: &str, values: &[(String, f64)]| {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "# HELP driftway_shim_{name} {help}");
            let _ = writeln!(text, "# TYPE driftway_shim_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "driftway_shim_{name}{labels} {value}");
            }
        };
        let one = |value: f64| [(String::new(), value)];
        metric("gauge", "uptime_seconds", "Time since the shim started.", &one(self.uptime_s));
        for (name, bytes, help) in [
            ("stored_bytes", self.memory.stored_bytes, "Bytes of stored packets."),
            ("held_bytes", self.memory.held_bytes, "Bytes allocated for stored packets."),
        ] {
            metric("gauge", name, help, &one(bytes as f64));
        }
        let flows: Vec<_> = FlowState::ALL
            .map(|state| {
                let flows = self.flows.iter().filter(|flow| flow.state == state).count();
                (format!("{{state=\"{}\"}}", state.name()), flows as f64)
            })
            .into();
        metric("gauge", "flows", "Connections handled, by state.", &flows);
        for (name, help, counts) in [
            ("events_total", "Events in the shim, by kind.", &self.counts.events),
            ("driver_total", "Events in the shim's driver, by kind.", &self.driver),
            ("unseen_total", "Packets that bypassed the shim, by kind.", &self.unseen),
        ] {
            let values: Vec<_> = counts
                .iter()
                .map(|(kind, count)| (format!("{{kind=\"{kind}\"}}"), *count as f64))
                .collect();
            metric("counter", name, help, &values);
        }
        let RefusedUndos { ce, delay, rate, short_queue, unknown } = self.counts.refused;
        let refused = [
            ("ce", ce),
            ("delay", delay),
            ("rate", rate),
            ("short_queue", short_queue),
            ("unknown", unknown),
        ]
        .map(|(reason, count)| (format!("{{reason=\"{reason}\"}}"), count as f64));
        let help = "Losses that counted as congestion, by reason.";
        metric("counter", "refused_total", help, &refused);
        text
    }
}

#[cfg(test)]
mod test {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_document_is_documented() {
        let named = |(name, _): (&str, &str)| (name.to_owned(), 1);
        let end = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80);
        let kernel = Kernel {
            cwnd: 10,
            ssthresh: None,
            rto_s: 0.2,
            rtt_s: 0.1,
            congestion_control: "cubic".to_owned(),
        };
        let flow = Flow {
            source: end,
            destination: end,
            state: FlowState::Open,
            aid: "carry".to_owned(),
            aid_state: "open".to_owned(),
            refused: 0,
            outstanding_bytes: 0,
            stored_bytes: 0,
            waiting: 0,
            rtt_s: None,
            timestamps: true,
            ecn: false,
            undone: 0,
            survived: 0,
            time_to_resume_s: None,
            kernel: Some(kernel),
        };
        let document = ShimStatus {
            schema: SCHEMA,
            version: String::new(),
            uptime_s: 1.0,
            memory: MemoryUsage { stored_bytes: 0, held_bytes: 0 },
            counts: ShimCounts {
                refused: LossDecisions::default().into(),
                events: driftway_shim::Counts::descriptions().map(named).collect(),
            },
            driver: driftway_linux::DaemonCounts::descriptions().map(named).collect(),
            unseen: driftway_linux::UnseenCounts::descriptions().map(named).collect(),
            flows: vec![flow],
        };
        crate::results_reference::assert_documented("driftway-shim-status", &document);
    }
}
