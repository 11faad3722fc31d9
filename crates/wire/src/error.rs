//! Errors of encoding and decoding packets.

use core::fmt;

/// Error of encoding a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The buffer is shorter than [`Packet::len`](crate::Packet::len).
    BufferTooSmall {
        /// Required length (bytes).
        needed: usize,
    },
    /// The packet is longer than IP's maximum of 65,535 bytes.
    TooLong {
        /// Its length (bytes).
        len: u32,
    },
    /// The TCP options are longer than the 40 bytes available in a header.
    TcpOptionsTooLong {
        /// Length of the options (bytes).
        len: u32,
    },
}

/// Error of decoding bytes as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// A header, or the length that it announces, extends past the end of the bytes.
    Truncated,
    /// Another IP version than the expected one.
    Version(u8),
    /// A length field is shorter than its own header, or exceeds the enclosing length.
    HeaderLength,
    /// The checksum of the IP header is wrong.
    HeaderChecksum,
    /// The checksum of the TCP segment, UDP datagram or ICMP message is wrong.
    Checksum,
    /// A fragment; reassembly is not supported.
    Fragment,
    /// Unsupported IP protocol.
    Protocol(u8),
    /// A TCP option has a length below 2, or extends past the header (RFC 9293 §3.1).
    TcpOptionLength {
        /// The option's kind.
        kind: u8,
    },
    /// Unsupported ICMP message.
    IcmpMessage {
        /// Its type.
        kind: u8,
        /// Its code.
        code: u8,
    },
    /// An ARP message for other address types than IPv4 and 48-bit hardware addresses, or with an operation
    /// other than request and reply.
    ArpMessage {
        /// Its operation.
        operation: u16,
    },
    /// A datagram to AODV's port is not an AODV message.
    AodvMessage {
        /// Its type.
        kind: u8,
    },
    /// A DSR option has an invalid length or occurs twice, or is unknown and must not be ignored.
    DsrOption {
        /// Its type.
        kind: u8,
    },
    /// An AODV message has an unknown extension that must not be ignored (RFC 3561 §9).
    AodvExtension {
        /// The extension's type.
        kind: u8,
    },
    /// An RERR contains no destination, or more than [`crate::AODV_UNREACHABLE_MAX`].
    AodvDestinations {
        /// Number of destinations.
        count: u8,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BufferTooSmall { needed } => write!(f, "the packet needs {needed} bytes"),
            Self::TooLong { len } => write!(f, "{len} bytes exceed the length of an IP packet"),
            Self::TcpOptionsTooLong { len } => {
                write!(f, "{len} bytes of TCP options exceed the TCP header")
            }
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("truncated packet"),
            Self::Version(version) => write!(f, "IP version {version} is not expected here"),
            Self::HeaderLength => f.write_str("invalid header or length field"),
            Self::HeaderChecksum => f.write_str("wrong IP header checksum"),
            Self::Checksum => f.write_str("wrong transport checksum"),
            Self::Fragment => f.write_str("IP fragment, reassembly is not supported"),
            Self::Protocol(protocol) => write!(f, "unsupported IP protocol {protocol}"),
            Self::TcpOptionLength { kind } => write!(f, "invalid length of TCP option {kind}"),
            Self::IcmpMessage { kind, code } => {
                write!(f, "unsupported ICMP message: type {kind}, code {code}")
            }
            Self::ArpMessage { operation } => {
                write!(f, "unsupported ARP message: operation {operation}")
            }
            Self::DsrOption { kind } => write!(f, "invalid DSR option {kind}"),
            Self::AodvMessage { kind } => write!(f, "unknown AODV message: type {kind}"),
            Self::AodvExtension { kind } => {
                write!(f, "unknown mandatory AODV extension {kind}")
            }
            Self::AodvDestinations { count } => {
                write!(f, "an AODV route error with {count} destinations")
            }
        }
    }
}

impl core::error::Error for EncodeError {}
impl core::error::Error for DecodeError {}
