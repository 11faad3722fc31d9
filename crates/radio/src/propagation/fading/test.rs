use driftway_base::{RandomStream, StationId};

use super::{Fading, MAX_GAIN};
use crate::{FadingModel, Propagation, PropagationModel, RadioConfig};

const DRAWS: u32 = 200_000;

/// Outage probabilities at 0.1, 0.5, 1 and 2 times the mean power by SciPy 1.16. Rayleigh: 1 − e⁻ˣ. Rician:
/// 1 − Q₁(√2K, √(2(K + 1)x)), `ncx2.cdf(2(K + 1)x, 2, 2K)`. Nakagami: P(m, mx), `gamma.cdf(x, m, scale=1/m)`.
const OUTAGES: [(FadingModel, [f64; 4]); 8] = [
    (FadingModel::Rayleigh, [0.095_163, 0.393_469, 0.632_121, 0.864_665]),
    (FadingModel::Rician { factor: 0.0 }, [0.095_163, 0.393_469, 0.632_121, 0.864_665]),
    (FadingModel::Rician { factor: 1.0 }, [0.073_346, 0.345_746, 0.605_703, 0.876_619]),
    (FadingModel::Rician { factor: 10.0 }, [0.000_739, 0.099_149, 0.543_095, 0.980_746]),
    (FadingModel::Nakagami { shape: 0.5 }, [0.248_170, 0.520_500, 0.682_689, 0.842_701]),
    (FadingModel::Nakagami { shape: 1.0 }, [0.095_163, 0.393_469, 0.632_121, 0.864_665]),
    (FadingModel::Nakagami { shape: 1.5 }, [0.039_972, 0.317_730, 0.608_375, 0.888_390]),
    (FadingModel::Nakagami { shape: 3.0 }, [0.003_599, 0.191_153, 0.576_810, 0.938_031]),
];

/// Within four standard deviations of a share of `DRAWS`, by SciPy's digits.
fn assert_share(found: u32, expected: f64, what: &dyn std::fmt::Debug) {
    let share = f64::from(found) / f64::from(DRAWS);
    let deviation = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
    assert!((share - expected).abs() < 4.0 * deviation + 1e-6, "{what:?}: {share} for {expected}");
}

#[test]
fn gains_have_the_distribution_of_the_model() {
    for (model, outages) in OUTAGES {
        let mut random = RandomStream::new(1, "test", 0);
        let draws: Vec<f64> = (0..DRAWS).map(|_| model.draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(DRAWS);
        // The variance is at most 2, for m = 1/2.
        assert!((mean - 1.0).abs() < 4.0 * (2.0 / f64::from(DRAWS)).sqrt(), "{model:?}: {mean}");
        for (x, outage) in [0.1, 0.5, 1.0, 2.0].into_iter().zip(outages) {
            let below = draws.iter().filter(|gain| **gain < x).count() as u32;
            assert_share(below, outage, &(model, x));
        }
    }
}

/// The regularised lower gamma function, by its series.
fn lower_gamma(shape: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0 / shape, 1.0 / shape);
    for n in 1..500 {
        term *= x / (shape + f64::from(n));
        sum += term;
    }
    sum * libm::exp(shape * libm::log(x) - x - libm::lgamma(shape))
}

/// 1 − Q₁(√2K, √(2(K + 1)x)) as the mixture of gamma distributions that it is: a Poisson number of mean K and one more.
fn rician_outage(factor: f64, x: f64) -> f64 {
    let (mut weight, mut sum) = (libm::exp(-factor), 0.0);
    for n in 0..200 {
        sum += weight * lower_gamma(f64::from(n) + 1.0, (factor + 1.0) * x);
        weight *= factor / (f64::from(n) + 1.0);
    }
    sum
}

