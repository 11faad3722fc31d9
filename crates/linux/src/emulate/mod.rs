//! Network namespaces, joined by a network of the simulator in real time.
//!
//! One thread moves packets: it waits for the devices or the network's next event, reads the
//! kernels' packets, processes due events, and writes the packets that leave. The network keeps its
//! own time with a resolution of 1 ns; a delay of this thread affects only the time at which a
//! packet leaves, is measured there, and does not accumulate over hops.

mod carriers;
mod control;
mod emulated_network;
mod hardware_addresses;
mod ipv6_errors;
mod kernel_packet;
mod lateness;
mod link_changes;
mod node_device;
mod observer;
mod packet_loop;
mod packet_store;
mod port;
mod progress;
mod report;
mod status;
mod tolerance;

use std::io::{self, PipeWriter};
use std::net::{IpAddr, Ipv6Addr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use driftway_base::{Instant, Ipv4Addr, NodeId};
use driftway_scenario::{Network, Scenario};
use driftway_wire::IPV6_MIN_MTU;

use carriers::Carriers;
pub use control::{ChangeOutcome, EmulationControl, NetworkStatus};
pub use emulated_network::{
    DepartingPacket, EmulatedNetwork, EmulationCounts, FaultRecord, KernelCounts, ipv6_refusal,
    not_emulated,
};
pub use lateness::LatenessHistogram;
pub use link_changes::{UnchangeableLink, link_changes};
pub use observer::NetworkObserver;
use packet_loop::{LoopOutcome, PacketLoop};
use port::Port;
use progress::Progress;
pub use report::EmulationReport;
pub use status::{LinkStatus, NodeStatus};
pub use tolerance::Tolerance;

use crate::attachment::{Attachment, Form};
use crate::{Namespace, NodeFiles, RealClock, Tun, Uplink};

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

/// The nodes of an emulation that are no routers of the network.
#[derive(Clone, Copy, Debug)]
pub struct EmulatedNodes<'a> {
    /// MTU of their devices (bytes).
    pub mtu: u16,
    /// Those with a namespace.
    pub nodes: &'a [NodeId],
    /// Those that are what is behind an interface of the calling thread's namespace.
    pub attached: &'a [(NodeId, String)],
    /// True if kernels exchange Ethernet frames with their neighbours, and forward packets by their own routes; false
    /// if they exchange packets of IP, which the network routes.
    pub is_ethernet: bool,
}

/// Namespaces and the network between them, before the start.
pub struct Emulation {
    kernels: Kernels,
    ports: Vec<Port>,
    network: EmulatedNetwork,
    tolerance: Tolerance,
    has_ipv6: bool,
    uplink: Option<Uplink>,
}

/// The nodes with a kernel: first those with a namespace, then those that are attached.
struct Kernels {
    nodes: Vec<NodeId>,
    namespaces: Vec<Namespace>,
}

