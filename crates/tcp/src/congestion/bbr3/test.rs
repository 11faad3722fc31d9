//! The states of version 3 as time lines over a path of a megabyte per second and 40 ms, which holds
//! 40 segments.

use std::vec::Vec;

use driftway_base::{Duration, Instant, Seq, SeqRange};

use super::control::Bbr3;
use super::mode::Mode;
use crate::congestion::contract::{AckedData, CongestionControl, LostSegment};
use crate::congestion::path_test::{MSS, TestPath};
use crate::congestion::test::acked;
use crate::recovery_phase::RecoveryPhase;

fn path() -> TestPath<Bbr3> {
    TestPath::new(Bbr3::new(7))
}

fn at(mode: Mode) -> TestPath<Bbr3> {
    let mut path = path();
    path.run_until(|path| path.control.mode == mode);
    path
}

/// Estimated bandwidth in kB/s.
fn bandwidth(path: &TestPath<Bbr3>) -> u32 {
    (path.control.bandwidth.get() / 1000.0) as u32
}

/// The modes through which a path goes in `ms`, each with its start.
fn modes(path: &mut TestPath<Bbr3>, ms: u64) -> Vec<(Mode, Instant)> {
    let mut modes: Vec<(Mode, Instant)> = Vec::new();
    path.run(ms, |path| {
        if modes.last().is_none_or(|(mode, _)| *mode != path.control.mode) {
            modes.push((path.control.mode, path.now));
        }
    });
    modes
}

/// A loss of the segment `number`, one of `lost` bytes of `in_flight`.
fn lost(number: u32, lost: u64, in_flight: u32) -> LostSegment {
    LostSegment {
        range: SeqRange::new(Seq(number * MSS), Seq((number + 1) * MSS)),
        sent_in_flight: in_flight,
        lost,
        delivered: 0,
        app_limited: false,
    }
}

#[test]
fn startup_finds_the_bandwidth_and_the_first_cycle_begins_below_it() {
    let mut path = path();
    let start = path.now;
    path.run_until(|path| bandwidth(path) >= 980);
    assert!(path.now.since(start) < Duration::from_millis(250), "{:?}", path.now.since(start));
    let names: Vec<_> = modes(&mut path, 1500).into_iter().map(|(mode, _)| mode).collect();
    // When the queue is drained, no more is in flight than in cruising: ProbeBwDown ends at once.
    assert_eq!(names, [Mode::Startup, Mode::Drain, Mode::ProbeBwCruise]);
    assert!((980..=1010).contains(&bandwidth(&path)), "{}", bandwidth(&path));
}

#[test]
fn losses_of_a_round_end_startup_and_set_the_long_term_bound() {
    let mut path = path();
    path.queue = 12;
    path.run_until(|path| path.control.mode != Mode::Startup);
    // A plateau would take three rounds of a full queue.
    let rounds = path.control.rounds.count();
    assert!(rounds <= 7, "{rounds}");
    let bound = path.control.long_term.in_flight.unwrap_or(0.0);
    assert!((38_000.0..75_000.0).contains(&bound), "{bound}");
}

#[test]
fn a_cycle_goes_down_cruises_refills_and_goes_up() {
    let mut path = at(Mode::ProbeBwUp);
    let modes: Vec<_> = modes(&mut path, 12_000);
    let ups: Vec<_> = modes.iter().filter(|(mode, _)| *mode == Mode::ProbeBwUp).collect();
    for two in ups.windows(2) {
        let ms = two[1].1.since(two[0].1).as_millis();
        // Reno would take as many rounds as the path holds segments: 41 of a little over 41 ms.
        assert!((1700..3300).contains(&ms), "{ms}");
    }
    assert!(ups.len() >= 4, "{modes:?}");
    for two in modes.windows(2) {
        use Mode::{ProbeBwCruise as Cruise, ProbeBwDown as Down, ProbeBwRefill as Refill};
        let expected = match two[0].0 {
            Mode::ProbeBwUp => [Down, Mode::ProbeRtt],
            Down => [Cruise, Mode::ProbeRtt],
            Cruise => [Refill, Mode::ProbeRtt],
            Refill => [Mode::ProbeBwUp, Mode::ProbeRtt],
            _ => [Cruise, Cruise],
        };
        assert!(expected.contains(&two[1].0), "{two:?}");
    }
}

