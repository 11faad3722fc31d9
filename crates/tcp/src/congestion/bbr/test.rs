//! The modes of version 1 as time lines over a path of a megabyte per second and 40 ms, which holds
//! 40 segments.

use std::vec::Vec;

use driftway_base::{Duration, Instant};

use super::{Bbr, Mode};
use crate::congestion::contract::{
    CongestionControl, CongestionWindow, ControlDescriptor, ControlOptions,
};
use crate::congestion::path_test::{MSS, TestPath};
use crate::congestion::test::acked;
use crate::recovery_phase::RecoveryPhase;

fn path() -> TestPath<Bbr> {
    TestPath::new(Bbr::from_options(&ControlOptions { seed: 7, ..ControlOptions::default() }))
}

fn probing() -> TestPath<Bbr> {
    let mut path = path();
    path.run_until(|path| path.control.mode == Mode::ProbeBw);
    path
}

/// Estimated bandwidth in kB/s.
fn bandwidth(path: &TestPath<Bbr>) -> u32 {
    (path.control.bandwidth.get() / 1000.0) as u32
}

#[test]
fn startup_finds_the_bandwidth_in_a_few_rounds_and_drain_empties_the_queue() {
    let mut path = path();
    let start = path.now;
    path.run_until(|path| bandwidth(path) >= 980);
    // From ten segments to forty in two doublings.
    assert!(path.now.since(start) < Duration::from_millis(250), "{:?}", path.now.since(start));
    assert_eq!(path.control.mode, Mode::Startup);
    path.run_until(|path| path.control.mode == Mode::Drain);
    let (rounds, queued) = (path.control.rounds.count(), path.in_flight());
    assert!(rounds <= 9, "{rounds}");
    assert!(queued > 80 * MSS, "{queued}");
    path.run_until(|path| path.control.mode == Mode::ProbeBw);
    assert!(path.in_flight() <= 56 * MSS, "{}", path.in_flight());
    assert!((980..=1010).contains(&bandwidth(&path)), "{}", bandwidth(&path));
}

#[test]
fn probe_bw_sends_faster_then_slower_than_the_bandwidth() {
    let mut path = probing();
    // By then the bursts of Startup are forgotten.
    path.run(1000, |_| {});
    let mut gains: Vec<f64> = Vec::new();
    let delivered = path.delivered;
    path.run(2000, |path| {
        let gain = path.control.pacing_gain();
        if gains.last() != Some(&gain) {
            gains.push(gain);
        }
        assert!(path.window.cwnd <= 2 * 41 * MSS + 10 * MSS, "{}", path.window.cwnd);
    });
    let cycles = gains.windows(3).filter(|three| **three == [1.0, 1.25, 0.75]).count();
    // Eight phases of a round trip and a little.
    assert!((4..=6).contains(&cycles), "{gains:?}");
    assert!(path.delivered - delivered > 1_940_000, "{}", path.delivered - delivered);
}

#[test]
fn more_bandwidth_is_found_in_a_few_cycles_and_less_counts_after_ten_rounds() {
    let mut path = probing();
    path.rate = 2e6;
    path.run(2500, |_| {});
    assert!(bandwidth(&path) > 1800, "{}", bandwidth(&path));
    path.rate = 0.5e6;
    path.run(200, |_| {});
    assert!(bandwidth(&path) > 1800, "{}", bandwidth(&path));
    path.run(6000, |_| {});
    assert!((450..=560).contains(&bandwidth(&path)), "{}", bandwidth(&path));
}

#[test]
fn every_ten_seconds_four_segments_are_in_flight_for_200_ms() {
    let mut path = probing();
    let mut spans: Vec<(Instant, Instant)> = Vec::new();
    let mut inside = false;
    path.run(35_000, |path| {
        let probes = path.control.mode == Mode::ProbeRtt;
        match (inside, probes) {
            (false, true) => spans.push((path.now, path.now)),
            (true, true) => {
                assert!(path.window.cwnd <= 4 * MSS);
                spans.last_mut().expect("a span").1 = path.now;
            }
            _ => {}
        }
        inside = probes;
    });
    assert_eq!(spans.len(), 3, "{spans:?}");
    for (from, to) in &spans {
        let ms = to.since(*from).as_millis();
        // 200 ms, and what it takes to drain what is in flight and to pass a round.
        assert!((200..330).contains(&ms), "{ms}");
    }
    for two in spans.windows(2) {
        let ms = two[1].0.since(two[0].1).as_millis();
        assert!((9_900..10_200).contains(&ms), "{ms}");
    }
    assert!((980..=1010).contains(&bandwidth(&path)), "low samples of the probe do not count");
    assert!(path.window.cwnd > 70 * MSS, "the window from before returns");
}

#[test]
fn a_loss_means_a_round_of_packet_conservation_and_then_the_window_from_before() {
    let mut path = probing();
    path.run(500, |_| {});
    let (before, model) = (path.window.cwnd, bandwidth(&path));
    path.control.on_loss(path.now, &path.window, 0, MSS);
    let recovery = RecoveryPhase::Recovery { point: driftway_base::Seq(0) };
    let mut window = path.window;
    let in_flight = 30 * MSS;
    let mut ack = |phase, lost, now| {
        let data = crate::congestion::contract::AckedData { phase, in_flight, lost, ..acked(MSS) };
        path.control.on_ack(now, &mut window, &data);
        window.cwnd
    };
    let now = path.now;
    assert_eq!(ack(recovery, MSS, now), in_flight + MSS);
    assert_eq!(ack(recovery, 0, now), in_flight + MSS);
    assert_eq!(ack(RecoveryPhase::Open, 0, now), before);
    assert_eq!(bandwidth(&path), model);
}

