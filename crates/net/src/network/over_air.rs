//! Packets between hosts or wires, routing, and the queues of radios.

use driftway_base::{DropReason, Ipv4Addr, NodeId, PacketId, RadioId};
use driftway_link::QueuePosition;
use driftway_route::feedback::Scheme;
use driftway_route::{LinkDestination, Output as Routed};
use driftway_wire::{Body, Packet, RoutedPacket};

use super::Network;
use super::task::Task;
use crate::addresses::{address, node_at};
use crate::event::Event;
use crate::interface::{Departure, Place};
use crate::output::Output;

impl Network {
    /// Passes a packet of a node's host, or one that came over a wire, to the node's routing.
    pub(super) fn send_over_air(&mut self, node: NodeId, id: PacketId, place: QueuePosition) {
        if let Some(routing) = &mut self.nodes[node].routing
            && let Some(routed) = self.packets.enter_routing(id)
        {
            routing.send(self.now, routed.packet);
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
            let pending = self.work.pending();
            if !self.route_next(node, place) {
                return;
            }
            if self.work.waits(pending, Task::DrainRouting { node, place }) {
                return;
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
            Routed::Transmit { packet, hop } => {
                if is_network_message(packet) {
                    self.nodes[node].feedback.on_message_sent(self.now, packet);
                }
                let id = self.packets.leave_routing(packet);
                self.send_to_link(node, id, packet, *hop, place);
            }
            Routed::Deliver(packet) => {
                let id = self.packets.leave_routing(&RoutedPacket::plain(*packet));
                self.arrive_over_air(node, id, packet);
            }
            Routed::Drop { packet, reason } => {
                let id = self.packets.leave_routing(packet);
                self.drop(Place::Routing(node), id, *reason);
            }
            Routed::PurgeQueue(neighbour) => self.purge_queue(node, *neighbour),
            Routed::Signal(signal) => {
                self.work.request(Output::Signal { node, signal: *signal });
            }
            Routed::Duplicated => self.packets.on_duplicated_by_routing(),
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
                self.work.add(Task::DrainFeedback { node });
            }
        }
        true
    }

    /// Handles a packet that leaves routing at its last node on the air: the destination, or a
    /// gateway, which forwards it over a wire.
    fn arrive_over_air(&mut self, node: NodeId, id: PacketId, packet: &Packet) {
        self.on_heard_at_gateway(node, packet.ip.source);
        if self.topology.node_at(packet.ip.destination) == Some(node) {
            self.deliver(node, id);
        } else if !self.intercept(node, id, true) && self.decrement_ttl(node, id) {
            self.forward_over_wire(node, id, QueuePosition::Tail);
        }
    }

    /// Passes a packet from routing to ARP and the queues of radios.
    fn send_to_link(
        &mut self,
        node: NodeId,
        id: PacketId,
        packet: &RoutedPacket,
        hop: LinkDestination,
        place: QueuePosition,
    ) {
        self.counters.routed.count(&packet.packet);
        let LinkDestination::Unicast(neighbour) = hop else {
            return self.broadcast_to_links(node, id, packet, place);
        };
        let unknown = DropReason::UnknownDestination;
        let Some(neighbour) = node_at(neighbour, self.nodes.len()) else {
            return self.drop(Place::Node(node), id, unknown);
        };
        let Some(radio) = self.medium.choose_radio(&self.nodes[node].radios, neighbour) else {
            return self.drop(Place::Node(node), id, unknown);
        };
        if packet.packet.ip.source == address(node) || self.gateways.splits_at(node) {
            self.on_host_packet_sent(node, packet.packet.ip.destination, neighbour);
        }
        let packet = Departure { id, next_hop: Some(neighbour), place };
        if self.resolve_or_hold(radio, neighbour, packet) {
            self.enqueue_after_delay(radio, packet);
        }
    }

    /// Passes a packet for all neighbours to the queues of all radios of a node.
    fn broadcast_to_links(
        &mut self,
        node: NodeId,
        id: PacketId,
        packet: &RoutedPacket,
        place: QueuePosition,
    ) {
        for n in 0..self.nodes[node].radios.len() {
            let id = if n == 0 { id } else { self.packets.duplicate(packet) };
            let packet = Departure { id, next_hop: None, place };
            self.enqueue_after_delay(self.nodes[node].radios[n], packet);
        }
    }

    /// Drops the packets queued for a neighbour.
    fn purge_queue(&mut self, node: NodeId, neighbour: Ipv4Addr) {
        let Some(neighbour) = node_at(neighbour, self.nodes.len()) else { return };
        for n in (0..self.nodes[node].radios.len()).rev() {
            self.work.add(Task::Purge { radio: self.nodes[node].radios[n], neighbour });
        }
    }

    /// Drops the next packet queued for a neighbour.
    pub(super) fn purge_next(&mut self, radio: RadioId, neighbour: NodeId) {
        let Some(item) = self.medium.radio_mut(radio).queue.dequeue_for(neighbour) else { return };
        self.work.add(Task::Purge { radio, neighbour });
        self.drop(Place::at_radio(radio, Some(neighbour)), item.id, DropReason::LinkFailure);
    }
}

/// True for a message about the network: a control packet of routing, or ICMP.
pub(super) const fn is_network_message(packet: &RoutedPacket) -> bool {
    packet.is_control() || matches!(packet.packet.body, Body::Icmp(_))
}
