//! BBR in a connection: pacing, timeouts, and the acts of aids. The models have time lines of their
//! own, next to them.

use crate::common::test_connection::*;
use driftway_base::{Act, Assign, HeldTimers, Release};
use driftway_tcp::{Config, ControlKind, RecoveryKind};

const CONTROLS: [ControlKind; 2] = [ControlKind::Bbr, ControlKind::Bbr3];

fn config(growth: ControlKind) -> Config {
    Config { growth, recovery: RecoveryKind::RackTlp, sack: true, ..plain() }
}

/// A connection that has sent ten segments, by 200 ms.
fn ten_in_flight(growth: ControlKind) -> TestConnection {
    let mut conn = TestConnection::established(&config(growth));
    conn.writes(1_000_000);
    let mut sent = conn.sends_some().len();
    for ms in 101..200 {
        conn.at(ms);
        sent += conn.sends_some().len();
    }
    assert_eq!((sent, conn.cwnd()), (10, 10_000));
    conn
}

#[test]
fn version_1_paces_from_the_eleventh_segment_on() {
    // Ten segments in the round trip of the handshake times 2/ln 2: 285 kB/s, in bursts of two.
    let mut conn = TestConnection::established(&config(ControlKind::Bbr));
    conn.writes(1_000_000);
    assert_eq!(conn.sends_some().len(), 10);
    conn.at(200);
    conn.receives(ack(10_001));
    conn.sends(["10001..11001", "11001..12001"]);
    conn.quiet_until(204);
    conn.at(206);
    conn.sends(["12001..13001", "13001..14001"]);
    conn.quiet_until(212);
    conn.at(213);
    conn.sends(["14001..15001", "15001..16001"]);
}

#[test]
fn version_3_paces_from_the_first_segment_on() {
    // The same with 4 ln 2: 277 kB/s.
    let mut conn = TestConnection::established(&config(ControlKind::Bbr3));
    conn.writes(1_000_000);
    conn.sends(["1..1001", "1001..2001"]);
    conn.quiet_until(105);
    conn.at(107);
    conn.sends(["2001..3001", "3001..4001"]);
    conn.quiet_until(112);
    conn.at(114);
    conn.sends(["4001..5001", "5001..6001"]);
}

#[test]
fn a_timeout_leaves_one_segment_and_an_undo_restores_the_window() {
    for growth in CONTROLS {
        let mut conn = ten_in_flight(growth);
        let deadline = conn.tcp.next_timeout().expect("a timer");
        conn.at(deadline.as_millis() + 1);
        // First a tail loss probe; then the timeout.
        while conn.losses.is_empty() {
            conn.sends_some();
            let next = conn.tcp.next_timeout().expect("a timer");
            conn.at(next.as_millis() + 1);
        }
        conn.sends(["1..1001"]);
        assert_eq!(conn.cwnd(), 1000, "{growth:?}");
        conn.acts(Act::Undo);
        conn.sends_some();
        conn.receives(ack(2001));
        conn.sends_some();
        assert!(conn.cwnd() >= 10_000, "{growth:?} {}", conn.cwnd());
    }
}

#[test]
fn what_is_not_lost_stays_in_flight_after_a_loss() {
    for growth in CONTROLS {
        let mut conn = ten_in_flight(growth);
        conn.at(210);
        // The first of ten is lost; all others arrive but the last two.
        for end in 2..=8 {
            conn.receives(ack(1).sack(&[(1001, end * 1000 + 1)]));
            conn.sends_some();
        }
        assert_eq!(conn.losses.len(), 1, "{growth:?}");
        assert!(conn.cwnd() >= 4000, "{growth:?} {}", conn.cwnd());
        conn.at(310);
        conn.receives(ack(10_001));
        conn.sends_some();
        assert!(conn.cwnd() >= 10_000, "{growth:?} {}: the window from before", conn.cwnd());
    }
}

#[test]
fn a_hold_stops_pacing_and_a_resume_goes_on_with_the_window_it_names() {
    for growth in CONTROLS {
        for timers in [HeldTimers::Freeze, HeldTimers::Stop] {
            for (cwnd, expected) in
                [(Assign::Keep, 10_000), (Assign::Value(3000), 3000), (Assign::Initial, 10_000)]
            {
                let mut conn = ten_in_flight(growth);
                conn.at(210);
                let (probe, release) = (None, Release::Resume);
                let keep = Assign::Keep;
                conn.acts(Act::Hold { probe, rewind_snd_nxt: false, timers, cwnd: keep, release });
                conn.receives(ack(10_001));
                conn.quiet_until(5000);
                conn.acts(Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep });
                let mut sent = conn.sends_some().len();
                assert_eq!(conn.cwnd(), expected, "{growth:?} {cwnd:?}");
                for ms in 5001..5100 {
                    conn.at(ms);
                    sent += conn.sends_some().len();
                }
                assert_eq!(sent, expected as usize / 1000, "{growth:?} {timers:?} {cwnd:?}");
            }
        }
    }
}
