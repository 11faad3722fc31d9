//! A flow of a scenario over its emulated path with the kernel's TCP, in its time.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::AtomicBool;
use std::thread;

use driftway_base::{Duration, Instant};
use driftway_linux::{RealClock, RunningEmulation};
use driftway_scenario::{Application, Flow, Scenario, Size, Time};

use super::transfer::Transfer;

/// A flow of a run.
#[derive(Clone, Copy, Debug)]
pub struct FlowRun<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The flow.
    pub flow: &'a Flow,
    /// The kernel's name of the congestion control.
    pub congestion_control: &'a str,
    /// Limit on the sender's retransmission timeout (ms), if any.
    pub rto_max_ms: Option<u32>,
    /// Port of the receiver.
    pub port: u16,
    /// Clock that started with the network.
    pub clock: RealClock,
    /// Aborts the flow as soon as it is set.
    pub stop: &'a AtomicBool,
}

/// The end of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    /// Throughput as the simulator counts it: payload received by the end of the transfer or of the run, over the
    /// time from its start (bit/s).
    pub throughput_bps: f64,
    /// Completion time, if the transfer completed (s).
    pub completion_s: Option<f64>,
    /// The time that it had (s).
    pub available_s: f64,
}

impl FlowRun<'_> {
    /// Waits until a time of the scenario; returns at once if that has passed.
    pub fn wait_until(&self, at: Instant) {
        let early = at.since(self.clock.now().min(at));
        thread::sleep(std::time::Duration::from_nanos(early.as_nanos()));
    }

    /// Runs the flow from its start to its end.
    ///
    /// # Errors
    /// A failed system call, or a flow that is no bulk transfer of TCP.
    pub fn run(self, running: &RunningEmulation, far: Ipv4Addr) -> io::Result<FlowEnd> {
        let Self { scenario, flow, congestion_control, rto_max_ms, port, clock, stop } = self;
        let (Time(start), Time(duration)) = (flow.start, scenario.duration);
        let bytes = match flow.application {
            Application::Transfer(Size(bytes)) => bytes,
            Application::Ftp => u64::MAX,
            _ => return Err(io::Error::other("the flow is no bulk transfer")),
        };
        let Some(tcp) = &flow.tcp else {
            return Err(io::Error::other("the flow does not use TCP"));
        };
        let (start, deadline) = (Instant::ZERO + start, Instant::ZERO + duration);
        self.wait_until(start);
        let window = u32::try_from(tcp.window_bytes()).unwrap_or(u32::MAX);
        let transfer =
            Transfer { congestion_control, rto_max_ms, bytes, window, port, deadline, stop };
        let arrived = transfer.run(running, far, clock)?;
        let seconds = |end: Instant| Duration::as_secs_f64(end.since(start));
        let took = seconds(arrived.complete.unwrap_or(deadline));
        Ok(FlowEnd {
            throughput_bps: if took > 0.0 { arrived.bytes as f64 * 8.0 / took } else { 0.0 },
            completion_s: arrived.complete.map(seconds),
            available_s: seconds(deadline),
        })
    }
}
