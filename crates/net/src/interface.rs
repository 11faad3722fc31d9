//! Interfaces of nodes, and the ends of packets.

use driftway_base::{DropReason, LinkId, NodeId, PacketId, RadioId};
use driftway_link::{QueuePosition, Side};

/// An interface of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// An end of a wire.
    Wire(LinkEnd),
    /// A radio.
    Radio(RadioId),
}

/// A wired interface of a node: its side of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnd {
    /// The link.
    pub link: LinkId,
    /// Side of the node.
    pub side: Side,
}

impl LinkEnd {
    /// Returns the other end of the link.
    pub const fn across(self) -> Self {
        Self { link: self.link, side: self.side.other() }
    }
}

/// A packet that leaves a node by an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Its handle.
    pub id: PacketId,
    /// The next hop, if the interface has several; `None`: broadcast.
    pub next_hop: Option<NodeId>,
    /// Its position in the queue.
    pub place: QueuePosition,
}

/// The part of the network in which a packet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node, as the packet's destination or on the way between two interfaces.
    Node(NodeId),
    /// The routing protocol of a node.
    Routing(NodeId),
    /// An interface, and the next hop over it if it is known and the interface has several.
    Interface(Interface, Option<NodeId>),
}

impl Place {
    /// Returns the place of a packet at a radio, for this next hop if it is known.
    pub const fn at_radio(radio: RadioId, next_hop: Option<NodeId>) -> Self {
        Self::Interface(Interface::Radio(radio), next_hop)
    }
}

/// The end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has reached the host of its destination, or the gateway that splits its connection.
    Delivered,
    /// The link layer has sent it over the air: a neighbour that has received it has it now.
    Sent,
    /// It is dropped.
    Dropped(DropReason),
}
