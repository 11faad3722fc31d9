//! Traces an ad hoc network to the event log and the capture. If neither is enabled, nothing is done
//! or kept.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_radio::FailReason;
use driftway_radio::dcf::{FrameKind, FrameRecord, ReceptionOutcome};
use driftway_wire::{Packet, RoutedPacket};

use super::super::Run;
use super::AdhocNetwork;
use super::arp::message_from_packet;
use super::mac_layer::MacLayer;
use crate::addresses::node_number;
use crate::capture::FrameBody;
use crate::log::{Entry, Event, Layer};
use crate::packet_accounting::PacketDropReason;

/// State needed to trace frames.
#[derive(Default)]
pub struct AdhocTrace {
    /// Frames taken from the MAC layer.
    frames: Vec<FrameRecord>,
    /// The packets that each node's MAC layer accepted, and when. A frame is traced after it has
    /// ended, when its packet's handle may be in use for another packet.
    transmitted: Vec<VecDeque<(Instant, RoutedPacket)>>,
    /// The failed packet that routing is handling.
    failed_packet: Option<FailedPacket>,
}

/// A packet that the link layer failed to send.
#[derive(Clone, Copy)]
struct FailedPacket {
    /// The reason; `None` if ARP did not resolve the neighbour.
    reason: Option<FailReason>,
    /// The neighbour it was sent to.
    to: u32,
    /// The packet's size (bytes).
    bytes: u32,
}

