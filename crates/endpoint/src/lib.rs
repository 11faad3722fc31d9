//! Hosts: IP, demultiplexing, ICMP, and the attachment of an aid to a connection.
//!
//! This crate does no I/O. A [`Host`] receives packets from its driver and is polled for packets to
//! send; a [`Socket`] is a connection with an optional aid between TCP and IP. A [`Gateway`] splits the
//! connections that pass it into two.
//!
//! # What is not modelled
//!
//! | item | here |
//! |---|---|
//! | routes of a host | the driver forwards its packets |
//! | several addresses of a host | a host has one |
//! | several connections to one local port | each socket has its own port |
//! | processing time | a packet is processed at the instant at which it arrives |
//! | received ICMP time-exceeded messages | they are ignored |
//! | ICMP protocol and port unreachable on an established connection | only an attempt to connect is aborted (RFC 9293 §3.9.2.2) |
//! | sequence numbers in RFNs and RRNs | they are not checked: a forged message can only withdraw what TCP-F granted (RFC 5927 §4) |

#![forbid(unsafe_code)]

mod gateway;
mod host;
mod icmp;
mod socket;

pub use gateway::{
    Gateway, GatewayEvent, GatewayEventKind, GatewayOutcome, LegSetup, Opening, Side,
};
pub use host::{Host, ReceiveOutcome, SocketHandle};
pub use socket::Socket;
