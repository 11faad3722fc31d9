//! Handoffs: a node on the air is reached over the gateway that has it now.

use driftway_base::{Ipv4Addr, NodeId};

use super::Network;

impl Network {
    /// Handles a packet that has come to a node over the air.
    #[inline]
    pub(super) fn on_heard_at_gateway(&mut self, node: NodeId, source: Ipv4Addr) {
        if self.gateways.has_choice()
            && let Some(from) = self.topology.node_at(source)
            && self.gateways.on_heard(node, from)
        {
            self.update_gateways(from);
        }
    }

    /// Handles the loss of a node's way over the air to a destination.
    #[inline]
    pub(super) fn on_lost_at_gateway(&mut self, node: NodeId, destination: Ipv4Addr) {
        if self.gateways.has_choice()
            && let Some(to) = self.topology.node_at(destination)
            && self.gateways.on_lost(node, to)
        {
            self.update_gateways(to);
        }
    }

    /// Updates the routes over wires to a node on the air.
    fn update_gateways(&mut self, to: NodeId) {
        for (node, gateway) in self.gateways.routes(to) {
            self.topology.set_gateway(node, to, gateway);
        }
    }
}
