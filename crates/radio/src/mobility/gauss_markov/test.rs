use driftway_base::{Declared, Duration, Instant, StationId};
use proptest::prelude::*;

use super::GaussMarkov;
use crate::mobility::{Mobility, Plane};

const STATIONS: u32 = 40;

fn mobility(model: GaussMarkov, area: (f64, f64)) -> Mobility {
    model.build(&Plane { stations: STATIONS, area, seed: 1 }).expect("a valid model")
}

/// The velocities (m/s) of a station at the start of each of its first `steps` steps.
fn velocities(
    mobility: &mut Mobility,
    station: u32,
    step: Duration,
    steps: u32,
) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    while let Some(leg) = mobility.next_leg(StationId::new(station)) {
        if leg.since.since(Instant::ZERO).as_nanos() % step.as_nanos() == 0 {
            found.push((leg.vx * 1e9, leg.vy * 1e9));
        }
        if found.len() == steps as usize {
            break;
        }
    }
    found
}

#[test]
fn velocities_have_the_speed_and_the_correlation_of_the_model() {
    for alpha in [0.0, 0.5, 0.9] {
        let model = GaussMarkov { speed: 5.0, alpha, ..GaussMarkov::default() };
        // So wide that borders matter little.
        let mut mobility = mobility(model, (1e7, 1e7));
        let (mut squares, mut products, mut count) = (0.0, 0.0, 0.0);
        for station in 0..STATIONS {
            let all = velocities(&mut mobility, station, model.step, 2000);
            for pair in all.windows(2) {
                squares += pair[0].0 * pair[0].0 + pair[0].1 * pair[0].1;
                products += pair[0].0 * pair[1].0 + pair[0].1 * pair[1].1;
                count += 1.0;
            }
        }
        let (square, correlation) = (squares / count, products / squares);
        assert!((square.sqrt() - 5.0).abs() < 0.1, "{square}");
        assert!((correlation - alpha).abs() < 0.02, "{correlation} for {alpha}");
    }
}

#[test]
fn an_area_without_room_is_rejected() {
    for area in [(0.0, 100.0), (100.0, 0.009), (f64::INFINITY, 1.0), (f64::NAN, 1.0)] {
        let plane = Plane { stations: 2, area, seed: 1 };
        let error = GaussMarkov::default().build(&plane).expect_err("no room");
        assert_eq!(error.parameter, "area");
    }
}

proptest! {
    #[test]
    fn legs_join_and_stay_within_the_area(
        speed in 0.001..1000.0_f64,
        alpha in 0.0..=1.0_f64,
        step in 1..5_000_u64,
        sides in (1.0..1000.0_f64, 1.0..1000.0_f64),
        seed in any::<u64>(),
    ) {
        let model = GaussMarkov { speed, alpha, step: Duration::from_millis(step) };
        let plane = Plane { stations: 1, area: sides, seed };
        let mut mobility = model.build(&plane).expect("a valid model");
        let mut end: Option<(Instant, (f64, f64))> = None;
        for _ in 0..500 {
            let leg = mobility.next_leg(StationId::new(0)).expect("a leg");
            prop_assert!(leg.until > leg.since);
            let last = leg.at(leg.until);
            // A nanosecond at some times the speed.
            let near = speed * 1e-7 + 1e-9;
            for (place, side) in [(leg.x, sides.0), (leg.y, sides.1), (last.0, sides.0), (last.1, sides.1)] {
                prop_assert!((-near..=side + near).contains(&place), "{place} of {side}");
            }
            if let Some((time, place)) = end {
                prop_assert_eq!(time, leg.since);
                prop_assert!((place.0 - leg.x).abs() <= near && (place.1 - leg.y).abs() <= near);
            }
            end = Some((leg.until, last));
        }
    }
}
