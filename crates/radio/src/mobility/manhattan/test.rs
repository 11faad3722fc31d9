use driftway_base::{Declared, Duration, Instant, StationId};
use proptest::prelude::*;

use super::Manhattan;
use crate::leg::Leg;
use crate::mobility::{Mobility, Plane};

fn mobility(model: Manhattan, stations: u32, area: (f64, f64)) -> Mobility {
    model.build(&Plane { stations, area, seed: 1 }).expect("a valid model")
}

/// The leg of a station at a time.
fn leg_at(mobility: &mut Mobility, station: u32, at: Instant) -> Leg {
    loop {
        let leg = mobility.next_leg(StationId::new(station)).expect("a leg");
        if leg.until > at {
            return leg;
        }
    }
}

/// Bai, Sadagopan & Helmy 2003: straight on with 1/2, to each side with 1/4; where a street ends each other one alike.
#[test]
fn nodes_turn_as_the_model_says() {
    let model = Manhattan { blocks_x: 4, blocks_y: 3, ..Manhattan::default() };
    let mut mobility = mobility(model, 50, (400.0, 600.0));
    let mut inner = [0.0_f64; 3];
    let (mut along, mut ends) = ([0.0_f64; 2], 0.0);
    for station in (0..50).map(StationId::new) {
        let mut last: Option<Leg> = None;
        for _ in 0..2_000 {
            let leg = mobility.next_leg(station).expect("a leg");
            if let Some(last) = last.replace(leg) {
                let is_border = |at: f64, side: f64| at < 1.0 || at > side - 1.0;
                let (x, y) = (is_border(leg.x, 400.0), is_border(leg.y, 600.0));
                let cross = (last.vx * leg.vy - last.vy * leg.vx) * 1e18;
                let dot = (last.vx * leg.vx + last.vy * leg.vy) * 1e18;
                // Never back.
                assert!(cross.abs() > 1.0 || dot > 1.0, "{last:?} {leg:?}");
                let is_straight = usize::from(cross.abs() < 1.0);
                match (x, y) {
                    (false, false) if cross.abs() < 1.0 => inner[0] += 1.0,
                    (false, false) if cross > 0.0 => inner[1] += 1.0,
                    (false, false) => inner[2] += 1.0,
                    (true, true) => assert_eq!(is_straight, 0),
                    // Along a border, or towards it.
                    _ if (x && last.vx.abs() < 1e-12) || (y && last.vy.abs() < 1e-12) => {
                        along[is_straight] += 1.0;
                    }
                    _ => {
                        assert_eq!(is_straight, 0);
                        ends += 1.0;
                    }
                }
            }
        }
    }
    let all: f64 = inner.iter().sum();
    // Three standard deviations of 30,000 draws or more are below 0.009.
    assert!(all > 3e4 && ends > 5e3, "{all} {ends}");
    assert!((inner[0] / all - 0.5).abs() < 0.009, "{inner:?}");
    assert!((inner[1] / all - 0.25).abs() < 0.0075, "{inner:?}");
    assert!((inner[2] / all - 0.25).abs() < 0.0075, "{inner:?}");
    assert!((along[0] / (along[0] + along[1]) - 0.5).abs() < 0.012, "{along:?}");
}

