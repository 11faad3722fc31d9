//! The simulator's path between the two namespaces, with real packets.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{Instant, Ipv4Addr, Signal};
use driftway_link::{Place, Side};
use driftway_node::{Arrived, Host};
use driftway_path::books::{Drop, Packets, Unbalanced};
use driftway_path::nodes::address;
use driftway_path::{Drive, FOREIGN, PathAtWork};
use driftway_scenario::{Path, Time};
use driftway_wire::{Body, DecodeError, IPV4_HEADER, IpHeader, Packet, Payload, UdpDatagram};

use super::bytes::{Bytes, rewrite};

/// Stream of packets of which only the IP header is decoded.
const OPAQUE: u32 = FOREIGN - 1;

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Node 0, at which the command runs.
    Near,
    /// The last node of the chain.
    Far,
}

impl End {
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
pub struct Leaving {
    /// End at which it leaves.
    pub end: End,
    /// Scheduled time.
    pub due: Instant,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Counters of packets that entered at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Packets that entered the path.
    pub entered: u64,
    /// Packets of these that left at the other end.
    pub delivered: u64,
    /// Bytes of those delivered, IP headers included.
    pub bytes: u64,
}

/// Counters of the path.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// By the end at which packets entered: near, far.
    pub carried: [Carried; 2],
    /// Losses by reason, of packets that entered at an end.
    pub lost: BTreeMap<&'static str, u64>,
    /// Packets addressed to a router that reached it.
    pub to_routers: u64,
    /// Packets created by routers that reached an end.
    pub messages: u64,
    /// Offered packets that are not IPv4.
    pub not_ipv4: u64,
}

/// A simulated path with kernels in place of simulated hosts, driven by real time.
///
/// Events: [`offer`](Self::offer), [`on_timeout`](Self::on_timeout); polls: [`poll`](Self::poll)
/// until there is nothing, then [`next_timeout`](Self::next_timeout). Time never goes back. With a
/// late driver no event is lost: all due events are processed with their scheduled times.
pub struct Medium {
    now: Instant,
    path: PathAtWork,
    packets: Packets,
    bytes: Bytes,
    hosts: Vec<Host>,
    faults: Vec<Instant>,
    links: Vec<Instant>,
    leaving: VecDeque<Leaving>,
    account: Account,
}

impl Medium {
    /// A path at time zero.
    pub fn new(path: &Path, duration: Time, seed: u64) -> Self {
        let path = PathAtWork::new(path, duration, seed, seed);
        let mut medium = Self {
            now: Instant::ZERO,
            packets: Packets::default(),
            bytes: Bytes::default(),
            hosts: (0..path.nodes()).map(|node| Host::new(address(node))).collect(),
            faults: vec![Instant::FAR_FUTURE; path.faults()],
            links: vec![Instant::FAR_FUTURE; path.links().len()],
            path,
            leaving: VecDeque::new(),
            account: Account::default(),
        };
        driftway_path::open(&mut medium);
        medium
    }

    /// Address of an end.
    pub fn address(&self, end: End) -> Ipv4Addr {
        address(self.node(end))
    }

    /// Counters so far.
    pub const fn account(&self) -> &Account {
        &self.account
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
    pub fn balance(&self) -> Result<(), Unbalanced> {
        self.packets.balance(self.path.held())
    }

    /// Time of the next event; in the far future if there is none.
    pub fn next_timeout(&self) -> Instant {
        let wakes = self.faults.iter().chain(&self.links);
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
            if let Some(fault) = self.faults.iter().position(|wake| *wake == at) {
                self.faults[fault] = Instant::FAR_FUTURE;
                driftway_path::on_fault(self, fault);
            } else if let Some(link) = self.links.iter().position(|wake| *wake == at) {
                self.links[link] = Instant::FAR_FUTURE;
                driftway_path::on_link(self, link);
            }
            driftway_path::settle(self);
        }
        self.now = self.now.max(now);
    }

    /// Accepts a packet at an end.
    pub fn offer(&mut self, now: Instant, end: End, bytes: &[u8]) {
        self.on_timeout(now);
        let Some((packet, len)) = understand(bytes) else {
            self.account.not_ipv4 += 1;
            return;
        };
        self.account.carried[end as usize].entered += 1;
        self.enter(self.node(end), packet, &bytes[..len]);
        driftway_path::settle(self);
    }

    /// The next packet that leaves.
    pub fn poll(&mut self) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    /// Returns the buffer of a packet that was passed to the kernel.
    pub fn give_back(&mut self, leaving: Leaving) {
        self.bytes.give_back(leaving.bytes);
    }

    fn node(&self, end: End) -> usize {
        match end {
            End::Near => 0,
            End::Far => self.path.last(),
        }
    }

    /// The end at this node, if any.
    fn end(&self, node: usize) -> Option<End> {
        End::BOTH.into_iter().find(|end| self.node(*end) == node)
    }

    fn is_router(&self, address: Ipv4Addr) -> bool {
        self.path.node_at(address).is_some_and(|node| self.end(node).is_none())
    }

