//! Hosts: packets delivered to sockets, timers, applications, and what is traced of flows.

use driftway_base::{
    FlowKey, Instant, Ipv4Addr, Signal, SignalDetails, SignalKind, UnreachableScope,
};
use driftway_endpoint::{Host, ReceiveOutcome};
use driftway_link::QueuePosition;
use driftway_net::addresses::{address, node_at};
use driftway_net::{DISCARD_PORT, Network, Output};
use driftway_scenario::{Scenario, Time, Transport};
use driftway_tcp::{Event as TcpEvent, Stats, Transmit};
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use crate::fault_injection::FaultEffect;
use crate::flows::ActiveFlow;
use crate::observers::FlowContext;
use crate::results::FlowOutcome;
use crate::sockets::{self, FlowEnd};
use crate::splitting_gateway::SplittingGateway;
use crate::trace::SentSegment;
use crate::world::{HostClass, World};

/// The location and state of a socket. Sockets are numbered by flow and end: 2 × flow for the sender,
/// and 2 × flow + 1 for the receiver.
#[derive(Clone, Copy, Debug)]
pub struct SocketState {
    /// The node.
    pub node: usize,
    /// The socket's index at its host; `None` before the flow starts.
    pub host_index: Option<usize>,
    /// The application has no more data to send.
    application_done: bool,
    /// The counters as last reported to the observers.
    traced_stats: Stats,
}

/// The hosts of a run, with the flows between them.
pub struct Hosts<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The seed of the run.
    pub seed: u64,
    /// The host at each node.
    pub hosts: Vec<Host>,
    /// The sockets of all flows.
    pub sockets: Vec<SocketState>,
    /// The flows.
    pub flows: Vec<ActiveFlow>,
    /// The gateway that splits connections, if there is one.
    pub gateway: Option<SplittingGateway>,
    /// The number of transfers that are not complete; `None` if some flow never completes.
    incomplete_transfers: Option<usize>,
    /// The node whose report or signal came last.
    last_reporter: usize,
}

impl<'a> Hosts<'a> {
    /// Creates the hosts at the nodes of a network.
    pub fn new(scenario: &'a Scenario, seed: u64, net: &Network) -> Self {
        let host = |node| {
            let host = Host::new(address(node));
            if net.probes_routes(node) { host.with_route_probing() } else { host }
        };
        let flows = scenario.flows.iter().enumerate();
        let flows: Vec<ActiveFlow> =
            flows.map(|(n, flow)| ActiveFlow::new(flow, n as u32 * 2, seed)).collect();
        let ends = scenario.flows.iter().flat_map(|flow| [flow.from, flow.to]);
        let socket = |node: u32| SocketState {
            node: node as usize,
            host_index: None,
            application_done: false,
            traced_stats: Stats::default(),
        };
        let finite = flows.iter().all(ActiveFlow::is_finite);
        Self {
            scenario,
            seed,
            hosts: (0..net.nodes()).map(host).collect(),
            sockets: ends.map(socket).collect(),
            gateway: SplittingGateway::new(scenario, net),
            incomplete_transfers: finite.then_some(flows.len()),
            flows,
            last_reporter: 0,
        }
    }

