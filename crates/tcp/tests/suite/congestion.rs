//! Congestion control: RFC 5681 §3.1, RFC 9438; each policy driven alone, and in a connection.

use crate::common::test_connection::*;
use driftway_base::{Act, Assign, Duration, HeldTimers, Instant, Release};
use driftway_tcp::congestion::{
    AckedData, CongestionControl, CongestionWindow, ControlOptions, new,
};
use driftway_tcp::{Config, ControlKind};

const MSS: u32 = 1000;

/// One window of acknowledgments from `at` on, spread over a round trip of 100 ms.
fn round_trip(growth: &mut dyn CongestionControl, window: &mut CongestionWindow, at: Instant) {
    let segments = window.cwnd / MSS;
    for n in 0..segments {
        let now = at + Duration::from_millis(100).times(u64::from(n)).over(u64::from(segments));
        growth.on_ack(now, window, &acked(true));
    }
}

fn acked(cwnd_limited: bool) -> AckedData {
    let srtt = Some(Duration::from_millis(100));
    AckedData { bytes: MSS, mss: MSS, byte_counting: false, srtt, cwnd_limited, ..no_data() }
}

/// Grows the window for `seconds` s from second `from` on.
fn grow(
    growth: &mut dyn CongestionControl,
    window: &mut CongestionWindow,
    from: u64,
    seconds: u64,
) {
    for tenth in 0..seconds * 10 {
        round_trip(growth, window, Instant::from_millis(from * 1000 + tenth * 100));
    }
}

/// CUBIC in congestion avoidance after a loss at 100 segments.
fn reduced() -> (Box<dyn CongestionControl>, CongestionWindow) {
    let mut cubic = new(ControlKind::Cubic, &ControlOptions::default());
    let mut window = CongestionWindow { cwnd: 100 * MSS, ssthresh: 0 };
    window.ssthresh = cubic.on_loss(Instant::ZERO, &window, window.cwnd, MSS);
    window.cwnd = window.ssthresh;
    (cubic, window)
}

#[test]
fn slow_start_doubles_and_avoidance_adds_a_segment_per_round_trip() {
    let mut conn = TestConnection::established(&Config { initial_window: 2, ..plain() });
    conn.writes(1_000_000);
    conn.sends_some();
    let mut acked = 1;
    for expected in [4000, 8000, 16_000] {
        for _ in 0..conn.cwnd() / MSS {
            acked += MSS;
            conn.receives(ack(acked));
            conn.sends_some();
        }
        assert_eq!(conn.cwnd(), expected);
    }
    let mut reno = new(ControlKind::Reno, &ControlOptions::default());
    let mut window = CongestionWindow { cwnd: 10_000, ssthresh: 10_000 };
    round_trip(&mut *reno, &mut window, Instant::ZERO);
    assert!((10_900..=11_000).contains(&window.cwnd), "{window:?}");
}

#[test]
fn a_stretch_acknowledgment_grows_the_window_by_one_segment() {
    // RFC 5681 §3.1, equation 2.
    let mut conn = TestConnection::in_flight(&plain(), 4);
    conn.receives(ack(3001));
    assert_eq!(conn.cwnd(), 5000);
}

#[test]
fn cubic_excludes_application_limited_time() {
    // RFC 9438 §4.2, §5.8: a pause of a minute does not count as a minute of growth.
    let (mut cubic, mut window) = reduced();
    grow(&mut *cubic, &mut window, 0, 2);
    let before = window.cwnd;
    cubic.on_ack(Instant::from_secs(2), &mut window, &acked(false));
    assert_eq!(window.cwnd, before);
    cubic.on_ack(Instant::from_secs(62), &mut window, &acked(true));
    assert!(window.cwnd < before + MSS, "{before} {window:?}");
    let (mut other, mut steady) = reduced();
    grow(&mut *other, &mut steady, 0, 4);
    grow(&mut *cubic, &mut window, 62, 2);
    assert!(window.cwnd.abs_diff(steady.cwnd) < 2 * MSS, "{window:?} {steady:?}");
}

#[test]
fn after_a_timeout_cubic_starts_at_its_inflection_point() {
    // RFC 9438 §4.8: K is zero and W_max is cwnd at the start of the stage.
    let (mut cubic, mut window) = reduced();
    let (mut timed_out, mut other) = reduced();
    timed_out.on_timeout();
    window.cwnd = 50 * MSS;
    other.cwnd = 50 * MSS;
    window.ssthresh = 50 * MSS;
    other.ssthresh = 50 * MSS;
    grow(&mut *cubic, &mut window, 10, 2);
    grow(&mut *timed_out, &mut other, 10, 2);
    // Far below the old W_max the curve is steep; at the inflection point it is flat.
    assert!(window.cwnd > 75 * MSS, "{window:?}");
    assert!(other.cwnd < 65 * MSS, "{other:?}");
}

#[test]
fn slow_start_ends_cubics_congestion_avoidance_stage() {
    // RFC 9438 §4.2: the next stage has its own start. No reduction precedes it if a segment times
    // out twice, or if an aid restarts the sender.
    let (mut cubic, mut window) = reduced();
    grow(&mut *cubic, &mut window, 0, 10);
    window = CongestionWindow { cwnd: 10 * MSS, ssthresh: 20 * MSS };
    grow(&mut *cubic, &mut window, 60, 1);
    // From 20 segments, K is 5.85 s; after nine round trips of 0.1 s equation 1 gives 51.5.
    assert!((50 * MSS..53 * MSS).contains(&window.cwnd), "{window:?}");
}

