//! Packets to bytes, and back.

use core::fmt;

use crate::checksum::Checksum;
use crate::cursor::{Writer, set_checksum};
use crate::ip::{ICMP, NO_NEXT_HEADER, ParsedHeader, TCP, UDP};
use crate::{
    AODV_PORT, AodvMessage, Body, DSR_PROTOCOL, DsrHeader, IcmpMessage, IpHeader, Packet, Payload, RoutedPacket,
    TcpSegment, UdpDatagram,
};

/// Why a packet cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The buffer has fewer bytes than [`Packet::len`].
    BufferTooSmall {
        /// What it would have to have (bytes).
        needed: usize,
    },
    /// The packet is longer than the 65,535 bytes that IP can say.
    TooLong {
        /// Its length (bytes).
        len: u32,
    },
    /// The TCP options take more than the 40 bytes that a header has for them.
    TcpOptionsTooLong {
        /// What they take (bytes).
        len: u32,
    },
}

/// Why bytes are not a packet that we understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A header, or what its length field announces, ends behind the bytes.
    Truncated,
    /// Not IP version 4 but this.
    Version(u8),
    /// A length field leads into its own header, or out of what holds it.
    HeaderLength,
    /// The checksum of the IP header is wrong.
    HeaderChecksum,
    /// The checksum of the TCP segment, UDP datagram or ICMP message is wrong.
    Checksum,
    /// A piece of a packet; reassembly is not ours.
    Fragment,
    /// No protocol that we speak.
    Protocol(u8),
    /// A TCP option has a length that is below 2 or leads out of the header (RFC 9293 §3.1).
    TcpOptionLength {
        /// The option's kind.
        kind: u8,
    },
    /// No ICMP message that we speak.
    IcmpMessage {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
    },
    /// An ARP message that is not about IPv4 and 48-bit addresses, or neither a request nor a reply.
    ArpMessage {
        /// Its operation.
        operation: u16,
    },
    /// A datagram to AODV's port is no message of AODV.
    AodvMessage {
        /// Its type.
        kind: u8,
    },
    /// A DSR option that has an illegal length or stands there twice, or an unknown one that may not be
    /// passed over.
    DsrOption {
        /// Its type.
        kind: u8,
    },
    /// An AODV message has an extension that may not be passed over (RFC 3561 §9).
    AodvExtension {
        /// The extension's type.
        kind: u8,
    },
    /// An RERR names no destination, or more than [`crate::AODV_UNREACHABLE_MAX`].
    AodvDestinations {
        /// How many it names.
        count: u8,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferTooSmall { needed } => write!(f, "the packet needs {needed} bytes"),
            Self::TooLong { len } => write!(f, "{len} bytes are too many for an IP packet"),
            Self::TcpOptionsTooLong { len } => {
                write!(f, "{len} bytes of TCP options are more than a header holds")
            }
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the packet is cut short"),
            Self::Version(version) => write!(f, "IP version {version}, not 4"),
            Self::HeaderLength => f.write_str("a length field contradicts its header"),
            Self::HeaderChecksum => f.write_str("the IP header's checksum is wrong"),
            Self::Checksum => f.write_str("the transport checksum is wrong"),
            Self::Fragment => f.write_str("a fragment of a packet"),
            Self::Protocol(protocol) => write!(f, "unknown IP protocol {protocol}"),
            Self::TcpOptionLength { kind } => write!(f, "illegal length of TCP option {kind}"),
            Self::IcmpMessage { kind, code } => {
                write!(f, "unknown ICMP message: type {kind}, code {code}")
            }
            Self::ArpMessage { operation } => {
                write!(f, "unknown ARP message: operation {operation}")
            }
            Self::DsrOption { kind } => write!(f, "illegal DSR option {kind}"),
            Self::AodvMessage { kind } => write!(f, "unknown AODV message: type {kind}"),
            Self::AodvExtension { kind } => {
                write!(f, "unknown AODV extension {kind}, which may not be passed over")
            }
            Self::AodvDestinations { count } => {
                write!(f, "an AODV route error with {count} destinations")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
impl core::error::Error for DecodeError {}

/// A packet that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The packet. Its payload is named `len` bytes of stream 0 from offset 0 on: which stream and
    /// offset they belong to is for whoever knows the connection to say.
    pub packet: Packet,
    /// The bytes of its payload.
    pub payload: &'a [u8],
}

impl Packet {
    /// Writes the packet's bytes to the front of `buf` and returns how many, which is
    /// [`Packet::len`]. `fill` writes those of the payload (in the lab [`Payload::pattern`], on a
    /// host a copy from where the driver keeps them); it is not called if there is no payload.
    ///
    /// # Errors
    /// If the packet does not fit into `buf`, into IP, or its options not into the TCP header.
    /// `buf` is then as it was.
    pub fn encode(
        &self,
        buf: &mut [u8],
        fill: impl FnOnce(Payload, &mut [u8]),
    ) -> Result<usize, EncodeError> {
        self.encode_with_dsr(None, buf, fill)
    }

    /// The same, with a DSR header between the IP header and the rest.
    fn encode_with_dsr(
        &self,
        dsr: Option<&DsrHeader>,
        buf: &mut [u8],
        fill: impl FnOnce(Payload, &mut [u8]),
    ) -> Result<usize, EncodeError> {
        if let Body::Tcp(TcpSegment { options, .. }) = &self.body
            && !options.fits_header()
        {
            return Err(EncodeError::TcpOptionsTooLong { len: options.len() });
        }
        let dsr = dsr.filter(|dsr| dsr.size() > 0);
        let len = self.len().saturating_add(dsr.map_or(0, DsrHeader::size));
        let total_len = u16::try_from(len).map_err(|_| EncodeError::TooLong { len })?;
        let mut packet = Writer::new(buf, usize::from(total_len))?;
        let protocol = if dsr.is_some() { DSR_PROTOCOL } else { self.protocol() };
        self.ip.write(total_len, protocol, &mut packet)?;
        if let Some(dsr) = dsr {
            dsr.write(self.protocol(), &mut packet)?;
        }

        let body = packet.rest();
        let mut to = Writer::new(body, body.len())?;
        match &self.body {
            Body::Tcp(segment) => segment.write(&mut to)?,
            Body::Udp(datagram) => datagram.write(&mut to)?,
            Body::Icmp(message) => message.write(&mut to)?,
            Body::Aodv(message) => message.write(&mut to)?,
            Body::NoNextHeader => {}
        }
        let payload = self.payload();
        if !payload.is_empty() {
            fill(payload, to.slice(payload.len as usize)?);
        }
        let checksum = transport_checksum(&self.ip, self.protocol(), body);
        match self.body {
            Body::Tcp(_) => set_checksum(body, 16, checksum),
            // RFC 768: a sum of zero is sent as its other form, because zero says that there is none.
            Body::Udp(_) | Body::Aodv(_) => {
                set_checksum(body, 6, if checksum == 0 { 0xffff } else { checksum });
            }
            Body::NoNextHeader => {}
            Body::Icmp(_) => set_checksum(body, 2, checksum),
        }
        Ok(usize::from(total_len))
    }

    /// Reads the packet that `bytes` begin with. What stands behind its total length (the padding
    /// of a short frame) is ignored, and so are reserved bits.
    ///
    /// # Errors
    /// If the bytes are not a whole packet with right checksums in a protocol that we speak. Never
    /// panics.
    pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, DecodeError> {
        let (ip, protocol, body) = read_unfragmented(bytes)?;
        let (body, payload) = read_body(&ip, protocol, body)?;
        Ok(Decoded { packet: Packet { ip, body }, payload })
    }
}

impl IpHeader {
    /// Reads the header that `bytes` begin with, whatever the packet carries, fragments included, and
    /// gives the packet's total length (bytes), all of which must be there.
    ///
    /// # Errors
    /// If the bytes do not begin with an IPv4 header with a right checksum. Never panics.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u16), DecodeError> {
        let (read, _) = read_header(bytes)?;
        Ok((read.header, read.total_len))
    }
}

