//! IPv4 packets: a header and one of the bodies that this crate knows.

use crate::ip::{ICMP, NO_NEXT_HEADER, TCP, UDP};
use crate::{
    AodvMessage, ControlMessage, IPV4_HEADER_LEN, IcmpMessage, IpHeader, Payload, TcpSegment,
    UdpDatagram,
};

/// A complete IPv4 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The IP header.
    pub ip: IpHeader,
    /// Transport header and payload.
    pub body: Body,
}

/// Transport header and payload of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// TCP (protocol 6).
    Tcp(TcpSegment),
    /// UDP (protocol 17).
    Udp(UdpDatagram),
    /// ICMP (protocol 1).
    Icmp(IcmpMessage),
    /// AODV (protocol 17, port 654; RFC 3561 §8).
    Aodv(AodvMessage),
    /// A control message of another routing protocol (protocol 17).
    Control(ControlMessage),
    /// No next header: a packet that consists of its DSR header (protocol 59; RFC 4728 §6.1).
    NoNextHeader,
}

impl Packet {
    /// Total length (bytes): IP header, transport header, payload.
    #[inline]
    pub const fn len(&self) -> u32 {
        let ip = IPV4_HEADER_LEN + self.ip.options.len();
        ip.saturating_add(match &self.body {
            Body::Tcp(segment) => (20 + segment.options.len()).saturating_add(segment.payload.len),
            Body::Udp(datagram) => datagram.payload.len.saturating_add(8),
            Body::Icmp(message) => message.size(),
            Body::Aodv(message) => message.size() + 8,
            Body::Control(message) => message.size() + 8,
            Body::NoNextHeader => 0,
        })
    }
    /// Always false: a packet has at least its header.
    pub const fn is_empty(&self) -> bool {
        false
    }
    /// Protocol number.
    pub const fn protocol(&self) -> u8 {
        match self.body {
            Body::Icmp(_) => ICMP,
            Body::Tcp(_) => TCP,
            Body::Udp(_) | Body::Aodv(_) | Body::Control(_) => UDP,
            Body::NoNextHeader => NO_NEXT_HEADER,
        }
    }
    /// The payload; empty for an ICMP error.
    pub const fn payload(&self) -> Payload {
        match self.body {
            Body::Tcp(segment) => segment.payload,
            Body::Udp(datagram) => datagram.payload,
            Body::Icmp(IcmpMessage::Echo { payload, .. }) => payload,
            Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => Payload::EMPTY,
        }
    }
}
