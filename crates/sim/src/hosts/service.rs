//! The service of a socket: the application reads and reacts, what was acknowledged is counted, and TCP sends.

use driftway_base::{Instant, Ipv4Addr, NodeId};
use driftway_link::QueuePosition;
use driftway_tcp::Event as TcpEvent;

use super::{Hosts, OpenSocket};
use crate::fault_injection::FaultEffect;
use crate::flow_context::FlowContext;
use crate::host_timer::HostTimer;
use crate::results::FlowOutcome;
use crate::sockets::{FlowEnd, SocketId};
use crate::world::World;

impl Hosts {
    /// Serves every connection of a node, or those with this peer.
    pub(super) fn serve_sockets_to(
        &mut self,
        world: &mut World<'_>,
        node: NodeId,
        peer: Option<Ipv4Addr>,
    ) {
        for flow in self.flows.keys() {
            for id in [SocketId::sender(flow), SocketId::receiver(flow)] {
                let Some(at) = self.open_socket(id).filter(|at| at.node == node) else { continue };
                if peer.is_none_or(|peer| self.hosts[node].has_peer(at.handle, peer)) {
                    self.serve_socket(world, id);
                }
            }
        }
    }

    /// Handles the timer of a socket's aid.
    pub(super) fn on_aid_timer(&mut self, world: &mut World<'_>, id: SocketId) {
        let Some(socket) = self.socket(id) else { return };
        if is_due(socket.next_aid_timeout(), world.now) {
            socket.on_aid_timeout(world.now);
        }
        self.serve_socket(world, id);
    }

    /// Handles the timer of a socket's TCP.
    pub(super) fn on_tcp_timer(&mut self, world: &mut World<'_>, id: SocketId) {
        let Some(socket) = self.socket(id) else { return };
        if is_due(socket.next_tcp_timeout(), world.now) {
            socket.on_tcp_timeout(world.now);
        }
        self.serve_socket(world, id);
    }

    /// Handles whatever a socket has to do.
    pub(super) fn serve_socket(&mut self, world: &mut World<'_>, id: SocketId) {
        let Some(at) = self.open_socket(id) else { return };
        loop {
            self.read_delivered(world, at);
            self.count_acknowledged(world, at);
            let has_closed = self.handle_tcp_events(world, at);
            self.transmit(world, at);
            // Its TCP may have more to do.
            if !has_closed {
                break;
            }
        }
        self.count_if_finished(id.flow);
        self.schedule_socket(world, at);
    }

    /// Reads all data that are available to the application: at the receiver, and at the sender if the
    /// flow has a reverse direction.
    fn read_delivered(&mut self, world: &mut World<'_>, at: OpenSocket) {
        self.read_stream(world, at);
        if self.flows[at.id.flow].reverse.is_some() {
            self.converse(world, at);
        }
    }

    /// Answers a request, or schedules the next one after a response, once it has been read.
    fn converse(&mut self, world: &mut World<'_>, at: OpenSocket) {
        let OpenSocket { id, node, handle } = at;
        let flow = &mut self.flows[id.flow];
        if id.is_sender() {
            if let Some(next) = flow.take_next_request(world.now) {
                world.schedule(HostTimer::Application(id.flow), next);
            }
            return;
        }
        let response = flow.take_response();
        if response > 0
            && let Some(socket) = self.hosts[node].socket(handle)
        {
            socket.tcp_mut().write(response);
        }
    }

    fn read_stream(&mut self, world: &mut World<'_>, at: OpenSocket) {
        let OpenSocket { id, node, handle } = at;
        let flow = &mut self.flows[id.flow];
        let flow = match (id.end, &mut flow.reverse) {
            (FlowEnd::Receiver, _) => flow,
            (FlowEnd::Sender, Some(back)) => &mut **back,
            (FlowEnd::Sender, None) => return,
        };
        let Some(socket) = self.hosts[node].socket(handle) else { return };
        while let Some(part) = socket.tcp_mut().read(u32::MAX) {
            let twice = world.fault_injection.on_delivery() == FaultEffect::Duplicate;
            for _ in 0..1 + u8::from(twice) {
                world.check_stream(flow.on_delivered(world.now, part));
            }
            if !id.is_sender() {
                let context = FlowContext { now: world.now, node, flow: id.flow };
                world.observers.delivered(context, flow.delivered);
            }
        }
    }

    /// Counts the bytes that were acknowledged to a socket, and checks that they had arrived.
    fn count_acknowledged(&mut self, world: &mut World<'_>, at: OpenSocket) {
        let OpenSocket { id, node, .. } = at;
        let flow = &self.flows[id.flow];
        let counted = match id.end {
            FlowEnd::Sender => Some(flow.acknowledged),
            FlowEnd::Receiver => flow.reverse.as_ref().map(|back| back.acknowledged),
        };
        let Some(counted) = counted else { return };
        let Some(socket) = self.at(at) else { return };
        let acknowledged = socket.tcp().acknowledged_bytes();
        if counted == acknowledged {
            return;
        }
        let received = self.accepted_bytes(id);
        let flow = &mut self.flows[id.flow];
        if id.is_sender() {
            world.check_stream(flow.on_acknowledged(acknowledged, received));
            let context = FlowContext { now: world.now, node, flow: id.flow };
            world.observers.acked(context, acknowledged);
        } else if let Some(back) = &mut flow.reverse {
            world.check_stream(back.on_acknowledged(acknowledged, received));
        }
    }