impl RoutedPacket {
    /// Writes the packet's bytes as [`Packet::encode`] does, with its DSR header; what
    /// [`padding`](Self::padding) stands for is in no header and not written.
    ///
    /// # Errors
    /// As for [`Packet::encode`].
    pub fn encode(
        &self,
        buf: &mut [u8],
        fill: impl FnOnce(Payload, &mut [u8]),
    ) -> Result<usize, EncodeError> {
        self.packet.encode_with_dsr(self.dsr.as_ref(), buf, fill)
    }

    /// Reads the packet that `bytes` begin with, and the bytes of its payload.
    ///
    /// # Errors
    /// As for [`Packet::decode`].
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let (ip, protocol, rest) = read_unfragmented(bytes)?;
        let (dsr, protocol, rest) = match protocol {
            DSR_PROTOCOL => {
                let (header, protocol, rest) = DsrHeader::read(rest)?;
                ((header != DsrHeader::default()).then_some(header), protocol, rest)
            }
            _ => (None, protocol, rest),
        };
        let (body, payload) = read_body(&ip, protocol, rest)?;
        Ok((Self { packet: Packet { ip, body }, dsr, size_adjustment: 0 }, payload))
    }
}

/// An IP header, the protocol number of what follows, and that.
fn read_unfragmented(bytes: &[u8]) -> Result<(IpHeader, u8, &[u8]), DecodeError> {
    let (read, body) = read_header(bytes)?;
    if read.more_fragments || read.fragment_offset != 0 {
        return Err(DecodeError::Fragment);
    }
    Ok((read.header, read.protocol, body))
}

