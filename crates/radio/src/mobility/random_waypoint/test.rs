use driftway_base::{Duration, Instant, RandomStream, StationId};

use super::{
    InitialDistribution, RandomWaypoint, WaypointTrajectory, mean_distance, uniform_point,
};
use crate::Mobility;
use crate::mobility::{Leg, Trajectory};

const MODEL: RandomWaypoint = RandomWaypoint {
    area: (1500.0, 600.0),
    speed: (1.0, 19.0),
    pause: (Duration::from_secs(20), Duration::from_secs(20)),
    start: InitialDistribution::SteadyState,
};

/// The leg of each of many stations at a time (s).
fn legs(model: RandomWaypoint, seconds: u64) -> Vec<Leg> {
    let now = Instant::from_secs(seconds);
    let walk = |station| {
        let mut walk = WaypointTrajectory::new(model, 3, station);
        loop {
            let leg = walk.next_leg().expect("a leg");
            if leg.until > now {
                return leg;
            }
        }
    };
    (0..20_000_u32).map(StationId::new).map(walk).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Mean speed of the moving stations (m/s).
fn mean_speed(legs: &[Leg]) -> f64 {
    mean(legs.iter().map(Leg::speed).filter(|speed| *speed > 0.0)) * 1e9
}

fn paused(legs: &[Leg]) -> f64 {
    mean(legs.iter().map(|leg| f64::from(u8::from(leg.speed() == 0.0))))
}

/// Mean distance from the centre on the longer axis.
fn spread(legs: &[Leg], seconds: u64) -> f64 {
    mean(legs.iter().map(|leg| (leg.at(Instant::from_secs(seconds)).0 - 750.0).abs()))
}

#[test]
fn the_mean_distance_of_two_points() {
    // Unit square: (2 + √2 + 5·ln(1 + √2)) / 15; line: 1/3.
    assert!((mean_distance((1.0, 1.0)) - 0.521_405_433).abs() < 1e-9);
    assert!((mean_distance((3.0, 0.0)) - 1.0).abs() < 1e-12);
    assert!((mean_distance((3.0, 0.000_5)) - 1.0).abs() < 1e-6);
    let mut random = RandomStream::new(1, "test", 0);
    let sampled = mean((0..100_000).map(|_| {
        let (a, b) =
            (uniform_point(&mut random, MODEL.area), uniform_point(&mut random, MODEL.area));
        ((a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1)).sqrt()
    }));
    assert!((sampled / mean_distance(MODEL.area) - 1.0).abs() < 0.005);
}

/// The steady state is stationary: the start does not differ from a time at which every station has
/// completed many legs.
#[test]
fn a_steady_state_start_is_stationary() {
    let (first, late) = (legs(MODEL, 0), legs(MODEL, 20_000));
    // In closed form: speeds with density 1/v, and the steady-state pause probability.
    let per_metre = libm::log(19.0) / 18.0;
    let share = 20.0 / (20.0 + mean_distance(MODEL.area) * per_metre);
    for (legs, seconds) in [(&first, 0), (&late, 20_000)] {
        assert!((mean_speed(legs) - 1.0 / per_metre).abs() < 0.12, "{}", mean_speed(legs));
        assert!((paused(legs) - share).abs() < 0.01, "{} for {share}", paused(legs));
        assert!((spread(legs, seconds) - spread(&late, 20_000)).abs() < 6.0);
    }
    // The residual time of the first leg, too.
    let left = |legs: &[Leg], seconds: u64| {
        mean(legs.iter().map(|leg| leg.until.since(Instant::from_secs(seconds)).as_secs_f64()))
    };
    let (first, late) = (left(&first, 0), left(&late, 20_000));
    assert!((first / late - 1.0).abs() < 0.04, "{first} and {late}");
}

#[test]
fn a_uniform_start_is_not_stationary() {
    let model = RandomWaypoint { start: InitialDistribution::Uniform, ..MODEL };
    let first = legs(model, 0);
    // All pause, uniform over the area: on average a quarter of the width from the middle.
    assert_eq!(paused(&first), 1.0);
    assert!((spread(&first, 0) - 375.0).abs() < 5.0, "{}", spread(&first, 0));
    let (soon, late) = (legs(model, 25), legs(model, 20_000));
    assert!(mean_speed(&soon) > 9.0, "{}", mean_speed(&soon));
    assert!(mean_speed(&late) < 6.5, "{}", mean_speed(&late));
    assert!(spread(&late, 20_000) < 320.0, "{}", spread(&late, 20_000));
}

/// navidi-camp-2004 §4: pauses are weighted by their length, and half of one has elapsed on
/// average.
#[test]
fn a_residual_pause_has_its_mean() {
    let pause = (Duration::from_secs(10), Duration::from_secs(40));
    let model = RandomWaypoint { pause, ..MODEL };
    let first = legs(model, 0);
    let pausing = first.iter().filter(|leg| leg.speed() == 0.0);
    let left = mean(pausing.map(|leg| leg.until.as_nanos() as f64 / 1e9));
    // E[p²] / (2·E[p]) of a uniform pause.
    let expected = (64_000.0 - 1000.0) / 90.0 / 50.0;
    assert!((left / expected - 1.0).abs() < 0.02, "{left} for {expected}");
}

/// CMU's scenarios use `pause = 900 s` in runs of 900 s for static stations. Stations are static if
/// they start with a full pause.
#[test]
fn stations_with_a_pause_as_long_as_the_run_are_static_only_with_a_uniform_start() {
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

    let steady =
        RandomWaypoint { speed: (1.0, 19.0), start: InitialDistribution::SteadyState, ..classic };
    let first = legs(steady, 0);
    // 900 s of pause, 84 s of movement: eleven stations in twelve start in a pause.
    let share = 900.0 / (900.0 + mean_distance(steady.area) * libm::log(19.0) / 18.0);
    assert!((0.91..0.92).contains(&share), "{share}");
    assert!((paused(&first) - share).abs() < 0.01, "{} for {share}", paused(&first));
    // The residual pause is shorter than the run, so that all of them move during the run.
    let pausing = || first.iter().filter(|leg| leg.speed() == 0.0);
    assert!(pausing().all(|leg| leg.until < end));
    for part in [0.25, 0.5, 0.75] {
        let over = |leg: &Leg| leg.until.as_nanos() as f64 <= part * run.as_nanos() as f64;
        let left = mean(pausing().map(|leg| f64::from(u8::from(over(leg)))));
        assert!((left - part).abs() < 0.015, "{left} of {part}");
    }
}

#[test]
fn legs_are_continuous_inside_the_area_and_within_the_speeds() {
    for start in [InitialDistribution::Uniform, InitialDistribution::SteadyState] {
        let mut walk =
            WaypointTrajectory::new(RandomWaypoint { start, ..MODEL }, 1, StationId::new(5));
        let mut before = walk.next_leg().expect("a leg");
        assert_eq!(before.since, Instant::ZERO);
        for _ in 0..1000 {
            let leg = walk.next_leg().expect("a leg");
            assert_eq!(leg.since, before.until);
            let (x, y) = before.at(before.until);
            // One nanosecond at 19 m/s.
            assert!((x - leg.x).abs() < 2e-8 && (y - leg.y).abs() < 2e-8);
            assert!((0.0..=1500.0).contains(&leg.x) && (0.0..=600.0).contains(&leg.y));
            let speed = leg.speed() * 1e9;
            assert!(speed == 0.0 || (0.999_999..19.000_001).contains(&speed), "{speed}");
            before = leg;
        }
    }
}

#[test]
fn no_pause_and_a_single_speed() {
    let pause = (Duration::ZERO, Duration::ZERO);
    let legs = legs(RandomWaypoint { pause, speed: (10.0, 10.0), ..MODEL }, 0);
    assert!(legs.iter().all(|leg| (leg.speed() * 1e9 - 10.0).abs() < 1e-9));
}

/// Trajectories are reproducible, and adding a station changes no other.
#[test]
fn trajectories_are_reproducible() {
    let first = |stations| {
        let mut mobility = Mobility::random_waypoint(&MODEL, stations, 1).expect("a valid model");
        (0..3).map(|_| mobility.next_leg(StationId::new(1)).expect("a leg")).collect::<Vec<_>>()
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
fn invalid_parameters_are_rejected_by_name() {
    let refused = |model: RandomWaypoint| {
        Mobility::random_waypoint(&model, 1, 1).map(|_| ()).expect_err("rejected").parameter
    };
    assert_eq!(refused(RandomWaypoint { area: (0.0, 0.0), ..MODEL }), "area");
    assert_eq!(refused(RandomWaypoint { area: (f64::NAN, 1.0), ..MODEL }), "area");
    assert_eq!(refused(RandomWaypoint { speed: (2.0, 1.0), ..MODEL }), "speed");
    assert_eq!(refused(RandomWaypoint { speed: (0.0, 10.0), ..MODEL }), "speed");
    let pause = (Duration::from_secs(2), Duration::from_secs(1));
    assert_eq!(refused(RandomWaypoint { pause, ..MODEL }), "pause");
    // Without the steady state, the minimum speed may be 0.
    let model = RandomWaypoint { speed: (0.0, 10.0), start: InitialDistribution::Uniform, ..MODEL };
    assert!(Mobility::random_waypoint(&model, 1, 1).is_ok());
}
