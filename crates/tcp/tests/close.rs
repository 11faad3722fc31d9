//! Connection close: RFC 9293 §3.6, with its figures, by either end and simultaneously.

mod common;

use common::test_connection::*;
use driftway_tcp::{Config, Event, RecoveryKind, State};

fn fin_wait_1() -> TestConnection {
    let mut line = TestConnection::established(&plain());
    line.closes();
    line.sends(["1..1 FIN"]);
    line.is(State::FinWait1);
    line
}

fn fin_wait_2() -> TestConnection {
    let mut line = fin_wait_1();
    line.receives(ack(2));
    line.quiet();
    line.is(State::FinWait2);
    line
}

fn close_wait() -> TestConnection {
    let mut line = TestConnection::established(&plain());
    line.receives(ack(1).fin());
    line.sends(["ack 2"]);
    line.is(State::CloseWait);
    assert_eq!(line.events, [Event::PeerClosed]);
    line
}

fn last_ack() -> TestConnection {
    let mut line = close_wait();
    line.closes();
    line.sends(["1..1 FIN"]);
    line.is(State::LastAck);
    line
}

fn time_wait() -> TestConnection {
    let mut line = fin_wait_2();
    line.receives(ack(2).fin());
    line.sends(["ack 2"]);
    line.is(State::TimeWait);
    line
}

#[test]
fn the_active_closer_waits_two_msl() {
    // RFC 9293 §3.6, figure 12; MSL is 30 s here.
    let mut line = time_wait();
    line.quiet_until(60_099);
    line.is(State::TimeWait);
    line.quiet_until(60_100);
    line.is(State::Closed);
    assert_eq!(line.events, [Event::PeerClosed, Event::Closed]);
    assert_eq!(line.tcp.next_timeout(), None);
}

#[test]
fn a_retransmitted_fin_restarts_time_wait() {
    // RFC 9293 §3.10.7.4, eighth check: our last acknowledgment was lost.
    let mut line = time_wait();
    line.at(30_000);
    line.receives(ack(2).fin());
    line.sends(["ack 2"]);
    line.quiet_until(89_999);
    line.is(State::TimeWait);
    line.quiet_until(90_000);
    line.is(State::Closed);
}

#[test]
fn the_passive_closer_ends_when_its_fin_is_acknowledged() {
    let mut line = last_ack();
    line.receives(ack(2).seq(2));
    line.quiet();
    line.is(State::Closed);
    assert_eq!(line.events, [Event::PeerClosed, Event::Closed]);
}

#[test]
fn simultaneous_close() {
    // RFC 9293 §3.6, figure 13.
    let mut line = fin_wait_1();
    line.receives(ack(1).fin());
    line.sends(["ack 2"]);
    line.is(State::Closing);
    line.receives(ack(2).seq(2));
    line.quiet();
    line.is(State::TimeWait);
}

#[test]
fn a_fin_that_acknowledges_ours_skips_fin_wait_2() {
    let mut line = fin_wait_1();
    line.receives(ack(2).fin());
    line.sends(["ack 2"]);
    line.is(State::TimeWait);
}

#[test]
fn the_fin_is_retransmitted_in_each_state_that_waits_for_its_acknowledgment() {
    let closing = || {
        let mut line = fin_wait_1();
        line.receives(ack(1).fin());
        line.sends(["ack 2"]);
        line
    };
    for mut line in [fin_wait_1(), last_ack(), closing()] {
        let state = line.tcp.state();
        line.at(1100);
        line.sends(["1..1 FIN"]);
        line.at(3100);
        line.sends(["1..1 FIN"]);
        line.is(state);
    }
}

#[test]
fn an_unanswered_fin_ends_the_connection() {
    let mut line = TestConnection::established(&Config { max_retries: 1, ..plain() });
    line.closes();
    line.sends(["1..1 FIN"]);
    line.at(1100);
    line.sends(["1..1 FIN"]);
    line.quiet_until(3100);
    line.is(State::Closed);
    assert_eq!(line.events, [Event::TimedOut]);
}

#[test]
fn half_closed_it_still_receives_data() {
    let mut line = fin_wait_1();
    line.receives(data(1, 100));
    line.sends(["ack 101"]);
    line.receives(ack(2).seq(101));
    line.is(State::FinWait2);
    line.receives(data(101, 100).acking(2));
    line.sends(["ack 201"]);
    line.receives(data(201, 50).acking(2).fin());
    line.sends(["ack 252"]);
    line.is(State::TimeWait);
    assert_eq!(line.tcp.write(1), 0);
}

#[test]
fn half_closed_by_the_peer_it_still_sends_data() {
    let mut line = close_wait();
    line.writes(1000);
    line.sends(["1..1001"]);
    line.receives(ack(1001).seq(2));
    line.closes();
    line.sends(["1001..1001 FIN"]);
    line.receives(ack(1002).seq(2));
    line.is(State::Closed);
}

#[test]
fn the_fin_is_sent_and_retransmitted_with_the_last_data() {
    let mut line = TestConnection::established(&Config { initial_window: 2, ..plain() });
    line.writes(2500);
    line.sends(["1..1001", "1001..2001"]);
    line.closes();
    line.quiet();
    line.is(State::FinWait1);
    line.receives(ack(2001));
    line.sends(["2001..2501 FIN"]);
    line.at(1100);
    line.sends(["2001..2501 FIN"]);
    line.receives(ack(2501)); // all but the FIN
    line.at(3100);
    line.sends(["2501..2501 FIN"]);
    line.is(State::FinWait1);
    line.receives(ack(2502));
    line.is(State::FinWait2);
    assert_eq!(line.tcp.acknowledged_bytes(), 2500);
}

