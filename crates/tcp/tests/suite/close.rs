//! Connection close: RFC 9293 §3.6, with its figures, by either end and simultaneously.

use crate::common::test_connection::*;
use driftway_tcp::{Config, Event, RecoveryKind, State};

fn fin_wait_1() -> TestConnection {
    let mut conn = TestConnection::established(&plain());
    conn.closes();
    conn.sends(["1..1 FIN"]);
    conn.is(State::FinWait1);
    conn
}

fn fin_wait_2() -> TestConnection {
    let mut conn = fin_wait_1();
    conn.receives(ack(2));
    conn.quiet();
    conn.is(State::FinWait2);
    conn
}

fn close_wait() -> TestConnection {
    let mut conn = TestConnection::established(&plain());
    conn.receives(ack(1).fin());
    conn.sends(["ack 2"]);
    conn.is(State::CloseWait);
    assert_eq!(conn.events, [Event::PeerClosed]);
    conn
}

fn last_ack() -> TestConnection {
    let mut conn = close_wait();
    conn.closes();
    conn.sends(["1..1 FIN"]);
    conn.is(State::LastAck);
    conn
}

fn time_wait() -> TestConnection {
    let mut conn = fin_wait_2();
    conn.receives(ack(2).fin());
    conn.sends(["ack 2"]);
    conn.is(State::TimeWait);
    conn
}

#[test]
fn the_active_closer_waits_two_msl() {
    // RFC 9293 §3.6, figure 12; MSL is 30 s here.
    let mut conn = time_wait();
    conn.quiet_until(60_099);
    conn.is(State::TimeWait);
    conn.quiet_until(60_100);
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::PeerClosed, Event::Closed]);
    assert_eq!(conn.tcp.next_timeout(), None);
}

#[test]
fn a_retransmitted_fin_restarts_time_wait() {
    // RFC 9293 §3.10.7.4, eighth check: our last acknowledgment was lost.
    let mut conn = time_wait();
    conn.at(30_000);
    conn.receives(ack(2).fin());
    conn.sends(["ack 2"]);
    conn.quiet_until(89_999);
    conn.is(State::TimeWait);
    conn.quiet_until(90_000);
    conn.is(State::Closed);
}

#[test]
fn the_passive_closer_ends_when_its_fin_is_acknowledged() {
    let mut conn = last_ack();
    conn.receives(ack(2).seq(2));
    conn.quiet();
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::PeerClosed, Event::Closed]);
}

#[test]
fn simultaneous_close() {
    // RFC 9293 §3.6, figure 13.
    let mut conn = fin_wait_1();
    conn.receives(ack(1).fin());
    conn.sends(["ack 2"]);
    conn.is(State::Closing);
    conn.receives(ack(2).seq(2));
    conn.quiet();
    conn.is(State::TimeWait);
}

#[test]
fn a_fin_that_acknowledges_ours_skips_fin_wait_2() {
    let mut conn = fin_wait_1();
    conn.receives(ack(2).fin());
    conn.sends(["ack 2"]);
    conn.is(State::TimeWait);
}

#[test]
fn the_fin_is_retransmitted_in_each_state_that_waits_for_its_acknowledgment() {
    let closing = || {
        let mut conn = fin_wait_1();
        conn.receives(ack(1).fin());
        conn.sends(["ack 2"]);
        conn
    };
    for mut conn in [fin_wait_1(), last_ack(), closing()] {
        let state = conn.tcp.state();
        conn.at(1100);
        conn.sends(["1..1 FIN"]);
        conn.at(3100);
        conn.sends(["1..1 FIN"]);
        conn.is(state);
    }
}

#[test]
fn an_unanswered_fin_ends_the_connection() {
    let mut conn = TestConnection::established(&Config { max_retries: 1, ..plain() });
    conn.closes();
    conn.sends(["1..1 FIN"]);
    conn.at(1100);
    conn.sends(["1..1 FIN"]);
    conn.quiet_until(3100);
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::TimedOut]);
}

#[test]
fn half_closed_it_still_receives_data() {
    let mut conn = fin_wait_1();
    conn.receives(data(1, 100));
    conn.sends(["ack 101"]);
    conn.receives(ack(2).seq(101));
    conn.is(State::FinWait2);
    conn.receives(data(101, 100).acking(2));
    conn.sends(["ack 201"]);
    conn.receives(data(201, 50).acking(2).fin());
    conn.sends(["ack 252"]);
    conn.is(State::TimeWait);
    assert_eq!(conn.tcp.write(1), 0);
}

#[test]
fn half_closed_by_the_peer_it_still_sends_data() {
    let mut conn = close_wait();
    conn.writes(1000);
    conn.sends(["1..1001"]);
    conn.receives(ack(1001).seq(2));
    conn.closes();
    conn.sends(["1001..1001 FIN"]);
    conn.receives(ack(1002).seq(2));
    conn.is(State::Closed);
}

#[test]
fn the_fin_is_sent_and_retransmitted_with_the_last_data() {
    let mut conn = TestConnection::established(&Config { initial_window: 2, ..plain() });
    conn.writes(2500);
    conn.sends(["1..1001", "1001..2001"]);
    conn.closes();
    conn.quiet();
    conn.is(State::FinWait1);
    conn.receives(ack(2001));
    conn.sends(["2001..2501 FIN"]);
    conn.at(1100);
    conn.sends(["2001..2501 FIN"]);
    conn.receives(ack(2501)); // all but the FIN
    conn.at(3100);
    conn.sends(["2501..2501 FIN"]);
    conn.is(State::FinWait1);
    conn.receives(ack(2502));
    conn.is(State::FinWait2);
    assert_eq!(conn.tcp.acknowledged_bytes(), 2500);
}

