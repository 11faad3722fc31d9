//! The path of packets over the air: between hosts, routing, the queues of radios, and MAC layers.

use driftway_base::DropReason;
use driftway_link::QueuePosition;
use driftway_radio::MacReport;
use driftway_route::feedback::Scheme;
use driftway_route::{LinkDestination, Output as Routed};
use driftway_wire::{Body, Packet, RoutedPacket};

use super::resolution::is_arp;
use super::task::Task;
use super::{Air, Network};
use crate::addresses::{address, node_at};
use crate::air::counters::PacketCounts;
use crate::air::radio::QueueArrival;
use crate::digest::RECEIVED;
use crate::event::Event;
use crate::interface::{Interface, Outcome, Place};
use crate::output::Output;

impl Network {
    /// Passes a packet of a node's host, or one that came over a wire, to the node's routing.
    pub(super) fn send_over_air(&mut self, node: usize, packet: &Packet, place: QueuePosition) {
        if let Some(routing) = &mut self.nodes[node].routing {
            routing.send(self.now, *packet);
        }
        match place {
            QueuePosition::Tail => self.work.mark_ready(node),
            // What follows in the queue must not pass it.
            QueuePosition::Front => while self.route_next(node, place) {},
        }
    }

    /// Handles the output of a node's routing; packets that it sends go to this position of the queue.
    pub(super) fn drain_routing(&mut self, node: usize, place: QueuePosition) {
        loop {
            let pending = self.work.tasks.len();
            if !self.route_next(node, place) {
                return;
            }
            if self.work.has_work_above(pending) {
                return self.work.tasks.insert(pending, Task::DrainRouting { node, place });
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
            Routed::Drop { packet, reason } => {
                self.end_routed(Place::Routing(node), packet, Outcome::Dropped(*reason));
            }
            Routed::PurgeQueue(neighbour) => self.purge_queue(node, *neighbour),
            Routed::Signal(signal) => {
                self.work.outputs.push_back(Output::Signal { node, signal: *signal });
            }
            Routed::Duplicated => self.packets.create(),
            Routed::RouteFound(to) => {
                self.recorder.record(|| Event::RouteFound { node, to: *to });
                self.on_route_found(node, *to);
            }
            Routed::RouteLost(to) => {
                self.recorder.record(|| Event::RouteLost { node, to: *to });
                self.on_lost_at_gateway(node, *to);
                self.on_route_lost(node, *to);
            }
            Routed::DiscoveryStarted(to) => self.on_discovery_started(node, *to),
            Routed::Salvaged { packet, salvage_count } => {
                self.nodes[node].feedback.on_salvaged(self.now, packet, *salvage_count);
                self.work.tasks.push(Task::DrainFeedback { node });
            }
        }
        true
    }

    /// Handles a packet that leaves routing at its last node on the air: the destination, or a
    /// gateway, which forwards it over a wire.
    fn deliver_from_air(&mut self, node: usize, packet: &Packet) {
        self.on_heard_at_gateway(node, packet.ip.source);
        let routed = RoutedPacket::plain(*packet);
        if self.topology.node_at(packet.ip.destination) == Some(node) {
            self.end_routed(Place::Node(node), &routed, Outcome::Delivered);
            return self.deliver_to_host(node, packet);
        }
        if self.gateways.splitting == Some(node) && self.intercepts(node, packet) {
            self.end_routed(Place::Node(node), &routed, Outcome::Delivered);
            let packet = *packet;
            return self.work.outputs.push_back(Output::Intercepted {
                node,
                from_air: true,
                packet,
            });
        }
        let id = self.packets.insert_routed(&routed);
        if self.decrement_ttl(node, id) {
            self.forward_over_wire(node, id, QueuePosition::Tail);
        }
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
        count_packet(&mut self.counters.routed, &packet.packet);
        let unknown = Outcome::Dropped(DropReason::UnknownDestination);
        let neighbour = match hop {
            LinkDestination::Broadcast => None,
            LinkDestination::Unicast(neighbour) => match node_at(neighbour, self.nodes.len()) {
                Some(neighbour) => Some(neighbour as u32),
                None => return self.end_routed(Place::Node(node), packet, unknown),
            },
        };
        let Some(neighbour) = neighbour else {
            // A broadcast leaves by all radios of the node.
            for n in 0..self.nodes[node].radios.len() {
                let radio = self.nodes[node].radios[n];
                // Each but the first is a copy.
                if n > 0 && !packet.is_control() {
                    self.packets.create();
                }
                let id = self.packets.insert_routed(packet);
                self.enqueue_after_delay(radio, id, None, place);
            }
            return;
        };
        let radios = &self.nodes[node].radios;
        let Some(radio) = self.medium.towards(radios, neighbour) else {
            return self.end_routed(Place::Node(node), packet, unknown);
        };
        if packet.packet.ip.source == address(node) || self.gateways.splitting == Some(node) {
            self.on_host_packet_sent(node, packet.packet.ip.destination, neighbour);
        }
        let id = self.packets.insert_routed(packet);
        if self.resolve_or_hold(radio, id, neighbour, place) {
            self.enqueue_after_delay(radio, id, Some(neighbour), place);
        }
    }

    /// Handles a wake-up of a node: packets that have reached its queues, and timers of ARP, probes
    /// and routing.
    pub(super) fn on_node_timer(&mut self, node: usize) {
        let pending = self.work.tasks.len();
        for n in 0..self.nodes[node].radios.len() {
            let radio = self.nodes[node].radios[n];
            while let Some(arrival) = self.medium.radios[radio].queue_arrivals.front().copied() {
                if arrival.at > self.now {
                    self.schedule_node(node, arrival.at);
                    break;
                }
                self.medium.radios[radio].queue_arrivals.pop_front();
                let QueueArrival { id, next_hop, place, .. } = arrival;
                self.enqueue(Interface::Radio(radio), id, next_hop, place);
            }
            self.on_arp_timer(radio);
        }
        if self.work.has_work_above(pending) {
            return self.work.tasks.insert(pending, Task::ProbesAndRouting { node });
        }
        self.on_probe_and_routing_timers(node);
    }

    /// Announces the probes of a node that are due, and calls its routing if that is.
    pub(super) fn on_probe_and_routing_timers(&mut self, node: usize) {
        let pending = self.work.tasks.len();
        self.announce_probes(node);
        if self.work.has_work_above(pending) {
            return self.work.tasks.insert(pending, Task::RoutingTimer { node });
        }
        self.on_routing_timer(node);
    }

    /// Calls a node's routing if its timeout is due.
    pub(super) fn on_routing_timer(&mut self, node: usize) {
        let Some(routing) = &mut self.nodes[node].routing else { return };
        match routing.next_timeout() {
            Some(at) if at <= self.now => {
                routing.on_timeout(self.now);
                self.work.mark_ready(node);
            }
            Some(at) => self.schedule_node(node, at),
            None => {}
        }
    }

    /// Handles the reports of an air's MAC layer.
    pub(super) fn handle_reports(&mut self, number: usize) {
        let air = &mut self.medium.airs[number];
        let mut reports = std::mem::take(&mut air.reports);
        let mut handled = std::mem::take(&mut air.reports_handled);
        let pending = self.work.tasks.len();
        while let Some(report) = reports.get(handled) {
            handled += 1;
            self.handle_report(number, report);
            if self.work.has_work_above(pending) {
                self.work.tasks.insert(pending, Task::Reports { air: number });
                let air = &mut self.medium.airs[number];
                (air.reports, air.reports_handled) = (reports, handled);
                return;
            }
        }
        reports.clear();
        self.medium.airs[number].reports = reports;
        self.schedule_air(number);
    }

    #[inline]
    fn handle_report(&mut self, air: usize, report: &MacReport) {
        let Air { radios, nodes, .. } = &self.medium.airs[air];
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
                if self.work.outputs.is_empty() {
                    return self.overhear(at, from, to, id);
                }
                self.work.tasks.push(Task::Overhear { node: at, from, to, id });
            }
            MacReport::Sent { node: at, id, to, .. } => {
                let (radio, to) = (radio(at), to.map(node));
                self.on_frame_sent(radio, to);
                if self.work.outputs.is_empty() {
                    return self.end_sent(radio, id);
                }
                self.work.tasks.push(Task::EndSent { radio, id });
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
        let node = self.medium.radios[radio].node;
        if self.nodes[node].radios.len() > 1 {
            self.medium.on_heard(self.now, radio, from);
        }
        let Some(packet) = self.packets.get(id) else { return };
        self.digest.add_packet(self.now, node as u32, RECEIVED, &packet.packet);
        if self.recorder.records_all() {
            let packet = *packet;
            let interface = Interface::Radio(radio);
            self.recorder.record(|| Event::Received { node, interface, from, packet });
        }
        self.on_neighbour_heard(node, from);
        if self.work.outputs.is_empty() {
            return self.accept(radio, from, id, broadcast);
        }
        self.work.tasks.push(Task::Accept { radio, from, id, broadcast });
    }

    /// Passes a received packet to ARP, or to feedback and routing.
    pub(super) fn accept(&mut self, radio: usize, from: u32, id: u32, broadcast: bool) {
        let node = self.medium.radios[radio].node;
        let Some(packet) = self.packets.get(id) else { return };
        if is_arp(packet) {
            let packet = *packet;
            return self.receive_arp(radio, &packet, broadcast);
        }
        let (is_control, is_message) = (packet.is_control(), is_network_message(packet));
        if !is_control {
            self.packets.create();
        }
        if !is_message {
            return self.route_received(node, from, id);
        }
        if let Some(packet) = self.packets.get(id) {
            self.nodes[node].feedback.on_message(self.now, packet);
        }
        self.work.tasks.push(Task::Route { node, from, id });
        self.drain_feedback(node);
    }

    #[inline]
    pub(super) fn route_received(&mut self, node: usize, from: u32, id: u32) {
        let Some(packet) = self.packets.get(id) else { return };
        if let Some(routing) = &mut self.nodes[node].routing {
            routing.on_packet(self.now, address(from as usize), *packet);
            self.work.mark_ready(node);
        }
    }

    #[inline]
    pub(super) fn overhear(&mut self, node: usize, from: u32, to: u32, id: u32) {
        let Some(packet) = self.packets.get(id).filter(|packet| !is_arp(packet)) else { return };
        let (from, to) = (address(from as usize), address(to as usize));
        if let Some(routing) = &mut self.nodes[node].routing
            && routing.on_overheard(self.now, from, to, packet)
        {
            self.work.mark_ready(node);
        }
    }

    /// Ends a packet that the MAC layer has sent, and sends the next.
    pub(super) fn end_sent(&mut self, radio: usize, id: u32) {
        let at = Place::Interface(Interface::Radio(radio), None);
        if let Some(packet) = self.end(at, id, Outcome::PassedOn) {
            count_packet(&mut self.counters.hops, &packet);
        }
        self.transmit_next(radio);
    }

    /// Drops the packets queued for a neighbour.
    fn purge_queue(&mut self, node: usize, neighbour: driftway_base::Ipv4Addr) {
        let Some(neighbour) = node_at(neighbour, self.nodes.len()) else { return };
        let neighbour = neighbour as u32;
        for n in (0..self.nodes[node].radios.len()).rev() {
            self.work.tasks.push(Task::Purge { radio: self.nodes[node].radios[n], neighbour });
        }
    }

    /// Drops the next packet queued for a neighbour.
    pub(super) fn purge_next(&mut self, radio: usize, neighbour: u32) {
        let Some(item) = self.medium.radios[radio].queue.dequeue_for(neighbour) else { return };
        self.work.tasks.push(Task::Purge { radio, neighbour });
        let at = Place::Interface(Interface::Radio(radio), Some(neighbour));
        self.drop(at, item.id, DropReason::LinkFailure);
    }
}

/// Counts a packet by its kind, unless it is a control packet of routing or ARP.
fn count_packet(counts: &mut PacketCounts, packet: &Packet) {
    match &packet.body {
        Body::Aodv(_) | Body::NoNextHeader => {}
        Body::Tcp(segment) if segment.sequence_len() == 0 => counts.acks += 1,
        Body::Icmp(_) => counts.icmp += 1,
        Body::Tcp(_) | Body::Udp(_) => counts.data += 1,
    }
}

/// True for a message about the network: a control packet of routing, or ICMP.
const fn is_network_message(packet: &RoutedPacket) -> bool {
    packet.is_control() || matches!(packet.packet.body, Body::Icmp(_))
}
