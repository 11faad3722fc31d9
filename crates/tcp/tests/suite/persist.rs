//! Zero windows and window probes: RFC 9293 §3.8.6.1.

use crate::common::test_connection::*;
use driftway_tcp::{Config, Event, RecoveryKind, State};

/// 1000 bytes acknowledged, 2000 waiting, a zero window; the time is 100 ms.
fn persisting(config: &Config) -> TestConnection {
    let mut conn = TestConnection::established_by(config, syn_ack().window(1000));
    conn.writes(3000);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001).window(0));
    conn.quiet();
    assert_eq!(conn.tcp.view().is_persisting.value(), Some(true));
    assert_eq!(conn.tcp.view().retransmission_deadline.value(), Some(None));
    conn
}

#[test]
fn the_interval_of_probes_doubles_up_to_the_maximum() {
    let mut conn =
        persisting(&Config { persist_max: driftway_base::Duration::from_secs(4), ..plain() });
    for ms in [1100, 3100, 7100, 11_100, 15_100] {
        conn.at(ms);
        conn.sends(["1001..1002"]);
        conn.receives(ack(1001).window(0));
    }
    assert_eq!(conn.tcp.stats().probes, 5);
    assert_eq!(conn.tcp.stats().timeouts, 0);
}

#[test]
fn answers_to_probes_are_not_duplicates() {
    let mut conn = persisting(&plain());
    let before = (conn.cwnd(), conn.ssthresh());
    for ms in [1100, 3100, 7100, 15_100, 31_100] {
        conn.at(ms);
        conn.sends(["1001..1002"]);
        conn.receives(ack(1001).window(0));
    }
    assert_eq!((conn.cwnd(), conn.ssthresh()), before);
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
}

#[test]
fn an_open_window_ends_the_persist_state() {
    let mut conn = persisting(&plain());
    conn.at(600);
    conn.receives(ack(1001).window(5000));
    conn.sends(["1001..2001", "2001..3001"]);
    assert_eq!(conn.tcp.view().is_persisting.value(), Some(false));
    conn.at(1600);
    conn.sends(["1001..2001"]); // the retransmission timer runs again
}

#[test]
fn a_lost_window_update_is_recovered_by_a_probe() {
    let mut conn = persisting(&plain());
    conn.at(1100);
    conn.sends(["1001..1002"]);
    conn.receives(ack(1002).window(4999)); // accepted: the window had opened before
    conn.sends(["1002..2002"]); // Nagle's algorithm delays the last 999
    conn.receives(ack(2002));
    conn.sends(["2002..3001"]);
}

#[test]
fn the_byte_of_an_unanswered_probe_is_sent_again_with_the_rest() {
    let mut conn = persisting(&plain());
    conn.at(1100);
    conn.sends(["1001..1002"]);
    conn.receives(ack(1001).window(5000));
    conn.sends(["1001..2001", "2001..3001"]);
}

#[test]
fn a_peer_that_answers_probes_is_never_aborted() {
    // RFC 9293 §3.8.6.1 (MUST-37); one that does not answer is, after R2.
    let mut conn = persisting(&Config { max_retries: 2, ..plain() });
    for ms in [1100, 3100, 7100, 15_100] {
        conn.at(ms);
        conn.sends(["1001..1002"]);
        conn.receives(ack(1001).window(0));
    }
    conn.at(31_100);
    conn.sends(["1001..1002"]);
    conn.at(63_100);
    conn.sends(["1001..1002"]);
    conn.quiet_until(123_099);
    conn.is(State::Established);
    conn.quiet_until(123_100);
    assert_eq!(conn.events, [Event::TimedOut]);
}

#[test]
fn a_silly_window_is_used_after_the_override_timeout() {
    // RFC 9293 §3.8.6.2.1, rule 4.
    let mut conn = TestConnection::established_by(&plain(), syn_ack().window(5000));
    conn.writes(6000);
    assert_eq!(conn.sends_some().len(), 5);
    conn.receives(ack(5001).window(300));
    conn.quiet_until(1099);
    conn.at(1100);
    conn.sends(["5001..5301"]);
    conn.receives(ack(5301).window(700)); // which fits all the rest
    conn.sends(["5301..6001"]);
}

