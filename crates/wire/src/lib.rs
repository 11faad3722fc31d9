//! Packet formats: IPv4, ARP, TCP, UDP, ICMP, AODV (RFC 3561) and DSR (RFC 4728); IPv6 as far as it is carried for others.
//!
//! There are two levels: an owned representation in which illegal states cannot be expressed ([`Packet`] and
//! its parts), and the bytes of the wire format. A simulation uses the representation only; any packet can be
//! encoded, and bytes received on a host are decoded or rejected with a typed error. No input causes a panic.
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | fragments: rejected | driftway's paths report their MTU to the sender; fragmentation is not studied |
//! | IPv6 ([`Ipv6Packet`]): extension headers are skipped, of ICMPv6 there are echo messages and errors | driftway's own hosts and routing use IPv4 |
//! | IP options: kept as bytes without interpretation; omitted in quotations and echo replies | nothing here acts on them |
//! | TCP's reserved bits (RFC 9768 uses one): dropped | ECN is that of RFC 3168 |
//! | TCP options other than those of [`TcpOptions`]: dropped | RFC 9293 §3.2 allows it |
//! | more than 8 bytes of a quoted packet (RFC 1812 §4.3.2.3): dropped | 8 bytes contain the ports and the sequence number |
//! | a standard format of RFN and RRN: does not exist | chandran-1998 defines fields without a format; ICMP has types for experiments (RFC 4727) |
//! | extensions of AODV messages (RFC 3561 §9) other than a timestamp: ignored, or rejected if they must not be ignored | nothing here sends any |
//! | RERRs of more than [`AODV_UNREACHABLE_MAX`] destinations: rejected | a packet has a fixed size in memory; a node with more destinations sends several RERRs |
//! | datagrams to port 654 that are not AODV messages: rejected | RFC 3561 §8 assigns the port to AODV |
//! | DSR's Destination and Flow ID option: no effect | flows are not joined |
//! | more than one DSR request, reply or source route in a packet: rejected | RFC 4728 allows several replies; nothing here sends them |
//! | DSR errors of type "option not supported": ignored | no node here causes them |
//! | bytes after a UDP datagram in its packet (RFC 9868): dropped | UDP is background traffic here |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod aodv;
mod arp;
mod checksum;
mod codec;
mod conn_list;
mod control;
mod cursor;
mod dsr;
mod error;
mod ethernet;
mod icmp;
mod icmp_response;
mod icmpv6;
mod ip;
mod ipv6;
mod ipv6_header;
mod lost_packet;
mod packet;
mod payload;
mod routed_packet;
mod segment_range;
mod tcp;
mod tcp_flags;
mod tcp_options;
mod udp;

pub use aodv::{
    AODV_PORT, AODV_UNREACHABLE_MAX, AodvError, AodvLossNotification, AodvMessage, AodvReply,
    AodvRequest,
};
pub use arp::{ARP_LEN, ArpMessage, ArpOperation, HardwareAddr};
pub use checksum::{Checksum, complete_checksum, edit_header};
pub use codec::Decoded;
pub use conn_list::{
    CONN_LIST_MAX, CONN_LIST_OPTION, ConnInfo, ConnList, ConnPackets, LostAck, RELAYS_MAX,
    SALVAGERS_OPTION, SegmentRun, SegmentRuns,
};
pub use control::{ControlKind, ControlMessage};
pub use dsr::{
    AddressList, DSR_ERRORS_MAX, DSR_PROTOCOL, DSR_ROUTE_MAX, DsrError, DsrErrorKind,
    DsrExtraOptions, DsrFlow, DsrHeader, DsrOption, DsrReply, DsrRequest, DsrRequestOrOptions,
    DsrSourceRoute,
};
pub use error::{DecodeError, EncodeError};
pub use ethernet::{ETHERNET_HEADER_LEN, EtherType, EthernetFrame};
pub use icmp::{IcmpMessage, QuotedPacket, UnreachableCode};
pub use icmpv6::{Icmpv6Message, Icmpv6Unreachable};
pub use ip::{IPV4_HEADER_LEN, IpHeader, IpOptions, ParsedHeader};
pub use ipv6::Ipv6Packet;
pub use ipv6_header::{IPV6_HEADER_LEN, IPV6_MIN_MTU, Ipv6Header, edit_ipv6_header};
pub use packet::{Body, Packet};
pub use payload::Payload;
pub use routed_packet::RoutedPacket;
pub use segment_range::SegmentRange;
pub use tcp::TcpSegment;
pub use tcp_flags::TcpFlags;
pub use tcp_options::{
    RawTcpOption, SackBlocks, TcpOption, TcpOptionReader, TcpOptions, Timestamps,
};
pub use udp::UdpDatagram;