    fn enter(&mut self, node: usize, packet: Packet, bytes: &[u8]) {
        let id = self.packets.make(packet);
        self.bytes.put(id, bytes);
        driftway_path::forward(self, node, id, Place::Tail);
    }

    /// Processes a packet with bytes that has arrived at `node`.
    fn arrive(&mut self, node: usize, packet: &Packet, mut bytes: Vec<u8>) {
        match self.end(node) {
            Some(end) => {
                if self.is_router(packet.ip.source) {
                    self.account.messages += 1;
                } else {
                    let carried = &mut self.account.carried[end.other() as usize];
                    carried.delivered += 1;
                    carried.bytes += bytes.len() as u64;
                }
                rewrite(&mut bytes, packet.ip.ttl, packet.ip.ecn);
                self.leaving.push_back(Leaving { end, due: self.now, bytes });
            }
            None => {
                self.account.to_routers += 1;
                self.ask_router(node, &bytes);
                self.bytes.give_back(bytes);
            }
        }
    }

    /// Delivers a packet to a router, which may answer it: an echo request, a segment to a closed
    /// port.
    fn ask_router(&mut self, node: usize, bytes: &[u8]) {
        let Ok(decoded) = Packet::decode(bytes) else { return };
        if let Arrived::Answer(answer) = self.hosts[node].on_packet(self.now, &decoded.packet) {
            let mut encoded = vec![0; answer.len() as usize];
            let copy = |_, to: &mut [u8]| to.copy_from_slice(decoded.payload);
            if answer.encode(&mut encoded, copy).is_ok() {
                self.enter(node, answer, &encoded);
            }
        }
    }

    /// Processes a packet created by a router that has arrived at `node`.
    fn arrive_made(&mut self, node: usize, packet: &Packet) {
        if packet.payload().stream == FOREIGN {
            return;
        }
        match self.end(node) {
            Some(end) => {
                let mut bytes = vec![0; packet.len() as usize];
                if packet.encode(&mut bytes, Payload::pattern).is_ok() {
                    self.account.messages += 1;
                    self.leaving.push_back(Leaving { end, due: self.now, bytes });
                }
            }
            None => {
                if let Arrived::Answer(answer) = self.hosts[node].on_packet(self.now, packet) {
                    driftway_path::send(self, node, answer, Place::Tail);
                }
            }
        }
    }
}

impl Drive for Medium {
    fn path(&mut self) -> &mut PathAtWork {
        &mut self.path
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn packets(&mut self) -> &mut Packets {
        &mut self.packets
    }

    fn host(&mut self, node: usize) -> &mut Host {
        &mut self.hosts[node]
    }

    fn wake_fault(&mut self, number: usize, at: Instant) {
        self.faults[number] = self.faults[number].min(at);
    }

    fn wake_link(&mut self, number: usize, at: Instant) {
        self.links[number] = self.links[number].min(at);
    }

    fn enters(&mut self, id: u32) -> Option<u32> {
        let named = self.packets.get(id)?.len();
        // The decoded part can be shorter than the packet: options, quotations.
        Some(self.bytes.len(id).map_or(named, |len| len as u32))
    }

    fn delivered(&mut self, node: usize, id: u32) {
        let Some(packet) = self.packets.deliver(id) else { return };
        match self.bytes.take(id) {
            Some(bytes) => self.arrive(node, &packet, bytes),
            None => self.arrive_made(node, &packet),
        }
    }

    fn lost(&mut self, id: u32, _place: usize, why: Drop) -> Option<Packet> {
        let packet = self.packets.drop(id, why)?;
        if let Some(bytes) = self.bytes.take(id) {
            *self.account.lost.entry(why.name()).or_default() += 1;
            self.bytes.give_back(bytes);
        }
        // An ICMP error can only quote decoded packets.
        (packet.payload().stream != OPAQUE).then_some(packet)
    }

    /// The hosts at the ends are kernels, and their links stay up.
    fn signal(&mut self, _node: usize, _signal: &Signal) {}

    fn fault(&mut self, _kind: &'static str, _hop: u32, _begins: bool) {}
}

/// A packet as the path needs it, and its length; `None` if it is not IPv4.
///
/// Of fragments and of protocols unknown to the crate `wire` only the IP header is decoded.
fn understand(bytes: &[u8]) -> Option<(Packet, usize)> {
    let (ip, len) = IpHeader::decode(bytes).ok()?;
    let packet = match Packet::decode(bytes) {
        Ok(decoded) => decoded.packet,
        Err(DecodeError::Version(_) | DecodeError::HeaderChecksum) => return None,
        Err(_) => {
            let header = IPV4_HEADER + ip.options.as_slice().len() as u32;
            let payload = Payload::new(OPAQUE, 0, u32::from(len).saturating_sub(header + 8));
            let datagram = UdpDatagram { payload, ..UdpDatagram::default() };
            Packet { ip, body: Body::Udp(datagram) }
        }
    };
    Some((packet, len.into()))
}

#[cfg(test)]
#[path = "medium/test.rs"]
mod test;
