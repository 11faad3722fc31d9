//! TCP as a state machine without I/O: RFC 9293 with RFC 5681, 6298, 6582, 6675, 7323, 3168, 3042,
//! 5961, 9438; and, each by an option, 8985 (RACK-TLP), 9937 (PRR), 5682 (F-RTO), 3522 and 4015
//! (Eifel), 2883 and 3708 (D-SACK), 6069 (TCP-LCD), BBR in its versions 1 (Cardwell et al. 2016) and
//! 3 (draft-ietf-ccwg-bbr-04). See [`Connection`] for the contract with a
//! driver.
//!
//! Congestion control ([`congestion`]), loss recovery ([`recovery`]) and the reaction to route failures (the
//! acts of an aid) are separate plug points; each can be driven alone.
//!
//! Not modelled, or done otherwise than an RFC says:
//!
//! | item | here, and why |
//! |---|---|
//! | urgent data, TCP Fast Open, TCP-AO | not implemented, as no paper here needs them; the header bits pass |
//! | data or FIN on a SYN or SYN-ACK | dropped and retransmitted by the peer (RFC 9293 §3.10.7.2 permits queueing them) |
//! | a new SYN in TIME-WAIT (RFC 6191) | answered with a challenge ACK like any other SYN |
//! | a time limit on FIN-WAIT-2 | none, as in RFC 9293; keep-alives, where enabled, end it |
//! | sending by timer after an ECN echo at a window of one segment (RFC 3168 §6.1.2) | the window stays one segment |
//! | dropping segments without timestamps once negotiated (RFC 7323 §3.2, SHOULD) | accepted, as in Linux: an aid may have generated them |
//! | RTO of 3 s after a lost SYN (RFC 6298 §5.7) | only where no timestamp has measured the round trip |
//! | an empty segment at the right edge is outside the window (RFC 9293 §3.10.7.4) | inside, as in BSD and Linux: the edge is SND.NXT of a peer that has filled the window |
//! | Nagle with a window below two segments (RFC 9293 §3.8.6.2.1, rule 3) | half of the largest window is sent even with data outstanding, as in BSD |
//! | retransmitting beyond an edge that scaling moved left (RFC 7323 §2.4) | within the window only, then by probes |
//! | 4.3BSD-Reno's fast retransmit on duplicates of data that a timeout retransmitted | none until `recover` is acknowledged (RFC 6582 §3.2), for Tahoe and Reno, too |
//! | cwnd after a spurious timeout: FlightSize plus a little (RFC 4015 §3.2, step 9) | the previous cwnd, as in Linux |
//! | a larger duplicate threshold after a spurious fast retransmit (RFC 4015 §3.2, step 10) | none; RACK's reordering window adapts |
//! | a single timer for RTO, PTO and reordering (RFC 8985 §8) | the RTO runs beside the PTO, which never expires later |
//! | RACK.min_RTT over a path whose RTT falls (RFC 8985 §6.2, step 1) | the minimum of the last 150 to 300 s |
//! | the non-validated phase of RFC 7661: the window is kept for five minutes, and cut to the used part after a loss | `window_validation` follows RFC 2861, as Linux does |
//! | BBR's response to marks (the draft leaves it open): DCTCP's in Google's version 3 | version 1 none, as in Linux; version 3 as to losses |
//! | BBR without SACK | after NewReno; its delivery rate is that of cumulative acknowledgments |
//! | TCP-LCD during a handshake (RFC 6069 §4) | on synchronized connections only |
//! | a new initial sequence number after returning to LISTEN | the same one; its choice is the driver's (RFC 6528) |

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

mod ack_delay;
mod clock;
mod config;
pub mod congestion;
mod connection;
mod cwnd_usage;
pub mod delivery_rate;
mod disruption;
pub mod f_rto;
mod linux_rttvar;
mod pacing;
pub mod prr;
mod reassembly;
mod receiver;
pub mod recovery;
mod recovery_phase;
mod rtt;
mod scoreboard;
pub mod send_state;
pub mod sent_log;
mod state;
mod stats;
mod timer;
mod undo_state;

pub use clock::Clock;
pub use config::{Config, DelayedAck};
pub use congestion::{ControlKind, HystartKind};
pub use connection::{Connection, Event, NegotiatedOptions, Received, Transmit, reset_for};
pub use options::Options;
pub use recovery::{RecoveryKind, recovery_control_pairs};
pub use rtt::RttEstimator;
pub use scoreboard::Scoreboard;
pub use state::{State, Transition, state_diagram};
pub use stats::Stats;
