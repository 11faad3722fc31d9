//! RFC 6675.

use super::*;

fn receive_sack(conn: &mut TestConnection, number: u32, blocks: &[(u32, u32)]) {
    conn.receives(ack(number).sack(blocks));
}

#[test]
fn each_hole_is_retransmitted_once_and_no_sacked_data() {
    // Lost: 1, 4 and 6 of ten.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 10, 9000);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    receive_sack(&mut conn, 1, &[(1001, 3001)]);
    conn.quiet();
    receive_sack(&mut conn, 1, &[(4001, 5001), (1001, 3001)]);
    conn.sends(["1..1001"]); // §5, step 4.3
    assert_eq!((conn.cwnd(), conn.ssthresh()), (5000, 5000)); // step 4.2
    receive_sack(&mut conn, 1, &[(6001, 7001), (4001, 5001), (1001, 3001)]);
    conn.quiet(); // 3001 counts as lost now, but pipe is 5000: 1, 5, 7, 8 and 9
    receive_sack(&mut conn, 1, &[(6001, 8001), (4001, 5001), (1001, 3001)]);
    conn.sends(["3001..4001"]);
    receive_sack(&mut conn, 1, &[(6001, 9001), (4001, 5001), (1001, 3001)]);
    conn.sends(["5001..6001", "10001..11001"]); // NextSeg rule 2: then new data
    receive_sack(&mut conn, 1, &[(6001, 10_001), (4001, 5001), (1001, 3001)]);
    conn.sends(["11001..12001"]);
    receive_sack(&mut conn, 10_001, &[]);
    assert_eq!(phase(&conn), RecoveryState::Open);
    conn.sends_some();
    let stats = conn.tcp.stats();
    assert_eq!((stats.retransmissions, stats.fast_retransmits, stats.timeouts), (3, 1, 0));
}

#[test]
fn enough_bytes_above_a_hole_need_no_third_duplicate() {
    // IsLost: more than (DupThresh − 1) · SMSS, here in one SACK block.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut conn, 1, &[(1001, 3001)]);
    conn.quiet();
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut conn, 1, &[(1001, 3002)]);
    conn.sends(["1..1001"]);
}

#[test]
fn new_sack_information_counts_in_any_segment() {
    // §2, the definition of a duplicate acknowledgment: with data, another window, an advance.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 10, 0);
    conn.receives(data(1, 10).sack(&[(2001, 3001)]));
    conn.sends(["ack 11"]);
    conn.receives(ack(1).seq(11).window(50_000).sack(&[(2001, 4001)]));
    conn.quiet();
    conn.receives(ack(1001).seq(11).sack(&[(2001, 5001)]));
    conn.sends(["1001..2001"]);
}

/// RFC 5681 §3.2: FlightSize when the acknowledgment arrived, regardless of what it acknowledges.
#[test]
fn the_flight_size_is_that_before_the_acknowledgment_that_shows_a_loss() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let config = Config { recovery, sack: true, limited_transmit: false, ..plain() };
        let mut conn = TestConnection::in_flight(&config, 10);
        receive_sack(&mut conn, 3001, &[(4001, 7001)]);
        assert_eq!(conn.sends_some()[0], "3001..4001");
        assert_eq!((conn.cwnd(), conn.ssthresh()), (5000, 5000), "{recovery:?}");
    }
}

#[test]
fn without_new_sack_information_there_is_no_duplicate() {
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    for _ in 0..4 {
        receive_sack(&mut conn, 1, &[(1001, 2001)]);
        conn.receives(ack(1));
    }
    conn.quiet();
    // Invalid blocks: below, beyond, reversed, D-SACK.
    receive_sack(&mut conn, 1, &[(u32::MAX - 1000, 1), (7001, 9001), (4001, 3001)]);
    conn.quiet();
    conn.at(1100);
    conn.sends(["1..1001"]);
}

#[test]
fn without_new_data_a_hole_not_yet_lost_is_retransmitted() {
    // NextSeg rule 3, and then rule 4, once: the end of the outstanding data.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    receive_sack(&mut conn, 1, &[(1001, 3001)]);
    receive_sack(&mut conn, 1, &[(1001, 3001), (4001, 5001)]);
    conn.sends(["1..1001"]); // pipe: 1, 3, 5, 6, 7 with cwnd 4000
    receive_sack(&mut conn, 1, &[(1001, 3001), (4001, 6001)]);
    conn.quiet();
    // pipe is 3000 (4, 7, 8): above the hole at 3001 only 2000 bytes are SACKed.
    receive_sack(&mut conn, 3001, &[(4001, 6001)]);
    conn.sends(["3001..4001"]);
    receive_sack(&mut conn, 6001, &[]);
    conn.sends(["7001..8001"]);
    receive_sack(&mut conn, 6501, &[]);
    conn.quiet();
    assert_eq!(conn.tcp.stats().fast_retransmits, 1);
}

#[test]
fn the_rescue_retransmission_is_one_segment_and_leaves_the_holes() {
    // Lost: 1, 7 and 8 of eight.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    receive_sack(&mut conn, 1, &[(1001, 3001)]);
    receive_sack(&mut conn, 1, &[(1001, 4001)]);
    conn.sends(["1..1001"]);
    receive_sack(&mut conn, 1, &[(1001, 5001)]);
    conn.quiet(); // pipe fills cwnd: 1, 6, 7 and 8
    receive_sack(&mut conn, 1, &[(1001, 6001)]);
    conn.sends(["7001..8001"]);
    receive_sack(&mut conn, 1, &[(1001, 6501)]);
    conn.quiet();
    receive_sack(&mut conn, 6501, &[]);
    conn.quiet();
    conn.receives(ack(8001));
    assert_eq!(phase(&conn), RecoveryState::Open);
    assert_eq!(conn.tcp.stats().retransmissions, 2);
}

#[test]
fn after_a_timeout_sacked_data_is_skipped() {
    // §5.1
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut conn, 1, &[(1001, 2001)]);
    receive_sack(&mut conn, 1, &[(1001, 2001), (3001, 4001)]);
    conn.at(1100);
    conn.sends(["1..1001"]);
    assert_eq!(conn.cwnd(), 1000);
    conn.receives(ack(2001).sack(&[(3001, 4001)]));
    conn.sends(["2001..3001", "4001..5001"]);
}

#[test]
fn a_peer_may_renege() {
    // RFC 2018 §8: the segment at SND.UNA is retransmitted after a timeout even if it is SACKed.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut conn, 1, &[(1001, 4001)]);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001)); // and not 4001
    conn.sends_some();
    conn.at(1100);
    conn.sends(["1001..2001"]);
    conn.receives(ack(2001));
    conn.sends(["2001..3001", "3001..4001"]);
}

#[test]
fn a_rescue_retransmission_does_not_skip_the_holes_below_it() {
    // NextSeg rule 4: HighRxt is not updated. Lost: 1 and 7 of eight; 8 is late.
    let mut conn = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    for end in [2001, 3001, 4001] {
        receive_sack(&mut conn, 1, &[(1001, end)]);
    }
    conn.sends(["1..1001"]);
    receive_sack(&mut conn, 1, &[(1001, 5001)]);
    receive_sack(&mut conn, 1, &[(1001, 6001)]);
    conn.sends(["7001..8001"]);
    receive_sack(&mut conn, 1, &[(7001, 8001), (1001, 6001)]);
    conn.sends(["6001..7001"]);
}
