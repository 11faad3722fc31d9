//! A small network: its connectivity is a table that can change, and a frame takes a millisecond.

use std::collections::VecDeque;

use driftway_base::{DropReason, Duration, Instant, Ipv4Addr, Seq, Signal};
use driftway_route::{
    Dsr, DsrConfig, LinkDestination, NextHopConfirmation, Output, RoutingProtocol,
};
use driftway_wire::{
    AddressList, Body, DsrHeader, DsrReply, IcmpMessage, IpHeader, Packet, Payload, RoutedPacket,
    TcpFlags, TcpSegment, UdpDatagram, UnreachableCode,
};

pub const FRAME: Duration = Duration::from_millis(1);

pub fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node as u32)
}

pub fn number(address: Ipv4Addr) -> usize {
    (address.to_bits() - 0x0a00_0001) as usize
}

pub fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A completed transmission of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: usize,
    pub to: Option<usize>,
    pub packet: RoutedPacket,
    /// It was lost, or there was no link.
    pub failed: bool,
}

pub type Watch = Box<dyn FnMut(usize, &RoutedPacket, LinkDestination)>;

pub struct Net {
    pub now: Instant,
    pub nodes: Vec<Dsr>,
    pub hears: Vec<Vec<bool>>,
    queues: Vec<VecDeque<(RoutedPacket, LinkDestination)>>,
    /// The end of the frame at the head of the queue.
    busy: Vec<Option<Instant>>,
    pub sent: Vec<Sent>,
    pub delivered: Vec<(Instant, usize, Packet)>,
    pub dropped: Vec<(Instant, usize, RoutedPacket, DropReason)>,
    /// Route discoveries for the local host: node and destination.
    pub searches: Vec<(usize, Ipv4Addr)>,
    /// Rerouted packets: node, and number of salvages so far.
    pub salvaged: Vec<(usize, u8)>,
    /// Signals for hosts, by node.
    pub signals: Vec<(Instant, usize, Signal)>,
    /// The number of signals to hosts when the first route discovery started.
    pub signals_before_search: Option<usize>,
    /// Routes found (true) and lost, by node and destination.
    pub route_events: Vec<(Instant, usize, bool, Ipv4Addr)>,
    /// Decides whether a frame is lost although there is a link.
    pub loses: Box<dyn FnMut(&RoutedPacket) -> bool>,
    /// Called with each packet that a node transmits.
    pub watch: Watch,
    /// Host packets offered, including duplicates made by nodes.
    offered: u64,
    /// The link layer reports no failures.
    pub silent: bool,
    /// Host packets lost because of that.
    lost: u64,
}

impl Net {
    /// `n` nodes, no links.
    pub fn new(config: DsrConfig, n: usize, seed: u64) -> Self {
        Self {
            now: Instant::ZERO,
            nodes: (0..n).map(|i| Dsr::new(config, address(i), seed, i as u64)).collect(),
            hears: vec![vec![false; n]; n],
            queues: vec![VecDeque::new(); n],
            busy: vec![None; n],
            sent: Vec::new(),
            delivered: Vec::new(),
            dropped: Vec::new(),
            searches: Vec::new(),
            salvaged: Vec::new(),
            signals: Vec::new(),
            signals_before_search: None,
            route_events: Vec::new(),
            loses: Box::new(|_| false),
            watch: Box::new(|_, _, _| {}),
            offered: 0,
            silent: false,
            lost: 0,
        }
    }

    /// Nodes in a chain.
    pub fn chain(config: DsrConfig, n: usize) -> Self {
        let mut net = Self::new(config, n, 1);
        (1..n).for_each(|i| net.link(i - 1, i, true));
        net
    }

    pub fn link(&mut self, a: usize, b: usize, up: bool) {
        self.hears[a][b] = up;
        self.hears[b][a] = up;
    }

    /// Sends a packet of node `from`; `id` is its stream.
    pub fn send(&mut self, from: usize, to: usize, id: u32) {
        let payload = Payload::new(id, 0, 100);
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        self.offer(from, Packet { ip: ip(from, to), body: Body::Udp(datagram) });
    }

    pub fn send_tcp(&mut self, from: usize, to: usize) {
        let segment = TcpSegment { payload: Payload::new(0, 0, 1460), ..TcpSegment::default() };
        self.offer(from, Packet { ip: ip(from, to), body: Body::Tcp(segment) });
    }

