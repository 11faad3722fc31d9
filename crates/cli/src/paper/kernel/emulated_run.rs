//! A run in real time: a path, the kernel's TCP at both ends, and the shim below one of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;

use driftway_base::{Duration, Instant, NodeId};
use driftway_linux::{Emulation, PathEnd, RealClock};
use driftway_scenario::{Application, Scenario, Size};
use schemars::JsonSchema;
use serde::Serialize;

use super::counters;
use super::kernel_plan::PlannedRun;
use crate::emulate::mtu::mtu;
use crate::kernel::shim_thread::ShimThread;
use crate::kernel::transfer::{FIRST_PORT, Transfer};

/// Result of one run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EmulatedRun {
    /// Time from the opening of the connection to the last byte (s); `null` if the transfer did not
    /// complete.
    pub completion_s: Option<f64>,
    /// Bytes received within the scenario's duration, over that duration (bit/s); `null` for a
    /// transfer, which has an end.
    pub throughput_bps: Option<f64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Error of the sending kernel, if it aborted the connection; `null` if it did not.
    pub refused: Option<String>,
    /// True if the run kept real time, so that the result can be trusted.
    pub trusted: bool,
    /// Reasons not to trust the result.
    pub because: Vec<String>,
    /// Number of attempts, the last of which is this result.
    pub attempts: u32,
    /// 99th percentile of the packets' lateness (s).
    pub late_p99_s: f64,
    /// Limit on `late_p99_s` (s).
    pub tolerated_s: f64,
    /// Packets that queues marked (ECN CE).
    pub marks: u64,
    /// Packets dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// TCP counters of the sending kernel.
    pub tcp_counts: BTreeMap<&'static str, u64>,
    /// Counters of the shim that are not zero; `null` without a shim.
    pub shim_counts: Option<BTreeMap<&'static str, u64>>,
}

/// Runs a scenario's flow once.
///
/// # Errors
/// A failed system call, or a scenario that cannot be run with a kernel.
pub fn emulate_run(scenario: &Scenario, run: &PlannedRun) -> io::Result<EmulatedRun> {
    let (Some(flow), driftway_scenario::Time(limit)) = (scenario.flows.first(), scenario.duration)
    else {
        return Err(io::Error::other("there is no flow"));
    };
    let (bytes, endless) = match flow.application {
        Application::Transfer(Size(bytes)) => (bytes, false),
        Application::Ftp => (u64::MAX, true),
        _ => return Err(io::Error::other("the flow is no bulk transfer")),
    };
    let Some(tcp) = &flow.tcp else { return Err(io::Error::other("the flow does not use TCP")) };
    // The sender's end is the near one.
    let ends = [flow.from, flow.to].map(NodeId::new);
    let emulation = Emulation::new(scenario, run.seed, mtu(scenario), &ends)?;
    let far = emulation.address(PathEnd::Far);
    for end in PathEnd::BOTH {
        let namespace = emulation.end(end);
        namespace.set_sysctl("net/ipv4/tcp_ecn", if tcp.ecn { "1" } else { "0" })?;
    }
    let stack = &run.stack;
    let below = match &stack.aid {
        None => None,
        Some(aid) => {
            let node = NodeId::new(run.shim_node.unwrap_or(flow.from));
            let none = || io::Error::other(format!("node {node} has no kernel"));
            Some(ShimThread::start(emulation.namespace(node).ok_or_else(none)?, aid)?)
        }
    };
    let running = emulation.start()?;
    let clock = RealClock::start();
    let window = u32::try_from(tcp.window_bytes()).unwrap_or(u32::MAX);
    let congestion_control = stack.congestion_control.as_str();
    let deadline = Instant::ZERO + limit;
    let (port, stop) = (FIRST_PORT, &AtomicBool::new(false));
    let rto_max_ms = None;
    let transfer = Transfer { congestion_control, rto_max_ms, bytes, window, port, deadline, stop };
    let arrived = transfer.run(&running, far, clock);
    let tcp_counts = counters::read_counters(running.end(PathEnd::Near));
    // Before the path stops, because the shim releases its stored packets when it stops.
    let snapshot = below.map(ShimThread::stop_and_report).transpose();
    let report = running.stop()?;
    let (arrived, tcp_counts, snapshot) = (arrived?, tcp_counts?, snapshot?);
    let because = report.measurement_warnings();
    Ok(EmulatedRun {
        completion_s: arrived.complete.map(|at| at.since(Instant::ZERO).as_secs_f64()),
        throughput_bps: endless.then(|| arrived.bytes as f64 * 8.0 / limit.as_secs_f64()),
        received_bytes: arrived.bytes,
        refused: arrived.refused,
        trusted: because.is_empty(),
        because,
        attempts: 1,
        late_p99_s: Duration::as_secs_f64(report.lateness.quantile(0.99)),
        tolerated_s: Duration::as_secs_f64(report.tolerance.tolerated()),
        marks: report.marked,
        drops: report.counts.drops.clone(),
        tcp_counts,
        shim_counts: snapshot
            .map(|last| last.counts.each().filter(|(_, count)| *count > 0).collect()),
    })
}
