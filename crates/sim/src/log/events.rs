//! The reference of the event log: the events of each layer, with their reasons and columns.

use super::entry::{Entry, Event, Layer};
use crate::columns::ColumnInfo;

/// An event of a layer.
#[derive(Clone, Copy, Debug)]
pub struct EventInfo {
    /// The layer.
    pub layer: Layer,
    /// The event.
    pub event: Event,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
    /// Values of its column `reason`.
    pub reasons: Reasons,
    /// True if the columns of [`PACKET_COLUMNS`] describe its packet.
    pub packet: bool,
    /// The other columns that it has, besides those of [`COMMON_COLUMNS`].
    pub columns: &'static [&'static str],
}

/// The values of the column `reason` of an event.
#[derive(Clone, Copy, Debug)]
pub enum Reasons {
    /// None.
    None,
    /// These, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// A [`DropReason`](crate::DropReason).
    Drop,
    /// The state of an aid.
    AidState,
    /// The kind of a fault, as a scenario names it.
    Fault,
}

/// The columns that every event has.
pub const COMMON_COLUMNS: [&str; 4] = ["time_s", "node", "layer", "event"];

/// The columns that describe a packet, as far as it has such values.
pub const PACKET_COLUMNS: [&str; 8] =
    ["kind", "flow", "packet", "source", "destination", "bytes", "offset_bytes", "source_route"];

/// The receptions of a frame.
const RECEPTIONS: Reasons = Reasons::Words(&[
    ("", "a broadcast, or a frame still on the air at the end of the run"),
    ("received", "received by the addressee"),
    ("duplicate", "received again, and discarded as a duplicate"),
    ("refused", "an RTS that was received but is not answered"),
    ("collision", "lost in a collision"),
    ("bit-error", "received with an error"),
    ("transmitting", "the addressee was transmitting"),
    ("out-of-range", "the addressee was out of range"),
]);

/// The missing responses of a link failure.
const MISSING: Reasons = Reasons::Words(&[
    ("no-cts", "no CTS was received"),
    ("no-ack", "no ACK was received"),
    ("no-address", "ARP did not resolve the neighbour"),
]);

const fn event(layer: Layer, event: Event, meaning: &'static str) -> EventInfo {
    EventInfo { layer, event, meaning, reasons: Reasons::None, packet: false, columns: &[] }
}

impl EventInfo {
    const fn of_packet(self) -> Self {
        Self { packet: true, ..self }
    }

    const fn because(self, reasons: Reasons) -> Self {
        Self { reasons, ..self }
    }

    const fn with(self, columns: &'static [&'static str]) -> Self {
        Self { columns, ..self }
    }
}

