//! RFC 6582 §3.2.

use super::*;

#[test]
fn a_partial_acknowledgment_retransmits_the_next_hole() {
    let mut line = with_data_in_flight(RecoveryKind::NewReno, 8, 9000);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    assert_eq!(line.cwnd(), 7000);
    line.at(200);
    line.receives(ack(3001)); // 7000 − 3000 + 1000
    line.sends(["3001..4001"]);
    assert_eq!((line.cwnd(), phase(&line)), (5000, RecoveryState::Recovery));
    line.at(300);
    line.receives(ack(6001));
    line.sends(["6001..7001", "8001..9001"]);
    line.at(400);
    line.receives(ack(8001)); // full: min(ssthresh, max(FlightSize, SMSS) + SMSS)
    assert_eq!((line.cwnd(), phase(&line)), (2000, RecoveryState::Open));
    line.sends(["9001..10001"]);
    let stats = line.tcp.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions), (1, 0, 3));
}

#[test]
fn only_the_first_partial_acknowledgment_restarts_the_timer() {
    // RFC 6582, step 3: the impatient variant.
    let mut line = with_data_in_flight(RecoveryKind::NewReno, 12, 0);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.at(500);
    line.receives(ack(2001));
    line.sends(["2001..3001"]);
    line.at(900);
    line.receives(ack(4001));
    line.sends(["4001..5001"]);
    line.at(1300);
    line.receives(ack(6001));
    line.sends(["6001..7001"]);
    line.at(1500);
    line.sends(["6001..7001"]);
    assert_eq!(phase(&line), RecoveryState::Loss);
}

#[test]
fn no_second_fast_retransmit_for_the_same_window() {
    // Step 2: the acknowledgment must cover more than recover.
    let mut line = with_data_in_flight(RecoveryKind::NewReno, 8, 0);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.receives(ack(8001));
    line.writes(8000);
    line.sends_some();
    duplicates(&mut line, 8001, 3);
    line.quiet();
    assert_eq!(line.tcp.stats().fast_retransmits, 1);
    line.receives(ack(9001));
    line.sends_some();
    duplicates(&mut line, 9001, 3);
    assert_eq!(line.sends_some()[0], "9001..10001");
}

#[test]
fn a_small_partial_acknowledgment_adds_no_segment_back() {
    let mut line = with_data_in_flight(RecoveryKind::NewReno, 8, 0);
    duplicates(&mut line, 1, 3);
    line.sends(["1..1001"]);
    line.receives(ack(501));
    line.sends(["501..1501"]);
    assert_eq!(line.cwnd(), 6500);
}
