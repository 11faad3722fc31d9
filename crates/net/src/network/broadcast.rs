//! Packets for neighbours, which no node forwards: for all of them, multicast and broadcast, or for one.

use driftway_base::{NodeId, PacketId};
use driftway_link::QueuePosition;
use driftway_wire::{Packet, RoutedPacket};

use super::Network;
use crate::addresses::is_of_many;
use crate::interface::{Interface, LinkEnd, Outcome, Place};

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
    pub fn broadcast(&mut self, node: NodeId, interface: Interface, mut packet: Packet) {
        self.identify(node, &mut packet);
        let id = self.packets.insert(&packet);
        match interface {
            Interface::Wire(_) => self.enqueue(interface, id, None, QueuePosition::Tail),
            Interface::Radio(radio) => {
                self.enqueue_after_delay(radio, id, None, QueuePosition::Tail);
            }
        }
    }

    /// Sends a packet of a node's own host to a neighbour, past all routing and its ARP: over the first wire between
    /// them, or else over the air. Its destination has to be the neighbour's address. Returns false if they have
    /// neither in common.
    pub fn send_to_neighbour(&mut self, node: NodeId, to: NodeId, mut packet: Packet) -> bool {
        let leads_there = |end: &LinkEnd| self.topology.across(end.link, end.side) == to;
        let wire = self.topology.link_ends(node).find(leads_there);
        let radio = || self.medium.choose_radio(&self.nodes.get(node)?.radios, to);
        let interface = wire.map(Interface::Wire).or_else(|| radio().map(Interface::Radio));
        let Some(interface) = interface else { return false };
        self.identify(node, &mut packet);
        let id = self.packets.insert(&packet);
        match interface {
            Interface::Wire(_) => self.enqueue(interface, id, None, QueuePosition::Tail),
            Interface::Radio(radio) => {
                self.enqueue_after_delay(radio, id, Some(to), QueuePosition::Tail);
            }
        }
        true
    }

    /// Delivers a packet for all neighbours that has come over a wire; false if it is another.
    pub(super) fn takes_from_wire(&mut self, node: NodeId, id: PacketId) -> bool {
        let Some(routed) = self.packets.get(id) else { return false };
        if !is_of_neighbours(routed) {
            return false;
        }
        if let Some(packet) = self.end(Place::Node(node), id, Outcome::Delivered) {
            self.deliver_to_host(node, &packet);
        }
        true
    }

    /// Delivers a copy of a packet for all neighbours that has come over the air; false if it is another.
    pub(super) fn takes_from_air(&mut self, node: NodeId, packet: &RoutedPacket) -> bool {
        if !is_of_neighbours(packet) {
            return false;
        }
        self.packets.copy();
        self.end_routed(Place::Node(node), packet, Outcome::Delivered);
        self.deliver_to_host(node, &packet.packet);
        true
    }
}

/// True for a packet of a host for all neighbours.
fn is_of_neighbours(packet: &RoutedPacket) -> bool {
    !packet.is_control() && is_of_many(packet.packet.ip.destination)
}
