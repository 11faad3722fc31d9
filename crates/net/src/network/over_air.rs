//! Packets between hosts or wires, routing, and the queues of radios.

use driftway_base::{DropReason, Ipv4Addr, NodeId, RadioId};
use driftway_link::QueuePosition;
use driftway_route::feedback::Scheme;
use driftway_route::{LinkDestination, Output as Routed};
use driftway_wire::{Body, Packet, RoutedPacket};

use super::Network;
use super::task::Task;
use crate::addresses::{address, node_at};
use crate::event::Event;
use crate::interface::{Interface, Outcome, Place};
use crate::output::Output;

impl Network {
    /// Passes a packet of a node's host, or one that came over a wire, to the node's routing.
    pub(super) fn send_over_air(&mut self, node: NodeId, packet: &Packet, place: QueuePosition) {
        if let Some(routing) = &mut self.nodes[node].routing {
            routing.send(self.now, *packet);
        }
        match place {
            QueuePosition::Tail => self.work.mark_ready(node),
            // What follows in the queue must not pass it.
            QueuePosition::Front => while self.route_next(node, place) {},
        }
    }

    /// Handles the output of a node's routing; packets that it sends go to this position of the queue.
    pub(super) fn drain_routing(&mut self, node: NodeId, place: QueuePosition) {
        loop {
            let pending = self.work.tasks.len();
            if !self.route_next(node, place) {
                return;
            }
            if self.work.has_work_above(pending) {
                return self.work.tasks.insert(pending, Task::DrainRouting { node, place });
            }
        }
    }

    /// Handles the next output of a node's routing; false if there is none.
    fn route_next(&mut self, node: NodeId, place: QueuePosition) -> bool {
        let Some(routing) = &mut self.nodes[node].routing else { return false };
        // By reference, because packets are large.
        let mut polled = routing.poll(self.now);
        let Some(output) = &mut polled else {
            if let Some(at) = routing.next_timeout() {
                self.schedule_node(node, at);
            }
            return false;
        };
        match output {
            Routed::Transmit { packet, hop } => self.send_to_link(node, packet, *hop, place),
            Routed::Deliver(packet) => self.deliver_from_air(node, packet),
            Routed::Drop { packet, reason } => {
                self.end_routed(Place::Routing(node), packet, Outcome::Dropped(*reason));
            }
            Routed::PurgeQueue(neighbour) => self.purge_queue(node, *neighbour),
            Routed::Signal(signal) => {
                self.work.outputs.push_back(Output::Signal { node, signal: *signal });
            }
            Routed::Duplicated => self.packets.copy(),
            Routed::RouteFound(to) => {
                self.recorder.record(|| Event::RouteFound { node, to: *to });
                self.on_route_found(node, *to);
            }
            Routed::RouteLost(to) => {
                self.recorder.record(|| Event::RouteLost { node, to: *to });
                self.on_lost_at_gateway(node, *to);
                self.on_route_lost(node, *to);
            }
            Routed::DiscoveryStarted(to) => self.on_discovery_started(node, *to),
            Routed::Salvaged { packet, salvage_count } => {
                self.nodes[node].feedback.on_salvaged(self.now, packet, *salvage_count);
                self.work.tasks.push(Task::DrainFeedback { node });
            }
        }
        true
    }

    /// Handles a packet that leaves routing at its last node on the air: the destination, or a
    /// gateway, which forwards it over a wire.
    fn deliver_from_air(&mut self, node: NodeId, packet: &Packet) {
        self.on_heard_at_gateway(node, packet.ip.source);
        let routed = RoutedPacket::plain(*packet);
        if self.topology.node_at(packet.ip.destination) == Some(node) {
            self.end_routed(Place::Node(node), &routed, Outcome::Delivered);
            return self.deliver_to_host(node, packet);
        }
        if self.gateways.splitting == Some(node) && self.intercepts(node, packet) {
            self.end_routed(Place::Node(node), &routed, Outcome::Delivered);
            let packet = *packet;
            return self.work.outputs.push_back(Output::Intercepted {
                node,
                from_air: true,
                packet,
            });
        }
        let id = self.packets.insert_routed(&routed);
        if self.decrement_ttl(node, id) {
            self.forward_over_wire(node, id, QueuePosition::Tail);
        }
    }

    /// Passes a packet from routing to ARP and the queues of radios.
    fn send_to_link(
        &mut self,
        node: NodeId,
        packet: &mut RoutedPacket,
        hop: LinkDestination,
        place: QueuePosition,
    ) {
        if is_network_message(packet) {
            self.nodes[node].feedback.on_message_sent(self.now, packet);
        }
        self.counters.routed.count(&packet.packet);
        let unknown = Outcome::Dropped(DropReason::UnknownDestination);
        let neighbour = match hop {
            LinkDestination::Broadcast => None,
            LinkDestination::Unicast(neighbour) => match node_at(neighbour, self.nodes.len()) {
                Some(neighbour) => Some(neighbour),
                None => return self.end_routed(Place::Node(node), packet, unknown),
            },
        };
        let Some(neighbour) = neighbour else {
            // A broadcast leaves by all radios of the node.
            for n in 0..self.nodes[node].radios.len() {
                let radio = self.nodes[node].radios[n];
                if n > 0 && !packet.is_control() {
                    self.packets.copy();
                }
                let id = self.packets.insert_routed(packet);
                self.enqueue_after_delay(radio, id, None, place);
            }
            return;
        };
        let radios = &self.nodes[node].radios;
        let Some(radio) = self.medium.choose_radio(radios, neighbour) else {
            return self.end_routed(Place::Node(node), packet, unknown);
        };
        if packet.packet.ip.source == address(node) || self.gateways.splitting == Some(node) {
            self.on_host_packet_sent(node, packet.packet.ip.destination, neighbour);
        }
        let id = self.packets.insert_routed(packet);
        if self.resolve_or_hold(radio, id, neighbour, place) {
            self.enqueue_after_delay(radio, id, Some(neighbour), place);
        }
    }

    /// Drops the packets queued for a neighbour.
    fn purge_queue(&mut self, node: NodeId, neighbour: Ipv4Addr) {
        let Some(neighbour) = node_at(neighbour, self.nodes.len()) else { return };
        for n in (0..self.nodes[node].radios.len()).rev() {
            self.work.tasks.push(Task::Purge { radio: self.nodes[node].radios[n], neighbour });
        }
    }

    /// Drops the next packet queued for a neighbour.
    pub(super) fn purge_next(&mut self, radio: RadioId, neighbour: NodeId) {
        let Some(item) = self.medium.radios[radio].queue.dequeue_for(neighbour) else { return };
        self.work.tasks.push(Task::Purge { radio, neighbour });
        let at = Place::Interface(Interface::Radio(radio), Some(neighbour));
        self.drop(at, item.id, DropReason::LinkFailure);
    }
}

/// True for a message about the network: a control packet of routing, or ICMP.
pub(super) const fn is_network_message(packet: &RoutedPacket) -> bool {
    packet.is_control() || matches!(packet.packet.body, Body::Icmp(_))
}
