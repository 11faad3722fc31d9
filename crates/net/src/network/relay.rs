//! The path of packets over the air: between hosts, routing, the queues of radios, and MAC layers.

use driftway_base::{DropReason, Ecn};
use driftway_link::{Dequeued, EnqueueOutcome, PacketClass, QueuePosition, QueuedPacket};
use driftway_radio::{MacReport, OutgoingPacket};
use driftway_route::feedback::Scheme;
use driftway_route::{LinkDestination, Output as Routed};
use driftway_wire::{Body, Packet, RoutedPacket};

use super::resolution::is_arp;
use super::task::Task;
use super::{Air, Network, Radio};
use crate::addresses::{address, node_at};
use crate::air::accounting::PacketCounts;
use crate::digest::{DELIVERED, RECEIVED};
use crate::event::{Event, Recording};
use crate::output::Output;

impl Network {
    /// Passes a packet of a node's host, or one that came over a wire, to the node's routing.
    pub(super) fn send_over_air(&mut self, node: usize, packet: &Packet, place: QueuePosition) {
        self.accounting.on_packet_in();
        if let Some(routing) = &mut self.nodes[node].routing {
            routing.send(self.now, *packet);
        }
        match place {
            QueuePosition::Tail => self.mark_ready(node),
            // What follows in the queue must not pass it.
            QueuePosition::Front => while self.route_next(node, place) {},
        }
    }

    /// Handles the output of a node's routing; packets that it sends go to this position of the queue.
    pub(super) fn drain_routing(&mut self, node: usize, place: QueuePosition) {
        loop {
            let pending = self.tasks.len();
            if !self.route_next(node, place) {
                return;
            }
            if self.has_work_above(pending) {
                return self.tasks.insert(pending, Task::DrainRouting { node, place });
            }
        }
    }

    /// Handles the next output of a node's routing; false if there is none.
    fn route_next(&mut self, node: usize, place: QueuePosition) -> bool {
        let Some(routing) = &mut self.nodes[node].routing else { return false };
        // By reference, because packets are large.
        let mut polled = routing.poll(self.now);
        let Some(output) = &mut polled else {
            if let Some(at) = routing.next_timeout() {
                self.schedule_node(node, at);
            }
            return false;
        };
        match output {
            Routed::Transmit { packet, hop } => self.send_to_link(node, packet, *hop, place),
            Routed::Deliver(packet) => self.deliver_from_air(node, packet),
            Routed::Drop { packet, reason } => self.on_routing_drop(node, packet, *reason),
            Routed::PurgeQueue(neighbour) => self.purge_queue(node, *neighbour),
            Routed::Signal(signal) => {
                self.outputs.push_back(Output::Signal { node, signal: *signal });
            }
            Routed::Duplicated => self.accounting.on_packet_in(),
            Routed::RouteFound(to) => {
                self.record(|| Event::RouteFound { node, to: *to });
                self.on_route_found(node, *to);
            }
            Routed::RouteLost(to) => {
                self.record(|| Event::RouteLost { node, to: *to });
                self.on_lost_at_gateway(node, *to);
                self.on_route_lost(node, *to);
            }
            Routed::DiscoveryStarted(to) => self.on_discovery_started(node, *to),
            Routed::Salvaged { packet, salvage_count } => {
                self.nodes[node].feedback.on_salvaged(self.now, packet, *salvage_count);
                self.tasks.push(Task::DrainFeedback { node });
            }
        }
        true
    }

    /// Handles a packet that leaves routing at its last node on the air: the destination, or a
    /// gateway, which forwards it over a wire.
    fn deliver_from_air(&mut self, node: usize, packet: &Packet) {
        self.accounting.on_packet_out();
        self.on_heard_at_gateway(node, packet.ip.source);
        if self.topology.node_at(packet.ip.destination) == Some(node) {
            self.digest.add_packet(self.now, node as u32, DELIVERED, packet);
            self.record_delivery(node, packet);
            return self.deliver_to_host(node, packet);
        }
        if self.splitting_gateway == Some(node) && self.intercepts(node, packet) {
            return self.intercept(node, true, packet);
        }
        let id = self.packets.insert_plain(packet);
        if self.decrement_ttl(node, id) {
            self.forward_over_wire(node, id, QueuePosition::Tail);
        }
    }

