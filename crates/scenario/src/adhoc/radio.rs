//! `radio = { … }`: what carries how far.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use driftway_radio::{PropagationModel, RadioConfig, Threshold};

use crate::{Decibel, Distance, Frequency, Power, Speed};

/// `radio = { … }`, the same for all nodes. Left out, it is the 914 MHz WaveLAN card that ad hoc
/// networks have been simulated with since ns-2: two-ray ground, 250 m, 550 m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of a radio")]
pub struct Radio {
    /// How power falls with distance. Default `"two-ray"`.
    pub propagation: Propagation,
    /// Log-distance only: the power by which it falls. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
    /// Log-distance only: the standard deviation of what obstacles do to it, drawn once for each
    /// pair of nodes. Default 0 dB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadowing: Option<Decibel>,
    /// With shadowing: a pair's factor changes as its nodes move. When the two have gone so far
    /// together, the correlation with what it was has fallen to 1/e (gudmundson-1991; 10 m to 20 m
    /// among houses, hundreds outside). Up to 1024 nodes. Default: it stays for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decorrelation: Option<Distance>,
    /// How far a frame can be received. Either this or `receive_threshold`. Default 250 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_range: Option<Distance>,
    /// The least power at which a frame can be received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_threshold: Option<Power>,
    /// How far a frame makes the medium busy, and disturbs others. Either this or
    /// `sense_threshold`. Default: 2.2 times the receive range, as 550 m is of 250 m.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sense_range: Option<Distance>,
    /// The least power that makes the medium busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sense_threshold: Option<Power>,
    /// Over the ground, of every antenna; two-ray uses it. Default 1.5 m.
    pub antenna_height: Distance,
    /// Of the carrier. Default 914 MHz.
    pub frequency: Frequency,
    /// What is sent. Default 0.28183815 W, which is 24.5 dBm.
    pub power: Power,
    /// Of every antenna, sending and receiving. Default 0 dB.
    pub antenna_gain: Decibel,
    /// What the hardware loses. Default 0 dB.
    pub system_loss: Decibel,
    /// Of light. Default 299792458 m/s.
    pub light_speed: Speed,
    /// By how much a frame must be stronger than another to be received all the same; `"none"`:
    /// two frames at once are always lost. Default 10 dB.
    pub capture: CaptureRatio,
    /// The probability that a node does not get a frame which it could receive. Default 0.
    pub packet_error_rate: f64,
}

/// How power falls with distance.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Propagation {
    /// As in free space up close, then with the fourth power: the ground reflects.
    #[default]
    TwoRay,
    /// As in free space: with the second power.
    Friis,
    /// All or nothing: whatever is within the range is received with the same power.
    Range,
    /// With any power, and obstacles in between.
    LogDistance,
}

/// What a stronger frame survives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CaptureRatio {
    /// Nothing.
    None,
    /// Another that is weaker by this much.
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

/// 550 m to 250 m.
const SENSE_RANGE_FACTOR: f64 = 2.2;

/// Between free space (2) and the ground's reflection (4).
const DEFAULT_EXPONENT: f64 = 3.0;

impl Radio {
    /// What the radio is told.
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

    /// Writes out the defaults that depend on other keys.
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
