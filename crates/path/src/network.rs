//! Forwarding of packets over links and routers, and the effects of faults.

use driftway_base::{Ecn, SignalKind};
use driftway_link::{DropReason, Enqueued, Frame, LinkEvent, Place, Side};
use driftway_route::DropReason as RouteDrop;
use driftway_route::feedback::{GivenUp, Name, Scheme};
use driftway_scenario::CutSignal;
use driftway_wire::{Body, Packet, Payload, UdpDatagram};

use crate::books::Drop;
use crate::drive::Drive;
use crate::faults::{Deed, Told};
use crate::nodes::address;
use crate::routes;
use crate::topology::Exit;

/// Payload stream of cross traffic, which is not verified.
pub const FOREIGN: u32 = u32::MAX;
/// Destination port of cross traffic (RFC 863).
pub const DISCARD: u16 = 9;

/// Polls a link, and requests its next wake-up.
pub(crate) fn poll_link<D: Drive>(d: &mut D, number: usize) {
    let now = d.now();
    while let Some(event) = d.path().links[number].poll(now) {
        match event {
            LinkEvent::Arrived { from, id } => {
                let node = d.path().topology.across(number, from);
                arrive(d, node, Exit { link: number, side: from.other() }, id);
            }
            LinkEvent::Lost { from, id, reason } => {
                let lost = d.lost(id, number, reason_of(reason));
                if let (Some(packet), DropReason::Partition) = (lost, reason) {
                    loses(d, Exit { link: number, side: from }, &packet);
                }
            }
        }
    }
    if let Some(at) = d.path().links[number].next_timeout() {
        d.wake_link(number, at);
    }
}

/// Handles a packet that arrives at a node over the node's side of a link: delivers or forwards it.
fn arrive<D: Drive>(d: &mut D, node: usize, over: Exit, id: u32) {
    let Some(packet) = d.packets().get(id) else { return };
    if let Some(about) = routes::notice(packet)
        && !routes::passes_router(d, node, over, id, about)
    {
        return;
    }
    let Some(packet) = d.packets().get(id) else { return };
    let to = packet.ip.destination;
    if d.path().topology.node_at(to) == Some(node) {
        d.delivered(node, id);
        return;
    }
    // RFC 1812 §5.3.1.
    let Some(packet) = d.packets().get(id) else { return };
    packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
    if packet.ip.ttl == 0 {
        if let Some(packet) = d.lost(id, node, Drop::TimeToLive) {
            let (now, reason) = (d.now(), RouteDrop::TimeToLive);
            let lost = GivenUp { packet: &packet, reason, link: None, number: None };
            d.path().feedback[node].on_given_up(now, &lost);
            d.path().stirred.push_back(node);
            routes::send_icmp(d, node, false);
        }
        return;
    }
    forward(d, node, id, Place::Tail);
}

/// Sends a new packet from a node.
pub fn send<D: Drive>(d: &mut D, node: usize, packet: Packet, place: Place) {
    let id = d.packets().make(packet);
    if d.path().topology.node_at(packet.ip.destination) == Some(node) {
        d.path().local.push_back((node, id));
    } else {
        forward(d, node, id, place);
    }
}

/// Forwards a packet from a node over the next of its links.
pub fn forward<D: Drive>(d: &mut D, node: usize, id: u32, place: Place) {
    let Some(packet) = d.packets().get(id).copied() else { return };
    let to = packet.ip.destination;
    let Some(goal) = d.path().topology.node_at(to) else {
        d.lost(id, node, Drop::Nobody);
        return;
    };
    let now = d.now();
    let found = if d.path().feedback[node].is_new() {
        d.path().topology.exit(node, goal, |_| true)
    } else {
        let path = d.path();
        let feedback = &mut path.feedback[node];
        if feedback.on_packet(now, to) {
            path.stirred.push_back(node);
        }
        let usable = |exit| feedback.is_usable(now, to, routes::way(exit));
        let may_try = |exit| feedback.may_try(&packet, routes::way(exit));
        let exit = path.topology.exit(node, goal, usable);
        exit.or_else(|| path.topology.exit(node, goal, may_try))
    };
    match found {
        Some(exit) => put_on(d, exit.link, exit.side, id, place),
        None if d.path().topology.ways(node, goal).next().is_some() => {
            routes::has_no_way(d, node, id)
        }
        None => {
            d.lost(id, node, Drop::Nobody);
        }
    }
}

