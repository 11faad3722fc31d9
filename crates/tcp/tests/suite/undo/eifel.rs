//! RFC 3522 §3.2, RFC 4015 §3.2. Segments are 988 bytes; 12 are for the timestamps.

use driftway_base::Duration;

use super::*;

fn eifel(recovery: RecoveryKind) -> Config {
    let sack = recovery == RecoveryKind::Sack;
    Config { recovery, sack, timestamps: true, eifel: true, limited_transmit: false, ..plain() }
}

/// Eight segments sent at 100 ms, the first of them retransmitted by the timer at 1100 ms.
fn timed_out(config: &Config) -> TestConnection {
    let mut conn = TestConnection::established(&Config { initial_window: 8, ..*config });
    conn.writes(20_000);
    assert_eq!(conn.sends_some().len(), 8);
    conn.at(1100);
    conn.sends(["1..989"]);
    conn
}

#[test]
fn an_older_echo_than_the_retransmissions_undoes_a_timeout() {
    for recovery in
        [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack]
    {
        let mut conn =
            TestConnection::established(&Config { initial_window: 8, ..eifel(recovery) });
        let before = windows(&conn);
        conn.writes(20_000);
        conn.sends_some();
        conn.at(1100);
        conn.sends(["1..989"]);
        assert_eq!(conn.cwnd(), 988);
        conn.at(1150);
        conn.receives(ack(989).timestamps(6150, 100));
        assert_eq!(undo_count(&conn), 1);
        // As before; the acknowledgment has freed one segment (and grown the window by another).
        assert_eq!(windows(&conn), (before.0 + 988, before.1));
        conn.sends(["7905..8893", "8893..9881"]); // from SND.MAX on: step 8
    }
}

#[test]
fn the_echo_of_the_retransmission_undoes_nothing() {
    for echo in [1100, 1101, 0] {
        let mut conn = timed_out(&eifel(RecoveryKind::NewReno));
        conn.at(1250);
        conn.receives(ack(989).timestamps(6250, echo));
        assert_eq!((undo_count(&conn), conn.cwnd()), (0, 2 * 988), "{echo}");
        conn.sends(["989..1977", "1977..2965"]);
        // Only the first acknowledgment counts.
        conn.receives(ack(1977).timestamps(6250, 100));
        assert_eq!(undo_count(&conn), 0);
    }
}

#[test]
fn the_timestamp_of_the_first_retransmission_counts() {
    // RFC 3522 §3.2, step 2: a second timeout of the same segment overwrites neither it nor the
    // window to be restored.
    let mut conn = timed_out(&eifel(RecoveryKind::NewReno));
    conn.at(3100);
    conn.sends(["1..989"]);
    conn.receives(ack(989).timestamps(8100, 1100));
    assert_eq!(undo_count(&conn), 0);
    let mut conn = timed_out(&eifel(RecoveryKind::NewReno));
    conn.at(3100);
    conn.sends(["1..989"]);
    conn.receives(ack(989).timestamps(8100, 1099));
    assert_eq!((undo_count(&conn), conn.cwnd()), (1, 9 * 988));
}

#[test]
fn a_fast_retransmit_of_a_delayed_segment_is_undone() {
    for recovery in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack] {
        let mut conn =
            TestConnection::established(&Config { initial_window: 8, ..eifel(recovery) });
        let before = windows(&conn);
        conn.writes(8 * 988);
        conn.sends_some();
        conn.at(200);
        for n in 2..5 {
            let late = ack(1).timestamps(5200, 50);
            conn.receives(if recovery == RecoveryKind::Sack {
                late.sack(&[(989, n * 988 + 1)])
            } else {
                late
            });
        }
        conn.sends(["1..989"]);
        assert_eq!(conn.ssthresh(), 8 * 988 / 2);
        conn.at(201);
        conn.receives(ack(4 * 988 + 1).timestamps(5201, 100));
        assert_eq!((undo_count(&conn), conn.ssthresh()), (1, before.1));
        assert!(conn.cwnd() >= before.0);
    }
}

#[test]
fn an_ecn_echo_or_a_dsack_prevents_the_undo() {
    // RFC 3522 §3.2, step 5; RFC 4015 §3.2, step 9.
    let config = Config { ecn: true, ..eifel(RecoveryKind::Sack) };
    let mut conn = timed_out(&config);
    conn.receives(ack(989).timestamps(6150, 100).sack(&[(1, 989)]));
    assert_eq!(undo_count(&conn), 0);
    let mut conn = timed_out(&config);
    conn.receives(ack(989).timestamps(6150, 100).with(driftway_wire::TcpFlags::ECE));
    assert_eq!(undo_count(&conn), 0);
}

