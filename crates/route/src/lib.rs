//! Routing in ad hoc networks, and what routers do with routes that fail.
//!
//! Three ways to find routes with the same methods: [`Aodv`] (RFC 3561), [`Dsr`] (RFC 4728) and
//! [`Fixed`], shortest paths that somebody computed. Their answers are [`Output`]s; their
//! configurations are the standard's ([`AodvConfig::STANDARD`]) or ns-2.35's.
//!
//! What nodes say about packets that they could not deliver, and about routes that fail, is in
//! [`feedback`], one file a scheme.
//!
//! # What is not modelled
//!
//! Each protocol's and scheme's module says what it leaves out.

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod protocol;
mod aodv;
mod dsr;
pub mod feedback;
mod static_routes;
mod rate_limit;
mod link_retry;
mod drop_list;
mod shortest;
mod received_powers;
mod neighbour_deadlines;
mod watched_destinations;

pub use protocol::{DropReason, LinkDestination, Outbox, Output, RouteStats};
pub use aodv::{Aodv, AodvConfig, AodvRoute, ErrorRule, HelloConfig, LocalRepair, RouteRefresh, SearchRule};
pub use dsr::{
    CACHES, CacheKind, CacheLimits, CacheOptions, CachePart, NextHopConfirmation, Dsr, DsrConfig, FlowState,
    CacheDescriptor, ReplyFromCache, RequestTablePolicy, NonPropagatingRequests, SalvageReplies, RouteShortening, UpdateOptions,
};
pub use static_routes::StaticRoutes;
pub use link_retry::{LinkRetry, LinkRetryConfig};
pub use shortest::shortest_paths;
