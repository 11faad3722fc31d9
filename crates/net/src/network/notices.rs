//! Feedback about wires: ICMP, and the stateful routers of chandran-1998 (RFN and RRN).

use driftway_base::{
    DropReason, FailedLink, Ipv4Addr, LinkId, NodeId, PacketId, Signal, SignalDetails, SignalKind,
};
use driftway_link::{QueuePosition, Side};
use driftway_route::feedback::{
    FeedbackOutput, NextHop, NoticeAction, Scheme, SchemeName, UndeliverableOutcome,
    UndeliverablePacket,
};
use driftway_wire::{Body, IcmpMessage, Packet};

use super::{CROSS_TRAFFIC_STREAM, Network};
use crate::addresses::address;
use crate::interface::{LinkEnd, Place};

/// Returns the next hop over a node's end of a link.
pub(super) const fn next_hop_of(LinkEnd { link, side }: LinkEnd) -> NextHop {
    NextHop::Wire { link, from_second_end: matches!(side, Side::B) }
}

/// Returns the destination that an RFN or RRN concerns; `None` for other packets.
pub(super) fn notified_destination(packet: &Packet) -> Option<Ipv4Addr> {
    match &packet.body {
        Body::Icmp(
            IcmpMessage::RouteFailed { quoted, .. } | IcmpMessage::RouteRestored { quoted, .. },
        ) => Some(quoted.destination),
        _ => None,
    }
}

impl Network {
    /// Handles an RFN or RRN about the route to `about`; returns true if it is forwarded.
    pub(super) fn forwards_notice(
        &mut self,
        node: NodeId,
        over: LinkEnd,
        id: PacketId,
        about: Ipv4Addr,
    ) -> bool {
        let Some(packet) = self.packets.get(id).map(|routed| routed.packet) else { return false };
        self.next_hops.clear();
        if let Some(goal) = self.topology.node_at(about) {
            self.next_hops.extend(self.topology.candidate_links(node, goal).map(next_hop_of));
        }
        self.work.mark_feedback_ready(node);
        let feedback = &mut self.nodes[node].feedback;
        let action = feedback.on_notice(self.now, &packet, next_hop_of(over), &self.next_hops);
        if action == NoticeAction::Discard {
            self.drop(Place::Node(node), id, DropReason::NoticeDiscarded);
        }
        action == NoticeAction::Forward
    }

    /// Records at the failure point that a cut link did not carry a packet. Returns false for packets
    /// without feedback.
    pub(super) fn on_route_failed(&mut self, link_end: LinkEnd, packet: &Packet) -> bool {
        // Cross traffic has no route.
        if packet.payload().stream == CROSS_TRAFFIC_STREAM {
            return false;
        }
        let node = self.topology.node_of(link_end);
        let link = FailedLink { from: address(node), to: address(self.topology.across(link_end)) };
        let Some(rfn) = self.nodes[node].feedback.scheme_mut(SchemeName::Rfn) else { return false };
        rfn.on_next_hop_failed(packet.ip.destination, next_hop_of(link_end), link);
        true
    }

    /// Notifies the source of a packet lost on a link, unless another route is usable.
    pub(super) fn report_loss_on_link(&mut self, link_end: LinkEnd, packet: &Packet) {
        let (now, to) = (self.now, packet.ip.destination);
        let node = self.topology.node_of(link_end);
        let Some(goal) = self.topology.node_at(to) else { return };
        let feedback = &mut self.nodes[node].feedback;
        let mut candidates = self.topology.candidate_links(node, goal);
        if !candidates.any(|link_end| feedback.is_usable(now, to, next_hop_of(link_end)))
            && let Some(rfn) = feedback.scheme_mut(SchemeName::Rfn)
        {
            let reason = DropReason::LinkFailure;
            rfn.on_undeliverable(
                now,
                &UndeliverablePacket { packet, reason, link: None, packet_id: None },
            );
            self.work.mark_feedback_ready(node);
        }
    }

    /// Handles a packet for which a router knows no usable route.
    pub(super) fn on_no_route(&mut self, node: NodeId, id: PacketId) {
        let Some(packet) = self.packets.get(id).map(|routed| routed.packet) else { return };
        self.work.mark_feedback_ready(node);
        let lost = UndeliverablePacket {
            packet: &packet,
            reason: DropReason::NoRoute,
            link: None,
            packet_id: Some(id),
        };
        let rfn = self.nodes[node].feedback.scheme_mut(SchemeName::Rfn);
        match rfn.map_or(UndeliverableOutcome::Dropped, |rfn| rfn.on_undeliverable(self.now, &lost))
        {
            UndeliverableOutcome::Buffered => {}
            UndeliverableOutcome::Dropped => {
                self.drop(Place::Node(node), id, DropReason::Unreachable);
            }
            UndeliverableOutcome::Overflow => {
                self.drop(Place::Node(node), id, DropReason::RouterBuffer);
            }
        }
    }

    /// Reports a restored link to the routers at both ends.
    pub(super) fn on_link_restored(&mut self, link: LinkId) {
        for side in [Side::A, Side::B] {
            let link_end = LinkEnd { link, side };
            let node = self.topology.node_of(link_end);
            self.nodes[node].feedback.on_next_hop_restored(next_hop_of(link_end));
            self.work.mark_feedback_ready(node);
        }
    }

    /// Signals a change of a link to the hosts at both ends.
    pub(super) fn signal_link_ends(&mut self, link: LinkId, kind: SignalKind) {
        for side in [Side::A, Side::B] {
            let node = self.topology.node_of(LinkEnd { link, side });
            let there = self.topology.across(LinkEnd { link, side });
            let failed_link = Some(FailedLink { from: address(node), to: address(there) });
            let details = SignalDetails { failed_link, ..SignalDetails::default() };
            self.work.signal(node, Signal { kind, details });
        }
    }

    /// Sends the pending ICMP messages of a node immediately; `lost`: drops them where they are
    /// generated.
    pub(super) fn send_icmp(&mut self, node: NodeId, lost: bool) {
        while let Some(FeedbackOutput::Transmit(message)) =
            self.nodes[node].feedback.scheme_mut(SchemeName::Icmp).and_then(|icmp| icmp.poll())
        {
            self.send_notice(node, message, lost);
        }
    }

    /// Sends a message of a node's feedback, or drops it where it is generated.
    pub(super) fn send_notice(&mut self, node: NodeId, message: Packet, lost: bool) {
        if self.gateways.splits_at(node) && !lost && self.intercepts(node, &message) {
            return self.report_to_gateway(node, &message);
        }
        if lost {
            let id = self.create(node, message);
            self.drop(Place::Node(node), id, DropReason::SignalLoss);
        } else {
            self.send(node, message, QueuePosition::Tail);
        }
    }

    /// Returns true if an RFN or RRN is lost where it is generated, as configured by the fault that
    /// it concerns.
    pub(super) fn draw_notice_loss(&mut self, message: &Packet) -> bool {
        let (link, restored) = match &message.body {
            Body::Icmp(IcmpMessage::RouteFailed { link, .. }) => (link, false),
            Body::Icmp(IcmpMessage::RouteRestored { link, .. }) => (link, true),
            _ => return false,
        };
        let [from, to] = [link.from, link.to].map(|end| self.topology.node_at(end));
        let (Some(from), Some(to)) = (from, to) else { return false };
        let Some(link) = self.topology.link_between([from, to]) else { return false };
        self.faults.draw_notice_loss(link, restored)
    }
}