#[test]
fn a_fin_waits_for_the_data_before_it() {
    let mut line = TestConnection::established(&plain());
    line.receives(data(101, 50).fin());
    line.sends(["ack 1"]);
    line.is(State::Established);
    assert!(!line.tcp.peer_closed());
    line.receives(data(1, 100));
    line.sends(["ack 152"]);
    line.is(State::CloseWait);
    assert!(line.tcp.peer_closed());
}

#[test]
fn data_beyond_the_fin_is_dropped() {
    // RFC 9293 §3.10.7.4, seventh check.
    let mut line = close_wait();
    line.receives(data(2, 100));
    line.quiet();
    let mut line = TestConnection::established(&plain());
    line.receives(ack(1).seq(101).fin());
    line.sends(["ack 1"]);
    line.receives(data(1, 500));
    line.sends(["ack 102"]);
    line.is(State::CloseWait);
    // A FIN below received data is invalid.
    let mut line = TestConnection::established(&plain());
    line.receives(data(101, 100));
    line.sends(["ack 1"]);
    line.receives(ack(1).seq(151).fin());
    line.quiet();
    line.receives(data(1, 100));
    line.sends(["ack 201"]);
    line.is(State::Established);
}

#[test]
fn a_fin_does_not_fit_into_a_closed_window() {
    // It occupies a sequence number, so it needs room in the window (RFC 9293 §3.8.6.1).
    let mut line = TestConnection::established_by(&plain(), syn_ack().window(1000));
    line.writes(1000);
    line.sends(["1..1001"]);
    line.closes();
    line.quiet();
    line.receives(ack(1001).window(0));
    line.at(1100);
    line.sends(["1001..1001 FIN"]);
    assert_eq!(line.tcp.stats().probes, 1);
    line.receives(ack(1001).window(0));
    line.quiet_until(3099);
    line.receives(ack(1001).window(10));
    line.sends(["1001..1001 FIN"]);
    line.receives(ack(1002));
    line.is(State::FinWait2);
}

#[test]
fn close_before_the_connection_is_open() {
    let mut line = TestConnection::syn_sent(&plain());
    line.closes();
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Closed]);
    // RFC 9293 §3.10.4: SYN-RECEIVED queues it.
    let mut line = TestConnection::syn_received(&plain());
    line.closes();
    line.is(State::SynReceived);
    line.receives(ack(1).seq(1));
    line.sends(["1..1 FIN"]);
    line.is(State::FinWait1);
}

#[test]
fn a_fin_behind_a_hole_is_sacked() {
    // RFC 2018 §3: blocks are of sequence numbers, and a FIN occupies one.
    let mut line = TestConnection::established(&Config { sack: true, ..plain() });
    line.receives(data(2001, 500).fin());
    line.sends(["ack 1 sack 2001..2502"]);
    // A retransmission moves its block to the front again.
    line.receives(data(1001, 100));
    line.sends(["ack 1 sack 1001..1101 sack 2001..2502"]);
    line.receives(data(2501, 0).fin());
    line.sends(["ack 1 sack 2001..2502 sack 1001..1101"]);
    line.receives(data(1, 2000));
    line.sends(["ack 2502"]);
    line.is(State::CloseWait);
    // Without data.
    let mut line = TestConnection::established(&Config { sack: true, ..plain() });
    line.receives(data(1001, 0).fin());
    line.sends(["ack 1 sack 1001..1002"]);
    line.receives(data(1, 1000));
    line.sends(["ack 1002"]);
    line.is(State::CloseWait);
}

#[test]
fn a_sacked_fin_is_not_retransmitted() {
    let config = Config { sack: true, dsack: true, ..plain() };
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let mut line = TestConnection::in_flight(&Config { recovery, ..config }, 4);
        line.closes();
        line.sends(["4001..4001 FIN"]);
        line.at(200);
        line.receives(ack(1).sack(&[(1001, 4002)]));
        let sent = line.sends_some();
        assert!(!sent.is_empty() && sent.iter().all(|segment| segment == "1..1001"), "{sent:?}");
        line.at(300);
        line.receives(ack(4002));
        line.quiet();
        line.is(State::FinWait2);
    }
}

#[test]
fn a_duplicate_fin_is_not_duplicate_data() {
    // Of two retransmitted bytes the peer had received one, and the FIN: the other byte was lost.
    let config =
        Config { sack: true, dsack: true, recovery: RecoveryKind::Sack, nagle: false, ..plain() };
    let mut line = TestConnection::established(&config);
    for _ in 0..2 {
        line.writes(1);
        line.sends_some();
    }
    line.closes();
    line.sends_some();
    line.at(1100);
    line.sends(["1..3 FIN"]);
    let cwnd = line.cwnd();
    line.at(1200);
    line.receives(ack(2));
    line.sends_some();
    line.receives(ack(4).sack(&[(2, 4)]));
    assert_eq!(line.tcp.stats().responses_undone, 0);
    assert!(line.cwnd() <= cwnd + 2000);
}
