//! Tests of the shim: time lines, and transfers between two TCPs over a network.

#[path = "../common/mod.rs"]
mod common;

mod ack_limits;
mod aid_transfers;
mod aids;
mod benefit;
mod clock_jumps;
mod congestion;
mod large;
mod limits;
mod losses;
mod outages;
mod passed_by;
mod signs;
mod transfers;
mod untouched;
mod watched;
mod way_out;
