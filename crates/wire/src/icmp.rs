//! ICMP messages that driftway sends (RFC 792, RFC 1122 §3.2.2). The two of chandran-1998, which defines no
//! format, use an experimental type (RFC 4727 §3).

use driftway_base::{Ecn, FailedLink, Ipv4Addr, Seq};

use crate::cursor::{Reader, Writer};
use crate::ip::ParsedHeader;
use crate::{DecodeError, EncodeError, IPV4_HEADER_LEN, IpHeader, Payload};

// Message types.
const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const SOURCE_QUENCH: u8 = 4;
const ECHO: u8 = 8;
const TIME_EXCEEDED: u8 = 11;
/// RFC 4727 §3: one of the two experimental types. The code distinguishes the notifications.
const ROUTE_NOTIFICATION: u8 = 253;
const FAILED: u8 = 0;
const RESTORED: u8 = 1;

/// Length of a quotation: an IP header without options and 8 bytes of its payload.
const QUOTED_LEN: u32 = IPV4_HEADER_LEN + 8;

/// An ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpMessage {
    /// Echo request or reply.
    Echo {
        /// A reply, not a request.
        reply: bool,
        /// Identifier of the requester.
        identifier: u16,
        /// Sequence number of the request.
        sequence: u16,
        /// Data returned in the reply.
        payload: Payload,
    },
    /// Destination unreachable (type 3).
    Unreachable {
        /// Reason: the code.
        code: UnreachableCode,
        /// The undeliverable packet.
        quoted: QuotedPacket,
    },
    /// Source quench (type 4); obsoleted by RFC 6633, supported because liu-singh-2001 §III-A uses it.
    SourceQuench {
        /// The packet that encountered congestion.
        quoted: QuotedPacket,
    },
    /// Time exceeded (type 11): in transit (code 0) or in reassembly (code 1).
    TimeExceeded {
        /// Reassembly time exceeded.
        reassembly: bool,
        /// The discarded packet.
        quoted: QuotedPacket,
    },
    /// Route failure notification, RFN (chandran-1998 §4): type 253, code 0. Both ends of the failed link
    /// precede the quotation; the failure point is in the second word of the header.
    RouteFailed {
        /// The failed link.
        link: FailedLink,
        /// The packet without a route.
        quoted: QuotedPacket,
    },
    /// Route re-establishment notification, RRN (chandran-1998 §4): type 253, code 1.
    RouteRestored {
        /// The link whose failure was reported.
        link: FailedLink,
        /// A packet that had no route.
        quoted: QuotedPacket,
    },
}

impl IcmpMessage {
    /// The quoted packet of an error message.
    pub const fn quoted(&self) -> Option<&QuotedPacket> {
        match self {
            Self::Echo { .. } => None,
            Self::Unreachable { quoted, .. }
            | Self::SourceQuench { quoted }
            | Self::TimeExceeded { quoted, .. }
            | Self::RouteFailed { quoted, .. }
            | Self::RouteRestored { quoted, .. } => Some(quoted),
        }
    }

    /// The link of a route notification.
    const fn link(&self) -> Option<FailedLink> {
        match self {
            Self::RouteFailed { link, .. } | Self::RouteRestored { link, .. } => Some(*link),
            _ => None,
        }
    }

    /// Length of the message (bytes).
    pub(crate) const fn size(&self) -> u32 {
        match self {
            Self::Echo { payload, .. } => payload.len.saturating_add(8),
            _ => 8 + if self.link().is_some() { 4 } else { 0 } + QUOTED_LEN,
        }
    }

    /// Writes the message up to the payload with a checksum of zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let (kind, code, word) = match *self {
            Self::Echo { reply, identifier, sequence, .. } => {
                let kind = if reply { ECHO_REPLY } else { ECHO };
                (kind, 0, (identifier, sequence))
            }
            Self::Unreachable { code, .. } => (UNREACHABLE, code.number(), (0, code.mtu())),
            Self::SourceQuench { .. } => (SOURCE_QUENCH, 0, (0, 0)),
            Self::TimeExceeded { reassembly, .. } => (TIME_EXCEEDED, reassembly.into(), (0, 0)),
            Self::RouteFailed { link, .. } => {
                (ROUTE_NOTIFICATION, FAILED, address_halves(link.from))
            }
            Self::RouteRestored { link, .. } => {
                (ROUTE_NOTIFICATION, RESTORED, address_halves(link.from))
            }
        };
        to.u8(kind)?;
        to.u8(code)?;
        to.u16(0)?;
        to.u16(word.0)?;
        to.u16(word.1)?;
        if let Some(link) = self.link() {
            to.u32(link.to.to_bits())?;
        }
        self.quoted().map_or(Ok(()), |quoted| quoted.write(to))
    }

    /// Decodes a message whose checksum has been verified, and returns it with its payload.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let mut from = Reader(bytes);
        let (kind, code, _checksum) = (from.u8()?, from.u8()?, from.u16()?);
        let (high, low) = (from.u16()?, from.u16()?);
        let message = match (kind, code) {
            (ECHO | ECHO_REPLY, 0) => {
                let message = Self::Echo {
                    reply: kind == ECHO_REPLY,
                    identifier: high,
                    sequence: low,
                    payload: Payload::new(0, 0, from.0.len() as u32),
                };
                return Ok((message, from.0));
            }
            (UNREACHABLE, _) => Self::Unreachable {
                code: UnreachableCode::new(code, low),
                quoted: QuotedPacket::read(from.0)?,
            },
            (SOURCE_QUENCH, 0) => Self::SourceQuench { quoted: QuotedPacket::read(from.0)? },
            (TIME_EXCEEDED, 0 | 1) => {
                Self::TimeExceeded { reassembly: code == 1, quoted: QuotedPacket::read(from.0)? }
            }
            (ROUTE_NOTIFICATION, FAILED | RESTORED) => {
                let from_bits = u32::from(high) << 16 | u32::from(low);
                let link = FailedLink { from: Ipv4Addr::from_bits(from_bits), to: from.address()? };
                let quoted = QuotedPacket::read(from.0)?;
                match code {
                    FAILED => Self::RouteFailed { link, quoted },
                    _ => Self::RouteRestored { link, quoted },
                }
            }
            _ => return Err(DecodeError::IcmpMessage { kind, code }),
        };
        Ok((message, &[]))
    }
}