/// Enqueues a packet on a link.
fn put_on<D: Drive>(d: &mut D, link: usize, side: Side, id: u32, place: Place) {
    let Some(bytes) = d.enters(id) else { return };
    let Some(packet) = d.packets().get(id) else { return };
    let frame = Frame { id, bytes, ecn_capable: packet.ip.ecn.is_capable() };
    // A burst marks its link once: the ready queue is no longer than the number of links.
    let (now, path) = (d.now(), d.path());
    if path.touched.back() != Some(&link) {
        path.touched.push_back(link);
    }
    match path.links[link].enqueue(now, side, frame, place) {
        Enqueued::Accepted { mark, pushed_out } => {
            if mark && let Some(packet) = d.packets().get(id) {
                packet.ip.ecn = Ecn::Ce;
            }
            if let Some(other) = pushed_out {
                d.lost(other, link, Drop::QueueOverflow);
            }
        }
        Enqueued::Dropped { reason } => {
            let dropped = d.lost(id, link, reason_of(reason));
            let node = d.path().topology.across(link, side.other());
            if d.path().topology.quenches(link)
                && let Some(packet) = dropped
            {
                d.path().feedback[node].on_overflow(now, &packet);
                d.path().stirred.push_back(node);
                routes::send_icmp(d, node, false);
            }
        }
        Enqueued::Refused => refuse(d, Exit { link, side }, id, place),
    }
}

/// Handles a packet that was on a link or queued for it when it was cut.
fn loses<D: Drive>(d: &mut D, exit: Exit, packet: &Packet) {
    let told = d.path().faults.iter().find_map(|fault| fault.cuts(exit.link));
    if told == Some(CutSignal::Rfn) && routes::fails_route(d, exit, packet) {
        routes::is_lost_on_link(d, exit, packet);
    }
}

/// Handles a packet for a link that is cut: its router may send a notification.
fn refuse<D: Drive>(d: &mut D, exit: Exit, id: u32, place: Place) {
    let link = exit.link;
    let told = d.path().faults.iter_mut().find_map(|fault| fault.signals(link));
    if told == Some(Told::RouteFailed)
        && let Some(packet) = d.packets().get(id).copied()
        && routes::fails_route(d, exit, &packet)
    {
        let node = d.path().topology.across(link, exit.side.other());
        forward(d, node, id, place);
        return;
    }
    let Some(packet) = d.lost(id, link, Drop::Unreachable) else { return };
    let node = d.path().topology.across(link, exit.side.other());
    if let Some(Told::Lost | Told::Unreachable) = told {
        let now = d.now();
        let lost =
            GivenUp { packet: &packet, reason: RouteDrop::LinkFailure, link: None, number: None };
        if let Some(icmp) = d.path().feedback[node].only(Name::Icmp) {
            icmp.on_given_up(now, &lost);
        }
        routes::send_icmp(d, node, told == Some(Told::Lost));
    }
}

/// Sends a signal, or drops it where it is generated.
pub(crate) fn send_signal<D: Drive>(d: &mut D, node: usize, signal: Packet, lost: bool) {
    if lost {
        let id = d.packets().make(signal);
        d.lost(id, node, Drop::SignalLoss);
    } else {
        send(d, node, signal, Place::Tail);
    }
}

pub(crate) fn schedule_fault<D: Drive>(d: &mut D, number: usize) {
    if let Some(at) = d.path().faults[number].next() {
        d.wake_fault(number, at);
    }
}

