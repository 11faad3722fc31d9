//! A simulated network with real packets in it.

mod delivery;
mod entry;
mod frames;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv6Addr};

use driftway_base::{DropReason, Instant, Ipv4Addr, NodeId, SignalKind};
use driftway_endpoint::Host;
use driftway_link::Side;
use driftway_net::addresses::{address, ipv6_addresses, is_of_many};
use driftway_net::{
    Event, FaultPlace, FrameBody, ImpossibleChange, LiveChange, Network, Output, Recording,
};
use driftway_scenario::{FaultKind, Network as Kind, Routing, Scenario};
use driftway_wire::EthernetFrame;
use typed_index_collections::{TiVec, ti_vec};

use super::hardware_addresses::{HardwareAddresses, is_housekeeping};
use super::ipv6_errors::DroppedIpv6;
use super::kernel_packet::{KernelPacket, is_ipv6, is_link_local, number};
use super::observer::{NetworkObserver, packet_of};
use super::packet_store::PacketStore;
use super::status::{LinkStatus, NodeStatus};

/// A packet that leaves the network at a node with a kernel.
#[derive(Debug)]
pub struct DepartingPacket {
    /// Index of the kernel.
    pub kernel: usize,
    /// Scheduled time.
    pub due: Instant,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A change of the carrier of a kernel's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarrierChange {
    /// Index of the kernel.
    pub kernel: usize,
    /// It gets its carrier back.
    pub is_on: bool,
}

/// Counters of packets that entered at one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Packets that entered the network.
    pub entered: u64,
    /// Packets of these that left at another kernel; copies do not count.
    pub delivered: u64,
    /// Bytes of those delivered, IP headers included.
    pub bytes: u64,
    /// Packets of these that were addressed to a router and reached it.
    pub to_routers: u64,
    /// Time at which the first of these entered.
    pub first_entered: Option<Instant>,
}

/// Counters of the network.
#[derive(Clone, Debug, Default)]
pub struct EmulationCounts {
    /// Counts by the kernel at which packets entered, in the order of the nodes given.
    pub by_kernel: Vec<KernelCounts>,
    /// Losses by reason, of packets that entered at a kernel or were answers of routers, before a copy
    /// of them arrived.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets addressed to a router that reached it.
    pub to_routers: u64,
    /// Packets created by routers that reached a kernel.
    pub icmp_from_routers: u64,
    /// Offered packets that are neither IPv4 nor IPv6.
    pub not_ip: u64,
    /// IPv6 packets that were refused because routing over the air finds routes for IPv4 only.
    pub ipv6_refused: u64,
    /// Beginnings and ends of faults, in order of time.
    pub faults: Vec<FaultRecord>,
}

/// The beginning or end of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRecord {
    /// Time of the scenario.
    pub at: Instant,
    /// The kind of fault.
    pub kind: FaultKind,
    /// Its place.
    pub place: FaultPlace,
    /// True if it begins, false if it ends.
    pub begins: bool,
}

/// A simulated network with kernels in place of some of its hosts, driven by real time.
///
/// Events: [`offer`](Self::offer), [`on_timeout`](Self::on_timeout); polls: [`poll`](Self::poll)
/// and [`poll_carrier`](Self::poll_carrier) until there is nothing, then [`next_timeout`](Self::next_timeout). Time never goes back. With a
/// late driver no event is lost: all due events are processed with their scheduled times. The
/// network never runs ahead of the time that the driver gives.
///
/// The network moves and copies descriptions of packets; the bytes of a kernel's packet are found by
/// a number in its description. Nodes without a kernel are routers with a host that answers echo
/// requests and rejects TCP segments.
pub struct EmulatedNetwork {
    net: Network,
    observer: Option<Box<dyn NetworkObserver>>,
    /// Addresses of nodes besides those that the network knows.
    further_addresses: BTreeMap<IpAddr, NodeId>,
    /// The node to which packets for other addresses are sent.
    uplink: Option<NodeId>,
    /// The hardware addresses, if kernels exchange frames.
    frames: Option<HardwareAddresses>,
    /// True if packets of IPv6 are refused over the air.
    refuses_ipv6: bool,
    dropped_ipv6: DroppedIpv6,
    store: PacketStore,
    /// Hosts of the nodes, which act at nodes without a kernel.
    hosts: TiVec<NodeId, Host>,
    /// Node of each kernel.
    kernels: Vec<NodeId>,
    /// Kernel of each node.
    kernel_at: TiVec<NodeId, Option<usize>>,
    departing: VecDeque<DepartingPacket>,
    carrier_changes: VecDeque<CarrierChange>,
    counts: EmulationCounts,
}

