//! A small network: nodes joined by links that come and go, each with a queue and one frame in transmission,
//! which takes a fixed time. Every transmission of a node is logged with its instant.

use std::collections::{BTreeMap, VecDeque};

use driftway_base::{
    DropReason, Duration, Instant, Ipv4Addr, Probability, RandomStream, ReceivedPower, Seq, Signal,
};
use driftway_route::{Aodv, AodvConfig, AodvRoute, LinkDestination, Output, RoutingProtocol};
use driftway_wire::{
    AodvMessage, Body, IpHeader, Packet, Payload, RoutedPacket, TcpFlags, TcpSegment, UdpDatagram,
};

pub type Node = usize;

/// The duration of a frame.
pub const FRAME: Duration = Duration::from_millis(1);
/// The time after which a link layer reports a failure.
pub const LINK_TIMEOUT: Duration = Duration::from_millis(5);

pub const fn at(node: Node) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node as u32)
}

fn number(address: Ipv4Addr) -> Node {
    (address.to_bits() - 0x0a00_0001) as Node
}

pub const fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[derive(Clone, Debug)]
struct Host {
    aodv: Aodv,
    queue: VecDeque<(RoutedPacket, LinkDestination)>,
    busy: bool,
    /// The last host packet that it sent: number, instant, destination.
    last: Option<(u64, Instant, LinkDestination)>,
}

/// The outcome of a host packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    Delivered(Node),
    Dropped(Node, DropReason),
}

/// A report to the host, or a request to the link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteEvent {
    Found(Node),
    Lost(Node),
    Purge(Node),
}

#[derive(Clone, Debug)]
pub struct Net {
    hosts: Vec<Host>,
    /// `links[a][b]`: b hears a.
    links: Vec<Vec<bool>>,
    pub now: Instant,
    /// Frames in transmission: (end, number) → (sender, packet, link destination).
    frames: BTreeMap<(Instant, u64), (Node, RoutedPacket, LinkDestination)>,
    frame_number: u64,
    /// The loss of broadcasts, per receiver.
    pub loss: Probability,
    random: RandomStream,
    /// Routes expire at their exact time.
    exact_ends: bool,
    /// Routing messages, as they are queued.
    pub log: Vec<String>,
    /// Route discoveries for the local host: node and destination.
    pub searches: Vec<(Node, Ipv4Addr)>,
    /// Rerouted packets: node, and number of salvages so far.
    pub salvaged: Vec<(Node, u8)>,
    /// Signals for hosts, by node.
    pub signals: Vec<(Instant, Node, Signal)>,
    pub route_events: Vec<(Instant, Node, RouteEvent)>,
    pub sent: u64,
    pub outcomes: Vec<(u64, Instant, PacketOutcome)>,
}

impl Net {
    /// `nodes` nodes without links.
    pub fn new(config: AodvConfig, nodes: usize, seed: u64) -> Self {
        let host = |node| Host {
            aodv: Aodv::new(config, at(node), seed, node as u64),
            queue: VecDeque::new(),
            busy: false,
            last: None,
        };
        Self {
            hosts: (0..nodes).map(host).collect(),
            links: vec![vec![false; nodes]; nodes],
            now: Instant::ZERO,
            frames: BTreeMap::new(),
            frame_number: 0,
            loss: Probability::NEVER,
            random: RandomStream::new(seed, "net", 0),
            exact_ends: config.expiry_interval.is_none(),
            log: Vec::new(),
            searches: Vec::new(),
            salvaged: Vec::new(),
            signals: Vec::new(),
            route_events: Vec::new(),
            sent: 0,
            outcomes: Vec::new(),
        }
    }

    /// Nodes in a chain.
    pub fn chain(config: AodvConfig, nodes: usize) -> Self {
        let mut net = Self::new(config, nodes, 1);
        (1..nodes).for_each(|node| net.link(node - 1, node, true));
        net
    }

    pub fn link(&mut self, a: Node, b: Node, there: bool) {
        self.one_way(a, b, there);
        self.one_way(b, a, there);
    }

    pub fn one_way(&mut self, from: Node, to: Node, there: bool) {
        self.links[from][to] = there;
    }

    pub fn node(&self, node: Node) -> &Aodv {
        &self.hosts[node].aodv
    }

    pub fn watch_route(&mut self, node: Node, destination: Node) {
        self.hosts[node].aodv.watch_route(at(destination));
    }

    /// Declares `host` as external, behind `gateway`.
    pub fn add_external(&mut self, gateway: Node, host: Node) {
        self.hosts[gateway].aodv.add_external(at(host));
    }

