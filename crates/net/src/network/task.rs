//! Work that waits until a host has reacted.

use driftway_base::{AirId, Ipv4Addr, LinkId, NodeId, PacketId, RadioId};
use driftway_link::QueuePosition;

/// A piece of pending work. The last one that was added is done first.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Handle the frames that a link has ended.
    PollLink { link: LinkId },
    /// Deliver a packet from a node's host to itself.
    DeliverLocally { node: NodeId, id: PacketId },
    /// Handle the output of a node's ARP and routing.
    ServeNode { node: NodeId },
    /// Poll a link after what came before.
    MarkLinkReady { link: LinkId },
    /// Apply the changes that follow the end of a link's cut.
    AfterHeal { link: LinkId },
    /// Apply the next planned action of a fault.
    ApplyFaultAction,
    /// Handle the reports of an air's MAC layer.
    Reports { air: AirId },
    /// Handle a received packet once the neighbour's signal has been.
    Accept { radio: RadioId, from: NodeId, id: PacketId },
    /// Pass a received packet to routing.
    Route { node: NodeId, from: NodeId, id: PacketId },
    /// Pass an overheard packet to routing.
    Overhear { node: NodeId, from: NodeId, to: NodeId, id: PacketId },
    /// End a packet that the MAC layer has sent.
    EndSent { radio: RadioId, id: PacketId },
    /// Pass a packet that the MAC layer failed to send to routing.
    FailLink { radio: RadioId, id: PacketId, to: NodeId },
    /// End the handling of a failed link by routing.
    EndLinkFailure { node: NodeId },
    /// Send the next packet of a radio's queue after a failed one.
    AfterFailure { radio: RadioId },
    /// Drop the packets queued for a neighbour.
    Purge { radio: RadioId, neighbour: NodeId },
    /// Handle the output of a radio's ARP.
    DrainArp { radio: RadioId },
    /// Handle the output of a node's routing.
    DrainRouting { node: NodeId, place: QueuePosition },
    /// Handle the output of a node's feedback.
    DrainFeedback { node: NodeId },
    /// Report a route to the feedback of a node.
    RestoreRoute { node: NodeId, to: Ipv4Addr },
    /// Signal a route discovery to the host.
    SignalDiscovery { node: NodeId, to: Ipv4Addr },
    /// Announce the route probes that are due, then call routing.
    ProbesAndRouting { node: NodeId },
    /// Call the routing of a node whose timeout may be due.
    RoutingTimer { node: NodeId },
}
