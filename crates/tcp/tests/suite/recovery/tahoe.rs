//! Fall & Floyd 1996 §2.

use super::*;

#[test]
fn the_third_duplicate_retransmits_and_restarts_with_one_segment() {
    let mut conn = with_data_in_flight(RecoveryKind::Tahoe, 8, 9000);
    duplicates(&mut conn, 1, 2);
    conn.quiet();
    duplicates(&mut conn, 1, 1);
    conn.sends(["1..1001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 4000));
    // No inflation.
    duplicates(&mut conn, 1, 4);
    conn.quiet();
    assert_eq!(conn.cwnd(), 1000);
}

#[test]
fn slow_start_retransmits_the_data_in_flight() {
    let mut conn = with_data_in_flight(RecoveryKind::Tahoe, 8, 9000);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.receives(ack(2001)); // 3 was lost, too
    conn.sends(["2001..3001", "3001..4001"]);
    conn.receives(ack(8001));
    conn.sends(["8001..9001", "9001..10001", "10001..11001"]);
    assert_eq!(conn.cwnd(), 3000);
    let stats = conn.tcp.stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 1));
}
