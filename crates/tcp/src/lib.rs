//! TCP as a state machine without I/O: RFC 9293 with RFC 5681, 6298, 6582, 6675, 7323, 3168, 3042,
//! 5961, 9438. See [`Connection`] for the contract with a driver.
//!
//! Window growth ([`growth`]), loss recovery ([`recovery`]) and the reaction to the route (an aid's
//! acts) are separate plug points; each can be driven alone.
//!
//! Knowingly not modelled: urgent data beyond the header bit; TCP Fast Open; data on a SYN (kept
//! for its retransmission); a new SYN taking over a connection in TIME-WAIT (RFC 6191); sending by
//! timer alone when an ECN echo meets a window of one segment (RFC 3168 §6.1.2).

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod ack;
mod acts;
mod clock;
mod config;
mod connection;
pub mod flight;
pub mod growth;
mod input;
mod output;
mod reassembly;
mod receiver;
pub mod recovery;
mod rtt;
mod scoreboard;
mod sender;
mod state;
mod stats;
mod timeouts;
mod timer;

pub use clock::Clock;
pub use config::{Config, DelayedAck, GrowthKind, PAIRS, RecoveryKind};
pub use connection::{Agreed, Connection, Event, Transmit};
pub use input::{Received, reset_for};
pub use rtt::RttEstimator;
pub use scoreboard::Scoreboard;
pub use state::{Cause, State, diagram};
pub use stats::Stats;
