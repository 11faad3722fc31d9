//! The simulator's path between the two namespaces, with real packets.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{Instant, Ipv4Addr, Signal};
use driftway_link::{QueuePosition, Side};
use driftway_node::{Host, ReceiveOutcome};
use driftway_path::addresses::address;
use driftway_path::packet_accounting::{ConservationError, PacketDropReason, PacketsInTransit};
use driftway_path::{CROSS_TRAFFIC_STREAM, PathDriver, PathNetwork};
use driftway_scenario::{Path, Time};
use driftway_wire::{Body, DecodeError, IPV4_HEADER_LEN, IpHeader, Packet, Payload, UdpDatagram};

use super::packet_bytes::{PacketBytes, rewrite};

/// Stream of packets of which only the IP header is decoded.
const OPAQUE: u32 = CROSS_TRAFFIC_STREAM - 1;

/// An end of the path.
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

    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// A packet that leaves the path.
#[derive(Debug)]
pub struct DepartingPacket {
    /// End at which it leaves.
    pub end: PathEnd,
    /// Scheduled time.
    pub due: Instant,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Counters of packets that entered at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Packets that entered the path.
    pub entered: u64,
    /// Packets of these that left at the other end.
    pub delivered: u64,
    /// Bytes of those delivered, IP headers included.
    pub bytes: u64,
}

/// Counters of the path.
#[derive(Clone, Debug, Default)]
pub struct EmulationCounts {
    /// By the end at which packets entered: near, far.
    pub by_end: [DirectionCounts; 2],
    /// Losses by reason, of packets that entered at an end.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets addressed to a router that reached it.
    pub to_routers: u64,
    /// Packets created by routers that reached an end.
    pub icmp_from_routers: u64,
    /// Offered packets that are not IPv4.
    pub not_ipv4: u64,
}

/// A simulated path with kernels in place of simulated hosts, driven by real time.
///
/// Events: [`offer`](Self::offer), [`on_timeout`](Self::on_timeout); polls: [`poll`](Self::poll)
/// until there is nothing, then [`next_timeout`](Self::next_timeout). Time never goes back. With a
/// late driver no event is lost: all due events are processed with their scheduled times.
pub struct EmulatedPath {
    now: Instant,
    path: PathNetwork,
    packets: PacketsInTransit,
    bytes: PacketBytes,
    hosts: Vec<Host>,
    fault_wakeups: Vec<Instant>,
    link_wakeups: Vec<Instant>,
    leaving: VecDeque<DepartingPacket>,
    counts: EmulationCounts,
}

impl EmulatedPath {
    /// A path at time zero.
    pub fn new(path: &Path, duration: Time, seed: u64) -> Self {
        let path = PathNetwork::new(path, duration, seed, seed);
        let mut medium = Self {
            now: Instant::ZERO,
            packets: PacketsInTransit::default(),
            bytes: PacketBytes::default(),
            hosts: (0..path.nodes()).map(|node| Host::new(address(node))).collect(),
            fault_wakeups: vec![Instant::FAR_FUTURE; path.fault_count()],
            link_wakeups: vec![Instant::FAR_FUTURE; path.links().len()],
            path,
            leaving: VecDeque::new(),
            counts: EmulationCounts::default(),
        };
        driftway_path::start(&mut medium);
        medium
    }

    /// Address of an end.
    pub fn address(&self, end: PathEnd) -> Ipv4Addr {
        address(self.node(end))
    }

    /// Counters so far.
    pub const fn counts(&self) -> &EmulationCounts {
        &self.counts
    }

    /// Packets marked by queues.
    pub fn marked(&self) -> u64 {
        let marks =
            |side| self.path.links().iter().map(move |link| link.counters(side).queue.marks);
        marks(Side::A).chain(marks(Side::B)).sum()
    }

