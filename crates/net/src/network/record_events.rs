//! Recording of events. Where nothing is recorded, nothing is done or kept.

use driftway_base::{AirId, DropReason, NodeId, PacketId};
use driftway_route::HOST_TTL;
use driftway_wire::Packet;

use super::Network;
use crate::event::Event;
use crate::frame_body::FrameBody;
use crate::interface::{Interface, LinkEnd, Outcome, Place};

impl Network {
    /// Records the end of a packet.
    pub(super) fn record_end(&mut self, at: Place, id: PacketId, outcome: Outcome) {
        let Some(body) = self.packets.body(id).copied() else { return };
        let event = match (outcome, &body) {
            (Outcome::Sent, _) | (Outcome::Delivered, FrameBody::Arp(_)) => return,
            (Outcome::Delivered, FrameBody::Ip(packet)) => Event::Delivered {
                node: self.node_of(at),
                packet: *packet,
                initial_ttl: self.initial_ttl(&packet.packet),
            },
            (Outcome::Dropped(reason), _) => {
                let failed = self.failed_send.filter(|_| reason == DropReason::LinkFailure);
                let (interface, to) = match at {
                    Place::Interface(interface, to) => (Some(interface), to),
                    Place::Node(_) | Place::Routing(_) => (None, None),
                };
                let to = match interface {
                    Some(Interface::Wire(end)) => Some(self.topology.across(end)),
                    _ => to.or(failed.map(|failed| failed.to)),
                };
                Event::Dropped {
                    node: self.node_of(at),
                    interface,
                    to,
                    body,
                    reason,
                    failed,
                    is_air_idle: self.medium.is_idle(),
                }
            }
        };
        self.recorder.push(event);
    }

    /// Returns the time to live with which a packet left its source: routing may set its own.
    pub(super) fn initial_ttl(&self, packet: &Packet) -> u8 {
        let source = self.topology.node_at(packet.ip.source);
        let source = source.filter(|node| self.uses_air(*node, packet.ip.destination));
        let routing = source.and_then(|node| self.nodes[node].routing.as_ref());
        routing.map_or(HOST_TTL, |routing| routing.initial_ttl())
    }

    /// Records that a packet has entered the queue of an interface.
    pub(super) fn record_enqueued(
        &mut self,
        interface: Interface,
        id: PacketId,
        to: Option<NodeId>,
    ) {
        if let Some(body) = self.packets.body(id).copied() {
            let (node, to, queue_length) = self.hop(interface, to);
            let event = Event::Enqueued { node, interface, to, body, queue_length };
            self.recorder.push(event);
        }
    }

    /// Records that a packet has left the queue of an interface.
    pub(super) fn record_sent(&mut self, interface: Interface, id: PacketId, to: Option<NodeId>) {
        if let Some(body) = self.packets.body(id).copied() {
            if let Interface::Radio(radio) = interface {
                self.medium.record_accepted(self.now, radio, body);
            }
            let (node, to, queue_length) = self.hop(interface, to);
            let event = Event::Dequeued { node, interface, to, body, queue_length };
            self.recorder.push(event);
        }
    }

    /// Records that a packet has arrived over a wire at this end of it.
    pub(super) fn record_arrival(&mut self, end: LinkEnd, id: PacketId) {
        if let Some(body) = self.packets.body(id).copied() {
            let interface = Interface::Wire(end);
            let (node, from) = (self.topology.node_of(end), self.topology.across(end));
            self.recorder.push(Event::Received { node, interface, from, body });
        }
    }

    /// Returns the node of an interface, the next hop, and the length of the queue.
    fn hop(&self, interface: Interface, to: Option<NodeId>) -> (NodeId, Option<NodeId>, u32) {
        let node = self.node_of_interface(interface);
        match interface {
            Interface::Wire(end) => {
                let queued = self.wires.links()[end.link].queue_len(end.side);
                (node, Some(self.topology.across(end)), queued as u32)
            }
            Interface::Radio(radio) => (node, to, self.medium.radio(radio).queue.len() as u32),
        }
    }

    /// Records the frames of an air that have ended since the last call.
    pub(super) fn record_frames(&mut self, air: AirId) {
        for (frame, body) in self.medium.take_recorded(air) {
            let node = |station| self.medium.airs()[air].node_of(station);
            let (from, to) = (node(frame.from), frame.to.map(node));
            self.recorder.push(Event::Frame { air, from, to, frame, body });
        }
    }
}