/// The two halves of an address.
const fn address_halves(address: Ipv4Addr) -> (u16, u16) {
    let [a, b, c, d] = address.octets();
    (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// Codes of destination unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachableCode {
    /// Network unreachable (0).
    Net,
    /// Host unreachable (1).
    Host,
    /// Protocol unreachable (2).
    Protocol,
    /// Port unreachable (3).
    Port,
    /// Fragmentation needed and DF set (4), with the next-hop MTU (RFC 1191).
    FragmentationNeeded {
        /// Next-hop MTU (bytes); 0 from routers that do not implement RFC 1191.
        mtu: u16,
    },
    /// Any other code.
    Other(u8),
}

impl UnreachableCode {
    const fn new(number: u8, mtu: u16) -> Self {
        match number {
            0 => Self::Net,
            1 => Self::Host,
            2 => Self::Protocol,
            3 => Self::Port,
            4 => Self::FragmentationNeeded { mtu },
            other => Self::Other(other),
        }
    }
    const fn number(self) -> u8 {
        match self {
            Self::Net => 0,
            Self::Host => 1,
            Self::Protocol => 2,
            Self::Port => 3,
            Self::FragmentationNeeded { .. } => 4,
            Self::Other(number) => number,
        }
    }
    /// The second half of the second header word (RFC 1191 §4).
    const fn mtu(self) -> u16 {
        match self {
            Self::FragmentationNeeded { mtu } => mtu,
            _ => 0,
        }
    }
}

/// The packet quoted in an error message: its IP header and first 8 payload bytes (RFC 792), reduced to the
/// fields that identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedPacket {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Protocol number.
    pub protocol: u8,
    /// Total length in its header (bytes).
    pub total_len: u16,
    /// Identification.
    pub identification: u16,
    /// Time to live at the node that discarded it.
    pub ttl: u8,
    /// DSCP and ECN field.
    pub tos: u8,
    /// Don't Fragment flag.
    pub dont_fragment: bool,
    /// The first 8 bytes after the IP header.
    pub transport_head: [u8; 8],
}

impl QuotedPacket {
    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let header = IpHeader {
            ecn: Ecn::from_bits(self.tos),
            dscp: self.tos >> 2,
            ttl: self.ttl,
            identification: self.identification,
            dont_fragment: self.dont_fragment,
            ..IpHeader::new(self.source, self.destination)
        };
        header.write(self.total_len, self.protocol, to)?;
        to.bytes(&self.transport_head)
    }

    /// Decodes a quotation. Its IP checksum is not verified, because routers quote headers that they have
    /// modified.
    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let ParsedHeader { header, protocol, total_len, len, fragment_offset, .. } =
            ParsedHeader::read(bytes)?;
        // RFC 1122 §3.2.2: errors are sent about first fragments only; others do not begin with a transport
        // header.
        if fragment_offset != 0 {
            return Err(DecodeError::Fragment);
        }
        let mut behind = Reader(bytes);
        let _header = behind.slice(len)?;
        Ok(Self {
            source: header.source,
            destination: header.destination,
            protocol,
            total_len,
            identification: header.identification,
            ttl: header.ttl,
            tos: header.tos(),
            dont_fragment: header.dont_fragment,
            transport_head: behind.read_array()?,
        })
    }

    /// Source and destination port (TCP and UDP).
    pub const fn ports(&self) -> (u16, u16) {
        let [a, b, c, d, ..] = self.transport_head;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }
    /// Sequence number (TCP).
    pub const fn seq(&self) -> Seq {
        let [.., e, f, g, h] = self.transport_head;
        Seq(u32::from_be_bytes([e, f, g, h]))
    }
}
