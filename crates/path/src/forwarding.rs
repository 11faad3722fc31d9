//! Forwarding of packets over links and routers, and the effects of faults.

use driftway_base::{Ecn, SignalKind};
use driftway_link::{DropReason, EnqueueOutcome, Frame, LinkEvent, QueuePosition, Side};
use driftway_route::DropReason as RouteDrop;
use driftway_route::feedback::{Scheme, SchemeName, UndeliverablePacket};
use driftway_scenario::PartitionSignal;
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use crate::addresses::address;
use crate::driver::PathDriver;
use crate::faults::{FaultAction, PartitionNotification};
use crate::packet_accounting::PacketDropReason;
use crate::route_feedback;
use crate::topology::LinkEnd;

/// Payload stream of cross traffic, which is not verified.
pub const CROSS_TRAFFIC_STREAM: u32 = u32::MAX;
/// Destination port of cross traffic (RFC 863).
pub const DISCARD_PORT: u16 = 9;

/// Polls a link, and requests its next wake-up.
pub(crate) fn poll_link<D: PathDriver>(d: &mut D, number: usize) {
    let now = d.now();
    while let Some(event) = d.path().links[number].poll(now) {
        match event {
            LinkEvent::Arrived { from, id } => {
                let node = d.path().topology.across(number, from);
                on_packet_at_node(d, node, LinkEnd { link: number, side: from.other() }, id);
            }
            LinkEvent::Lost { from, id, reason } => {
                let lost = d.on_lost(id, number, drop_reason(reason));
                if let (Some(packet), DropReason::Partition) = (lost, reason) {
                    on_packet_lost(d, LinkEnd { link: number, side: from }, &packet);
                }
            }
        }
    }
    if let Some(at) = d.path().links[number].next_timeout() {
        d.wake_link(number, at);
    }
}

/// Handles a packet that arrives at a node over the node's side of a link: delivers or forwards it.
fn on_packet_at_node<D: PathDriver>(d: &mut D, node: usize, over: LinkEnd, id: u32) {
    let Some(packet) = d.packets().get(id) else { return };
    if let Some(about) = route_feedback::notified_destination(packet)
        && !route_feedback::forwards_notice(d, node, over, id, about)
    {
        return;
    }
    let Some(packet) = d.packets().get(id) else { return };
    let to = packet.ip.destination;
    if d.path().topology.node_at(to) == Some(node) {
        d.on_delivered(node, id);
        return;
    }
    // RFC 1812 §5.3.1.
    let Some(packet) = d.packets().get(id) else { return };
    packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
    if packet.ip.ttl == 0 {
        if let Some(packet) = d.on_lost(id, node, PacketDropReason::TimeToLive) {
            let (now, reason) = (d.now(), RouteDrop::TimeToLive);
            let lost = UndeliverablePacket { packet: &packet, reason, link: None, packet_id: None };
            d.path().feedback[node].on_undeliverable(now, &lost);
            d.path().ready_feedback.push_back(node);
            route_feedback::send_icmp(d, node, false);
        }
        return;
    }
    forward(d, node, id, QueuePosition::Tail);
}

/// Sends a new packet from a node.
pub fn send<D: PathDriver>(d: &mut D, node: usize, packet: Packet, place: QueuePosition) {
    let id = d.packets().insert(packet);
    if d.path().topology.node_at(packet.ip.destination) == Some(node) {
        d.path().local_deliveries.push_back((node, id));
    } else {
        forward(d, node, id, place);
    }
}

/// Forwards a packet from a node over the next of its links.
pub fn forward<D: PathDriver>(d: &mut D, node: usize, id: u32, place: QueuePosition) {
    let Some(packet) = d.packets().get(id).copied() else { return };
    let to = packet.ip.destination;
    let Some(goal) = d.path().topology.node_at(to) else {
        d.on_lost(id, node, PacketDropReason::UnknownDestination);
        return;
    };
    let now = d.now();
    let found = if d.path().feedback[node].is_failure_free() {
        d.path().topology.choose_link(node, goal, |_| true)
    } else {
        let path = d.path();
        let feedback = &mut path.feedback[node];
        if feedback.on_packet(now, to) {
            path.ready_feedback.push_back(node);
        }
        let usable = |link_end| feedback.is_usable(now, to, route_feedback::next_hop_of(link_end));
        let may_try = |link_end| feedback.can_try(&packet, route_feedback::next_hop_of(link_end));
        let link_end = path.topology.choose_link(node, goal, usable);
        link_end.or_else(|| path.topology.choose_link(node, goal, may_try))
    };
    match found {
        Some(link_end) => enqueue_on_link(d, link_end.link, link_end.side, id, place),
        None if d.path().topology.candidate_links(node, goal).next().is_some() => {
            route_feedback::on_no_route(d, node, id)
        }
        None => {
            d.on_lost(id, node, PacketDropReason::UnknownDestination);
        }
    }
}