#[test]
fn a_fin_waits_for_the_data_before_it() {
    let mut conn = TestConnection::established(&plain());
    conn.receives(data(101, 50).fin());
    conn.sends(["ack 1"]);
    conn.is(State::Established);
    assert!(!conn.tcp.peer_closed());
    conn.receives(data(1, 100));
    conn.sends(["ack 152"]);
    conn.is(State::CloseWait);
    assert!(conn.tcp.peer_closed());
}

#[test]
fn data_beyond_the_fin_is_dropped() {
    // RFC 9293 §3.10.7.4, seventh check.
    let mut conn = close_wait();
    conn.receives(data(2, 100));
    conn.quiet();
    let mut conn = TestConnection::established(&plain());
    conn.receives(ack(1).seq(101).fin());
    conn.sends(["ack 1"]);
    conn.receives(data(1, 500));
    conn.sends(["ack 102"]);
    conn.is(State::CloseWait);
    // A FIN below received data is invalid.
    let mut conn = TestConnection::established(&plain());
    conn.receives(data(101, 100));
    conn.sends(["ack 1"]);
    conn.receives(ack(1).seq(151).fin());
    conn.quiet();
    conn.receives(data(1, 100));
    conn.sends(["ack 201"]);
    conn.is(State::Established);
}

#[test]
fn a_fin_does_not_fit_into_a_closed_window() {
    // It occupies a sequence number, so it needs room in the window (RFC 9293 §3.8.6.1).
    let mut conn = TestConnection::established_by(&plain(), syn_ack().window(1000));
    conn.writes(1000);
    conn.sends(["1..1001"]);
    conn.closes();
    conn.quiet();
    conn.receives(ack(1001).window(0));
    conn.at(1100);
    conn.sends(["1001..1001 FIN"]);
    assert_eq!(conn.tcp.stats().probes, 1);
    conn.receives(ack(1001).window(0));
    conn.quiet_until(3099);
    conn.receives(ack(1001).window(10));
    conn.sends(["1001..1001 FIN"]);
    conn.receives(ack(1002));
    conn.is(State::FinWait2);
}

#[test]
fn close_before_the_connection_is_open() {
    let mut conn = TestConnection::syn_sent(&plain());
    conn.closes();
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Closed]);
    // RFC 9293 §3.10.4: SYN-RECEIVED queues it.
    let mut conn = TestConnection::syn_received(&plain());
    conn.closes();
    conn.is(State::SynReceived);
    conn.receives(ack(1).seq(1));
    conn.sends(["1..1 FIN"]);
    conn.is(State::FinWait1);
}

#[test]
fn a_fin_behind_a_hole_is_sacked() {
    // RFC 2018 §3: blocks are of sequence numbers, and a FIN occupies one.
    let mut conn = TestConnection::established(&Config { sack: true, ..plain() });
    conn.receives(data(2001, 500).fin());
    conn.sends(["ack 1 sack 2001..2502"]);
    // A retransmission moves its block to the front again.
    conn.receives(data(1001, 100));
    conn.sends(["ack 1 sack 1001..1101 sack 2001..2502"]);
    conn.receives(data(2501, 0).fin());
    conn.sends(["ack 1 sack 2001..2502 sack 1001..1101"]);
    conn.receives(data(1, 2000));
    conn.sends(["ack 2502"]);
    conn.is(State::CloseWait);
    // Without data.
    let mut conn = TestConnection::established(&Config { sack: true, ..plain() });
    conn.receives(data(1001, 0).fin());
    conn.sends(["ack 1 sack 1001..1002"]);
    conn.receives(data(1, 1000));
    conn.sends(["ack 1002"]);
    conn.is(State::CloseWait);
}

#[test]
fn a_sacked_fin_is_not_retransmitted() {
    let config = Config { sack: true, dsack: true, ..plain() };
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let mut conn = TestConnection::in_flight(&Config { recovery, ..config }, 4);
        conn.closes();
        conn.sends(["4001..4001 FIN"]);
        conn.at(200);
        conn.receives(ack(1).sack(&[(1001, 4002)]));
        let sent = conn.sends_some();
        assert!(!sent.is_empty() && sent.iter().all(|segment| segment == "1..1001"), "{sent:?}");
        conn.at(300);
        conn.receives(ack(4002));
        conn.quiet();
        conn.is(State::FinWait2);
    }
}

#[test]
fn a_duplicate_fin_is_not_duplicate_data() {
    // Of two retransmitted bytes the peer had received one, and the FIN: the other byte was lost.
    let config =
        Config { sack: true, dsack: true, recovery: RecoveryKind::Sack, nagle: false, ..plain() };
    let mut conn = TestConnection::established(&config);
    for _ in 0..2 {
        conn.writes(1);
        conn.sends_some();
    }
    conn.closes();
    conn.sends_some();
    conn.at(1100);
    conn.sends(["1..3 FIN"]);
    let cwnd = conn.cwnd();
    conn.at(1200);
    conn.receives(ack(2));
    conn.sends_some();
    conn.receives(ack(4).sack(&[(2, 4)]));
    assert_eq!(conn.tcp.stats().responses_undone, 0);
    assert!(conn.cwnd() <= cwnd + 2000);
}
