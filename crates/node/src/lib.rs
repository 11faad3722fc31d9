//! A host or router: IP, demultiplexing, ICMP, and the place where an aid hooks in.
//!
//! Nothing here does I/O. A [`Host`] is given the packets that arrive for it and polled for those
//! that it sends; a [`Socket`] is one connection with the aid between it and IP.

#![forbid(unsafe_code)]

mod arp;
mod host;
mod socket;

pub use arp::{Arp, ArpConfig, ArpOutput, ArpRetry, Resolution};
pub use host::{ReceiveOutcome, Host};
pub use socket::Socket;
