//! RFC 3522 §3.2, RFC 4015 §3.2. Segments are 988 bytes; 12 are for the timestamps.

use driftway_base::Duration;

use super::*;

fn eifel(recovery: RecoveryKind) -> Config {
    let sack = recovery == RecoveryKind::Sack;
    Config { recovery, sack, timestamps: true, eifel: true, limited_transmit: false, ..plain() }
}

/// Eight segments sent at 100 ms, the first of them retransmitted by the timer at 1100 ms.
fn timed_out(config: &Config) -> TestConnection {
    let mut line = TestConnection::established(&Config { initial_window: 8, ..*config });
    line.writes(20_000);
    assert_eq!(line.sends_some().len(), 8);
    line.at(1100);
    line.sends(["1..989"]);
    line
}

#[test]
fn an_older_echo_than_the_retransmissions_undoes_a_timeout() {
    for recovery in
        [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack]
    {
        let mut line =
            TestConnection::established(&Config { initial_window: 8, ..eifel(recovery) });
        let before = windows(&line);
        line.writes(20_000);
        line.sends_some();
        line.at(1100);
        line.sends(["1..989"]);
        assert_eq!(line.cwnd(), 988);
        line.at(1150);
        line.receives(ack(989).timestamps(6150, 100));
        assert_eq!(undo_count(&line), 1);
        // As before; the acknowledgment has freed one segment (and grown the window by another).
        assert_eq!(windows(&line), (before.0 + 988, before.1));
        line.sends(["7905..8893", "8893..9881"]); // from SND.MAX on: step 8
    }
}

#[test]
fn the_echo_of_the_retransmission_undoes_nothing() {
    for echo in [1100, 1101, 0] {
        let mut line = timed_out(&eifel(RecoveryKind::NewReno));
        line.at(1250);
        line.receives(ack(989).timestamps(6250, echo));
        assert_eq!((undo_count(&line), line.cwnd()), (0, 2 * 988), "{echo}");
        line.sends(["989..1977", "1977..2965"]);
        // Only the first acknowledgment counts.
        line.receives(ack(1977).timestamps(6250, 100));
        assert_eq!(undo_count(&line), 0);
    }
}

#[test]
fn the_timestamp_of_the_first_retransmission_counts() {
    // RFC 3522 §3.2, step 2: a second timeout of the same segment overwrites neither it nor the
    // window to be restored.
    let mut line = timed_out(&eifel(RecoveryKind::NewReno));
    line.at(3100);
    line.sends(["1..989"]);
    line.receives(ack(989).timestamps(8100, 1100));
    assert_eq!(undo_count(&line), 0);
    let mut line = timed_out(&eifel(RecoveryKind::NewReno));
    line.at(3100);
    line.sends(["1..989"]);
    line.receives(ack(989).timestamps(8100, 1099));
    assert_eq!((undo_count(&line), line.cwnd()), (1, 9 * 988));
}

#[test]
fn a_fast_retransmit_of_a_delayed_segment_is_undone() {
    for recovery in [RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack] {
        let mut line =
            TestConnection::established(&Config { initial_window: 8, ..eifel(recovery) });
        let before = windows(&line);
        line.writes(8 * 988);
        line.sends_some();
        line.at(200);
        for n in 2..5 {
            let late = ack(1).timestamps(5200, 50);
            line.receives(if recovery == RecoveryKind::Sack {
                late.sack(&[(989, n * 988 + 1)])
            } else {
                late
            });
        }
        line.sends(["1..989"]);
        assert_eq!(line.ssthresh(), 8 * 988 / 2);
        line.at(201);
        line.receives(ack(4 * 988 + 1).timestamps(5201, 100));
        assert_eq!((undo_count(&line), line.ssthresh()), (1, before.1));
        assert!(line.cwnd() >= before.0);
    }
}

#[test]
fn an_ecn_echo_or_a_dsack_prevents_the_undo() {
    // RFC 3522 §3.2, step 5; RFC 4015 §3.2, step 9.
    let config = Config { ecn: true, ..eifel(RecoveryKind::Sack) };
    let mut line = timed_out(&config);
    line.receives(ack(989).timestamps(6150, 100).sack(&[(1, 989)]));
    assert_eq!(undo_count(&line), 0);
    let mut line = timed_out(&config);
    line.receives(ack(989).timestamps(6150, 100).with(driftway_wire::TcpFlags::ECE));
    assert_eq!(undo_count(&line), 0);
}