#[test]
fn one_acknowledgment_grows_cubic_by_at_most_half_of_the_window() {
    // RFC 9438 §4.4: the target of the next round trip, even for two windows at once.
    let (mut cubic, mut window) = reduced();
    cubic.on_ack(Instant::ZERO, &mut window, &acked(true));
    let before = window.cwnd;
    let many = AckedData { bytes: 2 * before, ..acked(true) };
    cubic.on_ack(Instant::from_secs(20), &mut window, &many);
    assert!(window.cwnd <= before + before / 2, "{before} {window:?}");
}

/// The window of a connection after a loss, ten round trips, a `pause` that returns its end (ms),
/// and five round trips.
fn five_round_trips_after(pause: impl FnOnce(&mut TestConnection, u64) -> u64) -> u32 {
    let config = Config { growth: ControlKind::Cubic, limited_transmit: false, ..plain() };
    let mut conn = TestConnection::in_flight(&config, 10);
    conn.writes(10_000_000);
    conn.sends_some();
    for _ in 0..3 {
        conn.receives(ack(1));
    }
    conn.sends_some();
    let mut ms = 200;
    let mut acked = 10_001;
    let mut round_trips = |conn: &mut TestConnection, ms: &mut u64, count: u32| {
        for _ in 0..count {
            conn.at(*ms);
            let end = conn.tcp.view().snd_max.value().unwrap().since(OURS);
            while acked < end {
                acked = (acked + MSS).min(end);
                conn.receives(ack(acked));
                conn.sends_some();
            }
            *ms += 100;
        }
    };
    conn.at(ms);
    conn.receives(ack(10_001));
    conn.sends_some();
    ms += 100;
    round_trips(&mut conn, &mut ms, 10);
    ms = pause(&mut conn, ms);
    round_trips(&mut conn, &mut ms, 5);
    conn.cwnd()
}

#[test]
fn cubic_does_not_grow_during_a_hold_or_a_closed_window() {
    // RFC 9438 §5.8
    let steady = five_round_trips_after(|_, ms| ms);
    let held = |timers| {
        five_round_trips_after(move |conn, ms| {
            let (probe, cwnd) = (None, Assign::Keep);
            let release = Release::Resume;
            conn.acts(Act::Hold { probe, rewind_snd_nxt: false, timers, cwnd, release });
            conn.at(ms + 60_000);
            let (ssthresh, rto) = (Assign::Keep, Assign::Keep);
            conn.acts(Act::Resume { cwnd, ssthresh, rto });
            conn.sends_some();
            ms + 60_100
        })
    };
    let closed = five_round_trips_after(|conn, ms| {
        conn.at(ms);
        let end = conn.tcp.view().snd_max.value().unwrap().since(OURS);
        conn.receives(ack(end).window(0));
        for second in 1..60 {
            conn.at(ms + second * 1000);
            conn.sends_some();
            conn.receives(ack(end).window(0));
        }
        conn.at(ms + 60_000);
        conn.receives(ack(end));
        conn.sends_some();
        ms + 60_100
    });
    for window in [held(HeldTimers::Freeze), held(HeldTimers::Stop), closed] {
        assert!(window.abs_diff(steady) < 2 * MSS, "{steady} {window}");
    }
}

#[test]
fn cubic_is_no_slower_than_reno_in_small_windows() {
    // RFC 9438 §4.3
    let mut cubic = new(ControlKind::Cubic, &ControlOptions::default());
    let mut window = CongestionWindow { cwnd: 4 * MSS, ssthresh: 0 };
    window.ssthresh = cubic.on_loss(Instant::ZERO, &window, window.cwnd, MSS);
    window.cwnd = window.ssthresh;
    let mut estimate = f64::from(window.cwnd) / 1000.0;
    for tenth in 0..10 {
        round_trip(&mut *cubic, &mut window, Instant::from_millis(tenth * 100));
        estimate += if estimate < 4.0 { 9.0 / 17.0 } else { 1.0 };
    }
    let segments = f64::from(window.cwnd) / 1000.0;
    assert!((segments - estimate).abs() < 1.5, "{segments} {estimate}");
}

#[test]
fn a_cubic_connection_reduces_by_three_tenths() {
    let config = Config { growth: ControlKind::Cubic, limited_transmit: false, ..plain() };
    let mut conn = TestConnection::in_flight(&config, 10);
    for _ in 0..3 {
        conn.receives(ack(1));
    }
    conn.sends(["1..1001"]);
    assert_eq!(conn.ssthresh(), 7000);
}

#[test]
fn source_quench_is_ignored_by_default() {
    // RFC 6633 §3; 4.4BSD restarts.
    for (source_quench, expected) in [(false, 8000), (true, 1000)] {
        let mut conn = TestConnection::in_flight(&Config { source_quench, ..plain() }, 8);
        conn.does(|tcp, _| tcp.on_source_quench());
        assert_eq!((conn.cwnd(), conn.tcp.stats().retransmissions), (expected, 0));
    }
}
