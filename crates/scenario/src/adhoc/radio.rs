//! The table `radio`: radio and propagation.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use driftway_radio::{PropagationModel, RadioConfig, Threshold};

use crate::{Decibel, Distance, Frequency, Power, Speed};

/// Radio and propagation, the same for all nodes. The defaults are the 914 MHz WaveLAN radio of
/// ns-2: two-ray ground propagation, a receive range of 250 m and a sense range of 550 m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of a radio")]
pub struct Radio {
    /// Propagation model: `"two-ray"`, `"friis"`, `"range"` or `"log-distance"`.
    /// Default `"two-ray"`.
    pub propagation: Propagation,
    /// Path loss exponent of `"log-distance"`, 1 to 10. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Standard deviation of the log-normal shadowing of `"log-distance"`, drawn once for each pair
    /// of nodes. Default 0 dB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<Decibel>,
    /// Decorrelation distance of the shadowing: when the two nodes of a pair have moved this far in
    /// total, the correlation with its previous value has fallen to 1/e (gudmundson-1991; 10 m
    /// to 20 m in urban, hundreds of metres in open areas). Up to 1024 nodes. Default: none, the
    /// shadowing is constant for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decorrelation: Option<Distance>,
    /// Maximum distance at which a frame can be received. Alternative to
    /// `network.radio.receive_threshold`. Default: 250 m, without
    /// `network.radio.receive_threshold`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_range: Option<Distance>,
    /// Minimum received power at which a frame can be received. Alternative to
    /// `network.radio.receive_range`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_threshold: Option<Power>,
    /// Maximum distance at which a frame makes the medium busy and interferes. Alternative to
    /// `network.radio.sense_threshold`. Default: 2.2 times `network.radio.receive_range`, which is
    /// 550 m for 250 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sense_range: Option<Distance>,
    /// Minimum received power that makes the medium busy. Alternative to
    /// `network.radio.sense_range`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sense_threshold: Option<Power>,
    /// Height of every antenna above the ground, used by `"two-ray"`. Default 1.5 m.
    pub antenna_height: Distance,
    /// Carrier frequency. Default 914 MHz.
    pub frequency: Frequency,
    /// Transmission power; the default is 24.5 dBm. Default 0.28183815 W.
    pub power: Power,
    /// Gain of every antenna, for transmission and reception. Default 0 dB.
    pub antenna_gain: Decibel,
    /// System loss of the hardware. Default 0 dB.
    pub system_loss: Decibel,
    /// Speed of light. Default 299792458 m/s.
    pub light_speed: Speed,
    /// Capture ratio: the ratio by which a frame must exceed an overlapping one to be received;
    /// `"none"`: overlapping frames are always lost. Default 10 dB.
    pub capture: CaptureRatio,
    /// Probability that a node fails to receive a frame which it could decode. 0 to 1. Default 0.
    pub packet_error_rate: f64,
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

/// Capture ratio of the radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaptureRatio {
    /// `"none"`: overlapping frames are always lost.
    None,
    /// The ratio by which a frame must exceed an overlapping one.
    Ratio(Decibel),
}

impl Default for Radio {
    fn default() -> Self {
        Self {
            propagation: Propagation::TwoRay,
            exponent: None,
            shadowing: None,
            decorrelation: None,
            receive_range: None,
            receive_threshold: None,
            sense_range: None,
            sense_threshold: None,
            antenna_height: Distance(1.5),
            frequency: Frequency(914_000_000),
            power: Power::Watts(0.281_838_15),
            antenna_gain: Decibel(0.0),
            system_loss: Decibel(0.0),
            light_speed: Speed(299_792_458.0),
            capture: CaptureRatio::Ratio(Decibel(10.0)),
            packet_error_rate: 0.0,
        }
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

impl Serialize for CaptureRatio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Ratio(ratio) => ratio.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CaptureRatio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = CaptureRatio;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a ratio with its unit, such as \"10 dB\", or \"none\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<CaptureRatio, E> {
                match text {
                    "none" => Ok(CaptureRatio::None),
                    _ => text.parse().map(CaptureRatio::Ratio).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(Text)
    }
}
