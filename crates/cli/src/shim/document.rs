//! What the shim says of itself: a JSON document, and metrics for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddrV4;

use driftway_base::{Duration, Endpoint};
use driftway_host::{KernelTcp, ShimSnapshot, kernel_tcp};
use driftway_shim::FlowStatus;
use serde::{Deserialize, Serialize};

const SCHEMA: u32 = 1;

/// `driftway shim status --json`
#[derive(Debug, Serialize, Deserialize)]
pub struct Document {
    pub schema: u32,
    pub version: String,
    pub lasted_s: f64,
    pub memory: Memory,
    /// What the shim counts.
    pub counts: BTreeMap<String, u64>,
    /// What its driver counts.
    pub driver: BTreeMap<String, u64>,
    /// Packets that go by unseen, which the kernel counts.
    pub unseen: BTreeMap<String, u64>,
    pub flows: Vec<Flow>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Memory {
    pub stored_bytes: u64,
    pub held_bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Flow {
    pub source: SocketAddrV4,
    pub destination: SocketAddrV4,
    pub state: String,
    pub aid: String,
    pub aid_state: String,
    /// What the aid asked for that can't be done.
    pub refused: u64,
    pub outstanding_bytes: u64,
    pub stored_bytes: u64,
    /// Segments that wait to be sent.
    pub waiting: u64,
    pub rtt_s: Option<f64>,
    pub timestamps: bool,
    pub ecn: bool,
    /// Reductions of the window that were undone.
    pub undone: u64,
    /// Outages after which it went on.
    pub survived: u64,
    /// From the probe that found the path, or this host's own link being back, to the first new
    /// acknowledgment that the kernel was given.
    pub time_to_resume_s: Option<f64>,
    pub kernel: Option<Kernel>,
}

/// What the kernel says of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// Segments.
    pub cwnd: u32,
    /// Segments; null as long as nothing was lost.
    pub ssthresh: Option<u32>,
    pub rto_s: f64,
    pub rtt_s: f64,
    pub congestion_control: String,
}

/// What Linux has for a threshold that was never set.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

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
            state: flow.state.to_owned(),
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

impl From<ShimSnapshot> for Document {
    fn from(snapshot: ShimSnapshot) -> Self {
        let named = |(name, count): (&str, u64)| (name.to_owned(), count);
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            lasted_s: snapshot.uptime.as_secs_f64(),
            memory: Memory {
                stored_bytes: snapshot.memory.0 as u64,
                held_bytes: snapshot.memory.1 as u64,
            },
            counts: snapshot.counts.each().map(named).collect(),
            driver: snapshot.daemon_counts.named_counts().map(named).collect(),
            unseen: snapshot.unseen.named_counts().map(named).collect(),
            flows: snapshot.flows.into_iter().map(Flow::from).collect(),
        }
    }
}

impl Document {
    /// As it is printed.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a document is plain values with text as keys") + "\n"
    }

    /// Asks the kernel about each flow. One that has closed meanwhile stays without an answer.
    pub fn query_kernel(&mut self) {
        for flow in &mut self.flows {
            flow.kernel = kernel_tcp(flow.source, flow.destination).ok().map(Kernel::from);
        }
    }

    /// As Prometheus reads it (text format 0.0.4).
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let mut metric = |kind: &str, name: &str, help: &str, values: &[(String, f64)]| {
            // Writing into a String can't fail.
            let _ = writeln!(text, "# HELP driftway_shim_{name} {help}");
            let _ = writeln!(text, "# TYPE driftway_shim_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "driftway_shim_{name}{labels} {value}");
            }
        };
        let one = |value: f64| [(String::new(), value)];
        metric("gauge", "uptime_seconds", "Time since the shim began.", &one(self.lasted_s));
        for (name, bytes, help) in [
            ("stored_bytes", self.memory.stored_bytes, "Bytes of stored packets."),
            ("held_bytes", self.memory.held_bytes, "Bytes held for stored packets."),
        ] {
            metric("gauge", name, help, &one(bytes as f64));
        }
        let flows: Vec<_> = ["open", "held", "disconnected", "resuming"]
            .map(|state| {
                let flows = self.flows.iter().filter(|flow| flow.state == state).count();
                (format!("{{state=\"{state}\"}}"), flows as f64)
            })
            .into();
        metric("gauge", "flows", "Connections that are followed, by state.", &flows);
        for (name, help, counts) in [
            ("events_total", "What the shim did and saw, by kind.", &self.counts),
            ("driver_total", "What its driver did, by kind.", &self.driver),
            ("unseen_total", "Packets that went by untouched, by kind.", &self.unseen),
        ] {
            let values: Vec<_> = counts
                .iter()
                .map(|(kind, count)| (format!("{{kind=\"{kind}\"}}"), *count as f64))
                .collect();
            metric("counter", name, help, &values);
        }
        text
    }
}
