//! A hop over a wire.

use driftway_base::NodeId;
use driftway_net::LinkEnd;

/// A hop over a wire, from its sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WiredHop {
    /// The number of the wire, from 1.
    pub wire: u32,
    /// The node at the sending end.
    pub node: NodeId,
    /// The node at the other end.
    pub neighbour: NodeId,
}

impl WiredHop {
    /// The hop from the node at this end of a link to its neighbour.
    pub const fn new(end: LinkEnd, node: NodeId, neighbour: NodeId) -> Self {
        Self { wire: end.link.number() + 1, node, neighbour }
    }
}
