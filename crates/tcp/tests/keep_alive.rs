//! Keep-alives: RFC 9293 §3.8.4.

mod common;

use common::test_connection::*;
use driftway_base::Duration;
use driftway_tcp::{Config, Event, State};

fn watched() -> Config {
    Config { keep_alive: Some(Duration::from_secs(10)), max_retries: 2, ..plain() }
}

#[test]
fn off_by_default() {
    // MUST-25
    TestConnection::established(&plain()).quiet_until(100_000_000);
}

#[test]
fn a_keep_alive_has_the_sequence_number_below_snd_nxt() {
    let mut line = TestConnection::established(&watched());
    line.at(10_100);
    line.sends(["ack 1"]);
    let segment = line.last[0].segment;
    assert_eq!((segment.seq, segment.window), (OURS, 65_535));
    line.receives(ack(1));
    line.quiet_until(20_099);
    line.at(20_100);
    line.sends(["ack 1"]);
}

#[test]
fn any_arrival_restarts_the_timer() {
    let mut line = TestConnection::established(&watched());
    line.at(6000);
    line.receives(data(1, 10));
    line.sends(["ack 11"]);
    line.quiet_until(15_999);
    line.at(16_000);
    line.sends(["ack 11"]);
    line.receives(ack(1).seq(10)); // the peer's own keep-alive
    line.sends(["ack 11"]);
    line.quiet_until(25_999);
}

#[test]
fn an_unresponsive_peer_ends_the_connection() {
    let mut line = TestConnection::established(&watched());
    for ms in [10_100, 20_100] {
        line.at(ms);
        line.sends(["ack 1"]);
    }
    line.at(30_100);
    line.sends(["RST 1"]);
    line.is(State::Closed);
    assert_eq!(line.events, [Event::TimedOut]);
}

#[test]
fn none_while_data_is_outstanding() {
    // MUST-24: the retransmission timer watches the peer then.
    let mut line = TestConnection::established(&Config { max_retries: 15, ..watched() });
    line.at(9000);
    line.writes(10);
    line.sends(["1..11"]);
    for ms in [10_000, 12_000, 16_000, 24_000] {
        line.at(ms);
        line.sends(["1..11"]);
    }
    line.receives(ack(11));
    line.at(34_000);
    line.sends_some();
}

#[test]
fn the_answer_to_a_keep_alive_changes_nothing_else() {
    let mut line = TestConnection::established(&plain());
    line.receives(data(1, 1));
    line.sends(["ack 2"]);
    line.receives(ack(1).seq(1));
    line.sends(["ack 2"]);
    line.writes(2000);
    line.sends(["1..1001", "1001..2001"]);
}
