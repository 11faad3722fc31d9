//! Network namespaces, joined by a network of the simulator in real time.
//!
//! One thread moves packets: it waits for the devices or the network's next event, reads the
//! kernels' packets, processes due events, and writes the packets that leave. The network keeps its
//! own time with a resolution of 1 ns; a delay of this thread affects only the time at which a
//! packet leaves, is measured there, and does not accumulate over hops.

mod carriers;
mod emulated_network;
mod kernel_packet;
mod lateness;
mod packet_loop;
mod packet_store;
mod tolerance;

use std::io::{self, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Ipv4Addr, NodeId};
use driftway_scenario::{Network, Scenario};

use carriers::Carriers;
pub use emulated_network::{
    DepartingPacket, EmulatedNetwork, EmulationCounts, KernelCounts, not_emulated,
};
pub use lateness::LatenessHistogram;
use packet_loop::{LoopOutcome, PacketLoop};
pub use tolerance::Tolerance;

use crate::{Namespace, Tun};

/// Prefix of all addresses of a network, and of those of networks behind the ends of a path:
/// 10.0.0.0/8.
const PREFIX: u8 = 8;

/// The first or the last of an emulation's kernels: for a path, its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// Node 0, at which the command runs.
    Near,
    /// The last node of the chain.
    Far,
}

impl PathEnd {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::Near, Self::Far];

    /// Returns the other end.
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }

    /// Returns the index of the kernel at this end, of `kernels`.
    const fn kernel(self, kernels: usize) -> usize {
        match self {
            Self::Near => 0,
            Self::Far => kernels - 1,
        }
    }
}

/// Returns the nodes at the two ends of a network: the first and the last node of a path, and else the
/// sender and the receiver of the first flow.
pub fn end_nodes(scenario: &Scenario) -> [NodeId; 2] {
    match (&scenario.network, scenario.flows.first()) {
        (Network::Path(path), _) => [0, path.hops].map(NodeId::new),
        (_, Some(flow)) => [flow.from, flow.to].map(NodeId::new),
        (_, None) => [0, 1].map(NodeId::new),
    }
}

/// Returns the number of nodes of a scenario's network, of a path without those of parallel routes.
pub fn node_count(scenario: &Scenario) -> usize {
    match &scenario.network {
        Network::Path(path) => path.hops as usize + 1,
        other => other.nodes() as usize,
    }
}

/// Namespaces and the network between them, before the start.
pub struct Emulation {
    kernels: Kernels,
    tuns: Vec<Tun>,
    network: EmulatedNetwork,
    tolerance: Tolerance,
}

/// The nodes with a kernel, and their namespaces.
struct Kernels {
    nodes: Vec<NodeId>,
    namespaces: Vec<Namespace>,
}

impl Kernels {
    fn namespace(&self, node: NodeId) -> Option<&Namespace> {
        let kernel = self.nodes.iter().position(|with_kernel| *with_kernel == node)?;
        self.namespaces.get(kernel)
    }

    fn end(&self, end: PathEnd) -> &Namespace {
        &self.namespaces[end.kernel(self.namespaces.len())]
    }
}

impl Emulation {
    /// Creates the scenario's network with the simulator's random streams for this `seed`, and a
    /// namespace for each of `nodes`, whose devices have this MTU (bytes). The other nodes are
    /// routers. Faults at random times occur within the scenario's duration; the network continues
    /// after that.
    ///
    /// # Errors
    /// No nodes, a node that the network does not have or that is given twice, or any error of the
    /// kernel; see [`check_requirements`](crate::check_requirements) for the requirements.
    pub fn new(scenario: &Scenario, seed: u64, mtu: u16, nodes: &[NodeId]) -> io::Result<Self> {
        let network = EmulatedNetwork::new(scenario, seed, nodes)?;
        let (mut namespaces, mut tuns) = (Vec::new(), Vec::new());
        for kernel in 0..nodes.len() {
            let (namespace, tun) = attach(network.address(kernel), mtu)?;
            namespaces.push(namespace);
            tuns.push(tun);
        }
        let kernels = Kernels { nodes: nodes.to_vec(), namespaces };
        Ok(Self { kernels, tuns, network, tolerance: Tolerance::new(scenario, mtu) })
    }

    /// Returns the namespace of a node; `None` if the node is a router.
    pub fn namespace(&self, node: NodeId) -> Option<&Namespace> {
        self.kernels.namespace(node)
    }