impl Kernels {
    fn index(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|with_kernel| *with_kernel == node)
    }

    fn namespace(&self, node: NodeId) -> Option<&Namespace> {
        self.namespaces.get(self.index(node)?)
    }

    fn end(&self, end: PathEnd) -> &Namespace {
        &self.namespaces[end.kernel(self.namespaces.len())]
    }

    /// The namespaces with their devices.
    fn devices<'a>(
        &'a self,
        ports: &'a [Port],
    ) -> impl Iterator<Item = (usize, &'a Namespace, &'a Tun)> {
        let all = self.namespaces.iter().zip(ports).enumerate();
        all.filter_map(|(kernel, (namespace, port))| Some((kernel, namespace, port.device()?)))
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
        let nodes = EmulatedNodes { mtu, nodes, attached: &[], is_ethernet: false };
        Self::build(scenario, seed, &nodes, None)
    }

    /// Creates the same with such nodes, and an observer of the network.
    ///
    /// # Errors
    /// The same, or an interface that does not exist.
    pub fn build(
        scenario: &Scenario,
        seed: u64,
        setup: &EmulatedNodes<'_>,
        observer: Option<Box<dyn NetworkObserver>>,
    ) -> io::Result<Self> {
        let EmulatedNodes { mtu, nodes, attached, is_ethernet } = *setup;
        let behind = attached.iter().map(|(node, _)| *node);
        let all: Vec<NodeId> = nodes.iter().copied().chain(behind).collect();
        let mut network = EmulatedNetwork::observed(scenario, seed, &all, observer)?;
        if is_ethernet {
            network.carry_frames();
        }
        let (mut namespaces, mut ports) = (Vec::new(), Vec::new());
        let mut has_ipv6 = u32::from(mtu) >= IPV6_MIN_MTU;
        for node in nodes {
            let namespace = Namespace::new()?;
            let (device, with_ipv6) =
                node_device::create(&namespace, *node, mtu, is_ethernet, has_ipv6)?;
            has_ipv6 &= with_ipv6;
            ports.push(Port::Device(device));
            namespaces.push(namespace);
        }
        let form = if is_ethernet { Form::Frames } else { Form::Packets };
        for (kernel, (node, interface)) in (nodes.len()..).zip(attached) {
            let address = network.address(kernel);
            let attachment = Attachment::open(interface, form, *node, address, mtu);
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{interface}: {error}"));
            ports.push(Port::Attached(attachment.map_err(named)?));
        }
        let kernels = Kernels { nodes: all, namespaces };
        let tolerance = Tolerance::new(scenario, mtu);
        Ok(Self { kernels, ports, network, tolerance, has_ipv6, uplink: None })
    }

    /// Isolates the programs of each node from the host ([`Namespace::isolate`]); `init` makes the
    /// commands of the nodes' first processes, `files_of` has the files of each node.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn isolate(
        &mut self,
        init: impl Fn() -> Command,
        files_of: impl Fn(NodeId) -> NodeFiles,
    ) -> io::Result<()> {
        let Kernels { nodes, namespaces } = &mut self.kernels;
        for (node, namespace) in nodes.iter().zip(namespaces) {
            namespace.isolate(&mut init(), &files_of(*node))?;
        }
        Ok(())
    }

    /// Gives a node with a kernel a further address, to which the others have a route.
    ///
    /// # Errors
    /// The node is a router, the address is another's or not of one host, or any error of the kernel.
    pub fn add_address(&mut self, node: NodeId, address: IpAddr) -> io::Result<()> {
        let own = self.kernels.index(node).ok_or_else(|| no_kernel(node))?;
        if address.is_ipv6() && !self.has_ipv6 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the nodes have no IPv6"));
        }
        self.network.add_address(node, address)?;
        let host = if address.is_ipv4() { 32 } else { 128 };
        for (kernel, namespace, tun) in self.kernels.devices(&self.ports) {
            namespace.run(|| {
                if kernel == own {
                    tun.add_address(address, host)
                } else {
                    tun.add_route(Some((address, host)))
                }
            })??;
        }
        Ok(())
    }

    /// Connects a node with an interface of the host ([`Uplink::open`]); the others have a default route to
    /// it through the network, unless it carries frames. `further` are addresses outside that are to be reached though they look
    /// like addresses of nodes.
    ///
    /// # Errors
    /// The node is a router, or any error of the kernel.
    pub fn add_uplink(
        &mut self,
        node: NodeId,
        interface: &str,
        further: &[Ipv4Addr],
    ) -> io::Result<()> {
        let own = self.kernels.index(node).filter(|own| *own < self.kernels.namespaces.len());
        let own = own.ok_or_else(|| no_kernel(node))?;
        for (kernel, namespace, tun) in self.kernels.devices(&self.ports) {
            if kernel == own {
                self.uplink = Some(Uplink::open(namespace, interface, further)?);
            } else if !self.network.carries_frames() {
                namespace.run(|| tun.add_route(None))??;
            }
        }
        self.network.set_uplink(node);
        Ok(())
    }

    /// Returns the uplink, if there is one.
    pub fn uplink(&self) -> Option<&Uplink> {
        self.uplink.as_ref()
    }

    /// Returns the namespace of a node; `None` if the node is a router.
    pub fn namespace(&self, node: NodeId) -> Option<&Namespace> {
        self.kernels.namespace(node)
    }

    /// Returns all namespaces, in the order of the nodes given. Attached nodes have none.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.kernels.namespaces
    }

    /// Returns the namespace of the first or last of the nodes given.
    pub fn end(&self, end: PathEnd) -> &Namespace {
        self.kernels.end(end)
    }

    /// Returns the address of the first or last of the nodes given.
    pub fn address(&self, end: PathEnd) -> Ipv4Addr {
        self.network.address(end.kernel(self.kernels.namespaces.len()))
    }

    /// Returns the addresses of all nodes.
    pub fn node_addresses(&self) -> Vec<Ipv4Addr> {
        self.network.node_addresses()
    }

    /// Returns the IPv6 addresses of all nodes; none if the network refuses IPv6 somewhere, the MTU is too small for
    /// it, or the kernels have none.
    pub fn ipv6_node_addresses(&self) -> Vec<Ipv6Addr> {
        if self.has_ipv6 { self.network.ipv6_node_addresses() } else { Vec::new() }
    }

    /// Starts the network at time zero of the scenario.
    ///
    /// # Errors
    /// A thread, a socket or the pipe cannot be created.
    pub fn start(self) -> io::Result<RunningEmulation> {
        let (stopped, stop) = io::pipe()?;
        let (woken, wake) = io::pipe()?;
        let (control, requests) = EmulationControl::new(wake);
        let progress = Arc::new(Progress::new(self.ports.len()));
        let mut switches: Vec<_> = self.ports.iter().map(|_| None).collect();
        for (kernel, namespace, tun) in self.kernels.devices(&self.ports) {
            switches[kernel] = Some(namespace.run(|| tun.carrier_switch())??);
        }
        let carriers = Carriers::start(switches)?;
        let clock = RealClock::start();
        let progress_of_loop = Arc::clone(&progress);
        let work = PacketLoop::new(self.ports, carriers, self.network, clock, progress_of_loop);
        let thread = thread::Builder::new()
            .name("network".into())
            .spawn(move || work.run(&stopped, &woken, &requests))?;
        Ok(RunningEmulation {
            kernels: self.kernels,
            stop,
            control,
            thread,
            clock,
            progress,
            tolerance: self.tolerance,
            _uplink: self.uplink,
        })
    }
}