    /// Passes a packet of the external host `host` to its gateway; returns its number.
    pub fn send_external(&mut self, gateway: Node, host: Node, to: Node, ttl: u8) -> u64 {
        let id = self.sent;
        self.sent += 1;
        let payload = Payload::new(0, id, 100);
        let body = Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload });
        let ip = IpHeader { ttl, ..IpHeader::new(at(host), at(to)) };
        self.hosts[gateway].aodv.send(self.now, Packet { ip, body });
        self.drain(gateway);
        id
    }

    /// A node receives another one with this power.
    pub fn power(&mut self, node: Node, neighbour: Node, power: ReceivedPower) {
        self.hosts[node].aodv.on_received_power(at(neighbour), power);
    }

    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// A host sends a packet; returns its number.
    pub fn send(&mut self, from: Node, to: Node) -> u64 {
        let payload = Payload::new(0, self.sent, 100);
        self.send_body(
            from,
            to,
            Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }),
        )
    }

    /// Sends a TCP segment.
    pub fn send_tcp(&mut self, from: Node, to: Node) -> u64 {
        let payload = Payload::new(0, self.sent, 100);
        self.send_body(from, to, Body::Tcp(TcpSegment { payload, ..TcpSegment::default() }))
    }

    /// Sends a TCP segment from `seq` on, or an acknowledgment without data of everything before `ack`.
    pub fn send_segment(&mut self, from: Node, to: Node, seq: u32, len: u32, ack: u32) -> u64 {
        let payload = Payload::new(0, self.sent, len);
        let segment = TcpSegment {
            source_port: 1000 + from as u16,
            destination_port: 1000 + to as u16,
            seq: Seq(seq),
            ack: Seq(ack),
            flags: TcpFlags::ACK,
            payload,
            ..TcpSegment::default()
        };
        self.send_body(from, to, Body::Tcp(segment))
    }

    fn send_body(&mut self, from: Node, to: Node, body: Body) -> u64 {
        let id = self.sent;
        self.sent += 1;
        let ip = IpHeader::new(at(from), at(to));
        let packet = Packet { ip, body };
        let before = self.route(from, at(to));
        self.hosts[from].aodv.send(self.now, packet);
        self.drain(from);
        self.check_hop(from, &packet, before);
        id
    }

    fn route(&self, node: Node, destination: Ipv4Addr) -> Option<AodvRoute> {
        self.hosts[node].aodv.routes().find(|route| route.destination == destination)
    }

    /// Checks that a host packet that was forwarded at once used the route in the table before its expiry.
    fn check_hop(&self, node: Node, packet: &Packet, before: Option<AodvRoute>) {
        if !self.exact_ends || packet.ip.destination == at(node) {
            return;
        }
        let id = packet.payload().offset;
        let sent = self.hosts[node].last.filter(|(last, when, _)| *last == id && *when == self.now);
        if let Some((_, _, hop)) = sent {
            let before = before.unwrap_or_else(|| panic!("{node} had no route"));
            assert_eq!(before.next_hop.map(LinkDestination::Unicast), Some(hop));
            assert!(before.expires_at > self.now, "{node} used an expired route");
        }
    }

    /// Passes a message to a node as if `from` had sent it.
    pub fn inject(
        &mut self,
        node: Node,
        from: Node,
        message: AodvMessage,
        ttl: u8,
        hop: LinkDestination,
    ) {
        let destination = match hop {
            LinkDestination::Unicast(to) => to,
            LinkDestination::Broadcast => Ipv4Addr::BROADCAST,
        };
        let ip = IpHeader { ttl, ..IpHeader::new(at(from), destination) };
        let packet = RoutedPacket::plain(Packet { ip, body: Body::Aodv(message) });
        self.hosts[node].aodv.on_packet(self.now, at(from), packet);
        self.drain(node);
    }

    /// Runs until `end`, inclusive; `check` inspects the network after each step.
    pub fn run_checked(&mut self, end: Instant, mut check: impl FnMut(&Self)) {
        loop {
            let frame = self.frames.first_key_value().map(|((at, _), _)| *at);
            let timer = self.hosts.iter().filter_map(|host| host.aodv.next_timeout()).min();
            let Some(next) = frame.into_iter().chain(timer).min().filter(|next| *next <= end)
            else {
                break;
            };
            assert!(next >= self.now, "a timer in the past: {next:?} at {:?}", self.now);
            self.now = next;
            if frame == Some(next) {
                let (_, (from, packet, hop)) = self.frames.pop_first().unwrap();
                self.end_frame(from, packet, hop);
            } else {
                for node in 0..self.hosts.len() {
                    if self.hosts[node].aodv.next_timeout().is_some_and(|at| at <= next) {
                        self.hosts[node].aodv.on_timeout(next);
                        self.drain(node);
                        let later = self.hosts[node].aodv.next_timeout();
                        assert!(later.is_none_or(|at| at > next), "a timer that does not advance");
                    }
                }
            }
            check(self);
        }
        self.now = end;
    }

    pub fn run(&mut self, end: Instant) {
        self.run_checked(end, |_| ());
    }

    fn end_frame(&mut self, from: Node, packet: RoutedPacket, hop: LinkDestination) {
        self.hosts[from].busy = false;
        let mut hearers = Vec::new();
        match hop {
            LinkDestination::Unicast(to) if self.links[from][number(to)] => {
                hearers.push(number(to))
            }
            LinkDestination::Unicast(to) => {
                let host = &mut self.hosts[from];
                let queue = &mut host.queue;
                host.aodv.on_link_failure(self.now, to, packet, &mut || {
                    let at =
                        queue.iter().position(|(_, hop)| *hop == LinkDestination::Unicast(to))?;
                    queue.remove(at).map(|(packet, _)| packet)
                });
            }
            LinkDestination::Broadcast => {
                for node in 0..self.hosts.len() {
                    if self.links[from][node] && !self.random.bernoulli(self.loss) {
                        hearers.push(node);
                    }
                }
            }
        }
        for node in hearers {
            let before = self.route(node, packet.packet.ip.destination);
            self.hosts[node].aodv.on_packet(self.now, at(from), packet);
            self.drain(node);
            if !packet.is_control() {
                self.check_hop(node, &packet.packet, before);
            }
        }
        self.drain(from);
    }

    fn drain(&mut self, node: Node) {
        while let Some(output) = self.hosts[node].aodv.poll(self.now) {
            match output {
                Output::Transmit { packet, hop } => {
                    if let Some(message) = packet.aodv() {
                        let (now, ttl) = (self.now.as_nanos() as f64 / 1e6, packet.packet.ip.ttl);
                        self.log.push(format!("{now} {node} {}", text(message, ttl, hop)));
                        self.hosts[node].queue.push_front((packet, hop));
                    } else {
                        let id = packet.packet.payload().offset;
                        self.hosts[node].last = Some((id, self.now, hop));
                        self.hosts[node].queue.push_back((packet, hop));
                    }
                }
                Output::Deliver(packet) => {
                    self.record_outcome(&packet, PacketOutcome::Delivered(node))
                }
                Output::Drop { packet, reason } => {
                    self.record_outcome(&packet.packet, PacketOutcome::Dropped(node, reason));
                }
                Output::RouteFound(to) => {
                    self.route_events.push((self.now, node, RouteEvent::Found(number(to))));
                }
                Output::RouteLost(to) => {
                    self.route_events.push((self.now, node, RouteEvent::Lost(number(to))))
                }
                Output::DiscoveryStarted(to) => self.searches.push((node, to)),
                Output::Salvaged { salvage_count: times, .. } => self.salvaged.push((node, times)),
                Output::Signal(signal) => self.signals.push((self.now, node, signal)),
                Output::Duplicated => self.sent += 1,
                Output::PurgeQueue(to) => {
                    self.route_events.push((self.now, node, RouteEvent::Purge(number(to))));
                    let queue = std::mem::take(&mut self.hosts[node].queue);
                    let (gone, stays): (VecDeque<_>, VecDeque<_>) = queue
                        .into_iter()
                        .partition(|(_, hop)| *hop == LinkDestination::Unicast(to));
                    self.hosts[node].queue = stays;
                    for (packet, _) in gone.iter().filter(|(packet, _)| !packet.is_control()) {
                        let outcome = PacketOutcome::Dropped(node, DropReason::LinkFailure);
                        self.record_outcome(&packet.packet, outcome);
                    }
                }
            }
        }
        if !self.hosts[node].busy
            && let Some((packet, hop)) = self.hosts[node].queue.pop_front()
        {
            self.hosts[node].busy = true;
            let reached = match hop {
                LinkDestination::Unicast(to) => self.links[node][number(to)],
                LinkDestination::Broadcast => true,
            };
            let end = self.now + if reached { FRAME } else { LINK_TIMEOUT };
            self.frame_number += 1;
            self.frames.insert((end, self.frame_number), (node, packet, hop));
        }
    }

    fn record_outcome(&mut self, packet: &Packet, outcome: PacketOutcome) {
        self.outcomes.push((packet.payload().offset, self.now, outcome));
    }

    /// The outcome of packet `id`.
    pub fn outcome_of(&self, id: u64) -> Option<PacketOutcome> {
        self.outcomes.iter().find(|(which, _, _)| *which == id).map(|(_, _, outcome)| *outcome)
    }

    /// Host packets that are neither delivered nor dropped, at any place.
    pub fn packets_in_flight(&self) -> usize {
        let data = |packet: &RoutedPacket| usize::from(!packet.is_control());
        let queued = |host: &Host| host.queue.iter().map(|(packet, _)| data(packet)).sum::<usize>();
        let held: usize =
            self.hosts.iter().map(|host| host.aodv.buffered_packets() + queued(host)).sum();
        held + self.frames.values().map(|(_, packet, _)| data(packet)).sum::<usize>()
    }

    /// Checks that no packet was lost or duplicated.
    pub fn check_conservation(&self) {
        let mut ids: Vec<u64> = self.outcomes.iter().map(|(id, _, _)| *id).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "a packet has two outcomes");
        assert_eq!(ids.len() + self.packets_in_flight(), self.sent as usize, "a packet is lost");
    }

    /// Returns true if there is a path of bidirectional links.
    pub fn connected(&self, from: Node, to: Node) -> bool {
        let (mut reached, mut rest) = (vec![false; self.len()], vec![from]);
        while let Some(node) = rest.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                rest.extend((0..self.len()).filter(|other| self.links[node][*other]));
            }
        }
        reached[to]
    }

    /// Checks that the next hops to each destination form no loop.
    pub fn check_loops(&self) {
        let mut next: BTreeMap<(Node, Node), Node> = BTreeMap::new();
        for (node, host) in self.hosts.iter().enumerate() {
            for route in host.aodv.routes() {
                // An expired route is no longer used.
                if let Some(hop) = route.next_hop.filter(|_| route.expires_at > self.now) {
                    next.insert((node, number(route.destination)), number(hop));
                }
            }
        }
        for &(start, destination) in next.keys() {
            let (mut node, mut steps) = (start, 0);
            while let Some(&hop) = next.get(&(node, destination)).filter(|_| node != destination) {
                node = hop;
                steps += 1;
                assert!(
                    steps <= self.len(),
                    "to {destination}, from {start}: {:?}",
                    self.path(start, destination)
                );
            }
        }
    }

    /// The nodes along the next hops, up to and including the first repetition.
    pub fn path(&self, from: Node, to: Node) -> Vec<Node> {
        let mut path = vec![from];
        let hop = |node: Node| {
            let mut routes = self.hosts[node].aodv.routes();
            routes.find(|route| route.destination == at(to)).and_then(|route| route.next_hop)
        };
        while let Some(next) = path.last().and_then(|last| hop(*last)).map(number) {
            let again = path.contains(&next);
            path.push(next);
            if again || next == to {
                break;
            }
        }
        path
    }
}

