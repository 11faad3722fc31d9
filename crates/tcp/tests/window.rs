//! Receive and send windows: RFC 9293 §3.8.6, RFC 7323 §2.

mod common;

use common::test_connection::*;
use driftway_tcp::{Config, State};

fn with_buffer(bytes: u32) -> Config {
    Config { receive_buffer: bytes, ..plain() }
}

#[test]
fn the_window_closes_with_unread_data_and_opens_with_reads() {
    let mut line = TestConnection::established(&with_buffer(4000));
    line.keep_unread();
    assert_eq!(line.announced(), 4000);
    for (start, left) in [(1, 3000), (1001, 2000), (2001, 1000), (3001, 0)] {
        line.receives(data(start, 1000));
        line.sends([format!("ack {}", start + 1000).as_str()]);
        assert_eq!(line.announced(), left);
    }
    // RFC 9293 §3.8.6.2.2: no update for less than two segments or half of the buffer.
    line.does(|tcp, _| tcp.read(1999));
    line.quiet();
    line.does(|tcp, _| tcp.read(1));
    line.sends(["ack 4001"]);
    assert_eq!(line.announced(), 2000);
}

#[test]
fn an_acknowledgment_never_advertises_a_silly_window() {
    // RFC 9293 §3.8.6.2.2: from zero it opens by at least a segment or half of the buffer.
    let mut line = TestConnection::established(&with_buffer(4000));
    line.keep_unread();
    for start in [1, 1001, 2001, 3001] {
        line.receives(data(start, 1000));
        line.sends_some();
    }
    line.does(|tcp, _| tcp.read(999));
    line.receives(data(4001, 1)); // a probe
    line.sends(["ack 4001"]);
    assert_eq!(line.announced(), 0);
    line.does(|tcp, _| tcp.read(1));
    line.receives(data(4001, 1));
    line.sends(["ack 4001"]);
    assert_eq!(line.announced(), 1000);
    line.receives(data(4001, 1));
    line.sends(["ack 4002"]);
}

#[test]
fn data_beyond_the_window_is_cut_off() {
    let mut line = TestConnection::established(&with_buffer(1500));
    line.keep_unread();
    line.receives(data(1, 1000));
    line.sends(["ack 1001"]);
    line.receives(data(1001, 1000));
    line.sends(["ack 1501"]);
    assert_eq!((line.announced(), line.tcp.readable_bytes()), (0, 1500));
    line.receives(data(1501, 1000));
    line.sends(["ack 1501"]);
    assert_eq!(line.tcp.readable_bytes(), 1500);
}

#[test]
fn acceptability() {
    // RFC 9293 §3.10.7.4, table 6; the window is 1 to 4001 here.
    let answer = |peer: Peer| {
        let mut line = TestConnection::established(&with_buffer(4000));
        line.receives(peer);
        line.sends_some().concat()
    };
    assert_eq!(answer(ack(1)), "", "no data, at the left edge");
    assert_eq!(answer(ack(1).seq(4000)), "", "no data, last number");
    // If data of ours fills the peer's window and has a hole, this is its SND.NXT.
    assert_eq!(answer(ack(1).seq(4001)), "", "no data, at the right edge");
    assert_eq!(answer(ack(1).seq(4002)), "ack 1", "no data, beyond");
    assert_eq!(answer(ack(1).seq(0)), "ack 1", "no data, before");
    assert_eq!(answer(data(4001, 10)), "ack 1", "data beyond");
    assert_eq!(answer(data(4000, 10)), "ack 1", "data that begins inside");
    assert_eq!(answer(data(0, 2)), "ack 2", "data that ends inside");
}

#[test]
fn with_a_zero_window_acknowledgments_are_still_valid() {
    // RFC 9293 §3.10.7.4: special allowance.
    let mut line = TestConnection::established(&with_buffer(1000));
    line.keep_unread();
    line.receives(data(1, 1000));
    line.sends(["ack 1001"]);
    line.writes(2000);
    line.sends(["1..1001", "1001..2001"]);
    line.receives(data(1001, 1).acking(1001));
    line.sends(["ack 1001"]);
    assert_eq!(line.tcp.acknowledged_bytes(), 1000);
    line.receives(ack(2001).seq(1001));
    assert_eq!(line.tcp.acknowledged_bytes(), 2000);
    line.receives(rst(1001)); // and so are resets
    line.is(State::Closed);
}

#[test]
fn the_peers_window_limits_sending() {
    let mut line = TestConnection::established_by(&plain(), syn_ack().window(2500));
    line.writes(10_000);
    line.sends(["1..1001", "1001..2001"]);
    // Silly window avoidance (RFC 9293 §3.8.6.2.1): 500 of a usable 2500 are not sent.
    line.receives(ack(1001).window(2500));
    line.sends(["2001..3001"]);
    line.receives(ack(2001).window(1000));
    line.quiet();
}

#[test]
fn half_of_the_largest_window_is_sent() {
    // RFC 9293 §3.8.6.2.1, rule 3.
    let mut line = TestConnection::established_by(&plain(), syn_ack().window(800));
    line.writes(10_000);
    line.sends(["1..801"]);
    line.receives(ack(801).window(399));
    line.quiet();
    line.receives(ack(801).window(400));
    line.sends(["801..1201"]);
}

#[test]
fn an_old_window_is_ignored() {
    // RFC 9293 §3.10.7.4: WL1 and WL2.
    let mut line = TestConnection::in_flight(&plain(), 4);
    line.receives(ack(3001).window(5000));
    line.receives(ack(2001).window(100)); // overtaken
    assert_eq!(line.tcp.view().peer_window.value(), Some(5000));
    line.receives(data(101, 10).acking(3001).window(6000));
    line.sends(["ack 1"]);
    line.receives(data(1, 10).acking(3001).window(200)); // sent before, arrived later
    line.sends(["ack 11"]);
    assert_eq!(line.tcp.view().peer_window.value(), Some(6000));
}

#[test]
fn window_scaling_applies_in_both_directions() {
    // RFC 7323 §2.2, §2.3: not to SYNs.
    let config =
        Config { window_scale: true, receive_buffer: 200_000, initial_window: 4, ..plain() };
    let answer = syn_ack().window(2000).options(|o| o.window_scale = Some(3));
    let mut line = TestConnection::established_by(&config, answer);
    assert_eq!(line.announced(), 50_000); // 200,000 >> 2
    assert_eq!(line.tcp.view().peer_window.value(), Some(2000));
    line.receives(data(1, 1).window(2000));
    line.sends_some();
    assert_eq!(line.tcp.view().peer_window.value(), Some(16_000));
    // With a peer that does not scale, windows are unscaled in both directions.
    let mut line = TestConnection::syn_sent(&config);
    assert_eq!(line.last[0].segment.window, 65_535);
    line.receives(syn_ack());
    line.sends(["ack 1"]);
    assert_eq!(line.announced(), 65_535);
}

#[test]
fn shifts_above_fourteen_count_as_fourteen() {
    // RFC 7323 §2.3
    let config = Config { window_scale: true, ..plain() };
    let answer = syn_ack().options(|o| o.window_scale = Some(15));
    let mut line = TestConnection::established_by(&config, answer);
    line.receives(data(1, 1).window(3));
    line.sends_some();
    assert_eq!(line.tcp.view().peer_window.value(), Some(3 << 14));
    assert_eq!(Config { receive_buffer: u32::MAX, ..config }.receive_window_shift(), 14);
}
