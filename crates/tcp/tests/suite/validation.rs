//! Congestion window validation: RFC 2861, RFC 7661 §4, as in Linux.

use crate::common::test_connection::*;
use driftway_base::{Act, Assign};
use driftway_tcp::{Config, ControlKind};

/// Segments of 1000 bytes and an initial window of that many of them.
fn config(initial_window: u32) -> Config {
    Config { initial_window, ..plain() }
}

/// Acknowledges the next `count` segments one by one, 10 ms apart, by a peer with a window of
/// `window` bytes; `acked` is the number of bytes acknowledged.
fn receive_acks(conn: &mut TestConnection, acked: &mut u32, count: u32, window: u16) {
    for _ in 0..count {
        *acked += 1000;
        let next = (conn.now.as_nanos() / 1_000_000) + 10;
        conn.at(next);
        conn.receives(ack(*acked).window(window));
        conn.sends_some();
    }
}

/// A bulk transfer to a peer with a window of `window` bytes.
fn bulk(config: &Config, window: u16) -> (TestConnection, u32) {
    let mut conn = TestConnection::established_by(config, syn_ack().window(window));
    conn.writes(10_000_000);
    conn.sends_some();
    (conn, 1)
}

/// Sets the window to `cwnd` in congestion avoidance.
fn enter_congestion_avoidance(conn: &mut TestConnection, cwnd: u32) {
    let (cwnd, ssthresh) = (Assign::Value(cwnd), Assign::Value(2000));
    conn.acts(Act::Resume { cwnd, ssthresh, rto: Assign::Keep });
    conn.sends_some();
}

#[test]
fn slow_start_grows_to_twice_the_peers_window() {
    let (mut conn, mut acked) = bulk(&config(2), 8000);
    receive_acks(&mut conn, &mut acked, 100, 8000);
    assert_eq!(conn.cwnd(), 16_000);
}

#[test]
fn without_validation_the_window_grows_without_limit() {
    let old = Config { window_validation: false, ..config(2) };
    let (mut conn, mut acked) = bulk(&old, 8000);
    receive_acks(&mut conn, &mut acked, 100, 8000);
    assert_eq!(conn.cwnd(), 102_000);
}

#[test]
fn congestion_avoidance_grows_only_a_full_window() {
    for growth in [ControlKind::Reno, ControlKind::Cubic] {
        let (mut conn, mut acked) = bulk(&Config { growth, ..config(2) }, 8000);
        receive_acks(&mut conn, &mut acked, 20, 8000);
        enter_congestion_avoidance(&mut conn, 10_000);
        receive_acks(&mut conn, &mut acked, 100, 8000);
        assert_eq!(conn.cwnd(), 10_000, "{growth:?}: 8 of 10 segments are used");
        // The peer opens its window: ours is full, and grows by a segment per round trip.
        receive_acks(&mut conn, &mut acked, 12, 60_000);
        assert!((10_500..12_500).contains(&conn.cwnd()), "{growth:?}: {}", conn.cwnd());
        receive_acks(&mut conn, &mut acked, 50, 60_000);
        assert!(conn.cwnd() > 12_500, "{growth:?}: {}", conn.cwnd());
    }
}

#[test]
fn an_application_limited_window_does_not_grow() {
    // Linux's example: with 9 of 10 segments used, slow start may reach 18; with 5, it stays.
    for (written, expected) in [(9, 18_000), (5, 10_000), (1, 10_000)] {
        let mut conn = TestConnection::established(&config(10));
        let mut acked = 1;
        for _ in 0..20 {
            conn.writes(written * 1000);
            conn.sends_some();
            receive_acks(&mut conn, &mut acked, written as u32, 60_000);
        }
        assert_eq!(conn.cwnd(), expected, "{written} segments at a time");
    }
}

#[test]
fn growth_continues_when_the_application_fills_the_window_again() {
    let mut conn = TestConnection::established(&config(10));
    enter_congestion_avoidance(&mut conn, 10_000);
    let mut acked = 1;
    for _ in 0..20 {
        conn.writes(4000);
        conn.sends_some();
        receive_acks(&mut conn, &mut acked, 4, 60_000);
    }
    assert_eq!(conn.cwnd(), 10_000);
    conn.writes(1_000_000);
    conn.sends_some();
    receive_acks(&mut conn, &mut acked, 10, 60_000);
    assert!((10_900..=11_000).contains(&conn.cwnd()), "{}", conn.cwnd());
}

#[test]
fn a_round_trip_with_a_full_window_counts_to_its_end() {
    // The last segments of a burst are acknowledged when the application has no more data.
    let mut conn = TestConnection::in_flight(&plain(), 8);
    let mut acked = 1;
    receive_acks(&mut conn, &mut acked, 8, 60_000);
    assert_eq!(conn.cwnd(), 16_000);
}

#[test]
fn a_window_not_full_for_an_rto_falls_half_of_the_way_to_its_use() {
    // RFC 2861 §3.1, as in Linux.
    let mut conn = TestConnection::in_flight(&config(10), 10);
    let mut acked = 1;
    receive_acks(&mut conn, &mut acked, 10, 60_000);
    conn.writes(20_000);
    conn.sends_some();
    receive_acks(&mut conn, &mut acked, 20, 60_000);
    assert_eq!(conn.cwnd(), 40_000);
    enter_congestion_avoidance(&mut conn, 40_000);
    let mut windows = vec![];
    for _ in 0..8 {
        for _ in 0..4 {
            conn.writes(12_000);
            conn.sends_some();
            receive_acks(&mut conn, &mut acked, 12, 60_000);
            let next = conn.now.as_nanos() / 1_000_000 + 130;
            conn.quiet_until(next);
        }
        windows.push((conn.cwnd(), conn.ssthresh()));
    }
    // The timeout is 1 s: four steps of 250 ms.
    assert_eq!(windows[0], (40_000, 2000));
    assert_eq!(windows[1], (26_000, 30_000));
    // Below ssthresh it may reach twice the used part.
    assert_eq!(windows[7], (24_000, 30_000));
    assert!(windows.is_sorted_by(|a, b| a.0 >= b.0), "{windows:?}");
}

#[test]
fn a_window_limited_by_the_peer_is_kept() {
    // As in Linux, where the send buffer is full in that case.
    let (mut conn, mut acked) = bulk(&config(2), 60_000);
    receive_acks(&mut conn, &mut acked, 30, 60_000);
    receive_acks(&mut conn, &mut acked, 70, 8000);
    let before = conn.cwnd();
    assert!(before > 32_000);
    for _ in 0..500 {
        receive_acks(&mut conn, &mut acked, 1, 8000);
    }
    assert_eq!(conn.cwnd(), before);
}
