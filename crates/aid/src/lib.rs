//! Aids: sender- or receiver-side mechanisms that help TCP over mobile networks.
//!
//! An [`Aid`] is a state machine for one connection, without I/O: it observes snapshots of the connection, and
//! issues [acts](driftway_base::Act), which its driver applies. It does not depend on the crate `tcp`. The
//! [`registry`] lists the aids by name, [`options`] describes their options, and [`kit`] has the parts that
//! aids with states share.
//!
//! | aid | source |
//! |---|---|
//! | [`atcp`] | liu-singh-2001 |
//! | [`atcp_partial`] | westin-2003 §3 |
//! | [`tcp_f`] | chandran-1998 |
//! | [`elfn`] | Holland & Vaidya 1999, as described in yu-2004 §3.1 |
//! | [`epln`] | yu-2004 §4.3.5 |
//! | [`cwnd_limit`] | westin-2003 §4.9 |
//! | [`mobile_host`] | singh-iyer-2002 |
//! | [`three_dupacks`] | Cáceres & Iftode 1995, as described in singh-iyer-2002 §II |
//! | [`freeze_tcp`] | Goff et al. 2000, as described in singh-iyer-2002 §II |
//! | [`carry`] | driftway; the default of `driftway shim` |
//!
//! # What is not modelled
//!
//! Each aid's module states how it interprets what its source leaves open.
//!
//! | item | reason |
//! |---|---|
//! | the routers and nodes that send notifications | the crate `route` implements them; an aid receives a [`Signal`] |
//! | an aid before its connection is established | the papers describe established connections; segments pass ([`kit::Machine`]) |
//! | ATCP: the reordering of Table I, and the fast timer | the paper does not describe the one, and only mentions the other |
//! | partial ATCP: persist timer, and hiding losses from TCP | the thesis did not implement them |
//! | carry: losses without ECN | congestion cannot be distinguished from other losses there |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod atcp;
pub mod atcp_partial;
pub mod carry;
pub mod cwnd_limit;
pub mod elfn;
pub mod epln;
pub mod freeze_tcp;
pub mod kit;
#[cfg(test)]
mod liveness;
mod loss_decisions;
pub mod mobile_host;
pub mod options;
pub mod registry;
#[cfg(test)]
mod scripted;
pub mod tcp_f;
pub mod three_dupacks;

use driftway_base::{Act, ActResult, Instant, Signal, TcpView};
use driftway_wire::TcpSegment;

pub use loss_decisions::LossDecisions;

/// An aid's decision about an outgoing (TCP to IP) or incoming (IP to TCP) segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentVerdict {
    /// Passes the segment.
    Pass,
    /// Drops the segment.
    Drop,
    /// Passes this segment instead.
    Replace(TcpSegment),
    /// Holds the segment; the driver offers it again with the next segment or timeout.
    Hold,
}

/// An aid for one connection: a state machine without I/O.
///
/// *Look*: [`name`](Aid::name), [`state`](Aid::state), [`is_disconnected`](Aid::is_disconnected),
/// [`next_timeout`](Aid::next_timeout), [`only_watches`](Aid::only_watches),
/// [`loss_decisions`](Aid::loss_decisions). *Events*:
/// [`on_down`](Aid::on_down), [`on_up`](Aid::on_up), [`on_processed`](Aid::on_processed),
/// [`on_signal`](Aid::on_signal), [`on_timeout`](Aid::on_timeout), [`on_done`](Aid::on_done). *Poll*:
/// [`poll_act`](Aid::poll_act).
///
/// After every event the driver polls acts until there are none, applies each to the connection, reports the
/// result with [`on_done`](Aid::on_done), and only then forwards the segment according to the verdict.
/// Segments that the connection sends for an act are not shown to the aid. Time never goes back. At one
/// instant the order is network, aid, TCP, application.
pub trait Aid: Send {
    /// Name of the aid in scenarios, that of its entry.
    fn name(&self) -> &'static str;
    /// Name of the present state, for traces.
    fn state(&self) -> &'static str;
    /// Returns true if the aid considers the connection disconnected: there is no route to the peer, or the
    /// host has no link. Results count this time.
    fn is_disconnected(&self) -> bool {
        false
    }
    /// TCP sends a segment. `view` is the state before sending it.
    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict;
    /// A segment arrives for TCP.
    fn on_up(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict;
    /// TCP has processed the last incoming segment; `view` is the state after that. Called only if
    /// [`wants_processed`](Aid::wants_processed) returns true.
    fn on_processed(&mut self, now: Instant, view: &TcpView) {
        let _ = (now, view);
    }
    /// Returns true if the aid requests [`on_processed`](Aid::on_processed).
    fn wants_processed(&self) -> bool {
        false
    }
    /// The network or the local host reports an event. The driver calls this only for signals that
    /// [concern](Signal::concerns) this connection.
    fn on_signal(&mut self, now: Instant, signal: &Signal, view: &TcpView);
    /// The time returned by [`next_timeout`](Aid::next_timeout) has come.
    fn on_timeout(&mut self, now: Instant, view: &TcpView);
    /// Result of an act; `view` is the state after it.
    fn on_done(&mut self, now: Instant, act: &Act, done: ActResult, view: &TcpView);
    /// Time of the next timeout; `None`: none is pending. After [`on_timeout`](Aid::on_timeout) it is `None` or
    /// a later time, or the simulator ends the run with an error.
    fn next_timeout(&self) -> Option<Instant>;
    /// Next act for the driver to apply. Each is returned once; the driver asks until there is none.
    fn poll_act(&mut self) -> Option<Act>;
    /// Returns true if the aid needs no more than copies of segments at present: whatever the next segment is,
    /// it passes unchanged, and no [`Act::Undo`] is requested with it.
    fn only_watches(&self, view: &TcpView) -> bool {
        let _ = view;
        false
    }
    /// Decisions about losses since the connection began.
    fn loss_decisions(&self) -> LossDecisions {
        LossDecisions::default()
    }
}
