//! What is on the air: IPv4, ARP, TCP, UDP, ICMP, AODV (RFC 3561) and DSR (RFC 4728).
//!
//! Two levels: an owned representation in which illegal states cannot be written ([`Packet`] and
//! its parts), and the bytes. In the lab only the representation moves; any packet can be encoded
//! to the bytes on the air, and what arrives on a host is decoded into a type or refused with a
//! typed error. No input panics.
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | fragments: refused | driftway's paths tell a sender their MTU; a path that fragments is not what is studied |
//! | IP options: kept as bytes, without a meaning; left out of quotations and echo replies | nothing here acts on them |
//! | TCP's reserved bits (RFC 9768 takes one): dropped | ECN is that of RFC 3168 |
//! | TCP options other than those of [`TcpOptions`]: dropped | RFC 9293 §3.2 allows it |
//! | more of a quoted packet than 8 bytes (RFC 1812 §4.3.2.3): dropped | they hold ports and sequence number |
//! | a standard form of RFN and RRN: there is none | chandran-1998 gives them fields and no format; ICMP has types for experiments (RFC 4727) |
//! | extensions of AODV messages (RFC 3561 §9) but a time stamp: dropped, or refused where they must be understood | nothing here sends any |
//! | RERRs of more than [`AODV_UNREACHABLE_MAX`] destinations: refused | a packet has a fixed size in memory; who has more to tell sends several |
//! | datagrams to port 654 that are no AODV message: refused | RFC 3561 §8 has the port to itself |
//! | DSR's acknowledgments, its requests for them, and Destination and Flow ID: passed over | the link layer acknowledges; flows are not joined |
//! | more than one DSR request, reply or source route, and more than three errors: refused | RFC 4728 allows several replies; nobody here sends them |
//! | DSR errors about options and about flow state that is not supported: passed over | no node here draws them |
//! | what follows a UDP datagram in its packet (RFC 9868): dropped | UDP is background load here |

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
mod cursor;
mod dsr;
mod dsr_codec;
mod dsr_options;
mod icmp;
mod ip;
mod payload;
mod routed_packet;
mod tcp;
mod tcp_options;
mod udp;

pub use aodv::{
    AODV_PORT, AODV_UNREACHABLE_MAX, AodvError, AodvLossNotification, AodvMessage, AodvReply, AodvRequest,
};
pub use arp::{ARP_LEN, ArpMessage, ArpOperation, HardwareAddr};
pub use codec::{DecodeError, Decoded, EncodeError};
pub use conn_list::{
    LostAck, CONN_LIST_OPTION, CONN_LIST_MAX, ConnInfo, ConnList, ConnPackets, RELAYS_MAX, SegmentRun, SegmentRuns,
    SALVAGERS_OPTION,
};
pub use dsr::{
    DSR_PROTOCOL, DSR_ERRORS_MAX, DSR_ROUTE_MAX, DsrError, DsrErrorKind, DsrFlow, DsrHeader, DsrReply,
    DsrRequest, DsrSourceRoute, AddressList,
};
pub use dsr_options::{DsrRequestOrOptions, DsrExtraOptions, DsrOption};
pub use icmp::{IcmpMessage, QuotedPacket, UnreachableCode};
pub use ip::{Body, IPV4_HEADER_LEN, IpHeader, IpOptions, Packet};
pub use payload::Payload;
pub use routed_packet::RoutedPacket;
pub use tcp::{TcpFlags, TcpSegment};
pub use tcp_options::{
    RawTcpOption, SackBlocks, TcpOption, TcpOptionReader, TcpOptions, Timestamps,
};
pub use udp::UdpDatagram;
