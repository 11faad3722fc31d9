//! The state of the nodes and links of a running network.

use driftway_base::{LinkId, NodeId};

/// The state of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeStatus {
    /// Position (m); `None` without a radio.
    pub position: Option<(f64, f64)>,
    /// True if it has a radio that is on; `None` without a radio.
    pub is_radio_on: Option<bool>,
    /// Packets in its queues.
    pub queue_length: usize,
    /// Next hops, by the kernel to which they lead.
    pub next_hops: Vec<(NodeId, NodeId)>,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatus {
    /// The link.
    pub link: LinkId,
    /// Nodes at its ends.
    pub ends: [NodeId; 2],
    /// True if it is up.
    pub is_up: bool,
    /// Packets in the queues of the two ends.
    pub queue_lengths: [usize; 2],
}
