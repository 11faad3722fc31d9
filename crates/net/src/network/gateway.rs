//! Interception: packets of split connections at their gateway.

use driftway_base::Ipv4Addr;
use driftway_base::{NodeId, PacketId};
use driftway_wire::{Body, Packet};

use super::Network;
use crate::addresses::address;
use crate::interface::{Outcome, Place};
use crate::output::Output;

/// The protocol number of TCP.
const PROTOCOL_TCP: u8 = 6;

impl Network {
    /// Ends a packet of a connection that a gateway splits there, and passes it to the driver; false if it is
    /// another.
    pub(super) fn intercept(&mut self, node: NodeId, id: PacketId, from_air: bool) -> bool {
        if !self.gateways.splits_at(node) {
            return false;
        }
        let Some(packet) = self.packets.get(id).map(|routed| routed.packet) else { return false };
        if !self.intercepts(node, &packet) {
            return false;
        }
        self.end(Place::Node(node), id, Outcome::Delivered);
        self.work.request(Output::Intercepted { node, from_air, packet });
        true
    }

    /// Returns true if a packet belongs to a connection that a gateway splits: a TCP segment between the
    /// air and the wires, or an ICMP error that quotes one.
    pub(super) fn intercepts(&self, node: NodeId, packet: &Packet) -> bool {
        match &packet.body {
            Body::Tcp(_) => self.joins_sides(node, packet.ip.source, packet.ip.destination),
            Body::Icmp(message) => message.quoted().is_some_and(|quoted| {
                quoted.protocol == PROTOCOL_TCP
                    && packet.ip.destination == quoted.source
                    && self.joins_sides(node, quoted.source, quoted.destination)
            }),
            Body::Udp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => false,
        }
    }

    /// Returns true if a gateway reaches one address over the air and the other one over wires.
    fn joins_sides(&self, node: NodeId, one: Ipv4Addr, other: Ipv4Addr) -> bool {
        let own = address(node);
        one != own && other != own && self.uses_air(node, one) != self.uses_air(node, other)
    }

    /// Reports an error of the gateway's own node about a packet that the gateway has sent in the name of
    /// another: it is not sent to that other one.
    pub(super) fn report_to_gateway(&mut self, node: NodeId, message: &Packet) {
        let from_air = self.uses_air(node, message.ip.source);
        self.work.request(Output::Intercepted { node, from_air, packet: *message });
    }
}
