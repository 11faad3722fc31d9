//! The retransmission timer: RFC 6298, and the coarse clocks of 4.4BSD and ns-2.

mod common;

use common::test_connection::*;
use driftway_base::{Duration, Known};
use driftway_tcp::{Clock, Config, Event, RecoveryKind, State};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn fine() -> Config {
    Config { min_rto: MS(200), ..plain() }
}

fn srtt(line: &TestConnection) -> Duration {
    line.tcp.view().srtt.value().flatten().expect("an RTT sample")
}

#[test]
fn measured_once_per_round_trip() {
    // RFC 6298 §2.2, §2.3: 100 ms; then 100 + (300 − 100)/8, of one segment instead of three.
    let mut line = TestConnection::established(&fine());
    assert_eq!((srtt(&line), line.rto()), (MS(100), MS(300)));
    line.writes(3000);
    line.sends(["1..1001", "1001..2001", "2001..3001"]);
    line.at(400 - 1);
    line.receives(ack(1001));
    line.at(400);
    line.receives(ack(3001));
    // 100·7/8 + 299/8; the second acknowledgment gives no sample.
    let expected = Duration::from_micros(87_500 + 37_375);
    assert_eq!(srtt(&line), expected);
    let variation = Duration::from_micros(50_000 * 3 / 4 + 199_000 / 4);
    assert_eq!(line.rto(), expected + variation.times(4));
}

#[test]
fn backed_off_until_a_new_sample() {
    // RFC 6298 §5.5; Karn's algorithm (§3): retransmitted data gives no sample, and the backed-off
    // timeout stays until there is one.
    let mut line = TestConnection::established(&plain());
    line.writes(1000);
    line.sends(["1..1001"]);
    for ms in [1100, 3100, 7100] {
        line.at(ms);
        line.sends(["1..1001"]);
    }
    line.receives(ack(1001));
    assert_eq!(srtt(&line), MS(100));
    line.writes(1000);
    line.sends(["1001..2001"]);
    line.at(15_100);
    line.sends(["1001..2001"]);
    line.at(15_200);
    line.receives(ack(2001));
    line.writes(1000);
    line.sends(["2001..3001"]);
    line.at(15_300);
    line.receives(ack(3001));
    line.writes(1000);
    line.sends(["3001..4001"]);
    line.at(16_300);
    line.sends(["3001..4001"]);
}

#[test]
fn bounded_above() {
    let mut line = TestConnection::established(&Config { max_rto: MS(2500), ..plain() });
    line.writes(1000);
    line.sends(["1..1001"]);
    for ms in [1100, 3100, 5600, 8100] {
        line.at(ms);
        line.sends(["1..1001"]);
    }
}

#[test]
fn aborted_after_the_configured_number_of_retries() {
    let mut line = TestConnection::established(&Config { max_retries: 2, ..plain() });
    line.writes(1000);
    line.sends(["1..1001"]);
    line.at(1100);
    line.sends(["1..1001"]);
    line.at(3100);
    line.sends(["1..1001"]);
    line.quiet_until(7099);
    line.is(State::Established);
    line.quiet_until(7100);
    line.is(State::Closed);
    assert_eq!(line.events, [Event::TimedOut]);
}

#[test]
fn a_partial_acknowledgment_restarts_the_timer_a_complete_one_stops_it() {
    // RFC 6298 §5.2, §5.3
    let mut line = TestConnection::in_flight(&plain(), 3);
    line.at(150);
    line.receives(ack(1001));
    line.quiet_until(1149);
    line.receives(ack(1001)); // a duplicate restarts nothing
    line.at(1150);
    line.sends(["1001..2001"]);
    line.receives(ack(3001));
    assert_eq!(line.tcp.view().retransmission_deadline, Known::Exact(None));
}

#[test]
fn a_timeout_restarts_with_one_segment() {
    // RFC 5681 §3.1: cwnd is one segment, ssthresh half of FlightSize; go-back-N in slow start.
    let mut line = TestConnection::in_flight(&plain(), 8);
    line.at(1100);
    line.sends(["1..1001"]);
    assert_eq!((line.cwnd(), line.ssthresh()), (1000, 4000));
    line.at(1200);
    line.receives(ack(1001));
    line.sends(["1001..2001", "2001..3001"]);
    line.receives(ack(8001)); // the rest had arrived
    line.quiet();
    assert_eq!(line.tcp.stats().slow_starts, 1);
}