/// All events, by layer.
pub const EVENTS: &[EventInfo] = &[
    event(Layer::Air, Event::Sent, "The node transmitted a frame, which began at this time.")
        .of_packet()
        .because(RECEPTIONS)
        .with(&["neighbour", "air"]),
    event(Layer::Air, Event::Retransmitted, "As `sent`, for a frame that had been sent before.")
        .of_packet()
        .because(RECEPTIONS)
        .with(&["neighbour", "air"]),
    event(Layer::Queue, Event::Enqueued, "A packet entered the node's interface queue.")
        .of_packet()
        .with(&["neighbour", "air", "queue_length"]),
    event(Layer::Queue, Event::Dequeued, "A packet left the queue for the MAC layer.")
        .of_packet()
        .with(&["neighbour", "air", "queue_length"]),
    event(Layer::Queue, Event::Dropped, "The queue dropped a packet.")
        .of_packet()
        .because(Reasons::Drop)
        .with(&["neighbour", "air"]),
    event(Layer::Link, Event::Enqueued, "A packet entered the queue of the node's end of a wire.")
        .of_packet()
        .with(&["neighbour", "wire", "queue_length"]),
    event(Layer::Link, Event::Sent, "The transmission of a packet over the wire began.")
        .of_packet()
        .with(&["neighbour", "wire", "queue_length"]),
    event(
        Layer::Link,
        Event::Dropped,
        "A packet that the node sent, or was to send, over the wire was dropped.",
    )
    .of_packet()
    .because(Reasons::Drop)
    .with(&["neighbour", "wire"]),
    event(Layer::Link, Event::Delivered, "A packet reached the other end of the wire.")
        .of_packet()
        .with(&["neighbour", "wire"]),
    event(
        Layer::Routing,
        Event::Received,
        "The node received a packet from a neighbour on the air.",
    )
    .of_packet()
    .with(&["neighbour"]),
    event(Layer::Routing, Event::Delivered, "A packet reached its destination.")
        .of_packet()
        .with(&["hops"]),
    event(Layer::Routing, Event::Dropped, "The node dropped a packet.")
        .of_packet()
        .because(Reasons::Drop)
        .with(&["neighbour"]),
    event(Layer::Routing, Event::RouteFound, "The node found a route to the destination.")
        .with(&["destination"]),
    event(Layer::Routing, Event::RouteLost, "The node lost its route to the destination.")
        .with(&["destination"]),
    event(
        Layer::Routing,
        Event::LinkFailure,
        "The link layer failed to send a packet, and the neighbour was out of range.",
    )
    .of_packet()
    .because(MISSING)
    .with(&["neighbour"]),
    event(
        Layer::Routing,
        Event::FalseLinkFailure,
        "The link layer failed to send a packet although the neighbour was in range.",
    )
    .of_packet()
    .because(MISSING)
    .with(&["neighbour"]),
    event(
        Layer::Routing,
        Event::LinkRetry,
        "The link layer failed to send a packet and gets it again.",
    )
    .of_packet()
    .because(Reasons::Words(&[
        ("in-range", "the neighbour was in range"),
        ("out-of-range", "the neighbour was out of range"),
    ]))
    .with(&["neighbour"]),
    event(Layer::Tcp, Event::Sent, "TCP passed a data segment to IP.").with(&[
        "flow",
        "bytes",
        "offset_bytes",
        "cwnd_bytes",
        "ssthresh_bytes",
        "rto_s",
    ]),
    event(
        Layer::Tcp,
        Event::Retransmitted,
        "As `sent`, for a segment any part of which had been sent before.",
    )
    .with(&["flow", "bytes", "offset_bytes", "cwnd_bytes", "ssthresh_bytes", "rto_s"]),
    event(
        Layer::Tcp,
        Event::Acked,
        "The sender received a new cumulative acknowledgment, up to this offset.",
    )
    .with(&["flow", "offset_bytes"]),
    event(Layer::Tcp, Event::Timeout, "The retransmission timer expired.").with(&["flow"]),
    event(Layer::Tcp, Event::FastRetransmit, "A loss recovery began without a timeout.")
        .with(&["flow"]),
    event(
        Layer::Tcp,
        Event::Unreachable,
        "The sender's host received a signal that its destination is unreachable, by \
         `unreachable_at` or `unreachable_until` of the scenario.",
    )
    .with(&["flow"]),
    event(
        Layer::Tcp,
        Event::Delivered,
        "At the receiver: the application has read the stream up to this offset.",
    )
    .with(&["flow", "offset_bytes"]),
    event(Layer::Udp, Event::Sent, "The application sent a datagram.").with(&[
        "flow",
        "bytes",
        "offset_bytes",
    ]),
    event(Layer::Udp, Event::Delivered, "At the receiver: the application received a datagram.")
        .with(&["flow", "bytes", "offset_bytes"]),
    event(Layer::Aid, Event::State, "The aid has entered this state.")
        .because(Reasons::AidState)
        .with(&["flow"]),
    event(
        Layer::Mobility,
        Event::Position,
        "The node is at this position: of each node with a radio, at whole seconds.",
    )
    .with(&["x_m", "y_m"]),
    event(Layer::Fault, Event::Begins, "A fault begins.").because(Reasons::Fault),
    event(Layer::Fault, Event::Ends, "A fault ends.").because(Reasons::Fault),
];

/// The columns of an event log.
pub fn columns() -> Vec<ColumnInfo> {
    ColumnInfo::of_fields::<Entry>()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn events_have_columns_of_the_log() {
        let columns = columns();
        let known = |name: &str| columns.iter().any(|column| column.name == name);
        assert!(COMMON_COLUMNS.iter().chain(&PACKET_COLUMNS).all(|name| known(name)));
        for event in EVENTS {
            assert!(event.columns.iter().all(|name| known(name)), "{event:?}");
        }
        for (index, event) in EVENTS.iter().enumerate() {
            let same = |of: &&EventInfo| (of.layer, of.event) == (event.layer, event.event);
            assert_eq!(EVENTS[index..].iter().filter(same).count(), 1, "{event:?}");
        }
    }
}
