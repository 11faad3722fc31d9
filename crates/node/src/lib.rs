//! Hosts: IP, demultiplexing, ICMP, ARP, and the attachment of an aid to a connection.
//!
//! This crate does no I/O. A [`Host`] receives packets from its driver and is polled for packets to
//! send; a [`Socket`] is a connection with an optional aid between TCP and IP.

#![forbid(unsafe_code)]

mod arp;
mod host;
mod socket;

pub use arp::{Arp, ArpConfig, ArpOutput, ArpRetry, Resolution};
pub use host::{Host, ReceiveOutcome};
pub use socket::Socket;
