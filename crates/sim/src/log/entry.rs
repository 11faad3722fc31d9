//! An entry (row) of an event log.

use std::borrow::Cow;
use std::fmt;
use std::iter::once;
use std::str::FromStr;

use driftway_base::{Duration, FlowId, Instant, NodeId};
use driftway_wire::{AodvMessage, Body, Packet, RoutedPacket, TcpFlags};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{optional_seconds, seconds};
use crate::flow_context::FlowContext;
use crate::sockets::flow_of;
use driftway_net::FrameBody;
use driftway_net::addresses::node_of;

/// An event. A field without a value is an empty cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The time (s), with nine decimals.
    #[serde(with = "seconds")]
    #[schemars(with = "f64")]
    pub time_s: Instant,
    /// The node at which it occurred; for a fault other than `radio-down`, the hop or wire, from 1.
    pub node: u32,
    /// The part of the node: see the events below.
    pub layer: Layer,
    /// The event: see below.
    pub event: Event,
    /// The reason or result: see the events below.
    pub reason: Cow<'static, str>,
    /// The kind of packet: `tcp-data`, `tcp-ack`, `tcp-syn`, `tcp-fin`, `tcp-rst`, `udp`, `icmp`, `arp`,
    /// `aodv-rreq`, `aodv-rrep`, `aodv-rerr`, `aodv-rrep-ack`, `aodv-losses`, `dsr-rreq`, `dsr-rrep`,
    /// `dsr-rerr`, `dsr`, or the name that another routing protocol gives to its message; of a frame without a packet, `rts`, `cts`, `ack` or `data`.
    pub kind: Cow<'static, str>,
    /// The index in the scenario, from 0, of the flow to which it belongs.
    pub flow: Option<u32>,
    /// The packet's identifier, the same at every hop: its source and its IP identification, as in
    /// `4:117`. The latter has 16 bits: packets of one source that are 65,536 apart have the same
    /// identifier.
    pub packet: Option<IpPacketId>,
    /// The packet's source by its IP header.
    pub source: Option<u32>,
    /// The packet's destination, or that of a route; empty for a broadcast.
    pub destination: Option<u32>,
    /// The node at the other end of the hop; empty for a broadcast.
    pub neighbour: Option<u32>,
    /// The size (bytes). Of a frame, from the MAC header to the frame check sequence; of a packet, from the IP
    /// header on; of TCP, the payload.
    pub bytes: Option<u32>,
    /// The offset in the stream of the flow, from 0 (bytes).
    pub offset_bytes: Option<u64>,
    /// The number of hops that a delivered packet has taken, by its time to live: AODV also counts each attempt on a
    /// link that failed, after which the packet got another route.
    pub hops: Option<u32>,
    /// The number of packets in the interface queue after the event.
    pub queue_length: Option<u32>,
    /// The congestion window (bytes).
    pub cwnd_bytes: Option<u32>,
    /// The slow-start threshold (bytes).
    pub ssthresh_bytes: Option<u32>,
    /// The retransmission timeout, back-off included (s).
    #[serde(with = "optional_seconds")]
    #[schemars(with = "Option<f64>")]
    pub rto_s: Option<Duration>,
    /// The node's position, x coordinate (m).
    pub x_m: Option<f64>,
    /// The node's position, y coordinate (m).
    pub y_m: Option<f64>,
    /// The source route of a packet under DSR, with both ends, as in `0-3-7-4`; of a salvaged packet, from
    /// the node that has salvaged it on.
    pub source_route: Option<String>,
    /// The wire, or the hop of a path, from 1, in the order of the scenario; of rows of the layer `link`.
    pub wire: Option<u32>,
    /// The air, from 0, in the order of the scenario; of rows of the layers `air` and `queue`.
    pub air: Option<u32>,
}

/// The part of a node in which an event occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Frames.
    Air,
    /// The interface queue of a radio.
    Queue,
    /// A wire, and the interface queue of its end.
    Link,
    /// Routing, and the packets that pass through it.
    Routing,
    /// TCP at the sender, and the receiving application.
    Tcp,
    /// The applications of a flow over UDP.
    Udp,
    /// The aid.
    Aid,
    /// The node's position.
    Mobility,
    /// A fault of a link or of a radio.
    Fault,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A frame was transmitted; the transmission of a packet over a wire began; a segment was passed from
    /// TCP to IP; an application sent a datagram.
    Sent,
    /// A frame, or data, that had been sent before was sent again.
    Retransmitted,
    /// A packet was received from a neighbour.
    Received,
    /// A packet reached its destination, or the other end of a wire; a stream was delivered up to an
    /// offset; an application received a datagram.
    Delivered,
    /// A packet was dropped.
    Dropped,
    /// A packet entered the queue.
    Enqueued,
    /// A packet left the queue for the MAC layer.
    Dequeued,
    /// A route was found.
    RouteFound,
    /// A route was lost.
    RouteLost,
    /// The link layer failed to send a packet, and the neighbour was out of range.
    LinkFailure,
    /// The link layer failed to send a packet although the neighbour was in range.
    FalseLinkFailure,
    /// The link layer failed to send a packet and gets it again.
    LinkRetry,
    /// The sender received a new cumulative acknowledgment.
    Acked,
    /// The retransmission timer expired.
    Timeout,
    /// A loss recovery began without a timeout.
    FastRetransmit,
    /// The sender's host received a signal that its destination is unreachable, by `unreachable_at` or
    /// `unreachable_until`.
    Unreachable,
    /// The aid has entered this state.
    State,
    /// The node is at this position.
    Position,
    /// A fault begins.
    Begins,
    /// A fault ends.
    Ends,
}

