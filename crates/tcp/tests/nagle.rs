//! Nagle's algorithm: RFC 9293 §3.7.4.

mod common;

use common::test_connection::*;
use driftway_tcp::Config;

#[test]
fn a_small_segment_waits_for_the_acknowledgment() {
    let mut line = TestConnection::established(&plain());
    line.writes(10);
    line.sends(["1..11"]);
    line.writes(20);
    line.quiet();
    line.writes(30);
    line.receives(ack(11));
    line.sends(["11..61"]);
}

#[test]
fn full_segments_do_not_wait() {
    let mut line = TestConnection::established(&plain());
    line.writes(10);
    line.sends(["1..11"]);
    line.writes(1999);
    line.sends(["11..1011"]);
    line.writes(1);
    line.sends(["1011..2011"]);
}

#[test]
fn the_last_segment_before_a_fin_does_not_wait() {
    let mut line = TestConnection::established(&plain());
    line.writes(10);
    line.sends(["1..11"]);
    line.writes(5);
    line.closes();
    line.sends(["11..16 FIN"]);
}

#[test]
fn without_it_every_segment_is_sent_at_once() {
    let mut line = TestConnection::established(&Config { nagle: false, ..plain() });
    line.writes(10);
    line.sends(["1..11"]);
    line.writes(20);
    line.sends(["11..31"]);
}
