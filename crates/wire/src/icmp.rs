//! ICMP messages (RFC 792, RFC 1122 §3.2.2): those that a path of driftway sends. The two of
//! chandran-1998, which has no format for them, are an experiment's (RFC 4727 §3).

use driftway_base::{Ecn, FailedLink, Ipv4Addr, Seq};

use crate::cursor::{Reader, Writer};
use crate::ip::ParsedHeader;
use crate::{Body, DecodeError, EncodeError, IPV4_HEADER_LEN, IpHeader, Packet, Payload};

// The types.
const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const SOURCE_QUENCH: u8 = 4;
const ECHO: u8 = 8;
const TIME_EXCEEDED: u8 = 11;
/// RFC 4727 §3: one of the two types for experiments. The code says which notification it is.
const ROUTE_NOTIFICATION: u8 = 253;
const FAILED: u8 = 0;
const RESTORED: u8 = 1;

/// An IP header without options and 8 bytes of what follows it.
const QUOTED_LEN: u32 = IPV4_HEADER_LEN + 8;

/// The three bits of the service code point that RFC 791 called precedence.
const PRECEDENCE: u8 = 0b111_000;
const INTERNETWORK_CONTROL: u8 = 0b110_000;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpMessage {
    /// Echo request or reply.
    Echo {
        /// A reply?
        reply: bool,
        /// Who asks.
        identifier: u16,
        /// The how-manieth.
        sequence: u16,
        /// What comes back.
        payload: Payload,
    },
    /// Destination unreachable (type 3).
    Unreachable {
        /// What cannot be reached: the code.
        code: UnreachableCode,
        /// The packet that could not be delivered.
        quoted: QuotedPacket,
    },
    /// Source quench (type 4); obsolete by RFC 6633, spoken because liu-singh-2001 §III-A uses it.
    SourceQuench {
        /// The packet that met congestion.
        quoted: QuotedPacket,
    },
    /// Time exceeded (type 11, code 0 in transit or 1 in reassembly).
    TimeExceeded {
        /// In reassembly, not in transit.
        reassembly: bool,
        /// The packet that was given up.
        quoted: QuotedPacket,
    },
    /// Route failure notification, RFN (chandran-1998 §4): type 253, code 0. Both ends of the
    /// failed link come before the quotation, that of the failure point in the header's second
    /// word.
    RouteFailed {
        /// The link that failed.
        link: FailedLink,
        /// The packet that has no way.
        quoted: QuotedPacket,
    },
    /// Route re-establishment notification, RRN (chandran-1998 §4): type 253, code 1.
    RouteRestored {
        /// The link whose failure was notified.
        link: FailedLink,
        /// A packet that had no way.
        quoted: QuotedPacket,
    },
}

impl IcmpMessage {
    /// What it quotes, if it is an error message.
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

    /// The link that a route notification speaks of.
    const fn link(&self) -> Option<FailedLink> {
        match self {
            Self::RouteFailed { link, .. } | Self::RouteRestored { link, .. } => Some(*link),
            _ => None,
        }
    }

    /// How long the message is (bytes).
    pub(crate) const fn size(&self) -> u32 {
        match self {
            Self::Echo { payload, .. } => payload.len.saturating_add(8),
            _ => 8 + if self.link().is_some() { 4 } else { 0 } + QUOTED_LEN,
        }
    }

    /// Writes the message up to the payload; the checksum is left zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let (kind, code, word) = match *self {
            Self::Echo { reply, identifier, sequence, .. } => {
                let kind = if reply { ECHO_REPLY } else { ECHO };
                (kind, 0, (identifier, sequence))
            }
            Self::Unreachable { code, .. } => (UNREACHABLE, code.number(), (0, code.mtu())),
            Self::SourceQuench { .. } => (SOURCE_QUENCH, 0, (0, 0)),
            Self::TimeExceeded { reassembly, .. } => (TIME_EXCEEDED, reassembly.into(), (0, 0)),
            Self::RouteFailed { link, .. } => (ROUTE_NOTIFICATION, FAILED, address_halves(link.from)),
            Self::RouteRestored { link, .. } => (ROUTE_NOTIFICATION, RESTORED, address_halves(link.from)),
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

