//! A run in real time: flows of the kernel's TCP over the emulated path of a scenario.

use std::io;
use std::sync::atomic::AtomicBool;
use std::thread;

use driftway_base::NodeId;
use driftway_experiment::validation::kernel::cases::KernelCase;
use driftway_linux::{Emulation, PathEnd, RealClock};

use crate::emulate::mtu::mtu;
use crate::kernel::flow_run::FlowRun;
use crate::kernel::transfer::FIRST_PORT;

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
                let congestion_control = preset.congestion_control;
                let rto_max_ms = None;
                let of =
                    FlowRun { scenario, flow, congestion_control, rto_max_ms, port, clock, stop };
                scope.spawn(move || of.run(running, far).map(|end| end.throughput_bps))
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
