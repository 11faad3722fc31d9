//! Samples of an emulation while it runs: the state of its links, and that of the connections of its kernels.

use std::collections::BTreeMap;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, NodeId};
use driftway_linux::{
    EmulationControl, ObservedNetwork, RealClock, RunningEmulation, SocketMonitor,
};
use driftway_sim::link_results;
use driftway_sim::results::LinkResult;
use driftway_sim::samples::{LinkSampler, Samples};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::connections::Connections;

/// Time between two looks at the connections of a kernel, for each kernel, and at least.
const LOOK_PER_KERNEL: Duration = Duration::from_millis(1);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A thread that takes samples.
pub struct Sampler {
    stop: PipeWriter,
    thread: JoinHandle<io::Result<Sampled>>,
}

/// The samples and the last states.
#[derive(Debug)]
pub struct Sampled {
    /// Samples of links and connections.
    pub samples: Samples,
    /// Last states of all connections.
    pub connections: Connections,
    /// Counters of all links at the end.
    pub links: Vec<LinkResult>,
    /// Default congestion control of each node.
    pub congestion_controls: BTreeMap<NodeId, String>,
}

impl Sampler {
    /// Starts the thread for the nodes of an emulation that has just started.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn start(running: &RunningEmulation, nodes: &[NodeId]) -> io::Result<Self> {
        let mut monitors = Vec::new();
        let mut congestion_controls = BTreeMap::new();
        for (node, namespace) in nodes.iter().zip(running.namespaces()) {
            monitors.push((*node, namespace.run(SocketMonitor::open)??));
            let default = namespace.sysctl("net/ipv4/tcp_congestion_control")?;
            congestion_controls.insert(*node, default);
        }
        let (stopped, stop) = io::pipe()?;
        let work = SamplerThread {
            control: running.control(),
            clock: running.clock(),
            monitors,
            sampler: Some(LinkSampler::default()),
            sampled: Sampled {
                samples: Samples::default(),
                connections: Connections::default(),
                links: Vec::new(),
                congestion_controls,
            },
        };
        let thread =
            thread::Builder::new().name("samples".into()).spawn(move || work.run(&stopped))?;
        Ok(Self { stop, thread })
    }

    /// Looks a last time, and ends the thread.
    ///
    /// # Errors
    /// Any error of the kernel while it ran.
    pub fn finish(self) -> io::Result<Sampled> {
        drop(self.stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The state of the thread.
struct SamplerThread {
    control: EmulationControl,
    clock: RealClock,
    monitors: Vec<(NodeId, SocketMonitor)>,
    /// `None` once the network has ended.
    sampler: Option<LinkSampler>,
    sampled: Sampled,
}

impl SamplerThread {
    fn run(mut self, stopped: &PipeReader) -> io::Result<Sampled> {
        let kernels = self.monitors.len() as u64;
        let interval = LOOK_INTERVAL.max(LOOK_PER_KERNEL.times(kernels));
        let mut look_at = self.clock.now();
        loop {
            let is_over = self.wait(look_at, stopped)?;
            self.take_closed()?;
            if is_over || self.clock.now() >= look_at {
                look_at = self.clock.now() + interval;
                self.take_open()?;
                if is_over || self.clock.now() >= self.sampled.samples.due() {
                    self.take_sample();
                }
            }
            if is_over {
                self.take_links();
                return Ok(self.sampled);
            }
        }
    }

    /// Waits until a time, the end of a connection, or the end; returns true at the end.
    fn wait(&self, until: Instant, stopped: &PipeReader) -> io::Result<bool> {
        let monitors = self.monitors.iter().map(|(_, monitor)| monitor.as_fd());
        let mut watched: Vec<PollFd<'_>> = monitors
            .chain([stopped.as_fd()])
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN))
            .collect();
        let left = self.clock.until(until).as_nanos().div_ceil(1_000_000);
        match poll(&mut watched, u16::try_from(left).map_or(PollTimeout::MAX, PollTimeout::from)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(watched.last().is_some_and(|fd| fd.any().unwrap_or(true)))
    }

    fn take_closed(&mut self) -> io::Result<()> {
        for (node, monitor) in &self.monitors {
            for seen in monitor.closed()? {
                self.sampled.connections.update(*node, self.clock.now(), seen, true);
            }
        }
        Ok(())
    }

    fn take_open(&mut self) -> io::Result<()> {
        for (node, monitor) in &self.monitors {
            for seen in monitor.connections()? {
                self.sampled.connections.update(*node, self.clock.now(), seen, false);
            }
        }
        Ok(())
    }

    /// Adds samples of links and connections. A network that has ended gives no more; why it did is reported when it
    /// is stopped.
    fn take_sample(&mut self) {
        let Some(mut sampler) = self.sampler.take() else { return };
        let look = move |at: Instant, net: &ObservedNetwork| {
            let links = sampler.sample(at, net);
            (at, links, sampler)
        };
        if let Ok((at, links, sampler)) = self.control.inspect(look) {
            self.sampler = Some(sampler);
            let Sampled { samples, connections, .. } = &mut self.sampled;
            samples.add(at, links, connections.samples());
        }
    }

    fn take_links(&mut self) {
        let look = |at: Instant, net: &ObservedNetwork| link_results(net, at);
        self.sampled.links = self.control.inspect(look).unwrap_or_default();
    }
}
