//! The table `radio`: radio and propagation.

use std::borrow::Cow;

use driftway_radio::{FadingModel, PropagationModel, RadioConfig, Threshold};
use serde::{Deserialize, Serialize};

use super::energy::{self, Energy, EnergyPreset};
use crate::deviation::{Deviation, DeviationScope};
use crate::keys::keys;
use crate::value_or::{OrTable, value_or};
use crate::{Decibel, Distance, Frequency, Power, Speed};

keys! {
    /// Radio and propagation, the same for all nodes. The defaults are the 914 MHz WaveLAN radio of
    /// ns-2: two-ray ground propagation, a receive range of 250 m and a sense range of 550 m.
    pub struct Radio with defaults expecting "a table with the keys of a radio" {
        /// Propagation model: `"two-ray"`, `"friis"`, `"range"` or `"log-distance"`.
        propagation: Propagation = Propagation::TwoRay,
        /// Path loss exponent of `"log-distance"`, 1 to 10.
        exponent: Option<f64> => "`3`",
        /// Standard deviation of the log-normal shadowing of `"log-distance"`, drawn once for each
        /// pair of nodes.
        shadowing: Option<Decibel> => "`\"0 dB\"`",
        /// Decorrelation distance of the shadowing: when the two nodes of a pair have moved this
        /// far in total, the correlation with its previous value has fallen to 1/e
        /// (gudmundson-1991; 10 m to 20 m in urban, hundreds of metres in open areas). Up to 1024
        /// nodes.
        decorrelation: Option<Distance> => "none, the shadowing is constant for the whole run",
        /// Maximum distance at which a frame can be received. Alternative to
        /// `network.radio.receive_threshold`.
        receive_range: Option<Distance> => "250 m, without `network.radio.receive_threshold`",
        /// Minimum received power at which a frame can be received. Alternative to
        /// `network.radio.receive_range`.
        receive_threshold: Option<Power> => "none",
        /// Maximum distance at which a frame makes the medium busy and interferes. Alternative to
        /// `network.radio.sense_threshold`.
        sense_range: Option<Distance> =>
            "2.2 times `network.radio.receive_range`, which is 550 m for 250 m",
        /// Minimum received power that makes the medium busy. Alternative to
        /// `network.radio.sense_range`.
        sense_threshold: Option<Power> => "none",
        /// Height of every antenna above the ground, used by `"two-ray"`.
        antenna_height: Distance = Distance(1.5),
        /// Carrier frequency.
        frequency: Frequency = Frequency(914_000_000),
        /// Transmission power; the default is 24.5 dBm.
        power: Power = Power::Watts(0.281_838_15),
        /// Gain of every antenna, for transmission and reception.
        antenna_gain: Decibel = Decibel(0.0),
        /// System loss of the hardware.
        system_loss: Decibel = Decibel(0.0),
        /// Speed of light.
        light_speed: Speed = Speed(299_792_458.0),
        /// Capture ratio: the ratio by which a frame must exceed an overlapping one to be received;
        /// `"none"`: overlapping frames are always lost.
        capture: CaptureRatio = CaptureRatio::Ratio(Decibel(10.0)),
        /// Small-scale fading: `"rayleigh"`, `{ rician = "6 dB" }` or `{ nakagami = 1.5 }`. The received power of each frame
        /// is drawn anew for each receiver around its mean, up to 14 dB above it; what is in range on average may be lost, and what
        /// is beyond may be received. Not with `propagation = "range"`. The trend by which links are reported as
        /// fading, and their strength, are those of the mean.
        fading: Option<Fading> => "none",
        /// Probability that a node fails to receive a frame which it could decode.
        packet_error_rate: f64 [probability()] = 0.0,
        /// Power that the radio draws in each of its states, so that the energy of each node is
        /// measured: `"ns-2"` or `"wavelan"`, or a table with the keys of
        /// `network.radio.energy`.
        #[serde(deserialize_with = "energy::deserialize")]
        #[schemars(with = "Option<OrTable<EnergyPreset, Energy>>")]
        energy: Option<Energy> [inside()] => "none, energy is not measured",
    }
}

