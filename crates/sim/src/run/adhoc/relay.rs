//! The path of packets between hosts, routing, interface queues and the MAC layer.

use driftway_base::{Ecn, FailedLink};
use driftway_link::{Class as Rank, DropReason as QueueDrop, Enqueued, Item, Place};
use driftway_radio::{FailReason, Outgoing, Report};
use driftway_route::feedback::Scheme;
use driftway_route::{DropReason, Hop, Output};
use driftway_wire::{Body, Packet, Routed};

use super::super::{Run, RunError};
use super::AdhocAtWork;
use super::arp::is_arp;
use super::ledger::Counts;
use crate::books::Drop;
use crate::events::Class;
use crate::fingerprint::{DELIVERED, RECEIVED};
use crate::log::Event;
use crate::nodes::{address, node_at};
use crate::results::RoutingResult;
use crate::sabotage::Crime;

impl AdhocAtWork {
    pub(super) fn routing_result(&self) -> RoutingResult {
        let ledger = &self.ledger;
        let mut result = RoutingResult {
            link_failures: ledger.link_failures,
            arp_failures: ledger.arp_failures,
            false_link_failures: ledger.false_link_failures,
            link_retries: ledger.link_retries,
            vain_link_retries: ledger.vain_link_retries,
            link_retries_sent: ledger.link_retries_sent,
            data_hops: ledger.hops.data,
            ack_hops: ledger.hops.acks,
            icmp_hops: ledger.hops.icmp,
            data_routed: ledger.routed.data,
            acks_routed: ledger.routed.acks,
            icmp_routed: ledger.routed.icmp,
            ..RoutingResult::default()
        };
        for node in &self.nodes {
            let stats = node.routing.stats();
            result.packets_sent += stats.packets_sent;
            result.bytes_sent += stats.bytes_sent;
            result.discoveries += stats.discoveries;
            result.failed_discoveries += stats.failed_discoveries;
            result.route_errors += stats.route_errors;
            result.notices += stats.notices;
            result.replies_from_cache += stats.replies_from_cache;
            result.salvaged += stats.salvaged;
            result.overheard += stats.overheard;
            result.nested_errors += stats.nested_errors;
            result.loss_notices += stats.loss_notices;
            result.passed_notices += stats.passed_notices;
            result.lost_notices += stats.lost_notices;
            result.resent_acks += stats.resent_acks;
        }
        result
    }
}

