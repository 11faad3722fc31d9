//! Nagle's algorithm: RFC 9293 §3.7.4.

use crate::common::test_connection::*;
use driftway_tcp::Config;

#[test]
fn a_small_segment_waits_for_the_acknowledgment() {
    let mut conn = TestConnection::established(&plain());
    conn.writes(10);
    conn.sends(["1..11"]);
    conn.writes(20);
    conn.quiet();
    conn.writes(30);
    conn.receives(ack(11));
    conn.sends(["11..61"]);
}

#[test]
fn full_segments_do_not_wait() {
    let mut conn = TestConnection::established(&plain());
    conn.writes(10);
    conn.sends(["1..11"]);
    conn.writes(1999);
    conn.sends(["11..1011"]);
    conn.writes(1);
    conn.sends(["1011..2011"]);
}

#[test]
fn the_last_segment_before_a_fin_does_not_wait() {
    let mut conn = TestConnection::established(&plain());
    conn.writes(10);
    conn.sends(["1..11"]);
    conn.writes(5);
    conn.closes();
    conn.sends(["11..16 FIN"]);
}

#[test]
fn without_it_every_segment_is_sent_at_once() {
    let mut conn = TestConnection::established(&Config { nagle: false, ..plain() });
    conn.writes(10);
    conn.sends(["1..11"]);
    conn.writes(20);
    conn.sends(["11..31"]);
}