    /// Handles a packet that routing dropped.
    fn on_routing_drop(&mut self, node: usize, packet: &RoutedPacket, reason: DropReason) {
        if !packet.is_control() {
            self.accounting.on_packet_out();
        }
        self.drop_without_handle(node, packet, reason);
        let link = self.failed_link.filter(|link| link.from == address(node));
        let link = link.filter(|_| is_link_related(reason));
        self.on_packet_given_up(node, &packet.packet, reason, link);
    }

    /// Drops a packet that has no handle.
    fn drop_without_handle(&mut self, node: usize, packet: &RoutedPacket, why: DropReason) {
        self.packets.count_drop(why);
        self.record_air_drop(node, None, packet, why);
        self.digest.add_packet(self.now, node as u32, why as u8, &packet.packet);
    }

    /// Passes a packet from routing to ARP and the queues of radios.
    fn send_to_link(
        &mut self,
        node: usize,
        packet: &mut RoutedPacket,
        hop: LinkDestination,
        place: QueuePosition,
    ) {
        if is_network_message(packet) {
            self.nodes[node].feedback.on_message_sent(self.now, packet);
        }
        count_packet(&mut self.accounting.counters.routed, packet);
        if !packet.is_control() {
            self.accounting.on_packet_out();
        }
        let neighbour = match hop {
            LinkDestination::Broadcast => None,
            LinkDestination::Unicast(neighbour) => match node_at(neighbour, self.nodes.len()) {
                Some(neighbour) => Some(neighbour as u32),
                None => {
                    let why = DropReason::UnknownDestination;
                    return self.drop_without_handle(node, packet, why);
                }
            },
        };
        let Some(neighbour) = neighbour else {
            // A broadcast leaves by all radios of the node.
            for n in 0..self.nodes[node].radios.len() {
                let radio = self.nodes[node].radios[n];
                let id = self.packets.insert(packet);
                self.enqueue_after_delay(radio, queue_item(packet, id, None), place);
            }
            return;
        };
        let Some(radio) = self.radio_towards(node, neighbour) else {
            return self.drop_without_handle(node, packet, DropReason::UnknownDestination);
        };
        if packet.packet.ip.source == address(node) || self.splitting_gateway == Some(node) {
            self.on_host_packet_sent(node, packet.packet.ip.destination, neighbour);
        }
        let id = self.packets.insert(packet);
        let item = queue_item(packet, id, Some(neighbour));
        if self.resolve_or_hold(radio, &item, place) {
            self.enqueue_after_delay(radio, item, place);
        }
    }

    /// Returns the node's radio on an air that a neighbour is on, too.
    fn radio_towards(&self, node: usize, neighbour: u32) -> Option<usize> {
        let own = self.nodes[node].radios.iter().copied();
        own.into_iter().find(|radio| {
            let air = &self.airs[self.radios[*radio].air];
            air.station_of(neighbour).is_some()
        })
    }

    /// Puts a packet into a radio's queue after the link layer's processing delay.
    pub(super) fn enqueue_after_delay(
        &mut self,
        radio: usize,
        item: QueuedPacket,
        place: QueuePosition,
    ) {
        let delay = self.radios[radio].stack_delay;
        if delay.is_zero() {
            return self.enqueue_now(radio, item, place);
        }
        let at = self.now + delay;
        self.radios[radio].queue_arrivals.push_back((at, item, place));
        self.schedule_node(self.radios[radio].node, at);
    }

