//! A run in real time: a path, the kernel's TCP at both ends, and the shim below one of them.

use std::collections::BTreeMap;
use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, NodeId};
use driftway_experiment::study::check::aid_named;
use driftway_linux::{
    Emulation, Namespace, PathEnd, RealClock, ShimDaemon, ShimSnapshot, StatusHandle,
    enable_realtime_scheduling,
};
use driftway_scenario::{Application, Scenario, Size};
use driftway_shim::{Config, Shim};
use schemars::JsonSchema;
use serde::Serialize;

use super::counters;
use super::kernel_plan::PlannedRun;
use crate::emulate::mtu;
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

/// A shim below the kernel's TCP at one end, in a thread.
struct ShimThread {
    asker: StatusHandle,
    stop: PipeWriter,
    thread: JoinHandle<io::Result<()>>,
}

impl ShimThread {
    /// Starts a shim with the aid of this name.
    fn start(namespace: &Namespace, aid: &str) -> io::Result<Self> {
        let aid = aid_named(aid).map_err(io::Error::other)?;
        let make = move || aid.build(Duration::ZERO).expect("a named aid can be built");
        let start = || {
            let shim = Shim::with_aid(Config::default(), make);
            let mut field = ShimDaemon::start_with_shim(&[], shim)?;
            let asker = field.status_handle();
            let (stopped, stop) = io::pipe()?;
            let work = move || {
                // A host has one shim; here there is one per run, on few processors.
                enable_realtime_scheduling();
                field.run(stopped.as_fd())
            };
            let thread = thread::Builder::new().name("shim".into()).spawn(work)?;
            Ok(Self { asker, stop, thread })
        };
        namespace.run(start)?
    }

    /// Stops the shim; returns its final state.
    fn stop_and_report(self) -> io::Result<ShimSnapshot> {
        let last = self.asker.snapshot();
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        last.ok_or_else(|| io::Error::other("the shim ended early"))
    }
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
    let transfer = Transfer { congestion_control, bytes, window, port, deadline, stop };
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
