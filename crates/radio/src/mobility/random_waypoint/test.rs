use driftway_base::{Duration, Instant, RandomStream};

use super::{RandomWaypoint, InitialDistribution, WaypointTrajectory, mean_distance, uniform_point};
use crate::Mobility;
use crate::mobility::Leg;

const MODEL: RandomWaypoint = RandomWaypoint {
    area: (1500.0, 600.0),
    speed: (1.0, 19.0),
    pause: (Duration::from_secs(20), Duration::from_secs(20)),
    start: InitialDistribution::SteadyState,
};

/// The leg that holds at a time (s), of each of many nodes.
fn legs(model: RandomWaypoint, seconds: u64) -> Vec<Leg> {
    let now = Instant::from_secs(seconds);
    let walk = |node| {
        let mut walk = WaypointTrajectory::new(model, 3, node);
        loop {
            let leg = walk.next_leg();
            if leg.until > now {
                return leg;
            }
        }
    };
    (0..20_000).map(walk).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Of the moving ones, m/s.
fn mean_speed(legs: &[Leg]) -> f64 {
    mean(legs.iter().map(Leg::speed).filter(|speed| *speed > 0.0)) * 1e9
}

fn paused(legs: &[Leg]) -> f64 {
    mean(legs.iter().map(|leg| f64::from(u8::from(leg.speed() == 0.0))))
}

/// How far nodes are from the centre, on the longer axis.
fn spread(legs: &[Leg], seconds: u64) -> f64 {
    mean(legs.iter().map(|leg| (leg.at(Instant::from_secs(seconds)).0 - 750.0).abs()))
}

#[test]
fn the_mean_distance_of_two_points() {
    // A unit square's: (2 + √2 + 5·ln(1 + √2)) / 15; a line's: a third.
    assert!((mean_distance((1.0, 1.0)) - 0.521_405_433).abs() < 1e-9);
    assert!((mean_distance((3.0, 0.0)) - 1.0).abs() < 1e-12);
    assert!((mean_distance((3.0, 0.000_5)) - 1.0).abs() < 1e-6);
    let mut random = RandomStream::new(1, "test", 0);
    let sampled = mean((0..100_000).map(|_| {
        let (a, b) = (uniform_point(&mut random, MODEL.area), uniform_point(&mut random, MODEL.area));
        ((a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1)).sqrt()
    }));
    assert!((sampled / mean_distance(MODEL.area) - 1.0).abs() < 0.005);
}

/// The steady state is the one that does not change: nothing may differ between the start and a
/// time by which every node has done many legs.
#[test]
fn a_steady_start_is_what_a_long_run_comes_to() {
    let (first, late) = (legs(MODEL, 0), legs(MODEL, 20_000));
    // In closed form: speeds as 1/v, and pauses by their share of time.
    let per_metre = libm::log(19.0) / 18.0;
    let share = 20.0 / (20.0 + mean_distance(MODEL.area) * per_metre);
    for (legs, seconds) in [(&first, 0), (&late, 20_000)] {
        assert!((mean_speed(legs) - 1.0 / per_metre).abs() < 0.12, "{}", mean_speed(legs));
        assert!((paused(legs) - share).abs() < 0.01, "{} for {share}", paused(legs));
        assert!((spread(legs, seconds) - spread(&late, 20_000)).abs() < 6.0);
    }
    // How long the first leg still takes, too.
    let left = |legs: &[Leg], seconds: u64| {
        mean(legs.iter().map(|leg| leg.until.since(Instant::from_secs(seconds)).as_secs_f64()))
    };
    let (first, late) = (left(&first, 0), left(&late, 20_000));
    assert!((first / late - 1.0).abs() < 0.04, "{first} and {late}");
}

#[test]
fn a_uniform_start_is_not_steady() {
    let model = RandomWaypoint { start: InitialDistribution::Uniform, ..MODEL };
    let first = legs(model, 0);
    // All pause, anywhere: a quarter of the width from the middle.
    assert_eq!(paused(&first), 1.0);
    assert!((spread(&first, 0) - 375.0).abs() < 5.0, "{}", spread(&first, 0));
    let (soon, late) = (legs(model, 25), legs(model, 20_000));
    assert!(mean_speed(&soon) > 9.0, "{}", mean_speed(&soon));
    assert!(mean_speed(&late) < 6.5, "{}", mean_speed(&late));
    assert!(spread(&late, 20_000) < 320.0, "{}", spread(&late, 20_000));
}

/// navidi-camp-2004 §4: a pause that is met is longer than others, and half of it is over.
#[test]
fn a_pause_that_is_met_follows_its_residual() {
    let pause = (Duration::from_secs(10), Duration::from_secs(40));
    let model = RandomWaypoint { pause, ..MODEL };
    let first = legs(model, 0);
    let pausing = first.iter().filter(|leg| leg.speed() == 0.0);
    let left = mean(pausing.map(|leg| leg.until.as_nanos() as f64 / 1e9));
    // E[p²] / (2·E[p]) of a uniform pause.
    let expected = (64_000.0 - 1000.0) / 90.0 / 50.0;
    assert!((left / expected - 1.0).abs() < 0.02, "{left} for {expected}");
}

/// CMU's scenarios write `pause = 900 s` in runs of 900 s for nodes that do not move. They do not if
/// they begin with a whole pause.
#[test]
fn a_pause_as_long_as_the_run_keeps_all_nodes_only_where_they_begin_with_it() {
    let run = Duration::from_secs(900);
    let classic = RandomWaypoint {
        area: (1500.0, 300.0),
        speed: (0.0, 20.0),
        pause: (run, run),
        start: InitialDistribution::Uniform,
    };
    let end = Instant::ZERO + run;
    for leg in legs(classic, 0) {
        assert!(leg.speed() == 0.0 && leg.until == end, "{leg:?}");
    }

    let steady = RandomWaypoint { speed: (1.0, 19.0), start: InitialDistribution::SteadyState, ..classic };
    let first = legs(steady, 0);
    // 900 s in a pause, 84 s on a way: eleven nodes in twelve begin in a pause.
    let share = 900.0 / (900.0 + mean_distance(steady.area) * libm::log(19.0) / 18.0);
    assert!((0.91..0.92).contains(&share), "{share}");
    assert!((paused(&first) - share).abs() < 0.01, "{} for {share}", paused(&first));
    // What is left of it is anything up to all of it, so that all of them leave during the run.
    let pausing = || first.iter().filter(|leg| leg.speed() == 0.0);
    assert!(pausing().all(|leg| leg.until < end));
    for part in [0.25, 0.5, 0.75] {
        let over = |leg: &Leg| leg.until.as_nanos() as f64 <= part * run.as_nanos() as f64;
        let left = mean(pausing().map(|leg| f64::from(u8::from(over(leg)))));
        assert!((left - part).abs() < 0.015, "{left} of {part}");
    }
}

#[test]
fn legs_join_stay_inside_and_keep_to_the_speeds() {
    for start in [InitialDistribution::Uniform, InitialDistribution::SteadyState] {
        let mut walk = WaypointTrajectory::new(RandomWaypoint { start, ..MODEL }, 1, 5);
        let mut before = walk.next_leg();
        assert_eq!(before.since, Instant::ZERO);
        for _ in 0..1000 {
            let leg = walk.next_leg();
            assert_eq!(leg.since, before.until);
            let (x, y) = before.at(before.until);
            // A nanosecond at 19 m/s.
            assert!((x - leg.x).abs() < 2e-8 && (y - leg.y).abs() < 2e-8);
            assert!((0.0..=1500.0).contains(&leg.x) && (0.0..=600.0).contains(&leg.y));
            let speed = leg.speed() * 1e9;
            assert!(speed == 0.0 || (0.999_999..19.000_001).contains(&speed), "{speed}");
            before = leg;
        }
    }
}

#[test]
fn without_pause_and_in_one_speed() {
    let pause = (Duration::ZERO, Duration::ZERO);
    let legs = legs(RandomWaypoint { pause, speed: (10.0, 10.0), ..MODEL }, 0);
    assert!(legs.iter().all(|leg| (leg.speed() * 1e9 - 10.0).abs() < 1e-9));
}

/// Movements are the same for ever, and adding a node moves no other.
#[test]
fn ways_are_frozen() {
    let first = |nodes| {
        let mut mobility = Mobility::random_waypoint(&MODEL, nodes, 1).expect("a good model");
        (0..3).map(|_| mobility.next_leg(1).expect("a leg")).collect::<Vec<_>>()
    };
    assert_eq!(first(2), first(50));
    let legs: Vec<_> = first(2).iter().map(|leg| (leg.since.as_nanos(), leg.x, leg.y)).collect();
    assert_eq!(legs, FROZEN);
}
const FROZEN: [(u64, f64, f64); 3] = [
    (0, 974.3618634345735, 307.7157506739652),
    (245_371_322_096, 1238.0447334524988, 318.08709314106324),
    (265_371_322_096, 1238.0447334524988, 318.08709314106324),
];

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let refused = |model: RandomWaypoint| {
        Mobility::random_waypoint(&model, 1, 1).map(|_| ()).expect_err("refused").parameter
    };
    assert_eq!(refused(RandomWaypoint { area: (0.0, 0.0), ..MODEL }), "area");
    assert_eq!(refused(RandomWaypoint { area: (f64::NAN, 1.0), ..MODEL }), "area");
    assert_eq!(refused(RandomWaypoint { speed: (2.0, 1.0), ..MODEL }), "speed");
    assert_eq!(refused(RandomWaypoint { speed: (0.0, 10.0), ..MODEL }), "speed");
    let pause = (Duration::from_secs(2), Duration::from_secs(1));
    assert_eq!(refused(RandomWaypoint { pause, ..MODEL }), "pause");
    // Without the steady state, the lowest speed may be 0.
    let model = RandomWaypoint { speed: (0.0, 10.0), start: InitialDistribution::Uniform, ..MODEL };
    assert!(Mobility::random_waypoint(&model, 1, 1).is_ok());
}
