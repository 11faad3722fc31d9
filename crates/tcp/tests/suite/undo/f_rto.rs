//! RFC 5682 §2.1 and §3.1.

use super::*;

fn f_rto(recovery: RecoveryKind) -> Config {
    let sack = recovery == RecoveryKind::Sack;
    Config { recovery, sack, f_rto: true, limited_transmit: false, ..plain() }
}

/// Eight segments, the first of them retransmitted at 1100 ms, and `more` bytes to send.
fn timed_out(recovery: RecoveryKind, more: u64) -> TestConnection {
    let mut conn = TestConnection::in_flight(&f_rto(recovery), 8);
    conn.writes(more);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn
}

const BOTH: [RecoveryKind; 2] = [RecoveryKind::NewReno, RecoveryKind::Sack];

#[test]
fn two_consecutive_acknowledgments_mean_a_spurious_timeout() {
    for recovery in BOTH {
        let mut conn = timed_out(recovery, 9000);
        conn.receives(ack(1001));
        conn.sends(["8001..9001", "9001..10001"]); // step 2b: new data, no more than two segments
        conn.receives(ack(2001));
        assert_eq!(undo_count(&conn), 1, "{recovery:?}");
        // The window of before, and a segment for the acknowledgment that shows it.
        assert_eq!(conn.cwnd(), 9000);
        conn.sends(["10001..11001"]);
        conn.receives(ack(3001));
        conn.sends(["11001..12001", "12001..13001"]);
        assert_eq!(conn.tcp.stats().retransmissions, 1);
    }
}

#[test]
fn a_duplicate_after_the_new_data_means_a_real_loss() {
    let mut conn = timed_out(RecoveryKind::NewReno, 9000);
    conn.receives(ack(1001));
    conn.sends_some();
    conn.receives(ack(1001)); // step 3a
    assert_eq!((undo_count(&conn), conn.cwnd()), (0, 2000));
    conn.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn with_sack_delivered_new_data_means_a_real_loss() {
    // §3.1, step 3a
    let mut conn = timed_out(RecoveryKind::Sack, 9000);
    conn.receives(ack(1001));
    conn.sends_some();
    conn.receives(ack(1001).sack(&[(8001, 9001)]));
    assert_eq!(undo_count(&conn), 0);
    conn.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn with_sack_a_sack_of_data_not_retransmitted_means_a_spurious_timeout() {
    // §3.1, step 3b: 1 and 2 arrive late, 3 is lost, 4 arrives.
    let mut conn = timed_out(RecoveryKind::Sack, 9000);
    conn.receives(ack(2001));
    conn.sends(["8001..9001", "9001..10001"]);
    conn.receives(ack(2001).sack(&[(3001, 4001)]));
    assert_eq!(undo_count(&conn), 1);
    conn.sends_some();
    // The hole is repaired like any other.
    conn.receives(ack(2001).sack(&[(3001, 5001)]));
    conn.receives(ack(2001).sack(&[(3001, 6001)]));
    assert_eq!(conn.sends_some()[0], "2001..3001");
}

#[test]
fn a_duplicate_first_means_conventional_recovery_except_with_sack() {
    // §2.1, step 2a; §3.1, step 2.
    let mut conn = timed_out(RecoveryKind::NewReno, 9000);
    conn.receives(ack(1));
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
    let mut conn = timed_out(RecoveryKind::Sack, 9000);
    conn.receives(ack(1).sack(&[(3001, 4001)]));
    conn.quiet();
    conn.receives(ack(1001).sack(&[(3001, 4001)]));
    conn.sends(["8001..9001", "9001..10001"]);
}

#[test]
fn an_acknowledgment_of_everything_ends_the_detection() {
    for recovery in BOTH {
        let mut conn = timed_out(recovery, 9000);
        conn.receives(ack(8001));
        conn.sends(["8001..9001", "9001..10001"]);
        conn.receives(ack(10_001));
        assert_eq!((undo_count(&conn), conn.ssthresh()), (0, 4000), "{recovery:?}");
        conn.sends_some();
    }
}

#[test]
fn half_of_the_retransmitted_segment_is_not_enough() {
    // §2.1, step 2a: the whole retransmission must be acknowledged.
    let mut conn = timed_out(RecoveryKind::NewReno, 9000);
    conn.receives(ack(501));
    assert!(conn.sends_some()[0].starts_with("1001.."));
}

#[test]
fn without_new_data_or_window_recovery_is_conventional() {
    for recovery in BOTH {
        let mut conn = timed_out(recovery, 0);
        conn.receives(ack(1001));
        conn.sends(["1001..2001", "2001..3001"]);
        let mut conn = timed_out(recovery, 9000);
        conn.receives(ack(1001).window(7000));
        conn.sends(["1001..2001", "2001..3001"]);
    }
}

#[test]
fn no_detection_after_a_second_timeout_or_in_fast_recovery() {
    let mut conn = timed_out(RecoveryKind::NewReno, 9000);
    conn.at(3100);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
    let mut conn = TestConnection::in_flight(&f_rto(RecoveryKind::NewReno), 8);
    conn.writes(9000);
    for _ in 0..3 {
        conn.receives(ack(1));
    }
    conn.sends(["1..1001"]);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn a_timeout_during_the_detection_is_conventional() {
    for recovery in BOTH {
        let mut conn = timed_out(recovery, 9000);
        conn.at(1200);
        conn.receives(ack(1001));
        conn.sends_some();
        conn.at(3200);
        let again = conn.sends_some();
        assert_eq!(again, ["1001..2001"]);
        conn.receives(ack(2001));
        conn.sends(["2001..3001", "3001..4001"]);
    }
}

#[test]
fn a_hold_during_the_detection_leads_to_conventional_recovery() {
    // §2.1, step 3: SND.NXT is beyond the lost data and has to be set back.
    for recovery in BOTH {
        for timers in [driftway_base::HeldTimers::Stop, driftway_base::HeldTimers::Freeze] {
            let mut conn = timed_out(recovery, 20_000);
            conn.at(1200);
            conn.receives(ack(1001));
            conn.sends(["8001..9001", "9001..10001"]);
            let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
            let (probe, rewind_snd_nxt) = (None, false);
            conn.acts(driftway_base::Act::Hold { probe, rewind_snd_nxt, timers, cwnd, release });
            conn.at(1250);
            let (ssthresh, rto) = (driftway_base::Assign::Keep, driftway_base::Assign::Keep);
            conn.acts(driftway_base::Act::Resume { cwnd, ssthresh, rto });
            conn.sends(["1001..2001", "2001..3001"]);
            conn.receives(ack(3001));
            assert_eq!(conn.sends_some()[0], "3001..4001");
            assert_eq!((undo_count(&conn), conn.tcp.stats().timeouts), (0, 1));
        }
    }
}