    /// Sends a TCP segment with this many bytes from `seq` on, or an acknowledgment of everything before
    /// `ack`.
    pub fn send_segment(&mut self, from: usize, to: usize, seq: u32, len: u32, ack: u32) {
        let segment = TcpSegment {
            source_port: 1000 + from as u16,
            destination_port: 1000 + to as u16,
            seq: Seq(seq),
            ack: Seq(ack),
            flags: TcpFlags::ACK,
            window: 999,
            payload: Payload::new(0, seq.into(), len),
            ..TcpSegment::default()
        };
        self.offer(from, Packet { ip: ip(from, to), body: Body::Tcp(segment) });
    }

    /// Teaches the first node of a path that path, as a reply does.
    pub fn teach(&mut self, path: &[usize]) {
        let path: Vec<_> = path.iter().map(|node| address(*node)).collect();
        let [first, next, ..] = path[..] else { panic!("{path:?}") };
        let target = path[path.len() - 1];
        let route = AddressList::new(&path[1..]).unwrap();
        let reply = Some(DsrReply { last_hop_external: false, route });
        let dsr = Some(DsrHeader { reply, ..DsrHeader::default() });
        let packet = Packet { ip: IpHeader::new(target, first), body: Body::NoNextHeader };
        let packet = RoutedPacket { packet, dsr, size_adjustment: 0 };
        self.nodes[number(first)].on_packet(self.now, next, packet);
        self.drain(number(first));
    }