#[test]
fn a_per_cent_of_losses_costs_no_bandwidth() {
    let mut path = path();
    path.loses_each = 100;
    path.run(10_000, |_| {});
    let share = path.delivered as f64 / 10e6;
    assert!(share > 0.93, "{share}");
    assert!(path.lost > 50_000);
}

#[test]
fn a_timeout_keeps_the_model_and_an_undo_returns_the_window() {
    let mut path = probing();
    let (before, model) = (path.window.cwnd, bandwidth(&path));
    path.control.on_loss(path.now, &path.window, 0, MSS);
    path.control.on_timeout();
    path.window.cwnd = MSS;
    let loss = RecoveryPhase::Loss { point: driftway_base::Seq(0) };
    let now = path.now;
    let mut ack = |phase, window: &mut CongestionWindow| {
        let data = crate::congestion::contract::AckedData { phase, ..acked(MSS) };
        path.control.on_ack(now, window, &data);
        window.cwnd
    };
    let mut window = CongestionWindow { cwnd: MSS, ssthresh: 0 };
    assert_eq!(ack(loss, &mut window), 4 * MSS, "the least window");
    assert_eq!(ack(loss, &mut window), 5 * MSS, "from there as acknowledged");
    path.control.on_undo();
    let mut ack = |phase, window: &mut CongestionWindow| {
        let data = crate::congestion::contract::AckedData { phase, ..acked(MSS) };
        path.control.on_ack(now, window, &data);
        window.cwnd
    };
    assert_eq!(ack(RecoveryPhase::Open, &mut window), before);
    assert_eq!(bandwidth(&path), model);
}

#[test]
fn what_the_application_limits_does_not_lower_the_estimate() {
    let mut path = probing();
    path.run(1000, |_| {});
    let before = bandwidth(&path);
    path.application = Some(0.2e6);
    path.run(5000, |_| {});
    assert_eq!(bandwidth(&path), before);
}

#[test]
fn after_an_idle_time_it_paces_at_the_bandwidth_and_probes_no_round_trip() {
    let mut path = probing();
    path.run(1000, |_| {});
    // A segment every 30 s.
    path.application = Some(33.0);
    path.run(40_000, |_| {});
    path.run(60_000, |path| assert_eq!(path.control.mode, Mode::ProbeBw));
    let rate = path.control.pacing_rate().map_or(0.0, |rate| rate.bytes_per_second);
    assert!(rate > 0.7e6, "{rate}");
    path.application = None;
    let delivered = path.delivered;
    path.run(1000, |_| {});
    assert!(path.delivered - delivered > 900_000, "{}", path.delivered - delivered);
}

#[test]
fn frozen_time_expires_nothing() {
    let mut path = probing();
    path.run(1000, |_| {});
    path.now += Duration::from_secs(60);
    path.control.on_thaw(path.now, Duration::from_secs(60));
    let mut window = path.window;
    path.control.on_ack(path.now, &mut window, &acked(MSS));
    assert_eq!(path.control.mode, Mode::ProbeBw);
    let mut other = probing();
    other.run(1000, |_| {});
    other.now += Duration::from_secs(60);
    other.control.on_ack(other.now, &mut window, &acked(MSS));
    assert_eq!(other.control.mode, Mode::ProbeRtt, "time that has passed does");
}

#[test]
fn a_window_of_a_new_connection_forgets_the_path() {
    let mut path = probing();
    path.window.cwnd = 3 * MSS;
    path.control.on_window_assigned(path.now, &path.window, false);
    assert_eq!((path.control.mode, bandwidth(&path) > 900), (Mode::ProbeBw, true));
    path.window.cwnd = 10 * MSS;
    path.control.on_window_assigned(path.now, &path.window, true);
    assert_eq!((path.control.mode, bandwidth(&path)), (Mode::Startup, 0));
    path.rate = 0.3e6;
    path.run_until(|path| path.control.mode == Mode::ProbeBw);
    assert!((280..=320).contains(&bandwidth(&path)), "{}", bandwidth(&path));
}

#[test]
fn a_request_for_a_response_conserves_packets_for_a_round() {
    let mut path = probing();
    path.run(500, |_| {});
    path.control.on_reduction_requested(path.now, &mut path.window);
    path.window.cwnd = 20 * MSS;
    let mut most = 0;
    path.run(30, |path| most = most.max(path.window.cwnd));
    assert!(most <= 56 * MSS, "{most}");
    path.run(300, |_| {});
    assert!(path.window.cwnd > 70 * MSS);
}

#[test]
fn bursts_are_longer_on_a_short_path() {
    let burst = |micros| {
        let mut path = probing();
        path.control.min_rtt.start(path.now, Some(Duration::from_micros(micros)));
        path.control.pacing_rate().map(|rate| rate.quantum / MSS)
    };
    // A millisecond of a megabyte per second is less than two segments.
    assert_eq!([burst(40_000), burst(2100), burst(100)], [Some(2), Some(5), Some(65)]);
}
