//! Routing in ad hoc networks, and feedback about failed routes.
//!
//! Three routing protocols share one interface: [`Aodv`] (RFC 3561), [`Dsr`] (RFC 4728) and [`StaticRoutes`],
//! precomputed shortest paths. They produce [`Output`]s; their configurations are the standards' (such as
//! [`AodvConfig::STANDARD`]) or ns-2.35's.
//!
//! Feedback about packets that could not be delivered and routes that failed is in [`feedback`], one file per
//! scheme.
//!
//! # What is not modelled
//!
//! Each protocol's and scheme's module lists what it omits.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod adhoc;
mod aodv;
mod dsr;
pub mod feedback;
mod fixed;
mod limit;
mod link_retry;
mod losses;
mod shortest;
mod strengths;
mod until;
mod watched;

pub use adhoc::{DropReason, Hop, Outbox, Output, RouteStats};
pub use aodv::{Aodv, AodvConfig, AodvRoute, ErrorRule, Hello, LocalRepair, Refresh, SearchRule};
pub use dsr::{
    CACHES, CacheKind, CacheLimits, CacheOptions, CachePart, Confirm, Dsr, DsrConfig, FlowState,
    ListedCache, ReplyFromCache, RequestMemory, RingZero, SalvageReplies, Shorten, UpdateOptions,
};
pub use fixed::Fixed;
pub use link_retry::{LinkRetry, LinkRetryConfig};
pub use shortest::shortest_paths;
