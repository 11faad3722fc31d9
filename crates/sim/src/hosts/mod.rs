//! Hosts: packets delivered to sockets, timers, and the flows between applications.

mod applications;
mod gateway;
mod hops;
mod service;
mod shortest_hops;
mod signals;
mod splitting_gateway;
mod tracing;

use std::sync::Arc;

use driftway_base::{FlowId, Instant, NodeId};
use driftway_endpoint::{Host, ReceiveOutcome, Socket, SocketHandle};
use driftway_link::QueuePosition;
use driftway_net::addresses::{address, node_at};
use driftway_net::{Network, Output};
use driftway_scenario::{Scenario, Transport};
use driftway_wire::{Body, Packet};
use typed_index_collections::TiVec;

use crate::flows::ActiveFlow;
use crate::host_timer::HostTimer;
use crate::results::FlowOutcome;
use crate::sockets::{self, SocketId};
use crate::world::World;
use shortest_hops::ShortestHops;
use splitting_gateway::SplittingGateway;

/// The location and state of a socket.
#[derive(Clone, Copy, Debug)]
struct SocketState {
    node: NodeId,
    /// The socket at its host; `None` before the flow starts.
    handle: Option<SocketHandle>,
    /// The application has no more data to send.
    application_done: bool,
}

/// A socket that is open.
#[derive(Clone, Copy, Debug)]
struct OpenSocket {
    id: SocketId,
    node: NodeId,
    handle: SocketHandle,
}

/// The hosts of a run, with the flows between them.
pub struct Hosts {
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// The seed of the run.
    pub seed: u64,
    /// The host at each node.
    pub hosts: TiVec<NodeId, Host<SocketId>>,
    /// The sockets of each flow: the sender's, and the receiver's.
    sockets: TiVec<FlowId, [SocketState; 2]>,
    /// The flows.
    pub flows: TiVec<FlowId, ActiveFlow>,
    /// The gateway that splits connections, if there is one.
    pub gateway: Option<SplittingGateway>,
    /// The number of transfers that are not complete; `None` if some flow never completes.
    incomplete_transfers: Option<usize>,
    /// The node whose report or signal came last.
    last_reporter: NodeId,
    /// The fewest possible hops of the flows.
    shortest_hops: ShortestHops,
}

impl Hosts {
    /// Creates the hosts at the nodes of a network.
    pub fn new(scenario: Arc<Scenario>, seed: u64, net: &Network) -> Self {
        let host = |node| {
            let host = Host::new(address(node));
            if net.probes_routes(node) { host.with_route_probing() } else { host }
        };
        let flows = (0..).map(FlowId::new).zip(&scenario.flows);
        let flows = flows
            .map(|(id, flow)| ActiveFlow::new(flow, SocketId::sender(id).number(), seed))
            .collect::<TiVec<FlowId, _>>();
        let socket = |node: u32| SocketState {
            node: NodeId::new(node),
            handle: None,
            application_done: false,
        };
        let finite = flows.iter().all(ActiveFlow::is_finite);
        Self {
            seed,
            hosts: (0..net.nodes()).map(NodeId::from).map(host).collect(),
            sockets: scenario.flows.iter().map(|flow| [flow.from, flow.to].map(socket)).collect(),
            gateway: SplittingGateway::new(&scenario, net),
            incomplete_transfers: finite.then_some(flows.len()),
            flows,
            last_reporter: NodeId::default(),
            shortest_hops: ShortestHops::new(&scenario),
            scenario,
        }
    }

    /// Opens the receivers and schedules the first actions of applications.
    pub fn start(&mut self, world: &mut World<'_>) {
        for id in self.flows.keys() {
            let flow = &self.scenario.flows[id.index()];
            let receiver = SocketId::receiver(id);
            match (&flow.tcp, flow.transport) {
                (Some(tcp), Transport::Tcp) => {
                    let socket = sockets::socket(flow, tcp, receiver, self.seed, world.now);
                    self.add_socket(receiver, socket);
                }
                _ => {
                    let node = self.state(receiver).node;
                    self.hosts[node].add_receiver(sockets::flow_port(id), receiver);
                }
            }
            if let Some(at) = self.flows[id].next_write {
                world.schedule(HostTimer::Application(id), at);
            }
            self.schedule_next_unreachable(world, id);
        }
    }

