//! Host events: packets delivered to sockets, timers, applications, and what is traced of flows.

use driftway_base::{
    FlowKey, Instant, Ipv4Addr, Signal, SignalDetails, SignalKind, UnreachableScope,
};
use driftway_link::QueuePosition;
use driftway_node::ReceiveOutcome;
use driftway_path::DISCARD_PORT;
use driftway_scenario::{Time, Transport};
use driftway_tcp::{Event as TcpEvent, Transmit};
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use super::{NetworkModel, Run, RunError, SocketState};
use crate::addresses::{address, node_at};
use crate::event_queue::EventClass;
use crate::fault_injection::FaultEffect;
use crate::observers::FlowContext;
use crate::results::FlowOutcome;
use crate::sockets::{self, FlowEnd};
use crate::trace::SentSegment;

impl<N: NetworkModel> Run<'_, N> {
    /// Delivers a packet to the host at its destination.
    pub(super) fn deliver_to_host(&mut self, node: usize, packet: &Packet) {
        if let Body::Icmp(_) = packet.body {
            self.last_reporter = node_at(packet.ip.source, self.hosts.len()).unwrap_or(node);
        }
        match self.hosts[node].on_packet(self.now, packet) {
            ReceiveOutcome::Socket(number) => {
                let here = |at: &SocketState| at.node == node && at.host_index == Some(number);
                let flow = match &packet.body {
                    Body::Tcp(segment) => segment.destination_port,
                    Body::Icmp(message) => message.quoted().map_or(0, |quoted| quoted.ports().0),
                    Body::Udp(_) | Body::Aodv(_) | Body::NoNextHeader => 0,
                };
                let first = usize::from(flow.wrapping_sub(sockets::flow_port(0))) * 2;
                let ends = first..self.sockets.len().min(first + 2);
                if let Some(socket) = ends.into_iter().find(|&s| here(&self.sockets[s])) {
                    self.serve_socket(socket);
                }
            }
            ReceiveOutcome::SocketsToPeer(peer) => self.serve_sockets_to(node, Some(peer)),
            ReceiveOutcome::Datagram(datagram) => self.on_datagram(datagram),
            ReceiveOutcome::Reply(answer) => N::send(self, node, answer, QueuePosition::Tail),
            ReceiveOutcome::Nothing => {}
        }
    }

    /// Passes a signal to a host's connections: to those with the signal's destination if it has one,
    /// else to all.
    pub(super) fn on_signal(&mut self, node: usize, signal: &Signal) {
        self.last_reporter = node;
        self.hosts[node].on_signal(self.now, signal);
        self.serve_sockets_to(node, signal.details.destination);
    }

    /// Schedules the next signal of an unreachable destination for a flow's sender (`unreachable_at`).
    pub(super) fn schedule_next_unreachable(&mut self, flow: usize) {
        let next = self.flows[flow].unreachable_signals;
        if let Some(&Time(at)) = self.scenario.flows[flow].unreachable_at.get(next) {
            self.schedule_unreachable(flow, Instant::ZERO + at);
        }
    }

    fn schedule_unreachable(&mut self, flow: usize, at: Instant) {
        self.events.schedule(EventClass::Network, (self.network_entities + flow) as u32, at);
    }

    /// Handles a packet that a node's own link layer failed to send. Flows that ask for it
    /// (`unreachable_until`) get a signal at this instant.
    pub(super) fn on_local_link_failure(&mut self, node: usize, destination: Ipv4Addr) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            let Some(Time(until)) = flow.unreachable_until else { continue };
            let (from, to) = (flow.from as usize, address(flow.to as usize));
            if from == node && to == destination && self.now < Instant::ZERO + until {
                self.schedule_unreachable(number, self.now);
            }
        }
    }

    /// Signals to a flow's sender that its destination is unreachable, as if a router had reported its
    /// first outstanding segment.
    pub(super) fn on_unreachable(&mut self, flow: usize) {
        self.flows[flow].unreachable_signals += 1;
        self.schedule_next_unreachable(flow);
        let SocketState { node, host_index: Some(number), .. } = self.sockets[flow * 2] else {
            return;
        };
        let Some(tcp) = self.hosts[node].socket(number).map(|socket| socket.tcp()) else { return };
        let Some(outstanding) = tcp.view().outstanding() else { return };
        let key = FlowKey { source: tcp.local(), destination: tcp.remote() };
        let about = SignalDetails {
            destination: Some(key.destination.address),
            flow: Some(key),
            seq: Some(outstanding.start),
            ..SignalDetails::default()
        };
        self.observers.unreachable(FlowContext { now: self.now, node, flow });
        self.on_signal(
            node,
            &Signal { kind: SignalKind::Unreachable(UnreachableScope::Host), details: about },
        );
    }

    /// Serves every connection of a node, or those with this peer.
    fn serve_sockets_to(&mut self, node: usize, peer: Option<Ipv4Addr>) {
        for number in 0..self.sockets.len() {
            let SocketState { node: at, host_index: at_host, .. } = self.sockets[number];
            let concerned =
                |at_host| peer.is_none_or(|peer| self.hosts[node].has_peer(at_host, peer));
            if at == node && at_host.is_some_and(concerned) {
                self.serve_socket(number);
            }
        }
    }

    fn on_datagram(&mut self, datagram: UdpDatagram) {
        if datagram.destination_port == DISCARD_PORT {
            return;
        }
        let flow = usize::from(datagram.destination_port.wrapping_sub(sockets::flow_port(0)));
        let Some(flow) = self.flows.get_mut(flow) else { return };
        let twice = self.fault_injection.on_delivery() == FaultEffect::Duplicate;
        for _ in 0..1 + u8::from(twice) {
            if let Err(error) = flow.on_datagram(self.now, datagram.payload, N::MAY_DUPLICATE) {
                self.error.get_or_insert(RunError::Stream(error));
            }
        }
    }

    pub(super) fn on_socket_timer(&mut self, class: EventClass, number: usize) {
        let SocketState { node, host_index: Some(at_host), .. } = self.sockets[number] else {
            return;
        };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= self.now);
        if class == EventClass::Aid && due(socket.next_aid_timeout()) {
            socket.on_aid_timeout(self.now);
        } else if class == EventClass::Tcp && due(socket.next_tcp_timeout()) {
            socket.on_tcp_timeout(self.now);
        }
        self.serve_socket(number);
    }

    pub(super) fn on_application(&mut self, number: usize) {
        let scenario = &self.scenario.flows[number];
        let (bytes, closes) = self.flows[number].on_application_timer(self.now);
        if let Some(at) = self.flows[number].next_write {
            self.events.schedule(EventClass::Application, number as u32, at);
        }
        match &scenario.tcp {
            Some(tcp) if scenario.transport == Transport::Tcp => {
                let at = &mut self.sockets[number * 2];
                let host = &mut self.hosts[at.node];
                let at_host = *at.host_index.get_or_insert_with(|| {
                    let end = FlowEnd::Sender;
                    host.add_socket(sockets::socket(
                        scenario, tcp, number, end, self.seed, self.now,
                    ))
                });
                at.application_done = closes;
                if let Some(socket) = host.socket(at_host) {
                    socket.tcp_mut().write(bytes);
                }
                self.serve_socket(number * 2);
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
        let port = sockets::flow_port(number);
        let datagram = UdpDatagram { source_port: port, destination_port: port, payload };
        let packet = self.hosts[from].new_packet(address(to), Body::Udp(datagram));
        N::send(self, from, packet, QueuePosition::Tail);
    }

    /// Handles whatever a socket has to do: the application reads, TCP sends, timers are set.
    fn serve_socket(&mut self, number: usize) {
        let SocketState { node, host_index: Some(at_host), application_done: closes, .. } =
            self.sockets[number]
        else {
            return;
        };
        let sender = number.is_multiple_of(2);
        let flow = number / 2;
        loop {
            self.read_delivered(number, node, at_host);
            let Some(socket) = self.hosts[node].socket(at_host) else { return };
            let mut again = false;
            while let Some(event) = socket.tcp_mut().poll_event() {
                let done = match event {
                    TcpEvent::Connected if sender => closes,
                    TcpEvent::Connected => {
                        let bytes = self.flows[flow].open_reverse(self.now);
                        socket.tcp_mut().write(bytes);
                        false
                    }
                    // The receiver has no further data to write, so it closes as well.
                    TcpEvent::PeerClosed => true,
                    TcpEvent::TimedOut if sender => {
                        self.flows[flow].on_connection_failed(self.now, FlowOutcome::TimedOut)
                    }
                    TcpEvent::Reset if sender => {
                        self.flows[flow].on_connection_failed(self.now, FlowOutcome::Reset)
                    }
                    TcpEvent::TimedOut => {
                        self.flows[flow].on_reverse_failed(self.now, FlowOutcome::TimedOut)
                    }
                    TcpEvent::Reset => {
                        self.flows[flow].on_reverse_failed(self.now, FlowOutcome::Reset)
                    }
                    TcpEvent::Closed => false,
                };
                if done {
                    socket.tcp_mut().close();
                    again = true;
                }
            }
            let acknowledged = socket.tcp().acknowledged_bytes();
            if sender && acknowledged != self.flows[flow].acknowledged {
                let received = self.flows[flow].delivered;
                if let Err(error) = self.flows[flow].on_acknowledged(acknowledged, received) {
                    self.error.get_or_insert(RunError::Stream(error));
                }
                self.observers.acked(FlowContext { now: self.now, node, flow }, acknowledged);
            }
            if !sender
                && let Some(back) = &mut self.flows[flow].reverse
                && acknowledged != back.acknowledged
                && let Err(error) = back.on_acknowledged(acknowledged, back.delivered)
            {
                self.error.get_or_insert(RunError::Stream(error));
            }
            self.trace_sender(number, node, at_host);
            while let Some((packet, transmit)) = self.hosts[node].poll_transmit(self.now, at_host) {
                if sender {
                    self.on_transmit(flow, node, at_host, &transmit);
                }
                let place = if transmit.ahead_of_queue {
                    QueuePosition::Front
                } else {
                    QueuePosition::Tail
                };
                N::send(self, node, packet, place);
            }
            // A transmission can change the aid's state as well.
            self.trace_sender(number, node, at_host);
            if !again {
                break;
            }
        }
        if self.flows[flow].take_newly_finished() {
            self.incomplete_transfers = self.incomplete_transfers.map(|n| n.saturating_sub(1));
        }
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        if sender && self.flows[flow].outcome() == FlowOutcome::Running {
            self.flows[flow].rto_stats.update(self.now, socket.tcp().rtt());
        }
        let number = number as u32;
        if let Some(at) = socket.next_aid_timeout() {
            self.events.schedule(EventClass::Aid, number, at);
        }
        if let Some(at) = socket.next_tcp_timeout() {
            self.events.schedule(EventClass::Tcp, number, at);
        }
        if N::PROBES_ROUTES
            && let Some((peer, probe, first)) = self.hosts[node].poll_route_probe(at_host)
        {
            N::probe_route(self, node, peer, probe, first);
        }
    }

    /// Reads all data that are available to the application: at the receiver, and at the sender if the
    /// flow has a reverse direction.
    fn read_delivered(&mut self, number: usize, node: usize, at_host: usize) {
        let forward = !number.is_multiple_of(2);
        let flow = &mut self.flows[number / 2];
        let flow = match &mut flow.reverse {
            _ if forward => flow,
            Some(back) => &mut **back,
            None => return,
        };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        while let Some(part) = socket.tcp_mut().read(u32::MAX) {
            let twice = self.fault_injection.on_delivery() == FaultEffect::Duplicate;
            for _ in 0..1 + u8::from(twice) {
                if let Err(error) = flow.on_delivered(self.now, part) {
                    self.error.get_or_insert(RunError::Stream(error));
                }
            }
            if forward {
                let at = FlowContext { now: self.now, node, flow: number / 2 };
                self.observers.delivered(at, flow.delivered);
            }
        }
    }

    fn on_transmit(&mut self, flow: usize, node: usize, at_host: usize, transmit: &Transmit) {
        let payload = transmit.segment.payload;
        if payload.is_empty() {
            return;
        }
        self.flows[flow].on_sent(self.now, payload);
        if !self.observers.wants_flows() {
            return;
        }
        let tcp = self.hosts[node].socket(at_host).map(|socket| socket.tcp());
        let rto = tcp.map(|tcp| tcp.rtt().rto());
        let view = tcp.map(driftway_tcp::Connection::view).unwrap_or_default();
        let bytes = |known: driftway_base::Known<u32>| known.value().unwrap_or_default();
        self.observers.sent(
            FlowContext { now: self.now, node, flow },
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
    fn trace_sender(&mut self, number: usize, node: usize, at_host: usize) {
        if !number.is_multiple_of(2) {
            return;
        }
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let state = socket.aid_state();
        if let Some(state) = state {
            let (net, reporter) = (&self.net, self.last_reporter);
            let disconnections = &mut self.flows[number / 2].disconnected_time;
            disconnections.update(self.now, state, || net.last_report_was_false(reporter));
        }
        if !self.observers.wants_flows() {
            return;
        }
        let at = FlowContext { now: self.now, node, flow: number / 2 };
        let stats = *socket.tcp().stats();
        let counted = std::mem::replace(&mut self.sockets[number].traced_stats, stats);
        if stats.timeouts > counted.timeouts {
            self.observers.timeout(at);
        }
        if stats.fast_retransmits > counted.fast_retransmits {
            self.observers.fast_retransmit(at);
        }
        if let Some(state) = state {
            self.observers.aid_state(at, state);
        }
    }
}