#[test]
fn after_an_undo_the_timeout_is_more_conservative() {
    // RFC 4015 §3.2, step 11: from the first round trip of new data and the estimates before, not
    // from the long round trip of the delayed acknowledgment.
    let mut conn = timed_out(&eifel(RecoveryKind::NewReno));
    conn.at(1150);
    conn.receives(ack(989).timestamps(6150, 100));
    conn.sends_some();
    conn.at(1950);
    conn.receives(ack(8893).timestamps(6950, 1150));
    // SRTT and RTTVAR of the handshake: 100 ms (and 2 ms of clock granularity) and 50 ms; 800 ms
    // now.
    assert_eq!(conn.rto(), Duration::from_millis(800 + 4 * 400));
}

#[test]
fn a_hold_makes_the_reduction_final() {
    let mut conn = timed_out(&eifel(RecoveryKind::NewReno));
    let release = driftway_base::Release::AnyAck;
    let cwnd = driftway_base::Assign::Value(988);
    conn.acts(driftway_base::Act::Hold {
        probe: None,
        rewind_snd_nxt: true,
        timers: driftway_base::HeldTimers::Stop,
        cwnd,
        release,
    });
    conn.receives(ack(989).timestamps(6150, 100));
    assert_eq!((undo_count(&conn), conn.cwnd()), (0, 2 * 988));
    conn.sends_some();
}

#[test]
fn after_a_hold_a_second_timeout_does_not_make_the_first_retransmission_look_original() {
    // RFC 3522 §3.2, steps 1 and 2: RetransmitTS is that of the first retransmission, 1100 ms.
    let mut conn = timed_out(&eifel(RecoveryKind::NewReno));
    conn.at(1200);
    let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
    let (probe, rewind_snd_nxt) = (None, false);
    conn.acts(driftway_base::Act::Hold {
        probe,
        rewind_snd_nxt,
        timers: driftway_base::HeldTimers::Freeze,
        cwnd,
        release,
    });
    conn.at(6000);
    let (ssthresh, rto) = (driftway_base::Assign::Keep, driftway_base::Assign::Keep);
    conn.acts(driftway_base::Act::Resume { cwnd, ssthresh, rto });
    conn.at(7900);
    conn.sends(["1..989"]);
    let ssthresh = conn.ssthresh();
    conn.at(7950);
    conn.receives(ack(989).timestamps(12_950, 1100));
    assert_eq!((undo_count(&conn), windows(&conn)), (0, (2 * 988, ssthresh)));
    conn.sends(["989..1977", "1977..2965"]);
}

#[test]
fn retransmit_ts_is_that_of_the_segment_at_snd_una() {
    // RFC 3522 §3.2, step 2. The recovery of 24 starts with 22 at SND.UNA, which was retransmitted
    // at 336 ms in the recovery before: an acknowledgment of that is not for an original.
    let recovery = RecoveryKind::RackTlp;
    let config = Config { recovery, sack: true, mss: 1012, ..eifel(recovery) };
    let answer = syn_ack().options(|o| o.mss = Some(1012));
    let mut conn = TestConnection::established_by(&config, answer);
    let window = driftway_base::Assign::Value(20_000);
    let rto = driftway_base::Assign::Keep;
    conn.acts(driftway_base::Act::Resume { cwnd: window, ssthresh: window, rto });
    for n in 0..20 {
        conn.at(RTT + n);
        conn.writes(1000);
        conn.sends([format!("{}..{}", n * 1000 + 1, (n + 1) * 1000 + 1).as_str()]);
    }
    let acks = |number, blocks, echo| Some(ack(number).sack(blocks).timestamps(6000, echo));
    // Time, arriving segment, retransmissions, and number of new segments sent then.
    let steps: [(u64, Option<Peer>, &[&str], u64); 10] = [
        (225, acks(1, &[(1001, 4001)], 102), &["1..1001"], 0), // lost
        (226, acks(1, &[(1001, 20_001)], 119), &[], 1),
        (235, None, &[], 1), // 22, lost
        (236, None, &[], 1),
        (326, acks(1, &[(1001, 21_001)], 119), &["1..1001"], 0),
        (327, None, &[], 3), // 24, lost, 25 and 26
        (336, acks(1, &[(22_001, 23_001), (1001, 21_001)], 119), &["21001..22001"], 0),
        (426, acks(21_001, &[(22_001, 23_001)], 326), &[], 0),
        (428, acks(21_001, &[(24_001, 26_001), (22_001, 23_001)], 326), &["23001..24001"], 0),
        (436, acks(23_001, &[(24_001, 26_001)], 336), &[], 0),
    ];
    for (ms, peer, again, new) in steps {
        conn.at(ms);
        if let Some(peer) = peer {
            conn.receives(peer);
        }
        assert_eq!(conn.sends_some(), again, "{ms}");
        conn.writes(new * 1000);
        assert_eq!(conn.sends_some().len() as u64, new, "{ms}");
    }
    let stats = conn.tcp.stats();
    assert_eq!((stats.fast_retransmits, stats.retransmissions, stats.responses_undone), (2, 4, 0));
}
