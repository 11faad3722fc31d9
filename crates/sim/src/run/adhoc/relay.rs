//! The path of packets between hosts, routing, interface queues and the MAC layer.

use driftway_base::{Ecn, FailedLink};
use driftway_link::{
    DropReason as QueueDrop, EnqueueOutcome, PacketClass as Rank, QueuePosition, QueuedPacket,
};
use driftway_radio::{FailReason, MacReport, OutgoingPacket};
use driftway_route::feedback::Scheme;
use driftway_route::{DropReason, LinkDestination, Output};
use driftway_wire::{Body, Packet, RoutedPacket};

use super::super::{Run, RunError};
use super::AdhocNetwork;
use super::arp::is_arp;
use super::routing_accounting::PacketCounts;
use crate::addresses::{address, node_at};
use crate::event_queue::EventClass;
use crate::fault_injection::FaultEffect;
use crate::fingerprint::{DELIVERED, RECEIVED};
use crate::log::Event;
use crate::packet_accounting::PacketDropReason;
use crate::results::RoutingResult;

impl AdhocNetwork {
    pub(super) fn routing_result(&self) -> RoutingResult {
        let accounting = &self.accounting;
        let mut result = RoutingResult {
            link_failures: accounting.link_failures,
            arp_failures: accounting.arp_failures,
            false_link_failures: accounting.false_link_failures,
            link_retries: accounting.link_retries,
            vain_link_retries: accounting.vain_link_retries,
            link_retries_sent: accounting.link_retries_sent,
            data_hops: accounting.hops.data,
            ack_hops: accounting.hops.acks,
            icmp_hops: accounting.hops.icmp,
            data_routed: accounting.routed.data,
            acks_routed: accounting.routed.acks,
            icmp_routed: accounting.routed.icmp,
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

impl Run<'_, AdhocNetwork> {
    /// Sends a packet of a node's host.
    pub(super) fn send_from_host(&mut self, node: usize, packet: Packet, place: QueuePosition) {
        if packet.ip.destination == address(node) {
            let id = self.packets.insert(RoutedPacket::plain(packet));
            self.loopback.push_back((node, id));
            return;
        }
        self.net.accounting.on_packet_in();
        self.net.nodes[node].routing.send(self.now, packet);
        match place {
            QueuePosition::Tail => self.mark_ready(node),
            QueuePosition::Front => self.drain_routing(node, QueuePosition::Front),
        }
    }

    /// Handles the output of a node's routing; packets that it sends go to this position of the queue.
    pub(super) fn drain_routing(&mut self, node: usize, place: QueuePosition) {
        while let Some(output) = self.net.nodes[node].routing.poll(self.now) {
            match output {
                Output::Transmit { packet, hop } => self.send_to_link(node, packet, hop, place),
                Output::Deliver(packet) => {
                    self.net.accounting.on_packet_out();
                    self.fingerprint.packet(self.now, node as u32, DELIVERED, &packet);
                    self.trace_delivered(node, &packet);
                    self.receive_local(node, &packet);
                }
                Output::Drop { packet, reason } => self.on_routing_drop(node, &packet, reason),
                Output::PurgeQueue(neighbour) => self.purge_queue(node, neighbour),
                Output::Signal(signal) => self.on_signal(node, &signal),
                Output::Duplicated => self.net.accounting.on_packet_in(),
                Output::RouteFound(to) => {
                    self.trace_route(node, to, Event::RouteFound);
                    self.on_route_found(node, to);
                }
                Output::RouteLost(to) => {
                    self.trace_route(node, to, Event::RouteLost);
                    self.on_route_lost(node, to);
                }
                Output::DiscoveryStarted(to) => self.on_route_search(node, to),
                Output::Salvaged { packet, salvage_count: times } => {
                    self.net.nodes[node].feedback.on_salvaged(self.now, &packet, times);
                    self.drain_feedback(node);
                }
            }
        }
        if let Some(at) = self.net.nodes[node].routing.next_timeout() {
            self.events.schedule(EventClass::Network, node as u32 + 1, at);
        }
    }

    /// Handles a packet that routing dropped.
    fn on_routing_drop(&mut self, node: usize, packet: &RoutedPacket, reason: DropReason) {
        if !packet.is_control() {
            self.net.accounting.on_packet_out();
        }
        self.record_drop(node, packet, drop_reason(reason));
        let link = self.net.failed_link.filter(|link| link.from == address(node));
        self.on_packet_given_up(
            node,
            &packet.packet,
            reason,
            link.filter(|_| is_link_related(reason)),
        );
    }

    /// Records the drop of a packet that has no handle.
    fn record_drop(&mut self, node: usize, packet: &RoutedPacket, why: PacketDropReason) {
        self.packets.count_drop(why);
        self.trace_dropped(node, None, packet, why);
        self.fingerprint.packet(self.now, node as u32, why as u8, &packet.packet);
    }

    /// Passes a packet from routing to ARP and the interface queue.
    fn send_to_link(
        &mut self,
        node: usize,
        mut packet: RoutedPacket,
        hop: LinkDestination,
        place: QueuePosition,
    ) {
        if is_network_message(&packet) {
            self.net.nodes[node].feedback.on_message_sent(self.now, &mut packet);
        }
        count_packet(&mut self.net.accounting.routed, &packet);
        if self.fault_injection.on_link_entry(&mut packet.packet) == FaultEffect::Leak {
            return;
        }
        if !packet.is_control() {
            self.net.accounting.on_packet_out();
        }
        let next_hop = match hop {
            LinkDestination::Broadcast => None,
            LinkDestination::Unicast(neighbour) => match node_at(neighbour, self.net.nodes.len()) {
                Some(neighbour) => Some(neighbour as u32),
                None => {
                    return self.record_drop(node, &packet, PacketDropReason::UnknownDestination);
                }
            },
        };
        if let Some(neighbour) = next_hop.filter(|_| packet.packet.ip.source == address(node)) {
            self.on_host_packet_sent(node, packet.packet.ip.destination, neighbour);
        }
        let id = self.packets.insert(packet);
        let item = queue_item(&packet, id, next_hop);
        if self.resolve_or_hold(node, &item, place) {
            self.enqueue_after_delay(node, item, place);
        }
    }

    /// Puts a packet into the interface queue after the link layer's processing delay.
    pub(super) fn enqueue_after_delay(
        &mut self,
        node: usize,
        item: QueuedPacket,
        place: QueuePosition,
    ) {
        if self.net.stack_delay.is_zero() {
            return self.enqueue_now(node, item, place);
        }
        let at = self.now + self.net.stack_delay;
        self.net.nodes[node].queue_arrivals.push_back((at, item, place));
        self.events.schedule(EventClass::Network, node as u32 + 1, at);
    }

    /// Handles an event of a node: packets that have reached its queue, and timers of ARP, probes and
    /// routing.
    pub(super) fn on_node_timer(&mut self, node: usize) {
        while let Some((at, item, place)) = self.net.nodes[node].queue_arrivals.front().copied() {
            if at > self.now {
                self.events.schedule(EventClass::Network, node as u32 + 1, at);
                break;
            }
            self.net.nodes[node].queue_arrivals.pop_front();
            self.enqueue_now(node, item, place);
        }
        self.on_arp_timer(node);
        self.send_due_probes(node);
        let routing = &mut self.net.nodes[node].routing;
        match routing.next_timeout() {
            Some(at) if at <= self.now => {
                routing.on_timeout(self.now);
                self.mark_ready(node);
            }
            Some(at) => self.events.schedule(EventClass::Network, node as u32 + 1, at),
            None => {}
        }
    }

    fn enqueue_now(&mut self, node: usize, item: QueuedPacket, place: QueuePosition) {
        let queue = &mut self.net.nodes[node].queue;
        let verdict = match place {
            QueuePosition::Tail if self.net.segment_queueing.inspects_segments() => {
                match self.enqueue_segment(node, item) {
                    Some(verdict) => verdict,
                    None => return,
                }
            }
            QueuePosition::Tail => queue.enqueue(self.now, item),
            QueuePosition::Front => queue.enqueue_at(self.now, item, place),
        };
        match verdict {
            EnqueueOutcome::Accepted { mark, evicted: pushed_out } => {
                if mark && let Some(packet) = self.packets.get(item.id) {
                    packet.packet.ip.ecn = Ecn::Ce;
                }
                self.trace_enqueued(node, item.id, item.next_hop);
                if let Some(other) = pushed_out {
                    self.on_queue_drop(node, other, None, PacketDropReason::QueueOverflow);
                }
            }
            EnqueueOutcome::Dropped { reason: QueueDrop::RedDrop } => {
                self.on_queue_drop(node, item.id, item.next_hop, PacketDropReason::Red);
            }
            EnqueueOutcome::Dropped { .. } | EnqueueOutcome::Refused => {
                self.on_queue_drop(node, item.id, item.next_hop, PacketDropReason::QueueOverflow);
            }
        }
        self.transmit_next(node);
    }

    /// Drops a packet from a node's queue.
    pub(super) fn on_queue_drop(
        &mut self,
        node: usize,
        id: u32,
        to: Option<u32>,
        why: PacketDropReason,
    ) {
        if let Some(lost) = self.drop_packet(node, id, to, why) {
            self.net.nodes[node].feedback.on_queue_overflow(self.now, &lost.packet);
            self.drain_feedback(node);
        }
    }

    /// Drops a packet that has a handle.
    pub(super) fn drop_packet(
        &mut self,
        node: usize,
        id: u32,
        to: Option<u32>,
        why: PacketDropReason,
    ) -> Option<RoutedPacket> {
        let packet = self.packets.record_drop(id, why)?;
        self.fingerprint.packet(self.now, node as u32, why as u8, &packet.packet);
        self.trace_dropped(node, to, &packet, why);
        Some(packet)
    }

    /// Passes a node's next queued packet to the MAC layer if it can accept one.
    fn transmit_next(&mut self, node: usize) {
        if !self.net.mac.is_free(node as u32) {
            return;
        }
        let Some(item) = self.net.nodes[node].queue.dequeue(self.now) else { return };
        self.transmit(node, OutgoingPacket { id: item.id, to: item.next_hop, bytes: item.bytes });
    }

    /// Passes a packet to the MAC layer, which must be able to accept it.
    pub(super) fn transmit(&mut self, node: usize, outgoing: OutgoingPacket) {
        self.trace_dequeued(node, outgoing.id, outgoing.to);
        if !self.net.mac.send(self.now, node as u32, outgoing) {
            let lost = format!("node {node} was to send two packets at once");
            self.error.get_or_insert(RunError::Conservation(lost));
        }
        self.schedule_mac();
    }

    /// Handles a report of the MAC layer.
    pub(super) fn on_mac_report(&mut self, report: MacReport) {
        match report {
            MacReport::Received { node, from, id, broadcast, .. } => {
                let Some(packet) = self.packets.get(id).copied() else { return };
                self.fingerprint.packet(self.now, node, RECEIVED, &packet.packet);
                self.trace_received(node, from, &packet);
                self.on_neighbour_heard(node, from);
                if self.receive_arp(node as usize, &packet, broadcast) {
                    return;
                }
                if !packet.is_control() {
                    self.net.accounting.on_packet_in();
                }
                if is_network_message(&packet) {
                    self.net.nodes[node as usize].feedback.on_message(self.now, &packet);
                    self.drain_feedback(node as usize);
                }
                let routing = &mut self.net.nodes[node as usize].routing;
                routing.on_packet(self.now, address(from as usize), packet);
                self.mark_ready(node as usize);
            }
            MacReport::Overheard { node, from, to, id, .. } => {
                self.on_neighbour_heard(node, from);
                let Some(packet) = self.packets.get(id).filter(|packet| !is_arp(packet)) else {
                    return;
                };
                let ends = (address(from as usize), address(to as usize));
                let routing = &mut self.net.nodes[node as usize].routing;
                if routing.on_overheard(self.now, ends.0, ends.1, packet) {
                    self.mark_ready(node as usize);
                }
            }
            MacReport::Sent { node, id, to, .. } => {
                self.on_frame_sent(node as usize, to);
                if let Some(packet) = self.packets.record_delivery(id) {
                    count_packet(&mut self.net.accounting.hops, &packet);
                }
                self.transmit_next(node as usize);
            }
            MacReport::Failed { node, id, to, reason, .. } => {
                if self.retry_link(node as usize, id, to) {
                    return;
                }
                self.on_link_failure(node as usize, id, to, Some(reason));
            }
        }
    }

    /// Handles a packet that a link layer failed to send. `reason` is `None` if ARP did not resolve
    /// the neighbour.
    pub(super) fn on_link_failure(
        &mut self,
        node: usize,
        id: u32,
        to: u32,
        reason: Option<FailReason>,
    ) {
        if self.packets.get(id).is_some_and(|packet| is_arp(packet)) {
            self.drop_packet(node, id, Some(to), PacketDropReason::Arp);
            return self.transmit_next(node);
        }
        let Some(packet) = self.packets.record_delivery(id) else { return };
        let in_range = self.net.mac.in_range(self.now, node as u32, to);
        self.trace_link_failure(node, to, &packet, reason, in_range);
        self.on_local_link_failure(node, packet.packet.ip.destination);
        let accounting = &mut self.net.accounting;
        match reason {
            Some(_) => accounting.link_failures += 1,
            None => accounting.arp_failures += 1,
        }
        accounting.false_link_failures += u64::from(in_range);
        self.on_neighbour_lost(node, to);
        let accounting = &mut self.net.accounting;
        if !packet.is_control() {
            accounting.on_packet_in();
        }
        let mut concerned = std::mem::take(&mut self.net.affected_packets);
        if !packet.is_control() {
            concerned.push(packet.packet);
        }
        let (now, packets) = (self.now, &mut self.packets);
        let mut messages = Vec::new();
        let super::Node { queue, routing, feedback, .. } = &mut self.net.nodes[node];
        routing.on_link_failure(now, address(to as usize), packet, &mut || {
            loop {
                let item = queue.dequeue_for(to)?;
                if packets.get(item.id).is_some_and(|packet| is_arp(packet)) {
                    messages.extend(packets.record_drop(item.id, PacketDropReason::Arp));
                    continue;
                }
                let packet = packets.record_delivery(item.id)?;
                if !packet.is_control() {
                    accounting.on_packet_in();
                    concerned.push(packet.packet);
                }
                return Some(packet);
            }
        });
        let link = FailedLink { from: address(node), to: address(to as usize) };
        feedback.on_link_failure(now, link, &concerned);
        concerned.clear();
        self.net.affected_packets = concerned;
        for message in messages {
            self.trace_dropped(node, Some(to), &message, PacketDropReason::Arp);
        }
        self.net.failed_link = Some(link);
        self.drain_routing(node, QueuePosition::Tail);
        self.net.failed_link = None;
        self.net.nodes[node].feedback.on_link_failure_end(now);
        self.drain_feedback(node);
        self.end_link_failure_trace();
        self.transmit_next(node);
    }

    /// Drops the packets queued for a neighbour. If routing still has a route to a packet's
    /// destination, the source is not notified.
    fn purge_queue(&mut self, node: usize, neighbour: driftway_base::Ipv4Addr) {
        let link = FailedLink { from: address(node), to: neighbour };
        let Some(neighbour) = node_at(neighbour, self.net.nodes.len()) else { return };
        while let Some(item) = self.net.nodes[node].queue.dequeue_for(neighbour as u32) {
            let dropped =
                self.drop_packet(node, item.id, item.next_hop, PacketDropReason::LinkFailure);
            let Some(packet) = dropped.map(|routed| routed.packet) else { continue };
            if !self.net.nodes[node].routing.has_route(packet.ip.destination) {
                self.on_packet_given_up(node, &packet, DropReason::LinkFailure, Some(link));
            }
        }
    }
}

/// The interface queue's entry for a packet.
pub(super) fn queue_item(packet: &RoutedPacket, id: u32, next_hop: Option<u32>) -> QueuedPacket {
    let ecn_capable = packet.packet.ip.ecn.is_capable();
    QueuedPacket { id, bytes: packet.len(), ecn_capable, next_hop, class: priority_class(packet) }
}

/// The class of a packet in a priority queue.
fn priority_class(packet: &RoutedPacket) -> Rank {
    match &packet.packet.body {
        Body::Aodv(_) | Body::NoNextHeader => Rank::Routing,
        Body::Tcp(segment) if segment.sequence_len() == 0 => Rank::Ack,
        Body::Tcp(_) | Body::Udp(_) | Body::Icmp(_) => Rank::Other,
    }
}

/// Counts a packet by its kind, unless it is a control packet of routing or ARP.
fn count_packet(counts: &mut PacketCounts, packet: &RoutedPacket) {
    match (priority_class(packet), &packet.packet.body) {
        (Rank::Routing, _) => {}
        (Rank::Ack, _) => counts.acks += 1,
        (_, Body::Icmp(_)) => counts.icmp += 1,
        (Rank::RealTime | Rank::Other, _) => counts.data += 1,
    }
}

/// True if a packet that the link layer returned was dropped because of that link.
const fn is_link_related(reason: DropReason) -> bool {
    use DropReason::{BadRoute, LinkFailure, NoRoute, SalvageLimit};
    matches!(reason, LinkFailure | NoRoute | SalvageLimit | BadRoute)
}

/// True for a message about the network: a control packet of routing, or ICMP.
const fn is_network_message(packet: &RoutedPacket) -> bool {
    packet.is_control() || matches!(packet.packet.body, Body::Icmp(_))
}

fn drop_reason(reason: DropReason) -> PacketDropReason {
    match reason {
        DropReason::NoRoute => PacketDropReason::NoRoute,
        DropReason::LinkFailure | DropReason::Unconfirmed => PacketDropReason::LinkFailure,
        DropReason::DiscoveryFailed => PacketDropReason::DiscoveryFailed,
        DropReason::TimeToLive => PacketDropReason::TimeToLive,
        DropReason::BufferFull => PacketDropReason::SendBufferFull,
        DropReason::BufferTimeout => PacketDropReason::SendBufferTimeout,
        DropReason::SalvageLimit => PacketDropReason::SalvageLimit,
        DropReason::Loop => PacketDropReason::Loop,
        DropReason::BadRoute => PacketDropReason::BadRoute,
        DropReason::RouteTooLong => PacketDropReason::RouteTooLong,
    }
}
