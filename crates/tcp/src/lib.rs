//! TCP as a state machine without I/O: RFC 9293 with RFC 5681, 6298, 6582, 6675, 7323, 3168, 3042,
//! 5961, 9438; and, each by a switch, 8985 (RACK-TLP), 9937 (PRR), 5682 (F-RTO), 3522 and 4015
//! (Eifel), 2883 and 3708 (D-SACK), 6069 (TCP-LCD). See [`Connection`] for the contract with a driver.
//!
//! Window growth ([`growth`]), loss recovery ([`recovery`]) and the reaction to the route (an aid's
//! acts) are separate plug points; each can be driven alone.
//!
//! Knowingly not modelled, or done otherwise than an RFC says:
//!
//! | what | instead, and why |
//! |---|---|
//! | urgent data, TCP Fast Open, TCP-AO | no paper here needs them; the header bits pass |
//! | data or FIN on a SYN or SYN-ACK | dropped; the peer sends them again (RFC 9293 §3.10.7.2 lets us keep them) |
//! | a new SYN in TIME-WAIT (RFC 6191) | challenged like any other SYN |
//! | a limit on FIN-WAIT-2 | none, as in RFC 9293; keep-alives end it where they are on |
//! | sending by timer when an echo meets a window of one segment (RFC 3168 §6.1.2) | the window stays one segment |
//! | refusing segments without timestamps once agreed (RFC 7323 §3.2, SHOULD) | they are taken, as Linux does: an aid may have made them up |
//! | RTO of 3 s after a lost SYN (RFC 6298 §5.7) | only where no timestamp has measured the round trip |
//! | the right edge is outside the window for an empty segment (RFC 9293 §3.10.7.4) | inside, as in BSD and Linux: it is SND.NXT of a peer that has filled the window |
//! | Nagle with a window below two segments (RFC 9293 §3.8.6.2.1, rule 3) | half the largest window goes even with data outstanding, as in BSD |
//! | retransmitting beyond an edge that scaling moved left (RFC 7323 §2.4) | within the window only, then by probes |
//! | 4.3BSD-Reno's fast retransmit on duplicates of what a timeout sent again | none until `recover` is acknowledged (RFC 6582 §3.2), for Tahoe and Reno, too |
//! | cwnd after a spurious timeout: what is outstanding and a little more (RFC 4015 §3.2, step 9) | what it was, as Linux does |
//! | a longer duplicate threshold after a spurious fast retransmit (RFC 4015 §3.2, step 10) | none; RACK's window adapts |
//! | one timer in the other's place (RFC 8985 §8) | the RTO's runs on beside the probe's, which is never later |
//! | RACK over a path whose RTT falls (RFC 8985 §6.2, step 1) | the least of the last 150 to 300 s |
//! | PRR outside of fast recovery (Linux: ECN, too) | none |
//! | the non-validated phase of RFC 7661: a window kept for five minutes, and cut to what was used after a loss | `window_validation` has RFC 2861's rules, as Linux does |
//! | a window that Linux halves for each RTO without data, keeping ssthresh | the initial window after one (RFC 5681 §4.1) |
//! | HyStart (RFC 9406), which Linux's CUBIC has | slow start ends with a loss |
//! | TCP-LCD during a handshake (RFC 6069 §4) | on open connections only |
//! | the initial sequence number after going back to LISTEN | the same; choosing it is the driver's (RFC 6528) |

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
mod options;

mod clock;
mod config;
mod connection;
mod disruption;
pub mod f_rto;
pub mod send_state;
pub mod growth;
mod linux_rttvar;
pub mod prr;
mod reassembly;
mod receiver;
pub mod recovery;
mod rtt;
mod scoreboard;
mod state;
mod stats;
mod timer;
mod undo_state;
mod cwnd_usage;

pub use clock::Clock;
pub use config::{Config, DelayedAck};
pub use connection::{NegotiatedOptions, Connection, Event, Received, Transmit, reset_for};
pub use growth::GrowthKind;
pub use options::Options;
pub use recovery::{RecoveryKind, recovery_growth_pairs};
pub use rtt::RttEstimator;
pub use scoreboard::Scoreboard;
pub use state::{Transition, State, state_diagram};
pub use stats::Stats;
