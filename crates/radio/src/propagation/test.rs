use driftway_base::StationId;

use super::{LogDistance, Propagation, PropagationModel, RadioConfig, Threshold};

fn radio(config: RadioConfig) -> Propagation {
    Propagation::new(&config, 10, 1).expect("a valid radio")
}

fn close(found: f64, expected: f64, part: f64) {
    assert!((found / expected - 1.0).abs() < part, "expected {expected}, found {found}");
}

/// ns-2's WaveLAN card: its thresholds correspond to 250 m and 550 m.
#[test]
fn the_thresholds_of_ns_2_are_its_distances() {
    let by_distance = radio(RadioConfig::NS2);
    // ns-2 gives four digits.
    close(by_distance.receive_power(), 3.652e-10, 2e-4);
    close(by_distance.sense_power(), 1.559e-11, 2e-4);
    let by_power = radio(RadioConfig {
        receive: Threshold::Power(3.652e-10),
        sense: Threshold::Power(1.559e-11),
        ..RadioConfig::NS2
    });
    close(by_power.receive_range(), 250.0, 1e-4);
    close(by_power.sense_range(), 550.0, 1e-4);
    // At an antenna height of 2 m the same power is received a third farther away.
    let higher = RadioConfig { antenna_height: 2.0, ..RadioConfig::NS2 };
    let higher = radio(RadioConfig {
        receive: Threshold::Power(3.652e-10),
        sense: Threshold::Power(1.559e-11),
        ..higher
    });
    assert!((higher.receive_range() - 333.35).abs() < 0.02, "{}", higher.receive_range());
}

#[test]
fn two_ray_is_free_space_up_to_the_crossover() {
    for (config, crossover) in [(RadioConfig::NS2, 86.14), (RadioConfig::STANDARD, 86.20)] {
        let two_ray = radio(config);
        let friis = radio(RadioConfig { model: PropagationModel::Friis, ..config });
        // 4π·h²/λ, where the two curves meet.
        let at = 4.0 * core::f64::consts::PI * 2.25 * 914e6 / config.light_speed;
        assert!((at - crossover).abs() < 0.005, "{at}");
        for part in [0.1, 0.5, 0.999] {
            let square = (at * part) * (at * part);
            assert_eq!(two_ray.power(square), friis.power(square));
        }
        close(two_ray.power(at * at * 1.000_001), friis.power(at * at), 1e-5);
        for part in [1.1_f64, 2.0, 10.0] {
            let square = at * part * at * part;
            close(two_ray.power(square), friis.power(square) / (part * part), 1e-9);
        }
    }
}

/// The free-space formula with its values: P·λ²/(4π·d)².
#[test]
fn friis_at_a_hundred_metres() {
    let friis = radio(RadioConfig { model: PropagationModel::Friis, ..RadioConfig::NS2 });
    let wavelength: f64 = 3e8 / 914e6;
    let spread = 4.0 * core::f64::consts::PI * 100.0;
    close(friis.power(10_000.0), 0.281_838_15 * wavelength * wavelength / (spread * spread), 1e-12);
}

#[test]
fn a_frame_is_received_up_to_the_range_and_not_beyond() {
    let models = [
        PropagationModel::Friis,
        PropagationModel::TwoRay,
        PropagationModel::Range,
        PropagationModel::LogDistance(LogDistance {
            exponent: 2.7,
            shadowing_db: 0.0,
            decorrelation: None,
        }),
    ];
    for model in models {
        let radio = radio(RadioConfig { model, ..RadioConfig::STANDARD });
        assert!(radio.power(250.0 * 250.0) >= radio.receive_power());
        assert!(radio.power(250.01 * 250.01) < radio.receive_power());
        assert!(radio.power(550.0 * 550.0) >= radio.sense_power());
        assert_eq!((radio.receive_range(), radio.sense_range()), (250.0, 550.0));
        assert_eq!(radio.reach(), 550.0);
        // Co-located stations receive the transmit power, not more.
        assert_eq!(radio.power(0.0), 0.281_838_15);
    }
}

