//! Addresses of nodes.

use driftway_base::Ipv4Addr;

const FIRST: u32 = 0x0a00_0001;
/// Upper bound of the number of nodes: addresses of 10.0.0.0/8 from the first.
const MANY: u32 = 0x00ff_fffe;

/// Returns the address of a node: 10.0.0.1 for node 0.
pub fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::from(FIRST + node as u32)
}

/// Returns the end of a path to whose attached network an address belongs: 10.1.0.0/16 behind the
/// first node, or 10.2.0.0/16 behind the last node of the chain.
pub fn is_behind(address: Ipv4Addr) -> Option<Behind> {
    match address.octets() {
        [10, 1, ..] => Some(Behind::First),
        [10, 2, ..] => Some(Behind::Last),
        _ => None,
    }
}

/// End of a path with a network behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Node 0.
    First,
    /// Last node of the chain.
    Last,
}

/// Returns the node of an address in a network of `nodes` nodes.
pub fn node_at(address: Ipv4Addr, nodes: usize) -> Option<usize> {
    let node = u32::from(address).checked_sub(FIRST)? as usize;
    (node < nodes).then_some(node)
}

/// Returns the node of an address in a network of any size; `None` if the address is outside the
/// node range.
pub fn node_of(address: Ipv4Addr) -> Option<u32> {
    let node = u32::from(address).checked_sub(FIRST)?;
    (node < MANY).then_some(node)
}
