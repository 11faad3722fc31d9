//! What is told of an ad hoc network to those who watch: the event log and the capture. Nothing of
//! it is done, and nothing kept, where nobody does.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_radio::FailReason;
use driftway_radio::dcf::{FrameRecord, FrameKind, ReceptionOutcome};
use driftway_wire::{Packet, RoutedPacket};

use super::super::Run;
use super::AdhocNetwork;
use super::mac_layer::MacLayer;
use super::arp::message_from_packet;
use crate::packet_accounting::PacketDropReason;
use crate::capture::FrameBody;
use crate::log::{Entry, Event, Layer};
use crate::addresses::node_number;

/// What the telling of frames needs to remember.
#[derive(Default)]
pub struct AdhocTrace {
    /// Frames that the air has handed out.
    frames: Vec<FrameRecord>,
    /// Each node's packets that the air has taken, and when: frames are told late, when a packet may
    /// be gone and its handle another's.
    transmitted: Vec<VecDeque<(Instant, RoutedPacket)>>,
    /// What routing is asked about just now.
    failed_packet: Option<FailedPacket>,
}

/// A packet that the link layer gave up on.
#[derive(Clone, Copy)]
struct FailedPacket {
    /// Why; `None` where ARP did not find the neighbour.
    reason: Option<FailReason>,
    /// Whom it was for.
    to: u32,
    /// Its size.
    bytes: u32,
}

impl Run<'_, AdhocNetwork> {
    /// Before the first event.
    pub(super) fn start_trace(&mut self) {
        if self.observers.wants_network() && self.net.mac.record() {
            self.net.trace.transmitted.resize_with(self.net.nodes.len(), VecDeque::new);
            if let Some(log) = &mut self.observers.log {
                log.expect_frames();
            }
        }
        self.trace_positions();
    }

    /// The air takes a node's packet.
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

    /// A node's interface queue has got a packet.
    pub(super) fn trace_enqueued(&mut self, node: usize, id: u32, to: Option<u32>) {
        if self.observers.log.is_some()
            && let Some(packet) = self.packets.get(id).copied()
        {
            self.trace_queue_event(node, Event::Enqueued, &packet, to);
        }
    }

    fn trace_queue_event(&mut self, node: usize, event: Event, packet: &RoutedPacket, to: Option<u32>) {
        let waiting = self.net.nodes[node].queue.len() as u32;
        if let Some(log) = &mut self.observers.log {
            let entry = Entry::new(self.now, node as u32, Layer::Queue, event).with_packet(packet);
            log.record(Entry { neighbour: to, queue_length: Some(waiting), ..entry });
        }
    }

    /// A node has got a packet from a neighbour.
    pub(super) fn trace_received(&mut self, node: u32, from: u32, packet: &RoutedPacket) {
        if let Some(log) = &mut self.observers.log {
            let entry = Entry::new(self.now, node, Layer::Routing, Event::Received).with_packet(packet);
            log.record(Entry { neighbour: Some(from), ..entry });
        }
    }

    /// A packet is where it was to go.
    pub(super) fn trace_delivered(&mut self, node: usize, packet: &Packet) {
        if let Some(log) = &mut self.observers.log {
            let first = self.net.nodes[node].routing.initial_ttl();
            // Its destination takes none off.
            let hops = u32::from(first.saturating_sub(packet.ip.ttl)) + 1;
            let entry = Entry::new(self.now, node as u32, Layer::Routing, Event::Delivered);
            log.record(Entry { hops: Some(hops), ..entry.with_packet(&RoutedPacket::plain(*packet)) });
        }
    }

    /// A packet died in a node.
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
            let entry = Entry::new(self.now, node as u32, layer, Event::Dropped).with_packet(packet);
            log.record(Entry { neighbour: to, ..entry.with_reason(why.name()) });
        }
        if let Some(capture) = &mut self.observers.capture {
            let why = match failing {
                Some(failing) => format!("{} ({})", why.name(), self.net.mac.describe_attempts(failing)),
                None => why.name().to_owned(),
            };
            let message = message_from_packet(packet, to.is_none(), self.net.nodes.len());
            let carried = message.as_ref().map_or(FrameBody::Packet(packet), FrameBody::Arp);
            capture.write_drop(self.now, node as u32, to, carried, &why);
        }
        // Where nothing is sent, what is lost would wait for a frame to the end of the run.
        if self.observers.wants_network() && self.net.mac.next_timeout().is_none() {
            if let Some(log) = &mut self.observers.log {
                log.flush_pending();
            }
            if let Some(capture) = &mut self.observers.capture {
                capture.flush_pending();
            }
        }
    }

    /// A node has found, or lost, its route to a destination.
    pub(super) fn trace_route(&mut self, node: usize, to: Ipv4Addr, event: Event) {
        if let Some(log) = &mut self.observers.log {
            let entry = Entry::new(self.now, node as u32, Layer::Routing, event);
            log.record(Entry { destination: node_number(to), ..entry });
        }
    }

    /// The link layer of a node gave up on a packet to `to`. Until
    /// [`failure_is_told`](Self::failure_is_told), what dies of it says why.
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
            let reason = match reason {
                Some(FailReason::NoCts) => "no-cts",
                Some(FailReason::NoAck) => "no-ack",
                None => "no-address",
            };
            let entry = Entry::new(self.now, node as u32, Layer::Routing, event).with_packet(packet);
            log.record(Entry { neighbour: Some(to), ..entry.with_reason(reason) });
        }
    }

    /// The link layer of a node gave up on a packet to `to`, and gets it again.
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
            log.record(Entry { neighbour: Some(to), ..entry.with_packet(packet).with_reason(reason) });
        }
    }

    pub(super) const fn end_link_failure_trace(&mut self) {
        self.net.trace.failed_packet = None;
    }

    /// The air has gone on.
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

    /// Where nodes are, if it is time to tell.
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
            // It is of the last packet that was taken before it.
            while taken.get(1).is_some_and(|(at, _)| *at <= frame.at) {
                taken.pop_front();
            }
        }
        let packet = taken.front().map(|(_, packet)| packet);
        let packet = packet.filter(|_| frame.kind == FrameKind::Data);
        if let Some(capture) = &mut self.observers.capture {
            let nodes = self.net.nodes.len();
            let message = packet.and_then(|packet| message_from_packet(packet, frame.to.is_none(), nodes));
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

fn frame_entry(frame: &FrameRecord, packet: Option<&RoutedPacket>) -> Entry {
    let event = if frame.retry { Event::Retransmitted } else { Event::Sent };
    let entry = Entry::new(frame.at, frame.from, Layer::Air, event).with_reason(match frame.outcome {
        ReceptionOutcome::Pending | ReceptionOutcome::Broadcast(_) => "",
        ReceptionOutcome::Received => "received",
        ReceptionOutcome::Duplicate => "duplicate",
        ReceptionOutcome::Refused => "refused",
        ReceptionOutcome::Collided => "collision",
        ReceptionOutcome::Damaged => "bit-error",
        ReceptionOutcome::Transmitting => "sending",
        ReceptionOutcome::OutOfRange => "out-of-range",
    });
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
    /// Frames are kept from now on; `false` where this link layer can't.
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

    /// How long preamble and physical header of a frame take.
    const fn preamble(&self) -> Duration {
        match self {
            Self::Dcf(dcf) => dcf.config().preamble,
            Self::Tdma(_) => Duration::ZERO,
        }
    }

    /// What was tried in vain before a packet was given up, in words.
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
