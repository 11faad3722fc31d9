//! The retransmission timer: RFC 6298, and the coarse clocks of 4.4BSD and ns-2.

use crate::common::test_connection::*;
use driftway_base::{Duration, Known};
use driftway_tcp::{Clock, Config, Event, RecoveryKind, State};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn fine() -> Config {
    Config { min_rto: MS(200), ..plain() }
}

fn srtt(conn: &TestConnection) -> Duration {
    conn.tcp.view().srtt.value().flatten().expect("an RTT sample")
}

#[test]
fn measured_once_per_round_trip() {
    // RFC 6298 §2.2, §2.3: 100 ms; then 100 + (300 − 100)/8, of one segment instead of three.
    let mut conn = TestConnection::established(&fine());
    assert_eq!((srtt(&conn), conn.rto()), (MS(100), MS(300)));
    conn.writes(3000);
    conn.sends(["1..1001", "1001..2001", "2001..3001"]);
    conn.at(400 - 1);
    conn.receives(ack(1001));
    conn.at(400);
    conn.receives(ack(3001));
    // 100·7/8 + 299/8; the second acknowledgment gives no sample.
    let expected = Duration::from_micros(87_500 + 37_375);
    assert_eq!(srtt(&conn), expected);
    let variation = Duration::from_micros(50_000 * 3 / 4 + 199_000 / 4);
    assert_eq!(conn.rto(), expected + variation.times(4));
}

#[test]
fn backed_off_until_a_new_sample() {
    // RFC 6298 §5.5; Karn's algorithm (§3): retransmitted data gives no sample, and the backed-off
    // timeout stays until there is one.
    let mut conn = TestConnection::established(&plain());
    conn.writes(1000);
    conn.sends(["1..1001"]);
    for ms in [1100, 3100, 7100] {
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
    conn.receives(ack(1001));
    assert_eq!(srtt(&conn), MS(100));
    conn.writes(1000);
    conn.sends(["1001..2001"]);
    conn.at(15_100);
    conn.sends(["1001..2001"]);
    conn.at(15_200);
    conn.receives(ack(2001));
    conn.writes(1000);
    conn.sends(["2001..3001"]);
    conn.at(15_300);
    conn.receives(ack(3001));
    conn.writes(1000);
    conn.sends(["3001..4001"]);
    conn.at(16_300);
    conn.sends(["3001..4001"]);
}

#[test]
fn bounded_above() {
    let mut conn = TestConnection::established(&Config { max_rto: MS(2500), ..plain() });
    conn.writes(1000);
    conn.sends(["1..1001"]);
    for ms in [1100, 3100, 5600, 8100] {
        conn.at(ms);
        conn.sends(["1..1001"]);
    }
}

#[test]
fn aborted_after_the_configured_number_of_retries() {
    let mut conn = TestConnection::established(&Config { max_retries: 2, ..plain() });
    conn.writes(1000);
    conn.sends(["1..1001"]);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.at(3100);
    conn.sends(["1..1001"]);
    conn.quiet_until(7099);
    conn.is(State::Established);
    conn.quiet_until(7100);
    conn.is(State::Closed);
    assert_eq!(conn.events, [Event::TimedOut]);
}

#[test]
fn a_partial_acknowledgment_restarts_the_timer_a_complete_one_stops_it() {
    // RFC 6298 §5.2, §5.3
    let mut conn = TestConnection::in_flight(&plain(), 3);
    conn.at(150);
    conn.receives(ack(1001));
    conn.quiet_until(1149);
    conn.receives(ack(1001)); // a duplicate restarts nothing
    conn.at(1150);
    conn.sends(["1001..2001"]);
    conn.receives(ack(3001));
    assert_eq!(conn.tcp.view().retransmission_deadline, Known::Exact(None));
}

#[test]
fn a_timeout_restarts_with_one_segment() {
    // RFC 5681 §3.1: cwnd is one segment, ssthresh half of FlightSize; go-back-N in slow start.
    let mut conn = TestConnection::in_flight(&plain(), 8);
    conn.at(1100);
    conn.sends(["1..1001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 4000));
    conn.at(1200);
    conn.receives(ack(1001));
    conn.sends(["1001..2001", "2001..3001"]);
    conn.receives(ack(8001)); // the rest had arrived
    conn.quiet();
    assert_eq!(conn.tcp.stats().slow_starts, 1);
}

#[test]
fn a_second_timeout_of_the_same_segment_leaves_ssthresh_unchanged() {
    // RFC 5681 §3.1
    let mut conn = TestConnection::in_flight(&plain(), 8);
    conn.at(1100);
    conn.sends(["1..1001"]);
    conn.at(3100);
    conn.sends(["1..1001"]);
    assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 4000));
    assert_eq!(conn.losses, [Event::RetransmissionTimeout; 2]);
}

/// RFC 5681 §4.3: the loss of a retransmission lowers the window once more. SACKed data counts in
/// FlightSize (§2), but no longer takes room in cwnd.
#[test]
fn a_timeout_in_recovery_halves_cwnd_excluding_sacked_data() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let config = Config { recovery, sack: true, limited_transmit: false, ..plain() };
        let mut conn = TestConnection::in_flight(&config, 14);
        conn.writes(40_000);
        for n in 4..=14 {
            conn.receives(ack(1).sack(&[(1001, n * 1000 + 1)]));
            conn.sends_some();
        }
        let sent = conn.tcp.stats().bytes_sent;
        assert!(sent > 18_000, "new data was sent: {sent}");
        assert_eq!((conn.cwnd(), conn.ssthresh()), (7000, 7000));
        conn.at(1100);
        conn.sends_some();
        assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 3500), "{recovery:?}");
        // A second timeout, of another segment, at a window of two.
        conn.receives(ack(14_001));
        conn.sends_some();
        assert_eq!(conn.cwnd(), 2000);
        conn.at(3100);
        conn.sends_some();
        assert_eq!((conn.cwnd(), conn.ssthresh()), (1000, 2000), "{recovery:?}");
    }
}

