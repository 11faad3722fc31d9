//! Resets and blind attacks: RFC 9293 §3.10.7, RFC 5961.

use crate::common::test_connection::*;
use driftway_tcp::{Config, Event, State, reset_for};
use driftway_wire::TcpFlags;

#[test]
fn only_a_reset_at_rcv_nxt_resets() {
    // RFC 5961 §3.2
    let mut conn = TestConnection::established(&plain());
    conn.receives(rst(2)); // inside the window
    conn.sends(["ack 1"]);
    conn.receives(rst(70_000)); // outside
    conn.quiet();
    conn.is(State::Established);
    conn.receives(rst(1));
    conn.quiet();
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Reset]);
    assert_eq!(conn.tcp.next_timeout(), None);
}

#[test]
fn a_syn_on_a_synchronized_connection_is_challenged() {
    // RFC 5961 §4.2: both a retransmission and one inside the window.
    for number in [0, 1, 500, 3_000_000] {
        let mut conn = TestConnection::established(&plain());
        conn.receives(syn().seq(number));
        conn.sends(["ack 1"]);
        conn.is(State::Established);
    }
}

#[test]
fn challenges_are_limited_to_ten_per_second() {
    // RFC 5961 §7
    let mut conn = TestConnection::established(&plain());
    for _ in 0..10 {
        conn.receives(rst(2));
        conn.sends(["ack 1"]);
    }
    conn.receives(rst(2));
    conn.quiet();
    conn.at(1000);
    conn.receives(rst(2));
    conn.sends(["ack 1"]);
}

#[test]
fn acknowledgments_out_of_range_are_challenged() {
    // RFC 5961 §5.2; the largest window of the peer is 60,000.
    let mut conn = TestConnection::in_flight(&plain(), 2);
    conn.receives(ack(2002));
    conn.sends(["ack 1"]);
    conn.receives(data(1, 10).acking(2002));
    conn.sends(["ack 1"]); // and its data is dropped
    conn.receives(ack(1).acking(1_u32.wrapping_sub(60_001)));
    conn.sends(["ack 1"]);
    conn.receives(data(1, 10).acking(1_u32.wrapping_sub(60_000)));
    conn.sends(["ack 11"]);
}

/// Acknowledgments that are too old are not answered, as in ns-2.35; those of unsent data are.
#[test]
fn challenges_of_old_acknowledgments_can_be_disabled() {
    let mut conn = TestConnection::in_flight(&Config { challenge_old_acks: false, ..plain() }, 2);
    conn.receives(ack(1).acking(1_u32.wrapping_sub(60_001)));
    conn.quiet();
    conn.receives(ack(2002));
    conn.sends(["ack 1"]);
}

#[test]
fn a_segment_without_an_acknowledgment_is_dropped() {
    let mut conn = TestConnection::established(&plain());
    conn.receives(data(1, 10).flags(TcpFlags::PSH));
    conn.quiet();
    conn.receives(data(1, 10));
    conn.sends(["ack 11"]);
}

#[test]
fn connection_refused() {
    let mut conn = TestConnection::syn_sent(&plain());
    conn.receives(rst(0)); // acknowledges nothing: RFC 9293 §3.10.7.3
    conn.is(State::SynSent);
    conn.receives(ack(1).seq(0).flags(TcpFlags::RST.with(TcpFlags::ACK)));
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Reset]);
}

#[test]
fn a_reset_in_syn_received_returns_a_server_to_listen() {
    // RFC 9293 §3.10.7.4, second check; the user is not notified.
    let mut conn = TestConnection::syn_received(&plain());
    conn.writes(10);
    conn.receives(rst(1));
    conn.is(State::Listen);
    assert_eq!(conn.events, []);
    conn.receives(syn());
    conn.sends(["SYN-ACK 1"]);
    conn.receives(ack(1).seq(1));
    conn.sends(["1..11"]);
    // Unless the user has closed in the meantime.
    let mut conn = TestConnection::syn_received(&plain());
    conn.closes();
    conn.receives(rst(1));
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Closed]);
}

#[test]
fn a_reset_of_a_simultaneous_open_is_a_refusal() {
    let mut conn = TestConnection::syn_sent(&plain());
    conn.receives(syn());
    conn.sends(["SYN-ACK 1"]);
    conn.receives(rst(1));
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Reset]);
}

#[test]
fn abort_sends_a_reset_if_the_peer_knows_the_connection() {
    // RFC 9293 §3.10.5
    let mut conn = TestConnection::in_flight(&plain(), 2);
    conn.does(|tcp, _| tcp.abort());
    conn.sends(["RST 2001"]);
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::Closed]);
    conn.does(|tcp, _| tcp.abort());
    assert_eq!(conn.events.len(), 1);
    let mut conn = TestConnection::syn_sent(&plain());
    conn.does(|tcp, _| tcp.abort());
    conn.quiet();
    assert_eq!(conn.events, [Event::Closed]);
}

#[test]
fn after_a_timeout_the_reset_has_the_sequence_number_the_peer_expects() {
    let mut conn = TestConnection::in_flight(&plain(), 3);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.does(|tcp, _| tcp.abort());
    conn.sends(["RST 3001"]);
}

#[test]
fn a_closed_connection_answers_with_resets() {
    // RFC 9293 §3.10.7.1
    let mut conn = TestConnection::established(&plain());
    conn.receives(rst(1));
    conn.receives(data(1, 10).acking(33));
    conn.sends(["RST 33"]);
    conn.receives(rst(1));
    conn.quiet();
    let unknown = reset_for(&syn().segment).expect("a SYN is answered");
    assert_eq!(unknown.flags, TcpFlags::RST.with(TcpFlags::ACK));
    assert_eq!((unknown.ack, unknown.seq.0), (THEIRS + 1, 0));
    assert_eq!((unknown.source_port, unknown.destination_port), (4000, 80));
    assert_eq!(reset_for(&rst(1).segment), None);
}

#[test]
fn a_reset_with_only_the_last_acknowledgment_missing_is_a_close() {
    let closed_with = |unacknowledged: u64| {
        let mut conn = TestConnection::established(&plain());
        conn.receives(ack(1).fin());
        conn.sends(["ack 2"]);
        conn.writes(unacknowledged);
        conn.sends_some();
        conn.closes();
        conn.sends_some();
        conn.is(State::LastAck);
        conn.receives(rst(2));
        conn.is(State::Closed);
        conn.events.last().copied()
    };
    assert_eq!(closed_with(0), Some(Event::Closed));
    assert_eq!(closed_with(500), Some(Event::Reset));
}
