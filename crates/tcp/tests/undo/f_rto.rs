//! RFC 5682 §2.1 and §3.1.

use super::*;

fn f_rto(recovery: RecoveryKind) -> Config {
    let sack = recovery == RecoveryKind::Sack;
    Config { recovery, sack, f_rto: true, limited_transmit: false, ..plain() }
}

/// Eight segments, the first of them again at 1100 ms, and `more` bytes to send.
fn timed_out(recovery: RecoveryKind, more: u64) -> Line {
    let mut line = Line::in_flight(&f_rto(recovery), 8);
    line.writes(more);
    line.at(1100);
    line.sends(["1..1001"]);
    line
}

const BOTH: [RecoveryKind; 2] = [RecoveryKind::NewReno, RecoveryKind::Sack];

#[test]
fn two_acknowledgments_in_a_row_mean_that_nothing_was_lost() {
    for recovery in BOTH {
        let mut line = timed_out(recovery, 9000);
        line.receives(ack(1001));
        line.sends(["8001..9001", "9001..10001"]); // step 2b: new data, and no more than that
        line.receives(ack(2001));
        assert_eq!(undone(&line), 1, "{recovery:?}");
        assert_eq!(line.cwnd(), 8000); // which is full
        line.receives(ack(3001));
        line.sends(["10001..11001", "11001..12001"]);
        assert_eq!(line.tcp.stats().retransmissions, 1);
    }
}

#[test]
fn a_duplicate_after_the_new_data_means_that_the_rest_is_lost() {
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.receives(ack(1001));
    line.sends_some();
    line.receives(ack(1001)); // step 3a
    assert_eq!((undone(&line), line.cwnd()), (0, 2000));
    line.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn with_sack_new_data_that_arrives_above_means_so_too() {
    // §3.1, step 3a
    let mut line = timed_out(RecoveryKind::Sack, 9000);
    line.receives(ack(1001));
    line.sends_some();
    line.receives(ack(1001).sack(&[(8001, 9001)]));
    assert_eq!(undone(&line), 0);
    line.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn with_sack_a_report_of_what_did_not_go_again_will_do() {
    // §3.1, step 3b: 1 and 2 arrive late, 3 is lost, 4 arrives.
    let mut line = timed_out(RecoveryKind::Sack, 9000);
    line.receives(ack(2001));
    line.sends(["8001..9001", "9001..10001"]);
    line.receives(ack(2001).sack(&[(3001, 4001)]));
    assert_eq!(undone(&line), 1);
    line.sends_some();
    // And the hole is repaired as any.
    line.receives(ack(2001).sack(&[(3001, 5001)]));
    line.receives(ack(2001).sack(&[(3001, 6001)]));
    assert_eq!(line.sends_some()[0], "2001..3001");
}

#[test]
fn a_duplicate_first_means_conventional_recovery_unless_sack_can_tell() {
    // §2.1, step 2a; §3.1, step 2.
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.receives(ack(1));
    line.receives(ack(1001));
    line.sends(["1001..2001", "2001..3001"]);
    let mut line = timed_out(RecoveryKind::Sack, 9000);
    line.receives(ack(1).sack(&[(3001, 4001)]));
    line.quiet();
    line.receives(ack(1001).sack(&[(3001, 4001)]));
    line.sends(["8001..9001", "9001..10001"]);
}

#[test]
fn an_acknowledgment_of_everything_leaves_nothing_to_find_out() {
    for recovery in BOTH {
        let mut line = timed_out(recovery, 9000);
        line.receives(ack(8001));
        line.sends(["8001..9001", "9001..10001"]);
        line.receives(ack(10_001));
        assert_eq!((undone(&line), line.ssthresh()), (0, 4000), "{recovery:?}");
        line.sends_some();
    }
}

#[test]
fn half_of_the_segment_is_not_enough() {
    // §2.1, step 2a: all that went again must be acknowledged.
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.receives(ack(501));
    assert!(line.sends_some()[0].starts_with("1001.."));
}

#[test]
fn without_new_data_or_a_place_for_it_recovery_is_conventional() {
    for recovery in BOTH {
        let mut line = timed_out(recovery, 0);
        line.receives(ack(1001));
        line.sends(["1001..2001", "2001..3001"]);
        let mut line = timed_out(recovery, 9000);
        line.receives(ack(1001).window(7000));
        line.sends(["1001..2001", "2001..3001"]);
    }
}

#[test]
fn not_after_a_second_timeout_nor_in_fast_recovery() {
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.at(3100);
    line.sends(["1..1001"]);
    line.receives(ack(1001));
    line.sends(["1001..2001", "2001..3001"]);
    let mut line = Line::in_flight(&f_rto(RecoveryKind::NewReno), 8);
    line.writes(9000);
    for _ in 0..3 {
        line.receives(ack(1));
    }
    line.sends(["1..1001"]);
    line.at(1100);
    line.sends(["1..1001"]);
    line.receives(ack(1001));
    line.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn a_timeout_while_probing_is_a_conventional_one() {
    for recovery in BOTH {
        let mut line = timed_out(recovery, 9000);
        line.at(1200);
        line.receives(ack(1001));
        line.sends_some();
        line.at(3200);
        let again = line.sends_some();
        assert_eq!(again, ["1001..2001"]);
        line.receives(ack(2001));
        line.sends(["2001..3001", "3001..4001"]);
    }
}

#[test]
fn a_hold_while_probing_leaves_what_did_not_go_again_to_conventional_recovery() {
    // §2.1, step 3: SND.NXT is past it, and nobody else would take it back.
    for recovery in BOTH {
        for freeze_timers in [false, true] {
            let mut line = timed_out(recovery, 20_000);
            line.at(1200);
            line.receives(ack(1001));
            line.sends(["8001..9001", "9001..10001"]);
            let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
            let (probe, step_back) = (None, false);
            line.acts(driftway_base::Act::Hold { probe, rewind_snd_nxt: step_back, freeze_timers, cwnd, release });
            line.at(1250);
            let (ssthresh, rto) = (driftway_base::Assign::Keep, driftway_base::Assign::Keep);
            line.acts(driftway_base::Act::Resume { cwnd, ssthresh, rto });
            line.sends(["1001..2001", "2001..3001"]);
            line.receives(ack(3001));
            assert_eq!(line.sends_some()[0], "3001..4001");
            assert_eq!((undone(&line), line.tcp.stats().timeouts), (0, 1));
        }
    }
}
