//! Fall & Floyd 1996 §2.

use super::*;

#[test]
fn the_third_duplicate_retransmits_and_restarts_with_one_segment() {
    let mut line = with_data_in_flight(RecoveryKind::Tahoe, 8, 9000);
    duplicates(&mut line, 1, 2);
    line.quiet();
    duplicates(&mut line, 1, 1);
    line.sends(["1..1001"]);
    assert_eq!((line.cwnd(), line.ssthresh()), (1000, 4000));
    // No inflation.
    duplicates(&mut line, 1, 4);
    line.quiet();
    assert_eq!(line.cwnd(), 1000);
}

#[test]
fn slow_start_retransmits_the_data_in_flight() {
    let mut line = with_data_in_flight(RecoveryKind::Tahoe, 8, 9000);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.receives(ack(2001)); // 3 was lost, too
    line.sends(["2001..3001", "3001..4001"]);
    line.receives(ack(8001));
    line.sends(["8001..9001", "9001..10001", "10001..11001"]);
    assert_eq!(line.cwnd(), 3000);
    let stats = line.tcp.stats();
    assert_eq!((stats.timeouts, stats.fast_retransmits), (0, 1));
}