/// A right header, and all that follows it in its packet.
fn read_header(bytes: &[u8]) -> Result<(ParsedHeader, &[u8]), DecodeError> {
    let read = ParsedHeader::read(bytes)?;
    let (header_bytes, _) = bytes.split_at_checked(read.len).ok_or(DecodeError::Truncated)?;
    if Checksum::default().add(header_bytes).finish() != 0 {
        return Err(DecodeError::HeaderChecksum);
    }
    let total_len = usize::from(read.total_len);
    if total_len < read.len {
        return Err(DecodeError::HeaderLength);
    }
    let body = bytes.get(read.len..total_len).ok_or(DecodeError::Truncated)?;
    Ok((read, body))
}

/// What a packet carries, and the bytes of its payload.
fn read_body<'a>(
    ip: &IpHeader,
    protocol: u8,
    body: &'a [u8],
) -> Result<(Body, &'a [u8]), DecodeError> {
    let check = |body: &[u8]| match transport_checksum(ip, protocol, body) {
        0 => Ok(()),
        _ => Err(DecodeError::Checksum),
    };
    Ok(match protocol {
        TCP => {
            check(body)?;
            let (segment, payload) = TcpSegment::read(body)?;
            (Body::Tcp(segment), payload)
        }
        UDP => {
            let (datagram, has_checksum) = UdpDatagram::delimit(body)?;
            if has_checksum {
                check(datagram)?;
            }
            let (datagram, payload) = UdpDatagram::read(datagram)?;
            match datagram.destination_port {
                AODV_PORT => (Body::Aodv(AodvMessage::read(payload)?), [].as_slice()),
                _ => (Body::Udp(datagram), payload),
            }
        }
        ICMP => {
            check(body)?;
            let (message, payload) = IcmpMessage::read(body)?;
            (Body::Icmp(message), payload)
        }
        NO_NEXT_HEADER => (Body::NoNextHeader, [].as_slice()),
        other => return Err(DecodeError::Protocol(other)),
    })
}

/// The checksum of a TCP segment, UDP datagram or ICMP message; 0 if `body` includes a right one.
fn transport_checksum(ip: &IpHeader, protocol: u8, body: &[u8]) -> u16 {
    let sum = match protocol {
        // RFC 792: ICMP's checksum covers the message alone.
        ICMP => Checksum::default(),
        _ => Checksum::pseudo_header(ip.source, ip.destination, protocol, body.len()),
    };
    sum.add(body).finish()
}
