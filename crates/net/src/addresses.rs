//! Addresses of nodes.

use driftway_base::{Ipv4Addr, NodeId};

const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// Upper bound of the number of nodes: addresses of 10.0.0.0/8 from the first.
const MAX_NODES: u32 = 0x00ff_fffe;
const SUBNET_BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 255);

/// Returns the address of a node: 10.0.0.1 for node 0.
pub fn address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_ADDRESS + node.number())
}

/// Returns the end of a path to whose attached network an address belongs: 10.1.0.0/16 behind the
/// first node, or 10.2.0.0/16 behind the last node of the chain.
pub fn edge_subnet(address: Ipv4Addr) -> Option<EdgeSubnet> {
    match address.octets() {
        [10, 1, ..] => Some(EdgeSubnet::First),
        [10, 2, ..] => Some(EdgeSubnet::Last),
        _ => None,
    }
}

/// End of a path with a network behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeSubnet {
    /// Node 0.
    First,
    /// Last node of the chain.
    Last,
}

/// Returns the node of an address in a network of `nodes` nodes.
pub fn node_at(address: Ipv4Addr, nodes: usize) -> Option<NodeId> {
    node_of(address).filter(|node| node.index() < nodes)
}

/// Returns the node of an address in a network of any size; `None` if the address is outside the
/// node range.
pub fn node_of(address: Ipv4Addr) -> Option<NodeId> {
    let node = u32::from(address).checked_sub(FIRST_ADDRESS)?;
    (node < MAX_NODES).then_some(NodeId::new(node))
}

/// Returns true for an address of several hosts: multicast, and the broadcast addresses of the link and of
/// the network of all nodes, 10.0.0.0/8.
pub fn is_of_many(address: Ipv4Addr) -> bool {
    address.is_multicast() || address.is_broadcast() || address == SUBNET_BROADCAST
}
