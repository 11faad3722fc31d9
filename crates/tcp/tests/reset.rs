//! Resets and blind attacks: RFC 9293 §3.10.7, RFC 5961.

mod common;

use common::test_connection::*;
use driftway_tcp::{Config, Event, State, reset_for};
use driftway_wire::TcpFlags;

#[test]
fn only_a_reset_at_rcv_nxt_resets() {
    // RFC 5961 §3.2
    let mut line = TestConnection::established(&plain());
    line.receives(rst(2)); // inside the window
    line.sends(["ack 1"]);
    line.receives(rst(70_000)); // outside
    line.quiet();
    line.is(State::Established);
    line.receives(rst(1));
    line.quiet();
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Reset]);
    assert_eq!(line.tcp.next_timeout(), None);
}

#[test]
fn a_syn_on_a_synchronized_connection_is_challenged() {
    // RFC 5961 §4.2: both a retransmission and one inside the window.
    for number in [0, 1, 500, 3_000_000] {
        let mut line = TestConnection::established(&plain());
        line.receives(syn().seq(number));
        line.sends(["ack 1"]);
        line.is(State::Established);
    }
}

#[test]
fn challenges_are_limited_to_ten_per_second() {
    // RFC 5961 §7
    let mut line = TestConnection::established(&plain());
    for _ in 0..10 {
        line.receives(rst(2));
        line.sends(["ack 1"]);
    }
    line.receives(rst(2));
    line.quiet();
    line.at(1000);
    line.receives(rst(2));
    line.sends(["ack 1"]);
}

#[test]
fn acknowledgments_out_of_range_are_challenged() {
    // RFC 5961 §5.2; the largest window of the peer is 60,000.
    let mut line = TestConnection::in_flight(&plain(), 2);
    line.receives(ack(2002));
    line.sends(["ack 1"]);
    line.receives(data(1, 10).acking(2002));
    line.sends(["ack 1"]); // and its data is dropped
    line.receives(ack(1).acking(1_u32.wrapping_sub(60_001)));
    line.sends(["ack 1"]);
    line.receives(data(1, 10).acking(1_u32.wrapping_sub(60_000)));
    line.sends(["ack 11"]);
}

/// As in ns-2.35: acknowledgments that are too old are not answered; those of unsent data are.
#[test]
fn challenges_of_old_acknowledgments_can_be_disabled() {
    let mut line = TestConnection::in_flight(&Config { challenge_old_acks: false, ..plain() }, 2);
    line.receives(ack(1).acking(1_u32.wrapping_sub(60_001)));
    line.quiet();
    line.receives(ack(2002));
    line.sends(["ack 1"]);
}

#[test]
fn a_segment_without_an_acknowledgment_is_dropped() {
    let mut line = TestConnection::established(&plain());
    line.receives(data(1, 10).flags(TcpFlags::PSH));
    line.quiet();
    line.receives(data(1, 10));
    line.sends(["ack 11"]);
}

#[test]
fn connection_refused() {
    let mut line = TestConnection::syn_sent(&plain());
    line.receives(rst(0)); // acknowledges nothing: RFC 9293 §3.10.7.3
    line.is(State::SynSent);
    line.receives(ack(1).seq(0).flags(TcpFlags::RST.with(TcpFlags::ACK)));
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Reset]);
}

#[test]
fn a_reset_in_syn_received_returns_a_server_to_listen() {
    // RFC 9293 §3.10.7.4, second check; the user is not notified.
    let mut line = TestConnection::syn_received(&plain());
    line.writes(10);
    line.receives(rst(1));
    line.is(State::Listen);
    assert_eq!(line.events, []);
    line.receives(syn());
    line.sends(["SYN-ACK 1"]);
    line.receives(ack(1).seq(1));
    line.sends(["1..11"]);
    // Unless the user has closed in the meantime.
    let mut line = TestConnection::syn_received(&plain());
    line.closes();
    line.receives(rst(1));
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Closed]);
}

#[test]
fn a_reset_of_a_simultaneous_open_is_a_refusal() {
    let mut line = TestConnection::syn_sent(&plain());
    line.receives(syn());
    line.sends(["SYN-ACK 1"]);
    line.receives(rst(1));
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Reset]);
}

#[test]
fn abort_sends_a_reset_if_the_peer_knows_the_connection() {
    // RFC 9293 §3.10.5
    let mut line = TestConnection::in_flight(&plain(), 2);
    line.does(|tcp, _| tcp.abort());
    line.sends(["RST 2001"]);
    line.is(State::Closed);
    assert_eq!(line.events, [Event::Closed]);
    line.does(|tcp, _| tcp.abort());
    assert_eq!(line.events.len(), 1);
    let mut line = TestConnection::syn_sent(&plain());
    line.does(|tcp, _| tcp.abort());
    line.quiet();
    assert_eq!(line.events, [Event::Closed]);
}

#[test]
fn after_a_timeout_the_reset_has_the_sequence_number_the_peer_expects() {
    let mut line = TestConnection::in_flight(&plain(), 3);
    line.at(1100);
    line.sends(["1..1001"]);
    line.does(|tcp, _| tcp.abort());
    line.sends(["RST 3001"]);
}

#[test]
fn a_closed_connection_answers_with_resets() {
    // RFC 9293 §3.10.7.1
    let mut line = TestConnection::established(&plain());
    line.receives(rst(1));
    line.receives(data(1, 10).acking(33));
    line.sends(["RST 33"]);
    line.receives(rst(1));
    line.quiet();
    let unknown = reset_for(&syn().segment).expect("a SYN is answered");
    assert_eq!(unknown.flags, TcpFlags::RST.with(TcpFlags::ACK));
    assert_eq!((unknown.ack, unknown.seq.0), (THEIRS + 1, 0));
    assert_eq!((unknown.source_port, unknown.destination_port), (4000, 80));
    assert_eq!(reset_for(&rst(1).segment), None);
}

#[test]
fn a_reset_with_only_the_last_acknowledgment_missing_is_a_close() {
    let closed_with = |unacknowledged: u64| {
        let mut line = TestConnection::established(&plain());
        line.receives(ack(1).fin());
        line.sends(["ack 2"]);
        line.writes(unacknowledged);
        line.sends_some();
        line.closes();
        line.sends_some();
        line.is(State::LastAck);
        line.receives(rst(2));
        line.is(State::Closed);
        line.events.last().copied()
    };
    assert_eq!(closed_with(0), Some(Event::Closed));
    assert_eq!(closed_with(500), Some(Event::Reset));
}