    /// Opens the receivers and schedules the first actions of applications.
    pub fn start(&mut self, world: &mut World<'_>) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            if let Some(tcp) = &flow.tcp
                && flow.transport == Transport::Tcp
            {
                let end = FlowEnd::Receiver;
                let socket = sockets::socket(flow, tcp, number, end, self.seed, world.now);
                let at = &mut self.sockets[number * 2 + 1];
                at.host_index = Some(self.hosts[at.node].add_socket(socket));
            }
            if let Some(at) = self.flows[number].next_write {
                world.schedule(HostClass::Application, number, at);
            }
            self.schedule_next_unreachable(world, number);
        }
    }

    /// Returns the number of sockets that have timers: those of flows, and the legs of split connections.
    pub fn socket_timers(&self) -> usize {
        self.sockets.len() * if self.gateway.is_some() { 2 } else { 1 }
    }

    /// Returns true if all transfers are complete.
    pub fn are_done(&self) -> bool {
        self.incomplete_transfers == Some(0)
    }

    /// Carries out what the network asks of a host.
    pub fn on_output(&mut self, world: &mut World<'_>, output: &Output) {
        match output {
            Output::Deliver { node, packet } => self.deliver(world, *node, packet),
            Output::Intercepted { from_air, packet, .. } => {
                self.on_intercepted(world, *from_air, packet);
            }
            Output::Signal { node, signal } => self.on_signal(world, *node, signal),
            Output::NextHopPower { node, to, power } => {
                self.hosts[*node].set_next_hop_power(*to, *power);
                if let Some(gateway) = self.gateway_at(*node) {
                    gateway.set_next_hop_power(*to, *power);
                }
            }
            Output::SendFailed { node, to } => self.on_send_failed(world, *node, *to),
            Output::RouteProbesDue { node } => self.send_route_probes(world, *node),
        }
    }

    /// Handles the wake-up of a host's entity.
    pub fn on_wakeup(&mut self, world: &mut World<'_>, class: HostClass, number: usize) {
        match class {
            HostClass::Unreachable => self.on_unreachable(world, number),
            HostClass::Aid | HostClass::Tcp => self.on_socket_timer(world, class, number),
            HostClass::Application => self.on_application(world, number),
        }
    }

    /// Records the end of a partition for flows that wait for one.
    pub fn on_partition_end(&mut self, now: Instant) {
        let running = |flow: &&mut ActiveFlow| flow.outcome() == FlowOutcome::Running;
        let flows = self.flows.iter_mut().filter(running);
        flows.for_each(|flow| flow.resume_delays.on_partition_end(now));
    }

    /// Handles the end of the last of the outages that are under way.
    pub fn on_network_restored(&mut self, now: Instant) {
        self.flows.iter_mut().for_each(|flow| flow.on_network_restored(now));
    }

    /// Sends the route probes that are due at a node, or ends those that nobody waits for.
    pub fn send_route_probes(&mut self, world: &mut World<'_>, node: usize) {
        while let Some(to) = world.net.next_due_probe(node) {
            if self.hosts[node].wants_route_probe(to)
                || self.gateway_at(node).is_some_and(|gateway| gateway.wants_route_probe(to))
            {
                world.net.send_route_probe(node, to);
            } else {
                world.net.cancel_route_probe(node, to);
            }
        }
        world.record_events();
    }

    /// Delivers a packet to the host at its destination.
    fn deliver(&mut self, world: &mut World<'_>, node: usize, packet: &Packet) {
        if let Body::Icmp(_) = packet.body {
            self.last_reporter = node_at(packet.ip.source, self.hosts.len()).unwrap_or(node);
        }
        match self.hosts[node].on_packet(world.now, packet) {
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
                    self.serve_socket(world, socket);
                }
            }
            ReceiveOutcome::SocketsToPeer(peer) => self.serve_sockets_to(world, node, Some(peer)),
            ReceiveOutcome::Datagram(datagram) => self.on_datagram(world, datagram),
            ReceiveOutcome::Reply(answer) => world.send(node, answer, QueuePosition::Tail),
            ReceiveOutcome::Nothing => {}
        }
    }

    /// Passes a signal to a host's connections: to those with the signal's destination if it has one,
    /// else to all.
    fn on_signal(&mut self, world: &mut World<'_>, node: usize, signal: &Signal) {
        let reporter = signal.details.reporter;
        self.last_reporter =
            reporter.and_then(|from| node_at(from, self.hosts.len())).unwrap_or(node);
        self.hosts[node].on_signal(world.now, signal);
        self.serve_sockets_to(world, node, signal.details.destination);
        if self.gateway_at(node).is_some() {
            self.signal_gateway(world, signal);
        }
    }

    /// Schedules the next signal of an unreachable destination for a flow's sender (`unreachable_at`).
    fn schedule_next_unreachable(&mut self, world: &mut World<'_>, flow: usize) {
        let next = self.flows[flow].unreachable_signals;
        if let Some(&Time(at)) = self.scenario.flows[flow].unreachable_at.get(next) {
            world.schedule(HostClass::Unreachable, flow, Instant::ZERO + at);
        }
    }

    /// Handles a packet that a node's own link layer failed to send. Flows that ask for it
    /// (`unreachable_until`) get a signal at this instant.
    fn on_send_failed(&mut self, world: &mut World<'_>, node: usize, destination: Ipv4Addr) {
        for (number, flow) in self.scenario.flows.iter().enumerate() {
            let Some(Time(until)) = flow.unreachable_until else { continue };
            let (from, to) = (flow.from as usize, address(flow.to as usize));
            if from == node && to == destination && world.now < Instant::ZERO + until {
                world.schedule(HostClass::Unreachable, number, world.now);
            }
        }
    }

    /// Signals to a flow's sender that its destination is unreachable, as if a router had reported its
    /// first outstanding segment.
    pub fn on_unreachable(&mut self, world: &mut World<'_>, flow: usize) {
        self.flows[flow].unreachable_signals += 1;
        self.schedule_next_unreachable(world, flow);
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
        world.observers.unreachable(FlowContext { now: world.now, node, flow });
        self.on_signal(
            world,
            node,
            &Signal { kind: SignalKind::Unreachable(UnreachableScope::Host), details: about },
        );
    }

    /// Serves every connection of a node, or those with this peer.
    fn serve_sockets_to(&mut self, world: &mut World<'_>, node: usize, peer: Option<Ipv4Addr>) {
        for number in 0..self.sockets.len() {
            let SocketState { node: at, host_index: at_host, .. } = self.sockets[number];
            let concerned =
                |at_host| peer.is_none_or(|peer| self.hosts[node].has_peer(at_host, peer));
            if at == node && at_host.is_some_and(concerned) {
                self.serve_socket(world, number);
            }
        }
    }

    fn on_datagram(&mut self, world: &mut World<'_>, datagram: UdpDatagram) {
        if datagram.destination_port == DISCARD_PORT {
            return;
        }
        let number = usize::from(datagram.destination_port.wrapping_sub(sockets::flow_port(0)));
        let Some(flow) = self.flows.get_mut(number) else { return };
        let node = self.scenario.flows[number].to as usize;
        let at = FlowContext { now: world.now, node, flow: number };
        world.observers.datagram_delivered(at, datagram.payload);
        let twice = world.fault_injection.on_delivery() == FaultEffect::Duplicate;
        for _ in 0..1 + u8::from(twice) {
            let may_duplicate = world.net.may_duplicate();
            world.check_stream(flow.on_datagram(world.now, datagram.payload, may_duplicate));
        }
    }

    pub fn on_socket_timer(&mut self, world: &mut World<'_>, class: HostClass, number: usize) {
        if let Some(leg) = number.checked_sub(self.sockets.len()) {
            return self.on_leg_timer(world, class, leg);
        }
        let SocketState { node, host_index: Some(at_host), .. } = self.sockets[number] else {
            return;
        };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= world.now);
        if class == HostClass::Aid && due(socket.next_aid_timeout()) {
            socket.on_aid_timeout(world.now);
        } else if class == HostClass::Tcp && due(socket.next_tcp_timeout()) {
            socket.on_tcp_timeout(world.now);
        }
        self.serve_socket(world, number);
    }

    pub fn on_application(&mut self, world: &mut World<'_>, number: usize) {
        let scenario = &self.scenario.flows[number];
        let (bytes, closes) = self.flows[number].on_application_timer(world.now);
        if let Some(at) = self.flows[number].next_write {
            world.schedule(HostClass::Application, number, at);
        }
        match &scenario.tcp {
            Some(tcp) if scenario.transport == Transport::Tcp => {
                let at = &mut self.sockets[number * 2];
                let host = &mut self.hosts[at.node];
                let at_host = *at.host_index.get_or_insert_with(|| {
                    let end = FlowEnd::Sender;
                    host.add_socket(sockets::socket(
                        scenario, tcp, number, end, self.seed, world.now,
                    ))
                });
                at.application_done = closes;
                if let Some(socket) = host.socket(at_host) {
                    socket.tcp_mut().write(bytes);
                }
                self.serve_socket(world, number * 2);
            }
            _ => self.send_datagram(world, number, bytes),
        }
    }

    fn send_datagram(&mut self, world: &mut World<'_>, number: usize, bytes: u64) {
        let scenario = &self.scenario.flows[number];
        let (from, to) = (scenario.from as usize, scenario.to as usize);
        let flow = &mut self.flows[number];
        let payload = Payload::new(flow.stream, flow.written - bytes, bytes as u32);
        flow.on_sent(world.now, payload);
        flow.datagrams_sent += 1;
        let port = sockets::flow_port(number);
        let datagram = UdpDatagram { source_port: port, destination_port: port, payload };
        let packet = self.hosts[from].new_packet(address(to), Body::Udp(datagram));
        let at = FlowContext { now: world.now, node: from, flow: number };
        world.observers.datagram_sent(at, payload);
        world.send(from, packet, QueuePosition::Tail);
    }

    /// Handles whatever a socket has to do: the application reads and reacts to events of TCP, what was
    /// acknowledged is counted, and TCP sends.
    fn serve_socket(&mut self, world: &mut World<'_>, number: usize) {
        let SocketState { node, host_index: Some(at_host), .. } = self.sockets[number] else {
            return;
        };
        loop {
            self.read_delivered(world, number, node, at_host);
            let again = self.handle_tcp_events(world, number, node, at_host);
            self.count_acknowledged(world, number, node, at_host);
            self.transmit(world, number, node, at_host);
            if !again {
                break;
            }
        }
        self.count_if_finished(number / 2);
        self.schedule_socket(world, number, node, at_host);
    }

    /// Handles the events of a socket's TCP; true if the application has closed its side, which may have
    /// more to do.
    fn handle_tcp_events(
        &mut self,
        world: &World<'_>,
        number: usize,
        node: usize,
        at_host: usize,
    ) -> bool {
        let is_sender = number.is_multiple_of(2);
        let application_done = self.sockets[number].application_done;
        let flow = &mut self.flows[number / 2];
        let Some(socket) = self.hosts[node].socket(at_host) else { return false };
        let mut closed = false;
        while let Some(event) = socket.tcp_mut().poll_event() {
            let closes = match event {
                TcpEvent::Connected if is_sender => application_done,
                TcpEvent::Connected => {
                    let bytes = flow.open_reverse(world.now);
                    socket.tcp_mut().write(bytes);
                    false
                }
                // The receiver has no further data to write, so it closes as well.
                TcpEvent::PeerClosed => true,
                TcpEvent::TimedOut if is_sender => {
                    flow.on_connection_failed(world.now, FlowOutcome::TimedOut)
                }
                TcpEvent::Reset if is_sender => {
                    flow.on_connection_failed(world.now, FlowOutcome::Reset)
                }
                TcpEvent::TimedOut => flow.on_reverse_failed(world.now, FlowOutcome::TimedOut),
                TcpEvent::Reset => flow.on_reverse_failed(world.now, FlowOutcome::Reset),
                TcpEvent::Closed => false,
            };
            if closes {
                socket.tcp_mut().close();
                closed = true;
            }
        }
        closed
    }

    /// Counts the bytes that were acknowledged to a socket, and checks that they had arrived.
    fn count_acknowledged(
        &mut self,
        world: &mut World<'_>,
        number: usize,
        node: usize,
        at_host: usize,
    ) {
        let flow = number / 2;
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let acknowledged = socket.tcp().acknowledged_bytes();
        if number.is_multiple_of(2) {
            if acknowledged != self.flows[flow].acknowledged {
                let received = self.accepted_bytes(flow, FlowEnd::Sender);
                world.check_stream(self.flows[flow].on_acknowledged(acknowledged, received));
                world.observers.acked(FlowContext { now: world.now, node, flow }, acknowledged);
            }
        } else if self.flows[flow].reverse.as_ref().is_some_and(|b| b.acknowledged != acknowledged)
        {
            let received = self.accepted_bytes(flow, FlowEnd::Receiver);
            if let Some(back) = &mut self.flows[flow].reverse {
                world.check_stream(back.on_acknowledged(acknowledged, received));
            }
        }
    }

    /// Sends what a socket's TCP has to send.
    fn transmit(&mut self, world: &mut World<'_>, number: usize, node: usize, at_host: usize) {
        self.trace_sender(world, number, node, at_host);
        while let Some((packet, transmit)) = self.hosts[node].poll_transmit(world.now, at_host) {
            if number.is_multiple_of(2) {
                self.on_transmit(world, number / 2, node, at_host, &transmit);
            }
            let place = match transmit.ahead_of_queue {
                true => QueuePosition::Front,
                false => QueuePosition::Tail,
            };
            world.send(node, packet, place);
        }
        // A transmission can change the aid's state as well.
        self.trace_sender(world, number, node, at_host);
    }

    /// Schedules the timers of a socket, and the route probes that its aid asks for.
    fn schedule_socket(
        &mut self,
        world: &mut World<'_>,
        number: usize,
        node: usize,
        at_host: usize,
    ) {
        let flow = number / 2;
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        if number.is_multiple_of(2) && self.flows[flow].outcome() == FlowOutcome::Running {
            self.flows[flow].rto_stats.update(world.now, socket.tcp().rtt());
        }
        if let Some(at) = socket.next_aid_timeout() {
            world.schedule(HostClass::Aid, number, at);
        }
        if let Some(at) = socket.next_tcp_timeout() {
            world.schedule(HostClass::Tcp, number, at);
        }
        if let Some((peer, probe, first)) = self.hosts[node].poll_route_probe(at_host) {
            world.net.probe_route(node, peer, probe, first);
            self.send_route_probes(world, node);
        }
    }

    /// Counts a flow that has ended.
    pub fn count_if_finished(&mut self, flow: usize) {
        if self.flows[flow].take_newly_finished() {
            self.incomplete_transfers = self.incomplete_transfers.map(|n| n.saturating_sub(1));
        }
    }

    /// The bytes of an end that may be acknowledged to it: those that the other end has received, or
    /// the gateway if it splits the connection.
    fn accepted_bytes(&self, flow: usize, end: FlowEnd) -> u64 {
        if let Some(gateway) = &self.gateway
            && let Some(accepted) = gateway.accepted_bytes(flow, end)
        {
            return accepted;
        }
        match (end, &self.flows[flow].reverse) {
            (FlowEnd::Sender, _) => self.flows[flow].delivered,
            (FlowEnd::Receiver, back) => back.as_ref().map_or(0, |back| back.delivered),
        }
    }

    /// Reads all data that are available to the application: at the receiver, and at the sender if the
    /// flow has a reverse direction.
    fn read_delivered(
        &mut self,
        world: &mut World<'_>,
        number: usize,
        node: usize,
        at_host: usize,
    ) {
        let forward = !number.is_multiple_of(2);
        let flow = &mut self.flows[number / 2];
        let flow = match &mut flow.reverse {
            _ if forward => flow,
            Some(back) => &mut **back,
            None => return,
        };
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        while let Some(part) = socket.tcp_mut().read(u32::MAX) {
            let twice = world.fault_injection.on_delivery() == FaultEffect::Duplicate;
            for _ in 0..1 + u8::from(twice) {
                world.check_stream(flow.on_delivered(world.now, part));
            }
            if forward {
                let at = FlowContext { now: world.now, node, flow: number / 2 };
                world.observers.delivered(at, flow.delivered);
            }
        }
    }

    fn on_transmit(
        &mut self,
        world: &mut World<'_>,
        flow: usize,
        node: usize,
        at_host: usize,
        transmit: &Transmit,
    ) {
        let payload = transmit.segment.payload;
        if payload.is_empty() {
            return;
        }
        self.flows[flow].on_sent(world.now, payload);
        if !world.observers.wants_flows() {
            return;
        }
        let tcp = self.hosts[node].socket(at_host).map(|socket| socket.tcp());
        let rto = tcp.map(|tcp| tcp.rtt().rto());
        let view = tcp.map(driftway_tcp::Connection::view).unwrap_or_default();
        let bytes = |known: driftway_base::Known<u32>| known.value().unwrap_or_default();
        world.observers.sent(
            FlowContext { now: world.now, node, flow },
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
    fn trace_sender(&mut self, world: &mut World<'_>, number: usize, node: usize, at_host: usize) {
        if !number.is_multiple_of(2) {
            return;
        }
        let Some(socket) = self.hosts[node].socket(at_host) else { return };
        let state = socket.aid_state();
        let (net, reporter) = (&world.net, self.last_reporter);
        let is_false = || net.last_report_was_false(reporter);
        let flow = &mut self.flows[number / 2];
        flow.disconnected_time.update(world.now, socket.is_disconnected(), is_false);
        if !world.observers.wants_flows() {
            return;
        }
        let at = FlowContext { now: world.now, node, flow: number / 2 };
        let stats = *socket.tcp().stats();
        let counted = std::mem::replace(&mut self.sockets[number].traced_stats, stats);
        if stats.timeouts > counted.timeouts {
            world.observers.timeout(at);
        }
        if stats.fast_retransmits > counted.fast_retransmits {
            world.observers.fast_retransmit(at);
        }
        if let Some(state) = state {
            world.observers.aid_state(at, state);
        }
    }
}