    /// Returns the bytes of a socket that may be acknowledged to it: those that the other end has
    /// received, or the gateway if it splits the connection.
    fn accepted_bytes(&self, id: SocketId) -> u64 {
        if let Some(gateway) = &self.gateway
            && let Some(accepted) = gateway.accepted_bytes(id)
        {
            return accepted;
        }
        let flow = &self.flows[id.flow];
        match id.end {
            FlowEnd::Sender => flow.delivered,
            FlowEnd::Receiver => flow.reverse.as_ref().map_or(0, |back| back.delivered),
        }
    }

    /// Handles the events of a socket's TCP; true if the application has closed its side.
    fn handle_tcp_events(&mut self, world: &mut World<'_>, at: OpenSocket) -> bool {
        let mut has_closed = false;
        while let Some(event) = self.at(at).and_then(|socket| socket.tcp_mut().poll_event()) {
            has_closed |= self.handle_tcp_event(world, at, event);
        }
        has_closed
    }

    /// Handles an event of a socket's TCP; true if the application closes its side.
    fn handle_tcp_event(&mut self, world: &mut World<'_>, at: OpenSocket, event: TcpEvent) -> bool {
        let OpenSocket { id, node, handle } = at;
        let application_done = self.state(id).application_done;
        let flow = &mut self.flows[id.flow];
        let Some(socket) = self.hosts[node].socket(handle) else { return false };
        let context = FlowContext { now: world.now, node, flow: id.flow };
        let closes = match (event, id.end) {
            (TcpEvent::Connected, FlowEnd::Sender) => application_done,
            (TcpEvent::Connected, FlowEnd::Receiver) => {
                let bytes = flow.open_reverse(world.now);
                socket.tcp_mut().write(bytes);
                false
            }
            // The receiver has no further data to write, so it closes as well.
            (TcpEvent::PeerClosed, _) => true,
            (TcpEvent::TimedOut, end) => {
                flow.on_socket_failed(world.now, end, FlowOutcome::TimedOut);
                false
            }
            (TcpEvent::Reset, end) => {
                flow.on_socket_failed(world.now, end, FlowOutcome::Reset);
                false
            }
            (TcpEvent::RetransmissionTimeout, FlowEnd::Sender) => {
                world.observers.timeout(context);
                false
            }
            (TcpEvent::FastRetransmit, FlowEnd::Sender) => {
                world.observers.fast_retransmit(context);
                false
            }
            (TcpEvent::RetransmissionTimeout | TcpEvent::FastRetransmit, FlowEnd::Receiver)
            | (TcpEvent::Closed, _) => false,
        };
        if closes {
            socket.tcp_mut().close();
        }
        closes
    }

    /// Sends what a socket's TCP has to send.
    fn transmit(&mut self, world: &mut World<'_>, at: OpenSocket) {
        self.record_aid(world, at);
        while let Some((packet, transmit)) = self.hosts[at.node].poll_transmit(world.now, at.handle)
        {
            self.record_sent(world, at, &transmit);
            let place = match transmit.ahead_of_queue {
                true => QueuePosition::Front,
                false => QueuePosition::Tail,
            };
            world.send(at.node, packet, place);
        }
        // A transmission can change the aid's state as well.
        self.record_aid(world, at);
    }

    /// Schedules the timers of a socket, and the route probes that its aid asks for.
    fn schedule_socket(&mut self, world: &mut World<'_>, at: OpenSocket) {
        let OpenSocket { id, node, handle } = at;
        let Some(socket) = self.hosts[node].socket(handle) else { return };
        let flow = &mut self.flows[id.flow];
        if id.is_sender() && flow.outcome() == FlowOutcome::Running {
            flow.rto_stats.update(world.now, socket.tcp().rtt());
            flow.kept_window.update(socket.tcp());
        }
        if socket.had_endless_acts() {
            world.on_endless_acts(id.flow, id.end.name());
        }
        if let Some(at) = socket.next_aid_timeout() {
            world.schedule(HostTimer::Aid(id), at);
        }
        if let Some(at) = socket.next_tcp_timeout() {
            world.schedule(HostTimer::Tcp(id), at);
        }
        if let Some((peer, probe, first)) = self.hosts[node].poll_route_probe(handle) {
            world.net.probe_route(node, peer, probe, first);
            self.send_route_probes(world, node);
        }
    }
}

/// Returns true if a timeout is due.
pub(super) fn is_due(timeout: Option<Instant>, now: Instant) -> bool {
    timeout.is_some_and(|at| at <= now)
}
