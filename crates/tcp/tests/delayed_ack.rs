//! Delayed acknowledgments: RFC 9293 §3.8.6.3, RFC 5681 §4.2.

mod common;

use common::test_connection::*;
use driftway_base::Duration;
use driftway_tcp::{Clock, Config, DelayedAck};

fn delayed(on_tick: bool) -> Config {
    let timeout = Duration::from_millis(200);
    Config { delayed_ack: Some(DelayedAck { timeout, on_tick }), ..plain() }
}

#[test]
fn one_segment_is_delayed_two_are_acknowledged_at_once() {
    let mut line = TestConnection::established(&delayed(false));
    line.receives(data(1, 1000));
    line.quiet_until(299);
    line.at(300);
    line.sends(["ack 1001"]);
    line.at(400);
    line.receives(data(1001, 1000));
    line.at(450);
    line.receives(data(2001, 1000));
    line.sends(["ack 3001"]);
    line.quiet_until(2000);
}

#[test]
fn the_delay_counts_from_the_first_segment() {
    let mut line = TestConnection::established(&delayed(false));
    line.receives(data(1, 1000));
    line.at(200);
    line.receives(ack(1).seq(1001));
    line.at(300);
    line.sends(["ack 1001"]);
}

#[test]
fn bsds_fast_timer_ticks_every_200_ms() {
    // Ticks at 150, 350, 550 ms …
    let clock = Clock { phase: Duration::from_millis(50), ..Clock::default() };
    let mut line = TestConnection::established(&Config { clock, ..delayed(true) });
    line.at(340);
    line.receives(data(1, 1000));
    line.at(350);
    line.sends(["ack 1001"]);
    line.at(351);
    line.receives(data(1001, 1000));
    line.at(550);
    line.sends(["ack 2001"]);
}

#[test]
fn data_carries_the_acknowledgment() {
    let mut line = TestConnection::established(&delayed(false));
    line.receives(data(1, 1000));
    line.writes(10);
    line.sends(["1..11"]);
    assert_eq!(line.last[0].segment.ack, THEIRS + 1001);
    line.receives(ack(11).seq(1001));
    line.quiet_until(2000);
}

#[test]
fn out_of_order_hole_filling_and_duplicate_segments_are_acknowledged_at_once() {
    // RFC 5681 §4.2
    let mut line = TestConnection::established(&delayed(false));
    line.receives(data(1001, 1000));
    line.sends(["ack 1"]);
    line.receives(data(3001, 1000));
    line.sends(["ack 1"]);
    line.receives(data(1, 1000)); // fills a part of the hole
    line.sends(["ack 2001"]);
    line.receives(data(1, 1000)); // duplicate
    line.sends(["ack 2001"]);
    line.receives(data(2001, 1000));
    line.sends(["ack 4001"]);
    line.receives(data(3501, 1000)); // half duplicate
    line.sends(["ack 4501"]);
}

#[test]
fn a_fin_is_acknowledged_at_once() {
    let mut line = TestConnection::established(&delayed(false));
    line.receives(data(1, 10).fin());
    line.sends(["ack 12"]);
}
