use driftway_base::{Duration, Instant, StationId};
use proptest::prelude::*;

use super::{Positions, StationInRange};
use crate::Leg;
use crate::Mobility;
use crate::mobility::{ConstantVelocity, InitialDistribution, RandomWaypoint, Trajectory};

fn walkers(stations: u32, side: f64, speed: (f64, f64), seed: u64) -> Mobility {
    let model = RandomWaypoint {
        area: (side, side * 0.7),
        speed,
        pause: (Duration::ZERO, Duration::from_millis(500)),
        start: InitialDistribution::SteadyState,
    };
    Mobility::random_waypoint(&model, stations, seed).expect("a valid model")
}

/// The stations in range, found without lists.
fn scan(positions: &mut Positions, now: Instant, from: StationId) -> Vec<StationInRange> {
    let (x, y) = positions.position(from, now);
    let stations = positions.stations();
    let in_range = |station: StationId| {
        let place = positions.position(station, now);
        let (dx, dy) = (place.0 - x, place.1 - y);
        let distance_squared = dx * dx + dy * dy;
        let found = StationInRange { station, distance_squared };
        (station != from && distance_squared <= positions.reach_squared).then_some(found)
    };
    (0..stations).map(StationId::from).filter_map(in_range).collect()
}

#[test]
fn stations_in_range_are_ordered_and_exclude_the_sender() {
    let places = [(0.0, 0.0), (550.0, 0.0), (550.1, 0.0), (330.0, 440.0), (0.0, 0.0)];
    let mut positions = Positions::new(Mobility::fixed(&places), 550.0);
    let mut out = Vec::new();
    positions.stations_in_range(Instant::ZERO, StationId::new(0), &mut out);
    let found: Vec<_> = out.iter().map(|h| (h.station.number(), h.distance_squared)).collect();
    assert_eq!(found, [(1, 302_500.0), (3, 302_500.0), (4, 0.0)]);
    // They are appended.
    positions.stations_in_range(Instant::from_secs(1), StationId::new(2), &mut out);
    let found: Vec<_> = out[3..].iter().map(|h| h.station.number()).collect();
    assert_eq!(found, [1, 3]);
}

/// A trajectory whose legs take no time after the first second, and of which there are so many.
#[derive(Clone, Debug)]
struct Stuck {
    time: Instant,
    legs: u32,
}

impl Trajectory for Stuck {
    fn next_leg(&mut self) -> Option<Leg> {
        self.legs = self.legs.checked_sub(1)?;
        let since = std::mem::replace(&mut self.time, Instant::from_secs(1));
        Some(Leg { since, until: self.time, x: 3.0, y: 4.0, vx: 0.0, vy: 0.0 })
    }

    fn clone_boxed(&self) -> Box<dyn Trajectory> {
        Box::new(self.clone())
    }
}

#[test]
fn a_station_whose_legs_take_no_time_stays() {
    let late = Instant::from_secs(1);
    for (time, legs) in [(Instant::ZERO, u32::MAX), (Instant::ZERO, 5), (late, 1), (late, u32::MAX)]
    {
        let mut positions = Positions::new(Mobility::new([Stuck { time, legs }]), 550.0);
        for second in [1, 2, 100] {
            let place = positions.position(StationId::new(0), Instant::from_secs(second));
            assert_eq!(place, (3.0, 4.0), "{legs} legs, at {second} s");
        }
    }
}

#[test]
fn the_distance_moved_is_the_length_of_the_trajectory() {
    // Back and forth over 100 m at 7 m/s: the length of the trajectory counts, not the
    // displacement.
    let station = ConstantVelocity { position: (10.0, 35.0), velocity: (7.0, 0.0) };
    let mobility = Mobility::constant_velocity(&[station], (100.0, 70.0)).unwrap();
    let mut positions = Positions::new(mobility, 550.0);
    for second in [0, 1, 12, 13, 14, 600, 601] {
        let moved = positions.distance_moved(StationId::new(0), Instant::from_secs(second));
        assert!((moved - 7.0 * second as f64).abs() < 1e-4, "{second} s: {moved} m");
    }
}

