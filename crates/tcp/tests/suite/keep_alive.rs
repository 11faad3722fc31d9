//! Keep-alives: RFC 9293 §3.8.4.

use crate::common::test_connection::*;
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
    let mut conn = TestConnection::established(&watched());
    conn.at(10_100);
    conn.sends(["ack 1"]);
    let segment = conn.last[0].segment;
    assert_eq!((segment.seq, segment.window), (OURS, 65_535));
    conn.receives(ack(1));
    conn.quiet_until(20_099);
    conn.at(20_100);
    conn.sends(["ack 1"]);
}

#[test]
fn any_arrival_restarts_the_timer() {
    let mut conn = TestConnection::established(&watched());
    conn.at(6000);
    conn.receives(data(1, 10));
    conn.sends(["ack 11"]);
    conn.quiet_until(15_999);
    conn.at(16_000);
    conn.sends(["ack 11"]);
    conn.receives(ack(1).seq(10)); // the peer's own keep-alive
    conn.sends(["ack 11"]);
    conn.quiet_until(25_999);
}

#[test]
fn an_unresponsive_peer_ends_the_connection() {
    let mut conn = TestConnection::established(&watched());
    for ms in [10_100, 20_100] {
        conn.at(ms);
        conn.sends(["ack 1"]);
    }
    conn.at(30_100);
    conn.sends(["RST 1"]);
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::TimedOut]);
}

#[test]
fn none_while_data_is_outstanding() {
    // MUST-24: the retransmission timer watches the peer then.
    let mut conn = TestConnection::established(&Config { max_retries: 15, ..watched() });
    conn.at(9000);
    conn.writes(10);
    conn.sends(["1..11"]);
    for ms in [10_000, 12_000, 16_000, 24_000] {
        conn.at(ms);
        conn.sends(["1..11"]);
    }
    conn.receives(ack(11));
    conn.at(34_000);
    conn.sends_some();
}

#[test]
fn the_answer_to_a_keep_alive_changes_nothing_else() {
    let mut conn = TestConnection::established(&plain());
    conn.receives(data(1, 1));
    conn.sends(["ack 2"]);
    conn.receives(ack(1).seq(1));
    conn.sends(["ack 2"]);
    conn.writes(2000);
    conn.sends(["1..1001", "1001..2001"]);
}