    /// Handles a wake-up of a node: packets that have reached its queues, and timers of ARP, probes
    /// and routing.
    pub(super) fn on_node_timer(&mut self, node: usize) {
        let pending = self.tasks.len();
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            while let Some((at, item, place)) = self.radios[radio].queue_arrivals.front().copied() {
                if at > self.now {
                    self.schedule_node(node, at);
                    break;
                }
                self.radios[radio].queue_arrivals.pop_front();
                self.enqueue_now(radio, item, place);
            }
            self.on_arp_timer(radio);
        }
        if self.has_work_above(pending) {
            return self.tasks.insert(pending, Task::ProbesAndRouting { node });
        }
        self.on_probe_and_routing_timers(node);
    }

    /// Announces the probes of a node that are due, and calls its routing if that is.
    pub(super) fn on_probe_and_routing_timers(&mut self, node: usize) {
        let pending = self.tasks.len();
        self.announce_probes(node);
        if self.has_work_above(pending) {
            return self.tasks.insert(pending, Task::RoutingTimer { node });
        }
        self.on_routing_timer(node);
    }

    /// Calls a node's routing if its timeout is due.
    pub(super) fn on_routing_timer(&mut self, node: usize) {
        let Some(routing) = &mut self.nodes[node].routing else { return };
        match routing.next_timeout() {
            Some(at) if at <= self.now => {
                routing.on_timeout(self.now);
                self.mark_ready(node);
            }
            Some(at) => self.schedule_node(node, at),
            None => {}
        }
    }

    fn enqueue_now(&mut self, radio: usize, item: QueuedPacket, place: QueuePosition) {
        let outcome = match place {
            QueuePosition::Tail if self.segment_queueing.inspects_segments() => {
                match self.enqueue_segment(radio, item) {
                    Some(outcome) => outcome,
                    None => return,
                }
            }
            QueuePosition::Tail => self.radios[radio].queue.enqueue(self.now, item),
            QueuePosition::Front => self.radios[radio].queue.enqueue_at(self.now, item, place),
        };
        match outcome {
            EnqueueOutcome::Accepted { mark, evicted } => {
                if mark && let Some(packet) = self.packets.get(item.id) {
                    packet.packet.ip.ecn = Ecn::Ce;
                }
                if self.records_all() {
                    self.record_enqueued(radio, item.id, item.next_hop);
                }
                if let Some(other) = evicted {
                    self.on_queue_drop(radio, other, None, DropReason::QueueOverflow);
                }
            }
            EnqueueOutcome::Dropped { reason: DropReason::Red } => {
                self.on_queue_drop(radio, item.id, item.next_hop, DropReason::Red);
            }
            EnqueueOutcome::Dropped { .. } | EnqueueOutcome::Refused => {
                self.on_queue_drop(radio, item.id, item.next_hop, DropReason::QueueOverflow);
            }
        }
        self.transmit_next(radio);
    }

    /// Puts a packet into a queue that inspects segments; `None` if it was dropped as a duplicate.
    fn enqueue_segment(&mut self, radio: usize, item: QueuedPacket) -> Option<EnqueueOutcome> {
        let order = self.segment_queueing;
        let own = self.packets.get(item.id).map(|routed| routed.packet);
        let Self { packets, radios, now, .. } = self;
        let queue = &mut radios[radio].queue;
        let mut compared = |other: &QueuedPacket, is_so: fn(&Packet, &Packet) -> bool| {
            let other = packets.get(other.id).map(|routed| routed.packet);
            own.zip(other).is_some_and(|(own, other)| is_so(&own, &other))
        };
        let is_duplicate = crate::air::segment_order::is_duplicate;
        if order.discards_duplicates && queue.iter().any(|other| compared(&other, is_duplicate)) {
            self.on_queue_drop(radio, item.id, item.next_hop, DropReason::DuplicateInQueue);
            return None;
        }
        let is_before = crate::air::segment_order::is_before;
        Some(match order.sorted {
            true => queue.enqueue_before(*now, item, |other| compared(other, is_before)),
            false => queue.enqueue(*now, item),
        })
    }

    /// Drops a packet from a radio's queue.
    fn on_queue_drop(&mut self, radio: usize, id: u32, to: Option<u32>, why: DropReason) {
        let node = self.radios[radio].node;
        if let Some(lost) = self.drop_on_air(node, id, to, why) {
            self.nodes[node].feedback.on_queue_overflow(self.now, &lost.packet);
            self.tasks.push(Task::DrainFeedback { node });
        }
    }

    /// Drops a packet that has a handle.
    pub(super) fn drop_on_air(
        &mut self,
        node: usize,
        id: u32,
        to: Option<u32>,
        why: DropReason,
    ) -> Option<RoutedPacket> {
        let packet = self.packets.record_drop(id, why)?;
        self.digest.add_packet(self.now, node as u32, why as u8, &packet.packet);
        self.record_air_drop(node, to, &packet, why);
        Some(packet)
    }

    /// Passes a radio's next queued packet to the MAC layer if it can accept one.
    pub(super) fn transmit_next(&mut self, radio: usize) {
        let of = &mut self.radios[radio];
        if !self.airs[of.air].mac.can_accept(of.station) {
            return;
        }
        let mut dropped = Vec::new();
        let served = of.queue.serve(self.now, |item| dropped.push(item));
        for item in dropped {
            self.on_queue_drop(radio, item.id, item.next_hop, DropReason::Codel);
        }
        let Some(Dequeued { frame: item, mark }) = served else { return };
        if mark && let Some(packet) = self.packets.get(item.id) {
            packet.packet.ip.ecn = Ecn::Ce;
        }
        self.transmit(radio, OutgoingPacket { id: item.id, to: item.next_hop, bytes: item.bytes });
    }

    /// Passes a packet, whose receiver is a node, to the MAC layer, which must be able to accept it.
    pub(super) fn transmit(&mut self, radio: usize, outgoing: OutgoingPacket) {
        if self.records_all() {
            self.record_dequeued(radio, outgoing.id, outgoing.to);
        }
        let Radio { air, station, .. } = self.radios[radio];
        let to = outgoing.to.and_then(|node| self.airs[air].station_of(node));
        self.airs[air].mac.send(self.now, station, OutgoingPacket { to, ..outgoing });
        self.schedule_air(air);
    }

    /// Handles the reports of an air's MAC layer.
    pub(super) fn handle_reports(&mut self, number: usize) {
        let air = &mut self.airs[number];
        let mut reports = std::mem::take(&mut air.reports);
        let mut handled = std::mem::take(&mut air.reports_handled);
        let pending = self.tasks.len();
        while let Some(report) = reports.get(handled) {
            handled += 1;
            self.handle_report(number, report);
            if self.has_work_above(pending) {
                self.tasks.insert(pending, Task::Reports { air: number });
                let air = &mut self.airs[number];
                (air.reports, air.reports_handled) = (reports, handled);
                return;
            }
        }
        reports.clear();
        self.airs[number].reports = reports;
        self.schedule_air(number);
    }

    #[inline]
    fn handle_report(&mut self, air: usize, report: &MacReport) {
        let Air { radios, nodes, .. } = &self.airs[air];
        let radio = |station: u32| radios[station as usize];
        let node = |station: u32| nodes[station as usize];
        match *report {
            MacReport::Received { node: at, from, id, broadcast, .. } => {
                let (radio, from) = (radio(at), node(from));
                self.on_received(radio, from, id, broadcast);
            }
            MacReport::Overheard { node: at, from, to, id, .. } => {
                let (at, from, to) = (node(at) as usize, node(from), node(to));
                self.on_neighbour_heard(at, from);
                if self.outputs.is_empty() {
                    return self.overhear(at, from, to, id);
                }
                self.tasks.push(Task::Overhear { node: at, from, to, id });
            }
            MacReport::Sent { node: at, id, to, .. } => {
                let (radio, to) = (radio(at), to.map(node));
                self.on_frame_sent(radio, to);
                if self.outputs.is_empty() {
                    return self.end_sent(radio, id);
                }
                self.tasks.push(Task::EndSent { radio, id });
            }
            MacReport::Failed { node: at, id, to, reason, .. } => {
                let (radio, to) = (radio(at), node(to));
                if !self.retry_link(radio, id, to) {
                    self.on_link_failure(radio, id, to, Some(reason));
                }
            }
        }
    }

    #[inline]
    fn on_received(&mut self, radio: usize, from: u32, id: u32, broadcast: bool) {
        let node = self.radios[radio].node;
        let Some(packet) = self.packets.get(id) else { return };
        self.digest.add_packet(self.now, node as u32, RECEIVED, &packet.packet);
        if self.recording == Recording::All {
            let packet = *packet;
            self.record(|| Event::Received { node, from, packet });
        }
        self.on_neighbour_heard(node, from);
        if self.outputs.is_empty() {
            return self.accept(radio, from, id, broadcast);
        }
        self.tasks.push(Task::Accept { radio, from, id, broadcast });
    }

    /// Passes a received packet to ARP, or to feedback and routing.
    pub(super) fn accept(&mut self, radio: usize, from: u32, id: u32, broadcast: bool) {
        let node = self.radios[radio].node;
        let Some(packet) = self.packets.get(id) else { return };
        if is_arp(packet) {
            let packet = *packet;
            return self.receive_arp(radio, &packet, broadcast);
        }
        if !packet.is_control() {
            self.accounting.on_packet_in();
        }
        if !is_network_message(packet) {
            return self.route_received(node, from, id);
        }
        self.nodes[node].feedback.on_message(self.now, packet);
        self.tasks.push(Task::Route { node, from, id });
        self.drain_feedback(node);
    }

    #[inline]
    pub(super) fn route_received(&mut self, node: usize, from: u32, id: u32) {
        let Some(packet) = self.packets.get(id) else { return };
        if let Some(routing) = &mut self.nodes[node].routing {
            routing.on_packet(self.now, address(from as usize), *packet);
            self.mark_ready(node);
        }
    }

    #[inline]
    pub(super) fn overhear(&mut self, node: usize, from: u32, to: u32, id: u32) {
        let Some(packet) = self.packets.get(id).filter(|packet| !is_arp(packet)) else { return };
        let (from, to) = (address(from as usize), address(to as usize));
        if let Some(routing) = &mut self.nodes[node].routing
            && routing.on_overheard(self.now, from, to, packet)
        {
            self.mark_ready(node);
        }
    }

    /// Ends a packet that the MAC layer has sent, and sends the next.
    pub(super) fn end_sent(&mut self, radio: usize, id: u32) {
        if let Some(packet) = self.packets.record_delivery(id) {
            count_packet(&mut self.accounting.counters.hops, &packet);
        }
        self.transmit_next(radio);
    }

    /// Drops the packets queued for a neighbour.
    fn purge_queue(&mut self, node: usize, neighbour: driftway_base::Ipv4Addr) {
        let Some(neighbour) = node_at(neighbour, self.nodes.len()) else { return };
        let neighbour = neighbour as u32;
        for n in (0..self.nodes[node].radios.len()).rev() {
            self.tasks.push(Task::Purge { radio: self.nodes[node].radios[n], neighbour });
        }
    }

    /// Drops the next packet queued for a neighbour. If routing still has a route to the packet's
    /// destination, the source is not notified.
    pub(super) fn purge_next(&mut self, radio: usize, neighbour: u32) {
        let node = self.radios[radio].node;
        let Some(item) = self.radios[radio].queue.dequeue_for(neighbour) else { return };
        self.tasks.push(Task::Purge { radio, neighbour });
        let why = DropReason::LinkFailure;
        let Some(routed) = self.drop_on_air(node, item.id, item.next_hop, why) else { return };
        let to = routed.packet.ip.destination;
        if !self.nodes[node].routing.as_ref().is_some_and(|routing| routing.has_route(to)) {
            let link = super::link_of(node, neighbour);
            let reason = DropReason::LinkFailure;
            self.on_packet_given_up(node, &routed.packet, reason, Some(link));
        }
    }
}

/// The interface queue's entry for a packet.
pub(super) fn queue_item(packet: &RoutedPacket, id: u32, next_hop: Option<u32>) -> QueuedPacket {
    let ecn_capable = packet.packet.ip.ecn.is_capable();
    QueuedPacket { id, bytes: packet.len(), ecn_capable, next_hop, class: priority_class(packet) }
}

/// The class of a packet in a priority queue.
fn priority_class(packet: &RoutedPacket) -> PacketClass {
    match &packet.packet.body {
        Body::Aodv(_) | Body::NoNextHeader => PacketClass::Routing,
        Body::Tcp(segment) if segment.sequence_len() == 0 => PacketClass::Ack,
        Body::Tcp(_) | Body::Udp(_) | Body::Icmp(_) => PacketClass::Other,
    }
}

/// Counts a packet by its kind, unless it is a control packet of routing or ARP.
fn count_packet(counts: &mut PacketCounts, packet: &RoutedPacket) {
    match (priority_class(packet), &packet.packet.body) {
        (PacketClass::Routing, _) => {}
        (PacketClass::Ack, _) => counts.acks += 1,
        (_, Body::Icmp(_)) => counts.icmp += 1,
        (PacketClass::RealTime | PacketClass::Other, _) => counts.data += 1,
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
