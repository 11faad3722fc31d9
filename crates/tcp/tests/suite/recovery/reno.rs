//! RFC 5681 §3.2.

use super::*;

#[test]
fn fast_retransmit_inflation_and_deflation() {
    let mut conn = with_data_in_flight(RecoveryKind::Reno, 8, 9000);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (7000, 4000)); // steps 2, 3
    assert_eq!(phase(&conn), RecoveryState::Recovery);
    duplicates(&mut conn, 1, 1);
    assert_eq!(conn.cwnd(), 8000); // step 4
    conn.quiet();
    duplicates(&mut conn, 1, 1);
    conn.sends(["8001..9001"]); // step 5
    conn.receives(ack(8001));
    assert_eq!((conn.cwnd(), conn.ssthresh()), (4000, 4000)); // step 6
    conn.sends(["9001..10001", "10001..11001", "11001..12001"]);
    assert_eq!(phase(&conn), RecoveryState::Open);
}

#[test]
fn a_second_hole_needs_a_second_recovery() {
    let mut conn = with_data_in_flight(RecoveryKind::Reno, 10, 0);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.receives(ack(3001)); // partial: the segment at 3001 is missing
    conn.quiet();
    assert_eq!((phase(&conn), conn.cwnd()), (RecoveryState::Open, 5000));
    duplicates(&mut conn, 3001, 3);
    conn.sends(["3001..4001"]);
    assert_eq!(conn.ssthresh(), 2500); // halved again
    assert_eq!(conn.tcp.stats().fast_retransmits, 2);
}

#[test]
fn a_second_hole_without_enough_duplicates_needs_a_timeout() {
    let mut conn = with_data_in_flight(RecoveryKind::Reno, 5, 0);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.at(200);
    conn.receives(ack(2001));
    duplicates(&mut conn, 2001, 2);
    conn.quiet_until(1199);
    conn.at(1200);
    conn.sends(["2001..3001"]);
    assert_eq!(conn.tcp.stats().timeouts, 1);
}

/// 4.4BSD's Reno had no `recover` (RFC 6582 §4): duplicates of data retransmitted after a timeout
/// start a recovery.
#[test]
fn without_guard_duplicates_after_a_timeout_start_a_recovery() {
    for (recover_guard, fast_retransmits) in [(true, 0), (false, 1)] {
        let config = Config { recover_guard, recovery: RecoveryKind::Reno, ..plain() };
        let mut conn = TestConnection::in_flight(&config, 8);
        conn.at(1100);
        conn.sends(["1..1001"]);
        duplicates(&mut conn, 1, 3);
        conn.sends_some();
        assert_eq!(conn.tcp.stats().fast_retransmits, fast_retransmits, "{recover_guard}");
    }
}
