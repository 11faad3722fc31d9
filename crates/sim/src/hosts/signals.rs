//! Signals: from the network, and those of an unreachable destination that a scenario asks for.

use driftway_base::{
    FlowId, FlowKey, Instant, Ipv4Addr, NodeId, Signal, SignalDetails, SignalKind, UnreachableScope,
};
use driftway_net::addresses::{address, node_at};
use driftway_scenario::Time;

use super::Hosts;
use crate::flow_context::FlowContext;
use crate::host_timer::HostTimer;
use crate::sockets::SocketId;
use crate::world::World;

impl Hosts {
    /// Passes a signal to a host's connections: to those with the signal's destination if it has one,
    /// else to all.
    pub(super) fn on_signal(&mut self, world: &mut World<'_>, node: NodeId, signal: &Signal) {
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
    pub(super) fn schedule_next_unreachable(&mut self, world: &mut World<'_>, id: FlowId) {
        let next = self.flows[id].unreachable_signals;
        if let Some(&Time(at)) = self.scenario.flows[id.index()].unreachable_at.get(next) {
            world.schedule(HostTimer::Unreachable(id), Instant::ZERO + at);
        }
    }

    /// Handles a packet that a node's own link layer failed to send. Flows that ask for it
    /// (`unreachable_until`) get a signal at this instant.
    pub(super) fn on_send_failed(
        &mut self,
        world: &mut World<'_>,
        node: NodeId,
        destination: Ipv4Addr,
    ) {
        for id in self.flows.keys() {
            let flow = &self.scenario.flows[id.index()];
            let Some(Time(until)) = flow.unreachable_until else { continue };
            let (from, to) = (NodeId::new(flow.from), address(NodeId::new(flow.to)));
            if from == node && to == destination && world.now < Instant::ZERO + until {
                world.schedule(HostTimer::Unreachable(id), world.now);
            }
        }
    }

    /// Signals to a flow's sender that its destination is unreachable, as if a router had reported its
    /// first outstanding segment.
    pub(super) fn on_unreachable(&mut self, world: &mut World<'_>, flow: FlowId) {
        self.flows[flow].unreachable_signals += 1;
        self.schedule_next_unreachable(world, flow);
        let Some(at) = self.open_socket(SocketId::sender(flow)) else { return };
        let Some(tcp) = self.at(at).map(|socket| socket.tcp()) else { return };
        let Some(outstanding) = tcp.view().outstanding() else { return };
        let key = FlowKey { source: tcp.local(), destination: tcp.remote() };
        let details = SignalDetails {
            destination: Some(key.destination.address),
            flow: Some(key),
            seq: Some(outstanding.start),
            ..SignalDetails::default()
        };
        world.observers.unreachable(FlowContext { now: world.now, node: at.node, flow });
        let kind = SignalKind::Unreachable(UnreachableScope::Host);
        self.on_signal(world, at.node, &Signal { kind, details });
    }
}