#[test]
fn every_five_seconds_half_of_the_path_is_left_empty() {
    let mut path = at(Mode::ProbeBwCruise);
    let mut probes: Vec<(Instant, Instant)> = Vec::new();
    let mut least = u32::MAX;
    let mut inside = false;
    path.run(21_000, |path| {
        let probing = path.control.mode == Mode::ProbeRtt;
        match (inside, probing) {
            (false, true) => probes.push((path.now, path.now)),
            (true, true) => {
                least = least.min(path.in_flight());
                probes.last_mut().expect("a probe").1 = path.now;
            }
            _ => {}
        }
        inside = probing;
    });
    assert!((3..=4).contains(&probes.len()), "{probes:?}");
    assert!((18 * MSS..=21 * MSS).contains(&least), "{least}");
    for (from, to) in &probes {
        assert!((200..330).contains(&to.since(*from).as_millis()), "{probes:?}");
    }
    assert!((980..=1010).contains(&bandwidth(&path)), "low samples of the probe do not count");
}

#[test]
fn a_probe_that_loses_more_than_two_per_cent_ends_and_bounds_what_is_in_flight() {
    let mut path = at(Mode::ProbeBwUp);
    path.control.on_segment_lost(path.now, &path.window, &lost(1, 800, 41_000));
    assert_eq!((path.control.mode, path.control.long_term.in_flight), (Mode::ProbeBwUp, None));
    path.control.on_segment_lost(path.now, &path.window, &lost(2, 1000, 41_000));
    assert_eq!(path.control.mode, Mode::ProbeBwDown);
    let bound = path.control.long_term.in_flight.unwrap_or(0.0);
    assert!((40_000.0..41_000.0).contains(&bound), "{bound}");
    // Only once for a probe.
    path.control.on_segment_lost(path.now, &path.window, &lost(3, 9000, 41_000));
    assert_eq!(path.control.long_term.in_flight, Some(bound));
}

#[test]
fn in_a_queue_that_is_too_small_a_cycle_leaves_headroom() {
    let mut path = path();
    path.queue = 4;
    path.run_until(|path| {
        path.control.mode == Mode::ProbeBwCruise && path.control.long_term.in_flight.is_some()
    });
    let bound = path.control.long_term.in_flight.unwrap_or(0.0);
    assert!((35_000.0..50_000.0).contains(&bound), "{bound}");
    assert!(f64::from(path.window.cwnd) <= bound * 0.85 + 1.0, "{} {bound}", path.window.cwnd);
}

#[test]
fn a_bound_that_is_too_low_grows_faster_in_each_round_of_a_probe() {
    let mut path = at(Mode::ProbeBwCruise);
    path.run(300, |_| {});
    path.control.long_term.in_flight = Some(20_000.0);
    path.window.cwnd = 20_000;
    path.run_until(|path| path.control.mode == Mode::ProbeBwUp);
    let mut bounds = Vec::new();
    while path.control.mode == Mode::ProbeBwUp && bounds.len() < 6 {
        bounds.push(path.control.long_term.in_flight.unwrap_or(0.0));
        path.run(41, |_| {});
    }
    let growth: Vec<_> = bounds.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(growth[0] < 3000.0, "{bounds:?}");
    assert!(growth.windows(2).take(3).all(|two| two[1] > two[0]), "{bounds:?}");
    path.run(5000, |_| {});
    assert!(path.control.long_term.in_flight.is_some_and(|bound| bound > 40_000.0));
}

#[test]
fn a_loss_while_cruising_lowers_the_short_term_bounds_until_the_next_probe() {
    let mut path = at(Mode::ProbeBwCruise);
    path.run(200, |_| {});
    let loss = LostSegment { delivered: path.delivered, ..lost(1, 1000, 40_000) };
    path.control.on_segment_lost(path.now, &path.window, &loss);
    path.run_until(|path| path.control.short_term.bandwidth.is_some());
    let bounds = (path.control.short_term.bandwidth, path.control.short_term.in_flight);
    assert!(bounds.0.is_some_and(|rate| (0.69e6..1.01e6).contains(&rate)), "{bounds:?}");
    assert!(bounds.1.is_some_and(|bytes| bytes < 80_000.0), "{bounds:?}");
    assert_eq!(path.control.long_term.in_flight, None);
    path.run_until(|path| path.control.mode == Mode::ProbeBwRefill);
    let bounds = (path.control.short_term.bandwidth, path.control.short_term.in_flight);
    assert_eq!(bounds, (None, None));
}