impl Run<'_, AdhocNetwork> {
    /// Starts tracing before the first event.
    pub(super) fn start_trace(&mut self) {
        if self.observers.wants_network() && self.net.mac.record() {
            self.net.trace.transmitted.resize_with(self.net.nodes.len(), VecDeque::new);
            if let Some(log) = &mut self.observers.log {
                log.expect_frames();
            }
        }
        self.trace_positions();
    }

    /// Traces a packet that the MAC layer accepted from a node's queue.
    pub(super) fn trace_dequeued(&mut self, node: usize, id: u32, to: Option<u32>) {
        if !self.observers.wants_network() {
            return;
        }
        let Some(packet) = self.packets.get(id).copied() else { return };
        if let Some(taken) = self.net.trace.transmitted.get_mut(node) {
            taken.push_back((self.now, packet));
        }
        self.trace_queue_event(node, Event::Dequeued, &packet, to);
    }

    /// Traces a packet that entered a node's interface queue.
    pub(super) fn trace_enqueued(&mut self, node: usize, id: u32, to: Option<u32>) {
        if self.observers.log.is_some()
            && let Some(packet) = self.packets.get(id).copied()
        {
            self.trace_queue_event(node, Event::Enqueued, &packet, to);
        }
    }

    fn trace_queue_event(
        &mut self,
        node: usize,
        event: Event,
        packet: &RoutedPacket,
        to: Option<u32>,
    ) {
        let waiting = self.net.nodes[node].queue.len() as u32;
        if let Some(log) = &mut self.observers.log {
            let entry = Entry::new(self.now, node as u32, Layer::Queue, event).with_packet(packet);
            log.record(Entry { neighbour: to, queue_length: Some(waiting), ..entry });
        }
    }

    /// Traces a packet received from a neighbour.
    pub(super) fn trace_received(&mut self, node: u32, from: u32, packet: &RoutedPacket) {
        if let Some(log) = &mut self.observers.log {
            let entry =
                Entry::new(self.now, node, Layer::Routing, Event::Received).with_packet(packet);
            log.record(Entry { neighbour: Some(from), ..entry });
        }
    }

    /// Traces a packet that reached its destination.
    pub(super) fn trace_delivered(&mut self, node: usize, packet: &Packet) {
        if let Some(log) = &mut self.observers.log {
            let first = self.net.nodes[node].routing.initial_ttl();
            // The destination does not decrement the time to live.
            let hops = u32::from(first.saturating_sub(packet.ip.ttl)) + 1;
            let entry = Entry::new(self.now, node as u32, Layer::Routing, Event::Delivered);
            log.record(Entry {
                hops: Some(hops),
                ..entry.with_packet(&RoutedPacket::plain(*packet))
            });
        }
    }

    /// Traces a packet dropped in a node.
    pub(super) fn trace_dropped(
        &mut self,
        node: usize,
        to: Option<u32>,
        packet: &RoutedPacket,
        why: PacketDropReason,
    ) {
        let failing = self.net.trace.failed_packet.filter(|_| why == PacketDropReason::LinkFailure);
        let to = to.or(failing.map(|failing| failing.to));
        if let Some(log) = &mut self.observers.log {
            let layer = match why {
                PacketDropReason::QueueOverflow | PacketDropReason::Red => Layer::Queue,
                _ => Layer::Routing,
            };
            let entry =
                Entry::new(self.now, node as u32, layer, Event::Dropped).with_packet(packet);
            log.record(Entry { neighbour: to, ..entry.with_reason(why.name()) });
        }
        if let Some(capture) = &mut self.observers.capture {
            let why = match failing {
                Some(failing) => {
                    format!("{} ({})", why.name(), self.net.mac.describe_attempts(failing))
                }
                None => why.name().to_owned(),
            };
            let message = message_from_packet(packet, to.is_none(), self.net.nodes.len());
            let carried = message.as_ref().map_or(FrameBody::Packet(packet), FrameBody::Arp);
            capture.write_drop(self.now, node as u32, to, carried, &why);
        }
        // If no frame follows, the dropped packet's record would wait until the end of the run.
        if self.observers.wants_network() && self.net.mac.next_timeout().is_none() {
            if let Some(log) = &mut self.observers.log {
                log.flush_pending();
            }
            if let Some(capture) = &mut self.observers.capture {
                capture.flush_pending();
            }
        }
    }

    /// Traces a found or lost route of a node.
    pub(super) fn trace_route(&mut self, node: usize, to: Ipv4Addr, event: Event) {
        if let Some(log) = &mut self.observers.log {
            let entry = Entry::new(self.now, node as u32, Layer::Routing, event);
            log.record(Entry { destination: node_number(to), ..entry });
        }
    }

    /// Traces a packet to `to` that a node's link layer failed to send. Until
    /// [`end_link_failure_trace`](Self::end_link_failure_trace), dropped packets are recorded with
    /// this reason.
    pub(super) fn trace_link_failure(
        &mut self,
        node: usize,
        to: u32,
        packet: &RoutedPacket,
        reason: Option<FailReason>,
        in_range: bool,
    ) {
        self.net.trace.failed_packet = Some(FailedPacket { reason, to, bytes: packet.len() });
        if let Some(log) = &mut self.observers.log {
            let event = if in_range { Event::FalseLinkFailure } else { Event::LinkFailure };
            let reason = failure_reason(reason);
            let entry =
                Entry::new(self.now, node as u32, Layer::Routing, event).with_packet(packet);
            log.record(Entry { neighbour: Some(to), ..entry.with_reason(reason) });
        }
    }

    /// Traces a packet to `to` that a node's link layer failed to send and gets again.
    pub(super) fn trace_link_retry(
        &mut self,
        node: usize,
        to: u32,
        packet: &RoutedPacket,
        in_range: bool,
    ) {
        if let Some(log) = &mut self.observers.log {
            let entry = Entry::new(self.now, node as u32, Layer::Routing, Event::LinkRetry);
            let reason = if in_range { "in-range" } else { "out-of-range" };
            log.record(Entry {
                neighbour: Some(to),
                ..entry.with_packet(packet).with_reason(reason)
            });
        }
    }

    pub(super) const fn end_link_failure_trace(&mut self) {
        self.net.trace.failed_packet = None;
    }

    /// Traces the frames that have ended since the last call.
    pub(super) fn trace_frames(&mut self) {
        if !self.observers.wants_network() {
            return;
        }
        let mut frames = std::mem::take(&mut self.net.trace.frames);
        self.net.mac.take_recorded(&mut frames);
        for frame in frames.drain(..) {
            self.trace_frame(&frame);
        }
        self.net.trace.frames = frames;
        self.trace_positions();
    }

    /// Traces the positions of nodes at regular intervals.
    fn trace_positions(&mut self) {
        if let Some(log) = &mut self.observers.log
            && log.take_positions_due(self.now)
        {
            for node in 0..self.net.nodes.len() as u32 {
                let (x, y) = self.net.mac.position(node, self.now);
                let entry = Entry::new(self.now, node, Layer::Mobility, Event::Position);
                log.record(Entry { x_m: Some(x), y_m: Some(y), ..entry });
            }
        }
    }

    fn trace_frame(&mut self, frame: &FrameRecord) {
        let Some(taken) = self.net.trace.transmitted.get_mut(frame.from as usize) else { return };
        if matches!(frame.kind, FrameKind::Rts | FrameKind::Data) {
            // The frame belongs to the last packet accepted before it.
            while taken.get(1).is_some_and(|(at, _)| *at <= frame.at) {
                taken.pop_front();
            }
        }
        let packet = taken.front().map(|(_, packet)| packet);
        let packet = packet.filter(|_| frame.kind == FrameKind::Data);
        if let Some(capture) = &mut self.observers.capture {
            let nodes = self.net.nodes.len();
            let message =
                packet.and_then(|packet| message_from_packet(packet, frame.to.is_none(), nodes));
            let carried = match &message {
                Some(message) => FrameBody::Arp(message),
                None => packet.map_or(FrameBody::Empty, FrameBody::Packet),
            };
            capture.write_frame(frame, self.net.mac.preamble(), carried);
        }
        if let Some(log) = &mut self.observers.log {
            log.record_frame(&frame_entry(frame, packet));
        }
    }
}

