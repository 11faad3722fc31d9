//! A retransmission timer for each segment: chandran-1998 §5.2.

use crate::common::test_connection::*;
use driftway_base::{Act, Assign, Duration, HeldTimers, Release};
use driftway_tcp::{Config, RecoveryKind};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn timers() -> Config {
    Config { recovery: RecoveryKind::SegmentTimers, limited_transmit: false, ..plain() }
}

/// Four segments sent at 100, 300, 500 and 700 ms; the timeout is 1 s.
fn spaced() -> TestConnection {
    let mut conn = TestConnection::established(&timers());
    for n in 0..4 {
        conn.at(100 + 200 * n);
        conn.writes(1000);
        conn.sends_some();
    }
    conn
}

#[test]
fn lost_segments_are_retransmitted_at_their_original_spacing() {
    let mut conn = spaced();
    for (n, range) in ["1..1001", "1001..2001", "2001..3001", "3001..4001"].iter().enumerate() {
        let due = 1100 + 200 * n as u64;
        conn.quiet_until(due - 1);
        conn.at(due);
        conn.sends([range]);
    }
    assert_eq!(conn.tcp.stats().timeouts, 4);
}

/// Losses of data sent before the window reduction are no further sign of congestion.
#[test]
fn rto_and_window_change_once_for_all_data_sent_before() {
    let mut conn = spaced();
    let reductions = conn.tcp.cwnd_reductions();
    for (due, rto) in [(1100, 2), (1300, 2), (1500, 2), (1700, 2)] {
        conn.at(due);
        conn.sends_some();
        assert_eq!((conn.tcp.rtt().rto(), conn.cwnd()), (MS(rto * 1000), 1000), "{due}");
    }
    assert_eq!(conn.tcp.cwnd_reductions(), reductions + 1);
    // The first retransmission is lost again: 2 s later the next response begins.
    conn.quiet_until(3099);
    conn.at(3100);
    conn.sends(["1..1001"]);
    assert_eq!(conn.tcp.rtt().rto(), MS(4000));
    conn.at(3300);
    conn.sends(["1001..2001"]);
    assert_eq!((conn.tcp.rtt().rto(), conn.tcp.cwnd_reductions()), (MS(4000), reductions + 2));
}

#[test]
fn a_segment_acknowledged_in_time_is_not_retransmitted() {
    let mut conn = spaced();
    conn.at(900);
    conn.receives(ack(2001));
    conn.quiet_until(1499);
    conn.at(1500);
    conn.sends(["2001..3001"]);
    conn.at(1600);
    conn.receives(ack(4001));
    conn.quiet_until(60_000);
}

/// A SACK acknowledges a segment, and its timer stops.
#[test]
fn a_sacked_segment_is_not_retransmitted() {
    let config = Config { sack: true, ..timers() };
    let mut conn = TestConnection::established(&config);
    for n in 0..4 {
        conn.at(100 + 200 * n);
        conn.writes(1000);
        conn.sends_some();
    }
    conn.at(900);
    conn.receives(ack(1).sack(&[(1001, 3001)]));
    conn.quiet_until(1099);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.receives(ack(1).sack(&[(3001, 4001), (1001, 3001)]));
    // Only the retransmitted segment is outstanding: no other timer expires, and the RTO does not
    // double.
    conn.quiet_until(3099);
    assert_eq!((conn.tcp.stats().timeouts, conn.tcp.rtt().doublings()), (1, 0));
    conn.at(3100);
    conn.sends(["1..1001"]);
}

/// Each acknowledgment gives an RTT sample, of the last segment that it covers and that was sent
/// once.
#[test]
fn each_acknowledgment_gives_an_rtt_sample() {
    let mut conn = spaced();
    for (at, number) in [(900, 2001), (1000, 3001)] {
        conn.at(at);
        conn.receives(ack(number));
    }
    // 100 from the handshake, 600 (sent at 300), 500.
    let stats = *conn.tcp.stats();
    assert_eq!((stats.rtt_samples, stats.rtt_sum), (3, MS(100 + 600 + 500)));
    conn.at(1700);
    conn.sends(["3001..4001"]);
    conn.receives(ack(4001));
    assert_eq!(conn.tcp.stats().rtt_samples, 3, "Karn");
}

#[test]
fn duplicates_are_ignored() {
    let mut conn = spaced();
    conn.at(900);
    for _ in 0..9 {
        conn.receives(ack(1));
        conn.quiet();
    }
    conn.quiet_until(1099);
    assert_eq!(conn.tcp.stats().fast_retransmits, 0);
}

/// chandran-1998 §4: the timers continue from their frozen values.
#[test]
fn each_frozen_timer_keeps_its_remaining_time() {
    let mut conn = spaced();
    conn.at(900);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Freeze,
        cwnd,
        release,
    });
    conn.quiet_until(10_900);
    conn.acts(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep });
    for (n, range) in ["1..1001", "1001..2001", "2001..3001", "3001..4001"].iter().enumerate() {
        let due = 11_100 + 200 * n as u64;
        conn.quiet_until(due - 1);
        conn.at(due);
        conn.sends([range]);
    }
    assert_eq!(conn.tcp.rtt().rto(), MS(2000), "one response");
}

/// All timers restart as for a new transmission after a hold without freeze.
#[test]
fn the_end_of_a_hold_restarts_all_timers() {
    let mut conn = spaced();
    conn.at(900);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    conn.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: HeldTimers::Stop,
        cwnd,
        release,
    });
    conn.quiet_until(10_900);
    conn.acts(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep });
    conn.quiet_until(11_899);
    conn.at(11_900);
    conn.sends(["1..1001", "1001..2001", "2001..3001", "3001..4001"]);
}

#[test]
fn a_fin_has_a_timer() {
    let mut conn = TestConnection::established(&timers());
    conn.writes(500);
    conn.sends(["1..501"]);
    conn.at(300);
    conn.closes();
    assert_eq!(conn.sends_some().len(), 1);
    conn.receives(ack(501));
    conn.quiet_until(1299);
    conn.at(1300);
    assert_eq!(conn.sends_some().len(), 1);
    conn.receives(ack(502));
    conn.quiet_until(60_000);
}
