//! Receive and send windows: RFC 9293 §3.8.6, RFC 7323 §2.

use crate::common::test_connection::*;
use driftway_tcp::{Config, State};

fn with_buffer(receive_buffer: u32) -> Config {
    Config { receive_buffer, ..plain() }
}

#[test]
fn the_window_closes_with_unread_data_and_opens_with_reads() {
    let mut conn = TestConnection::established(&with_buffer(4000));
    conn.keep_unread();
    assert_eq!(conn.announced(), 4000);
    for (start, left) in [(1, 3000), (1001, 2000), (2001, 1000), (3001, 0)] {
        conn.receives(data(start, 1000));
        conn.sends([format!("ack {}", start + 1000).as_str()]);
        assert_eq!(conn.announced(), left);
    }
    // RFC 9293 §3.8.6.2.2: no update for less than two segments or half of the buffer.
    conn.does(|tcp, _| tcp.read(1999));
    conn.quiet();
    conn.does(|tcp, _| tcp.read(1));
    conn.sends(["ack 4001"]);
    assert_eq!(conn.announced(), 2000);
}

#[test]
fn an_acknowledgment_never_advertises_a_silly_window() {
    // RFC 9293 §3.8.6.2.2: from zero it opens by at least a segment or half of the buffer.
    let mut conn = TestConnection::established(&with_buffer(4000));
    conn.keep_unread();
    for start in [1, 1001, 2001, 3001] {
        conn.receives(data(start, 1000));
        conn.sends_some();
    }
    conn.does(|tcp, _| tcp.read(999));
    conn.receives(data(4001, 1)); // a probe
    conn.sends(["ack 4001"]);
    assert_eq!(conn.announced(), 0);
    conn.does(|tcp, _| tcp.read(1));
    conn.receives(data(4001, 1));
    conn.sends(["ack 4001"]);
    assert_eq!(conn.announced(), 1000);
    conn.receives(data(4001, 1));
    conn.sends(["ack 4002"]);
}

#[test]
fn data_beyond_the_window_is_cut_off() {
    let mut conn = TestConnection::established(&with_buffer(1500));
    conn.keep_unread();
    conn.receives(data(1, 1000));
    conn.sends(["ack 1001"]);
    conn.receives(data(1001, 1000));
    conn.sends(["ack 1501"]);
    assert_eq!((conn.announced(), conn.tcp.readable_bytes()), (0, 1500));
    conn.receives(data(1501, 1000));
    conn.sends(["ack 1501"]);
    assert_eq!(conn.tcp.readable_bytes(), 1500);
}

#[test]
fn acceptability() {
    // RFC 9293 §3.10.7.4, table 6; the window is 1 to 4001 here.
    let answer = |peer: Peer| {
        let mut conn = TestConnection::established(&with_buffer(4000));
        conn.receives(peer);
        conn.sends_some().concat()
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
    let mut conn = TestConnection::established(&with_buffer(1000));
    conn.keep_unread();
    conn.receives(data(1, 1000));
    conn.sends(["ack 1001"]);
    conn.writes(2000);
    conn.sends(["1..1001", "1001..2001"]);
    conn.receives(data(1001, 1).acking(1001));
    conn.sends(["ack 1001"]);
    assert_eq!(conn.tcp.acknowledged_bytes(), 1000);
    conn.receives(ack(2001).seq(1001));
    assert_eq!(conn.tcp.acknowledged_bytes(), 2000);
    conn.receives(rst(1001)); // and so are resets
    conn.is(State::Closed);
}

#[test]
fn the_peers_window_limits_sending() {
    let mut conn = TestConnection::established_by(&plain(), syn_ack().window(2500));
    conn.writes(10_000);
    conn.sends(["1..1001", "1001..2001"]);
    // Silly window avoidance (RFC 9293 §3.8.6.2.1): 500 of a usable 2500 are not sent.
    conn.receives(ack(1001).window(2500));
    conn.sends(["2001..3001"]);
    conn.receives(ack(2001).window(1000));
    conn.quiet();
}

#[test]
fn half_of_the_largest_window_is_sent() {
    // RFC 9293 §3.8.6.2.1, rule 3.
    let mut conn = TestConnection::established_by(&plain(), syn_ack().window(800));
    conn.writes(10_000);
    conn.sends(["1..801"]);
    conn.receives(ack(801).window(399));
    conn.quiet();
    conn.receives(ack(801).window(400));
    conn.sends(["801..1201"]);
}

#[test]
fn an_old_window_is_ignored() {
    // RFC 9293 §3.10.7.4: WL1 and WL2.
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.receives(ack(3001).window(5000));
    conn.receives(ack(2001).window(100)); // overtaken
    assert_eq!(conn.tcp.view().peer_window.value(), Some(5000));
    conn.receives(data(101, 10).acking(3001).window(6000));
    conn.sends(["ack 1"]);
    conn.receives(data(1, 10).acking(3001).window(200)); // sent before, arrived later
    conn.sends(["ack 11"]);
    assert_eq!(conn.tcp.view().peer_window.value(), Some(6000));
}

#[test]
fn window_scaling_applies_in_both_directions() {
    // RFC 7323 §2.2, §2.3: not to SYNs.
    let config =
        Config { window_scale: true, receive_buffer: 200_000, initial_window: 4, ..plain() };
    let answer = syn_ack().window(2000).options(|o| o.window_scale = Some(3));
    let mut conn = TestConnection::established_by(&config, answer);
    assert_eq!(conn.announced(), 50_000); // 200,000 >> 2
    assert_eq!(conn.tcp.view().peer_window.value(), Some(2000));
    conn.receives(data(1, 1).window(2000));
    conn.sends_some();
    assert_eq!(conn.tcp.view().peer_window.value(), Some(16_000));
    // With a peer that does not scale, windows are unscaled in both directions.
    let mut conn = TestConnection::syn_sent(&config);
    assert_eq!(conn.last[0].segment.window, 65_535);
    conn.receives(syn_ack());
    conn.sends(["ack 1"]);
    assert_eq!(conn.announced(), 65_535);
}

#[test]
fn shifts_above_fourteen_count_as_fourteen() {
    // RFC 7323 §2.3
    let config = Config { window_scale: true, ..plain() };
    let answer = syn_ack().options(|o| o.window_scale = Some(15));
    let mut conn = TestConnection::established_by(&config, answer);
    conn.receives(data(1, 1).window(3));
    conn.sends_some();
    assert_eq!(conn.tcp.view().peer_window.value(), Some(3 << 14));
    assert_eq!(Config { receive_buffer: u32::MAX, ..config }.receive_window_shift(), 14);
}
