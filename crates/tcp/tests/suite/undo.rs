//! Undo of responses to spurious losses, rule by rule: Eifel (RFC 3522, RFC 4015), D-SACK (RFC
//! 2883, RFC 3708) and F-RTO (RFC 5682).

use crate::common::test_connection::*;
use driftway_tcp::{Config, RecoveryKind};

mod dsack;
mod eifel;
mod f_rto;
mod signature;

fn windows(conn: &TestConnection) -> (u32, u32) {
    (conn.cwnd(), conn.ssthresh())
}

fn undo_count(conn: &TestConnection) -> u64 {
    conn.tcp.stats().responses_undone
}
