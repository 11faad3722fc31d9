//! Nodes and their addresses.

use driftway_base::Ipv4Addr;

const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// More than a network has: addresses of 10.0.0.0/8 behind the first.
const MAX_NODES: u32 = 0x00ff_fffe;

/// The address of a node: 10.0.0.1 for node 0.
pub fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_ADDRESS + node as u32)
}

/// An address in the network behind the first node of a path (10.1.0.0/16), or behind the last of its
/// chain (10.2.0.0/16): where the nodes of a path are hosts with networks of their own.
pub fn edge_subnet(address: Ipv4Addr) -> Option<EdgeSubnet> {
    match address.octets() {
        [10, 1, ..] => Some(EdgeSubnet::First),
        [10, 2, ..] => Some(EdgeSubnet::Last),
        _ => None,
    }
}

/// Behind which end of a path an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeSubnet {
    /// Node 0.
    First,
    /// The last node of the chain.
    Last,
}

/// The node of an address, if there are so many.
pub fn node_at(address: Ipv4Addr, nodes: usize) -> Option<usize> {
    let node = u32::from(address).checked_sub(FIRST_ADDRESS)? as usize;
    (node < nodes).then_some(node)
}

/// The node that has this address in a network of any size; `None` for what no node has.
pub fn node_number(address: Ipv4Addr) -> Option<u32> {
    let node = u32::from(address).checked_sub(FIRST_ADDRESS)?;
    (node < MAX_NODES).then_some(node)
}
