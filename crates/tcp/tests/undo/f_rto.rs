//! RFC 5682 §2.1 and §3.1.

use super::*;

fn f_rto(recovery: RecoveryKind) -> Config {
    let sack = recovery == RecoveryKind::Sack;
    Config { recovery, sack, f_rto: true, limited_transmit: false, ..plain() }
}

/// Eight segments, the first of them retransmitted at 1100 ms, and `more` bytes to send.
fn timed_out(recovery: RecoveryKind, more: u64) -> TestConnection {
    let mut line = TestConnection::in_flight(&f_rto(recovery), 8);
    line.writes(more);
    line.at(1100);
    line.sends(["1..1001"]);
    line
}

const BOTH: [RecoveryKind; 2] = [RecoveryKind::NewReno, RecoveryKind::Sack];

#[test]
fn two_consecutive_acknowledgments_mean_a_spurious_timeout() {
    for recovery in BOTH {
        let mut line = timed_out(recovery, 9000);
        line.receives(ack(1001));
        line.sends(["8001..9001", "9001..10001"]); // step 2b: new data, no more than two segments
        line.receives(ack(2001));
        assert_eq!(undo_count(&line), 1, "{recovery:?}");
        assert_eq!(line.cwnd(), 8000); // which is full
        line.receives(ack(3001));
        line.sends(["10001..11001", "11001..12001"]);
        assert_eq!(line.tcp.stats().retransmissions, 1);
    }
}

#[test]
fn a_duplicate_after_the_new_data_means_a_real_loss() {
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.receives(ack(1001));
    line.sends_some();
    line.receives(ack(1001)); // step 3a
    assert_eq!((undo_count(&line), line.cwnd()), (0, 2000));
    line.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn with_sack_delivered_new_data_means_a_real_loss() {
    // §3.1, step 3a
    let mut line = timed_out(RecoveryKind::Sack, 9000);
    line.receives(ack(1001));
    line.sends_some();
    line.receives(ack(1001).sack(&[(8001, 9001)]));
    assert_eq!(undo_count(&line), 0);
    line.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn with_sack_a_sack_of_data_not_retransmitted_means_a_spurious_timeout() {
    // §3.1, step 3b: 1 and 2 arrive late, 3 is lost, 4 arrives.
    let mut line = timed_out(RecoveryKind::Sack, 9000);
    line.receives(ack(2001));
    line.sends(["8001..9001", "9001..10001"]);
    line.receives(ack(2001).sack(&[(3001, 4001)]));
    assert_eq!(undo_count(&line), 1);
    line.sends_some();
    // The hole is repaired like any other.
    line.receives(ack(2001).sack(&[(3001, 5001)]));
    line.receives(ack(2001).sack(&[(3001, 6001)]));
    assert_eq!(line.sends_some()[0], "2001..3001");
}

#[test]
fn a_duplicate_first_means_conventional_recovery_except_with_sack() {
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
fn an_acknowledgment_of_everything_ends_the_detection() {
    for recovery in BOTH {
        let mut line = timed_out(recovery, 9000);
        line.receives(ack(8001));
        line.sends(["8001..9001", "9001..10001"]);
        line.receives(ack(10_001));
        assert_eq!((undo_count(&line), line.ssthresh()), (0, 4000), "{recovery:?}");
        line.sends_some();
    }
}

#[test]
fn half_of_the_retransmitted_segment_is_not_enough() {
    // §2.1, step 2a: the whole retransmission must be acknowledged.
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.receives(ack(501));
    assert!(line.sends_some()[0].starts_with("1001.."));
}

#[test]
fn without_new_data_or_window_recovery_is_conventional() {
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
fn no_detection_after_a_second_timeout_or_in_fast_recovery() {
    let mut line = timed_out(RecoveryKind::NewReno, 9000);
    line.at(3100);
    line.sends(["1..1001"]);
    line.receives(ack(1001));
    line.sends(["1001..2001", "2001..3001"]);
    let mut line = TestConnection::in_flight(&f_rto(RecoveryKind::NewReno), 8);
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
fn a_timeout_during_the_detection_is_conventional() {
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
fn a_hold_during_the_detection_leads_to_conventional_recovery() {
    // §2.1, step 3: SND.NXT is beyond the lost data and has to be set back.
    for recovery in BOTH {
        for freeze_timers in [false, true] {
            let mut line = timed_out(recovery, 20_000);
            line.at(1200);
            line.receives(ack(1001));
            line.sends(["8001..9001", "9001..10001"]);
            let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
            let (probe, step_back) = (None, false);
            line.acts(driftway_base::Act::Hold {
                probe,
                rewind_snd_nxt: step_back,
                freeze_timers,
                cwnd,
                release,
            });
            line.at(1250);
            let (ssthresh, rto) = (driftway_base::Assign::Keep, driftway_base::Assign::Keep);
            line.acts(driftway_base::Act::Resume { cwnd, ssthresh, rto });
            line.sends(["1001..2001", "2001..3001"]);
            line.receives(ack(3001));
            assert_eq!(line.sends_some()[0], "3001..4001");
            assert_eq!((undo_count(&line), line.tcp.stats().timeouts), (0, 1));
        }
    }
}
