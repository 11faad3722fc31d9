//! A run in real time: flows of the kernel's TCP over the emulated path of a scenario.

use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use driftway_base::{Instant, NodeId};
use driftway_experiment::validation::kernel::cases::{KernelCase, KernelPreset};
use driftway_linux::{Emulation, PathEnd, RealClock, RunningEmulation};
use driftway_scenario::{Application, Flow, Scenario, Size, Time};

use crate::emulate::mtu;
use crate::kernel::transfer::{FIRST_PORT, Transfer};

/// Result of one run.
#[derive(Clone, Debug)]
pub struct EmulatedFlows {
    /// Throughput of each flow (bit/s).
    pub throughputs: Vec<f64>,
    /// True if packets were late or lost on the way between kernel and network.
    pub is_late: bool,
}

/// Runs a case once.
///
/// # Errors
/// A failed system call, or a scenario that cannot be run with a kernel.
pub fn emulate(case: &KernelCase, seed: u64, stop: &AtomicBool) -> io::Result<EmulatedFlows> {
    let scenario = &case.job.scenario;
    let first = scenario.flows.first().ok_or_else(|| io::Error::other("there is no flow"))?;
    let ends = [first.from, first.to].map(NodeId::new);
    let emulation = Emulation::new(scenario, seed, mtu(scenario), &ends)?;
    let uses_ecn = first.tcp.as_ref().is_some_and(|tcp| tcp.ecn);
    for end in PathEnd::BOTH {
        let ecn = if uses_ecn { "1" } else { "0" };
        emulation.end(end).set_sysctl("net/ipv4/tcp_ecn", ecn)?;
    }
    let far = emulation.address(PathEnd::Far);
    let running = emulation.start()?;
    let clock = RealClock::start();
    let throughputs = thread::scope(|scope| {
        let running = &running;
        let flows = scenario.flows.iter().zip(&case.flows).zip(FIRST_PORT..);
        let started: Vec<_> = flows
            .map(|((flow, preset), port)| {
                let of = FlowRun { scenario, flow, preset, port, clock, stop };
                scope.spawn(move || of.throughput(running, far))
            })
            .collect();
        let joined = started.into_iter().map(|run| run.join());
        joined
            .map(|run| run.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<io::Result<Vec<f64>>>()
    });
    let report = running.stop()?;
    Ok(EmulatedFlows {
        throughputs: throughputs?,
        is_late: !report.measurement_warnings().is_empty(),
    })
}

/// One flow of a run.
#[derive(Clone, Copy, Debug)]
struct FlowRun<'a> {
    scenario: &'a Scenario,
    flow: &'a Flow,
    preset: &'a KernelPreset,
    port: u16,
    clock: RealClock,
    stop: &'a AtomicBool,
}

impl FlowRun<'_> {
    /// Runs the flow; its throughput as the simulator counts it: payload received by the end of the transfer or
    /// of the run, over the time from its start (bit/s).
    fn throughput(self, running: &RunningEmulation, far: std::net::Ipv4Addr) -> io::Result<f64> {
        let Self { scenario, flow, preset, port, clock, stop } = self;
        let (Time(start), Time(duration)) = (flow.start, scenario.duration);
        let bytes = match flow.application {
            Application::Transfer(Size(bytes)) => bytes,
            Application::Ftp => u64::MAX,
            _ => return Err(io::Error::other("the flow is no bulk transfer")),
        };
        let Some(tcp) = &flow.tcp else {
            return Err(io::Error::other("the flow does not use TCP"));
        };
        let start = Instant::ZERO + start;
        let early = start.since(clock.now().min(start));
        thread::sleep(std::time::Duration::from_nanos(early.as_nanos()));
        let window = u32::try_from(tcp.window_bytes()).unwrap_or(u32::MAX);
        let deadline = Instant::ZERO + duration;
        let congestion_control = preset.congestion_control;
        let transfer = Transfer { congestion_control, bytes, window, port, deadline, stop };
        let arrived = transfer.run(running, far, clock)?;
        let end = arrived.complete.unwrap_or(deadline);
        Ok(arrived.bytes as f64 * 8.0 / end.since(start).as_secs_f64())
    }
}
