//! What lies between the two namespaces: the lab's path, with real packets on it.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{Instant, Ipv4Addr, Signal};
use driftway_link::{QueuePosition, Side};
use driftway_node::{ReceiveOutcome, Host};
use driftway_path::packet_accounting::{PacketDropReason, PacketTable, ConservationError};
use driftway_path::addresses::address;
use driftway_path::{PathDriver, CROSS_TRAFFIC_STREAM, PathNetwork};
use driftway_scenario::{Path, Time};
use driftway_wire::{Body, DecodeError, IPV4_HEADER_LEN, IpHeader, Packet, Payload, UdpDatagram};

use super::packet_bytes::{PacketBytes, rewrite};

/// The stream of packets of which only the IP header is understood.
const OPAQUE: u32 = CROSS_TRAFFIC_STREAM - 1;

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// Node 0, where the command runs.
    Near,
    /// The last node of the chain.
    Far,
}

impl PathEnd {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Near, Self::Far];

    /// The other one.
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
    /// Where.
    pub end: PathEnd,
    /// When it was to leave.
    pub due: Instant,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// What became of packets that came in at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Packets that entered the path.
    pub entered: u64,
    /// Of these, those that left it at the other end.
    pub delivered: u64,
    /// Bytes of those delivered, IP headers included.
    pub bytes: u64,
}

/// What happened on the path.
#[derive(Clone, Debug, Default)]
pub struct EmulationCounts {
    /// By the end at which packets came in: near, far.
    pub by_end: [DirectionCounts; 2],
    /// Lost, by reason; only packets that came in.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets that were for a router and reached it.
    pub to_routers: u64,
    /// Packets that routers made and that reached an end.
    pub icmp_from_routers: u64,
    /// What came in and was no IPv4 packet.
    pub not_ipv4: u64,
}

/// The path at work, with what the bench has instead of the lab's hosts and time.
///
/// Events: [`offer`](Self::offer), [`on_timeout`](Self::on_timeout); polls: [`poll`](Self::poll)
/// until there is nothing, then [`next_timeout`](Self::next_timeout). Time never goes back. A driver
/// that is late loses nothing: what was due is worked off at the instants at which it was.
pub struct EmulatedPath {
    now: Instant,
    path: PathNetwork,
    packets: PacketTable,
    bytes: PacketBytes,
    hosts: Vec<Host>,
    fault_wakeups: Vec<Instant>,
    link_wakeups: Vec<Instant>,
    leaving: VecDeque<DepartingPacket>,
    counts: EmulationCounts,
}

impl EmulatedPath {
    /// Before the first packet.
    pub fn new(path: &Path, duration: Time, seed: u64) -> Self {
        let path = PathNetwork::new(path, duration, seed, seed);
        let mut medium = Self {
            now: Instant::ZERO,
            packets: PacketTable::default(),
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

    /// The address of an end.
    pub fn address(&self, end: PathEnd) -> Ipv4Addr {
        address(self.node(end))
    }

    /// What happened so far.
    pub const fn counts(&self) -> &EmulationCounts {
        &self.counts
    }

    /// Packets that queues have marked.
    pub fn marked(&self) -> u64 {
        let marks =
            |side| self.path.links().iter().map(move |link| link.counters(side).queue.marks);
        marks(Side::A).chain(marks(Side::B)).sum()
    }

    /// Do the books balance?
    ///
    /// # Errors
    /// Says what is missing: a bug in driftway.
    pub fn check_conservation(&self) -> Result<(), ConservationError> {
        self.packets.check_conservation(self.path.packets_held())
    }

    /// When there is something to do; in the far future: nothing.
    pub fn next_timeout(&self) -> Instant {
        let wakes = self.fault_wakeups.iter().chain(&self.link_wakeups);
        wakes.min().copied().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Does all that is due by `now`.
    pub fn on_timeout(&mut self, now: Instant) {
        loop {
            let at = self.next_timeout();
            if at > now || at == Instant::FAR_FUTURE {
                break;
            }
            self.now = self.now.max(at);
            // In one instant faults come before links, and each by its number, as in the lab.
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

    /// A packet comes in at an end.
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

    /// A packet that left is with the kernel: its buffer can be used again.
    pub fn give_back(&mut self, leaving: DepartingPacket) {
        self.bytes.give_back(leaving.bytes);
    }

    fn node(&self, end: PathEnd) -> usize {
        match end {
            PathEnd::Near => 0,
            PathEnd::Far => self.path.last_node(),
        }
    }

    /// Which end a node is.
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

    /// A packet with bytes of its own has come to `node`.
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

    /// A packet is for a router, which may answer: an echo, a segment to a closed port.
    fn deliver_to_router(&mut self, node: usize, bytes: &[u8]) {
        let Ok(decoded) = Packet::decode(bytes) else { return };
        if let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(self.now, &decoded.packet) {
            let mut encoded = vec![0; answer.len() as usize];
            let copy = |_, to: &mut [u8]| to.copy_from_slice(decoded.payload);
            if answer.encode(&mut encoded, copy).is_ok() {
                self.enter(node, answer, &encoded);
            }
        }
    }

    /// A packet that a router made has come to `node`.
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
                if let ReceiveOutcome::Reply(answer) = self.hosts[node].on_packet(self.now, packet) {
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

    fn packets(&mut self) -> &mut PacketTable {
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
        // What is understood of a packet can be shorter than it is: options, quotations.
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
        // An error message quotes what is understood.
        (packet.payload().stream != OPAQUE).then_some(packet)
    }

    /// The hosts at the ends are kernels, whose links stay up.
    fn on_signal(&mut self, _node: usize, _signal: &Signal) {}

    fn on_fault_change(&mut self, _kind: &'static str, _hop: u32, _begins: bool) {}
}

/// What a path has to know of a packet, and how long that is; `None` if it is none of IPv4.
///
/// Of fragments and of what `wire` does not speak, that is the IP header.
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
