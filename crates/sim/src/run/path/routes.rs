//! Routers with memory: chandran-1998's feedback at work on a path.

use base::{FailedLink, Ipv4Addr};
use link::{Place, Side};
use route::{Buffer, Config, Fate, Flush, Passage, Router, Way};
use scenario::{Path, RouterBuffer, Time};
use wire::{Body, IcmpMessage, Packet};

use super::super::Run;
use super::PathAtWork;
use super::network::FOREIGN;
use crate::books::Drop;
use crate::nodes::address;
use crate::topology::Exit;

/// A router for each host.
pub(super) fn routers(path: &Path, nodes: usize) -> Vec<Router> {
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
pub(super) const fn way(exit: Exit) -> Way {
    let side = match exit.side {
        Side::A => 0,
        Side::B => 1,
    };
    Way((exit.link as u32) << 1 | side)
}

/// The destination that a packet speaks of, if it is an RFN or RRN.
pub(super) fn notice(packet: &Packet) -> Option<Ipv4Addr> {
    match &packet.body {
        Body::Icmp(
            IcmpMessage::RouteFailed { quoted, .. } | IcmpMessage::RouteRestored { quoted, .. },
        ) => Some(quoted.destination),
        _ => None,
    }
}

impl Run<'_, PathAtWork> {
    /// An RFN or RRN about the way to `about` has come over a link: does it go on?
    pub(super) fn passes_router(
        &mut self,
        node: usize,
        over: Exit,
        id: u32,
        about: Ipv4Addr,
    ) -> bool {
        let Some(packet) = self.packets.get(id) else { return false };
        self.net.ways.clear();
        if let Some(goal) = self.net.topology.node_at(about) {
            self.net.ways.extend(self.net.topology.ways(node, goal).map(way));
        }
        self.net.stirred.push_back(node);
        let passage = self.net.routers[node].on_notice(self.now, packet, way(over), &self.net.ways);
        if passage == Passage::Discard {
            self.drop(id, node, Drop::NoticeDiscarded);
        }
        passage == Passage::Forward
    }

    /// The failure point: a link that is cut did not carry a packet. `false` if that is none that
    /// routers care for.
    pub(super) fn fails_route(&mut self, exit: Exit, packet: &Packet) -> bool {
        // Foreign packets belong to their hop.
        if packet.payload().stream == FOREIGN {
            return false;
        }
        let node = self.net.topology.across(exit.link, exit.side.other());
        let link = FailedLink {
            from: address(node),
            to: address(self.net.topology.across(exit.link, exit.side)),
        };
        self.net.routers[node].on_link_failure(packet.ip.destination, way(exit), link);
        true
    }

    /// The link has lost the packet: its source is told, unless there is another way.
    pub(super) fn is_lost_on_link(&mut self, exit: Exit, packet: &Packet) {
        let (now, to) = (self.now, packet.ip.destination);
        let node = self.net.topology.across(exit.link, exit.side.other());
        let Some(goal) = self.net.topology.node_at(to) else { return };
        let router = &mut self.net.routers[node];
        let mut ways = self.net.topology.ways(node, goal);
        if !ways.any(|exit| router.is_usable(now, to, way(exit))) {
            router.on_loss(packet);
            self.net.stirred.push_back(node);
        }
    }

    /// A router knows that a packet has no way.
    pub(super) fn has_no_way(&mut self, node: usize, id: u32) {
        let Some(packet) = self.packets.get(id) else { return };
        self.net.stirred.push_back(node);
        match self.net.routers[node].on_no_way(id, packet) {
            Fate::Kept => {}
            Fate::Refused => {
                self.drop(id, node, Drop::Unreachable);
            }
            Fate::Overflow => {
                self.drop(id, node, Drop::RouterBuffer);
            }
        }
    }

    /// A link carries again: the routers at both of its ends learn of a way.
    pub(super) fn restores_routes(&mut self, link: usize) {
        for side in [Side::A, Side::B] {
            let node = self.net.topology.across(link, side.other());
            self.net.routers[node].on_link_restored(way(Exit { link, side }));
            self.net.stirred.push_back(node);
        }
    }

    /// Sends what a router has to say, and forwards anew what it has kept.
    pub(super) fn serve_router(&mut self, node: usize) {
        while let Some(message) = self.net.routers[node].poll_transmit() {
            let message = self.hosts[node].stamp(message);
            let lost = self.is_lost(&message);
            self.send_signal(node, message, lost);
        }
        while let Some(id) = self.net.routers[node].poll_freed() {
            self.forward(node, id, Place::Tail);
        }
    }

    /// Is an RFN or RRN lost where it is made? The fault that it is about says so.
    fn is_lost(&mut self, message: &Packet) -> bool {
        let (link, restored) = match &message.body {
            Body::Icmp(IcmpMessage::RouteFailed { link, .. }) => (link, false),
            Body::Icmp(IcmpMessage::RouteRestored { link, .. }) => (link, true),
            _ => return false,
        };
        let [from, to] = [link.from, link.to].map(|end| self.net.topology.node_at(end));
        let (Some(from), Some(to)) = (from, to) else { return false };
        let Some(link) = self.net.topology.link_between([from, to]) else { return false };
        let lost = |fault: &mut crate::faults::FaultAtWork| fault.loses_notice(link, restored);
        self.net.faults.iter_mut().find_map(lost).unwrap_or(false)
    }
}
