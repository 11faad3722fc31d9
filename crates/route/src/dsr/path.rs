//! Sequences of nodes, both ends included.

use driftway_base::Ipv4Addr;
use driftway_wire::{AddressList, DSR_ROUTE_MAX, DsrSourceRoute, RoutedPacket};

/// The maximum number of nodes of a path: those of a Route Reply and its initiator.
pub(crate) const PATH_NODES_MAX: usize = DSR_ROUTE_MAX + 1;

/// A sequence of nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    nodes: [Ipv4Addr; PATH_NODES_MAX],
    len: u8,
}

impl core::fmt::Debug for Path {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

/// A Bloom filter of a set of nodes: a node whose bit is missing is not in the set.
pub(crate) type NodeMask = u64;

/// The bit of a node. Neighbouring addresses have different bits.
pub(crate) const fn node_bit(node: Ipv4Addr) -> NodeMask {
    let bits = node.to_bits();
    1 << ((bits ^ (bits >> 6) ^ (bits >> 12)) & 63)
}

impl Path {
    pub const EMPTY: Self = Self { nodes: [Ipv4Addr::UNSPECIFIED; PATH_NODES_MAX], len: 0 };

    /// A path through these nodes, or the first of them if they are too many.
    pub fn of(nodes: &[Ipv4Addr]) -> Self {
        let mut path = Self::EMPTY;
        path.extend(nodes);
        path
    }

    /// A path from one node to a neighbour.
    pub fn hop(from: Ipv4Addr, to: Ipv4Addr) -> Self {
        Self::of(&[from, to])
    }

    pub fn as_slice(&self) -> &[Ipv4Addr] {
        self.nodes.get(..usize::from(self.len)).unwrap_or_default()
    }

    pub const fn len(&self) -> usize {
        self.len as usize
    }

    pub fn get(&self, at: usize) -> Option<Ipv4Addr> {
        self.as_slice().get(at).copied()
    }

    pub fn first(&self) -> Option<Ipv4Addr> {
        self.as_slice().first().copied()
    }

    pub fn last(&self) -> Option<Ipv4Addr> {
        self.as_slice().last().copied()
    }

    pub fn position(&self, node: Ipv4Addr) -> Option<usize> {
        self.as_slice().iter().position(|known| *known == node)
    }

    pub fn contains(&self, node: Ipv4Addr) -> bool {
        self.as_slice().contains(&node)
    }

    /// Appends a node; returns `false` if there is no room.
    pub fn push(&mut self, node: Ipv4Addr) -> bool {
        let Some(slot) = self.nodes.get_mut(usize::from(self.len)) else { return false };
        *slot = node;
        self.len += 1;
        true
    }

    /// Appends as many nodes as there is room for; returns `false` if that is not all.
    pub fn extend(&mut self, nodes: &[Ipv4Addr]) -> bool {
        nodes.iter().all(|node| self.push(*node))
    }

    /// Keeps the first `len` nodes. The others are cleared, so that equal paths compare equal.
    pub fn truncate(&mut self, len: usize) {
        if let Some(gone) = self.nodes.get_mut(len..usize::from(self.len)) {
            gone.fill(Ipv4Addr::UNSPECIFIED);
            self.len = len as u8;
        }
    }

    pub fn reversed(mut self) -> Self {
        if let Some(nodes) = self.nodes.get_mut(..usize::from(self.len)) {
            nodes.reverse();
        }
        self
    }

    /// A copy without the nodes from `from` to before `to`.
    pub fn without_range(&self, from: usize, to: usize) -> Self {
        let mut path = Self::EMPTY;
        path.extend(self.as_slice().get(..from).unwrap_or_default());
        path.extend(self.as_slice().get(to..).unwrap_or_default());
        path
    }

    pub fn mask(&self) -> NodeMask {
        self.as_slice().iter().fold(0, |mask, node| mask | node_bit(*node))
    }

    /// Returns true if a node occurs twice.
    pub fn has_loop(&self) -> bool {
        if self.mask().count_ones() as usize == self.len() {
            return false;
        }
        let nodes = self.as_slice();
        nodes.iter().enumerate().any(|(at, node)| nodes.iter().take(at).any(|n| n == node))
    }
}

/// The source route of a packet, and the packet's position on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceRoute {
    pub path: Path,
    /// The index of the node to which the packet is being transmitted.
    pub next_position: usize,
}

impl SourceRoute {
    /// The route of a packet to a neighbour.
    pub fn one_hop(from: Ipv4Addr, to: Ipv4Addr) -> Self {
        Self { path: Path::hop(from, to), next_position: 1 }
    }

    /// The source route of a packet. That of a salvaged packet starts at the salvager instead of the source
    /// (RFC 4728 §8.1.4). `None` if there is no source route, or a malformed one.
    pub fn of_packet(packet: &RoutedPacket) -> Option<Self> {
        let route = packet.dsr.as_ref()?.source_route.as_ref()?;
        let ip = &packet.packet.ip;
        let mut path = Path::EMPTY;
        if route.salvage == 0 {
            path.push(ip.source);
        }
        if !path.extend(route.route.as_slice()) || !path.push(ip.destination) {
            return None;
        }
        let next_position = (path.len() - 1).checked_sub(usize::from(route.segments_left))?;
        (next_position >= 1).then_some(Self { path, next_position })
    }
}

/// Sets the source route of a packet to `path`, on its first hop. The salvage count becomes `salvage`, but at
/// least 1 if the path does not start at the packet's source: only then does the option contain its first
/// node.
pub(crate) fn set_source_route(packet: &mut RoutedPacket, path: &Path, salvage: u8) {
    let foreign = path.first() != Some(packet.packet.ip.source);
    let salvage = salvage.clamp(u8::from(foreign), 15);
    let nodes = path.as_slice();
    let from = if salvage > 0 { 0 } else { 1 };
    let between = nodes.get(from..nodes.len().saturating_sub(1)).unwrap_or_default();
    let route = AddressList::new(between).unwrap_or_default();
    let dsr = packet.dsr.get_or_insert_default();
    dsr.source_route = Some(DsrSourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage,
        segments_left: nodes.len().saturating_sub(2) as u8,
        route,
    });
}

#[cfg(test)]
mod test {
    use super::*;

    fn path(nodes: &[u8]) -> Path {
        let mut path = Path::EMPTY;
        assert!(nodes.iter().all(|n| path.push(Ipv4Addr::new(10, 0, 0, *n))));
        path
    }

    #[test]
    fn a_repeated_node_is_a_loop() {
        assert!(path(&[1, 2, 3, 2]).has_loop());
        assert!(!path(&[1, 2, 65, 3]).has_loop(), "bits of 1 and 65 may be the same");
    }

    #[test]
    fn neighbouring_addresses_have_different_bits() {
        let all = (0..64).fold(0, |mask, n| mask | node_bit(Ipv4Addr::new(10, 0, 0, n)));
        assert_eq!(all, NodeMask::MAX);
    }

    #[test]
    fn a_truncated_path_equals_a_short_one() {
        let mut shorter = path(&[1, 2, 3]);
        shorter.truncate(2);
        assert_eq!(shorter, path(&[1, 2]));
        assert_eq!(path(&[1, 2, 3, 4]).without_range(1, 3), path(&[1, 4]));
        assert_eq!(path(&[1, 2, 3]).reversed(), path(&[3, 2, 1]));
    }
}
