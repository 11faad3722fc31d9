//! Reports of MAC layers: packets that were received, overheard, sent, or not sent.

use driftway_base::{AirId, NodeId, PacketId, RadioId, StationId};
use driftway_radio::MacReport;
use driftway_route::feedback::Scheme;

use super::Network;
use super::broadcast::is_of_neighbours;
use super::over_air::is_network_message;
use super::task::Task;
use crate::addresses::address;
use crate::digest::RECEIVED;
use crate::event::Event;
use crate::frame_body::FrameBody;
use crate::interface::{Interface, Outcome, Place};

impl Network {
    /// Handles the reports of an air's MAC layer.
    pub(super) fn handle_reports(&mut self, id: AirId) {
        let pending = self.work.pending();
        while let Some(report) = self.medium.air_mut(id).next_report() {
            self.handle_report(id, &report);
            if self.work.waits(pending, Task::Reports { air: id }) {
                return;
            }
        }
        self.schedule_air(id);
    }

    #[inline]
    fn handle_report(&mut self, air: AirId, report: &MacReport) {
        let air = &self.medium.airs()[air];
        let radio = |station: StationId| air.radio_of(station);
        let node = |station: StationId| air.node_of(station);
        match *report {
            MacReport::Received { station: at, from, id, .. } => {
                let (radio, from) = (radio(at), node(from));
                self.on_received(radio, from, id);
            }
            MacReport::Overheard { station: at, from, to, id, .. } => {
                let (at, from, to) = (node(at), node(from), node(to));
                self.on_neighbour_heard(at, from);
                if !self.work.has_requests() {
                    return self.overhear(at, from, to, id);
                }
                self.work.add(Task::Overhear { node: at, from, to, id });
            }
            MacReport::Sent { station: at, id, to, .. } => {
                let (radio, to) = (radio(at), to.map(node));
                self.on_frame_sent(radio, to);
                if !self.work.has_requests() {
                    return self.end_sent(radio, id);
                }
                self.work.add(Task::EndSent { radio, id });
            }
            MacReport::Failed { station: at, id, to, reason, .. } => {
                let (radio, to) = (radio(at), node(to));
                if !self.retry_link(radio, id, to) {
                    self.on_link_failure(radio, id, to, Some(reason));
                }
            }
        }
    }

    #[inline]
    fn on_received(&mut self, radio: RadioId, from: NodeId, id: PacketId) {
        let node = self.medium.radio(radio).node;
        if self.nodes[node].radios.len() > 1 {
            self.medium.radio_mut(radio).on_heard(self.now, from);
        }
        let Some(body) = self.packets.body(id) else { return };
        self.digest.add_body(self.now, node.number(), RECEIVED, body);
        if self.recorder.records_all() {
            let (body, interface) = (*body, Interface::Radio(radio));
            self.recorder.record(|| Event::Received { node, interface, from, body });
        }
        self.on_neighbour_heard(node, from);
        if !self.work.has_requests() {
            return self.accept(radio, from, id);
        }
        self.work.add(Task::Accept { radio, from, id });
    }

    /// Passes a received packet to ARP, to the host, or to feedback and routing.
    pub(super) fn accept(&mut self, radio: RadioId, from: NodeId, id: PacketId) {
        let node = self.medium.radio(radio).node;
        let packet = match self.packets.body(id) {
            Some(FrameBody::Ip(packet)) => packet,
            Some(FrameBody::Arp(message)) => {
                let message = *message;
                return self.receive_arp(radio, &message);
            }
            None => return,
        };
        if is_of_neighbours(packet) {
            let packet = *packet;
            let id = self.packets.duplicate(&packet);
            return self.deliver(node, id);
        }
        if !is_network_message(packet) {
            return self.route_received(node, from, id);
        }
        self.nodes[node].feedback.on_message(self.now, packet);
        self.work.add(Task::Route { node, from, id });
        self.drain_feedback(node);
    }

    #[inline]
    pub(super) fn route_received(&mut self, node: NodeId, from: NodeId, id: PacketId) {
        let Some(packet) = self.packets.receive(id) else { return };
        if let Some(routing) = &mut self.nodes[node].routing {
            routing.on_packet(self.now, address(from), *packet);
            self.work.mark_ready(node);
        }
    }

    #[inline]
    pub(super) fn overhear(&mut self, node: NodeId, from: NodeId, to: NodeId, id: PacketId) {
        let Some(packet) = self.packets.get(id) else { return };
        let (from, to) = (address(from), address(to));
        if let Some(routing) = &mut self.nodes[node].routing
            && routing.on_overheard(self.now, from, to, packet)
        {
            self.work.mark_ready(node);
        }
    }

    /// Ends a packet that the MAC layer has sent, and sends the next.
    pub(super) fn end_sent(&mut self, radio: RadioId, id: PacketId) {
        self.end(Place::at_radio(radio, None), id, Outcome::Sent);
        self.transmit_next(radio);
    }
}
