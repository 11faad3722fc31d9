//! A hop over a wire.

use driftway_net::LinkEnd;

/// A hop over a wire, from its sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WiredHop {
    /// The number of the wire, from 1.
    pub wire: u32,
    /// The node at the sending end.
    pub node: u32,
    /// The node at the other end.
    pub neighbour: u32,
}

impl WiredHop {
    /// The hop from the node at this end of a link to its neighbour.
    pub const fn new(end: LinkEnd, node: usize, neighbour: u32) -> Self {
        Self { wire: end.link as u32 + 1, node: node as u32, neighbour }
    }
}