    /// Reads a message whose checksum is right, and finds its payload.
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

/// An address as the two halves of a word.
const fn address_halves(address: Ipv4Addr) -> (u16, u16) {
    let [a, b, c, d] = address.octets();
    (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

/// The codes of destination unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreachableCode {
    /// 0
    Net,
    /// 1
    Host,
    /// 2
    Protocol,
    /// 3
    Port,
    /// 4, with the next hop's MTU (RFC 1191)
    FragmentationNeeded {
        /// MTU of the next hop (bytes); 0 from old routers.
        mtu: u16,
    },
    /// Any other.
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
    /// The second half of the message's second word (RFC 1191 §4).
    const fn mtu(self) -> u16 {
        match self {
            Self::FragmentationNeeded { mtu } => mtu,
            _ => 0,
        }
    }
}

/// What an error message quotes: the IP header (RFC 792: and the first 8 bytes behind it), reduced
/// to what says which packet it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedPacket {
    /// Its source.
    pub source: Ipv4Addr,
    /// Its destination.
    pub destination: Ipv4Addr,
    /// Its protocol number.
    pub protocol: u8,
    /// Its total length (bytes), as its header says.
    pub total_len: u16,
    /// Its identification.
    pub identification: u16,
    /// Its time to live where it was given up.
    pub ttl: u8,
    /// Its congestion bits and DSCP.
    pub tos: u8,
    /// Was it not to be fragmented?
    pub dont_fragment: bool,
    /// The first 8 bytes behind its header.
    pub transport_head: [u8; 8],
}

impl QuotedPacket {
    /// The quotation of `offending`; `None` if no error may be sent about it (RFC 1122 §3.2.2): it
    /// is an ICMP error itself, its destination is not one host, or its source could not be
    /// answered.
    ///
    /// IP options are left out, and as a packet only names its payload, the checksum among the
    /// first bytes of a UDP datagram or an echo is quoted as 0.
    pub fn of(offending: &Packet) -> Option<Self> {
        let ip = &offending.ip;
        let (destination, source) = (ip.destination, ip.source);
        if destination.is_multicast()
            || destination.is_broadcast()
            || source.is_unspecified()
            || source.is_loopback()
            || source.octets().first().is_some_and(|&first| first >= 224)
        {
            return None;
        }
        // More than any transport header, of which only the beginning is wanted.
        let mut headers = [0; 80];
        let mut to = Writer::new(&mut headers, 80).ok()?;
        match &offending.body {
            Body::Tcp(segment) => segment.write(&mut to),
            Body::Udp(datagram) => datagram.write(&mut to),
            Body::Icmp(message) if message.quoted().is_none() => message.write(&mut to),
            Body::Icmp(_) | Body::Aodv(_) | Body::NoNextHeader => return None,
        }
        .ok()?;
        Some(Self {
            source,
            destination,
            protocol: offending.protocol(),
            total_len: offending.len().try_into().unwrap_or(u16::MAX),
            identification: ip.identification,
            ttl: ip.ttl,
            tos: ip.tos(),
            dont_fragment: ip.dont_fragment,
            transport_head: *headers.first_chunk()?,
        })
    }

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

    /// Reads a quotation. Its IP checksum is not looked at: routers quote what they have changed.
    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let ParsedHeader { header, protocol, total_len, len, fragment_offset, .. } =
            ParsedHeader::read(bytes)?;
        // RFC 1122 §3.2.2: no error is sent about a fragment but the first, whose head is not that
        // of a transport header.
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

    /// Source and destination port, for TCP and UDP.
    pub const fn ports(&self) -> (u16, u16) {
        let [a, b, c, d, ..] = self.transport_head;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }
    /// The sequence number, for TCP.
    pub const fn seq(&self) -> Seq {
        let [.., e, f, g, h] = self.transport_head;
        Seq(u32::from_be_bytes([e, f, g, h]))
    }
}

impl Packet {
    /// The ICMP error that `reporter` sends about `offending`, as `message` makes it from the
    /// quotation; `None` where [`Quoted::of`] forbids it.
    pub fn icmp_error(
        reporter: Ipv4Addr,
        offending: &Self,
        message: impl FnOnce(QuotedPacket) -> IcmpMessage,
    ) -> Option<Self> {
        Self::icmp_error_from(reporter, message(QuotedPacket::of(offending)?))
    }

    /// The same where only the quotation of the packet is left: `message` goes to whoever sent what
    /// it quotes. `None` for a message that quotes nothing.
    pub fn icmp_error_from(reporter: Ipv4Addr, message: IcmpMessage) -> Option<Self> {
        let quoted = message.quoted()?;
        let mut ip = IpHeader::new(reporter, quoted.source);
        // RFC 1812 §4.3.2.5: the precedence of internetwork control, but a source quench has that
        // of the packet it is about.
        ip.dscp = match message {
            IcmpMessage::SourceQuench { .. } => (quoted.tos >> 2) & PRECEDENCE,
            _ => INTERNETWORK_CONTROL,
        };
        Some(Self { ip, body: Body::Icmp(message) })
    }

    /// The reply to an echo request that one host was asked; `None` for any other packet. It
    /// carries the request's payload and service code point (RFC 792, RFC 1349 §5.1), no IP options.
    pub fn echo_reply(&self) -> Option<Self> {
        let Body::Icmp(IcmpMessage::Echo { reply: false, identifier, sequence, payload }) =
            self.body
        else {
            return None;
        };
        if self.ip.destination.is_multicast() || self.ip.destination.is_broadcast() {
            return None;
        }
        let ip =
            IpHeader { dscp: self.ip.dscp, ..IpHeader::new(self.ip.destination, self.ip.source) };
        let message = IcmpMessage::Echo { reply: true, identifier, sequence, payload };
        Some(Self { ip, body: Body::Icmp(message) })
    }
}