impl Run<'_, AdhocAtWork> {
    /// Sends a packet of a node's host.
    pub(super) fn send_from(&mut self, node: usize, packet: Packet, place: Place) {
        if packet.ip.destination == address(node) {
            let id = self.packets.make(Routed::plain(packet));
            self.local.push_back((node, id));
            return;
        }
        self.net.ledger.enters();
        self.net.nodes[node].routing.send(self.now, packet);
        match place {
            Place::Tail => self.stir(node),
            Place::Front => self.serve_routing(node, Place::Front),
        }
    }

    /// Handles the output of a node's routing; packets that it sends go to this position of the queue.
    pub(super) fn serve_routing(&mut self, node: usize, place: Place) {
        while let Some(output) = self.net.nodes[node].routing.poll(self.now) {
            match output {
                Output::Transmit { packet, hop } => self.enqueue(node, packet, hop, place),
                Output::Deliver(packet) => {
                    self.net.ledger.leaves();
                    self.fingerprint.packet(self.now, node as u32, DELIVERED, &packet);
                    self.tell_delivered(node, &packet);
                    self.receive(node, &packet);
                }
                Output::Drop { packet, reason } => self.give_up(node, &packet, reason),
                Output::Purge(neighbour) => self.purge(node, neighbour),
                Output::Signal(signal) => self.on_signal(node, &signal),
                Output::Copied => self.net.ledger.enters(),
                Output::RouteFound(to) => {
                    self.tell_route(node, to, Event::RouteFound);
                    self.route_found(node, to);
                }
                Output::RouteLost(to) => {
                    self.tell_route(node, to, Event::RouteLost);
                    self.route_lost(node, to);
                }
                Output::Searching(to) => self.searching(node, to),
                Output::Salvaged { packet, times } => {
                    self.net.nodes[node].feedback.on_salvaged(self.now, &packet, times);
                    self.serve_feedback(node);
                }
            }
        }
        if let Some(at) = self.net.nodes[node].routing.next_timeout() {
            self.events.wake(Class::Network, node as u32 + 1, at);
        }
    }

    /// Handles a packet that routing dropped.
    fn give_up(&mut self, node: usize, packet: &Routed, reason: DropReason) {
        if !packet.is_control() {
            self.net.ledger.leaves();
        }
        self.lose(node, packet, reason_of(reason));
        let link = self.net.failing.filter(|link| link.from == address(node));
        self.is_given_up(node, &packet.packet, reason, link.filter(|_| is_about_a_link(reason)));
    }

    /// Records the drop of a packet that has no handle.
    fn lose(&mut self, node: usize, packet: &Routed, why: Drop) {
        self.packets.note_drop(why);
        self.tell_dropped(node, None, packet, why);
        self.fingerprint.packet(self.now, node as u32, why as u8, &packet.packet);
    }

    /// Passes a packet from routing to ARP and the interface queue.
    fn enqueue(&mut self, node: usize, mut packet: Routed, hop: Hop, place: Place) {
        if is_message(&packet) {
            self.net.nodes[node].feedback.on_message_sent(self.now, &mut packet);
        }
        count(&mut self.net.ledger.routed, &packet);
        if self.sabotage.on_link(&mut packet.packet) == Crime::Leak {
            return;
        }
        if !packet.is_control() {
            self.net.ledger.leaves();
        }
        let next_hop = match hop {
            Hop::All => None,
            Hop::To(neighbour) => match node_at(neighbour, self.net.nodes.len()) {
                Some(neighbour) => Some(neighbour as u32),
                None => return self.lose(node, &packet, Drop::Nobody),
            },
        };
        if let Some(neighbour) = next_hop.filter(|_| packet.packet.ip.source == address(node)) {
            self.leaves_to(node, packet.packet.ip.destination, neighbour);
        }
        let id = self.packets.make(packet);
        let item = item_of(&packet, id, next_hop);
        if self.resolves(node, &item, place) {
            self.descend(node, item, place);
        }
    }

    /// Puts a packet into the interface queue after the link layer's processing delay.
    pub(super) fn descend(&mut self, node: usize, item: Item, place: Place) {
        if self.net.delay.is_zero() {
            return self.put_in_queue(node, item, place);
        }
        let at = self.now + self.net.delay;
        self.net.nodes[node].arriving.push_back((at, item, place));
        self.events.wake(Class::Network, node as u32 + 1, at);
    }

    /// Handles an event of a node: packets that have reached its queue, and timers of ARP, probes and
    /// routing.
    pub(super) fn on_node(&mut self, node: usize) {
        while let Some((at, item, place)) = self.net.nodes[node].arriving.front().copied() {
            if at > self.now {
                self.events.wake(Class::Network, node as u32 + 1, at);
                break;
            }
            self.net.nodes[node].arriving.pop_front();
            self.put_in_queue(node, item, place);
        }
        self.tick_arp(node);
        self.tick_seeker(node);
        let routing = &mut self.net.nodes[node].routing;
        match routing.next_timeout() {
            Some(at) if at <= self.now => {
                routing.on_timeout(self.now);
                self.stir(node);
            }
            Some(at) => self.events.wake(Class::Network, node as u32 + 1, at),
            None => {}
        }
    }

    fn put_in_queue(&mut self, node: usize, item: Item, place: Place) {
        let queue = &mut self.net.nodes[node].queue;
        let verdict = match place {
            Place::Tail if self.net.order.looks() => match self.put_in_order(node, item) {
                Some(verdict) => verdict,
                None => return,
            },
            Place::Tail => queue.enqueue(self.now, item),
            Place::Front => queue.enqueue_at(self.now, item, place),
        };
        match verdict {
            Enqueued::Accepted { mark, pushed_out } => {
                if mark && let Some(packet) = self.packets.get(item.id) {
                    packet.packet.ip.ecn = Ecn::Ce;
                }
                self.tell_enqueued(node, item.id, item.next_hop);
                if let Some(other) = pushed_out {
                    self.overflow(node, other, None, Drop::QueueOverflow);
                }
            }
            Enqueued::Dropped { reason: QueueDrop::RedDrop } => {
                self.overflow(node, item.id, item.next_hop, Drop::Red);
            }
            Enqueued::Dropped { .. } | Enqueued::Refused => {
                self.overflow(node, item.id, item.next_hop, Drop::QueueOverflow);
            }
        }
        self.feed(node);
    }

    /// Drops a packet from a node's queue.
    pub(super) fn overflow(&mut self, node: usize, id: u32, to: Option<u32>, why: Drop) {
        if let Some(lost) = self.drop_queued(node, id, to, why) {
            self.net.nodes[node].feedback.on_overflow(self.now, &lost.packet);
            self.serve_feedback(node);
        }
    }

    /// Drops a packet that has a handle.
    pub(super) fn drop_queued(
        &mut self,
        node: usize,
        id: u32,
        to: Option<u32>,
        why: Drop,
    ) -> Option<Routed> {
        let packet = self.packets.drop(id, why)?;
        self.fingerprint.packet(self.now, node as u32, why as u8, &packet.packet);
        self.tell_dropped(node, to, &packet, why);
        Some(packet)
    }

    /// Passes a node's next queued packet to the MAC layer if it can accept one.
    fn feed(&mut self, node: usize) {
        if !self.net.air.is_free(node as u32) {
            return;
        }
        let Some(item) = self.net.nodes[node].queue.take(self.now) else { return };
        self.hand_down(node, Outgoing { id: item.id, to: item.next_hop, bytes: item.bytes });
    }

    /// Passes a packet to the MAC layer, which must be able to accept it.
    pub(super) fn hand_down(&mut self, node: usize, outgoing: Outgoing) {
        self.tell_taken(node, outgoing.id, outgoing.to);
        if !self.net.air.send(self.now, node as u32, outgoing) {
            let lost = format!("node {node} was to send two packets at once");
            self.failed.get_or_insert(RunError::Books(lost));
        }
        self.wake_air();
    }

    /// Handles a report of the MAC layer.
    pub(super) fn on_report(&mut self, report: Report) {
        match report {
            Report::Received { node, from, id, broadcast, .. } => {
                let Some(packet) = self.packets.get(id).copied() else { return };
                self.fingerprint.packet(self.now, node, RECEIVED, &packet.packet);
                self.tell_received(node, from, &packet);
                self.neighbour_heard(node, from);
                if self.is_for_arp(node as usize, &packet, broadcast) {
                    return;
                }
                if !packet.is_control() {
                    self.net.ledger.enters();
                }
                if is_message(&packet) {
                    self.net.nodes[node as usize].feedback.on_message(self.now, &packet);
                    self.serve_feedback(node as usize);
                }
                let routing = &mut self.net.nodes[node as usize].routing;
                routing.on_packet(self.now, address(from as usize), packet);
                self.stir(node as usize);
            }
            Report::Overheard { node, from, to, id, .. } => {
                self.neighbour_heard(node, from);
                let Some(packet) = self.packets.get(id).filter(|packet| !is_arp(packet)) else {
                    return;
                };
                let ends = (address(from as usize), address(to as usize));
                let routing = &mut self.net.nodes[node as usize].routing;
                if routing.on_overheard(self.now, ends.0, ends.1, packet) {
                    self.stir(node as usize);
                }
            }
            Report::Sent { node, id, to, .. } => {
                self.sent_to(node as usize, to);
                if let Some(packet) = self.packets.deliver(id) {
                    count(&mut self.net.ledger.hops, &packet);
                }
                self.feed(node as usize);
            }
            Report::Failed { node, id, to, reason, .. } => {
                if self.sends_again(node as usize, id, to) {
                    return;
                }
                self.link_failed(node as usize, id, to, Some(reason));
            }
        }
    }

    /// Handles a packet that a link layer failed to send. `reason` is `None` if ARP did not resolve
    /// the neighbour.
    pub(super) fn link_failed(
        &mut self,
        node: usize,
        id: u32,
        to: u32,
        reason: Option<FailReason>,
    ) {
        if self.packets.get(id).is_some_and(|packet| is_arp(packet)) {
            self.drop_queued(node, id, Some(to), Drop::Arp);
            return self.feed(node);
        }
        let Some(packet) = self.packets.deliver(id) else { return };
        let in_range = self.net.air.in_range(self.now, node as u32, to);
        self.tell_link_failure(node, to, &packet, reason, in_range);
        self.on_own_link_failure(node, packet.packet.ip.destination);
        let ledger = &mut self.net.ledger;
        match reason {
            Some(_) => ledger.link_failures += 1,
            None => ledger.arp_failures += 1,
        }
        ledger.false_link_failures += u64::from(in_range);
        self.neighbour_lost(node, to);
        let ledger = &mut self.net.ledger;
        if !packet.is_control() {
            ledger.enters();
        }
        let mut concerned = std::mem::take(&mut self.net.concerned);
        if !packet.is_control() {
            concerned.push(packet.packet);
        }
        let (now, packets) = (self.now, &mut self.packets);
        let mut messages = Vec::new();
        let super::Node { queue, routing, feedback, .. } = &mut self.net.nodes[node];
        routing.on_link_failure(now, address(to as usize), packet, &mut || {
            loop {
                let item = queue.take_for(to)?;
                if packets.get(item.id).is_some_and(|packet| is_arp(packet)) {
                    messages.extend(packets.drop(item.id, Drop::Arp));
                    continue;
                }
                let packet = packets.deliver(item.id)?;
                if !packet.is_control() {
                    ledger.enters();
                    concerned.push(packet.packet);
                }
                return Some(packet);
            }
        });
        let link = FailedLink { from: address(node), to: address(to as usize) };
        feedback.on_link_failure(now, link, &concerned);
        concerned.clear();
        self.net.concerned = concerned;
        for message in messages {
            self.tell_dropped(node, Some(to), &message, Drop::Arp);
        }
        self.net.failing = Some(link);
        self.serve_routing(node, Place::Tail);
        self.net.failing = None;
        self.net.nodes[node].feedback.on_settled(now);
        self.serve_feedback(node);
        self.failure_is_told();
        self.feed(node);
    }

    /// Drops the packets queued for a neighbour. If routing still has a route to a packet's
    /// destination, the source is not notified.
    fn purge(&mut self, node: usize, neighbour: driftway_base::Ipv4Addr) {
        let link = FailedLink { from: address(node), to: neighbour };
        let Some(neighbour) = node_at(neighbour, self.net.nodes.len()) else { return };
        while let Some(item) = self.net.nodes[node].queue.take_for(neighbour as u32) {
            let dropped = self.drop_queued(node, item.id, item.next_hop, Drop::LinkFailure);
            let Some(packet) = dropped.map(|routed| routed.packet) else { continue };
            if !self.net.nodes[node].routing.knows_way(packet.ip.destination) {
                self.is_given_up(node, &packet, DropReason::LinkFailure, Some(link));
            }
        }
    }
}

