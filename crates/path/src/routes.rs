//! Routers with memory: chandran-1998's feedback at work on a path.

use base::{FailedLink, Ipv4Addr};
use link::{Place, Side};
use route::{Buffer, Config, Fate, Flush, Passage, Router, Way};
use scenario::{Path, RouterBuffer, Time};
use wire::{Body, IcmpMessage, Packet};

use crate::books::Drop;
use crate::drive::Drive;
use crate::faults::FaultAtWork;
use crate::network::{self, FOREIGN};
use crate::nodes::address;
use crate::topology::Exit;

/// A router for each host.
pub(crate) fn routers(path: &Path, nodes: usize) -> Vec<Router> {
    let settings = path.routers.unwrap_or_default();
    let Time(believes) = settings.believes;
    let buffer = settings.buffer.map(|RouterBuffer { packets, flush }| Buffer {
        packets: packets as usize,
        flush: match flush {
            scenario::Flush::Rrn => Flush::Rrn,
            scenario::Flush::Route => Flush::Route,
        },
    });
    (0..nodes).map(|node| Router::new(address(node), Config { believes, buffer })).collect()
}

/// A node's side of a link, as its router numbers it.
pub(crate) const fn way(exit: Exit) -> Way {
    let side = match exit.side {
        Side::A => 0,
        Side::B => 1,
    };
    Way((exit.link as u32) << 1 | side)
}

/// The destination that a packet speaks of, if it is an RFN or RRN.
pub(crate) fn notice(packet: &Packet) -> Option<Ipv4Addr> {
    match &packet.body {
        Body::Icmp(
            IcmpMessage::RouteFailed { quoted, .. } | IcmpMessage::RouteRestored { quoted, .. },
        ) => Some(quoted.destination),
        _ => None,
    }
}

/// An RFN or RRN about the way to `about` has come over a link: does it go on?
pub(crate) fn passes_router<D: Drive>(
    d: &mut D,
    node: usize,
    over: Exit,
    id: u32,
    about: Ipv4Addr,
) -> bool {
    let Some(packet) = d.packets().get(id).copied() else { return false };
    let (now, path) = (d.now(), d.path());
    path.ways.clear();
    if let Some(goal) = path.topology.node_at(about) {
        path.ways.extend(path.topology.ways(node, goal).map(way));
    }
    path.stirred.push_back(node);
    let passage = path.routers[node].on_notice(now, &packet, way(over), &path.ways);
    if passage == Passage::Discard {
        d.lost(id, node, Drop::NoticeDiscarded);
    }
    passage == Passage::Forward
}

/// The failure point: a link that is cut did not carry a packet. `false` if that is none that
/// routers care for.
pub(crate) fn fails_route<D: Drive>(d: &mut D, exit: Exit, packet: &Packet) -> bool {
    // Foreign packets belong to their hop.
    if packet.payload().stream == FOREIGN {
        return false;
    }
    let node = d.path().topology.across(exit.link, exit.side.other());
    let link = FailedLink {
        from: address(node),
        to: address(d.path().topology.across(exit.link, exit.side)),
    };
    d.path().routers[node].on_link_failure(packet.ip.destination, way(exit), link);
    true
}

/// The link has lost the packet: its source is told, unless there is another way.
pub(crate) fn is_lost_on_link<D: Drive>(d: &mut D, exit: Exit, packet: &Packet) {
    let (now, to) = (d.now(), packet.ip.destination);
    let path = d.path();
    let node = path.topology.across(exit.link, exit.side.other());
    let Some(goal) = path.topology.node_at(to) else { return };
    let router = &mut path.routers[node];
    let mut ways = path.topology.ways(node, goal);
    if !ways.any(|exit| router.is_usable(now, to, way(exit))) {
        router.on_loss(packet);
        path.stirred.push_back(node);
    }
}

/// A router knows that a packet has no way.
pub(crate) fn has_no_way<D: Drive>(d: &mut D, node: usize, id: u32) {
    let Some(packet) = d.packets().get(id).copied() else { return };
    d.path().stirred.push_back(node);
    match d.path().routers[node].on_no_way(id, &packet) {
        Fate::Kept => {}
        Fate::Refused => {
            d.lost(id, node, Drop::Unreachable);
        }
        Fate::Overflow => {
            d.lost(id, node, Drop::RouterBuffer);
        }
    }
}

/// A link carries again: the routers at both of its ends learn of a way.
pub(crate) fn restores_routes<D: Drive>(d: &mut D, link: usize) {
    for side in [Side::A, Side::B] {
        let node = d.path().topology.across(link, side.other());
        d.path().routers[node].on_link_restored(way(Exit { link, side }));
        d.path().stirred.push_back(node);
    }
}

/// Sends what a router has to say, and forwards anew what it has kept.
pub(crate) fn serve_router<D: Drive>(d: &mut D, node: usize) {
    while let Some(message) = d.path().routers[node].poll_transmit() {
        let message = d.host(node).stamp(message);
        let lost = is_lost(d, &message);
        network::send_signal(d, node, message, lost);
    }
    while let Some(id) = d.path().routers[node].poll_freed() {
        network::forward(d, node, id, Place::Tail);
    }
}

/// Is an RFN or RRN lost where it is made? The fault that it is about says so.
fn is_lost<D: Drive>(d: &mut D, message: &Packet) -> bool {
    let (link, restored) = match &message.body {
        Body::Icmp(IcmpMessage::RouteFailed { link, .. }) => (link, false),
        Body::Icmp(IcmpMessage::RouteRestored { link, .. }) => (link, true),
        _ => return false,
    };
    let [from, to] = [link.from, link.to].map(|end| d.path().topology.node_at(end));
    let (Some(from), Some(to)) = (from, to) else { return false };
    let Some(link) = d.path().topology.link_between([from, to]) else { return false };
    let lost = |fault: &mut FaultAtWork| fault.loses_notice(link, restored);
    d.path().faults.iter_mut().find_map(lost).unwrap_or(false)
}
