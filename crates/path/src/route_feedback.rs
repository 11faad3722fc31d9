//! Feedback on a path: ICMP, and the stateful routers of chandran-1998 (RFN and RRN).

use driftway_base::{FailedLink, Ipv4Addr, Signal, SignalDetails, SignalKind};
use driftway_link::{QueuePosition, Side};
use driftway_route::DropReason;
use driftway_route::feedback::{
    BufferConfig, Feedback, FeedbackOutput, FlushTrigger, IcmpConfig, NextHop, NoticeAction,
    RfnConfig, Scheme, SchemeConfig, SchemeName, UndeliverableOutcome, UndeliverablePacket,
};
use driftway_scenario::{Path, RouterBuffer, Time};
use driftway_wire::{Body, IcmpMessage, Packet};

use crate::addresses::address;
use crate::driver::PathDriver;
use crate::faults::ActiveFault;
use crate::forwarding::{self, CROSS_TRAFFIC_STREAM};
use crate::packet_accounting::PacketDropReason;
use crate::topology::LinkEnd;

/// Creates the feedback of each node, with all schemes that its faults may use.
pub(crate) fn build_feedback(path: &Path, nodes: usize) -> Vec<Feedback> {
    // Studies of paths assume an error message for each packet.
    let icmp =
        IcmpConfig { unreachable: true, time_exceeded: true, source_quench: true, per_second: 0 };
    let settings = path.routers.unwrap_or_default();
    let Time(rfn_lifetime) = settings.rfn_lifetime;
    let buffer = settings.buffer.map(|RouterBuffer { packets, flush }| BufferConfig {
        max_packets: packets as usize,
        flush: match flush {
            driftway_scenario::BufferFlush::Rrn => FlushTrigger::Rrn,
            driftway_scenario::BufferFlush::Route => FlushTrigger::AnyRoute,
        },
    });
    let schemes = [SchemeConfig::Icmp(icmp), SchemeConfig::Rfn(RfnConfig { rfn_lifetime, buffer })];
    (0..nodes).map(|node| Feedback::new(address(node), &schemes)).collect()
}

/// Returns the number of a node's side of a link, as its feedback counts next hops.
pub(crate) const fn next_hop_of(link_end: LinkEnd) -> NextHop {
    let side = match link_end.side {
        Side::A => 0,
        Side::B => 1,
    };
    NextHop((link_end.link as u32) << 1 | side)
}

/// Returns the destination that an RFN or RRN concerns; `None` for other packets.
pub(crate) fn notified_destination(packet: &Packet) -> Option<Ipv4Addr> {
    match &packet.body {
        Body::Icmp(
            IcmpMessage::RouteFailed { quoted, .. } | IcmpMessage::RouteRestored { quoted, .. },
        ) => Some(quoted.destination),
        _ => None,
    }
}

/// Handles an RFN or RRN about the route to `about`; returns true if it is forwarded.
pub(crate) fn forwards_notice<D: PathDriver>(
    d: &mut D,
    node: usize,
    over: LinkEnd,
    id: u32,
    about: Ipv4Addr,
) -> bool {
    let Some(packet) = d.packets().get(id).copied() else { return false };
    let (now, path) = (d.now(), d.path());
    path.next_hops.clear();
    if let Some(goal) = path.topology.node_at(about) {
        path.next_hops.extend(path.topology.candidate_links(node, goal).map(next_hop_of));
    }
    path.ready_feedback.push_back(node);
    let passage = path.feedback[node].on_notice(now, &packet, next_hop_of(over), &path.next_hops);
    if passage == NoticeAction::Discard {
        d.on_lost(id, node, PacketDropReason::NoticeDiscarded);
    }
    passage == NoticeAction::Forward
}

/// Records at the failure point that a cut link did not carry a packet. Returns false for packets
/// without feedback.
pub(crate) fn on_route_failed<D: PathDriver>(
    d: &mut D,
    link_end: LinkEnd,
    packet: &Packet,
) -> bool {
    // Cross traffic has no route.
    if packet.payload().stream == CROSS_TRAFFIC_STREAM {
        return false;
    }
    let node = d.path().topology.across(link_end.link, link_end.side.other());
    let link = FailedLink {
        from: address(node),
        to: address(d.path().topology.across(link_end.link, link_end.side)),
    };
    if let Some(rfn) = d.path().feedback[node].scheme_mut(SchemeName::Rfn) {
        rfn.on_next_hop_failed(packet.ip.destination, next_hop_of(link_end), link);
    }
    true
}