/// Returns why the network of a scenario cannot be emulated; `None`: it can.
pub fn not_emulated(scenario: &Scenario) -> Option<String> {
    let Kind::Mixed(mixed) = &scenario.network else { return None };
    let gateway = scenario.node_name(mixed.splitting_gateway()?.node);
    Some(format!(
        "network.gateway.split: {gateway} would split connections, which needs the bytes of their streams, \
         and an emulated network keeps packets only; leave it out (--set network.gateway.split=false)"
    ))
}

/// Returns why the network of a scenario refuses IPv6 over the air; `None`: it carries it everywhere.
pub fn ipv6_refusal(scenario: &Scenario) -> Option<String> {
    let mut airs = scenario.network.radio_networks();
    let routing = airs.find_map(|air| match &air.routing {
        Routing::Static(_) | Routing::None(_) => None,
        other => Some(other.label()),
    })?;
    Some(format!(
        "IPv6 is refused over the air (ICMPv6: administratively prohibited), because {routing} finds routes to IPv4 \
         addresses only; links and static routes carry it"
    ))
}

impl EmulatedNetwork {
    /// Creates the network of a scenario at time zero, with kernels at these nodes.
    ///
    /// # Errors
    /// The scenario has not been checked, there is no kernel, or one is at a node that does not exist
    /// or has another.
    pub fn new(scenario: &Scenario, seed: u64, kernels: &[NodeId]) -> io::Result<Self> {
        Self::observed(scenario, seed, kernels, None)
    }

    /// Creates the same network with an observer.
    ///
    /// # Errors
    /// The same.
    pub fn observed(
        scenario: &Scenario,
        seed: u64,
        kernels: &[NodeId],
        mut observer: Option<Box<dyn NetworkObserver>>,
    ) -> io::Result<Self> {
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        // Static routes over the air are those that these pairs need.
        let others = (0..scenario.network.nodes()).map(NodeId::new);
        let pairs = kernels.iter().flat_map(|kernel| others.clone().map(|to| (*kernel, to)));
        let pairs: Vec<_> = pairs.filter(|(kernel, to)| kernel != to).collect();
        if let Some(why) = not_emulated(scenario) {
            return Err(wrong(why));
        }
        let mut net = Network::build_between(scenario, &pairs, seed, seed)
            .map_err(|error| wrong(error.to_string()))?;
        net.start(if observer.is_some() { Recording::All } else { Recording::Ends });
        if let Some(observer) = &mut observer {
            observer.on_start(&net);
        }
        let mut kernel_at = ti_vec![None; net.nodes()];
        for (kernel, node) in kernels.iter().enumerate() {
            let place = kernel_at.get_mut(*node);
            let place = place.ok_or_else(|| wrong(format!("there is no node {node}")))?;
            if place.replace(kernel).is_some() {
                return Err(wrong(format!("node {node} has two kernels")));
            }
        }
        if kernels.is_empty() {
            return Err(wrong("no node has a kernel".into()));
        }
        let mut network = Self {
            store: PacketStore::new(net.may_duplicate()),
            hosts: (0..net.nodes()).map(|node| Host::new(address(NodeId::from(node)))).collect(),
            kernels: kernels.to_vec(),
            kernel_at,
            net,
            observer,
            further_addresses: BTreeMap::new(),
            frames: None,
            refuses_ipv6: ipv6_refusal(scenario).is_some(),
            dropped_ipv6: DroppedIpv6::default(),
            uplink: None,
            departing: VecDeque::new(),
            carrier_changes: VecDeque::new(),
            counts: EmulationCounts {
                by_kernel: vec![KernelCounts::default(); kernels.len()],
                ..EmulationCounts::default()
            },
        };
        network.settle();
        Ok(network)
    }

