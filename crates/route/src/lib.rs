//! Routing in ad hoc networks, and feedback about failed routes.
//!
//! Three routing protocols share one interface, [`RoutingProtocol`]: [`Aodv`] (RFC 3561), [`Dsr`] (RFC 4728) and [`StaticRoutes`],
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

mod aodv;
mod drop_list;
mod dsr;
mod external;
pub mod feedback;
mod link_retry;
mod neighbour_deadlines;
mod protocol;
mod rate_limit;
mod received_powers;
mod shortest;
mod static_routes;
mod watched_destinations;

pub use aodv::{
    Aodv, AodvConfig, AodvRoute, ErrorRule, HelloConfig, LocalRepair, RouteRefresh, SearchRule,
};
pub use dsr::{
    CACHES, CacheDescriptor, CacheKind, CacheLimits, CacheOptions, CachePart, Dsr, DsrConfig,
    FlowState, NextHopConfirmation, NonPropagatingRequests, ReplyFromCache, RequestTablePolicy,
    RouteShortening, SalvageReplies, UpdateOptions,
};
pub use link_retry::{LinkRetry, LinkRetryConfig};
pub use protocol::{
    HOST_TTL, LinkDestination, Outbox, Output, RouteStats, RoutingEntry, RoutingPlace,
    RoutingProtocol,
};
pub use shortest::shortest_paths;
pub use static_routes::StaticRoutes;