/// Notifies the source of a packet lost on a link, unless another route is usable.
pub(crate) fn report_loss_on_link<D: PathDriver>(d: &mut D, link_end: LinkEnd, packet: &Packet) {
    let (now, to) = (d.now(), packet.ip.destination);
    let path = d.path();
    let node = path.topology.across(link_end.link, link_end.side.other());
    let Some(goal) = path.topology.node_at(to) else { return };
    let feedback = &mut path.feedback[node];
    let mut candidates = path.topology.candidate_links(node, goal);
    if !candidates.any(|link_end| feedback.is_usable(now, to, next_hop_of(link_end)))
        && let Some(rfn) = feedback.scheme_mut(SchemeName::Rfn)
    {
        rfn.on_undeliverable(
            now,
            &UndeliverablePacket {
                packet,
                reason: DropReason::LinkFailure,
                link: None,
                packet_id: None,
            },
        );
        path.ready_feedback.push_back(node);
    }
}

/// Handles a packet for which a router knows no usable route.
pub(crate) fn on_no_route<D: PathDriver>(d: &mut D, node: usize, id: u32) {
    let Some(packet) = d.packets().get(id).copied() else { return };
    let (now, path) = (d.now(), d.path());
    path.ready_feedback.push_back(node);
    let lost = UndeliverablePacket {
        packet: &packet,
        reason: DropReason::NoRoute,
        link: None,
        packet_id: Some(id),
    };
    let rfn = path.feedback[node].scheme_mut(SchemeName::Rfn);
    match rfn.map_or(UndeliverableOutcome::Dropped, |rfn| rfn.on_undeliverable(now, &lost)) {
        UndeliverableOutcome::Buffered => {}
        UndeliverableOutcome::Dropped => {
            d.on_lost(id, node, PacketDropReason::Unreachable);
        }
        UndeliverableOutcome::Overflow => {
            d.on_lost(id, node, PacketDropReason::RouterBuffer);
        }
    }
}

/// Reports a restored link to the routers at both ends.
pub(crate) fn on_link_restored<D: PathDriver>(d: &mut D, link: usize) {
    for side in [Side::A, Side::B] {
        let node = d.path().topology.across(link, side.other());
        d.path().feedback[node].on_next_hop_restored(next_hop_of(LinkEnd { link, side }));
        d.path().ready_feedback.push_back(node);
    }
}

/// Signals a change of a link to the hosts at both ends.
pub(crate) fn signal_link_ends<D: PathDriver>(d: &mut D, link: usize, kind: SignalKind) {
    for side in [Side::A, Side::B] {
        let [here, there] = [side.other(), side].map(|side| d.path().topology.across(link, side));
        let failed_link = Some(FailedLink { from: address(here), to: address(there) });
        let about = SignalDetails { failed_link, ..SignalDetails::default() };
        d.on_signal(here, &Signal { kind, details: about });
    }
}

/// Sends the pending ICMP messages of a node immediately; `lost`: drops them where they are
/// generated.
pub(crate) fn send_icmp<D: PathDriver>(d: &mut D, node: usize, lost: bool) {
    while let Some(FeedbackOutput::Transmit(message)) =
        d.path().feedback[node].scheme_mut(SchemeName::Icmp).and_then(|icmp| icmp.poll())
    {
        let message = d.host(node).assign_identification(message);
        forwarding::send_signal(d, node, message, lost);
    }
}

/// Sends the pending messages of a node's feedback, and forwards the packets that it releases.
pub(crate) fn poll_feedback<D: PathDriver>(d: &mut D, node: usize) {
    while let Some(output) = d.path().feedback[node].poll() {
        match output {
            FeedbackOutput::Transmit(message) => {
                let message = d.host(node).assign_identification(message);
                let lost = draw_notice_loss(d, &message);
                forwarding::send_signal(d, node, message, lost);
            }
            FeedbackOutput::Signal(signal) => d.on_signal(node, &signal),
            // Every restored link is reported.
            FeedbackOutput::Watch(_) => {}
        }
    }
    while let Some(id) = d.path().feedback[node].poll_released() {
        forwarding::forward(d, node, id, QueuePosition::Tail);
    }
}

/// Returns true if an RFN or RRN is lost where it is generated, as configured by the fault that it
/// concerns.
fn draw_notice_loss<D: PathDriver>(d: &mut D, message: &Packet) -> bool {
    let (link, restored) = match &message.body {
        Body::Icmp(IcmpMessage::RouteFailed { link, .. }) => (link, false),
        Body::Icmp(IcmpMessage::RouteRestored { link, .. }) => (link, true),
        _ => return false,
    };
    let [from, to] = [link.from, link.to].map(|end| d.path().topology.node_at(end));
    let (Some(from), Some(to)) = (from, to) else { return false };
    let Some(link) = d.path().topology.link_between([from, to]) else { return false };
    let lost = |fault: &mut ActiveFault| fault.draw_notice_loss(link, restored);
    d.path().active_faults.iter_mut().find_map(lost).unwrap_or(false)
}
