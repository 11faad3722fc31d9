use driftway_base::Instant;
use proptest::prelude::*;

use super::{ConstantVelocity, ReflectedTrajectory};
use crate::mobility::{Mobility, Trajectory};

fn bounce(position: (f64, f64), velocity: (f64, f64), area: (f64, f64)) -> ReflectedTrajectory {
    ReflectedTrajectory::new(&ConstantVelocity { position, velocity }, area)
        .expect("a valid trajectory")
}

fn at(bounce: &ReflectedTrajectory, seconds: f64) -> (f64, f64) {
    let (mut bounce, now) = (bounce.clone(), Instant::from_nanos((seconds * 1e9) as u64));
    loop {
        let leg = bounce.next_leg().expect("a leg");
        if leg.until > now {
            return leg.at(now);
        }
    }
}

#[test]
fn a_station_is_reflected_at_each_border() {
    let way = bounce((80.0, 10.0), (10.0, -5.0), (100.0, 50.0));
    for (seconds, place) in [
        (0.0, (80.0, 10.0)),
        (1.0, (90.0, 5.0)),
        // Both borders at once, a corner.
        (2.0, (100.0, 0.0)),
        (3.0, (90.0, 5.0)),
        (11.0, (10.0, 45.0)),
        (12.0, (0.0, 50.0)),
        (13.0, (10.0, 45.0)),
        (22.0, (100.0, 0.0)),
    ] {
        let (x, y) = at(&way, seconds);
        assert!((x - place.0).abs() < 1e-6 && (y - place.1).abs() < 1e-6, "{seconds} s: {x} {y}");
    }
}

#[test]
fn a_station_on_a_border_or_without_speed() {
    assert_eq!(at(&bounce((0.0, 5.0), (-1.0, 0.0), (10.0, 10.0)), 3.0), (3.0, 5.0));
    assert_eq!(at(&bounce((10.0, 5.0), (1.0, 0.0), (10.0, 10.0)), 3.0), (7.0, 5.0));
    let mut still = bounce((1.0, 2.0), (0.0, 0.0), (10.0, 10.0));
    assert_eq!(still.next_leg().expect("a leg").until, Instant::FAR_FUTURE);
    // An area of zero height is a line.
    assert_eq!(at(&bounce((1.0, 0.0), (1.0, 0.0), (10.0, 0.0)), 2.0), (3.0, 0.0));
}

/// The position by reflection of the straight line.
fn mirrored(start: f64, velocity: f64, size: f64, seconds: f64) -> f64 {
    let turn = (start + velocity * seconds).rem_euclid(2.0 * size);
    if turn > size { 2.0 * size - turn } else { turn }
}

proptest! {
    #[test]
    fn a_position_is_the_reflected_straight_line(
        size in (1.0..2000.0_f64, 1.0..2000.0_f64),
        part in (0.0..=1.0_f64, 0.0..=1.0_f64),
        velocity in (-90.0..90.0_f64, -90.0..90.0_f64),
        seconds in 0.0..500.0_f64,
    ) {
        let start = (size.0 * part.0, size.1 * part.1);
        let (x, y) = at(&bounce(start, velocity, size), seconds);
        prop_assert!((x - mirrored(start.0, velocity.0, size.0, seconds)).abs() < 1e-5);
        prop_assert!((y - mirrored(start.1, velocity.1, size.1, seconds)).abs() < 1e-5);
        prop_assert!((-1e-6..=size.0 + 1e-6).contains(&x));
    }
}

#[test]
fn invalid_parameters_are_rejected_by_name() {
    let refused = |position, velocity, area| {
        let station = ConstantVelocity { position, velocity };
        Mobility::constant_velocity(&[station], area).map(|_| ()).expect_err("rejected").parameter
    };
    assert_eq!(refused((-1.0, 0.0), (0.0, 0.0), (10.0, 10.0)), "position");
    assert_eq!(refused((1.0, 0.0), (0.0, 0.0), (10.0, f64::INFINITY)), "area");
    assert_eq!(refused((1.0, 0.0), (0.0, 1.0), (10.0, 0.0)), "velocity");
    assert_eq!(refused((1.0, 0.0), (f64::NAN, 1.0), (10.0, 10.0)), "velocity");
}
