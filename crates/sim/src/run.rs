//! One run: a scenario and a seed in, a result out.

use std::collections::VecDeque;

use base::{Ecn, Instant};
use link::{DropReason, Enqueued, Frame, LinkEvent, PathLink, Place, Side};
use node::{Arrived, Host};
use scenario::{Network, Scenario, Time, Transport};
use tcp::{Event as TcpEvent, Stats, Transmit};
use wire::{Body, Packet, Payload, UdpDatagram, UnreachableCode};

use crate::books::{Drop, Packets};
use crate::events::{Class, Event, Events};
use crate::faults::{self, Deed, FaultAtWork, Told};
use crate::fingerprint::Fingerprint;
use crate::flows::FlowAtWork;
use crate::results::RunResult;
use crate::sabotage::{Crime, Sabotage};
use crate::sockets::{self, End};
use crate::topology::Topology;
use crate::trace::{SentSegment, Trace};

/// The port to which foreign traffic goes (RFC 863).
const DISCARD: u16 = 9;
/// The stream of foreign traffic, which nobody checks.
const FOREIGN: u32 = u32::MAX;

/// Why there is no result: a mistake in driftway, because a checked scenario always has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The books of packets do not balance.
    Books(String),
    /// A stream was not delivered as it was sent, or acknowledged before it was.
    Stream(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Books(what) => write!(f, "the books don't balance: {what}"),
            Self::Stream(what) => write!(f, "a stream is broken: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// Where a socket is. Sockets are numbered by flow and end: 2 × flow for the sender, and one more
/// for the receiver.
#[derive(Clone, Copy, Debug)]
struct SocketAt {
    node: usize,
    /// Its number at its host; `None` before the flow starts.
    number: Option<usize>,
    /// The application has no more to send.
    closes: bool,
    /// What the trace knows already.
    counted: Stats,
}

/// A run under way.
pub struct Run<'a> {
    scenario: &'a Scenario,
    seed: u64,
    now: Instant,
    end: Instant,
    events: Events,
    handled: u64,
    packets: Packets,
    topology: Topology,
    links: Vec<PathLink>,
    /// Links that were touched and are to be polled.
    touched: VecDeque<usize>,
    /// How many faults have cut each link.
    cuts: Vec<u32>,
    hosts: Vec<Host>,
    sockets: Vec<SocketAt>,
    /// Packets from a host to itself.
    local: VecDeque<(usize, u32)>,
    flows: Vec<FlowAtWork>,
    faults: Vec<FaultAtWork>,
    deeds: Vec<Deed>,
    /// Transfers not complete yet; `None` where some flow never is.
    incomplete: Option<usize>,
    fingerprint: Fingerprint,
    sabotage: Sabotage,
    trace: Option<&'a mut Trace>,
    foreign: u64,
    failed: Option<RunError>,
}

/// Runs `scenario` with `seed`, recording a trace if there is one.
///
/// # Errors
/// A mistake in driftway: packets or bytes went missing.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    trace: Option<&mut Trace>,
) -> Result<RunResult, RunError> {
    let mut run = Run::new(scenario, seed, trace);
    while run.step()? {}
    run.finish()
}

impl<'a> Run<'a> {
    /// Before the first event.
    pub fn new(scenario: &'a Scenario, seed: u64, trace: Option<&'a mut Trace>) -> Self {
        let Network::Path(path) = &scenario.network;
        let (topology, links) = Topology::build(path, Sabotage::seed(seed));
        let Time(duration) = scenario.duration;
        let faults = faults::at_work(path, scenario.duration, seed);
        let hosts: Vec<Host> =
            (0..topology.nodes()).map(|n| Host::new(Topology::address(n))).collect();
        let flows: Vec<FlowAtWork> = scenario
            .flows
            .iter()
            .enumerate()
            .map(|(n, flow)| FlowAtWork::new(flow, n as u32 * 2))
            .collect();
        let sockets: Vec<SocketAt> = scenario
            .flows
            .iter()
            .flat_map(|flow| [flow.from, flow.to])
            .map(|node| SocketAt {
                node: node as usize,
                number: None,
                closes: false,
                counted: Stats::default(),
            })
            .collect();
        let transfers = flows.iter().all(FlowAtWork::is_transfer);
        let mut run = Self {
            scenario,
            seed,
            now: Instant::ZERO,
            end: Instant::ZERO + duration,
            events: Events::new([
                faults.len(),
                links.len(),
                sockets.len(),
                sockets.len(),
                flows.len(),
            ]),
            handled: 0,
            packets: Packets::default(),
            touched: VecDeque::with_capacity(links.len()),
            cuts: vec![0; links.len()],
            topology,
            links,
            hosts,
            sockets,
            local: VecDeque::with_capacity(16),
            incomplete: transfers.then_some(flows.len()),
            flows,
            faults,
            deeds: Vec::with_capacity(4),
            fingerprint: Fingerprint::default(),
            sabotage: Sabotage::default(),
            trace,
            foreign: 0,
            failed: None,
        };
        run.open();
        run
    }

