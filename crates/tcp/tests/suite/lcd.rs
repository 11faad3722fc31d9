//! TCP-LCD, rule by rule: RFC 6069 §4.2.

use crate::common::test_connection::*;
use driftway_tcp::{Config, State};

fn lcd() -> Config {
    Config { lcd: true, ..plain() }
}

/// An ICMP host unreachable message for the segment at `number`.
fn unreachable(conn: &mut TestConnection, number: u32) {
    conn.does(|tcp, now| tcp.on_unreachable(now, false, Some(OURS + number)));
}

/// One segment, with timeouts at 1.1 s and 3.1 s.
fn with_two_timeouts(config: &Config) -> TestConnection {
    let mut conn = TestConnection::in_flight(config, 1);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.at(3100);
    conn.sends(["1..1001"]);
    conn
}

#[test]
fn a_host_unreachable_reverts_one_back_off() {
    let mut conn = TestConnection::in_flight(&lcd(), 8);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.at(1200);
    unreachable(&mut conn, 1);
    // 1 s after the retransmission instead of 2 s; the window stays as the timeout left it.
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 4000));
    conn.quiet_until(2099);
    conn.at(2100);
    conn.sends(["1..1001"]);
    assert_eq!(conn.tcp.stats().back_offs_reverted, 1);
    // The next timeout backs off again.
    conn.quiet_until(4099);
    conn.at(4100);
    conn.sends(["1..1001"]);
}

#[test]
fn each_message_reverts_one_back_off_down_to_the_base_rto() {
    let mut conn = with_two_timeouts(&lcd());
    conn.at(3200);
    unreachable(&mut conn, 1);
    unreachable(&mut conn, 1);
    unreachable(&mut conn, 1);
    assert_eq!(conn.tcp.stats().back_offs_reverted, 2);
    conn.quiet_until(4099);
    conn.at(4100);
    conn.sends(["1..1001"]);
}

#[test]
fn an_overdue_retransmission_is_sent_at_once() {
    // Step 6: with 2 s instead of 4 s, the timeout after 3.1 s would have expired at 5.1 s.
    let mut conn = with_two_timeouts(&lcd());
    conn.at(5500);
    unreachable(&mut conn, 1);
    conn.sends(["1..1001"]);
    assert_eq!(conn.tcp.stats().timeouts, 3);
    conn.quiet_until(9499);
    conn.at(9500);
    conn.sends(["1..1001"]);
}

#[test]
fn only_the_segment_at_snd_una_counts_and_only_after_its_timeout() {
    let mut conn = TestConnection::in_flight(&lcd(), 8);
    unreachable(&mut conn, 1);
    conn.at(1100);
    conn.sends(["1..1001"]);
    unreachable(&mut conn, 1001);
    conn.does(|tcp, now| tcp.on_unreachable(now, false, None));
    conn.does(|tcp, now| tcp.on_unreachable(now, true, None));
    conn.quiet_until(3099);
    conn.at(3100);
    conn.sends(["1..1001"]);
    assert_eq!(conn.tcp.stats().back_offs_reverted, 0);
    // An acknowledgment ends the disruption.
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
    unreachable(&mut conn, 1001);
    assert_eq!(conn.tcp.stats().back_offs_reverted, 0);
}

#[test]
fn without_the_option_nothing_changes() {
    let mut conn = with_two_timeouts(&plain());
    unreachable(&mut conn, 1);
    conn.quiet_until(7099);
    conn.at(7100);
    conn.sends(["1..1001"]);
}

#[test]
fn abort_takes_as_long_as_with_back_offs() {
    // Without ICMP messages: timeouts at 1.1, 3.1 and 7.1 s, abort at 15.1 s.
    let config = Config { max_retries: 3, ..lcd() };
    let mut conn = TestConnection::in_flight(&config, 1);
    for ms in [1100, 3100, 7100] {
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
    conn.quiet_until(15_099);
    conn.quiet_until(15_100);
    conn.is(State::Closed);
    // With one after each retransmission: a timeout every second, abort at the same time.
    let mut conn = TestConnection::in_flight(&config, 1);
    for second in 0..14 {
        conn.at(1100 + second * 1000);
        conn.sends(["1..1001"]);
        unreachable(&mut conn, 1);
        conn.is(State::Established);
    }
    conn.quiet_until(15_100);
    conn.is(State::Closed);
}

#[test]
fn during_a_hold_icmp_messages_do_not_count() {
    let mut conn = with_two_timeouts(&lcd());
    conn.acts(driftway_base::Act::Hold {
        probe: None,
        rewind_snd_nxt: false,
        timers: driftway_base::HeldTimers::Stop,
        cwnd: driftway_base::Assign::Keep,
        release: driftway_base::Release::Resume,
    });
    conn.at(50_000);
    unreachable(&mut conn, 1);
    conn.quiet_until(100_000);
    assert_eq!(conn.tcp.stats().back_offs_reverted, 0);
}