    /// Gives a node a further address, which kernels use in packets for it and from it.
    ///
    /// # Errors
    /// Another node has it, or it is no address of one host.
    pub fn add_address(&mut self, node: NodeId, address: IpAddr) -> io::Result<()> {
        let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        let is_of_one = match address {
            IpAddr::V4(of) => !is_of_many(of),
            IpAddr::V6(of) => !of.is_multicast() && !is_link_local(of),
        };
        if !is_of_one || address.is_loopback() || address.is_unspecified() {
            return wrong(format!("{address} is not an address of one host"));
        }
        if let Some(other) = self.own_node_of(address) {
            return wrong(format!("{address} belongs to node {other}"));
        }
        match self.further_addresses.insert(address, node) {
            Some(other) => wrong(format!("{address} belongs to node {other}")),
            None => Ok(()),
        }
    }

    /// Sends packets for addresses of nobody to a node, whose kernel forwards them.
    pub fn set_uplink(&mut self, node: NodeId) {
        self.uplink = Some(node);
    }

    /// Returns the address of a kernel.
    pub fn address(&self, kernel: usize) -> Ipv4Addr {
        address(self.kernels[kernel])
    }

    /// Returns the IPv6 addresses of a kernel, the global and the link-local one.
    pub fn ipv6_addresses(&self, kernel: usize) -> [Ipv6Addr; 2] {
        ipv6_addresses(self.kernels[kernel])
    }

    /// Returns the addresses of all nodes.
    pub fn node_addresses(&self) -> Vec<Ipv4Addr> {
        (0..self.net.nodes()).map(|node| address(NodeId::from(node))).collect()
    }

    /// Returns the IPv6 addresses of all nodes; none if the network refuses IPv6 somewhere.
    pub fn ipv6_node_addresses(&self) -> Vec<Ipv6Addr> {
        let nodes = (0..self.net.nodes()).map(NodeId::from).filter(|_| !self.refuses_ipv6);
        nodes.map(|node| ipv6_addresses(node)[0]).collect()
    }

    /// Returns the counters so far.
    pub const fn counts(&self) -> &EmulationCounts {
        &self.counts
    }

    /// Returns the number of packets marked by queues.
    pub fn marked(&self) -> u64 {
        self.net.marks()
    }

    /// Checks the conservation of packets.
    ///
    /// # Errors
    /// Describes the missing packets: a bug in driftway.
    pub fn check_conservation(&self) -> Result<(), String> {
        self.net.check_conservation()
    }

    /// Returns the time of the next event; in the far future if there is none.
    pub fn next_timeout(&mut self) -> Instant {
        while self.net.discard_replaced_wakeup() {}
        self.net.next_timeout()
    }