    /// Checks the conservation of packets.
    ///
    /// # Errors
    /// The missing packets: a bug in driftway.
    pub fn check_conservation(&self) -> Result<(), ConservationError> {
        self.packets.check_conservation(self.path.packets_held())
    }

    /// Time of the next event; in the far future if there is none.
    pub fn next_timeout(&self) -> Instant {
        let wakes = self.fault_wakeups.iter().chain(&self.link_wakeups);
        wakes.min().copied().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Processes all events due by `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        loop {
            let at = self.next_timeout();
            if at > now || at == Instant::FAR_FUTURE {
                break;
            }
            self.now = self.now.max(at);
            // Order of simultaneous events as in the simulator: faults before links, each by
            // number.
            if let Some(fault) = self.fault_wakeups.iter().position(|wake| *wake == at) {
                self.fault_wakeups[fault] = Instant::FAR_FUTURE;
                driftway_path::on_fault_timeout(self, fault);
            } else if let Some(link) = self.link_wakeups.iter().position(|wake| *wake == at) {
                self.link_wakeups[link] = Instant::FAR_FUTURE;
                driftway_path::on_link_timeout(self, link);
            }
            driftway_path::run_until_idle(self);
        }
        self.now = self.now.max(now);
    }

    /// Accepts a packet at an end.
    pub fn offer(&mut self, now: Instant, end: PathEnd, bytes: &[u8]) {
        self.on_timeout(now);
        let Some((packet, len)) = parse_for_path(bytes) else {
            self.counts.not_ipv4 += 1;
            return;
        };
        self.counts.by_end[end as usize].entered += 1;
        self.enter(self.node(end), packet, &bytes[..len]);
        driftway_path::run_until_idle(self);
    }

    /// The next packet that leaves.
    pub fn poll(&mut self) -> Option<DepartingPacket> {
        self.leaving.pop_front()
    }

    /// Returns the buffer of a packet that was passed to the kernel.
    pub fn give_back(&mut self, leaving: DepartingPacket) {
        self.bytes.give_back(leaving.bytes);
    }

    fn node(&self, end: PathEnd) -> usize {
        match end {
            PathEnd::Near => 0,
            PathEnd::Far => self.path.last_node(),
        }
    }

    /// The end at this node, if any.
    fn end(&self, node: usize) -> Option<PathEnd> {
        PathEnd::BOTH.into_iter().find(|end| self.node(*end) == node)
    }

    fn is_router(&self, address: Ipv4Addr) -> bool {
        self.path.node_at(address).is_some_and(|node| self.end(node).is_none())
    }

    fn enter(&mut self, node: usize, packet: Packet, bytes: &[u8]) {
        let id = self.packets.insert(packet);
        self.bytes.put(id, bytes);
        driftway_path::forward(self, node, id, QueuePosition::Tail);
    }

    /// Processes a packet with bytes that has arrived at `node`.
    fn on_arrival(&mut self, node: usize, packet: &Packet, mut bytes: Vec<u8>) {
        match self.end(node) {
            Some(end) => {
                if self.is_router(packet.ip.source) {
                    self.counts.icmp_from_routers += 1;
                } else {
                    let carried = &mut self.counts.by_end[end.other() as usize];
                    carried.delivered += 1;
                    carried.bytes += bytes.len() as u64;
                }
                rewrite(&mut bytes, packet.ip.ttl, packet.ip.ecn);
                self.leaving.push_back(DepartingPacket { end, due: self.now, bytes });
            }
            None => {
                self.counts.to_routers += 1;
                self.deliver_to_router(node, &bytes);
                self.bytes.give_back(bytes);
            }
        }
    }

    /// Delivers a packet to a router, which may answer it: an echo request, a segment to a closed
    /// port.
    fn deliver_to_router(&mut self, node: usize, bytes: &[u8]) {
        let Ok(decoded) = Packet::decode(bytes) else { return };
        if let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(self.now, &decoded.packet)
        {
            let mut encoded = vec![0; answer.len() as usize];
            let copy = |_, to: &mut [u8]| to.copy_from_slice(decoded.payload);
            if answer.encode(&mut encoded, copy).is_ok() {
                self.enter(node, answer, &encoded);
            }
        }
    }

    /// Processes a packet created by a router that has arrived at `node`.
    fn on_router_packet_arrival(&mut self, node: usize, packet: &Packet) {
        if packet.payload().stream == CROSS_TRAFFIC_STREAM {
            return;
        }
        match self.end(node) {
            Some(end) => {
                let mut bytes = vec![0; packet.len() as usize];
                if packet.encode(&mut bytes, Payload::fill_pattern).is_ok() {
                    self.counts.icmp_from_routers += 1;
                    self.leaving.push_back(DepartingPacket { end, due: self.now, bytes });
                }
            }
            None => {
                if let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(self.now, packet)
                {
                    driftway_path::send(self, node, answer, QueuePosition::Tail);
                }
            }
        }
    }
}

impl PathDriver for EmulatedPath {
    fn path(&mut self) -> &mut PathNetwork {
        &mut self.path
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn packets(&mut self) -> &mut PacketsInTransit {
        &mut self.packets
    }

    fn host(&mut self, node: usize) -> &mut Host {
        &mut self.hosts[node]
    }

    fn wake_fault(&mut self, number: usize, at: Instant) {
        self.fault_wakeups[number] = self.fault_wakeups[number].min(at);
    }

    fn wake_link(&mut self, number: usize, at: Instant) {
        self.link_wakeups[number] = self.link_wakeups[number].min(at);
    }

    fn on_entering_link(&mut self, id: u32) -> Option<u32> {
        let named = self.packets.get(id)?.len();
        // The decoded part can be shorter than the packet: options, quotations.
        Some(self.bytes.len(id).map_or(named, |len| len as u32))
    }

    fn on_delivered(&mut self, node: usize, id: u32) {
        let Some(packet) = self.packets.record_delivery(id) else { return };
        match self.bytes.take(id) {
            Some(bytes) => self.on_arrival(node, &packet, bytes),
            None => self.on_router_packet_arrival(node, &packet),
        }
    }

    fn on_lost(&mut self, id: u32, _place: usize, why: PacketDropReason) -> Option<Packet> {
        let packet = self.packets.record_drop(id, why)?;
        if let Some(bytes) = self.bytes.take(id) {
            *self.counts.drops.entry(why.name()).or_default() += 1;
            self.bytes.give_back(bytes);
        }
        // An ICMP error can only quote decoded packets.
        (packet.payload().stream != OPAQUE).then_some(packet)
    }

    /// The hosts at the ends are kernels, and their links stay up.
    fn on_signal(&mut self, _node: usize, _signal: &Signal) {}

    fn on_fault_change(&mut self, _kind: &'static str, _hop: u32, _begins: bool) {}
}

/// A packet as the path needs it, and its length; `None` if it is not IPv4.
///
/// Of fragments and of protocols unknown to the crate `wire` only the IP header is decoded.
fn parse_for_path(bytes: &[u8]) -> Option<(Packet, usize)> {
    let (ip, len) = IpHeader::decode(bytes).ok()?;
    let packet = match Packet::decode(bytes) {
        Ok(decoded) => decoded.packet,
        Err(DecodeError::Version(_) | DecodeError::HeaderChecksum) => return None,
        Err(_) => {
            let header = IPV4_HEADER_LEN + ip.options.as_slice().len() as u32;
            let payload = Payload::new(OPAQUE, 0, u32::from(len).saturating_sub(header + 8));
            let datagram = UdpDatagram { payload, ..UdpDatagram::default() };
            Packet { ip, body: Body::Udp(datagram) }
        }
    };
    Some((packet, len.into()))
}

#[cfg(test)]
#[path = "emulated_path/test.rs"]
mod test;