    /// Puts up the receivers and the first wake-ups.
    fn open(&mut self) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            if let Some(tcp) = &flow.tcp
                && flow.transport == Transport::Tcp
            {
                let end = End::Receiver;
                let socket = sockets::socket(flow, tcp, number, end, self.seed, self.now);
                let at = &mut self.sockets[number * 2 + 1];
                at.number = Some(self.hosts[at.node].add(socket));
            }
            if let Some(at) = self.flows[number].next {
                self.events.wake(Class::Application, number as u32, at);
            }
        }
        for number in 0..self.faults.len() {
            self.schedule_fault(number);
        }
    }

    fn schedule_fault(&mut self, number: usize) {
        if let Some(at) = self.faults[number].next() {
            self.events.wake(Class::Fault, number as u32, at);
        }
    }

    /// Handles the next event; `false` when the run is over.
    ///
    /// # Errors
    /// A stream broke.
    pub fn step(&mut self) -> Result<bool, RunError> {
        if self.incomplete == Some(0) {
            return Ok(false);
        }
        let Some(Event { at, class, entity }) = self.events.next().filter(|e| e.at <= self.end)
        else {
            self.now = self.end;
            return Ok(false);
        };
        debug_assert!(at >= self.now, "time goes back");
        self.now = at;
        self.handled += 1;
        self.fingerprint.event(at, class as u8, entity);
        let number = entity as usize;
        match class {
            Class::Fault => self.on_fault(number),
            Class::Link => {
                self.links[number].on_timeout(at);
                self.touched.push_back(number);
            }
            Class::Aid | Class::Tcp => self.on_socket_timer(class, number),
            Class::Application => self.on_application(number),
        }
        self.settle();
        self.failed.take().map_or(Ok(true), Err)
    }

    /// Until nothing more happens at this instant: polls links and delivers what hosts send to
    /// themselves.
    fn settle(&mut self) {
        loop {
            if let Some(link) = self.touched.pop_front() {
                self.poll_link(link);
            } else if let Some((node, id)) = self.local.pop_front() {
                self.deliver(node, id);
            } else {
                return;
            }
        }
    }

    fn poll_link(&mut self, number: usize) {
        while let Some(event) = self.links[number].poll(self.now) {
            match event {
                LinkEvent::Arrived { from, id } => {
                    let node = self.topology.across(number, from);
                    self.arrive(node, id);
                }
                LinkEvent::Lost { id, reason, .. } => {
                    self.drop(id, number, reason_of(reason));
                }
            }
        }
        if let Some(at) = self.links[number].next_timeout() {
            self.events.wake(Class::Link, number as u32, at);
        }
    }

    /// A packet is lost at a place.
    fn drop(&mut self, id: u32, place: usize, why: Drop) -> Option<Packet> {
        let packet = self.packets.drop(id, why)?;
        self.fingerprint.packet(self.now, place as u32, why as u8, &packet);
        Some(packet)
    }

    /// A packet is at a node: for it, or to be sent on.
    fn arrive(&mut self, node: usize, id: u32) {
        let Some(packet) = self.packets.get(id) else { return };
        if packet.ip.destination == Topology::address(node) {
            self.deliver(node, id);
            return;
        }
        // RFC 1812 §5.3.1
        packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
        if packet.ip.ttl == 0 {
            if let Some(packet) = self.drop(id, node, Drop::TimeToLive)
                && let Some(error) = self.hosts[node].time_exceeded(&packet)
            {
                self.send(node, error, Place::Tail);
            }
            return;
        }
        self.forward(node, id, Place::Tail);
    }

    /// A new packet leaves a node.
    fn send(&mut self, node: usize, packet: Packet, place: Place) {
        let id = self.packets.make(packet);
        if packet.ip.destination == Topology::address(node) {
            self.local.push_back((node, id));
        } else {
            self.forward(node, id, place);
        }
    }

    fn forward(&mut self, node: usize, id: u32, place: Place) {
        let Some(packet) = self.packets.get(id) else { return };
        let destination = self.topology.node_at(packet.ip.destination);
        match destination.and_then(|goal| self.topology.exit(node, goal)) {
            Some(exit) => self.put_on(exit.link, exit.side, id, place),
            None => {
                self.drop(id, node, Drop::Nobody);
            }
        }
    }

    /// Gives a packet to a link.
    fn put_on(&mut self, link: usize, side: Side, id: u32, place: Place) {
        let Some(packet) = self.packets.get(id) else { return };
        if self.sabotage.on_link(packet) == Crime::Leak {
            return;
        }
        let frame = Frame { id, bytes: packet.len(), ecn_capable: packet.ip.ecn.is_capable() };
        // A burst touches its link once: the queue stays as short as there are links.
        if self.touched.back() != Some(&link) {
            self.touched.push_back(link);
        }
        match self.links[link].enqueue(self.now, side, frame, place) {
            Enqueued::Accepted { mark, pushed_out } => {
                if mark && let Some(packet) = self.packets.get(id) {
                    packet.ip.ecn = Ecn::Ce;
                }
                if let Some(other) = pushed_out {
                    self.drop(other, link, Drop::QueueOverflow);
                }
            }
            Enqueued::Dropped { reason } => {
                self.drop(id, link, reason_of(reason));
            }
            Enqueued::Refused => self.refuse(link, side, id),
        }
    }

    /// A packet came to a link that is cut: its router says so, or not.
    fn refuse(&mut self, link: usize, side: Side, id: u32) {
        let Some(packet) = self.drop(id, link, Drop::Unreachable) else { return };
        let told = self.faults.iter_mut().find_map(|fault| fault.signals(link));
        let node = self.topology.across(link, side.other());
        let error = match told {
            None | Some(Told::Nothing) => return,
            Some(_) => self.hosts[node].complain(&packet, UnreachableCode::Host),
        };
        let Some(error) = error else { return };
        if told == Some(Told::Lost) {
            let id = self.packets.make(error);
            self.drop(id, node, Drop::SignalLoss);
        } else {
            self.send(node, error, Place::Tail);
        }
    }

    /// A packet is at the node it was for.
    fn deliver(&mut self, node: usize, id: u32) {
        let Some(packet) = self.packets.deliver(id) else { return };
        self.fingerprint.packet(self.now, node as u32, u8::MAX, &packet);
        match self.hosts[node].on_packet(self.now, &packet) {
            Arrived::Socket(number) => {
                let here = |at: &SocketAt| at.node == node && at.number == Some(number);
                let flow = match &packet.body {
                    Body::Tcp(segment) => segment.destination_port,
                    Body::Icmp(message) => message.quoted().map_or(0, |quoted| quoted.ports().0),
                    Body::Udp(_) => 0,
                };
                let first = usize::from(flow.wrapping_sub(sockets::port(0))) * 2;
                let ends = first..self.sockets.len().min(first + 2);
                if let Some(socket) = ends.into_iter().find(|&s| here(&self.sockets[s])) {
                    self.serve(socket);
                }
            }
            Arrived::Datagram(datagram) => self.on_datagram(datagram),
            Arrived::Answer(answer) => self.send(node, answer, Place::Tail),
            Arrived::Nothing => {}
        }
    }

    fn on_datagram(&mut self, datagram: UdpDatagram) {
        if datagram.destination_port == DISCARD {
            return;
        }
        let flow = usize::from(datagram.destination_port.wrapping_sub(sockets::port(0)));
        let Some(flow) = self.flows.get_mut(flow) else { return };
        if let Err(broken) = flow.on_datagram(self.now, datagram.payload) {
            self.failed.get_or_insert(RunError::Stream(broken));
        }
    }

    fn on_socket_timer(&mut self, class: Class, number: usize) {
        let SocketAt { node, number: Some(at_host), .. } = self.sockets[number] else { return };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= self.now);
        if class == Class::Aid && due(socket.next_aid_timeout()) {
            socket.on_aid_timeout(self.now);
        } else if class == Class::Tcp && due(socket.next_tcp_timeout()) {
            socket.on_tcp_timeout(self.now);
        }
        self.serve(number);
    }

    fn on_application(&mut self, number: usize) {
        let scenario = &self.scenario.flows[number];
        let (bytes, closes) = self.flows[number].act(self.now);
        if let Some(at) = self.flows[number].next {
            self.events.wake(Class::Application, number as u32, at);
        }
        match &scenario.tcp {
            Some(tcp) if scenario.transport == Transport::Tcp => {
                let at = &mut self.sockets[number * 2];
                let host = &mut self.hosts[at.node];
                let at_host = *at.number.get_or_insert_with(|| {
                    let end = End::Sender;
                    host.add(sockets::socket(scenario, tcp, number, end, self.seed, self.now))
                });
                at.closes = closes;
                if let Some(socket) = host.socket(at_host) {
                    socket.tcp_mut().write(bytes);
                }
                self.serve(number * 2);
            }
            _ => self.send_datagram(number, bytes),
        }
    }

    fn send_datagram(&mut self, number: usize, bytes: u64) {
        let scenario = &self.scenario.flows[number];
        let (from, to) = (scenario.from as usize, scenario.to as usize);
        let flow = &mut self.flows[number];
        let payload = Payload::new(flow.stream, flow.written - bytes, bytes as u32);
        flow.on_sent(self.now, payload);
        flow.datagrams_sent += 1;
        let port = sockets::port(number);
        let datagram = UdpDatagram { source_port: port, destination_port: port, payload };
        let packet = self.hosts[from].packet(Topology::address(to), Body::Udp(datagram));
        self.send(from, packet, Place::Tail);
    }

    /// Something happened at a socket: the application reads, TCP sends, timers move.
    fn serve(&mut self, number: usize) {
        let SocketAt { node, number: Some(at_host), closes, .. } = self.sockets[number] else {
            return;
        };
        let sender = number.is_multiple_of(2);
        let flow = number / 2;
        loop {
            self.read(number, node, at_host);
            let Some(socket) = self.hosts[node].socket(at_host) else { return };
            let mut again = false;
            while let Some(event) = socket.tcp_mut().poll_event() {
                let done = match event {
                    TcpEvent::Connected => sender && closes,
                    // The receiver has nothing to send, so it closes, too.
                    TcpEvent::PeerClosed => true,
                    _ => false,
                };
                if done {
                    socket.tcp_mut().close();
                    again = true;
                }
            }
            let acknowledged = socket.tcp().acknowledged();
            if sender && acknowledged != self.flows[flow].acknowledged {
                let received = self.flows[flow].delivered;
                if let Err(broken) = self.flows[flow].on_acknowledged(acknowledged, received) {
                    self.failed.get_or_insert(RunError::Stream(broken));
                }
                if let Some(trace) = &mut self.trace {
                    trace.flow(flow).acked(self.now, acknowledged);
                }
            }
            self.note(number, node, at_host);
            while let Some((packet, transmit)) = self.hosts[node].poll_transmit(self.now, at_host) {
                if sender {
                    self.on_transmit(flow, node, at_host, &transmit);
                }
                let place = if transmit.ahead_of_queue { Place::Front } else { Place::Tail };
                self.send(node, packet, place);
            }
            if !again {
                break;
            }
        }
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let number = number as u32;
        if let Some(at) = socket.next_aid_timeout() {
            self.events.wake(Class::Aid, number, at);
        }
        if let Some(at) = socket.next_tcp_timeout() {
            self.events.wake(Class::Tcp, number, at);
        }
    }

    /// The receiving application reads all there is.
    fn read(&mut self, number: usize, node: usize, at_host: usize) {
        if number.is_multiple_of(2) {
            return;
        }
        let flow = &mut self.flows[number / 2];
        let before = flow.complete.is_some();
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        while let Some(part) = socket.tcp_mut().read(u32::MAX) {
            let twice = self.sabotage.on_delivery() == Crime::Twice;
            for _ in 0..1 + u8::from(twice) {
                if let Err(broken) = flow.on_delivered(self.now, part) {
                    self.failed.get_or_insert(RunError::Stream(broken));
                }
            }
            if let Some(trace) = &mut self.trace {
                trace.flow(number / 2).delivered(self.now, flow.delivered);
            }
        }
        if !before && flow.complete.is_some() {
            self.incomplete = self.incomplete.map(|n| n.saturating_sub(1));
        }
    }

    fn on_transmit(&mut self, flow: usize, node: usize, at_host: usize, transmit: &Transmit) {
        let payload = transmit.segment.payload;
        if payload.is_empty() {
            return;
        }
        self.flows[flow].on_sent(self.now, payload);
        let Some(trace) = &mut self.trace else { return };
        let view = self.hosts[node].socket(at_host).map(|socket| socket.tcp().view());
        let bytes = |known: base::Known<u32>| known.value().unwrap_or_default();
        let view = view.unwrap_or_default();
        trace.flow(flow).sent(
            self.now,
            SentSegment {
                offset: payload.offset,
                length: payload.len,
                retransmission: transmit.retransmission,
                cwnd: bytes(view.cwnd),
                ssthresh: bytes(view.ssthresh),
            },
        );
    }

    /// Tells the trace what a sender's TCP and aid have been doing.
    fn note(&mut self, number: usize, node: usize, at_host: usize) {
        let Some(trace) = self.trace.as_mut().filter(|_| number.is_multiple_of(2)) else { return };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let flow = trace.flow(number / 2);
        let stats = *socket.tcp().stats();
        let counted = std::mem::replace(&mut self.sockets[number].counted, stats);
        if stats.timeouts > counted.timeouts {
            flow.timeout(self.now);
        }
        if stats.fast_retransmits > counted.fast_retransmits {
            flow.fast_retransmit(self.now);
        }
        if let Some(state) = socket.aid_state() {
            flow.aid_state(self.now, state);
        }
    }

    fn on_fault(&mut self, number: usize) {
        let mut deeds = std::mem::take(&mut self.deeds);
        self.faults[number].act(self.now, &mut deeds);
        let kind = self.faults[number].kind();
        for deed in deeds.drain(..) {
            self.commit(kind, deed);
        }
        self.deeds = deeds;
        self.schedule_fault(number);
    }

    fn commit(&mut self, kind: &'static str, deed: Deed) {
        let now = self.now;
        match deed {
            Deed::Cut { link, queue } => {
                self.cuts[link] += 1;
                self.links[link].partition(now, queue);
                self.mark(kind, link, true);
            }
            Deed::Heal { link } => {
                self.cuts[link] -= 1;
                self.mark(kind, link, false);
                if self.cuts[link] == 0 {
                    self.links[link].heal(now);
                    self.on_healed(link);
                }
            }
            Deed::Reorder { link, frames } => {
                self.links[link].front_next(Side::A, frames);
                self.mark(kind, link, true);
            }
            Deed::Foreign { link, side, bytes } => self.foreign_packet(link, side, bytes),
            Deed::Rate { link, rate } => self.links[link].set_rate(now, rate),
            Deed::Delay { link, delay } => self.links[link].set_delay(now, delay),
            Deed::Mark { link, begins } => self.mark(kind, link, begins),
        }
        if let Deed::Cut { link, .. } | Deed::Heal { link } = deed {
            self.touched.push_back(link);
        }
    }

    /// The cut of a link is over: what changes with that changes.
    fn on_healed(&mut self, link: usize) {
        let mut deeds = Vec::new();
        for number in 0..self.faults.len() {
            self.faults[number].on_healed(link, &mut deeds);
            let kind = self.faults[number].kind();
            for deed in deeds.drain(..) {
                self.commit(kind, deed);
            }
        }
    }

    fn mark(&mut self, kind: &'static str, link: usize, begins: bool) {
        if let Some(trace) = &mut self.trace {
            trace.fault(self.now, kind, link as u32 + 1, begins);
        }
    }

    /// A packet that belongs to no flow goes over one hop.
    fn foreign_packet(&mut self, link: usize, side: Side, bytes: u32) {
        let (from, to) =
            (self.topology.across(link, side.other()), self.topology.across(link, side));
        // What is asked for is the size of the IP packet.
        let len = bytes.saturating_sub(wire::IPV4_HEADER + 8);
        let payload = Payload::new(FOREIGN, self.foreign, len);
        self.foreign += u64::from(len);
        let datagram = UdpDatagram { source_port: DISCARD, destination_port: DISCARD, payload };
        let packet = self.hosts[from].packet(Topology::address(to), Body::Udp(datagram));
        let id = self.packets.make(packet);
        self.put_on(link, side, id, Place::Tail);
    }

    /// Closes the books.
    fn finish(mut self) -> Result<RunResult, RunError> {
        let held: usize = self.links.iter().map(PathLink::held).sum();
        self.packets.balance((held + self.local.len()) as u64).map_err(RunError::Books)?;
        Ok(self.result())
    }
}

fn reason_of(reason: DropReason) -> Drop {
    match reason {
        DropReason::QueueOverflow => Drop::QueueOverflow,
        DropReason::RedDrop => Drop::Red,
        DropReason::BitError => Drop::BitError,
        DropReason::Partition => Drop::Partition,
    }
}

mod outcome;