/// The interface queue's entry for a packet.
pub(super) fn item_of(packet: &Routed, id: u32, next_hop: Option<u32>) -> Item {
    let ecn_capable = packet.packet.ip.ecn.is_capable();
    Item { id, bytes: packet.len(), ecn_capable, next_hop, class: rank_of(packet) }
}

/// The class of a packet in a priority queue.
fn rank_of(packet: &Routed) -> Rank {
    match &packet.packet.body {
        Body::Aodv(_) | Body::Nothing => Rank::Routing,
        Body::Tcp(segment) if segment.sequence_len() == 0 => Rank::Ack,
        Body::Tcp(_) | Body::Udp(_) | Body::Icmp(_) => Rank::Other,
    }
}

/// Counts a packet by its kind, unless it is a control packet of routing or ARP.
fn count(counts: &mut Counts, packet: &Routed) {
    match (rank_of(packet), &packet.packet.body) {
        (Rank::Routing, _) => {}
        (Rank::Ack, _) => counts.acks += 1,
        (_, Body::Icmp(_)) => counts.icmp += 1,
        (Rank::RealTime | Rank::Other, _) => counts.data += 1,
    }
}

/// True if a packet that the link layer returned was dropped because of that link.
const fn is_about_a_link(reason: DropReason) -> bool {
    use DropReason::{BadRoute, LinkFailure, NoRoute, SalvageLimit};
    matches!(reason, LinkFailure | NoRoute | SalvageLimit | BadRoute)
}

/// True for a message about the network: a control packet of routing, or ICMP.
const fn is_message(packet: &Routed) -> bool {
    packet.is_control() || matches!(packet.packet.body, Body::Icmp(_))
}

fn reason_of(reason: DropReason) -> Drop {
    match reason {
        DropReason::NoRoute => Drop::NoRoute,
        DropReason::LinkFailure | DropReason::Unconfirmed => Drop::LinkFailure,
        DropReason::DiscoveryFailed => Drop::DiscoveryFailed,
        DropReason::TimeToLive => Drop::TimeToLive,
        DropReason::BufferFull => Drop::SendBufferFull,
        DropReason::BufferTimeout => Drop::SendBufferTimeout,
        DropReason::SalvageLimit => Drop::SalvageLimit,
        DropReason::Loop => Drop::Loop,
        DropReason::BadRoute => Drop::BadRoute,
        DropReason::RouteTooLong => Drop::RouteTooLong,
    }
}