    fn add_socket(&mut self, id: SocketId, socket: Socket) {
        let node = self.state(id).node;
        let handle = self.hosts[node].add_socket(socket, id);
        self.state_mut(id).handle = Some(handle);
    }

    fn state(&self, id: SocketId) -> &SocketState {
        &self.sockets[id.flow][id.end as usize]
    }

    fn state_mut(&mut self, id: SocketId) -> &mut SocketState {
        &mut self.sockets[id.flow][id.end as usize]
    }

    /// Returns a socket with its place, if it is open.
    fn open_socket(&self, id: SocketId) -> Option<OpenSocket> {
        let SocketState { node, handle, .. } = *self.state(id);
        Some(OpenSocket { id, node, handle: handle? })
    }

    fn at(&mut self, OpenSocket { node, handle, .. }: OpenSocket) -> Option<&mut Socket> {
        self.hosts[node].socket(handle)
    }

    /// Returns a socket, if it is open.
    pub fn socket(&mut self, id: SocketId) -> Option<&mut Socket> {
        self.at(self.open_socket(id)?)
    }

    /// Returns true if all transfers are complete.
    pub fn are_done(&self) -> bool {
        self.incomplete_transfers == Some(0)
    }

    /// Counts a flow that has ended.
    fn count_if_finished(&mut self, flow: FlowId) {
        if self.flows[flow].take_newly_finished() {
            self.incomplete_transfers = self.incomplete_transfers.map(|n| n.saturating_sub(1));
        }
    }

    /// Records what has happened in the network, and handles the ends of outages.
    #[cold]
    pub fn on_network_events(&mut self, world: &mut World<'_>) {
        world.record_events();
        if std::mem::take(&mut world.partition_ended) {
            self.on_partition_end(world.now);
        }
        if std::mem::take(&mut world.is_restored) {
            self.on_network_restored(world.now);
        }
    }

    /// Carries out what the network asks of a host.
    #[inline(never)]
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
            Output::LocalDrop { node, packet } => {
                self.hosts[*node].on_local_drop(world.now, packet);
                self.serve_sockets_to(world, *node, Some(packet.ip.destination));
            }
            Output::SendFailed { node, to } => self.on_send_failed(world, *node, *to),
            Output::RouteProbesDue { node } => self.send_route_probes(world, *node),
        }
    }

    /// Handles a wake-up.
    pub fn on_wakeup(&mut self, world: &mut World<'_>, timer: HostTimer) {
        match timer {
            HostTimer::Unreachable(flow) => self.on_unreachable(world, flow),
            HostTimer::Aid(socket) => self.on_aid_timer(world, socket),
            HostTimer::Tcp(socket) => self.on_tcp_timer(world, socket),
            HostTimer::LegAid(leg) => self.on_leg_aid_timer(world, leg),
            HostTimer::LegTcp(leg) => self.on_leg_tcp_timer(world, leg),
            HostTimer::Application(flow) => self.on_application(world, flow),
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
    fn send_route_probes(&mut self, world: &mut World<'_>, node: NodeId) {
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
    fn deliver(&mut self, world: &mut World<'_>, node: NodeId, packet: &Packet) {
        if let Body::Icmp(_) = packet.body {
            self.last_reporter = node_at(packet.ip.source, self.hosts.len()).unwrap_or(node);
        }
        match self.hosts[node].on_packet(world.now, packet) {
            ReceiveOutcome::Socket(id) => {
                self.count_hops(world, id, packet);
                self.serve_socket(world, id);
            }
            ReceiveOutcome::SocketsToPeer(peer) => self.serve_sockets_to(world, node, Some(peer)),
            ReceiveOutcome::Datagram(id, datagram) => self.on_datagram(world, id, datagram, packet),
            ReceiveOutcome::Reply(answer) => world.send(node, answer, QueuePosition::Tail),
            ReceiveOutcome::Nothing => {}
        }
    }
}
