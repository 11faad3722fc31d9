//! The links of a path: a hop with a rate, delays, errors, an interface queue on each side and
//! faults that can befall it ([`PathLink`]); and the queue by itself ([`InterfaceQueue`]), of
//! which a node with a radio has one, or one for each class of packets ([`AdhocQueue`]).
//!
//! A link moves handles ([`Frame`]), never bytes, does no I/O and reads no clock. What is not
//! modelled: a frame is lost or arrives whole (no truncation, no duplication), bit errors are
//! independent (no bursts; [`PathLink::set_errors`] makes a bad spell), and a link layer does not
//! repeat what was lost.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod adhoc_queue;
mod config;
mod error_sampler;
mod frame;
mod path_link;
mod queue;
mod red;

pub use adhoc_queue::{AdhocQueue, AdhocQueueConfig, PacketClass, QueuedPacket, Priority};
pub use config::{Delay, Discipline, Duplex, ErrorModel, LinkConfig, DeliveryOrder, QueueConfig};
pub use frame::{DropReason, EnqueueOutcome, Frame, PendingFrame, LinkEvent, QueuePosition, Side, QueueEntry, FrameStage};
pub use path_link::{LinkCounters, PathLink, QueueOnPartition};
pub use queue::{InterfaceQueue, QueueCounters};
pub use red::RedConfig;
