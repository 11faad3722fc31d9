//! Tests of TCP: time lines for each rule, properties, whole transfers.

#[path = "../common/mod.rs"]
mod common;

mod acts;
mod bbr;
mod close;
mod congestion;
mod delayed_ack;
mod ecn;
mod freeze;
mod handshake;
mod keep_alive;
mod layers;
mod lcd;
mod limited_transmit;
mod linux;
mod nagle;
mod options;
mod persist;
mod properties;
mod prr;
mod recovery;
mod reset;
mod rto;
mod segment_timers;
mod transfer;
mod undo;
mod validation;
mod window;
