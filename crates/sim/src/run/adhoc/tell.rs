//! Traces an ad hoc network to the event log and the capture. If neither is enabled, nothing is done
//! or kept.

use std::collections::VecDeque;

use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_radio::FailReason;
use driftway_radio::dcf::{AirFrame, FrameKind, Outcome};
use driftway_wire::{Packet, Routed};

use super::super::Run;
use super::AdhocAtWork;
use super::air::Air;
use super::arp::message_of;
use crate::books::Drop;
use crate::capture::Carried;
use crate::log::{Entry, Event, Layer};
use crate::nodes::node_of;

/// State needed to trace frames.
#[derive(Default)]
pub struct Telling {
    /// Frames taken from the MAC layer.
    frames: Vec<AirFrame>,
    /// The packets that each node's MAC layer accepted, and when. A frame is traced after it has
    /// ended, when its packet's handle may be in use for another packet.
    on_air: Vec<VecDeque<(Instant, Routed)>>,
    /// The failed packet that routing is handling.
    failing: Option<Failing>,
}

/// A packet that the link layer failed to send.
#[derive(Clone, Copy)]
struct Failing {
    /// The reason; `None` if ARP did not resolve the neighbour.
    reason: Option<FailReason>,
    /// The neighbour it was sent to.
    to: u32,
    /// The packet's size (bytes).
    bytes: u32,
}

impl Run<'_, AdhocAtWork> {
    /// Starts tracing before the first event.
    pub(super) fn begin_telling(&mut self) {
        if self.watch.network() && self.net.air.record() {
            self.net.telling.on_air.resize_with(self.net.nodes.len(), VecDeque::new);
            if let Some(log) = &mut self.watch.log {
                log.expect_frames();
            }
        }
        self.tell_positions();
    }

    /// Traces a packet that the MAC layer accepted from a node's queue.
    pub(super) fn tell_taken(&mut self, node: usize, id: u32, to: Option<u32>) {
        if !self.watch.network() {
            return;
        }
        let Some(packet) = self.packets.get(id).copied() else { return };
        if let Some(taken) = self.net.telling.on_air.get_mut(node) {
            taken.push_back((self.now, packet));
        }
        self.tell_queue(node, Event::Taken, &packet, to);
    }

    /// Traces a packet that entered a node's interface queue.
    pub(super) fn tell_enqueued(&mut self, node: usize, id: u32, to: Option<u32>) {
        if self.watch.log.is_some()
            && let Some(packet) = self.packets.get(id).copied()
        {
            self.tell_queue(node, Event::Enqueued, &packet, to);
        }
    }

    fn tell_queue(&mut self, node: usize, event: Event, packet: &Routed, to: Option<u32>) {
        let waiting = self.net.nodes[node].queue.len() as u32;
        if let Some(log) = &mut self.watch.log {
            let entry = Entry::new(self.now, node as u32, Layer::Queue, event).about(packet);
            log.tell(Entry { neighbour: to, waiting: Some(waiting), ..entry });
        }
    }

    /// Traces a packet received from a neighbour.
    pub(super) fn tell_received(&mut self, node: u32, from: u32, packet: &Routed) {
        if let Some(log) = &mut self.watch.log {
            let entry = Entry::new(self.now, node, Layer::Routing, Event::Received).about(packet);
            log.tell(Entry { neighbour: Some(from), ..entry });
        }
    }

    /// Traces a packet that reached its destination.
    pub(super) fn tell_delivered(&mut self, node: usize, packet: &Packet) {
        if let Some(log) = &mut self.watch.log {
            let first = self.net.nodes[node].routing.first_ttl();
            // The destination does not decrement the time to live.
            let hops = u32::from(first.saturating_sub(packet.ip.ttl)) + 1;
            let entry = Entry::new(self.now, node as u32, Layer::Routing, Event::Delivered);
            log.tell(Entry { hops: Some(hops), ..entry.about(&Routed::plain(*packet)) });
        }
    }

    /// Traces a packet dropped in a node.
    pub(super) fn tell_dropped(
        &mut self,
        node: usize,
        to: Option<u32>,
        packet: &Routed,
        why: Drop,
    ) {
        let failing = self.net.telling.failing.filter(|_| why == Drop::LinkFailure);
        let to = to.or(failing.map(|failing| failing.to));
        if let Some(log) = &mut self.watch.log {
            let layer = match why {
                Drop::QueueOverflow | Drop::Red => Layer::Queue,
                _ => Layer::Routing,
            };
            let entry = Entry::new(self.now, node as u32, layer, Event::Dropped).about(packet);
            log.tell(Entry { neighbour: to, ..entry.because(why.name()) });
        }
        if let Some(capture) = &mut self.watch.capture {
            let why = match failing {
                Some(failing) => format!("{} ({})", why.name(), self.net.air.attempts(failing)),
                None => why.name().to_owned(),
            };
            let message = message_of(packet, to.is_none(), self.net.nodes.len());
            let carried = message.as_ref().map_or(Carried::Packet(packet), Carried::Arp);
            capture.lost(self.now, node as u32, to, carried, &why);
        }
        // If no frame follows, the dropped packet's record would wait until the end of the run.
        if self.watch.network() && self.net.air.next_timeout().is_none() {
            if let Some(log) = &mut self.watch.log {
                log.settle();
            }
            if let Some(capture) = &mut self.watch.capture {
                capture.settle();
            }
        }
    }

    /// Traces a found or lost route of a node.
    pub(super) fn tell_route(&mut self, node: usize, to: Ipv4Addr, event: Event) {
        if let Some(log) = &mut self.watch.log {
            let entry = Entry::new(self.now, node as u32, Layer::Routing, event);
            log.tell(Entry { destination: node_of(to), ..entry });
        }
    }

    /// Traces a packet to `to` that a node's link layer failed to send. Until
    /// [`end_link_failure_trace`](Self::end_link_failure_trace), dropped packets are recorded with
    /// this reason.
    pub(super) fn tell_link_failure(
        &mut self,
        node: usize,
        to: u32,
        packet: &Routed,
        reason: Option<FailReason>,
        in_range: bool,
    ) {
        self.net.telling.failing = Some(Failing { reason, to, bytes: packet.len() });
        if let Some(log) = &mut self.watch.log {
            let event = if in_range { Event::FalseLinkFailure } else { Event::LinkFailure };
            let reason = match reason {
                Some(FailReason::NoCts) => "no-cts",
                Some(FailReason::NoAck) => "no-ack",
                None => "no-address",
            };
            let entry = Entry::new(self.now, node as u32, Layer::Routing, event).about(packet);
            log.tell(Entry { neighbour: Some(to), ..entry.because(reason) });
        }
    }

    /// Traces a packet to `to` that a node's link layer failed to send and gets again.
    pub(super) fn tell_link_retry(
        &mut self,
        node: usize,
        to: u32,
        packet: &Routed,
        in_range: bool,
    ) {
        if let Some(log) = &mut self.watch.log {
            let entry = Entry::new(self.now, node as u32, Layer::Routing, Event::LinkRetry);
            let reason = if in_range { "in-range" } else { "out-of-range" };
            log.tell(Entry { neighbour: Some(to), ..entry.about(packet).because(reason) });
        }
    }

    pub(super) const fn failure_is_told(&mut self) {
        self.net.telling.failing = None;
    }

    /// Traces the frames that have ended since the last call.
    pub(super) fn tell_air(&mut self) {
        if !self.watch.network() {
            return;
        }
        let mut frames = std::mem::take(&mut self.net.telling.frames);
        self.net.air.take_recorded(&mut frames);
        for frame in frames.drain(..) {
            self.tell_frame(&frame);
        }
        self.net.telling.frames = frames;
        self.tell_positions();
    }

    /// Traces the positions of nodes at regular intervals.
    fn tell_positions(&mut self) {
        if let Some(log) = &mut self.watch.log
            && log.wants_positions(self.now)
        {
            for node in 0..self.net.nodes.len() as u32 {
                let (x, y) = self.net.air.position(node, self.now);
                let entry = Entry::new(self.now, node, Layer::Mobility, Event::Position);
                log.tell(Entry { x_m: Some(x), y_m: Some(y), ..entry });
            }
        }
    }

    fn tell_frame(&mut self, frame: &AirFrame) {
        let Some(taken) = self.net.telling.on_air.get_mut(frame.from as usize) else { return };
        if matches!(frame.kind, FrameKind::Rts | FrameKind::Data) {
            // The frame belongs to the last packet accepted before it.
            while taken.get(1).is_some_and(|(at, _)| *at <= frame.at) {
                taken.pop_front();
            }
        }
        let packet = taken.front().map(|(_, packet)| packet);
        let packet = packet.filter(|_| frame.kind == FrameKind::Data);
        if let Some(capture) = &mut self.watch.capture {
            let nodes = self.net.nodes.len();
            let message = packet.and_then(|packet| message_of(packet, frame.to.is_none(), nodes));
            let carried = match &message {
                Some(message) => Carried::Arp(message),
                None => packet.map_or(Carried::Nothing, Carried::Packet),
            };
            capture.frame(frame, self.net.air.preamble(), carried);
        }
        if let Some(log) = &mut self.watch.log {
            log.frame(&row(frame, packet));
        }
    }
}

