//! A retransmission timer for each segment: chandran-1998 §5.2.

mod common;

use common::test_connection::*;
use driftway_base::{Act, Assign, Duration, Release};
use driftway_tcp::{Config, RecoveryKind};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn timers() -> Config {
    Config { recovery: RecoveryKind::SegmentTimers, limited_transmit: false, ..plain() }
}

/// Four segments sent at 100, 300, 500 and 700 ms; the timeout is 1 s.
fn spaced() -> TestConnection {
    let mut line = TestConnection::established(&timers());
    for n in 0..4 {
        line.at(100 + 200 * n);
        line.writes(1000);
        line.sends_some();
    }
    line
}

#[test]
fn lost_segments_are_retransmitted_at_their_original_spacing() {
    let mut line = spaced();
    for (n, range) in ["1..1001", "1001..2001", "2001..3001", "3001..4001"].iter().enumerate() {
        let due = 1100 + 200 * n as u64;
        line.quiet_until(due - 1);
        line.at(due);
        line.sends([range]);
    }
    assert_eq!(line.tcp.stats().timeouts, 4);
}

/// Losses of data sent before the window reduction are no further sign of congestion.
#[test]
fn rto_and_window_change_once_for_all_data_sent_before() {
    let mut line = spaced();
    let reductions = line.tcp.cwnd_reductions();
    for (due, rto) in [(1100, 2), (1300, 2), (1500, 2), (1700, 2)] {
        line.at(due);
        line.sends_some();
        assert_eq!((line.tcp.rtt().rto(), line.cwnd()), (MS(rto * 1000), 1000), "{due}");
    }
    assert_eq!(line.tcp.cwnd_reductions(), reductions + 1);
    // The first retransmission is lost again: 2 s later the next response begins.
    line.quiet_until(3099);
    line.at(3100);
    line.sends(["1..1001"]);
    assert_eq!(line.tcp.rtt().rto(), MS(4000));
    line.at(3300);
    line.sends(["1001..2001"]);
    assert_eq!((line.tcp.rtt().rto(), line.tcp.cwnd_reductions()), (MS(4000), reductions + 2));
}

#[test]
fn a_segment_acknowledged_in_time_is_not_retransmitted() {
    let mut line = spaced();
    line.at(900);
    line.receives(ack(2001));
    line.quiet_until(1499);
    line.at(1500);
    line.sends(["2001..3001"]);
    line.at(1600);
    line.receives(ack(4001));
    line.quiet_until(60_000);
}

/// A SACK acknowledges a segment, and its timer stops.
#[test]
fn a_sacked_segment_is_not_retransmitted() {
    let config = Config { sack: true, ..timers() };
    let mut line = TestConnection::established(&config);
    for n in 0..4 {
        line.at(100 + 200 * n);
        line.writes(1000);
        line.sends_some();
    }
    line.at(900);
    line.receives(ack(1).sack(&[(1001, 3001)]));
    line.quiet_until(1099);
    line.at(1100);
    line.sends(["1..1001"]);
    line.receives(ack(1).sack(&[(3001, 4001), (1001, 3001)]));
    // Only the retransmitted segment is outstanding: no other timer expires, and the RTO does not
    // double.
    line.quiet_until(3099);
    assert_eq!((line.tcp.stats().timeouts, line.tcp.rtt().doublings()), (1, 0));
    line.at(3100);
    line.sends(["1..1001"]);
}

/// Each acknowledgment gives an RTT sample, of the last segment that it covers and that was sent
/// once.
#[test]
fn each_acknowledgment_gives_an_rtt_sample() {
    let mut line = spaced();
    for (at, number) in [(900, 2001), (1000, 3001)] {
        line.at(at);
        line.receives(ack(number));
    }
    // 100 from the handshake, 600 (sent at 300), 500.
    let stats = *line.tcp.stats();
    assert_eq!((stats.rtt_samples, stats.rtt_sum), (3, MS(100 + 600 + 500)));
    line.at(1700);
    line.sends(["3001..4001"]);
    line.receives(ack(4001));
    assert_eq!(line.tcp.stats().rtt_samples, 3, "Karn");
}

#[test]
fn duplicates_are_ignored() {
    let mut line = spaced();
    line.at(900);
    for _ in 0..9 {
        line.receives(ack(1));
        line.quiet();
    }
    line.quiet_until(1099);
    assert_eq!(line.tcp.stats().fast_retransmits, 0);
}

/// chandran-1998 §4: the timers continue from their frozen values.
#[test]
fn each_frozen_timer_keeps_its_remaining_time() {
    let mut line = spaced();
    line.at(900);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    line.acts(Act::Hold { probe: None, rewind_snd_nxt: false, freeze_timers: true, cwnd, release });
    line.quiet_until(10_900);
    line.acts(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep });
    for (n, range) in ["1..1001", "1001..2001", "2001..3001", "3001..4001"].iter().enumerate() {
        let due = 11_100 + 200 * n as u64;
        line.quiet_until(due - 1);
        line.at(due);
        line.sends([range]);
    }
    assert_eq!(line.tcp.rtt().rto(), MS(2000), "one response");
}

/// After a hold without freeze, all timers restart as for a new transmission.
#[test]
fn the_end_of_a_hold_restarts_all_timers() {
    let mut line = spaced();
    line.at(900);
    let (cwnd, release) = (Assign::Keep, Release::Resume);
    line.acts(Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        freeze_timers: false,
        cwnd,
        release,
    });
    line.quiet_until(10_900);
    line.acts(Act::Resume { cwnd: Assign::Keep, ssthresh: Assign::Keep, rto: Assign::Keep });
    line.quiet_until(11_899);
    line.at(11_900);
    line.sends(["1..1001", "1001..2001", "2001..3001", "3001..4001"]);
}

#[test]
fn a_fin_has_a_timer() {
    let mut line = TestConnection::established(&timers());
    line.writes(500);
    line.sends(["1..501"]);
    line.at(300);
    line.closes();
    assert_eq!(line.sends_some().len(), 1);
    line.receives(ack(501));
    line.quiet_until(1299);
    line.at(1300);
    assert_eq!(line.sends_some().len(), 1);
    line.receives(ack(502));
    line.quiet_until(60_000);
}
