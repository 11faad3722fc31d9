//! Links of a path: a hop with a rate, delays, errors, faults and an interface queue at each end
//! ([`PathLink`]); and the queue alone ([`InterfaceQueue`]), of which a node with a radio has one,
//! or one per traffic class ([`AdhocQueue`]).
//!
//! A link moves handles ([`Frame`]), never bytes, does no I/O and reads no clock. Not modelled:
//! truncation and duplication of frames, errors within a frame (it is lost as a whole or not at
//! all), and link-layer retransmission.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod adhoc_queue;
mod arp;
mod burst;
mod codel;
mod config;
mod delay;
mod direction;
mod error_sampler;
mod fq_codel;
mod frame;
mod link_trace;
mod opportunities;
mod path_link;
mod periodic_loss;
mod pie;
mod queue;
mod red;

pub use adhoc_queue::{AdhocQueue, AdhocQueueConfig, PacketClass, Priority, QueuedPacket};
pub use arp::{Arp, ArpConfig, ArpOutput, ArpRetry, Resolution};
pub use burst::BurstConfig;
pub use codel::CodelConfig;
pub use config::{
    Capacity, Delay, DelayProcess, DeliveryOrder, DirectionConfig, Discipline, Duplex, ErrorModel,
    LinkConfig, LinkDirections, QueueConfig,
};
pub use direction::{LinkCounters, QueueOnPartition};
pub use fq_codel::FqCodelConfig;
pub use frame::{
    Dequeued, EnqueueOutcome, Frame, FrameStage, LinkEvent, PendingFrame, QueueEntry,
    QueuePosition, Side,
};
pub use link_trace::{LinkTrace, TraceRows};
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use path_link::PathLink;
pub use pie::PieConfig;
pub use queue::{InterfaceQueue, QueueCounters};
pub use red::RedConfig;
