//! Routing in ad hoc networks, and what routers do with routes that fail.
//!
//! Three ways to find routes with the same methods: [`Aodv`] (RFC 3561), [`Dsr`] (RFC 4728) and
//! [`Fixed`], shortest paths that somebody computed. Their answers are [`Output`]s; their
//! configurations are the standard's ([`AodvConfig::STANDARD`]) or ns-2.35's.
//!
//! A [`Router`] is the network's half of TCP-F (chandran-1998 §4, §5.4, §6.1); the source's half is
//! `aid::tcp_f`, and what both say to each other is `wire`'s RFN and RRN.
//!
//! # What is not modelled
//!
//! Each protocol's module says what it leaves out. Of the [`Router`]:
//!
//! | what | why |
//! |---|---|
//! | how routes are found | chandran-1998 §5.1 assumes no routing protocol; whoever has one tells the [`Router`] of links and ways |
//! | one RFN for all sources at once | chandran-1998 §5.4 only explores it; each packet draws its own |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;

mod adhoc;
mod aodv;
mod destination;
mod dsr;
mod fixed;
mod router;
mod shortest;
mod watched;

pub use adhoc::{DropReason, Hop, Outbox, Output, RouteStats};
pub use aodv::{Aodv, AodvConfig, AodvRoute, ErrorRule, Hello, LocalRepair, Refresh, SearchRule};
pub use dsr::{
    CACHES, CacheKind, CacheLimits, CachePart, Dsr, DsrConfig, FlowState, ListedCache,
    ReplyFromCache, RequestMemory, RingZero, SalvageReplies, Shorten,
};
pub use fixed::Fixed;
pub use router::{Buffer, Config, Fate, Flush, Passage, Router, Way};
pub use shortest::shortest_paths;
