//! Host events: packets delivered to sockets, timers, applications, and what is traced of flows.

use driftway_base::{About, FlowKey, Instant, Ipv4Addr, Scope, Signal, SignalKind};
use driftway_link::Place;
use driftway_node::Arrived;
use driftway_path::DISCARD;
use driftway_scenario::{Time, Transport};
use driftway_tcp::{Event as TcpEvent, Transmit};
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use super::{NetworkAtWork, Run, RunError, SocketAt};
use crate::events::Class;
use crate::nodes::{address, node_at};
use crate::results::Outcome;
use crate::sabotage::Crime;
use crate::sockets::{self, End};
use crate::trace::SentSegment;
use crate::watch::At;

impl<N: NetworkAtWork> Run<'_, N> {
    /// Delivers a packet to the host at its destination.
    pub(super) fn arrived(&mut self, node: usize, packet: &Packet) {
        if let Body::Icmp(_) = packet.body {
            self.reporter = node_at(packet.ip.source, self.hosts.len()).unwrap_or(node);
        }
        match self.hosts[node].on_packet(self.now, packet) {
            Arrived::Socket(number) => {
                let here = |at: &SocketAt| at.node == node && at.number == Some(number);
                let flow = match &packet.body {
                    Body::Tcp(segment) => segment.destination_port,
                    Body::Icmp(message) => message.quoted().map_or(0, |quoted| quoted.ports().0),
                    Body::Udp(_) | Body::Aodv(_) | Body::Nothing => 0,
                };
                let first = usize::from(flow.wrapping_sub(sockets::port(0))) * 2;
                let ends = first..self.sockets.len().min(first + 2);
                if let Some(socket) = ends.into_iter().find(|&s| here(&self.sockets[s])) {
                    self.serve(socket);
                }
            }
            Arrived::SocketsTo(peer) => self.serve_peers(node, Some(peer)),
            Arrived::Datagram(datagram) => self.on_datagram(datagram),
            Arrived::Answer(answer) => N::send(self, node, answer, Place::Tail),
            Arrived::Nothing => {}
        }
    }

    /// Passes a signal to a host's connections: to those with the signal's destination if it has one,
    /// else to all.
    pub(super) fn on_signal(&mut self, node: usize, signal: &Signal) {
        self.reporter = node;
        self.hosts[node].on_signal(self.now, signal);
        self.serve_peers(node, signal.about.destination);
    }

    /// Schedules the next signal of an unreachable destination for a flow's sender (`unreachable_at`).
    pub(super) fn wake_unreachable(&mut self, flow: usize) {
        let next = self.flows[flow].unreachable_signals;
        if let Some(&Time(at)) = self.scenario.flows[flow].unreachable_at.get(next) {
            self.signal_unreachable(flow, Instant::ZERO + at);
        }
    }

    fn signal_unreachable(&mut self, flow: usize, at: Instant) {
        self.events.wake(Class::Network, (self.entities + flow) as u32, at);
    }

    /// Handles a packet that a node's own link layer failed to send. Flows that ask for it
    /// (`unreachable_until`) get a signal at this instant.
    pub(super) fn on_own_link_failure(&mut self, node: usize, destination: Ipv4Addr) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            let Some(Time(until)) = flow.unreachable_until else { continue };
            let (from, to) = (flow.from as usize, address(flow.to as usize));
            if from == node && to == destination && self.now < Instant::ZERO + until {
                self.signal_unreachable(number, self.now);
            }
        }
    }

    /// Signals to a flow's sender that its destination is unreachable, as if a router had reported its
    /// first outstanding segment.
    pub(super) fn on_unreachable(&mut self, flow: usize) {
        self.flows[flow].unreachable_signals += 1;
        self.wake_unreachable(flow);
        let SocketAt { node, number: Some(number), .. } = self.sockets[flow * 2] else { return };
        let Some(tcp) = self.hosts[node].socket(number).map(|socket| socket.tcp()) else { return };
        let Some(outstanding) = tcp.view().outstanding() else { return };
        let key = FlowKey { source: tcp.local(), destination: tcp.remote() };
        let about = About {
            destination: Some(key.destination.address),
            flow: Some(key),
            seq: Some(outstanding.start),
            ..About::default()
        };
        self.watch.unreachable(At { now: self.now, node, flow });
        self.on_signal(node, &Signal { kind: SignalKind::Unreachable(Scope::Host), about });
    }

    /// Serves every connection of a node, or those with this peer.
    fn serve_peers(&mut self, node: usize, peer: Option<Ipv4Addr>) {
        for number in 0..self.sockets.len() {
            let SocketAt { node: at, number: at_host, .. } = self.sockets[number];
            let concerned =
                |at_host| peer.is_none_or(|peer| self.hosts[node].talks_to(at_host, peer));
            if at == node && at_host.is_some_and(concerned) {
                self.serve(number);
            }
        }
    }

    fn on_datagram(&mut self, datagram: UdpDatagram) {
        if datagram.destination_port == DISCARD {
            return;
        }
        let flow = usize::from(datagram.destination_port.wrapping_sub(sockets::port(0)));
        let Some(flow) = self.flows.get_mut(flow) else { return };
        let twice = self.sabotage.on_delivery() == Crime::Twice;
        for _ in 0..1 + u8::from(twice) {
            if let Err(broken) = flow.on_datagram(self.now, datagram.payload, N::REPEATS) {
                self.failed.get_or_insert(RunError::Stream(broken));
            }
        }
    }

    pub(super) fn on_socket_timer(&mut self, class: Class, number: usize) {
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

    pub(super) fn on_application(&mut self, number: usize) {
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
        let packet = self.hosts[from].packet(address(to), Body::Udp(datagram));
        N::send(self, from, packet, Place::Tail);
    }

    /// Handles whatever a socket has to do: the application reads, TCP sends, timers are set.
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
                    TcpEvent::Connected if sender => closes,
                    TcpEvent::Connected => {
                        let bytes = self.flows[flow].opens_back(self.now);
                        socket.tcp_mut().write(bytes);
                        false
                    }
                    // The receiver has no further data to write, so it closes as well.
                    TcpEvent::PeerClosed => true,
                    TcpEvent::TimedOut if sender => {
                        self.flows[flow].give_up(self.now, Outcome::TimedOut)
                    }
                    TcpEvent::Reset if sender => self.flows[flow].give_up(self.now, Outcome::Reset),
                    TcpEvent::TimedOut => {
                        self.flows[flow].give_up_back(self.now, Outcome::TimedOut)
                    }
                    TcpEvent::Reset => self.flows[flow].give_up_back(self.now, Outcome::Reset),
                    TcpEvent::Closed => false,
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
                self.watch.acked(At { now: self.now, node, flow }, acknowledged);
            }
            if !sender
                && let Some(back) = &mut self.flows[flow].back
                && acknowledged != back.acknowledged
                && let Err(broken) = back.on_acknowledged(acknowledged, back.delivered)
            {
                self.failed.get_or_insert(RunError::Stream(broken));
            }
            self.note(number, node, at_host);
            while let Some((packet, transmit)) = self.hosts[node].poll_transmit(self.now, at_host) {
                if sender {
                    self.on_transmit(flow, node, at_host, &transmit);
                }
                let place = if transmit.ahead_of_queue { Place::Front } else { Place::Tail };
                N::send(self, node, packet, place);
            }
            // A transmission can change the aid's state as well.
            self.note(number, node, at_host);
            if !again {
                break;
            }
        }
        if self.flows[flow].is_over_now() {
            self.incomplete = self.incomplete.map(|n| n.saturating_sub(1));
        }
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        if sender && self.flows[flow].outcome() == Outcome::Running {
            self.flows[flow].rto.look(self.now, socket.tcp().rtt());
        }
        let number = number as u32;
        if let Some(at) = socket.next_aid_timeout() {
            self.events.wake(Class::Aid, number, at);
        }
        if let Some(at) = socket.next_tcp_timeout() {
            self.events.wake(Class::Tcp, number, at);
        }
        if N::SEEKS
            && let Some((peer, seek, first)) = self.hosts[node].poll_seek(at_host)
        {
            N::seek(self, node, peer, seek, first);
        }
    }

    /// Reads all data that are available to the application: at the receiver, and at the sender if the
    /// flow has a reverse direction.
    fn read(&mut self, number: usize, node: usize, at_host: usize) {
        let forward = !number.is_multiple_of(2);
        let flow = &mut self.flows[number / 2];
        let flow = match &mut flow.back {
            _ if forward => flow,
            Some(back) => &mut **back,
            None => return,
        };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        while let Some(part) = socket.tcp_mut().read(u32::MAX) {
            let twice = self.sabotage.on_delivery() == Crime::Twice;
            for _ in 0..1 + u8::from(twice) {
                if let Err(broken) = flow.on_delivered(self.now, part) {
                    self.failed.get_or_insert(RunError::Stream(broken));
                }
            }
            if forward {
                let at = At { now: self.now, node, flow: number / 2 };
                self.watch.delivered(at, flow.delivered);
            }
        }
    }

    fn on_transmit(&mut self, flow: usize, node: usize, at_host: usize, transmit: &Transmit) {
        let payload = transmit.segment.payload;
        if payload.is_empty() {
            return;
        }
        self.flows[flow].on_sent(self.now, payload);
        if !self.watch.flows() {
            return;
        }
        let tcp = self.hosts[node].socket(at_host).map(|socket| socket.tcp());
        let rto = tcp.map(|tcp| tcp.rtt().rto());
        let view = tcp.map(driftway_tcp::Connection::view).unwrap_or_default();
        let bytes = |known: driftway_base::Known<u32>| known.value().unwrap_or_default();
        self.watch.sent(
            At { now: self.now, node, flow },
            SentSegment {
                offset: payload.offset,
                length: payload.len,
                retransmission: transmit.retransmission,
                cwnd: bytes(view.cwnd),
                ssthresh: bytes(view.ssthresh),
                rto,
            },
        );
    }

    /// Traces timeouts, fast retransmits and aid states of a sender.
    fn note(&mut self, number: usize, node: usize, at_host: usize) {
        if !number.is_multiple_of(2) {
            return;
        }
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let state = socket.aid_state();
        if let Some(state) = state {
            let (net, reporter) = (&self.net, self.reporter);
            let disconnections = &mut self.flows[number / 2].disconnections;
            disconnections.look(self.now, state, || net.reported_falsely(reporter));
        }
        if !self.watch.flows() {
            return;
        }
        let at = At { now: self.now, node, flow: number / 2 };
        let stats = *socket.tcp().stats();
        let counted = std::mem::replace(&mut self.sockets[number].counted, stats);
        if stats.timeouts > counted.timeouts {
            self.watch.timeout(at);
        }
        if stats.fast_retransmits > counted.fast_retransmits {
            self.watch.fast_retransmit(at);
        }
        if let Some(state) = state {
            self.watch.aid_state(at, state);
        }
    }
}