fn row(frame: &AirFrame, packet: Option<&Routed>) -> Entry {
    let event = if frame.retry { Event::Retransmitted } else { Event::Sent };
    let entry = Entry::new(frame.at, frame.from, Layer::Air, event).because(match frame.outcome {
        Outcome::Pending | Outcome::ByAll(_) => "",
        Outcome::Received => "received",
        Outcome::Duplicate => "duplicate",
        Outcome::Refused => "refused",
        Outcome::Collided => "collision",
        Outcome::Damaged => "bit-error",
        Outcome::Deaf => "sending",
        Outcome::OutOfRange => "out-of-range",
    });
    let kind = match frame.kind {
        FrameKind::Rts => "rts",
        FrameKind::Cts => "cts",
        FrameKind::Ack => "ack",
        FrameKind::Data => "data",
    };
    let entry = match packet {
        Some(packet) => entry.about(packet),
        None => Entry { kind: kind.into(), ..entry },
    };
    Entry { neighbour: frame.to, bytes: Some(frame.bytes), ..entry }
}

impl Air {
    /// Starts recording frames; `false` if this MAC protocol cannot.
    fn record(&mut self) -> bool {
        match self {
            Self::Dcf(dcf) => {
                dcf.record(true);
                true
            }
            Self::Tdma(_) => false,
        }
    }

    fn take_recorded(&mut self, out: &mut Vec<AirFrame>) {
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
    fn attempts(&self, Failing { reason, bytes, .. }: Failing) -> String {
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
