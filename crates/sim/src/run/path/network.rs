//! Packets on their way: links, routers, and what faults do to them.

use base::Ecn;
use link::{DropReason, Enqueued, Frame, LinkEvent, Place, Side};
use scenario::CutSignal;
use wire::{Body, Packet, Payload, UdpDatagram, UnreachableCode};

use super::super::Run;
use super::super::hosts::DISCARD;
use super::{PathAtWork, routes};
use crate::books::Drop;
use crate::events::Class;
use crate::faults::{Deed, Told};
use crate::fingerprint::DELIVERED;
use crate::nodes::address;
use crate::sabotage::Crime;
use crate::topology::Exit;

/// The stream of foreign traffic, which nobody checks.
pub(super) const FOREIGN: u32 = u32::MAX;

impl Run<'_, PathAtWork> {
    pub(super) fn poll_link(&mut self, number: usize) {
        while let Some(event) = self.net.links[number].poll(self.now) {
            match event {
                LinkEvent::Arrived { from, id } => {
                    let node = self.net.topology.across(number, from);
                    self.arrive(node, Exit { link: number, side: from.other() }, id);
                }
                LinkEvent::Lost { from, id, reason } => {
                    let lost = self.drop(id, number, reason_of(reason));
                    if let (Some(packet), DropReason::Partition) = (lost, reason) {
                        self.loses(Exit { link: number, side: from }, &packet);
                    }
                }
            }
        }
        if let Some(at) = self.net.links[number].next_timeout() {
            self.events.wake(Class::Network, number as u32, at);
        }
    }

    /// A packet is at the node it was for.
    pub(super) fn deliver(&mut self, node: usize, id: u32) {
        if let Some(packet) = self.packets.deliver(id) {
            self.fingerprint.packet(self.now, node as u32, DELIVERED, &packet);
            self.arrived(node, &packet);
        }
    }

    /// A packet is lost at a place.
    pub(super) fn drop(&mut self, id: u32, place: usize, why: Drop) -> Option<Packet> {
        let packet = self.packets.drop(id, why)?;
        self.fingerprint.packet(self.now, place as u32, why as u8, &packet);
        Some(packet)
    }

    /// A packet is at a node, to which it came over the node's side of a link: for it, or to be
    /// sent on.
    fn arrive(&mut self, node: usize, over: Exit, id: u32) {
        let Some(packet) = self.packets.get(id) else { return };
        if let Some(about) = routes::notice(packet)
            && !self.passes_router(node, over, id, about)
        {
            return;
        }
        let Some(packet) = self.packets.get(id) else { return };
        if packet.ip.destination == address(node) {
            self.deliver(node, id);
            return;
        }
        // RFC 1812 §5.3.1
        packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
        if packet.ip.ttl == 0 {
            if let Some(packet) = self.drop(id, node, Drop::TimeToLive)
                && let Some(error) = self.hosts[node].time_exceeded(&packet)
            {
                self.send_on_path(node, error, Place::Tail);
            }
            return;
        }
        self.forward(node, id, Place::Tail);
    }

    /// A new packet leaves a node.
    pub(super) fn send_on_path(&mut self, node: usize, packet: Packet, place: Place) {
        let id = self.packets.make(packet);
        if packet.ip.destination == address(node) {
            self.local.push_back((node, id));
        } else {
            self.forward(node, id, place);
        }
    }

    pub(super) fn forward(&mut self, node: usize, id: u32, place: Place) {
        let Some(packet) = self.packets.get(id) else { return };
        let to = packet.ip.destination;
        let Some(goal) = self.net.topology.node_at(to) else {
            self.drop(id, node, Drop::Nobody);
            return;
        };
        let (now, router) = (self.now, &mut self.net.routers[node]);
        let found = if router.is_new() {
            self.net.topology.exit(node, goal, |_| true)
        } else {
            router.on_packet(now, to);
            self.net.stirred.push_back(node);
            let usable = |exit| router.is_usable(now, to, routes::way(exit));
            let may_try = |exit| router.may_try(packet, routes::way(exit));
            let exit = self.net.topology.exit(node, goal, usable);
            exit.or_else(|| self.net.topology.exit(node, goal, may_try))
        };
        match found {
            Some(exit) => self.put_on(exit.link, exit.side, id, place),
            None if self.net.topology.ways(node, goal).next().is_some() => {
                self.has_no_way(node, id)
            }
            None => {
                self.drop(id, node, Drop::Nobody);
            }
        }
    }

    /// Gives a packet to a link.
    fn put_on(&mut self, link: usize, side: Side, id: u32, place: Place) {
        let Some(packet) = self.packets.get(id) else { return };
        if self.sabotage.on_link(packet) == Crime::Leak {
            return;
        }
        let frame = Frame { id, bytes: packet.len(), ecn_capable: packet.ip.ecn.is_capable() };
        // A burst touches its link once: the queue stays as short as there are links.
        if self.net.touched.back() != Some(&link) {
            self.net.touched.push_back(link);
        }
        match self.net.links[link].enqueue(self.now, side, frame, place) {
            Enqueued::Accepted { mark, pushed_out } => {
                if mark && let Some(packet) = self.packets.get(id) {
                    packet.ip.ecn = Ecn::Ce;
                }
                if let Some(other) = pushed_out {
                    self.drop(other, link, Drop::QueueOverflow);
                }
            }
            Enqueued::Dropped { reason } => {
                let dropped = self.drop(id, link, reason_of(reason));
                let node = self.net.topology.across(link, side.other());
                if self.net.topology.quenches(link)
                    && let Some(quench) =
                        dropped.and_then(|packet| self.hosts[node].quench(&packet))
                {
                    self.send_on_path(node, quench, Place::Tail);
                }
            }
            Enqueued::Refused => self.refuse(Exit { link, side }, id, place),
        }
    }

    /// A packet was on a link, or waited for it, when it was cut.
    fn loses(&mut self, exit: Exit, packet: &Packet) {
        let told = self.net.faults.iter().find_map(|fault| fault.cuts(exit.link));
        if told == Some(CutSignal::Rfn) && self.fails_route(exit, packet) {
            self.is_lost_on_link(exit, packet);
        }
    }

    /// A packet came to a link that is cut: its router says so, or not.
    fn refuse(&mut self, exit: Exit, id: u32, place: Place) {
        let link = exit.link;
        let told = self.net.faults.iter_mut().find_map(|fault| fault.signals(link));
        if told == Some(Told::RouteFailed)
            && let Some(packet) = self.packets.get(id).copied()
            && self.fails_route(exit, &packet)
        {
            let node = self.net.topology.across(link, exit.side.other());
            self.forward(node, id, place);
            return;
        }
        let Some(packet) = self.drop(id, link, Drop::Unreachable) else { return };
        let node = self.net.topology.across(link, exit.side.other());
        let error = match told {
            None | Some(Told::Nothing | Told::RouteFailed) => return,
            Some(Told::Lost | Told::Unreachable) => {
                self.hosts[node].complain(&packet, UnreachableCode::Host)
            }
        };
        let Some(error) = error else { return };
        self.send_signal(node, error, told == Some(Told::Lost));
    }

    /// Sends a signal, or loses it where it is made.
    pub(super) fn send_signal(&mut self, node: usize, signal: Packet, lost: bool) {
        if lost {
            let id = self.packets.make(signal);
            self.drop(id, node, Drop::SignalLoss);
        } else {
            self.send_on_path(node, signal, Place::Tail);
        }
    }

    pub(super) fn schedule_fault(&mut self, number: usize) {
        if let Some(at) = self.net.faults[number].next() {
            self.events.wake(Class::Fault, number as u32, at);
        }
    }

    pub(super) fn on_fault(&mut self, number: usize) {
        let mut deeds = std::mem::take(&mut self.net.deeds);
        self.net.faults[number].act(self.now, &mut deeds);
        let kind = self.net.faults[number].kind();
        for deed in deeds.drain(..) {
            self.commit(kind, deed);
        }
        self.net.deeds = deeds;
        self.schedule_fault(number);
    }

    fn commit(&mut self, kind: &'static str, deed: Deed) {
        let now = self.now;
        match deed {
            Deed::Cut { link, queue } => {
                self.net.cuts[link] += 1;
                self.net.links[link].partition(now, queue);
                self.mark(kind, link, true);
            }
            Deed::Heal { link } => {
                self.net.cuts[link] -= 1;
                self.mark(kind, link, false);
                if self.net.cuts[link] == 0 {
                    self.net.links[link].heal(now);
                    self.restores_routes(link);
                    self.on_healed(link);
                }
            }
            Deed::Reorder { link, side, frames } => {
                self.net.links[link].front_next(side, frames);
                self.mark(kind, link, true);
            }
            Deed::Foreign { link, side, bytes } => self.foreign_packet(link, side, bytes),
            Deed::Rate { link, rate } => self.net.links[link].set_rate(now, rate),
            Deed::Delay { link, delay } => self.net.links[link].set_delay(now, delay),
            Deed::Mark { link, begins } => self.mark(kind, link, begins),
        }
        if let Deed::Cut { link, .. } | Deed::Heal { link } = deed {
            self.net.touched.push_back(link);
        }
    }

    /// The cut of a link is over: what changes with that changes.
    fn on_healed(&mut self, link: usize) {
        let mut deeds = Vec::new();
        for number in 0..self.net.faults.len() {
            self.net.faults[number].on_healed(link, &mut deeds);
            let kind = self.net.faults[number].kind();
            for deed in deeds.drain(..) {
                self.commit(kind, deed);
            }
        }
    }

    fn mark(&mut self, kind: &'static str, link: usize, begins: bool) {
        self.watch.fault(self.now, kind, link as u32 + 1, begins);
    }

    /// A packet that belongs to no flow goes over one hop.
    fn foreign_packet(&mut self, link: usize, side: Side, bytes: u32) {
        let (from, to) =
            (self.net.topology.across(link, side.other()), self.net.topology.across(link, side));
        // What is asked for is the size of the IP packet.
        let len = bytes.saturating_sub(wire::IPV4_HEADER + 8);
        let payload = Payload::new(FOREIGN, self.net.foreign, len);
        self.net.foreign += u64::from(len);
        let datagram = UdpDatagram { source_port: DISCARD, destination_port: DISCARD, payload };
        let packet = self.hosts[from].packet(address(to), Body::Udp(datagram));
        let id = self.packets.make(packet);
        self.put_on(link, side, id, Place::Tail);
    }
}

fn reason_of(reason: DropReason) -> Drop {
    match reason {
        DropReason::QueueOverflow => Drop::QueueOverflow,
        DropReason::RedDrop => Drop::Red,
        DropReason::BitError => Drop::BitError,
        DropReason::Partition => Drop::Partition,
    }
}
