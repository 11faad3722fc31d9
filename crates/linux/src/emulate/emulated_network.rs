//! A simulated network with real packets in it.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use driftway_base::{DropReason, Instant, Ipv4Addr, NodeId, SignalKind};
use driftway_endpoint::{Host, ReceiveOutcome};
use driftway_link::{QueuePosition, Side};
use driftway_net::addresses::{address, is_of_many};
use driftway_net::{
    CROSS_TRAFFIC_STREAM, Event, FaultPlace, FrameBody, ImpossibleChange, LiveChange, Network,
    Output, Recording,
};
use driftway_scenario::{FaultKind, Network as Kind, Scenario};
use driftway_wire::{Packet, Payload};
use typed_index_collections::{TiVec, ti_vec};

use super::kernel_packet::{KernelPacket, is_about_opaque, number, rewrite, unreachable_error};
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
    /// Offered packets that are not IPv4.
    pub not_ipv4: u64,
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
    further_addresses: BTreeMap<Ipv4Addr, NodeId>,
    /// The node to which packets for other addresses are sent.
    uplink: Option<NodeId>,
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
    pub fn add_address(&mut self, node: NodeId, address: Ipv4Addr) -> io::Result<()> {
        let wrong = |what: String| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        if is_of_many(address) || address.is_loopback() || address.is_unspecified() {
            return wrong(format!("{address} is not an address of one host"));
        }
        if let Some(other) = self.net.node_at(address) {
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

    /// Returns the addresses of all nodes.
    pub fn node_addresses(&self) -> Vec<Ipv4Addr> {
        (0..self.net.nodes()).map(|node| address(NodeId::from(node))).collect()
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
            let others = self.kernels.iter().filter(|kernel| **kernel != node);
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

    /// Accepts a packet from a kernel.
    pub fn offer(&mut self, now: Instant, kernel: usize, bytes: &[u8]) {
        self.on_timeout(now);
        let Some(packet) = KernelPacket::read(bytes) else {
            self.counts.not_ipv4 += 1;
            return;
        };
        let counts = &mut self.counts.by_kernel[kernel];
        counts.entered += 1;
        counts.first_entered.get_or_insert(now);
        self.enter(self.kernels[kernel], packet, bytes);
        self.settle();
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

    /// Lets a packet with bytes enter at a node. Routing must not search for addresses that no node
    /// has.
    fn enter(&mut self, node: NodeId, packet: KernelPacket, bytes: &[u8]) {
        if is_of_many(packet.destination()) {
            return self.enter_for_all(node, packet, &bytes[..packet.len]);
        }
        match self.node_of(packet.destination()) {
            Some(to) if to != node => {
                let number = self.store.insert(self.net.now(), node, &bytes[..packet.len]);
                // The network knows one address of each node, and none outside of it.
                let own = |address, node| match self.net.node_at(address) {
                    Some(at) if at == node => address,
                    _ => driftway_net::addresses::address(node),
                };
                let ends = (own(packet.source(), node), own(packet.destination(), to));
                let packet = packet.between(ends.0, ends.1).numbered(number);
                self.net.send(node, packet, QueuePosition::Tail);
            }
            _ => {
                self.count_drop(DropReason::UnknownDestination);
                self.report_unknown(node, bytes);
            }
        }
    }

    /// Lets a packet of multicast or broadcast enter: the neighbours on each link and air get it.
    fn enter_for_all(&mut self, node: NodeId, packet: KernelPacket, bytes: &[u8]) {
        for interface in self.net.interfaces(node) {
            let number = self.store.insert(self.net.now(), node, bytes);
            self.net.broadcast(node, interface, packet.numbered(number));
        }
    }

    /// Returns the node to which packets for an address are sent: that of the address, or the one with the
    /// uplink.
    fn node_of(&self, address: Ipv4Addr) -> Option<NodeId> {
        let further = self.further_addresses.get(&address).copied();
        further.or_else(|| self.net.node_at(address)).or(self.uplink)
    }

    /// Reports to a kernel that the destination of its packet does not exist, as its own node.
    fn report_unknown(&mut self, node: NodeId, bytes: &[u8]) {
        if let Some(kernel) = self.kernel_at[node]
            && let Some(error) = unreachable_error(address(node), bytes)
        {
            self.deliver_own(kernel, &error);
        }
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
                && self.store.on_dropped(self.net.now(), number)
            {
                self.count_drop(reason);
            }
        }
    }

    fn count_drop(&mut self, reason: DropReason) {
        *self.counts.drops.entry(reason.name()).or_default() += 1;
    }

    fn deliver(&mut self, node: NodeId, packet: &Packet) {
        match (number(packet), self.kernel_at[node]) {
            (Some(number), kernel) => self.deliver_stored(node, kernel, packet, number),
            (None, _) if packet.payload().stream == CROSS_TRAFFIC_STREAM => {}
            (None, Some(kernel)) => self.deliver_own(kernel, packet),
            (None, None) => {
                let now = self.net.now();
                if let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(now, packet) {
                    self.net.send(node, answer, QueuePosition::Tail);
                }
            }
        }
    }

    /// Delivers a packet that has bytes.
    fn deliver_stored(
        &mut self,
        node: NodeId,
        kernel: Option<usize>,
        packet: &Packet,
        number: u64,
    ) {
        let now = self.net.now();
        let Some(mut stored) = self.store.deliver(now, number) else { return };
        let Some(kernel) = kernel else {
            // A router listens to no group.
            if is_of_many(packet.ip.destination) {
                return self.store.give_back(stored.bytes);
            }
            self.counts.to_routers += u64::from(stored.is_first);
            if let Some(from) = self.kernel_at[stored.from] {
                self.counts.by_kernel[from].to_routers += u64::from(stored.is_first);
            }
            self.deliver_to_router(node, &stored.bytes);
            return self.store.give_back(stored.bytes);
        };
        match self.kernel_at[stored.from] {
            None => self.counts.icmp_from_routers += u64::from(stored.is_first),
            Some(from) if stored.is_first => {
                let counts = &mut self.counts.by_kernel[from];
                counts.delivered += 1;
                counts.bytes += stored.bytes.len() as u64;
            }
            Some(_) => {}
        }
        rewrite(&mut stored.bytes, packet.ip.ttl, packet.ip.ecn);
        self.departing.push_back(DepartingPacket { kernel, due: now, bytes: stored.bytes });
    }

    /// Delivers a packet to a router, which may answer it: an echo request, a segment to a closed
    /// port.
    fn deliver_to_router(&mut self, node: NodeId, bytes: &[u8]) {
        let Ok(decoded) = Packet::decode(bytes) else { return };
        let now = self.net.now();
        let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(now, &decoded.packet) else {
            return;
        };
        let mut encoded = self.store.buffer();
        encoded.resize(answer.len() as usize, 0);
        let copy = |_, to: &mut [u8]| to.copy_from_slice(decoded.payload);
        if answer.encode(&mut encoded, copy).is_ok()
            && let Some(packet) = KernelPacket::read(&encoded)
        {
            self.enter(node, packet, &encoded);
        }
        self.store.give_back(encoded);
    }

    /// Delivers a packet that the network itself has made.
    fn deliver_own(&mut self, kernel: usize, packet: &Packet) {
        // Its quotation is not what the kernel has sent.
        if is_about_opaque(packet) {
            return;
        }
        let mut bytes = self.store.buffer();
        bytes.resize(packet.len() as usize, 0);
        if packet.encode(&mut bytes, Payload::fill_pattern).is_ok() {
            self.counts.icmp_from_routers += 1;
            self.departing.push_back(DepartingPacket { kernel, due: self.net.now(), bytes });
        }
    }
}

#[cfg(test)]
#[path = "emulated_network/test.rs"]
mod test;
