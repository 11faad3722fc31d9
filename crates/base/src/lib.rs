//! Types shared by all crates of driftway: integer time, random streams, sequence numbers, addresses, the heap
//! of event queues, options ([`mod@options`]), and the interface between the network, an aid and a TCP ([`Signal`],
//! [`TcpView`], [`Act`]). Nothing here does I/O, reads a clock, or panics.
//!
//! # What is not modelled
//!
//! | item | here |
//! |---|---|
//! | IPv6 | addresses are IPv4 addresses |
//! | time beyond 584 years or below a nanosecond | arithmetic saturates, and time is a count of nanoseconds |
//! | formats of ICMP and route errors in signals | the receiver of a message converts it to a [`Signal`] |
//! | more sequence ranges than [`SeqRanges::MAX`] in a signal | further ranges are not added |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod act;
mod address;
mod configuration;
mod drop_reason;
mod entry;
mod id;
mod named;
pub mod options;
mod random;
mod rate;
mod received_power;
mod seq;
mod signal;
mod time;
mod view;

pub use act::{
    Act, ActResult, Assign, HeldTimers, ProbeSize, ProbeSpacing, Release, Retransmit, RouteProbe,
};
pub use address::{Ecn, Endpoint, FlowKey, Ipv4Addr};
pub use drop_reason::DropReason;
pub use entry::{Declared, Entry};
pub use id::{AirId, ConnectionId, FaultId, FlowId, LinkId, NodeId, PacketId, RadioId, StationId};
pub use named::Named;
pub use random::{Probability, RandomStream};
pub use rate::Rate;
pub use received_power::ReceivedPower;
pub use seq::{Seq, SeqRange};
pub use signal::{
    FailedLink, PacketDisposition, SeqRanges, Signal, SignalDetails, SignalKind, UnreachableScope,
};
pub use time::{Duration, Instant};
pub use view::{Known, RecoveryState, TcpView};