/// The frames that a station receives at a distance, of many: those whose gain reaches the ratio of the threshold to
/// the mean power there, which falls by the fourth power of the distance.
#[test]
fn frames_are_lost_with_the_outage_probability() {
    let (from, to) = (StationId::new(2), StationId::new(7));
    for (model, distance) in [
        (FadingModel::Rayleigh, 200.0),
        (FadingModel::Rician { factor: 4.0 }, 230.0),
        (FadingModel::Rician { factor: 4.0 }, 300.0),
        (FadingModel::Nakagami { shape: 2.5 }, 150.0),
        (FadingModel::Nakagami { shape: 2.5 }, 260.0),
    ] {
        let config = RadioConfig { fading: Some(model), ..RadioConfig::STANDARD };
        let mut radio = Propagation::new(&config, 10, 5).expect("a valid radio");
        assert!(radio.varies());
        let square = distance * distance;
        let mut lost = 0;
        for _ in 0..DRAWS {
            radio.on_frame(from);
            let power = radio.power_of_frame(from, to, square, 0.0);
            lost += u32::from(power < radio.receive_power());
        }
        let x: f64 = libm::pow(distance / 250.0, 4.0);
        let outage = match model {
            FadingModel::Rayleigh => 1.0 - libm::exp(-x),
            FadingModel::Rician { factor } => rician_outage(factor, x),
            FadingModel::Nakagami { shape } => lower_gamma(shape, shape * x),
        };
        assert_share(lost, outage, &(model, distance));
        // The mean power is that without fading.
        assert_eq!(radio.power_after_moving(from, to, square, 0.0), radio.power(square));
    }
}

#[test]
fn a_gain_depends_on_the_pair_the_frame_and_the_seed_only() {
    let station = StationId::new;
    let new = |seed| Fading::new(FadingModel::Rayleigh, 5, seed);
    let gains = |seed, others: bool| -> Vec<f64> {
        let mut fading = new(seed);
        let frames = (0..100).map(|_| {
            fading.on_frame(station(1));
            if others {
                fading.on_frame(station(3));
                fading.gain(station(3), station(2));
            }
            fading.gain(station(1), station(2))
        });
        frames.collect()
    };
    assert_eq!(gains(1, false), gains(1, true));
    assert!(gains(1, false).iter().zip(&gains(2, false)).all(|(one, other)| one != other));
    let mut fading = new(1);
    fading.on_frame(station(1));
    let (there, again) = (fading.gain(station(1), station(2)), fading.gain(station(1), station(2)));
    assert_eq!(there, again);
    assert_ne!(there, fading.gain(station(2), station(1)));
    assert_ne!(there, fading.gain(station(1), station(4)));
    // Successive frames are independent: each product of two has the mean 1 and the variance 3.
    let all = gains(1, false);
    let product = all.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 99.0;
    assert!((product - 1.0).abs() < 4.0 * (3.0_f64 / 99.0).sqrt(), "{product}");
}

#[test]
fn the_range_is_finite() {
    let config =
        RadioConfig { fading: Some(FadingModel::Nakagami { shape: 0.5 }), ..RadioConfig::STANDARD };
    let radio = Propagation::new(&config, 2, 1).expect("a valid radio");
    // 14 dB at the inverse fourth power.
    assert!((radio.reach() - 550.0 * 2.238_721).abs() < 1e-3, "{}", radio.reach());
    let mut fading = Fading::new(FadingModel::Nakagami { shape: 0.5 }, 2, 1);
    for _ in 0..100_000 {
        fading.on_frame(StationId::new(0));
        assert!(fading.gain(StationId::new(0), StationId::new(1)) <= MAX_GAIN);
    }
}

#[test]
fn invalid_parameters_are_rejected_by_name() {
    let refused = |config: RadioConfig| {
        Propagation::new(&config, 2, 1).map(|_| ()).expect_err("rejected").parameter
    };
    for model in [
        FadingModel::Rician { factor: -0.1 },
        FadingModel::Rician { factor: f64::NAN },
        FadingModel::Nakagami { shape: 0.4 },
        FadingModel::Nakagami { shape: 1e4 },
    ] {
        assert_eq!(refused(RadioConfig { fading: Some(model), ..RadioConfig::STANDARD }), "fading");
    }
    let model = PropagationModel::Range;
    let fading = Some(FadingModel::Rayleigh);
    assert_eq!(refused(RadioConfig { model, fading, ..RadioConfig::STANDARD }), "fading");
}