/// A message in one line: its contents and destination.
fn text(message: &AodvMessage, ttl: u8, hop: LinkDestination) -> String {
    let to = match hop {
        LinkDestination::Unicast(to) => format!("to {}", number(to)),
        LinkDestination::Broadcast => "to all".to_owned(),
    };
    match message {
        AodvMessage::Request(r) => {
            let seq = r.destination_seq.map_or("?".to_owned(), |seq| seq.to_string());
            let (destination, originator) = (number(r.destination), number(r.originator));
            format!(
                "RREQ {destination}#{seq} by {originator}#{} hops {} ttl {ttl}",
                r.originator_seq, r.hops
            )
        }
        AodvMessage::Reply(r) => {
            let (destination, originator) = (number(r.destination), number(r.originator));
            let (hops, life) = (r.hops, r.lifetime_ms);
            format!(
                "RREP {destination}#{} for {originator} hops {hops} life {life} {to}",
                r.destination_seq
            )
        }
        AodvMessage::Error(e) => {
            let list: Vec<String> =
                e.unreachable().iter().map(|(d, seq)| format!("{}#{seq}", number(*d))).collect();
            let kind = if e.no_delete { "RERR-N" } else { "RERR" };
            format!("{kind} {} {to}", list.join(" "))
        }
        AodvMessage::ReplyAck => format!("RREP-ACK {to}"),
        AodvMessage::LossNotification(l) => {
            format!("losses {} by {} {to}", number(l.link.to), number(l.reporter))
        }
    }
}
