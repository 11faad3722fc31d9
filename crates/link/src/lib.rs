//! Links of a path: a hop with a rate, delays, errors, faults and an interface queue at each end
//! ([`PathLink`]); and the queue alone ([`InterfaceQueue`]), of which a node with a radio has one,
//! or one per traffic class ([`AdhocQueue`]).
//!
//! A link moves handles ([`Frame`]), never bytes, does no I/O and reads no clock. Not modelled:
//! truncation and duplication of frames, bursts of bit errors (errors are independent;
//! [`PathLink::set_errors`] changes their rate), and link-layer retransmission.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod adhoc;
mod config;
mod error;
mod frame;
mod path;
mod queue;
mod red;

pub use adhoc::{AdhocQueue, AdhocQueueConfig, Class, Item, Priority};
pub use config::{Delay, Discipline, Duplex, Errors, LinkConfig, Order, QueueConfig};
pub use frame::{DropReason, Enqueued, Frame, Held, LinkEvent, Place, Side, Waits, Whereabouts};
pub use path::{Counters, PathLink, Queue};
pub use queue::{InterfaceQueue, QueueCounters};
pub use red::RedConfig;
