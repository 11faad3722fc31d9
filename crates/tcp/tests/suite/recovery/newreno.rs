//! RFC 6582 §3.2.

use super::*;

#[test]
fn a_partial_acknowledgment_retransmits_the_next_hole() {
    let mut conn = with_data_in_flight(RecoveryKind::NewReno, 8, 9000);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    assert_eq!(conn.cwnd(), 7000);
    conn.at(200);
    conn.receives(ack(3001)); // 7000 − 3000 + 1000
    conn.sends(["3001..4001"]);
    assert_eq!((conn.cwnd(), phase(&conn)), (5000, RecoveryState::Recovery));
    conn.at(300);
    conn.receives(ack(6001));
    conn.sends(["6001..7001", "8001..9001"]);
    conn.at(400);
    conn.receives(ack(8001)); // full: min(ssthresh, max(FlightSize, SMSS) + SMSS)
    assert_eq!((conn.cwnd(), phase(&conn)), (2000, RecoveryState::Open));
    conn.sends(["9001..10001"]);
    let stats = conn.tcp.stats();
    assert_eq!((stats.fast_retransmits, stats.timeouts, stats.retransmissions), (1, 0, 3));
}

#[test]
fn only_the_first_partial_acknowledgment_restarts_the_timer() {
    // RFC 6582, step 3: the impatient variant.
    let mut conn = with_data_in_flight(RecoveryKind::NewReno, 12, 0);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.at(500);
    conn.receives(ack(2001));
    conn.sends(["2001..3001"]);
    conn.at(900);
    conn.receives(ack(4001));
    conn.sends(["4001..5001"]);
    conn.at(1300);
    conn.receives(ack(6001));
    conn.sends(["6001..7001"]);
    conn.at(1500);
    conn.sends(["6001..7001"]);
    assert_eq!(phase(&conn), RecoveryState::Loss);
}

#[test]
fn no_second_fast_retransmit_for_the_same_window() {
    // Step 2: the acknowledgment must cover more than recover.
    let mut conn = with_data_in_flight(RecoveryKind::NewReno, 8, 0);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.receives(ack(8001));
    conn.writes(8000);
    conn.sends_some();
    duplicates(&mut conn, 8001, 3);
    conn.quiet();
    assert_eq!(conn.tcp.stats().fast_retransmits, 1);
    conn.receives(ack(9001));
    conn.sends_some();
    duplicates(&mut conn, 9001, 3);
    assert_eq!(conn.sends_some()[0], "9001..10001");
}

#[test]
fn a_small_partial_acknowledgment_adds_no_segment_back() {
    let mut conn = with_data_in_flight(RecoveryKind::NewReno, 8, 0);
    duplicates(&mut conn, 1, 3);
    conn.sends(["1..1001"]);
    conn.receives(ack(501));
    conn.sends(["501..1501"]);
    assert_eq!(conn.cwnd(), 6500);
}