    /// Returns all namespaces, in the order of the nodes given.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.kernels.namespaces
    }

    /// Returns the namespace of the first or last of the nodes given.
    pub fn end(&self, end: PathEnd) -> &Namespace {
        self.kernels.end(end)
    }

    /// Returns the address of the first or last of the nodes given.
    pub fn address(&self, end: PathEnd) -> Ipv4Addr {
        self.network.address(end.kernel(self.tuns.len()))
    }

    /// Returns the addresses of all nodes.
    pub fn node_addresses(&self) -> Vec<Ipv4Addr> {
        self.network.node_addresses()
    }

    /// Starts the network at time zero of the scenario.
    ///
    /// # Errors
    /// A thread, a socket or the pipe cannot be created.
    pub fn start(self) -> io::Result<RunningEmulation> {
        let (stopped, stop) = io::pipe()?;
        let delivered = Arc::new(AtomicU64::new(0));
        let mut switches = Vec::new();
        for (namespace, tun) in self.kernels.namespaces.iter().zip(&self.tuns) {
            switches.push(namespace.run(|| tun.carrier_switch())??);
        }
        let carriers = Carriers::start(switches)?;
        let work = PacketLoop::new(self.tuns, carriers, self.network, Arc::clone(&delivered));
        let thread =
            thread::Builder::new().name("network".into()).spawn(move || work.run(&stopped))?;
        Ok(RunningEmulation {
            kernels: self.kernels,
            stop,
            thread,
            delivered,
            tolerance: self.tolerance,
        })
    }
}

/// Creates a namespace with a device of this address.
fn attach(address: Ipv4Addr, mtu: u16) -> io::Result<(Namespace, Tun)> {
    let namespace = Namespace::new()?;
    for which in ["all", "default"] {
        // As in the simulator, the first router is the sending host's own: its messages arrive
        // from outside with the host's own address as source.
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/accept_local"), "1")?;
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
    }
    let tun = namespace.run(|| Tun::open(address, PREFIX, mtu))??;
    Ok((namespace, tun))
}

/// A running network. If it is dropped without [`stop`](RunningEmulation::stop), it ends shortly
/// after.
pub struct RunningEmulation {
    kernels: Kernels,
    stop: PipeWriter,
    thread: JoinHandle<io::Result<LoopOutcome>>,
    delivered: Arc<AtomicU64>,
    tolerance: Tolerance,
}

impl RunningEmulation {
    /// Returns the namespace of a node; `None` if the node is a router.
    pub fn namespace(&self, node: NodeId) -> Option<&Namespace> {
        self.kernels.namespace(node)
    }

    /// Returns all namespaces, in the order of the nodes given.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.kernels.namespaces
    }

    /// Returns the namespace of the first or last of the nodes given.
    pub fn end(&self, end: PathEnd) -> &Namespace {
        self.kernels.end(end)
    }

    /// Returns the number of packets passed to the kernels so far.
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// Returns whether it has failed; [`stop`](RunningEmulation::stop) then returns the error.
    pub fn has_failed(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the network, and returns its report.
    ///
    /// # Errors
    /// Any error of a device, or a violation of packet conservation, which is a bug in driftway.
    pub fn stop(self) -> io::Result<EmulationReport> {
        drop(self.stop);
        let done = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        done.network.check_conservation().map_err(|what| {
            io::Error::other(format!("a bug in driftway: packet conservation is violated: {what}"))
        })?;
        let mut overflows = 0;
        for (namespace, tun) in self.kernels.namespaces.iter().zip(&done.tuns) {
            overflows += namespace.run(|| tun.overflows())??;
        }
        // They are what a link that is down loses.
        overflows = overflows.saturating_sub(done.dropped_without_carrier);
        Ok(EmulationReport {
            duration: done.duration,
            counts: done.network.counts().clone(),
            marked: done.network.marked(),
            lateness: done.lateness,
            overflows,
            refused: done.refused,
            is_realtime: done.is_realtime,
            tolerance: self.tolerance,
        })
    }
}

/// Results of an emulation, and its accuracy.
#[derive(Clone, Debug)]
pub struct EmulationReport {
    /// Running time.
    pub duration: Duration,
    /// Packet counters.
    pub counts: EmulationCounts,
    /// Packets marked by queues.
    pub marked: u64,
    /// Lateness of packets leaving the network.
    pub lateness: LatenessHistogram,
    /// Packets that a kernel dropped before they reached the network, because this machine did not
    /// keep up.
    pub overflows: u64,
    /// Packets that a kernel rejected when they left the network.
    pub refused: u64,
    /// The network's thread had real-time scheduling (see [`crate::enable_realtime_scheduling`]).
    pub is_realtime: bool,
    /// The lateness that does not matter.
    pub tolerance: Tolerance,
}

impl EmulationReport {
    /// Reasons to distrust the results; empty if there are none.
    pub fn warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let (p99, tolerated) = (self.lateness.quantile(0.99), self.tolerance.tolerated());
        if p99 > tolerated {
            let besides =
                if self.is_realtime { "" } else { "; it may not use the real time class" };
            doubts.push(format!(
                "one packet in a hundred was late by {} µs or more, {}{besides}",
                p99.as_nanos() / 1000,
                self.tolerance.description(),
            ));
        }
        if self.overflows > 0 {
            doubts.push(format!(
                "{} packets were dropped before the network saw them: this machine did not keep up",
                self.overflows
            ));
        }
        if self.refused > 0 {
            doubts.push(format!(
                "{} packets that had come through were not taken by a kernel",
                self.refused
            ));
        }
        doubts
    }
}
