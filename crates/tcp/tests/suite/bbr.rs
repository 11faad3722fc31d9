//! BBR in a connection: pacing, timeouts, and the acts of aids. The models have time lines of their
//! own, next to them.

use crate::common::test_connection::*;
use driftway_base::{
    Act, Assign, Duration, HeldTimers, Instant, RandomStream, Release, Seq, SeqRange,
};
use driftway_tcp::congestion::{
    AckedData, CongestionWindow, ControlOptions, Established, LostSegment, MAX_WINDOW, SentData,
    new,
};
use driftway_tcp::delivery_rate::RateSample;
use driftway_tcp::send_state::RecoveryPhase;
use driftway_tcp::{Config, ControlKind, RecoveryKind};
use proptest::prelude::*;

const CONTROLS: [ControlKind; 2] = [ControlKind::Bbr, ControlKind::Bbr3];

fn config(growth: ControlKind) -> Config {
    Config { growth, recovery: RecoveryKind::RackTlp, sack: true, ..plain() }
}

/// Lets time pass until `ms`; returns the segments sent meanwhile, each with its time in microseconds
/// since 100 ms.
fn until(conn: &mut TestConnection, ms: u64) -> Vec<(u64, String)> {
    let end = Instant::from_millis(ms);
    let mut sent = Vec::new();
    loop {
        let micros = conn.now.since(Instant::from_millis(RTT)).as_nanos() / 1000;
        sent.extend(conn.sends_some().into_iter().map(|segment| (micros, segment)));
        let Some(next) = conn.tcp.next_timeout().filter(|next| *next <= end) else { break };
        conn.now = next;
        conn.does(|tcp, now| tcp.on_timeout(now));
    }
    conn.now = end;
    sent
}

/// A connection that has sent ten segments, at 200 ms.
fn ten_in_flight(growth: ControlKind) -> TestConnection {
    let mut conn = TestConnection::established(&config(growth));
    conn.writes(1_000_000);
    assert_eq!(until(&mut conn, 200).len(), 10);
    assert_eq!(conn.cwnd(), 10_000);
    conn
}

fn times(sent: &[(u64, String)]) -> Vec<u64> {
    sent.iter().map(|(micros, _)| *micros).collect()
}

/// Checks the times of the first three bursts of two segments after ten that leave at once, which are acknowledged
/// 100 ms later.
fn assert_paced(growth: ControlKind, expected: [u64; 3]) {
    let mut conn = TestConnection::established(&config(growth));
    conn.writes(1_000_000);
    let first = until(&mut conn, 200);
    assert_eq!(times(&first), [0; 10]);
    conn.receives(ack(10_001));
    let next = until(&mut conn, 215);
    assert_eq!(times(&next).len(), 6, "{next:?}");
    for (n, at) in times(&next).iter().enumerate() {
        assert!(at.abs_diff(expected[n / 2]) < 20, "{next:?}");
    }
}

#[test]
fn version_1_paces_from_the_eleventh_segment_on() {
    // Ten segments in the round trip of the handshake times 2/ln 2: 286 kB/s, in bursts of two that
    // take 7 ms. The first one is late, which shortens the wait after it by half.
    assert_paced(ControlKind::Bbr, [100_000, 103_499, 110_497]);
}

#[test]
fn version_3_paces_from_the_eleventh_segment_on() {
    // The same with 4 ln 2: 277 kB/s.
    assert_paced(ControlKind::Bbr3, [100_000, 103_607, 110_824]);
}

#[test]
fn a_timeout_leaves_one_segment_and_an_undo_restores_the_window() {
    for growth in CONTROLS {
        let mut conn = ten_in_flight(growth);
        // A tail loss probe, and then the timeout.
        let sent = until(&mut conn, 2000);
        let names: Vec<_> = sent.iter().map(|(_, segment)| segment.as_str()).collect();
        assert_eq!(names, ["10001..11001", "1..1001"], "{growth:?}");
        assert_eq!(conn.cwnd(), 1000, "{growth:?}");
        conn.acts(Act::Undo);
        until(&mut conn, 2010);
        conn.receives(ack(2001));
        until(&mut conn, 2020);
        assert!(conn.cwnd() >= 10_000, "{growth:?} {}", conn.cwnd());
    }
}

