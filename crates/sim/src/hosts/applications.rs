//! Applications: what they write, and the datagrams that they send and receive.

use driftway_base::{FlowId, NodeId};
use driftway_link::QueuePosition;
use driftway_net::addresses::address;
use driftway_scenario::Transport;
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use super::Hosts;
use crate::fault_injection::FaultEffect;
use crate::flow_context::FlowContext;
use crate::host_timer::HostTimer;
use crate::sockets::{self, SocketId};
use crate::world::World;

impl Hosts {
    /// Handles the timer of a flow's application, which writes.
    pub(super) fn on_application(&mut self, world: &mut World<'_>, id: FlowId) {
        let scenario = &self.scenario.flows[id.index()];
        let (bytes, closes) = self.flows[id].on_application_timer(world.now);
        if let Some(at) = self.flows[id].next_write {
            world.schedule(HostTimer::Application(id), at);
        }
        match &scenario.tcp {
            Some(tcp) if scenario.transport == Transport::Tcp => {
                let id = SocketId::sender(id);
                if self.open_socket(id).is_none() {
                    self.add_socket(id, sockets::socket(scenario, tcp, id, self.seed, world.now));
                }
                self.state_mut(id).application_done = closes;
                if let Some(socket) = self.socket(id) {
                    socket.tcp_mut().write(bytes);
                }
                self.serve_socket(world, id);
            }
            _ => self.send_datagram(world, id, bytes),
        }
    }

    fn send_datagram(&mut self, world: &mut World<'_>, id: FlowId, bytes: u64) {
        let scenario = &self.scenario.flows[id.index()];
        let [from, to] = [scenario.from, scenario.to].map(NodeId::new);
        let flow = &mut self.flows[id];
        let payload = Payload::new(flow.stream, flow.written - bytes, bytes as u32);
        flow.on_sent(world.now, payload);
        flow.datagrams_sent += 1;
        self.keep_shortest_hops(world, id, payload);
        let port = sockets::flow_port(id);
        let datagram = UdpDatagram { source_port: port, destination_port: port, payload };
        let packet = self.hosts[from].new_packet(address(to), Body::Udp(datagram));
        let at = FlowContext { now: world.now, node: from, flow: id };
        world.observers.datagram_sent(at, payload);
        world.send(from, packet, QueuePosition::Tail);
    }

    /// Handles a datagram that a host has received.
    pub(super) fn on_datagram(
        &mut self,
        world: &mut World<'_>,
        id: SocketId,
        datagram: UdpDatagram,
        packet: &Packet,
    ) {
        let at = FlowContext { now: world.now, node: self.state(id).node, flow: id.flow };
        let flow = &mut self.flows[id.flow];
        world.observers.datagram_delivered(at, datagram.payload);
        let earlier = flow.duplicates;
        let twice = world.fault_injection.on_delivery() == FaultEffect::Duplicate;
        for _ in 0..1 + u8::from(twice) {
            let may_duplicate = world.net.may_duplicate();
            world.check_stream(flow.on_datagram(world.now, datagram.payload, may_duplicate));
        }
        if flow.duplicates == earlier {
            self.count_hops(world, id, packet);
        }
    }
}
