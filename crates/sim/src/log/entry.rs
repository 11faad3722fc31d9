//! One row of an event log.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use driftway_base::{Duration, Instant};
use driftway_wire::{AodvMessage, Body, Packet, RoutedPacket, TcpFlags};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::addresses::node_number;
use crate::sockets::flow_index;
use crate::trace;

/// One event. What it has no value for is an empty cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    #[serde(with = "seconds")]
    pub time_s: Instant,
    /// The node at which it happened; for a fault of a path, the hop, from 1.
    pub node: u32,
    /// Which part of it.
    pub layer: Layer,
    /// What happened.
    pub event: Event,
    /// Why, or how it ended: of what is dropped, by the names of a result's `drops`; of a frame, what
    /// became of it at its addressee; of a link failure, what did not come; of an aid,
    /// its state; of a fault, its kind.
    pub reason: Cow<'static, str>,
    /// What kind of packet: [`kind`].
    pub kind: Cow<'static, str>,
    /// The flow that it belongs to.
    pub flow: Option<u32>,
    /// Which packet, the same at every hop.
    pub packet: Option<IpPacketId>,
    /// The node that the packet comes from, by its IP header.
    pub source: Option<u32>,
    /// The node that it goes to; of a route, to which; empty for all.
    pub destination: Option<u32>,
    /// The node at the other end of the hop; empty for all.
    pub neighbour: Option<u32>,
    /// Of a frame, from the MAC header to the check sequence; of a packet, from the IP header on; of
    /// TCP, the payload.
    pub bytes: Option<u32>,
    /// Where in the stream of its flow, from 0.
    pub offset_bytes: Option<u64>,
    /// Hops that a delivered packet has taken.
    pub hops: Option<u32>,
    /// Packets that wait in the node's interface queue, afterwards.
    pub queue_length: Option<u32>,
    /// Congestion window.
    pub cwnd_bytes: Option<u32>,
    /// Slow-start threshold.
    pub ssthresh_bytes: Option<u32>,
    /// Retransmission timeout, back-off included.
    #[serde(with = "span")]
    pub rto_s: Option<Duration>,
    /// Where the node is.
    pub x_m: Option<f64>,
    /// Where the node is.
    pub y_m: Option<f64>,
}

/// Which part of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Frames.
    Air,
    /// The interface queue.
    Queue,
    /// Routing, and the packets that pass it.
    Routing,
    /// TCP at the sender, and the receiving application.
    Tcp,
    /// Whatever helps TCP.
    Aid,
    /// Where it is.
    Mobility,
    /// A fault of a path.
    Fault,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Put on the air; handed from TCP to IP.
    Sent,
    /// As `sent`, by a TCP that had sent some of it before.
    Retransmitted,
    /// A packet came from a neighbour.
    Received,
    /// A packet is there, or a stream is, up to an offset.
    Delivered,
    /// A packet died.
    Dropped,
    /// It came into the queue.
    Enqueued,
    /// It left the queue for the air.
    Dequeued,
    /// There is a route, where there was none.
    RouteFound,
    /// There is none any more.
    RouteLost,
    /// The link layer gave up on a packet; the neighbour was out of range.
    LinkFailure,
    /// The link layer gave up on a packet, though the neighbour was in range.
    FalseLinkFailure,
    /// The link layer gave up on a packet, and gets it again.
    LinkRetry,
    /// The sender got a new cumulative acknowledgment.
    Acked,
    /// The retransmission timer went off.
    Timeout,
    /// Loss recovery began without a timeout.
    FastRetransmit,
    /// The sender's host got the signal that its destination cannot be reached, by `unreachable_at` or
    /// `unreachable_until`.
    Unreachable,
    /// It is in another state from now on.
    State,
    /// It is here.
    Position,
    /// It begins.
    Begins,
    /// It is over.
    Ends,
}

/// What a packet is called: who made it, and its IP identification. That has 16 bits: a source's
/// packets 65,536 apart share a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpPacketId {
    /// Its source.
    pub source: u32,
    /// Its IP identification.
    pub identification: u16,
}

impl Entry {
    /// An entry that says when, where and what.
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
            cwnd_bytes: None,
            ssthresh_bytes: None,
            rto_s: None,
            x_m: None,
            y_m: None,
        }
    }

    /// With this reason.
    #[must_use]
    pub fn with_reason(self, reason: &'static str) -> Self {
        Self { reason: reason.into(), ..self }
    }

    /// About this packet.
    #[must_use]
    pub fn with_packet(self, packet: &RoutedPacket) -> Self {
        let Packet { ip, body } = &packet.packet;
        let source = node_number(ip.source);
        Self {
            kind: packet_kind(packet).into(),
            flow: flow_index(&packet.packet),
            packet: source
                .filter(|_| ip.identification != 0)
                .map(|source| IpPacketId { source, identification: ip.identification }),
            source,
            destination: node_number(ip.destination),
            bytes: Some(packet.len()),
            offset_bytes: match body {
                Body::Tcp(segment) if !segment.payload.is_empty() => Some(segment.payload.offset),
                Body::Udp(datagram) => Some(datagram.payload.offset),
                _ => None,
            },
            ..self
        }
    }
}

/// What kind of packet it is: `tcp-data`, `tcp-ack`, `tcp-syn`, `tcp-fin`, `tcp-rst`, `udp`, `icmp`,
/// `arp`, `aodv-rreq`, `aodv-rrep`, `aodv-rerr`, `aodv-rrep-ack`, `dsr-rreq`, `dsr-rrep`,
/// `dsr-rerr`, `dsr`.
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
        Body::NoNextHeader => match &packet.dsr {
            None => "arp",
            Some(header) if header.request().is_some() => "dsr-rreq",
            Some(header) if header.reply.is_some() => "dsr-rrep",
            Some(header) if header.errors().next().is_some() => "dsr-rerr",
            Some(_) => "dsr",
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
        parts.ok_or("a packet is NODE:IDENTIFICATION")
    }
}

impl Serialize for IpPacketId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpPacketId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Seconds with all nine decimals, as in traces.
mod seconds {
    use super::*;

    pub fn serialize<S: Serializer>(at: &Instant, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&trace::format_seconds(*at))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        trace::parse_seconds(&text).ok_or_else(|| de::Error::custom("a time has nine decimals"))
    }
}

/// The same for a span that may not be there.
mod optional_seconds {
    use super::*;

    pub fn serialize<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => super::seconds::serialize(&(Instant::ZERO + *span), to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        if text.is_empty() {
            return Ok(None);
        }
        let at = trace::parse_seconds(&text);
        at.map(|at| Some(at.since(Instant::ZERO)))
            .ok_or_else(|| de::Error::custom("a time has nine decimals"))
    }
}
