//! Records the events of a network in the event log and the capture.

use driftway_base::{AirId, NodeId};
use driftway_net::{Event as NetworkEvent, FailedSend, FrameBody, Interface, Network};
use driftway_radio::FailReason;
use driftway_radio::dcf::{FrameKind, FrameRecord, ReceptionOutcome};

use crate::capture::{CapturedFrame, LostFrame, WiredHop};
use crate::log::{Entry, Event, Layer};
use crate::observers::Observers;
use driftway_net::addresses::node_of;

/// Records an event.
pub fn record(observers: &mut Observers<'_>, net: &Network, event: &NetworkEvent) {
    if let Some(log) = &mut observers.log {
        match event {
            NetworkEvent::Frame { air, from, to, frame, body } => {
                let entry = frame_entry(frame, *from, *to, body.as_ref());
                log.record_frame(Entry { air: Some(air.number()), ..entry });
            }
            other => {
                if let Some(entry) = entry(net, other) {
                    log.record(entry);
                }
            }
        }
    }
    match event {
        NetworkEvent::Frame { air, from, to, frame, body } => {
            if let Some(capture) = &mut observers.capture {
                let (air, body, preamble) = (*air, body.as_ref(), net.preamble(*air));
                let frame = CapturedFrame { air, from: *from, to: *to, frame, preamble };
                capture.write_frame(&frame, body);
            }
        }
        NetworkEvent::Dequeued {
            node,
            interface: Interface::Wire(end),
            to: Some(to),
            body: FrameBody::Ip(packet),
            ..
        } => {
            if let Some(capture) = &mut observers.capture {
                capture.write_wired(net.now(), WiredHop::new(*end, *node, *to), packet);
            }
        }
        NetworkEvent::Dropped {
            node,
            interface: Some(Interface::Wire(end)),
            to: Some(to),
            body: FrameBody::Ip(packet),
            reason,
            ..
        } => {
            if let Some(capture) = &mut observers.capture {
                let hop = WiredHop::new(*end, *node, *to);
                capture.write_wired_drop(net.now(), hop, packet, reason.name());
            }
        }
        NetworkEvent::Dropped { node, interface, to, body, reason, failed, is_air_idle } => {
            if let Some(capture) = &mut observers.capture {
                let why = match failed {
                    Some(failed) => format!("{} ({})", reason.name(), describe_attempts(*failed)),
                    None => reason.name().to_owned(),
                };
                let lost = LostFrame {
                    at: net.now(),
                    air: net.air_at(*node, *interface),
                    from: *node,
                    to: *to,
                };
                capture.write_drop(&lost, body, &why);
            }
            // If no frame follows, the dropped packet's record would wait until the end of the run.
            if *is_air_idle {
                if let Some(log) = &mut observers.log {
                    log.flush_pending();
                }
                if let Some(capture) = &mut observers.capture {
                    capture.flush_pending();
                }
            }
        }
        _ => {}
    }
}

