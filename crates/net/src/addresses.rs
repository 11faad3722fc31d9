//! Addresses of nodes.

use std::net::Ipv6Addr;

use driftway_base::{Ipv4Addr, NodeId};

const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// Upper bound of the number of nodes: addresses of 10.0.0.0/8 from the first.
const MAX_NODES: u32 = 0x00ff_fffe;
const SUBNET_BROADCAST: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 255);

/// Returns the address of a node: 10.0.0.1 for node 0.
pub fn address(node: NodeId) -> Ipv4Addr {
    Ipv4Addr::from(FIRST_ADDRESS + node.number())
}

/// Prefixes of the IPv6 addresses of nodes: unique local addresses (RFC 4193), of which this is the shortest to type,
/// and link-local ones.
const IPV6_PREFIXES: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0)];
/// Length of these prefixes (bits).
pub const IPV6_PREFIX_LEN: u8 = 64;

/// Returns the IPv6 addresses of a node, the global and the link-local one: fd00::1 and fe80::1 for node 0.
pub fn ipv6_addresses(node: NodeId) -> [Ipv6Addr; 2] {
    IPV6_PREFIXES.map(|prefix| Ipv6Addr::from(prefix.to_bits() | u128::from(node.number() + 1)))
}

/// Returns the node of an IPv6 address in a network of `nodes` nodes.
pub fn node_at_ipv6(address: Ipv6Addr, nodes: usize) -> Option<NodeId> {
    let prefix = Ipv6Addr::from(address.to_bits() & !u128::from(u64::MAX));
    if !IPV6_PREFIXES.contains(&prefix) {
        return None;
    }
    let node = (address.to_bits() as u64).checked_sub(1)?;
    (node < nodes as u64).then(|| NodeId::new(node as u32))
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

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn ipv6_addresses_and_nodes_are_one_to_one() {
        for node in [0, 1, 9, 70_000].map(NodeId::new) {
            for address in ipv6_addresses(node) {
                assert_eq!(node_at_ipv6(address, 70_001), Some(node));
                assert_eq!(node_at_ipv6(address, node.index()), None);
            }
        }
        let [first, local] = ipv6_addresses(NodeId::new(0));
        assert_eq!((first.to_string(), local.to_string()), ("fd00::1".into(), "fe80::1".into()));
        for other in ["fd00::", "fd01::1", "fe80::1:0:0:0:1", "fd00::1:0:0:1", "::1"] {
            assert_eq!(node_at_ipv6(other.parse().unwrap(), 100), None, "{other}");
        }
    }
}