    /// Processes all events due by `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        loop {
            let at = self.net.next_timeout();
            if at > now || at == Instant::FAR_FUTURE {
                break;
            }
            self.net.on_timeout(now);
            self.settle();
        }
        self.net.advance(now);
        if let Some(observer) = &mut self.observer {
            observer.on_time(&mut self.net);
        }
    }

    /// Changes the network.
    ///
    /// # Errors
    /// The change is not possible, and nothing has changed.
    pub fn change(&mut self, now: Instant, change: LiveChange) -> Result<(), ImpossibleChange> {
        self.on_timeout(now);
        self.net.change(change)?;
        self.settle();
        Ok(())
    }

    /// Returns the present state of all nodes and links.
    pub fn status(&mut self, now: Instant) -> (Vec<NodeStatus>, Vec<LinkStatus>) {
        self.on_timeout(now);
        let net = &mut self.net;
        let at = net.now();
        let nodes = (0..net.nodes()).map(NodeId::from).map(|node| {
            let position = net.position(node, at);
            let next_hop = |to: &NodeId| Some((*to, net.next_hop(node, *to)?));
            // The routes of kernels are not the network's.
            let others = self.kernels.iter().filter(|_| self.frames.is_none());
            let others = others.filter(|kernel| **kernel != node);
            NodeStatus {
                position,
                is_radio_on: position.map(|_| net.is_radio_on(node)),
                queue_length: net.queue_length(node),
                next_hops: others.filter_map(next_hop).collect(),
            }
        });
        let nodes = nodes.collect();
        let links = self.net.links().iter_enumerated().map(|(link, of)| LinkStatus {
            link,
            ends: self.net.link_nodes(link),
            is_up: !self.net.is_cut(link),
            queue_lengths: [Side::A, Side::B].map(|side| of.queue_len(side)),
        });
        (nodes, links.collect())
    }

    /// Returns the network at an instant, for a look.
    pub fn inspect(&mut self, now: Instant) -> &Network {
        self.on_timeout(now);
        &self.net
    }

    /// Accepts a packet, or a frame, from a kernel; returns whether a program may have sent it.
    pub fn offer(&mut self, now: Instant, kernel: usize, bytes: &[u8]) -> bool {
        self.on_timeout(now);
        let node = self.kernels[kernel];
        let mut is_of_program = true;
        if self.carries_frames() {
            match EthernetFrame::decode(bytes) {
                Ok(frame) => {
                    is_of_program = !is_housekeeping(&frame);
                    self.count_entered(now, kernel);
                    self.enter_frame(node, &frame, bytes);
                }
                Err(_) => self.counts.not_ip += 1,
            }
        } else if let Some(packet) = KernelPacket::read(bytes) {
            self.count_entered(now, kernel);
            self.enter(node, packet, bytes);
        } else {
            self.counts.not_ip += 1;
        }
        self.settle();
        is_of_program
    }

    fn count_entered(&mut self, now: Instant, kernel: usize) {
        let counts = &mut self.counts.by_kernel[kernel];
        counts.entered += 1;
        counts.first_entered.get_or_insert(now);
    }

    /// Returns the next packet that leaves.
    pub fn poll(&mut self) -> Option<DepartingPacket> {
        self.departing.pop_front()
    }

    /// Returns the next change of a carrier.
    pub fn poll_carrier(&mut self) -> Option<CarrierChange> {
        self.carrier_changes.pop_front()
    }

    /// Takes back the buffer of a packet that was passed to the kernel.
    pub fn give_back(&mut self, departed: DepartingPacket) {
        self.store.give_back(departed.bytes);
    }

    /// Lets the network and the hosts act until nothing is left to do at this instant.
    fn settle(&mut self) {
        while let Some(output) = self.net.poll() {
            self.handle_events();
            match output {
                Output::Deliver { node, packet } => self.deliver(node, &packet),
                Output::Signal { node, signal } => self.signal(node, signal.kind),
                // For simulated hosts. No connection is split.
                Output::Intercepted { .. }
                | Output::NextHopPower { .. }
                | Output::SendFailed { .. }
                | Output::LocalDrop { .. }
                | Output::RouteProbesDue { .. } => {}
            }
        }
        self.handle_events();
    }

    /// Passes a signal to the kernel of a node. A kernel has one device, whatever the node has, and
    /// knows of its links only whether that has a carrier.
    fn signal(&mut self, node: NodeId, kind: SignalKind) {
        let Some(kernel) = self.kernel_at[node] else { return };
        let is_on = match kind {
            SignalKind::LinkDown => false,
            SignalKind::LinkUp => true,
            _ => return,
        };
        if self.net.interface_count(node) == 1 {
            self.carrier_changes.push_back(CarrierChange { kernel, is_on });
        }
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.net.poll_event() {
            if let Some(observer) = &mut self.observer {
                let number = packet_of(&event).and_then(number);
                let bytes = number.and_then(|number| self.store.bytes(number));
                observer.on_event(&self.net, &event, bytes);
            }
            if let Event::Fault { kind, place, begins } = event {
                self.counts.faults.push(FaultRecord { at: self.net.now(), kind, place, begins });
            }
            // A packet that is delivered ends with the output.
            if let Event::Dropped { body: FrameBody::Ip(packet), reason, .. } = event
                && let Some(number) = number(&packet.packet)
            {
                let now = self.net.now();
                if let Some(bytes) = self.store.bytes(number).filter(|bytes| is_ipv6(bytes)) {
                    self.dropped_ipv6.add(now, &packet.packet, bytes);
                }
                if self.store.on_dropped(now, number) {
                    self.count_drop(reason);
                }
            }
        }
    }

    fn count_drop(&mut self, reason: DropReason) {
        *self.counts.drops.entry(reason.name()).or_default() += 1;
    }
}

#[cfg(test)]
#[path = "emulated_network/test.rs"]
mod test;
