//! Packets for neighbours, which no node forwards: for all of them, multicast and broadcast, or for one.

use driftway_base::NodeId;
use driftway_link::QueuePosition;
use driftway_wire::{Packet, RoutedPacket};

use super::Network;
use crate::addresses::is_of_many;
use crate::interface::{Departure, Interface, LinkEnd};

impl Network {
    /// Returns the interfaces of a node.
    pub fn interfaces(&self, node: NodeId) -> Vec<Interface> {
        let wires = self.topology.link_ends(node).map(Interface::Wire);
        let radios = self.nodes.get(node).map_or(&[][..], |node| &node.radios);
        wires.chain(radios.iter().copied().map(Interface::Radio)).collect()
    }

    /// Sends a packet of a node's own host to all neighbours on one interface: to the other end of a wire,
    /// or as a broadcast frame. Each host among them gets it, whatever its destination; nobody forwards
    /// it.
    pub fn broadcast(&mut self, node: NodeId, interface: Interface, packet: Packet) {
        self.send_over(node, interface, packet, None);
    }

    /// Sends a packet of a node's own host to a neighbour, past all routing and its ARP: over the first wire between
    /// them, or else over the air. Its destination has to be the neighbour's address. Returns false if they have
    /// neither in common.
    pub fn send_to_neighbour(&mut self, node: NodeId, to: NodeId, packet: Packet) -> bool {
        let leads_there = |end: &LinkEnd| self.topology.across(*end) == to;
        let wire = self.topology.link_ends(node).find(leads_there);
        let radio = || self.medium.choose_radio(&self.nodes.get(node)?.radios, to);
        let interface = wire.map(Interface::Wire).or_else(|| radio().map(Interface::Radio));
        let Some(interface) = interface else { return false };
        self.send_over(node, interface, packet, Some(to));
        true
    }

    fn send_over(
        &mut self,
        node: NodeId,
        interface: Interface,
        packet: Packet,
        next_hop: Option<NodeId>,
    ) {
        let id = self.create(node, packet);
        let packet = Departure { id, next_hop, place: QueuePosition::Tail };
        match interface {
            Interface::Wire(_) => self.enqueue(interface, packet),
            Interface::Radio(radio) => self.enqueue_after_delay(radio, packet),
        }
    }
}

/// True for a packet of a host for all neighbours.
pub(super) fn is_of_neighbours(packet: &RoutedPacket) -> bool {
    !packet.is_control() && is_of_many(packet.packet.ip.destination)
}
