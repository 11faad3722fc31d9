//! Network namespaces, joined by a network of the simulator in real time.
//!
//! One thread moves packets: it waits for the devices or the network's next event, reads the
//! kernels' packets, processes due events, and writes the packets that leave. The network keeps its
//! own time with a resolution of 1 ns; a delay of this thread affects only the time at which a
//! packet leaves, is measured there, and does not accumulate over hops.

mod carriers;
mod control;
mod emulated_network;
mod ipv6_errors;
mod kernel_packet;
mod lateness;
mod link_changes;
mod observer;
mod packet_loop;
mod packet_store;
mod progress;
mod status;
mod tolerance;

use std::io::{self, PipeWriter};
use std::net::{IpAddr, Ipv6Addr};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use driftway_base::{Duration, Instant, Ipv4Addr, NodeId};
use driftway_net::addresses::IPV6_PREFIX_LEN;
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
use progress::Progress;
pub use status::{LinkStatus, NodeStatus};
pub use tolerance::Tolerance;

use crate::{Namespace, NodeFiles, RealClock, Tun, Uplink};

/// Share of packets that may be later than the network's own jitter.
const LATE_SHARE_MAX: f64 = 0.01;
/// Prefix of all addresses of a network, and of those of networks behind the ends of a path:
/// 10.0.0.0/8.
const PREFIX: u8 = 8;

/// Destinations besides the nodes: multicast, and the broadcast of the link.
const ROUTES_TO_MANY: [(Ipv4Addr, u8); 2] =
    [(Ipv4Addr::new(224, 0, 0, 0), 4), (Ipv4Addr::BROADCAST, 32)];

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
    has_ipv6: bool,
    uplink: Option<Uplink>,
}