#[test]
fn a_shrunk_window_leads_to_probes_instead_of_timeouts() {
    // RFC 9293 §3.8.6 (MUST-34): robust against shrinking; 4.4BSD restarts from SND.UNA.
    let mut conn = TestConnection::in_flight(&plain(), 5);
    let cwnd = conn.cwnd();
    conn.at(200);
    conn.receives(ack(2001).window(0));
    conn.quiet_until(1199);
    conn.at(1200);
    conn.sends(["2001..2002"]);
    conn.receives(ack(2001).window(0));
    conn.at(3200);
    conn.sends(["2001..2002"]);
    assert_eq!(conn.tcp.stats().timeouts, 0);
    conn.receives(ack(2001).window(60_000));
    conn.sends(["2001..3001", "3001..4001", "4001..5001"]);
    assert!(conn.cwnd() >= cwnd);
    // Duplicates of data sent twice start no recovery.
    for _ in 0..4 {
        conn.receives(ack(5001 - 1000));
    }
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
}

#[test]
fn a_silent_peer_with_a_closed_window_is_probed_under_every_recovery() {
    // RFC 9293 §3.8.6.1: even if a tail loss probe (RFC 8985 §7) or a reordering timer was pending.
    let kinds = [RecoveryKind::NewReno, RecoveryKind::Sack, RecoveryKind::RackTlp];
    for (recovery, blocks) in kinds.into_iter().flat_map(|k| [(k, &[][..]), (k, &[(2001, 3001)])]) {
        let sack = recovery != RecoveryKind::NewReno;
        let mut conn = TestConnection::in_flight(&Config { recovery, sack, ..plain() }, 4);
        conn.at(200);
        conn.receives(ack(1001).window(0).sack(if sack { blocks } else { &[] }));
        for ms in [1200, 3200, 7200, 15_200, 31_200] {
            conn.quiet_until(ms - 1);
            conn.at(ms);
            conn.sends(["1001..1002"]);
            // No timeouts either, which would have responses of their own.
            assert_eq!((conn.tcp.stats().timeouts, conn.tcp.stats().tail_probes), (0, 0));
        }
        conn.receives(ack(1001).window(60_000));
        assert_eq!(
            conn.sends_some().first().map(String::as_str),
            Some("1001..2001"),
            "{recovery:?}"
        );
    }
}

#[test]
fn in_flight_data_acknowledged_meanwhile_is_not_retransmitted() {
    let mut conn = TestConnection::in_flight(&plain(), 3);
    conn.receives(ack(1001).window(0));
    conn.receives(ack(3001).window(0));
    conn.quiet_until(100_000);
    assert_eq!(conn.tcp.stats().retransmissions, 0);
    conn.receives(ack(3001).window(9000));
    conn.quiet();
}

#[test]
fn acknowledgments_stay_within_a_closed_window() {
    // RFC 9293 §3.10.7.4: after a probe they would begin beyond it, and be dropped.
    let mut conn = persisting(&plain());
    for (ms, start, end) in [(1100, 1, "ack 11"), (3100, 11, "ack 21")] {
        conn.at(ms);
        conn.sends(["1001..1002"]);
        conn.receives(ack(1001).window(0).seq(start).carrying(10));
        conn.sends([end]);
        assert_eq!(conn.last[0].segment.seq, OURS + 1001);
    }
    // Once the window is open, they have SND.MAX as sequence number, even before retransmissions.
    conn.receives(ack(1001).window(2000).seq(21));
    conn.sends(["1001..2001", "2001..3001"]);
    conn.receives(ack(1001).window(2000).seq(21).carrying(10));
    conn.sends(["ack 31"]);
    assert_eq!(conn.last[0].segment.seq, OURS + 3001);
}

#[test]
fn a_reset_stays_within_a_closed_window() {
    // RFC 5961 §3.2: beyond it, the peer would not accept it.
    let mut conn = persisting(&plain());
    conn.at(1100);
    conn.sends(["1001..1002"]);
    conn.does(|tcp, _| tcp.abort());
    conn.sends(["RST 1001"]);
}