/// Enqueues a packet on a link.
fn enqueue_on_link<D: PathDriver>(
    d: &mut D,
    link: usize,
    side: Side,
    id: u32,
    place: QueuePosition,
) {
    let Some(bytes) = d.on_entering_link(id) else { return };
    let Some(packet) = d.packets().get(id) else { return };
    let frame = Frame { id, bytes, ecn_capable: packet.ip.ecn.is_capable() };
    // A burst marks its link once: the ready queue is no longer than the number of links.
    let (now, path) = (d.now(), d.path());
    if path.ready_links.back() != Some(&link) {
        path.ready_links.push_back(link);
    }
    match path.links[link].enqueue(now, side, frame, place) {
        EnqueueOutcome::Accepted { mark, evicted: pushed_out } => {
            if mark && let Some(packet) = d.packets().get(id) {
                packet.ip.ecn = Ecn::Ce;
            }
            if let Some(other) = pushed_out {
                d.on_lost(other, link, PacketDropReason::QueueOverflow);
            }
        }
        EnqueueOutcome::Dropped { reason } => {
            let dropped = d.on_lost(id, link, drop_reason(reason));
            let node = d.path().topology.across(link, side.other());
            if d.path().topology.sends_source_quench(link)
                && let Some(packet) = dropped
            {
                d.path().feedback[node].on_queue_overflow(now, &packet);
                d.path().ready_feedback.push_back(node);
                route_feedback::send_icmp(d, node, false);
            }
        }
        EnqueueOutcome::Refused => on_packet_refused(d, LinkEnd { link, side }, id, place),
    }
}

/// Handles a packet that was on a link or queued for it when it was cut.
fn on_packet_lost<D: PathDriver>(d: &mut D, link_end: LinkEnd, packet: &Packet) {
    let notification =
        d.path().active_faults.iter().find_map(|fault| fault.cut_signal(link_end.link));
    if notification == Some(PartitionSignal::Rfn)
        && route_feedback::on_route_failed(d, link_end, packet)
    {
        route_feedback::report_loss_on_link(d, link_end, packet);
    }
}

/// Handles a packet for a link that is cut: its router may send a notification.
fn on_packet_refused<D: PathDriver>(d: &mut D, link_end: LinkEnd, id: u32, place: QueuePosition) {
    let link = link_end.link;
    let notification =
        d.path().active_faults.iter_mut().find_map(|fault| fault.draw_notification(link));
    if notification == Some(PartitionNotification::RouteFailure)
        && let Some(packet) = d.packets().get(id).copied()
        && route_feedback::on_route_failed(d, link_end, &packet)
    {
        let node = d.path().topology.across(link, link_end.side.other());
        forward(d, node, id, place);
        return;
    }
    let Some(packet) = d.on_lost(id, link, PacketDropReason::Unreachable) else { return };
    let node = d.path().topology.across(link, link_end.side.other());
    if let Some(PartitionNotification::MessageLost | PartitionNotification::HostUnreachable) =
        notification
    {
        let now = d.now();
        let lost = UndeliverablePacket {
            packet: &packet,
            reason: RouteDrop::LinkFailure,
            link: None,
            packet_id: None,
        };
        if let Some(icmp) = d.path().feedback[node].scheme_mut(SchemeName::Icmp) {
            icmp.on_undeliverable(now, &lost);
        }
        route_feedback::send_icmp(
            d,
            node,
            notification == Some(PartitionNotification::MessageLost),
        );
    }
}

/// Sends a signal, or drops it where it is generated.
pub(crate) fn send_signal<D: PathDriver>(d: &mut D, node: usize, signal: Packet, lost: bool) {
    if lost {
        let id = d.packets().insert(signal);
        d.on_lost(id, node, PacketDropReason::SignalLoss);
    } else {
        send(d, node, signal, QueuePosition::Tail);
    }
}

pub(crate) fn schedule_fault<D: PathDriver>(d: &mut D, number: usize) {
    if let Some(at) = d.path().active_faults[number].next_instant() {
        d.wake_fault(number, at);
    }
}

