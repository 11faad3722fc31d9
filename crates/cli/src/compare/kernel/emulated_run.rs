//! A run of a comparison in real time: the compared flow and those beside it, over the emulated links.

use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use driftway_base::{Duration, Instant, NodeId};
use driftway_experiment::comparison::kernel::{KernelAid, KernelArm, RTO_MAX_MS};
use driftway_experiment::comparison::runs::RunSample;
use driftway_linux::{Emulation, PathEnd, RunningEmulation};
use driftway_scenario::{Scenario, Time};

use crate::emulate::mtu::mtu;
use crate::kernel::flow_run::{FlowEnd, FlowRun};
use crate::kernel::shim_thread::{DEFAULT_AID, ShimThread};
use crate::kernel::transfer::FIRST_PORT;

/// Time before the start of the compared flow at which the shim starts: flows that are older stay as they are.
const SHIM_LEAD: Duration = Duration::from_millis(300);
/// Number of timeouts before the kernel gives up with a limit on its timeout, of which the default, 15, would be 15 s.
const RETRIES: &str = "255";

/// The network, and the flow that is compared.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFlow<'a> {
    /// The scenario; the TCP and the aids of its flows do not count.
    pub scenario: &'a Scenario,
    /// Index of the compared flow.
    pub flow: usize,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug)]
pub struct EmulatedComparison {
    /// The measurements that are compared.
    pub sample: RunSample,
    /// True if packets were late or lost on the way between kernel and network.
    pub is_late: bool,
}

/// Runs an arm once.
///
/// # Errors
/// A failed system call, or a scenario that cannot be run with a kernel.
pub fn emulate(
    of: ComparedFlow<'_>,
    arm: KernelArm,
    seed: u64,
    stop: &AtomicBool,
) -> io::Result<EmulatedComparison> {
    let ComparedFlow { scenario, flow: compared } = of;
    let own = scenario.flows.get(compared).ok_or_else(|| io::Error::other("there is no flow"))?;
    // The sender's end is the near one.
    let ends = [own.from, own.to].map(NodeId::new);
    let emulation = Emulation::new(scenario, seed, mtu(scenario), &ends)?;
    let uses_ecn = own.tcp.as_ref().is_some_and(|tcp| tcp.ecn);
    for end in PathEnd::BOTH {
        emulation.end(end).set_sysctl("net/ipv4/tcp_ecn", if uses_ecn { "1" } else { "0" })?;
    }
    if arm.aid == KernelAid::RtoMax {
        emulation.end(PathEnd::Near).set_sysctl("net/ipv4/tcp_retries2", RETRIES)?;
    }
    let far = emulation.address(PathEnd::Far);
    let running = emulation.start()?;
    let flow_run = |index: usize, port: u16| FlowRun {
        scenario,
        flow: &scenario.flows[index],
        congestion_control: match &scenario.flows[index].tcp {
            // The others have the TCP of their scenario, as in a simulation.
            Some(tcp) if index != compared => kernel_growth(tcp.growth.name()),
            _ => arm.tcp.congestion_control,
        },
        rto_max_ms: (index == compared && arm.aid == KernelAid::RtoMax).then_some(RTO_MAX_MS),
        port,
        clock: running.clock(),
        stop,
    };
    let (flow_run, running_ref) = (&flow_run, &running);
    let (ends, shim) = thread::scope(|scope| {
        let started: Vec<_> = (0..scenario.flows.len())
            .zip(FIRST_PORT..)
            .map(|(index, port)| scope.spawn(move || flow_run(index, port).run(running_ref, far)))
            .collect();
        let shim = start_shim(running_ref, flow_run(compared, FIRST_PORT), arm);
        let joined = started.into_iter().map(|run| run.join());
        let ends = joined.map(|run| run.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (ends.collect::<io::Result<Vec<FlowEnd>>>(), shim)
    });
    // Before the path stops, because the shim releases its stored packets when it stops.
    let stopped = shim?.map(ShimThread::stop_and_report).transpose();
    let report = running.stop()?;
    stopped?;
    let sample = sample(&ends?, compared);
    Ok(EmulatedComparison { sample, is_late: !report.warnings().is_empty() })
}

/// The kernel's congestion control in place of a window growth of scenarios.
fn kernel_growth(growth: &str) -> &'static str {
    match growth {
        "reno" => "reno",
        "bbr" => "bbr",
        _ => "cubic",
    }
}

/// Starts the shim of an arm that has it, shortly before the compared flow begins.
fn start_shim(
    running: &RunningEmulation,
    own: FlowRun<'_>,
    arm: KernelArm,
) -> io::Result<Option<ShimThread>> {
    if arm.aid != KernelAid::Shim {
        return Ok(None);
    }
    let Time(start) = own.flow.start;
    own.wait_until(Instant::ZERO + start.saturating_sub(SHIM_LEAD));
    ShimThread::start(running.end(PathEnd::Near), DEFAULT_AID).map(Some)
}

/// The part of a run that is compared, as of a simulation.
fn sample(ends: &[FlowEnd], compared: usize) -> RunSample {
    let own = ends[compared];
    let others = ends.iter().enumerate().filter(|(index, _)| *index != compared);
    let others: Vec<f64> = others.map(|(_, end)| end.throughput_bps).collect();
    let sum: f64 = others.iter().sum();
    let total = sum + own.throughput_bps;
    RunSample {
        throughput_bps: own.throughput_bps,
        completion_s: own.completion_s,
        available_s: own.available_s,
        neighbours_bps: (!others.is_empty()).then(|| sum / others.len() as f64),
        neighbour_share: (!others.is_empty() && total > 0.0).then(|| sum / total),
    }
}
