//! RFC 5681 §3.2.

use super::*;

#[test]
fn fast_retransmit_inflation_and_deflation() {
    let mut line = with_data_in_flight(RecoveryKind::Reno, 8, 9000);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    assert_eq!((line.cwnd(), line.ssthresh()), (7000, 4000)); // steps 2, 3
    assert_eq!(phase(&line), RecoveryState::Recovery);
    duplicates(&mut line, 1, 1);
    assert_eq!(line.cwnd(), 8000); // step 4
    line.quiet();
    duplicates(&mut line, 1, 1);
    line.sends(["8001..9001"]); // step 5
    line.receives(ack(8001));
    assert_eq!((line.cwnd(), line.ssthresh()), (4000, 4000)); // step 6
    line.sends(["9001..10001", "10001..11001", "11001..12001"]);
    assert_eq!(phase(&line), RecoveryState::Open);
}

#[test]
fn a_second_hole_needs_a_second_recovery() {
    let mut line = with_data_in_flight(RecoveryKind::Reno, 10, 0);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.receives(ack(3001)); // partial: the segment at 3001 is missing
    line.quiet();
    assert_eq!((phase(&line), line.cwnd()), (RecoveryState::Open, 5000));
    duplicates(&mut line, 3001, 3);
    line.sends(["3001..4001"]);
    assert_eq!(line.ssthresh(), 2500); // halved again
    assert_eq!(line.tcp.stats().fast_retransmits, 2);
}

#[test]
fn a_second_hole_without_enough_duplicates_needs_a_timeout() {
    let mut line = with_data_in_flight(RecoveryKind::Reno, 5, 0);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.at(200);
    line.receives(ack(2001));
    duplicates(&mut line, 2001, 2);
    line.quiet_until(1199);
    line.at(1200);
    line.sends(["2001..3001"]);
    assert_eq!(line.tcp.stats().timeouts, 1);
}

/// 4.4BSD's Reno had no `recover` (RFC 6582 §4): duplicates of data retransmitted after a timeout
/// start a recovery.
#[test]
fn without_guard_duplicates_after_a_timeout_start_a_recovery() {
    for (recover_guard, fast_retransmits) in [(true, 0), (false, 1)] {
        let config = Config { recover_guard, recovery: RecoveryKind::Reno, ..plain() };
        let mut line = TestConnection::in_flight(&config, 8);
        line.at(1100);
        line.sends(["1..1001"]);
        duplicates(&mut line, 1, 3);
        line.sends_some();
        assert_eq!(line.tcp.stats().fast_retransmits, fast_retransmits, "{recover_guard}");
    }
}
