//! The hardware addresses of nodes, and of what is behind them.

use std::collections::BTreeMap;

use driftway_base::NodeId;
use driftway_wire::{EtherType, EthernetFrame, HardwareAddr, Ipv6Packet};

const ICMPV6: u8 = 58;
/// Number of addresses that are learned at most.
const LEARNED_MAX: usize = 65_536;

/// The hardware addresses that were seen at each node.
#[derive(Debug, Default)]
pub struct HardwareAddresses(BTreeMap<HardwareAddr, NodeId>);

impl HardwareAddresses {
    /// Learns the source of a frame that a node has sent. What belongs to another node by its number is not learned.
    pub fn learn(&mut self, source: HardwareAddr, node: NodeId, nodes: usize) {
        let is_own = numbered(source, nodes).is_none_or(|of| of == node);
        let has_room = self.0.len() < LEARNED_MAX || self.0.contains_key(&source);
        if !source.is_group() && is_own && has_room {
            self.0.insert(source, node);
        }
    }

    /// Returns the node at which an address was seen, or which has it by its number.
    pub fn node(&self, address: HardwareAddr, nodes: usize) -> Option<NodeId> {
        self.0.get(&address).copied().or_else(|| numbered(address, nodes))
    }
}

/// Returns true for what a kernel sends by itself to the groups of a link: reports of listeners, and neighbour discovery
/// of its own addresses (RFC 3810, RFC 4861).
pub fn is_housekeeping(frame: &EthernetFrame<'_>) -> bool {
    let is_to_group = frame.ether_type == EtherType::IPV6 && frame.destination.is_group();
    let packet = Some(frame.payload).filter(|_| is_to_group);
    let packet = packet.and_then(|payload| Ipv6Packet::decode(payload).ok());
    packet.is_some_and(|packet| packet.protocol == Some(ICMPV6))
}

fn numbered(address: HardwareAddr, nodes: usize) -> Option<NodeId> {
    address.node().filter(|node| node.index() < nodes)
}
