//! Undo of responses to spurious losses, rule by rule: Eifel (RFC 3522, RFC 4015), D-SACK (RFC
//! 2883, RFC 3708) and F-RTO (RFC 5682).

mod common;

use common::line::*;
use driftway_tcp::{Config, RecoveryKind};

#[path = "undo/dsack.rs"]
mod dsack;
#[path = "undo/eifel.rs"]
mod eifel;
#[path = "undo/forward.rs"]
mod forward;
#[path = "undo/signature.rs"]
mod signature;

fn windows(line: &Line) -> (u32, u32) {
    (line.cwnd(), line.ssthresh())
}

fn undone(line: &Line) -> u64 {
    line.tcp.stats().undone
}