#[test]
fn a_shared_queue_without_room_keeps_losses_low() {
    let mut path = path();
    path.queue = 20;
    path.run(5000, |_| {});
    let (before, delivered) = (path.lost, path.delivered);
    path.run(20_000, |_| {});
    let (lost, delivered) = (path.lost - before, path.delivered - delivered);
    assert!(lost * 100 < delivered, "{lost} of {delivered}");
    assert!(delivered > 17_000_000, "{delivered}");
}

#[test]
fn half_a_per_cent_of_losses_costs_little() {
    let mut path = path();
    path.loses_each = 200;
    path.run(20_000, |_| {});
    let share = path.delivered as f64 / 20e6;
    assert!(share > 0.7, "{share}");
}

#[test]
fn an_echo_of_congestion_counts_as_too_many_losses() {
    let mut path = path();
    path.run(60, |_| {});
    assert_eq!(path.control.mode, Mode::Startup);
    path.control.on_ecn(path.now, &path.window, 0, MSS);
    path.run(50, |_| {});
    assert_ne!(path.control.mode, Mode::Startup);
    let mut path = at(Mode::ProbeBwUp);
    path.control.on_ecn(path.now, &path.window, 0, MSS);
    assert_eq!(path.control.mode, Mode::ProbeBwDown);
    assert!(path.control.long_term.in_flight.is_some_and(|bound| bound < 30_000.0));
    let mut path = at(Mode::ProbeBwCruise);
    let mut window = path.window;
    path.control.on_reduction_requested(path.now, &mut window);
    path.run(200, |_| {});
    assert!(path.control.short_term.bandwidth.is_some());
}

#[test]
fn an_undo_restores_the_window_and_the_bounds() {
    let mut path = at(Mode::ProbeBwUp);
    let before = path.window.cwnd;
    path.control.on_loss(path.now, &path.window, 0, MSS);
    path.control.on_segment_lost(path.now, &path.window, &lost(2, 1000, 41_000));
    path.control.on_timeout();
    path.window.cwnd = MSS;
    assert!(path.control.long_term.in_flight.is_some());
    let loss = RecoveryPhase::Loss { point: Seq(0) };
    let mut window = path.window;
    path.control.on_ack(path.now, &mut window, &AckedData { phase: loss, ..acked(MSS) });
    assert_eq!(window.cwnd, 4 * MSS, "the least window");
    path.control.on_undo();
    assert_eq!(path.control.long_term.in_flight, None);
    path.control.on_ack(path.now, &mut window, &acked(MSS));
    assert!(window.cwnd + 8 * MSS >= before, "{} {before}", window.cwnd);
}

#[test]
fn what_the_application_limits_does_not_lower_the_estimate() {
    let mut path = at(Mode::ProbeBwCruise);
    let before = bandwidth(&path);
    path.application = Some(0.2e6);
    path.run(10_000, |_| {});
    assert_eq!(bandwidth(&path), before);
    // A segment every 30 s: no probe of the round trip, and the whole rate afterwards.
    path.application = Some(33.0);
    path.run(40_000, |_| {});
    path.run(60_000, |path| assert_ne!(path.control.mode, Mode::ProbeRtt));
    path.application = None;
    let delivered = path.delivered;
    path.run(1000, |_| {});
    assert!(path.delivered - delivered > 850_000, "{}", path.delivered - delivered);
}

#[test]
fn frozen_time_expires_nothing_and_a_new_window_forgets_the_path() {
    let mut path = at(Mode::ProbeBwCruise);
    path.now += Duration::from_secs(60);
    path.control.on_thaw(path.now, Duration::from_secs(60));
    let mut window = path.window;
    path.control.on_ack(path.now, &mut window, &acked(MSS));
    assert_eq!(path.control.mode, Mode::ProbeBwCruise);
    path.control.on_window_assigned(path.now, &window, false);
    assert_eq!(path.control.mode, Mode::ProbeBwCruise);
    path.window.cwnd = 10 * MSS;
    path.control.on_window_assigned(path.now, &path.window, true);
    assert_eq!((path.control.mode, bandwidth(&path)), (Mode::Startup, 0));
    path.rate = 0.3e6;
    path.run_until(|path| path.control.mode == Mode::ProbeBwCruise);
    assert!((280..=320).contains(&bandwidth(&path)), "{}", bandwidth(&path));
}
