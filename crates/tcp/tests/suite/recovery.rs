//! Loss recovery, rule by rule: RFC 5681 §3.2, RFC 6582, RFC 6675, RFC 8985; and their differences.

use crate::common::test_connection::*;
use driftway_base::{Known, RecoveryState};
use driftway_tcp::{Config, RecoveryKind};

mod newreno;
mod rack;
mod reno;
mod sack;
mod signature;
mod tahoe;

/// `segments` in flight, `more` bytes waiting behind them.
fn with_data_in_flight(recovery: RecoveryKind, segments: u32, more: u64) -> TestConnection {
    let sack = recovery == RecoveryKind::Sack;
    let config = Config { recovery, sack, limited_transmit: false, ..plain() };
    let mut conn = TestConnection::in_flight(&config, segments);
    conn.writes(more);
    conn.quiet();
    conn
}

fn duplicates(conn: &mut TestConnection, number: u32, count: u32) {
    for _ in 0..count {
        conn.receives(ack(number));
    }
}

fn phase(conn: &TestConnection) -> RecoveryState {
    conn.tcp.view().recovery.value().unwrap()
}

#[test]
fn segments_that_are_not_duplicates() {
    // RFC 5681 §2: each of its five conditions.
    let begins = |peers: [Peer; 3], segments| {
        let mut conn = with_data_in_flight(RecoveryKind::Reno, segments, 0);
        for peer in peers {
            conn.receives(peer);
            conn.sends_some();
        }
        conn.tcp.stats().fast_retransmits > 0
    };
    assert!(begins([ack(1); 3], 8));
    assert!(!begins([ack(1), data(1, 10), data(11, 10)], 8), "data");
    assert!(!begins([ack(1), ack(1), ack(1).fin()], 8), "a FIN");
    assert!(!begins([ack(1), ack(1), ack(1).window(50_000)], 8), "another window");
    assert!(!begins([ack(1), ack(1), ack(1001)], 8), "an advance");
    let mut conn = TestConnection::established(&plain());
    duplicates(&mut conn, 1, 4);
    assert_eq!(conn.tcp.stats().fast_retransmits, 0, "nothing outstanding");
}

#[test]
fn an_advance_resets_the_duplicate_count() {
    let mut conn = with_data_in_flight(RecoveryKind::Reno, 8, 0);
    duplicates(&mut conn, 1, 2);
    conn.receives(ack(1001));
    duplicates(&mut conn, 1001, 2);
    conn.quiet();
    duplicates(&mut conn, 1001, 1);
    conn.sends(["1001..2001"]);
    assert_eq!(conn.losses, [driftway_tcp::Event::FastRetransmit]);
}

#[test]
fn duplicates_after_a_timeout_start_no_recovery() {
    // RFC 6582 §4: they may be caused by the retransmissions.
    for recovery in
        [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack]
    {
        let mut conn = with_data_in_flight(recovery, 8, 0);
        conn.at(1100);
        conn.sends(["1..1001"]);
        assert_eq!(conn.tcp.view().recovery, Known::Exact(RecoveryState::Loss));
        duplicates(&mut conn, 1, 4);
        assert_eq!(conn.tcp.stats().fast_retransmits, 0, "{recovery:?}");
        conn.sends_some();
        conn.receives(ack(8001));
        assert_eq!(phase(&conn), RecoveryState::Open);
    }
}