/// The entry of an event other than a frame; `None` for those that the log does not have.
fn entry(net: &Network, event: &NetworkEvent) -> Option<Entry> {
    let at = |node: NodeId, layer, event| Entry::new(net.now(), node.number(), layer, event);
    let over = |node: NodeId, interface: Interface, entry: Entry| match interface {
        Interface::Wire(end) => Entry { wire: Some(end.link.number() + 1), ..entry },
        Interface::Radio(_) => {
            Entry { air: net.air_at(node, Some(interface)).map(AirId::number), ..entry }
        }
    };
    Some(match event {
        NetworkEvent::Delivered { node, packet, initial_ttl } => {
            // The destination does not decrement the time to live.
            let hops = u32::from(initial_ttl.saturating_sub(packet.packet.ip.ttl)) + 1;
            let entry = at(*node, Layer::Routing, Event::Delivered);
            Entry { hops: Some(hops), ..entry.with_packet(packet) }
        }
        NetworkEvent::Dropped { node, interface, to, body, reason, .. } => {
            let layer = match interface {
                Some(Interface::Wire(_)) => Layer::Link,
                _ if reason.is_of_queue() => Layer::Queue,
                _ => Layer::Routing,
            };
            let entry = at(*node, layer, Event::Dropped).with_body(body);
            let entry =
                Entry { neighbour: to.map(NodeId::number), ..entry.with_reason(reason.name()) };
            match interface {
                Some(interface) if layer != Layer::Routing => over(*node, *interface, entry),
                _ => entry,
            }
        }
        NetworkEvent::Enqueued { node, interface, to, body, queue_length } => {
            let entry = at(*node, queue_layer(*interface), Event::Enqueued).with_body(body);
            let neighbour = to.map(NodeId::number);
            let entry = Entry { neighbour, queue_length: Some(*queue_length), ..entry };
            over(*node, *interface, entry)
        }
        NetworkEvent::Dequeued { node, interface, to, body, queue_length } => {
            let event = match interface {
                Interface::Wire(_) => Event::Sent,
                Interface::Radio(_) => Event::Dequeued,
            };
            let entry = at(*node, queue_layer(*interface), event).with_body(body);
            let neighbour = to.map(NodeId::number);
            let entry = Entry { neighbour, queue_length: Some(*queue_length), ..entry };
            over(*node, *interface, entry)
        }
        // The rows of a wire are those of its sending end.
        NetworkEvent::Received { node, interface: interface @ Interface::Wire(_), from, body } => {
            let entry = at(*from, Layer::Link, Event::Delivered).with_body(body);
            over(*node, *interface, Entry { neighbour: Some(node.number()), ..entry })
        }
        NetworkEvent::Received { node, from, body, .. } => {
            let entry = at(*node, Layer::Routing, Event::Received).with_body(body);
            Entry { neighbour: Some(from.number()), ..entry }
        }
        NetworkEvent::RouteFound { node, to } => {
            let entry = at(*node, Layer::Routing, Event::RouteFound);
            Entry { destination: node_of(*to).map(NodeId::number), ..entry }
        }
        NetworkEvent::RouteLost { node, to } => {
            let entry = at(*node, Layer::Routing, Event::RouteLost);
            Entry { destination: node_of(*to).map(NodeId::number), ..entry }
        }
        NetworkEvent::LinkFailed { node, failed, packet, in_range } => {
            let event = if *in_range { Event::FalseLinkFailure } else { Event::LinkFailure };
            let entry = at(*node, Layer::Routing, event).with_packet(packet);
            let entry = entry.with_reason(failure_reason(failed.reason));
            Entry { neighbour: Some(failed.to.number()), ..entry }
        }
        NetworkEvent::LinkRetried { node, to, packet, in_range } => {
            let reason = if *in_range { "in-range" } else { "out-of-range" };
            let entry = at(*node, Layer::Routing, Event::LinkRetry).with_packet(packet);
            Entry { neighbour: Some(to.number()), ..entry.with_reason(reason) }
        }
        NetworkEvent::Fault { .. } | NetworkEvent::Frame { .. } => return None,
    })
}

/// The layer of the queue of an interface.
const fn queue_layer(interface: Interface) -> Layer {
    match interface {
        Interface::Wire(_) => Layer::Link,
        Interface::Radio(_) => Layer::Queue,
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

fn frame_entry(
    frame: &FrameRecord,
    from: NodeId,
    to: Option<NodeId>,
    body: Option<&FrameBody>,
) -> Entry {
    let event = if frame.retry { Event::Retransmitted } else { Event::Sent };
    let entry = Entry::new(frame.at, from.number(), Layer::Air, event)
        .with_reason(reception_reason(frame.outcome));
    let kind = match frame.kind {
        FrameKind::Rts => "rts",
        FrameKind::Cts => "cts",
        FrameKind::Ack => "ack",
        FrameKind::Data => "data",
    };
    let entry = match body {
        Some(body) => entry.with_body(body),
        None => Entry { kind: kind.into(), ..entry },
    };
    Entry { neighbour: to.map(NodeId::number), bytes: Some(frame.bytes), ..entry }
}

/// A description of the failed attempts to send a packet.
fn describe_attempts(failed: FailedSend) -> String {
    match (failed.reason, failed.attempts) {
        (None, _) => "no answer to ARP".to_owned(),
        (Some(reason), Some(attempts)) => {
            let missing = match reason {
                FailReason::NoCts => "CTS",
                FailReason::NoAck => "ACK",
            };
            format!("no {missing} after {attempts} attempts")
        }
        (Some(_), None) => "not received".to_owned(),
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