#[test]
fn power_falls_by_the_exponent() {
    let model = PropagationModel::LogDistance(LogDistance {
        exponent: 3.0,
        shadowing_db: 0.0,
        decorrelation: None,
    });
    let radio = radio(RadioConfig { model, ..RadioConfig::STANDARD });
    close(radio.power(400.0) / radio.power(1600.0), 8.0, 1e-12);
    assert!(!radio.varies());
}

fn shadowed(stations: u32, seed: u64) -> Propagation {
    let model = PropagationModel::LogDistance(LogDistance {
        exponent: 3.0,
        shadowing_db: 6.0,
        decorrelation: None,
    });
    Propagation::new(&RadioConfig { model, ..RadioConfig::STANDARD }, stations, seed)
        .expect("a valid radio")
}

fn stations(count: u32) -> impl Iterator<Item = StationId> {
    (0..count).map(StationId::new)
}

fn pairs(count: u32) -> impl Iterator<Item = (StationId, StationId)> {
    stations(count).flat_map(|one| stations(one.number()).map(move |other| (one, other)))
}

/// Shadowing in dB.
fn shadow(radio: &Propagation, one: StationId, other: StationId) -> f64 {
    10.0 * libm::log10(radio.initial_power_between(one, other, 1e4) / radio.power(1e4))
}

#[test]
fn shadowing_depends_on_the_pair_and_the_seed_only() {
    // Stored for few stations, drawn each time for many.
    let (few, many, other) = (shadowed(50, 7), shadowed(5000, 7), shadowed(50, 8));
    let mut differ = 0;
    for one in stations(50) {
        for two in stations(50) {
            if one == two {
                continue;
            }
            let power = few.initial_power_between(one, two, 1e4);
            assert_eq!(power, few.initial_power_between(two, one, 1e4));
            assert_eq!(power, many.initial_power_between(one, two, 1e4));
            differ += u32::from(power != other.initial_power_between(one, two, 1e4));
        }
    }
    assert_eq!(differ, 50 * 49);
}

#[test]
fn shadowing_is_truncated_normal() {
    let radio = shadowed(400, 1);
    let draws: Vec<f64> = pairs(400).map(|(one, other)| shadow(&radio, one, other)).collect();
    let count = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / count;
    let variance = draws.iter().map(|d| (d - mean) * (d - mean)).sum::<f64>() / count;
    assert!(mean.abs() < 0.1, "{mean}");
    // Standard deviation after truncating 6 dB at three standard deviations: a factor of 0.9866.
    assert!((variance.sqrt() - 5.92).abs() < 0.06, "{}", variance.sqrt());
    let within = draws.iter().filter(|d| d.abs() < 6.0).count() as f64 / count;
    assert!((within - 0.6845).abs() < 0.006, "{within}");
    let most = draws.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
    assert!((17.0..18.000_001).contains(&most), "{most}");
    // 18 dB at an exponent of 3 extend the range by a factor of 10^0.6; no station senses farther.
    close(radio.reach(), 550.0 * 3.981_071_7, 1e-7);
    let beyond = radio.reach() * radio.reach() * 1.000_01;
    // 18 dB as a factor.
    assert!(radio.power(beyond) * 63.095_73 < radio.sense_power());
}

/// Shadowing (dB) of all pairs after their stations have moved this far.
fn shadows(radio: &mut Propagation, stations: u32, moved: f64) -> Vec<f64> {
    let plain = radio.power(1e4);
    pairs(stations)
        .map(|(one, other)| radio.power_after_moving(one, other, 1e4, moved) / plain)
        .map(|factor| 10.0 * libm::log10(factor))
        .collect()
}