/// Lists are discarded as they fill up where all stations are within range.
#[test]
fn a_dense_network_is_listed_in_full() {
    let mobility = walkers(300, 100.0, (1.0, 2.0), 1);
    let mut lists = Positions::new(mobility, 550.0);
    for step in 0..1000_u64 {
        let (now, station) = (Instant::from_millis(step), StationId::new((step * 7 % 300) as u32));
        let (all, mut near) = (scan(&mut lists, now, station), Vec::new());
        lists.stations_in_range(now, station, &mut near);
        assert_eq!((all.len(), all), (299, near));
    }
}

/// Two stations that approach each other use up the margin from both sides: initially just too far
/// apart for a list, they are within range when each has moved half the margin.
#[test]
fn approaching_nodes_are_in_range_in_time() {
    let station = |x, vx| ConstantVelocity { position: (x, 0.0), velocity: (vx, 0.0) };
    let stations = [station(0.0, 10.0), station(605.5, -10.0)];
    let mobility = Mobility::constant_velocity(&stations, (1000.0, 0.0)).expect("a valid model");
    let mut positions = Positions::new(mobility, 550.0);
    let mut out = Vec::new();
    for (millis, heard) in [(0, 0), (2740, 0), (2770, 0), (2780, 1), (3000, 1)] {
        out.clear();
        positions.stations_in_range(Instant::from_millis(millis), StationId::new(0), &mut out);
        assert_eq!(out.len(), heard, "at {millis} ms");
    }
}

proptest! {
    /// Lists and scan give bit-identical results for any density, speeds, times and receive range.
    #[test]
    fn lists_equal_the_scan(
        stations in 1_u32..90,
        side in 1.0..4000.0_f64,
        reach in 0.01..800.0_f64,
        receive in 0.0..1.5_f64,
        slow in 0.1..60.0_f64,
        spread in 1.0..100.0_f64,
        seed in 0_u64..1000,
        asked in prop::collection::vec((0_u64..3_000_000_000, 0_u32..90), 1..60),
    ) {
        let mobility = walkers(stations, side, (slow, slow * spread), seed);
        let mut lists = Positions::new(mobility, reach);
        // One in three is not divided.
        if receive < 1.0 {
            lists.set_receive_range(receive * reach);
        }
        let mut now = Instant::ZERO;
        for (wait, station) in asked {
            now += Duration::from_nanos(wait);
            let station = StationId::new(station % stations);
            let mut found = Vec::new();
            lists.stations_in_range(now, station, &mut found);
            let candidates = lists.candidates(now, station);
            let receive_squared = receive * reach * receive * reach;
            let limit = candidates.near_limit();
            prop_assert!(candidates.near().filter(|near| near.1 > candidates.reach_squared).all(|near| near.1 > limit));
            prop_assert!(candidates.inner().all(|(_, square)| square <= candidates.reach_squared));
            let only_sense = candidates.inner().chain(candidates.border());
            prop_assert!(only_sense.map(|(_, square)| square).all(|square| square > receive_squared));
            prop_assert_eq!(scan(&mut lists, now, station), found);
        }
    }

    /// Queries have no effect on positions.
    #[test]
    fn a_position_is_a_function_of_time(seed in 0_u64..1000, steps in 1_u64..50) {
        let end = Instant::from_millis(123_457);
        let mut once = Positions::new(walkers(3, 300.0, (1.0, 80.0), seed), 100.0);
        let mut often = once.clone();
        for step in 0..steps {
            often.position(StationId::new(0), Instant::from_nanos(end.as_nanos() / steps * step));
        }
        for station in (0..3_u32).map(StationId::new) {
            prop_assert_eq!(once.position(station, end), often.position(station, end));
        }
    }
}
