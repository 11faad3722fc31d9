//! IPv4 packets (RFC 791).

use base::{Ecn, Ipv4Addr};

use crate::{IcmpMessage, TcpSegment, UdpDatagram};

/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER: u32 = 20;

/// A whole packet, as the lab moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The IP header.
    pub ip: IpHeader,
    /// What it carries.
    pub body: Body,
}

/// An IPv4 header. Lengths and checksums follow from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Where it goes.
    pub destination: Ipv4Addr,
    /// Congestion bits (RFC 3168).
    pub ecn: Ecn,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Hops it may still take.
    pub ttl: u8,
    /// Identification.
    pub identification: u16,
    /// Must not be fragmented.
    pub dont_fragment: bool,
    /// Options as they stand in the header.
    pub options: IpOptions,
}

/// Up to 40 bytes of IP options, a multiple of 4, kept as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpOptions {
    bytes: [u8; 40],
    len: u8,
}

impl IpOptions {
    /// None.
    pub const EMPTY: Self = Self { bytes: [0; 40], len: 0 };

    /// Copies `bytes`, padding with end-of-list to a multiple of 4; `None` if there are over 40.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut options = Self::EMPTY;
        options.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        options.len = bytes.len().next_multiple_of(4) as u8;
        Some(options)
    }
    /// The bytes, padding included.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Default for IpOptions {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Protocol 6.
    Tcp(TcpSegment),
    /// Protocol 17.
    Udp(UdpDatagram),
    /// Protocol 1.
    Icmp(IcmpMessage),
}

impl Packet {
    /// Its total length on the air (bytes): IP header, transport header, payload.
    pub const fn len(&self) -> u32 {
        let ip = IPV4_HEADER + self.ip.options.len as u32;
        ip.saturating_add(match &self.body {
            Body::Tcp(segment) => (20 + segment.options.len()).saturating_add(segment.payload.len),
            Body::Udp(datagram) => datagram.payload.len.saturating_add(8),
            Body::Icmp(IcmpMessage::Echo { payload, .. }) => payload.len.saturating_add(8),
            Body::Icmp(_) => 8 + IPV4_HEADER + 8,
        })
    }
    /// Never: a packet has at least its header. Here for those who ask.
    pub const fn is_empty(&self) -> bool {
        false
    }
    /// Its protocol number.
    pub const fn protocol(&self) -> u8 {
        match self.body {
            Body::Icmp(_) => 1,
            Body::Tcp(_) => 6,
            Body::Udp(_) => 17,
        }
    }
}
