//! The table `radio`: radio and propagation.

use driftway_radio::{
    FadingModel, LogDistance, PropagationKind, PropagationModel, RadioConfig, Threshold,
    radio_options,
};
use serde::{Deserialize, Serialize};

use super::energy::{self, Energy, EnergyPreset};
use crate::file_value::{FileValue, Keyword};
use crate::table::table;
use crate::value_or::{OrTable, value_or};
use crate::{Decibel, Distance, Frequency, Power, Speed};

radio_options! { table! {
    /// Radio and propagation, the same for all nodes. The defaults are the 914 MHz WaveLAN radio of
    /// ns-2: two-ray ground propagation, a receive range of 250 m and a sense range of 550 m.
    pub struct Radio of RadioConfig = RadioConfig::STANDARD, "a table with the keys of a radio";
    given model = Radio::model, receive = Radio::receive, sense = Radio::sense, fading = Radio::fading;
    before {
        /// Propagation model: `"two-ray"`, `"friis"`, `"range"` or `"log-distance"`.
        propagation: Keyword<PropagationKind> = Keyword::default(),
        /// Path loss exponent of `"log-distance"`, 1 to 10.
        exponent: Option<f64> => (LogDistance::STANDARD.exponent),
        /// Standard deviation of the log-normal shadowing of `"log-distance"`, drawn once for each
        /// pair of nodes.
        shadowing: Option<Decibel> => (Decibel(LogDistance::STANDARD.shadowing_db)),
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
    }
    after {
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
} }

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

/// The ratio as a factor.
impl FileValue<f64> for CaptureRatio {
    fn from_config(factor: f64) -> Self {
        Self::Ratio(FileValue::from_config(factor))
    }
    fn to_config(&self) -> f64 {
        match self {
            Self::None => f64::INFINITY,
            Self::Ratio(ratio) => ratio.ratio(),
        }
    }
}

impl Radio {
    fn model(&self) -> PropagationModel {
        match PropagationModel::standard(self.propagation.0) {
            PropagationModel::LogDistance(standard) => {
                let shadowing_db = self.shadowing.map_or(standard.shadowing_db, |Decibel(db)| db);
                PropagationModel::LogDistance(LogDistance {
                    exponent: self.exponent.unwrap_or(standard.exponent),
                    shadowing_db,
                    decorrelation: self.decorrelation.map(|Distance(distance)| distance),
                })
            }
            model => model,
        }
    }

    fn receive(&self) -> Threshold {
        threshold(self.receive_range, self.receive_threshold)
    }

    fn sense(&self) -> Threshold {
        threshold(self.sense_range, self.sense_threshold)
    }

    fn fading(&self) -> Option<FadingModel> {
        self.fading.map(|fading| match fading {
            Fading::Rayleigh => FadingModel::Rayleigh,
            Fading::Rician(factor) => FadingModel::Rician { factor: factor.ratio() },
            Fading::Nakagami(shape) => FadingModel::Nakagami { shape },
        })
    }

    /// Fills in the defaults that depend on other keys.
    pub(crate) fn resolve(&mut self) {
        if let PropagationModel::LogDistance(LogDistance { exponent, shadowing_db, .. }) =
            self.model()
        {
            self.exponent = Some(exponent);
            self.shadowing = Some(Decibel(shadowing_db));
        }
        if self.receive_threshold.is_none() {
            let Distance(range) = *self.receive_range.get_or_insert(Distance(250.0));
            if self.sense_threshold.is_none() {
                self.sense_range.get_or_insert(Distance(range * SENSE_RANGE_FACTOR));
            }
        }
    }
}

fn threshold(range: Option<Distance>, power: Option<Power>) -> Threshold {
    match (range, power) {
        (_, Some(power)) => Threshold::Power(power.watts()),
        (range, None) => Threshold::Distance(range.map_or(0.0, |Distance(range)| range)),
    }
}