/// Streets of 5 × 400 m along x and 6 × 200 m along y: 2000 m of 3200 m. A uniform speed per distance has the mean
/// (b − a) / ln(b / a) per time. The mean block is 2000 m + 1200 m over 25 + 24 blocks, with a pause of 30 s at every fourth.
#[test]
fn runs_begin_in_the_steady_state() {
    let model = Manhattan {
        blocks_x: 5,
        blocks_y: 4,
        min_speed: 2.0,
        max_speed: 20.0,
        pause: 0.25,
        max_pause: Duration::from_secs(60),
        ..Manhattan::default()
    };
    let per_metre = libm::log(10.0) / 18.0;
    let moving = 3_200.0 / 49.0 * per_metre;
    let pause_share = 0.25 * 30.0 / (0.25 * 30.0 + moving);
    const STATIONS: u32 = 20_000;
    for seconds in [0, 60, 300] {
        let mut mobility = mobility(model, STATIONS, (400.0, 200.0));
        let (mut along_x, mut moves, mut speeds, mut in_middle) = (0.0, 0.0, 0.0, 0.0);
        for station in 0..STATIONS {
            let at = Instant::from_secs(seconds);
            let leg = leg_at(&mut mobility, station, at);
            if leg.speed() > 0.0 {
                moves += 1.0;
                speeds += leg.speed() * 1e9;
                along_x += f64::from(u8::from(leg.vx != 0.0));
                let (x, _) = leg.at(at);
                in_middle += f64::from(u8::from((100.0..300.0).contains(&x)));
            }
        }
        let share = 1.0 - moves / f64::from(STATIONS);
        // Three standard deviations: 0.011 of 20,000 stations, 0.014 of those that move.
        assert!((share - pause_share).abs() < 0.011, "{seconds}: {share} for {pause_share}");
        assert!((along_x / moves - 2_000.0 / 3_200.0).abs() < 0.015, "{seconds}: {along_x}");
        assert!(
            (speeds / moves / (18.0 / libm::log(10.0)) - 1.0).abs() < 0.025,
            "{seconds}: {speeds}"
        );
        // Half of each street along x, and the two streets along y at 160 m and 240 m of the six.
        let middle = (1_000.0 + 400.0) / 3_200.0;
        assert!((in_middle / moves - middle).abs() < 0.015, "{seconds}: {in_middle}");
    }
}

#[test]
fn what_is_not_possible_is_rejected() {
    let plane = |area| Plane { stations: 2, area, seed: 1 };
    for area in [(0.0, 100.0), (100.0, 0.14), (f64::INFINITY, 1.0), (f64::NAN, 1.0)] {
        let error = Manhattan::default().build(&plane(area)).expect_err("no room");
        assert_eq!(error.parameter, "area");
    }
    let model = Manhattan { min_speed: 16.0, ..Manhattan::default() };
    assert_eq!(model.build(&plane((1e3, 1e3))).expect_err("slower").parameter, "min_speed");
}

proptest! {
    #[test]
    fn legs_join_along_the_streets_within_the_speeds(
        blocks in (1..6_u32, 1..6_u32),
        speeds in (0.001..500.0_f64, 0.0..500.0_f64),
        pause in 0.0..=1.0_f64,
        turn in 0.0..=1.0_f64,
        sides in (10.0..1000.0_f64, 10.0..1000.0_f64),
        seed in any::<u64>(),
    ) {
        let model = Manhattan {
            blocks_x: blocks.0,
            blocks_y: blocks.1,
            min_speed: speeds.0,
            max_speed: speeds.0 + speeds.1,
            turn,
            pause,
            max_pause: Duration::from_secs(3),
        };
        let mut mobility = model.build(&Plane { stations: 1, area: sides, seed }).expect("valid");
        let mut end: Option<(Instant, (f64, f64))> = None;
        for _ in 0..300 {
            let leg = mobility.next_leg(StationId::new(0)).expect("a leg");
            prop_assert!(leg.until > leg.since);
            let near = model.max_speed * 2e-9 + 1e-9;
            if let Some((time, place)) = end {
                prop_assert_eq!(time, leg.since);
                prop_assert!((place.0 - leg.x).abs() <= near && (place.1 - leg.y).abs() <= near);
            }
            let speed = leg.speed() * 1e9;
            let within = speed >= model.min_speed * 0.999_999 && speed <= model.max_speed * 1.000_001;
            prop_assert!(speed == 0.0 || within, "{speed}");
            let last = leg.at(leg.until);
            for (x, y) in [(leg.x, leg.y), last] {
                let off = |at: f64, side: f64, blocks: u32| {
                    let block = side / f64::from(blocks);
                    (at - libm::round(at / block) * block).abs()
                };
                prop_assert!((-near..=sides.0 + near).contains(&x));
                prop_assert!((-near..=sides.1 + near).contains(&y));
                prop_assert!(off(x, sides.0, blocks.0) <= near * 10.0 || off(y, sides.1, blocks.1) <= near * 10.0, "{x} {y}");
            }
            end = Some((leg.until, last));
        }
    }
}