#[test]
fn what_is_not_lost_stays_in_flight_after_a_loss() {
    for growth in CONTROLS {
        let mut conn = ten_in_flight(growth);
        // The first of ten is lost; all others arrive but the last two.
        for end in 2..=8 {
            conn.receives(ack(1).sack(&[(1001, end * 1000 + 1)]));
            conn.sends_some();
        }
        let sent = until(&mut conn, 299);
        assert!(sent.iter().any(|(_, segment)| segment == "1..1001"), "{growth:?} {sent:?}");
        assert_eq!(conn.losses.len(), 1, "{growth:?}");
        assert!(conn.cwnd() >= 4000, "{growth:?} {}", conn.cwnd());
        let end = conn.tcp.view().snd_max.value().expect("exact").since(OURS);
        conn.receives(ack(end));
        until(&mut conn, 300);
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
                until(&mut conn, 210);
                let (probe, release) = (None, Release::Resume);
                let keep = Assign::Keep;
                conn.acts(Act::Hold { probe, rewind_snd_nxt: false, timers, cwnd: keep, release });
                conn.receives(ack(10_001));
                conn.quiet_until(5000);
                conn.acts(Act::Resume { cwnd, ssthresh: Assign::Keep, rto: Assign::Keep });
                assert_eq!(conn.cwnd(), expected, "{growth:?} {cwnd:?}");
                let sent = until(&mut conn, 5090).len();
                assert_eq!(sent, expected as usize / 1000, "{growth:?} {timers:?} {cwnd:?}");
            }
        }
    }
}

/// An acknowledgment with any contents, also those that no connection has.
fn any_ack(random: &mut RandomStream, now: Instant) -> AckedData {
    let mut upto = |most: u64| random.uniform_below(most + 1);
    let point = Seq(upto(u64::from(u32::MAX)) as u32);
    let phase = match upto(2) {
        0 => RecoveryPhase::Open,
        1 => RecoveryPhase::Recovery { point },
        _ => RecoveryPhase::Loss { point },
    };
    let rate = RateSample {
        delivered: upto(1 << 40),
        interval: (upto(3) > 0).then(|| Duration::from_nanos(upto(1 << 40))),
        app_limited: upto(1) == 0,
        prior_delivered: upto(1 << 40),
        total_delivered: upto(1 << 40),
        total_lost: upto(1 << 40),
        lost: upto(1 << 33),
        sent_in_flight: upto(u64::from(u32::MAX)) as u32,
        prior_at: now,
    };
    AckedData {
        bytes: upto(u64::from(u32::MAX)) as u32,
        mss: upto(65_535) as u32,
        srtt: (upto(1) == 0).then(|| Duration::from_nanos(upto(1 << 36))),
        rtt: (upto(1) == 0).then(|| Duration::from_nanos(upto(1 << 36))),
        phase,
        prior_in_flight: upto(u64::from(u32::MAX)) as u32,
        in_flight: upto(u64::from(u32::MAX)) as u32,
        lost: (upto(3) / 3 * upto(1 << 20)) as u32,
        rate: (upto(4) > 0).then_some(rate),
        pacing_wait: Duration::from_nanos(upto(1 << 32)),
        ..no_data()
    }
}

proptest! {
    #[test]
    fn any_events_leave_a_window_and_a_rate(seed in any::<u64>(), growth in 0..2_usize) {
        let mut random = RandomStream::new(seed, "events", 0);
        let mut control = new(CONTROLS[growth], &ControlOptions { seed, ..ControlOptions::default() });
        let mut window = CongestionWindow { cwnd: 10_000, ssthresh: MAX_WINDOW };
        let mut now = Instant::ZERO;
        if seed % 2 == 0 {
            let by = Established { mss: 1000, rtt: Some(Duration::from_nanos(seed % 1_000_000_000)) };
            control.on_established(now, &window, by);
        }
        for _ in 0..300 {
            now += Duration::from_nanos(random.uniform_below(1 << 31));
            match random.uniform_below(12) {
                0 => window.ssthresh = control.on_loss(now, &window, 5000, 1000),
                1 => window.ssthresh = control.on_ecn(now, &window, 5000, 1000),
                2 => control.on_timeout(),
                3 => control.on_undo(),
                4 => control.on_thaw(now, Duration::from_nanos(random.uniform_below(1 << 40))),
                5 => control.on_window_assigned(now, &window, random.uniform_below(8) == 0),
                6 => control.on_reduction_requested(now, &mut window),
                7 => {
                    let sent = SentData { bytes: 1000, in_flight: 0, after_idle: true };
                    control.on_sent(now, &mut window, sent);
                }
                8 => {
                    let start = Seq(random.uniform_below(1 << 32) as u32);
                    let lost = LostSegment {
                        range: SeqRange::new(start, start + 1000),
                        sent_in_flight: random.uniform_below(1 << 32) as u32,
                        lost: random.uniform_below(1 << 33),
                        delivered: random.uniform_below(1 << 40),
                        app_limited: false,
                    };
                    control.on_segment_lost(now, &window, &lost);
                }
                _ => {
                    let acked = any_ack(&mut random, now);
                    control.on_ack(now, &mut window, &acked);
                }
            }
            prop_assert!((1..=MAX_WINDOW).contains(&window.cwnd), "{window:?} {control:?}");
            if let Some(rate) = control.pacing_rate() {
                prop_assert!(rate.bytes_per_second.is_finite() && rate.bytes_per_second > 0.0);
                prop_assert!(rate.quantum > 0, "{control:?}");
            }
        }
    }
}
