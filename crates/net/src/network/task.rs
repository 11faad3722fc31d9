//! Work that waits until a host has reacted.

use driftway_base::Ipv4Addr;
use driftway_base::{AirId, LinkId, NodeId, PacketId, RadioId};
use driftway_link::QueuePosition;

use super::Network;

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

impl Network {
    pub(super) fn run_task(&mut self, task: Task) {
        match task {
            Task::PollLink { link } => self.poll_link(link),
            Task::MarkLinkReady { link } => self.work.ready_links.push_back(link),
            Task::DeliverLocally { node, id } => self.deliver_locally(node, id),
            Task::ServeNode { node } => self.serve_node(node),
            Task::AfterHeal { link } => self.after_heal(link),
            Task::ApplyFaultAction => self.apply_next_action(),
            Task::Reports { air } => self.handle_reports(air),
            Task::Accept { radio, from, id } => self.accept(radio, from, id),
            Task::Route { node, from, id } => self.route_received(node, from, id),
            Task::Overhear { node, from, to, id } => self.overhear(node, from, to, id),
            Task::EndSent { radio, id } => self.end_sent(radio, id),
            Task::FailLink { radio, id, to } => self.fail_link(radio, id, to),
            Task::EndLinkFailure { node } => self.end_link_failure(node),
            Task::AfterFailure { radio } => self.after_failure(radio),
            Task::Purge { radio, neighbour } => self.purge_next(radio, neighbour),
            Task::DrainArp { radio } => self.drain_arp(radio),
            Task::DrainRouting { node, place } => self.drain_routing(node, place),
            Task::DrainFeedback { node } => self.drain_feedback(node),
            Task::RestoreRoute { node, to } => self.restore_route(node, to),
            Task::SignalDiscovery { node, to } => self.signal_discovery(node, to),
            Task::ProbesAndRouting { node } => self.on_probe_and_routing_timers(node),
            Task::RoutingTimer { node } => self.on_routing_timer(node),
        }
    }
}