pub(crate) fn on_fault<D: PathDriver>(d: &mut D, number: usize) {
    let (now, path) = (d.now(), d.path());
    let mut actions = std::mem::take(&mut path.pending_actions);
    path.active_faults[number].fire(now, &mut actions);
    let kind = d.path().active_faults[number].kind();
    for action in actions.drain(..) {
        apply_action(d, kind, action);
    }
    d.path().pending_actions = actions;
    schedule_fault(d, number);
}

fn apply_action<D: PathDriver>(d: &mut D, kind: &'static str, action: FaultAction) {
    let now = d.now();
    match action {
        FaultAction::Cut { link, queue, seen } => {
            d.path().cut_counts[link] += 1;
            d.path().links[link].partition(now, queue);
            report_fault(d, kind, link, true);
            if seen && d.path().cut_counts[link] == 1 {
                route_feedback::signal_link_ends(d, link, SignalKind::LinkDown);
            }
        }
        FaultAction::SignalFading { link, lead } => route_feedback::signal_link_ends(
            d,
            link,
            SignalKind::LinkFading { expected_lifetime: lead },
        ),
        FaultAction::Heal { link, signal_ends: seen } => {
            d.path().cut_counts[link] -= 1;
            report_fault(d, kind, link, false);
            if d.path().cut_counts[link] == 0 {
                d.path().links[link].heal(now);
                route_feedback::on_link_restored(d, link);
                if seen {
                    route_feedback::signal_link_ends(d, link, SignalKind::LinkUp);
                }
                on_link_healed(d, link);
            }
        }
        FaultAction::MoveToFront { link, side, frames } => {
            d.path().links[link].move_next_to_front(side, frames);
            report_fault(d, kind, link, true);
        }
        FaultAction::Reverse { link, side, frames, max_wait: at_most } => {
            d.path().links[link].reverse_next(now, side, frames, at_most);
            report_fault(d, kind, link, true);
        }
        FaultAction::CrossTraffic { link, side, bytes } => send_cross_traffic(d, link, side, bytes),
        FaultAction::Rate { link, rate } => d.path().links[link].set_rate(now, rate),
        FaultAction::Delay { link, delay } => d.path().links[link].set_delay(now, delay),
        FaultAction::Flood { link, side, begins, marks } => {
            if marks {
                d.path().links[link].force_marks(side, begins);
            }
            report_fault(d, kind, link, begins);
        }
    }
    if let FaultAction::Cut { link, .. }
    | FaultAction::Heal { link, .. }
    | FaultAction::Reverse { link, .. } = action
    {
        d.path().ready_links.push_back(link);
    }
}

/// Applies the changes that follow the end of a link's cut.
fn on_link_healed<D: PathDriver>(d: &mut D, link: usize) {
    let mut actions = Vec::new();
    for number in 0..d.path().active_faults.len() {
        d.path().active_faults[number].on_healed(link, &mut actions);
        let kind = d.path().active_faults[number].kind();
        for action in actions.drain(..) {
            apply_action(d, kind, action);
        }
    }
}

fn report_fault<D: PathDriver>(d: &mut D, kind: &'static str, link: usize, begins: bool) {
    d.on_fault_change(kind, link as u32 + 1, begins);
}

/// Sends a packet of cross traffic over one hop.
fn send_cross_traffic<D: PathDriver>(d: &mut D, link: usize, side: Side, bytes: u32) {
    let (from, to) =
        (d.path().topology.across(link, side.other()), d.path().topology.across(link, side));
    // The configured size is that of the IP packet.
    let len = bytes.saturating_sub(driftway_wire::IPV4_HEADER_LEN + 8);
    let payload = Payload::new(CROSS_TRAFFIC_STREAM, d.path().cross_traffic_bytes, len);
    d.path().cross_traffic_bytes += u64::from(len);
    let datagram =
        UdpDatagram { source_port: DISCARD_PORT, destination_port: DISCARD_PORT, payload };
    let packet = d.host(from).new_packet(address(to), Body::Udp(datagram));
    let id = d.packets().insert(packet);
    enqueue_on_link(d, link, side, id, QueuePosition::Tail);
}

fn drop_reason(reason: DropReason) -> PacketDropReason {
    match reason {
        DropReason::QueueOverflow => PacketDropReason::QueueOverflow,
        DropReason::RedDrop => PacketDropReason::Red,
        DropReason::BitError => PacketDropReason::BitError,
        DropReason::Partition => PacketDropReason::Partition,
    }
}