pub(crate) fn on_fault<D: Drive>(d: &mut D, number: usize) {
    let (now, path) = (d.now(), d.path());
    let mut deeds = std::mem::take(&mut path.deeds);
    path.faults[number].act(now, &mut deeds);
    let kind = d.path().faults[number].kind();
    for deed in deeds.drain(..) {
        commit(d, kind, deed);
    }
    d.path().deeds = deeds;
    schedule_fault(d, number);
}

fn commit<D: Drive>(d: &mut D, kind: &'static str, deed: Deed) {
    let now = d.now();
    match deed {
        Deed::Cut { link, queue, seen } => {
            d.path().cuts[link] += 1;
            d.path().links[link].partition(now, queue);
            mark(d, kind, link, true);
            if seen && d.path().cuts[link] == 1 {
                routes::is_seen(d, link, SignalKind::LinkDown);
            }
        }
        Deed::Fade { link, lead } => routes::is_seen(d, link, SignalKind::LinkFading { lead }),
        Deed::Heal { link, seen } => {
            d.path().cuts[link] -= 1;
            mark(d, kind, link, false);
            if d.path().cuts[link] == 0 {
                d.path().links[link].heal(now);
                routes::restores_routes(d, link);
                if seen {
                    routes::is_seen(d, link, SignalKind::LinkUp);
                }
                on_healed(d, link);
            }
        }
        Deed::Reorder { link, side, frames } => {
            d.path().links[link].front_next(side, frames);
            mark(d, kind, link, true);
        }
        Deed::Reverse { link, side, frames, at_most } => {
            d.path().links[link].reverse_next(now, side, frames, at_most);
            mark(d, kind, link, true);
        }
        Deed::Foreign { link, side, bytes } => foreign_packet(d, link, side, bytes),
        Deed::Rate { link, rate } => d.path().links[link].set_rate(now, rate),
        Deed::Delay { link, delay } => d.path().links[link].set_delay(now, delay),
        Deed::Flood { link, side, begins, marks } => {
            if marks {
                d.path().links[link].mark_all(side, begins);
            }
            mark(d, kind, link, begins);
        }
    }
    if let Deed::Cut { link, .. } | Deed::Heal { link, .. } | Deed::Reverse { link, .. } = deed {
        d.path().touched.push_back(link);
    }
}

/// Applies the changes that follow the end of a link's cut.
fn on_healed<D: Drive>(d: &mut D, link: usize) {
    let mut deeds = Vec::new();
    for number in 0..d.path().faults.len() {
        d.path().faults[number].on_healed(link, &mut deeds);
        let kind = d.path().faults[number].kind();
        for deed in deeds.drain(..) {
            commit(d, kind, deed);
        }
    }
}

fn mark<D: Drive>(d: &mut D, kind: &'static str, link: usize, begins: bool) {
    d.fault(kind, link as u32 + 1, begins);
}

/// Sends a packet of cross traffic over one hop.
fn foreign_packet<D: Drive>(d: &mut D, link: usize, side: Side, bytes: u32) {
    let (from, to) =
        (d.path().topology.across(link, side.other()), d.path().topology.across(link, side));
    // The configured size is that of the IP packet.
    let len = bytes.saturating_sub(driftway_wire::IPV4_HEADER + 8);
    let payload = Payload::new(FOREIGN, d.path().foreign, len);
    d.path().foreign += u64::from(len);
    let datagram = UdpDatagram { source_port: DISCARD, destination_port: DISCARD, payload };
    let packet = d.host(from).packet(address(to), Body::Udp(datagram));
    let id = d.packets().make(packet);
    put_on(d, link, side, id, Place::Tail);
}

fn reason_of(reason: DropReason) -> Drop {
    match reason {
        DropReason::QueueOverflow => Drop::QueueOverflow,
        DropReason::RedDrop => Drop::Red,
        DropReason::BitError => Drop::BitError,
        DropReason::Partition => Drop::Partition,
    }
}