#[test]
fn after_an_undo_the_timeout_is_more_conservative() {
    // RFC 4015 §3.2, step 11: from the first round trip of new data and the estimates before, not
    // from the long round trip of the delayed acknowledgment.
    let mut line = timed_out(&eifel(RecoveryKind::NewReno));
    line.at(1150);
    line.receives(ack(989).timestamps(6150, 100));
    line.sends_some();
    line.at(1950);
    line.receives(ack(8893).timestamps(6950, 1150));
    // SRTT and RTTVAR of the handshake: 100 ms (and 2 ms of clock granularity) and 50 ms; 800 ms
    // now.
    assert_eq!(line.rto(), Duration::from_millis(800 + 4 * 400));
}

#[test]
fn a_hold_makes_the_reduction_final() {
    let mut line = timed_out(&eifel(RecoveryKind::NewReno));
    let release = driftway_base::Release::AnyAck;
    let cwnd = driftway_base::Assign::Value(988);
    line.acts(driftway_base::Act::Hold {
        probe: None,
        rewind_snd_nxt: true,
        freeze_timers: false,
        cwnd,
        release,
    });
    line.receives(ack(989).timestamps(6150, 100));
    assert_eq!((undo_count(&line), line.cwnd()), (0, 2 * 988));
    line.sends_some();
}

#[test]
fn after_a_hold_a_second_timeout_does_not_make_the_first_retransmission_look_original() {
    // RFC 3522 §3.2, steps 1 and 2: RetransmitTS is that of the first retransmission, 1100 ms.
    let mut line = timed_out(&eifel(RecoveryKind::NewReno));
    line.at(1200);
    let (cwnd, release) = (driftway_base::Assign::Keep, driftway_base::Release::Resume);
    let (probe, step_back) = (None, false);
    line.acts(driftway_base::Act::Hold {
        probe,
        rewind_snd_nxt: step_back,
        freeze_timers: true,
        cwnd,
        release,
    });
    line.at(6000);
    let (ssthresh, rto) = (driftway_base::Assign::Keep, driftway_base::Assign::Keep);
    line.acts(driftway_base::Act::Resume { cwnd, ssthresh, rto });
    line.at(7900);
    line.sends(["1..989"]);
    let ssthresh = line.ssthresh();
    line.at(7950);
    line.receives(ack(989).timestamps(12_950, 1100));
    assert_eq!((undo_count(&line), windows(&line)), (0, (2 * 988, ssthresh)));
    line.sends(["989..1977", "1977..2965"]);
}

#[test]
fn retransmit_ts_is_that_of_the_segment_at_snd_una() {
    // RFC 3522 §3.2, step 2. The recovery of 24 starts with 22 at SND.UNA, which was retransmitted
    // at 336 ms in the recovery before: an acknowledgment of that is not for an original.
    let recovery = RecoveryKind::RackTlp;
    let config = Config { recovery, sack: true, mss: 1012, ..eifel(recovery) };
    let answer = syn_ack().options(|o| o.mss = Some(1012));
    let mut line = TestConnection::established_by(&config, answer);
    let window = driftway_base::Assign::Value(20_000);
    let rto = driftway_base::Assign::Keep;
    line.acts(driftway_base::Act::Resume { cwnd: window, ssthresh: window, rto });
    for n in 0..20 {
        line.at(RTT + n);
        line.writes(1000);
        line.sends([format!("{}..{}", n * 1000 + 1, (n + 1) * 1000 + 1).as_str()]);
    }
    let told = |number, blocks, echo| Some(ack(number).sack(blocks).timestamps(6000, echo));
    // Time, arriving segment, retransmissions, and number of new segments sent then.
    let steps: [(u64, Option<Peer>, &[&str], u64); 10] = [
        (225, told(1, &[(1001, 4001)], 102), &["1..1001"], 0), // lost
        (226, told(1, &[(1001, 20_001)], 119), &[], 1),
        (235, None, &[], 1), // 22, lost
        (236, None, &[], 1),
        (326, told(1, &[(1001, 21_001)], 119), &["1..1001"], 0),
        (327, None, &[], 3), // 24, lost, 25 and 26
        (336, told(1, &[(22_001, 23_001), (1001, 21_001)], 119), &["21001..22001"], 0),
        (426, told(21_001, &[(22_001, 23_001)], 326), &[], 0),
        (428, told(21_001, &[(24_001, 26_001), (22_001, 23_001)], 326), &["23001..24001"], 0),
        (436, told(23_001, &[(24_001, 26_001)], 336), &[], 0),
    ];
    for (ms, peer, again, new) in steps {
        line.at(ms);
        if let Some(peer) = peer {
            line.receives(peer);
        }
        assert_eq!(line.sends_some(), again, "{ms}");
        line.writes(new * 1000);
        assert_eq!(line.sends_some().len() as u64, new, "{ms}");
    }
    let stats = line.tcp.stats();
    assert_eq!((stats.fast_retransmits, stats.retransmissions, stats.responses_undone), (2, 4, 0));
}
