//! What is on the air: IPv4, TCP, UDP and ICMP.
//!
//! Two levels: an owned representation in which illegal states cannot be written ([`Packet`] and
//! its parts), and the bytes. In the lab only the representation moves; any packet can be encoded
//! to the bytes on the air, and what arrives on a host is decoded into a type or refused with a
//! typed error. No input panics.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod icmp;
mod ip;
mod payload;
mod tcp;
mod udp;

pub use icmp::{IcmpMessage, Quoted, UnreachableCode};
pub use ip::{Body, IPV4_HEADER, IpHeader, IpOptions, Packet};
pub use payload::Payload;
pub use tcp::{SackBlocks, TcpFlags, TcpOptions, TcpSegment, Timestamps};
pub use udp::UdpDatagram;
