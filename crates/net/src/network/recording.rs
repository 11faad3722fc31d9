//! Recording of events. Where nothing is recorded, nothing is done or kept.

use driftway_base::DropReason;
use driftway_radio::dcf::{FrameKind, FrameRecord};
use driftway_wire::{Packet, RoutedPacket};

use super::Network;
use crate::air::routing::HOST_TTL;
use crate::event::{Event, Recording};

impl Network {
    pub(super) fn start_recording(&mut self) {
        if self.records_all() {
            self.airs.iter_mut().for_each(|air| air.mac.set_recording());
        }
    }

    #[inline]
    pub(super) fn records_all(&self) -> bool {
        self.recording == Recording::All
    }

    /// Records an event if all are recorded.
    pub(super) fn record(&mut self, event: impl FnOnce() -> Event) {
        if self.records_all() {
            self.events.push_back(event());
        }
    }

    fn record_end(&mut self, event: impl FnOnce(&mut Self) -> Event) {
        if self.recording >= Recording::Ends {
            let event = event(self);
            self.events.push_back(event);
        }
    }

    pub(super) fn record_delivery(&mut self, node: usize, packet: &Packet) {
        self.record_end(|network| Event::Delivered {
            node,
            packet: RoutedPacket::plain(*packet),
            initial_ttl: network.initial_ttl(packet),
        });
    }

    /// Returns the time to live with which a packet left its source: routing may set its own.
    fn initial_ttl(&self, packet: &Packet) -> u8 {
        let source = self.topology.node_at(packet.ip.source);
        let source = source.filter(|node| self.uses_air(*node, packet.ip.destination));
        let routing = source.and_then(|node| self.nodes[node].routing.as_ref());
        routing.map_or(HOST_TTL, |routing| routing.initial_ttl())
    }

    pub(super) fn record_wire_drop(
        &mut self,
        node: Option<usize>,
        packet: &Packet,
        reason: DropReason,
    ) {
        self.record_end(|network| Event::Dropped {
            node,
            to: None,
            packet: RoutedPacket::plain(*packet),
            reason,
            failed: None,
            is_air_idle: network.is_air_idle(),
        });
    }

    pub(super) fn record_air_drop(
        &mut self,
        node: usize,
        to: Option<u32>,
        packet: &RoutedPacket,
        reason: DropReason,
    ) {
        self.record_end(|network| {
            let failed = network.failed_send.filter(|_| reason == DropReason::LinkFailure);
            Event::Dropped {
                node: Some(node),
                to: to.or(failed.map(|failed| failed.to)),
                packet: *packet,
                reason,
                failed,
                is_air_idle: network.is_air_idle(),
            }
        });
    }

    fn is_air_idle(&self) -> bool {
        self.airs.iter().all(|air| air.mac.next_timeout().is_none())
    }

    pub(super) fn record_enqueued(&mut self, radio: usize, id: u32, to: Option<u32>) {
        if let Some(packet) = self.packets.get(id).copied() {
            let (node, queue_length) = self.queue_of(radio);
            self.events.push_back(Event::Enqueued { node, to, packet, queue_length });
        }
    }

    pub(super) fn record_dequeued(&mut self, radio: usize, id: u32, to: Option<u32>) {
        if let Some(packet) = self.packets.get(id).copied() {
            let (node, queue_length) = self.queue_of(radio);
            if self.airs[self.radios[radio].air].mac.is_recording() {
                self.radios[radio].accepted.push_back((self.now, packet));
            }
            self.events.push_back(Event::Dequeued { node, to, packet, queue_length });
        }
    }

    fn queue_of(&self, radio: usize) -> (usize, u32) {
        (self.radios[radio].node, self.radios[radio].queue.len() as u32)
    }

    /// Records the frames of an air that have ended since the last call.
    pub(super) fn record_frames(&mut self, air: usize) {
        let mut frames = Vec::new();
        self.airs[air].mac.take_recorded(&mut frames);
        for frame in frames {
            let packet = self.packet_of(air, &frame);
            let node = |station: u32| self.airs[air].nodes[station as usize];
            let (from, to) = (node(frame.from), frame.to.map(node));
            let frame = FrameRecord { from, to, ..frame };
            self.events.push_back(Event::Frame { frame, packet });
        }
    }

    /// Returns the packet of a data frame.
    fn packet_of(&mut self, air: usize, frame: &FrameRecord) -> Option<RoutedPacket> {
        let radio = self.airs[air].radios[frame.from as usize];
        let accepted = &mut self.radios[radio].accepted;
        if matches!(frame.kind, FrameKind::Rts | FrameKind::Data) {
            // The frame belongs to the last packet accepted before it.
            while accepted.get(1).is_some_and(|(at, _)| *at <= frame.at) {
                accepted.pop_front();
            }
        }
        let packet = accepted.front().map(|(_, packet)| *packet);
        packet.filter(|_| frame.kind == FrameKind::Data)
    }
}
