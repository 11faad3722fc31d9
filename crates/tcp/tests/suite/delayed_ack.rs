//! Delayed acknowledgments: RFC 9293 §3.8.6.3, RFC 5681 §4.2.

use crate::common::test_connection::*;
use driftway_base::Duration;
use driftway_tcp::{Clock, Config, DelayedAck};

fn delayed(on_tick: bool) -> Config {
    let timeout = Duration::from_millis(200);
    Config { delayed_ack: Some(DelayedAck { timeout, on_tick }), ..plain() }
}

#[test]
fn one_segment_is_delayed_two_are_acknowledged_at_once() {
    let mut conn = TestConnection::established(&delayed(false));
    conn.receives(data(1, 1000));
    conn.quiet_until(299);
    conn.at(300);
    conn.sends(["ack 1001"]);
    conn.at(400);
    conn.receives(data(1001, 1000));
    conn.at(450);
    conn.receives(data(2001, 1000));
    conn.sends(["ack 3001"]);
    conn.quiet_until(2000);
}

#[test]
fn the_delay_counts_from_the_first_segment() {
    let mut conn = TestConnection::established(&delayed(false));
    conn.receives(data(1, 1000));
    conn.at(200);
    conn.receives(ack(1).seq(1001));
    conn.at(300);
    conn.sends(["ack 1001"]);
}

#[test]
fn bsds_fast_timer_ticks_every_200_ms() {
    // Ticks at 150, 350, 550 ms …
    let clock = Clock { phase: Duration::from_millis(50), ..Clock::default() };
    let mut conn = TestConnection::established(&Config { clock, ..delayed(true) });
    conn.at(340);
    conn.receives(data(1, 1000));
    conn.at(350);
    conn.sends(["ack 1001"]);
    conn.at(351);
    conn.receives(data(1001, 1000));
    conn.at(550);
    conn.sends(["ack 2001"]);
}

#[test]
fn data_carries_the_acknowledgment() {
    let mut conn = TestConnection::established(&delayed(false));
    conn.receives(data(1, 1000));
    conn.writes(10);
    conn.sends(["1..11"]);
    assert_eq!(conn.last[0].segment.ack, THEIRS + 1001);
    conn.receives(ack(11).seq(1001));
    conn.quiet_until(2000);
}

#[test]
fn out_of_order_hole_filling_and_duplicate_segments_are_acknowledged_at_once() {
    // RFC 5681 §4.2
    let mut conn = TestConnection::established(&delayed(false));
    conn.receives(data(1001, 1000));
    conn.sends(["ack 1"]);
    conn.receives(data(3001, 1000));
    conn.sends(["ack 1"]);
    conn.receives(data(1, 1000)); // fills a part of the hole
    conn.sends(["ack 2001"]);
    conn.receives(data(1, 1000)); // duplicate
    conn.sends(["ack 2001"]);
    conn.receives(data(2001, 1000));
    conn.sends(["ack 4001"]);
    conn.receives(data(3501, 1000)); // half duplicate
    conn.sends(["ack 4501"]);
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    let mut conn = TestConnection::established(&delayed(false));
    conn.receives(data(1, 10).fin());
    conn.sends(["ack 12"]);
}