#[test]
fn a_second_timeout_of_the_same_segment_leaves_ssthresh_unchanged() {
    // RFC 5681 §3.1
    let mut line = TestConnection::in_flight(&plain(), 8);
    line.at(1100);
    line.sends(["1..1001"]);
    line.at(3100);
    line.sends(["1..1001"]);
    assert_eq!((line.cwnd(), line.ssthresh()), (1000, 4000));
}

/// RFC 5681 §4.3: the loss of a retransmission lowers the window once more. SACKed data counts in
/// FlightSize (§2), but no longer takes room in cwnd.
#[test]
fn a_timeout_in_recovery_halves_cwnd_excluding_sacked_data() {
    for recovery in [RecoveryKind::Sack, RecoveryKind::RackTlp] {
        let config = Config { recovery, sack: true, limited_transmit: false, ..plain() };
        let mut line = TestConnection::in_flight(&config, 14);
        line.writes(40_000);
        for n in 4..=14 {
            line.receives(ack(1).sack(&[(1001, n * 1000 + 1)]));
            line.sends_some();
        }
        let sent = line.tcp.stats().bytes_sent;
        assert!(sent > 18_000, "new data was sent: {sent}");
        assert_eq!((line.cwnd(), line.ssthresh()), (7000, 7000));
        line.at(1100);
        line.sends_some();
        assert_eq!((line.cwnd(), line.ssthresh()), (1000, 3500), "{recovery:?}");
        // A second timeout, of another segment, at a window of two.
        line.receives(ack(14_001));
        line.sends_some();
        assert_eq!(line.cwnd(), 2000);
        line.at(3100);
        line.sends_some();
        assert_eq!((line.cwnd(), line.ssthresh()), (1000, 2000), "{recovery:?}");
    }
}

#[test]
fn an_idle_connection_restarts_with_the_initial_window() {
    // RFC 5681 §4.1; window validation is another rule that would detect the pause.
    let config = Config { initial_window: 2, window_validation: false, ..plain() };
    let mut line = TestConnection::established(&config);
    line.writes(20_000);
    line.sends(["1..1001", "1001..2001"]);
    let mut acked = 1;
    while acked < 20_001 {
        acked += 2000;
        line.receives(ack(acked));
        line.sends_some();
    }
    let grown = line.cwnd();
    assert!(grown > 8000);
    line.at(1100); // not longer than the timeout yet
    line.writes(1000);
    line.sends(["20001..21001"]);
    assert_eq!(line.cwnd(), grown);
    line.receives(ack(21_001));
    line.at(2101);
    line.writes(20_000);
    line.sends(["21001..22001", "22001..23001"]);
    assert_eq!(line.cwnd(), 2000);
}

#[test]
fn bsds_slow_timer_ticks_every_half_second() {
    // Ticks at 400, 900, 1400 ms …: a timeout of two ticks is 0.5 to 1 s away.
    let clock = Clock::uniform(MS(500), MS(100));
    let mut line = TestConnection::established(&Config { clock, ..plain() });
    // No tick within the first round trip.
    assert_eq!((srtt(&line), line.rto()), (MS(0), MS(1000)));
    line.at(399);
    line.writes(1000);
    line.sends(["1..1001"]);
    line.at(900);
    line.sends(["1..1001"]);
    line.at(2900); // 2 s are four ticks, the first of which has just passed
    line.sends(["1..1001"]);
    line.receives(ack(1001));
    line.at(3399);
    line.writes(1000);
    line.sends(["1001..2001"]);
    line.at(3401);
    line.receives(ack(2001));
    assert_eq!(srtt(&line), MS(500).over(8)); // 2 ms with one tick
}

#[test]
fn ns2_measures_in_100_or_10_ms_and_linux_in_1() {
    for (tick, round_trip) in [(100, 200), (10, 130), (1, 127)] {
        let clock = Clock { rtt_tick: MS(tick), ..Clock::default() };
        let mut line = TestConnection::syn_sent(&Config { clock, min_rto: MS(1), ..plain() });
        line.at(150);
        line.receives(syn_ack());
        line.sends(["ack 1"]);
        let first = MS(150 / tick * tick);
        assert_eq!(srtt(&line), first);
        line.at(175);
        line.writes(1000);
        line.sends(["1..1001"]);
        line.at(302);
        line.receives(ack(1001));
        let measured = MS(round_trip);
        assert_eq!(srtt(&line), first.saturating_sub(first.over(8)) + measured.over(8));
    }
}