    /// Sends an ICMP error of node `from` about a packet of node `to`.
    pub fn send_unreachable(&mut self, from: usize, to: usize) {
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload: Payload::EMPTY };
        let about = Packet { ip: ip(to, to + 1), body: Body::Udp(datagram) };
        let code = UnreachableCode::Host;
        let message = |quoted| IcmpMessage::Unreachable { code, quoted };
        self.offer(from, Packet::icmp_error(address(from), &about, message).unwrap());
    }

    /// Passes a packet of the external host `host` to its gateway.
    pub fn send_external(&mut self, gateway: usize, host: usize, to: usize, id: u32) {
        let payload = Payload::new(id, 0, 100);
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        self.offer(gateway, Packet { ip: ip(host, to), body: Body::Udp(datagram) });
    }

    /// Passes a TCP segment of the external host `host` to its gateway.
    pub fn send_external_segment(&mut self, gateway: usize, host: usize, to: usize, seq: u32) {
        let segment = TcpSegment {
            seq: Seq(seq),
            flags: TcpFlags::ACK,
            payload: Payload::new(0, seq.into(), 100),
            ..TcpSegment::default()
        };
        self.offer(gateway, Packet { ip: ip(host, to), body: Body::Tcp(segment) });
    }

    /// Numbers a packet, as the node that drives the protocol does, and passes it to routing.
    fn offer(&mut self, from: usize, mut packet: Packet) {
        self.offered += 1;
        let number = self.nodes[from].new_identification().expect("DSR numbers its messages");
        let is_own = packet.ip.source == address(from);
        packet.ip.identification = if is_own { number } else { number + 10_000 * from as u16 };
        self.nodes[from].send(self.now, packet);
        self.drain(from);
    }

    fn drain(&mut self, node: usize) {
        while let Some(output) = self.nodes[node].poll(self.now) {
            match output {
                Output::Transmit { packet, hop } => {
                    (self.watch)(node, &packet, hop);
                    self.queues[node].push_back((packet, hop));
                    self.busy[node].get_or_insert(self.now + FRAME);
                }
                Output::Deliver(packet) => self.delivered.push((self.now, node, packet)),
                Output::Drop { packet, reason } => {
                    self.dropped.push((self.now, node, packet, reason));
                }
                Output::RouteFound(to) => self.route_events.push((self.now, node, true, to)),
                Output::RouteLost(to) => self.route_events.push((self.now, node, false, to)),
                Output::DiscoveryStarted(to) => {
                    self.signals_before_search.get_or_insert(self.signals.len());
                    self.searches.push((node, to));
                }
                Output::Salvaged { salvage_count: times, .. } => self.salvaged.push((node, times)),
                Output::Signal(signal) => self.signals.push((self.now, node, signal)),
                Output::Duplicated => self.offered += 1,
                Output::PurgeQueue(to) => {
                    let (now, hop) = (self.now, LinkDestination::Unicast(to));
                    let reason = DropReason::LinkFailure;
                    let purged = self.queues[node].iter().filter(|(_, other)| *other == hop);
                    self.dropped.extend(purged.map(|(packet, _)| (now, node, *packet, reason)));
                    self.queues[node].retain(|(_, other)| *other != hop);
                    if self.queues[node].is_empty() {
                        self.busy[node] = None;
                    }
                }
            }
        }
    }

    /// Runs until `until`.
    pub fn run(&mut self, until: Instant) {
        loop {
            let timers = self.nodes.iter().map(Dsr::next_timeout);
            let next = timers.chain(self.busy.iter().copied()).flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            assert!(next >= self.now, "time decreases from {:?} to {next:?}", self.now);
            self.now = next;
            for node in 0..self.nodes.len() {
                if self.busy[node] == Some(next) {
                    self.end_frame(node);
                }
                if self.nodes[node].next_timeout().is_some_and(|at| at <= next) {
                    self.nodes[node].on_timeout(next);
                    self.drain(node);
                    let again = self.nodes[node].next_timeout();
                    assert!(again.is_none_or(|at| at > next), "a timer that does not advance");
                }
            }
        }
        self.now = until;
    }

    fn end_frame(&mut self, node: usize) {
        let (packet, hop) = self.queues[node].pop_front().unwrap();
        self.busy[node] = (!self.queues[node].is_empty()).then(|| self.now + FRAME);
        let lost = (self.loses)(&packet);
        let to = match hop {
            LinkDestination::Unicast(to) => Some(number(to)),
            LinkDestination::Broadcast => None,
        };
        let failed = to.is_some_and(|to| lost || !self.hears[node][to]);
        self.sent.push(Sent { at: self.now, from: node, to, packet, failed });
        if self.silent && failed {
            self.lost += u64::from(!packet.is_control());
        }
        if let (Some(to), true, false) = (to, failed, self.silent) {
            let queue = &mut self.queues[node];
            let mut queued = || {
                let place = queue
                    .iter()
                    .position(|(_, hop)| *hop == LinkDestination::Unicast(address(to)))?;
                queue.remove(place).map(|(packet, _)| packet)
            };
            self.nodes[node].on_link_failure(self.now, address(to), packet, &mut queued);
            if self.queues[node].is_empty() {
                self.busy[node] = None;
            }
            let heard = self.nodes[node].config().confirm == NextHopConfirmation::LinkLayer;
            // RFC 4728 §8.3.5: a route over a failed link is removed with its first failed use.
            for destination in (0..self.nodes.len()).filter(|_| heard) {
                let route = self.route(node, destination).unwrap_or_default();
                assert!(!route.windows(2).any(|link| link == [node, to]), "{route:?}");
            }
            self.drain(node);
            return;
        }
        for other in (0..self.nodes.len()).filter(|i| *i != node) {
            if !self.hears[node][other] || lost {
                continue;
            }
            match to {
                Some(to) if to != other => {
                    self.nodes[other].on_overheard(self.now, address(node), address(to), &packet);
                }
                _ => self.nodes[other].on_packet(self.now, address(node), packet),
            }
            self.drain(other);
        }
    }

    /// Checks that host packets are delivered, dropped, buffered at a node or queued; each once.
    pub fn check_conservation(&self) {
        let kept: usize = self.nodes.iter().map(Dsr::buffered_packets).sum();
        let queued = self.queues.iter().flatten().filter(|(p, _)| !p.is_control()).count();
        let dropped = self.dropped.iter().filter(|(_, _, p, _)| !p.is_control()).count();
        let there = (kept + queued + dropped + self.delivered.len()) as u64 + self.lost;
        assert_eq!(there, self.offered, "packets offered and accounted for");
    }

    pub fn route(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        let now = self.now;
        let route = self.nodes[from].source_route(now, address(to))?;
        Some(route.into_iter().map(number).collect())
    }

    /// The streams delivered, in order.
    pub fn streams(&self) -> Vec<u32> {
        self.delivered.iter().map(|(_, _, packet)| packet.payload().stream).collect()
    }

    pub fn requests(&self) -> impl Iterator<Item = &Sent> {
        self.with(|packet| packet.dsr.is_some_and(|dsr| dsr.request().is_some()))
    }

    pub fn replies(&self) -> impl Iterator<Item = &Sent> {
        self.with(|packet| packet.dsr.is_some_and(|dsr| dsr.reply.is_some()))
    }

    /// Errors, except those on requests.
    pub fn errors(&self) -> impl Iterator<Item = &Sent> {
        self.with(|packet| {
            packet.dsr.is_some_and(|dsr| dsr.request().is_none() && dsr.errors().next().is_some())
        })
    }

    pub fn data(&self) -> impl Iterator<Item = &Sent> {
        self.with(|packet| !packet.is_control())
    }

    fn with(&self, wanted: impl Fn(&RoutedPacket) -> bool) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| wanted(&sent.packet))
    }
}

fn ip(from: usize, to: usize) -> IpHeader {
    IpHeader::new(address(from), address(to))
}
