//! What helps TCP live with a moving network. One aid is one file; it sees snapshots of a
//! connection and answers with acts, and does not import `tcp`.

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
pub mod kit;
#[cfg(test)]
mod liveness;
pub mod options;
pub mod registry;
#[cfg(test)]
mod scripted;
pub mod tcp_f;

use driftway_base::{Act, ActResult, Instant, Signal, TcpView};
use driftway_wire::TcpSegment;

/// What an aid does with a segment on its way down (from TCP to IP) or up (from IP to TCP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Lets it through.
    Pass,
    /// Swallows it.
    Drop,
    /// Lets this one through in its place.
    Replace(TcpSegment),
    /// Keeps it back; the driver asks again with the next segment or timeout.
    Hold,
}

/// An aid to one connection: a state machine without I/O.
///
/// *Look*: [`name`](Aid::name), [`state`](Aid::state), [`next_timeout`](Aid::next_timeout).
/// *Events*: [`on_down`](Aid::on_down), [`on_up`](Aid::on_up), [`on_taken`](Aid::on_taken),
/// [`on_signal`](Aid::on_signal), [`on_timeout`](Aid::on_timeout), [`on_done`](Aid::on_done). *Poll*: [`poll_act`](Aid::poll_act).
/// After every event the driver polls acts until there are none, applies each to the connection,
/// reports [`on_done`](Aid::on_done), and only then hands the segment on according to the verdict.
/// What a connection sends for an act is the aid's own and is not shown to it again.
/// Time never goes back. At one instant the order is network, aid, TCP, application.
pub trait Aid: Send {
    /// The name by which scenarios know it.
    fn name(&self) -> &'static str;
    /// The name of its present state, for traces.
    fn state(&self) -> &'static str;
    /// A segment that TCP sends. `view` is from before it was sent.
    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict;
    /// A segment that arrives for TCP.
    fn on_up(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict;
    /// TCP has taken the segment that came up last: `view` is from after that. Only an aid that says so
    /// hears it ([`wants_taken`](Aid::wants_taken)).
    fn on_processed(&mut self, now: Instant, view: &TcpView) {
        let _ = (now, view);
    }
    /// Does it want to hear of that?
    fn wants_processed(&self) -> bool {
        false
    }
    /// The network, or the own host, reports something that [concerns](Signal::concerns) this connection:
    /// the driver has seen to that.
    fn on_signal(&mut self, now: Instant, signal: &Signal, view: &TcpView);
    /// The time asked for by [`next_timeout`](Aid::next_timeout) has come.
    fn on_timeout(&mut self, now: Instant, view: &TcpView);
    /// What became of an act. `view` is from after it.
    fn on_done(&mut self, now: Instant, act: &Act, done: ActResult, view: &TcpView);
    /// When it wants to be woken; `None`: never.
    fn next_timeout(&self) -> Option<Instant>;
    /// The next thing that it wants done.
    fn poll_act(&mut self) -> Option<Act>;
}
