//! The interfaces of a capture: one for each node or end of a wire that sends, and those of lost packets.

use driftway_base::NodeId;
use driftway_net::LinkEnd;
use pcap_file::DataLink;

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

/// An interface of a capture.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaptureInterface {
    /// The frames that a node sends, with the name of the air if there are several.
    Node(NodeId, Option<String>),
    /// The packets that a node sends over a wire.
    Wire(WiredHop),
    /// Packets that were dropped, as frames.
    Lost,
    /// Packets that were dropped, without frames.
    LostOnWire,
}

impl CaptureInterface {
    /// Returns the link type of its packets, with Ethernet frames on wires or without.
    pub const fn link_type(&self, is_ethernet: bool) -> DataLink {
        match self {
            Self::Node(..) | Self::Lost => DataLink::IEEE802_11_RADIOTAP,
            Self::Wire(_) | Self::LostOnWire if is_ethernet => DataLink::ETHERNET,
            Self::Wire(_) | Self::LostOnWire => DataLink::RAW,
        }
    }

    /// Returns its name.
    pub fn name(&self) -> String {
        match self {
            Self::Node(node, None) => format!("node-{node}"),
            Self::Node(node, Some(air)) => format!("node-{node}-{air}"),
            Self::Wire(WiredHop { wire, node, .. }) => format!("node-{node}-wire-{wire}"),
            Self::Lost | Self::LostOnWire => "lost".to_owned(),
        }
    }

    /// Returns what its packets are, for readers.
    pub fn description(&self) -> String {
        match self {
            Self::Node(node, None) => format!("frames sent by node {node}"),
            Self::Node(node, Some(air)) => format!("frames sent by node {node} on air {air}"),
            Self::Wire(WiredHop { wire, node, neighbour }) => {
                format!("packets sent by node {node} to node {neighbour} over wire {wire}")
            }
            Self::Lost => "packets dropped in a node, not transmitted".to_owned(),
            Self::LostOnWire => "packets dropped in a node or on a wire".to_owned(),
        }
    }

    /// Returns the nodes that it involves.
    pub fn nodes(&self) -> [Option<NodeId>; 2] {
        match self {
            Self::Node(node, _) => [Some(*node), None],
            Self::Wire(WiredHop { node, neighbour, .. }) => [Some(*node), Some(*neighbour)],
            Self::Lost | Self::LostOnWire => [None, None],
        }
    }
}