#[test]
fn an_idle_connection_restarts_with_the_initial_window() {
    // RFC 5681 §4.1; window validation is another rule that would detect the pause.
    let config = Config { initial_window: 2, window_validation: false, ..plain() };
    let mut conn = TestConnection::established(&config);
    conn.writes(20_000);
    conn.sends(["1..1001", "1001..2001"]);
    let mut acked = 1;
    while acked < 20_001 {
        acked += 2000;
        conn.receives(ack(acked));
        conn.sends_some();
    }
    let grown = conn.cwnd();
    assert!(grown > 8000);
    conn.at(1100); // not longer than the timeout yet
    conn.writes(1000);
    conn.sends(["20001..21001"]);
    assert_eq!(conn.cwnd(), grown);
    conn.receives(ack(21_001));
    conn.at(2101);
    conn.writes(20_000);
    conn.sends(["21001..22001", "22001..23001"]);
    assert_eq!(conn.cwnd(), 2000);
}

#[test]
fn bsds_slow_timer_ticks_every_half_second() {
    // Ticks at 400, 900, 1400 ms …: a timeout of two ticks is 0.5 to 1 s away.
    let clock = Clock::uniform(MS(500), MS(100));
    let mut conn = TestConnection::established(&Config { clock, ..plain() });
    // No tick within the first round trip.
    assert_eq!((srtt(&conn), conn.rto()), (MS(0), MS(1000)));
    conn.at(399);
    conn.writes(1000);
    conn.sends(["1..1001"]);
    conn.at(900);
    conn.sends(["1..1001"]);
    conn.at(2900); // 2 s are four ticks, the first of which has just passed
    conn.sends(["1..1001"]);
    conn.receives(ack(1001));
    conn.at(3399);
    conn.writes(1000);
    conn.sends(["1001..2001"]);
    conn.at(3401);
    conn.receives(ack(2001));
    assert_eq!(srtt(&conn), MS(500).over(8)); // 2 ms with one tick
}

#[test]
fn ns2_measures_in_100_or_10_ms_and_linux_in_1() {
    for (tick, round_trip) in [(100, 200), (10, 130), (1, 127)] {
        let clock = Clock { rtt_tick: MS(tick), ..Clock::default() };
        let mut conn = TestConnection::syn_sent(&Config { clock, min_rto: MS(1), ..plain() });
        conn.at(150);
        conn.receives(syn_ack());
        conn.sends(["ack 1"]);
        let first = MS(150 / tick * tick);
        assert_eq!(srtt(&conn), first);
        conn.at(175);
        conn.writes(1000);
        conn.sends(["1..1001"]);
        conn.at(302);
        conn.receives(ack(1001));
        let measured = MS(round_trip);
        assert_eq!(srtt(&conn), first.saturating_sub(first.over(8)) + measured.over(8));
    }
}