/// The reason of a frame's entry.
const fn reception_reason(outcome: ReceptionOutcome) -> &'static str {
    match outcome {
        ReceptionOutcome::Pending | ReceptionOutcome::Broadcast(_) => "",
        ReceptionOutcome::Received => "received",
        ReceptionOutcome::Duplicate => "duplicate",
        ReceptionOutcome::Refused => "refused",
        ReceptionOutcome::Collided => "collision",
        ReceptionOutcome::Damaged => "bit-error",
        ReceptionOutcome::Transmitting => "transmitting",
        ReceptionOutcome::OutOfRange => "out-of-range",
    }
}

/// The reason of a link failure's entry; `None` if ARP did not resolve the neighbour.
const fn failure_reason(reason: Option<FailReason>) -> &'static str {
    match reason {
        Some(FailReason::NoCts) => "no-cts",
        Some(FailReason::NoAck) => "no-ack",
        None => "no-address",
    }
}

fn frame_entry(frame: &FrameRecord, packet: Option<&RoutedPacket>) -> Entry {
    let event = if frame.retry { Event::Retransmitted } else { Event::Sent };
    let entry = Entry::new(frame.at, frame.from, Layer::Air, event)
        .with_reason(reception_reason(frame.outcome));
    let kind = match frame.kind {
        FrameKind::Rts => "rts",
        FrameKind::Cts => "cts",
        FrameKind::Ack => "ack",
        FrameKind::Data => "data",
    };
    let entry = match packet {
        Some(packet) => entry.with_packet(packet),
        None => Entry { kind: kind.into(), ..entry },
    };
    Entry { neighbour: frame.to, bytes: Some(frame.bytes), ..entry }
}

impl MacLayer {
    /// Starts recording frames; `false` if this MAC protocol cannot.
    fn record(&mut self) -> bool {
        match self {
            Self::Dcf(dcf) => {
                dcf.set_recording(true);
                true
            }
            Self::Tdma(_) => false,
        }
    }

    fn take_recorded(&mut self, out: &mut Vec<FrameRecord>) {
        match self {
            Self::Dcf(dcf) => dcf.take_recorded(out),
            Self::Tdma(_) => {}
        }
    }

    /// The duration of a frame's preamble and physical header.
    const fn preamble(&self) -> Duration {
        match self {
            Self::Dcf(dcf) => dcf.config().preamble,
            Self::Tdma(_) => Duration::ZERO,
        }
    }

    /// A description of the failed attempts to send a packet.
    fn describe_attempts(&self, FailedPacket { reason, bytes, .. }: FailedPacket) -> String {
        match (self, reason) {
            (_, None) => "no answer to ARP".to_owned(),
            (Self::Dcf(dcf), Some(reason)) => {
                let missing = match reason {
                    FailReason::NoCts => "CTS",
                    FailReason::NoAck => "ACK",
                };
                format!("no {missing} after {} attempts", dcf.config().retry_limit(bytes, reason))
            }
            (Self::Tdma(_), Some(_)) => "not received".to_owned(),
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::log::{EVENTS, Reasons};

    #[test]
    fn every_reason_is_documented() {
        let documented = |layer: Layer, event: Event, reason: &str| {
            let known = EVENTS.iter().find(|of| (of.layer, of.event) == (layer, event)).unwrap();
            let Reasons::Words(words) = known.reasons else { panic!("{known:?}") };
            assert!(words.iter().any(|(word, _)| *word == reason), "{reason}");
        };
        for outcome in [
            ReceptionOutcome::Pending,
            ReceptionOutcome::Received,
            ReceptionOutcome::Duplicate,
            ReceptionOutcome::Refused,
            ReceptionOutcome::Collided,
            ReceptionOutcome::Damaged,
            ReceptionOutcome::Transmitting,
            ReceptionOutcome::OutOfRange,
            ReceptionOutcome::Broadcast(2),
        ] {
            documented(Layer::Air, Event::Sent, reception_reason(outcome));
        }
        for reason in [Some(FailReason::NoCts), Some(FailReason::NoAck), None] {
            documented(Layer::Routing, Event::LinkFailure, failure_reason(reason));
            documented(Layer::Routing, Event::FalseLinkFailure, failure_reason(reason));
        }
    }
}