/// The identifier of a packet: its source and its IP identification. The latter has 16 bits: packets
/// of one source that are 65,536 apart have the same identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpPacketId {
    /// The source.
    pub source: u32,
    /// The IP identification.
    pub identification: u16,
}

impl Entry {
    /// An entry with time, node, layer and event.
    pub const fn new(time_s: Instant, node: u32, layer: Layer, event: Event) -> Self {
        Self {
            time_s,
            node,
            layer,
            event,
            reason: Cow::Borrowed(""),
            kind: Cow::Borrowed(""),
            flow: None,
            packet: None,
            source: None,
            destination: None,
            neighbour: None,
            bytes: None,
            offset_bytes: None,
            hops: None,
            queue_length: None,
            source_route: None,
            cwnd_bytes: None,
            ssthresh_bytes: None,
            rto_s: None,
            x_m: None,
            y_m: None,
            wire: None,
            air: None,
        }
    }

    /// Creates the entry of an event of a flow.
    pub(crate) fn of_flow(at: FlowContext, layer: Layer, event: Event) -> Self {
        let entry = Self::new(at.now, at.node.number(), layer, event);
        Self { flow: Some(at.flow.number()), ..entry }
    }

    /// Adds a reason.
    #[must_use]
    pub fn with_reason(self, reason: &'static str) -> Self {
        Self { reason: reason.into(), ..self }
    }

    /// Adds the fields that describe what a frame carries.
    #[must_use]
    pub fn with_body(self, body: &FrameBody) -> Self {
        match body {
            FrameBody::Ip(packet) => self.with_packet(packet),
            FrameBody::Arp(message) => Self {
                kind: "arp".into(),
                source: node_of(message.sender).map(NodeId::number),
                destination: node_of(message.target).map(NodeId::number),
                bytes: Some(body.bytes()),
                ..self
            },
        }
    }

    /// Adds the fields that describe a packet.
    #[must_use]
    pub fn with_packet(self, packet: &RoutedPacket) -> Self {
        let Packet { ip, body } = &packet.packet;
        let source = node_of(ip.source).map(NodeId::number);
        Self {
            kind: packet_kind(packet).into(),
            flow: flow_of(&packet.packet).map(FlowId::number),
            packet: source
                .filter(|_| ip.identification != 0)
                .map(|source| IpPacketId { source, identification: ip.identification }),
            source,
            destination: node_of(ip.destination).map(NodeId::number),
            bytes: Some(packet.len()),
            source_route: source_route(packet),
            offset_bytes: match body {
                Body::Tcp(segment) if !segment.payload.is_empty() => Some(segment.payload.offset),
                Body::Udp(datagram) => Some(datagram.payload.offset),
                _ => None,
            },
            ..self
        }
    }
}

/// The source route of a packet under DSR, with both ends.
fn source_route(packet: &RoutedPacket) -> Option<String> {
    let ip = &packet.packet.ip;
    let between = &packet.dsr.as_ref()?.source_route.as_ref()?.route;
    let nodes = once(&ip.source).chain(between.as_slice()).chain(once(&ip.destination));
    let nodes = nodes.filter_map(|node| node_of(*node)).map(|node| node.to_string());
    Some(nodes.collect::<Vec<_>>().join("-"))
}

/// The kind of a packet: `tcp-data`, `tcp-ack`, `tcp-syn`, `tcp-fin`, `tcp-rst`, `udp`, `icmp`, `aodv-rreq`,
/// `aodv-rrep`, `aodv-rerr`, `aodv-rrep-ack`, `aodv-losses`, `dsr-rreq`, `dsr-rrep`, `dsr-rerr`, `dsr`.
pub fn packet_kind(packet: &RoutedPacket) -> &'static str {
    match &packet.packet.body {
        Body::Tcp(segment) => match segment.flags {
            flags if flags.contains(TcpFlags::SYN) => "tcp-syn",
            flags if flags.contains(TcpFlags::RST) => "tcp-rst",
            _ if !segment.payload.is_empty() => "tcp-data",
            flags if flags.contains(TcpFlags::FIN) => "tcp-fin",
            _ => "tcp-ack",
        },
        Body::Udp(_) => "udp",
        Body::Icmp(_) => "icmp",
        Body::Aodv(AodvMessage::Request(_)) => "aodv-rreq",
        Body::Aodv(AodvMessage::Reply(_)) => "aodv-rrep",
        Body::Aodv(AodvMessage::Error(_)) => "aodv-rerr",
        Body::Aodv(AodvMessage::ReplyAck) => "aodv-rrep-ack",
        Body::Aodv(AodvMessage::LossNotification(_)) => "aodv-losses",
        Body::Control(message) => message.kind().name,
        Body::NoNextHeader => match &packet.dsr {
            Some(header) if header.request().is_some() => "dsr-rreq",
            Some(header) if header.reply.is_some() => "dsr-rrep",
            Some(header) if header.errors().next().is_some() => "dsr-rerr",
            Some(_) | None => "dsr",
        },
    }
}

impl fmt::Display for IpPacketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.identification)
    }
}

impl FromStr for IpPacketId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':').and_then(|(source, identification)| {
            Some(Self {
                source: source.parse().ok()?,
                identification: identification.parse().ok()?,
            })
        });
        parts.ok_or("a packet identifier is NODE:IDENTIFICATION")
    }
}

impl Serialize for IpPacketId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for IpPacketId {
    fn schema_name() -> Cow<'static, str> {
        "IpPacketId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+:[0-9]+$" })
    }
}

impl<'de> Deserialize<'de> for IpPacketId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}
