//! RFC 6675.

use super::*;

fn receive_sack(line: &mut Line, number: u32, blocks: &[(u32, u32)]) {
    line.receives(ack(number).sack(blocks));
}

#[test]
fn holes_go_once_each_and_nothing_that_has_arrived() {
    // Lost: 1, 4 and 6 of ten.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 10, 9000);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    receive_sack(&mut line, 1, &[(1001, 3001)]);
    line.quiet();
    receive_sack(&mut line, 1, &[(4001, 5001), (1001, 3001)]);
    line.sends(["1..1001"]); // §5, step 4.3
    assert_eq!((line.cwnd(), line.ssthresh()), (5000, 5000)); // step 4.2
    receive_sack(&mut line, 1, &[(6001, 7001), (4001, 5001), (1001, 3001)]);
    line.quiet(); // 3001 counts as lost now, but pipe is 5000: 1, 5, 7, 8 and 9
    receive_sack(&mut line, 1, &[(6001, 8001), (4001, 5001), (1001, 3001)]);
    line.sends(["3001..4001"]);
    receive_sack(&mut line, 1, &[(6001, 9001), (4001, 5001), (1001, 3001)]);
    line.sends(["5001..6001", "10001..11001"]); // NextSeg rule 2: then new data
    receive_sack(&mut line, 1, &[(6001, 10_001), (4001, 5001), (1001, 3001)]);
    line.sends(["11001..12001"]);
    receive_sack(&mut line, 10_001, &[]);
    assert_eq!(phase(&line), RecoveryState::Open);
    line.sends_some();
    let stats = line.tcp.stats();
    assert_eq!((stats.retransmissions, stats.fast_retransmits, stats.timeouts), (3, 1, 0));
}

#[test]
fn enough_bytes_above_a_hole_need_no_third_duplicate() {
    // IsLost: more than (DupThresh − 1) · SMSS, here in one report.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut line, 1, &[(1001, 3001)]);
    line.quiet();
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut line, 1, &[(1001, 3002)]);
    line.sends(["1..1001"]);
}

#[test]
fn news_count_whatever_else_the_segment_brings() {
    // §2, the definition of a duplicate acknowledgment: with data, another window, an advance.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 10, 0);
    line.receives(data(1, 10).sack(&[(2001, 3001)]));
    line.sends(["ack 11"]);
    line.receives(ack(1).seq(11).window(50_000).sack(&[(2001, 4001)]));
    line.quiet();
    line.receives(ack(1001).seq(11).sack(&[(2001, 5001)]));
    line.sends(["1001..2001"]);
}

/// RFC 5681 §3.2: what was outstanding when the acknowledgment came, whatever it acknowledges.
#[test]
fn the_flight_is_that_before_the_acknowledgment_that_shows_a_loss() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let config = Config { recovery, sack: true, limited_transmit: false, ..plain() };
        let mut line = Line::in_flight(&config, 10);
        receive_sack(&mut line, 3001, &[(4001, 7001)]);
        assert_eq!(line.sends_some()[0], "3001..4001");
        assert_eq!((line.cwnd(), line.ssthresh()), (5000, 5000), "{recovery:?}");
    }
}

#[test]
fn what_is_no_news_is_no_duplicate() {
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    for _ in 0..4 {
        receive_sack(&mut line, 1, &[(1001, 2001)]);
        line.receives(ack(1));
    }
    line.quiet();
    // Nonsense: below, beyond, upside down, D-SACK.
    receive_sack(&mut line, 1, &[(u32::MAX - 1000, 1), (7001, 9001), (4001, 3001)]);
    line.quiet();
    line.at(1100);
    line.sends(["1..1001"]);
}

#[test]
fn when_nothing_new_can_be_sent_a_hole_not_yet_lost_goes() {
    // NextSeg rule 3, and after it rule 4, once: the end of what is outstanding.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    receive_sack(&mut line, 1, &[(1001, 3001)]);
    receive_sack(&mut line, 1, &[(1001, 3001), (4001, 5001)]);
    line.sends(["1..1001"]); // pipe: 1, 3, 5, 6, 7 with cwnd 4000
    receive_sack(&mut line, 1, &[(1001, 3001), (4001, 6001)]);
    line.quiet();
    // pipe is 3000 (4, 7, 8): the hole at 3001 has but 2000 bytes above.
    receive_sack(&mut line, 3001, &[(4001, 6001)]);
    line.sends(["3001..4001"]);
    receive_sack(&mut line, 6001, &[]);
    line.sends(["7001..8001"]);
    receive_sack(&mut line, 6501, &[]);
    line.quiet();
    assert_eq!(line.tcp.stats().fast_retransmits, 1);
}

#[test]
fn the_rescue_is_one_segment_and_leaves_the_holes_alone() {
    // Lost: 1, 7 and 8 of eight.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    receive_sack(&mut line, 1, &[(1001, 3001)]);
    receive_sack(&mut line, 1, &[(1001, 4001)]);
    line.sends(["1..1001"]);
    receive_sack(&mut line, 1, &[(1001, 5001)]);
    line.quiet(); // pipe fills cwnd: 1, 6, 7 and 8
    receive_sack(&mut line, 1, &[(1001, 6001)]);
    line.sends(["7001..8001"]);
    receive_sack(&mut line, 1, &[(1001, 6501)]);
    line.quiet();
    receive_sack(&mut line, 6501, &[]);
    line.quiet();
    line.receives(ack(8001));
    assert_eq!(phase(&line), RecoveryState::Open);
    assert_eq!(line.tcp.stats().retransmissions, 2);
}

#[test]
fn after_a_timeout_what_is_reported_is_skipped() {
    // §5.1
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut line, 1, &[(1001, 2001)]);
    receive_sack(&mut line, 1, &[(1001, 2001), (3001, 4001)]);
    line.at(1100);
    line.sends(["1..1001"]);
    assert_eq!(line.cwnd(), 1000);
    line.receives(ack(2001).sack(&[(3001, 4001)]));
    line.sends(["2001..3001", "4001..5001"]);
}

#[test]
fn a_peer_may_take_its_word_back() {
    // RFC 2018 §8: what is at the left edge goes again after a timeout, reported or not.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    receive_sack(&mut line, 1, &[(1001, 4001)]);
    line.sends(["1..1001"]);
    line.receives(ack(1001)); // and not 4001
    line.sends_some();
    line.at(1100);
    line.sends(["1001..2001"]);
    line.receives(ack(2001));
    line.sends(["2001..3001", "3001..4001"]);
}

#[test]
fn a_rescue_is_no_reason_to_pass_over_what_it_went_beyond() {
    // NextSeg rule 4: HighRxt is not updated. Lost: 1 and 7 of eight; 8 is late.
    let mut line = with_data_in_flight(RecoveryKind::Sack, 8, 0);
    for end in [2001, 3001, 4001] {
        receive_sack(&mut line, 1, &[(1001, end)]);
    }
    line.sends(["1..1001"]);
    receive_sack(&mut line, 1, &[(1001, 5001)]);
    receive_sack(&mut line, 1, &[(1001, 6001)]);
    line.sends(["7001..8001"]);
    receive_sack(&mut line, 1, &[(7001, 8001), (1001, 6001)]);
    line.sends(["6001..7001"]);
}