#[test]
fn shadowing_changes_as_stations_move() {
    let model = PropagationModel::LogDistance(LogDistance {
        exponent: 3.0,
        shadowing_db: 6.0,
        decorrelation: Some(20.0),
    });
    let config = RadioConfig { model, ..RadioConfig::STANDARD };
    let new = || Propagation::new(&config, 400, 1).unwrap();
    let mut radio = new();
    let start = shadows(&mut radio, 400, 0.0);
    // It starts like constant shadowing, and queries do not change it.
    let stays = shadowed(400, 1);
    let first = 10.0
        * libm::log10(
            stays.initial_power_between(StationId::new(1), StationId::new(0), 1e4)
                / stays.power(1e4),
        );
    assert!((start[0] - first).abs() < 1e-9);
    let count = start.len() as f64;
    for moved in [5.0, 20.0, 21.5, 60.0, 1_000.0] {
        let now = shadows(&mut radio, 400, moved);
        assert_eq!(now, shadows(&mut new(), 400, moved), "at {moved} m");
        assert_eq!(now, shadows(&mut radio, 400, moved), "at {moved} m");
        let product: f64 = start.iter().zip(&now).map(|(a, b)| a * b).sum::<f64>() / count;
        let correlation = product / 36.0;
        assert!((correlation - libm::exp(-moved / 20.0)).abs() < 0.03, "{moved}: {correlation}");
        let deviation = (now.iter().map(|x| x * x).sum::<f64>() / count).sqrt();
        assert!((5.7..6.05).contains(&deviation), "{moved}: {deviation}");
        assert!(now.iter().all(|x| x.abs() < 18.000_001));
    }
}

#[test]
fn the_delay_is_that_of_light() {
    let radio = radio(RadioConfig::NS2);
    assert_eq!(radio.delay(90_000.0).as_nanos(), 1000);
    assert_eq!(radio.delay(0.0).as_nanos(), 0);
}

#[test]
fn invalid_parameters_are_rejected_by_name() {
    let refused = |config: RadioConfig| {
        Propagation::new(&config, 2, 1).map(|_| ()).expect_err("rejected").parameter
    };
    let standard = RadioConfig::STANDARD;
    assert_eq!(refused(RadioConfig { power: 0.0, ..standard }), "power");
    assert_eq!(refused(RadioConfig { frequency: f64::NAN, ..standard }), "frequency");
    assert_eq!(refused(RadioConfig { capture: 0.5, ..standard }), "capture");
    assert_eq!(refused(RadioConfig { receive: Threshold::Distance(-1.0), ..standard }), "receive");
    assert_eq!(refused(RadioConfig { sense: Threshold::Distance(249.0), ..standard }), "sense");
    assert_eq!(refused(RadioConfig { sense: Threshold::Power(0.0), ..standard }), "sense");
    let range = RadioConfig { model: PropagationModel::Range, ..standard };
    assert_eq!(refused(RadioConfig { receive: Threshold::Power(1e-9), ..range }), "receive");
    let model = PropagationModel::LogDistance(LogDistance {
        exponent: 0.0,
        shadowing_db: 0.0,
        decorrelation: None,
    });
    assert_eq!(refused(RadioConfig { model, ..standard }), "exponent");
    let model = PropagationModel::LogDistance(LogDistance {
        exponent: 2.0,
        shadowing_db: -1.0,
        decorrelation: None,
    });
    assert_eq!(refused(RadioConfig { model, ..standard }), "shadowing");
}

#[test]
fn no_frame_captures_one_that_is_hardly_further_away() {
    let models = [
        PropagationModel::TwoRay,
        PropagationModel::Friis,
        PropagationModel::Range,
        PropagationModel::LogDistance(LogDistance { exponent: 3.7, ..LogDistance::STANDARD }),
    ];
    for (model, capture) in models.into_iter().flat_map(|model| [(model, 10.0), (model, 1.5)]) {
        let config = RadioConfig { model, capture, ..RadioConfig::STANDARD };
        let radio = Propagation::new(&config, 2, 1).unwrap();
        let (bound, mut captures) = (radio.capture_squares(), 0);
        for near in (0..300).map(|n| 0.1 * libm::pow(1.06, f64::from(n))) {
            for far in (0..400).map(|n| near * (0.5 + 0.03 * f64::from(n))) {
                let captured = radio.power(near) >= capture * radio.power(far);
                assert!(!captured || far >= near * bound, "{model:?}, {near} and {far} m²");
                captures += u32::from(captured);
            }
        }
        assert_eq!(captures > 0, bound.is_finite(), "{model:?}, {capture}");
    }
    let radio = RadioConfig { capture: 1.0, ..RadioConfig::STANDARD };
    assert_eq!(Propagation::new(&radio, 2, 1).unwrap().capture_squares(), 0.0);
}
