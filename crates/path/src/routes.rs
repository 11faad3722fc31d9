//! Feedback on a path: ICMP, and the stateful routers of chandran-1998 (RFN and RRN).

use driftway_base::{About, FailedLink, Ipv4Addr, Signal, SignalKind};
use driftway_link::{Place, Side};
use driftway_route::DropReason;
use driftway_route::feedback::{
    Buffer, Fate, Feedback, Flush, GivenUp, IcmpConfig, Name, Output, Passage, RfnConfig, Scheme,
    Setup, Way,
};
use driftway_scenario::{Path, RouterBuffer, Time};
use driftway_wire::{Body, IcmpMessage, Packet};

use crate::books::Drop;
use crate::drive::Drive;
use crate::faults::FaultAtWork;
use crate::network::{self, FOREIGN};
use crate::nodes::address;
use crate::topology::Exit;

/// Creates the feedback of each node, with all schemes that its faults may use.
pub(crate) fn feedback(path: &Path, nodes: usize) -> Vec<Feedback> {
    // Studies of paths assume an error message for each packet.
    let icmp =
        IcmpConfig { unreachable: true, time_exceeded: true, source_quench: true, per_second: 0 };
    let settings = path.routers.unwrap_or_default();
    let Time(believes) = settings.believes;
    let buffer = settings.buffer.map(|RouterBuffer { packets, flush }| Buffer {
        packets: packets as usize,
        flush: match flush {
            driftway_scenario::Flush::Rrn => Flush::Rrn,
            driftway_scenario::Flush::Route => Flush::Route,
        },
    });
    let schemes = [Setup::Icmp(icmp), Setup::Rfn(RfnConfig { believes, buffer })];
    (0..nodes).map(|node| Feedback::new(address(node), &schemes)).collect()
}

/// Returns the number of a node's side of a link, as its feedback counts next hops.
pub(crate) const fn way(exit: Exit) -> Way {
    let side = match exit.side {
        Side::A => 0,
        Side::B => 1,
    };
    Way((exit.link as u32) << 1 | side)
}

/// Returns the destination that an RFN or RRN concerns; `None` for other packets.
pub(crate) fn notice(packet: &Packet) -> Option<Ipv4Addr> {
    match &packet.body {
        Body::Icmp(
            IcmpMessage::RouteFailed { quoted, .. } | IcmpMessage::RouteRestored { quoted, .. },
        ) => Some(quoted.destination),
        _ => None,
    }
}

/// Handles an RFN or RRN about the route to `about`; returns true if it is forwarded.
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
    let passage = path.feedback[node].on_notice(now, &packet, way(over), &path.ways);
    if passage == Passage::Discard {
        d.lost(id, node, Drop::NoticeDiscarded);
    }
    passage == Passage::Forward
}

/// Records at the failure point that a cut link did not carry a packet. Returns false for packets
/// without feedback.
pub(crate) fn fails_route<D: Drive>(d: &mut D, exit: Exit, packet: &Packet) -> bool {
    // Cross traffic has no route.
    if packet.payload().stream == FOREIGN {
        return false;
    }
    let node = d.path().topology.across(exit.link, exit.side.other());
    let link = FailedLink {
        from: address(node),
        to: address(d.path().topology.across(exit.link, exit.side)),
    };
    if let Some(rfn) = d.path().feedback[node].only(Name::Rfn) {
        rfn.on_way_failed(packet.ip.destination, way(exit), link);
    }
    true
}

/// Notifies the source of a packet lost on a link, unless another route is usable.
pub(crate) fn is_lost_on_link<D: Drive>(d: &mut D, exit: Exit, packet: &Packet) {
    let (now, to) = (d.now(), packet.ip.destination);
    let path = d.path();
    let node = path.topology.across(exit.link, exit.side.other());
    let Some(goal) = path.topology.node_at(to) else { return };
    let feedback = &mut path.feedback[node];
    let mut ways = path.topology.ways(node, goal);
    if !ways.any(|exit| feedback.is_usable(now, to, way(exit)))
        && let Some(rfn) = feedback.only(Name::Rfn)
    {
        rfn.on_given_up(
            now,
            &GivenUp { packet, reason: DropReason::LinkFailure, link: None, number: None },
        );
        path.stirred.push_back(node);
    }
}

/// Handles a packet for which a router knows no usable route.
pub(crate) fn has_no_way<D: Drive>(d: &mut D, node: usize, id: u32) {
    let Some(packet) = d.packets().get(id).copied() else { return };
    let (now, path) = (d.now(), d.path());
    path.stirred.push_back(node);
    let lost =
        GivenUp { packet: &packet, reason: DropReason::NoRoute, link: None, number: Some(id) };
    let rfn = path.feedback[node].only(Name::Rfn);
    match rfn.map_or(Fate::Lost, |rfn| rfn.on_given_up(now, &lost)) {
        Fate::Kept => {}
        Fate::Lost => {
            d.lost(id, node, Drop::Unreachable);
        }
        Fate::Overflow => {
            d.lost(id, node, Drop::RouterBuffer);
        }
    }
}

/// Reports a restored link to the routers at both ends.
pub(crate) fn restores_routes<D: Drive>(d: &mut D, link: usize) {
    for side in [Side::A, Side::B] {
        let node = d.path().topology.across(link, side.other());
        d.path().feedback[node].on_way_restored(way(Exit { link, side }));
        d.path().stirred.push_back(node);
    }
}

/// Signals a change of a link to the hosts at both ends.
pub(crate) fn is_seen<D: Drive>(d: &mut D, link: usize, kind: SignalKind) {
    for side in [Side::A, Side::B] {
        let [here, there] = [side.other(), side].map(|side| d.path().topology.across(link, side));
        let failed_link = Some(FailedLink { from: address(here), to: address(there) });
        let about = About { failed_link, ..About::default() };
        d.signal(here, &Signal { kind, about });
    }
}

/// Sends the pending ICMP messages of a node immediately; `lost`: drops them where they are
/// generated.
pub(crate) fn send_icmp<D: Drive>(d: &mut D, node: usize, lost: bool) {
    while let Some(Output::Transmit(message)) =
        d.path().feedback[node].only(Name::Icmp).and_then(|icmp| icmp.poll())
    {
        let message = d.host(node).stamp(message);
        network::send_signal(d, node, message, lost);
    }
}

/// Sends the pending messages of a node's feedback, and forwards the packets that it releases.
pub(crate) fn serve_feedback<D: Drive>(d: &mut D, node: usize) {
    while let Some(output) = d.path().feedback[node].poll() {
        match output {
            Output::Transmit(message) => {
                let message = d.host(node).stamp(message);
                let lost = is_lost(d, &message);
                network::send_signal(d, node, message, lost);
            }
            Output::Signal(signal) => d.signal(node, &signal),
            // Every restored link is reported.
            Output::Watch(_) => {}
        }
    }
    while let Some(id) = d.path().feedback[node].poll_freed() {
        network::forward(d, node, id, Place::Tail);
    }
}

/// Returns true if an RFN or RRN is lost where it is generated, as configured by the fault that it
/// concerns.
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