/// Distribution of the received power of a frame around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "\"rayleigh\", { rician = \"6 dB\" } or { nakagami = 1.5 }"
)]
pub enum Fading {
    /// `"rayleigh"`: no direct path.
    Rayleigh,
    /// `{ rician = "6 dB" }`: a direct path, whose power exceeds that of all others together by this K factor, at most
    /// 60 dB.
    Rician(Decibel),
    /// `{ nakagami = 1.5 }`: the m-distribution of this shape, 0.5 to 1000; 1 is `"rayleigh"`.
    Nakagami(f64),
}

/// Propagation model: the attenuation over distance.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Propagation {
    /// `"two-ray"`: free space at short distances, the inverse fourth power beyond the crossover
    /// distance (two-ray ground reflection).
    #[default]
    TwoRay,
    /// `"friis"`: free space, the inverse square.
    Friis,
    /// `"range"`: every frame within the range is received, with the same power.
    Range,
    /// `"log-distance"`: an arbitrary exponent, optionally with log-normal shadowing.
    LogDistance,
}

value_or! {
    /// Capture ratio of the radio.
    pub enum CaptureRatio
    expecting "a ratio with its unit, such as \"10 dB\", or \"none\"" {
        /// `"none"`: overlapping frames are always lost.
        None = "none",
        /// The ratio by which a frame must exceed an overlapping one.
        Ratio(ratio: Decibel) from text,
    }
}

/// 550 m / 250 m.
const SENSE_RANGE_FACTOR: f64 = 2.2;

/// A value between free space (2) and two-ray ground reflection (4).
const DEFAULT_EXPONENT: f64 = 3.0;

impl Radio {
    /// Configuration of the radio.
    pub fn config(&self) -> RadioConfig {
        let threshold = |range: Option<Distance>, power: Option<Power>| match (range, power) {
            (_, Some(power)) => Threshold::Power(power.watts()),
            (range, None) => Threshold::Distance(range.map_or(0.0, |Distance(range)| range)),
        };
        RadioConfig {
            model: match self.propagation {
                Propagation::TwoRay => PropagationModel::TwoRay,
                Propagation::Friis => PropagationModel::Friis,
                Propagation::Range => PropagationModel::Range,
                Propagation::LogDistance => PropagationModel::LogDistance {
                    exponent: self.exponent.unwrap_or(DEFAULT_EXPONENT),
                    shadowing_db: self.shadowing.map_or(0.0, |Decibel(deviation)| deviation),
                    decorrelation: self.decorrelation.map(|Distance(distance)| distance),
                },
            },
            power: self.power.watts(),
            frequency: self.frequency.0 as f64,
            light_speed: self.light_speed.0,
            antenna_height: self.antenna_height.0,
            antenna_gain: self.antenna_gain.ratio(),
            system_loss: self.system_loss.ratio(),
            receive: threshold(self.receive_range, self.receive_threshold),
            sense: threshold(self.sense_range, self.sense_threshold),
            capture_ratio: match self.capture {
                CaptureRatio::None => f64::INFINITY,
                CaptureRatio::Ratio(ratio) => ratio.ratio(),
            },
            fading: self.fading.map(|fading| match fading {
                Fading::Rayleigh => FadingModel::Rayleigh,
                Fading::Rician(factor) => FadingModel::Rician { factor: factor.ratio() },
                Fading::Nakagami(shape) => FadingModel::Nakagami { shape },
            }),
        }
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        if self.propagation == Propagation::LogDistance {
            self.exponent.get_or_insert(DEFAULT_EXPONENT);
            self.shadowing.get_or_insert(Decibel(0.0));
        }
        if self.receive_threshold.is_none() {
            let Distance(range) = *self.receive_range.get_or_insert(Distance(250.0));
            if self.sense_threshold.is_none() {
                self.sense_range.get_or_insert(Distance(range * SENSE_RANGE_FACTOR));
            }
        }
    }
}

/// Deviation of ns-2.35.
pub(crate) const NS2: &[Deviation] = &[Deviation {
    key: Cow::Borrowed("radio.light_speed"),
    scope: DeviationScope::Any,
    standard: Cow::Borrowed(r#""299792458 m/s""#),
    ns2: Cow::Borrowed(r#""300000000 m/s""#),
    standard_says: "The speed of light.",
    ns2_does: "300,000 km/s: wavelength and crossover distance are 0.07 % larger.",
}];