fn no_kernel(node: NodeId) -> io::Error {
    let what = format!("node {node} is a router: no program runs there");
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// A running network. If it is dropped without [`stop`](RunningEmulation::stop), it ends shortly
/// after.
pub struct RunningEmulation {
    kernels: Kernels,
    stop: PipeWriter,
    control: EmulationControl,
    thread: JoinHandle<io::Result<LoopOutcome>>,
    clock: RealClock,
    progress: Arc<Progress>,
    tolerance: Tolerance,
    _uplink: Option<Uplink>,
}

impl RunningEmulation {
    /// Returns the namespace of a node; `None` if the node is a router.
    pub fn namespace(&self, node: NodeId) -> Option<&Namespace> {
        self.kernels.namespace(node)
    }

    /// Returns all namespaces, in the order of the nodes given. Attached nodes have none.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.kernels.namespaces
    }

    /// Returns the namespace of the first or last of the nodes given.
    pub fn end(&self, end: PathEnd) -> &Namespace {
        self.kernels.end(end)
    }

    /// Returns a handle by which other threads change and inspect the network.
    pub fn control(&self) -> EmulationControl {
        self.control.clone()
    }

    /// Returns the clock of the scenario's time.
    pub const fn clock(&self) -> RealClock {
        self.clock
    }

    /// Returns the time of the scenario.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the number of packets passed to the kernels so far.
    pub fn delivered(&self) -> u64 {
        self.progress.delivered.load(Ordering::Relaxed)
    }

    /// Returns whether the kernel of a node has sent a packet; `false` if the node is a router.
    pub fn has_sent(&self, node: NodeId) -> bool {
        self.kernels.index(node).is_some_and(|kernel| self.progress.has_sent(kernel))
    }

    /// Returns whether it has ended by itself: [`stop`](RunningEmulation::stop) then returns the
    /// error, or a report that names the device that was deleted.
    pub fn has_ended(&self) -> bool {
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
        for (kernel, namespace, tun) in self.kernels.devices(&done.ports) {
            if done.deleted != Some(kernel) {
                overflows += namespace.run(|| tun.overflows())??;
            }
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
            deleted: done.deleted.and_then(|kernel| self.kernels.nodes.get(kernel).copied()),
            is_realtime: done.is_realtime,
            tolerance: self.tolerance,
        })
    }
}