/// The nodes with a kernel, and their namespaces.
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
        Self::observed(scenario, seed, mtu, nodes, None)
    }

    /// Creates the same with an observer of the network.
    ///
    /// # Errors
    /// The same.
    pub fn observed(
        scenario: &Scenario,
        seed: u64,
        mtu: u16,
        nodes: &[NodeId],
        observer: Option<Box<dyn NetworkObserver>>,
    ) -> io::Result<Self> {
        let network = EmulatedNetwork::observed(scenario, seed, nodes, observer)?;
        let (mut namespaces, mut tuns) = (Vec::new(), Vec::new());
        let mut has_ipv6 = u32::from(mtu) >= IPV6_MIN_MTU;
        for kernel in 0..nodes.len() {
            let namespace = Namespace::new()?;
            has_ipv6 &= enable_ipv6(&namespace, has_ipv6)?;
            let ipv6 = network.ipv6_addresses(kernel).into_iter().filter(|_| has_ipv6);
            tuns.push(attach(&namespace, network.address(kernel), ipv6, mtu)?);
            namespaces.push(namespace);
        }
        let kernels = Kernels { nodes: nodes.to_vec(), namespaces };
        let tolerance = Tolerance::new(scenario, mtu);
        Ok(Self { kernels, tuns, network, tolerance, has_ipv6, uplink: None })
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
        for (kernel, (namespace, tun)) in self.kernels.namespaces.iter().zip(&self.tuns).enumerate()
        {
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
    /// it through the network. `further` are addresses outside that are to be reached though they look
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
        let own = self.kernels.index(node).ok_or_else(|| no_kernel(node))?;
        for (kernel, (namespace, tun)) in self.kernels.namespaces.iter().zip(&self.tuns).enumerate()
        {
            if kernel == own {
                self.uplink = Some(Uplink::open(namespace, interface, further)?);
            } else {
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
        let progress = Arc::new(Progress::new(self.tuns.len()));
        let mut switches = Vec::new();
        for (namespace, tun) in self.kernels.namespaces.iter().zip(&self.tuns) {
            switches.push(namespace.run(|| tun.carrier_switch())??);
        }
        let carriers = Carriers::start(switches)?;
        let clock = RealClock::start();
        let progress_of_loop = Arc::clone(&progress);
        let work = PacketLoop::new(self.tuns, carriers, self.network, clock, progress_of_loop);
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

/// Lets the devices of a namespace have IPv6, with no more packets than programs send: addresses are those that they are
/// given, and nobody asks for routers. Returns whether the kernel has IPv6.
fn enable_ipv6(namespace: &Namespace, is_wanted: bool) -> io::Result<bool> {
    let settings = [
        ("disable_ipv6", if is_wanted { "0" } else { "1" }),
        ("accept_ra", "0"),
        ("accept_dad", "0"),
        ("router_solicitations", "0"),
        // No address of the kernel's choice (linux/if_link.h, IN6_ADDR_GEN_MODE_NONE).
        ("addr_gen_mode", "1"),
    ];
    for (setting, value) in settings {
        match namespace.set_sysctl(&format!("net/ipv6/conf/default/{setting}"), value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            result => result?,
        }
    }
    Ok(is_wanted)
}

/// Creates a device with these addresses in a namespace.
fn attach(
    namespace: &Namespace,
    address: Ipv4Addr,
    ipv6: impl Iterator<Item = Ipv6Addr> + Send,
    mtu: u16,
) -> io::Result<Tun> {
    for which in ["all", "default"] {
        // As in the simulator, the first router is the sending host's own: its messages arrive
        // from outside with the host's own address as source.
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/accept_local"), "1")?;
        namespace.set_sysctl(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
    }
    namespace.run(|| -> io::Result<Tun> {
        let tun = Tun::open(address, PREFIX, mtu)?;
        for (group, prefix) in ROUTES_TO_MANY {
            tun.add_route(Some((group.into(), prefix)))?;
        }
        for address in ipv6 {
            tun.add_address(address.into(), IPV6_PREFIX_LEN)?;
        }
        Ok(tun)
    })?
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

    /// Returns all namespaces, in the order of the nodes given.
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
        for (kernel, (namespace, tun)) in self.kernels.namespaces.iter().zip(&done.tuns).enumerate()
        {
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
    /// The node whose device was deleted, which ended the emulation.
    pub deleted: Option<NodeId>,
    /// The network's thread had real-time scheduling (see [`crate::enable_realtime_scheduling`]).
    pub is_realtime: bool,
    /// The lateness that does not matter.
    pub tolerance: Tolerance,
}

impl EmulationReport {
    /// Share of packets that were later than the network's own jitter.
    pub fn late_share(&self) -> f64 {
        1.0 - self.lateness.share_within(self.tolerance.unnoticed())
    }

    /// Reasons to distrust what programs saw; empty if there are none: more than one packet in a hundred
    /// was later than the network's own jitter, so that more than this machine's rare hiccups was
    /// disturbed.
    pub fn warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.late_share() > LATE_SHARE_MAX {
            doubts.push(format!(
                "{:.1} % of the packets were late by more than {} µs, the network's own jitter{}",
                self.late_share() * 100.0,
                self.tolerance.unnoticed().as_nanos() / 1000,
                self.besides(),
            ));
        }
        doubts.extend(self.losses());
        doubts
    }

    /// Reasons to distrust a measurement of a kernel, which is compared with the simulator's; empty if
    /// there are none.
    pub fn measurement_warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let (p99, tolerated) = (self.lateness.quantile(0.99), self.tolerance.tolerated());
        if p99 > tolerated {
            doubts.push(format!(
                "one packet in a hundred was late by {} µs or more, {}{}",
                p99.as_nanos() / 1000,
                self.tolerance.description(),
                self.besides(),
            ));
        }
        doubts.extend(self.losses());
        doubts
    }

    const fn besides(&self) -> &'static str {
        if self.is_realtime { "" } else { "; it may not use the real time class" }
    }

    /// Packets that were lost besides those that the network dropped.
    fn losses(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if self.overflows > 0 {
            doubts.push(format!(
                "{} packets were dropped before the network saw them: this machine did not keep up",
                self.overflows
            ));
        }
        if self.refused > 0 {
            doubts.push(format!(
                "{} packets that had come through were not taken by a kernel: its interface was \
                 down, or they were no IP packets",
                self.refused
            ));
        }
        if let Some(node) = self.deleted {
            doubts.push(format!(
                "the interface of node {node} was deleted, which ended the emulation"
            ));
        }
        doubts
    }
}
