//! Reports of what happens in the network.

use driftway_base::{AirId, DropReason, Ipv4Addr, LinkId, NodeId};
use driftway_radio::FailReason;
use driftway_radio::dcf::FrameRecord;
use driftway_scenario::FaultKind;
use driftway_wire::RoutedPacket;

use crate::frame_body::FrameBody;
use crate::interface::Interface;

/// The events that the network reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recording {
    /// Faults alone.
    #[default]
    Faults,
    /// Faults, and the end of each packet: [`Event::Delivered`] and [`Event::Dropped`].
    Ends,
    /// Everything.
    All,
}

/// A failed attempt of a link layer to send a packet to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedSend {
    /// The neighbour.
    pub to: NodeId,
    /// The reason; `None` if ARP did not resolve the neighbour.
    pub reason: Option<FailReason>,
    /// The number of attempts, if the link layer repeats them.
    pub attempts: Option<u32>,
}

/// The place of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// A hop of a path, or a wire.
    Link(LinkId),
    /// The radios of a node.
    Node(NodeId),
}

impl FaultPlace {
    /// Returns its number in traces and logs: of a link from 1, of a node from 0.
    pub const fn number(self) -> u32 {
        match self {
            Self::Link(link) => link.number() + 1,
            Self::Node(node) => node.number(),
        }
    }
}

/// An event in the network, in order of occurrence. Times are those of [`Network::now`] when the
/// event is polled, except for frames.
///
/// [`Network::now`]: crate::Network::now
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "packets move by value, and nothing is allocated")]
pub enum Event {
    /// A fault begins or ends.
    Fault {
        /// The kind of the fault.
        kind: FaultKind,
        /// Its place.
        place: FaultPlace,
        /// True if it begins.
        begins: bool,
    },
    /// A packet reached its destination.
    Delivered {
        /// The destination.
        node: NodeId,
        /// The packet.
        packet: RoutedPacket,
        /// The initial time to live of packets of this network.
        initial_ttl: u8,
    },
    /// A packet was dropped.
    Dropped {
        /// The node; of a wire, that at the sending end.
        node: NodeId,
        /// The interface over which it was to leave; `None`: it had not come to one.
        interface: Option<Interface>,
        /// The next hop, if it was known.
        to: Option<NodeId>,
        /// The packet, or the message of ARP.
        body: FrameBody,
        /// The reason.
        reason: DropReason,
        /// The failed attempt to send it, if that is why.
        failed: Option<FailedSend>,
        /// True if no frame is on the air or about to be.
        is_air_idle: bool,
    },
    /// A packet entered the queue of an interface.
    Enqueued {
        /// The node.
        node: NodeId,
        /// The interface.
        interface: Interface,
        /// The next hop; `None`: broadcast.
        to: Option<NodeId>,
        /// The packet, or the message of ARP.
        body: FrameBody,
        /// The packets in the queue, this one included.
        queue_length: u32,
    },
    /// A packet left the queue of an interface: the link layer accepted it, or its transmission over a
    /// wire began.
    Dequeued {
        /// The node.
        node: NodeId,
        /// The interface.
        interface: Interface,
        /// The next hop; `None`: broadcast.
        to: Option<NodeId>,
        /// The packet, or the message of ARP.
        body: FrameBody,
        /// The packets that are left in the queue.
        queue_length: u32,
    },
    /// A node received a packet from a neighbour.
    Received {
        /// The node.
        node: NodeId,
        /// The interface by which it came.
        interface: Interface,
        /// The neighbour.
        from: NodeId,
        /// The packet, or the message of ARP.
        body: FrameBody,
    },
    /// Routing found a route.
    RouteFound {
        /// The node.
        node: NodeId,
        /// The destination.
        to: Ipv4Addr,
    },
    /// Routing lost a route.
    RouteLost {
        /// The node.
        node: NodeId,
        /// The destination.
        to: Ipv4Addr,
    },
    /// A link layer failed to send a packet.
    LinkFailed {
        /// The node.
        node: NodeId,
        /// The attempt.
        failed: FailedSend,
        /// The packet.
        packet: RoutedPacket,
        /// True if the neighbour was in range.
        in_range: bool,
    },
    /// A link layer failed to send a packet, and gets it again.
    LinkRetried {
        /// The node.
        node: NodeId,
        /// The neighbour.
        to: NodeId,
        /// The packet.
        packet: RoutedPacket,
        /// True if the neighbour was in range.
        in_range: bool,
    },
    /// A frame has ended.
    Frame {
        /// Its air.
        air: AirId,
        /// The node that sent it.
        from: NodeId,
        /// The node to which it is addressed; `None`: broadcast.
        to: Option<NodeId>,
        /// The frame, with the numbers of stations.
        frame: FrameRecord,
        /// The body of a data frame.
        body: Option<FrameBody>,
    },
}
