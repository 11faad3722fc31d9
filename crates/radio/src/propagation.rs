//! Radio propagation: received power, and the thresholds for reception and carrier sensing.

mod fading;
mod shadowing;

use core::f64::consts::PI;

use driftway_base::{Duration, StationId};

use crate::ParameterError;
pub use fading::FadingModel;
use fading::{Fading, MAX_GAIN};
use shadowing::{MAX_DEVIATIONS, Shadowing, db_to_factor};

/// Configuration of the radios, the same for all stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioConfig {
    /// Propagation model.
    pub model: PropagationModel,
    /// Transmit power (W).
    pub power: f64,
    /// Carrier frequency (Hz).
    pub frequency: f64,
    /// Propagation speed (m/s), which determines wavelength and delay. ns-2 uses 300,000,000.
    pub light_speed: f64,
    /// Antenna height above the ground (m).
    pub antenna_height: f64,
    /// Antenna gain as a factor, for transmission and reception.
    pub antenna_gain: f64,
    /// System loss as a factor of 1 or more.
    pub system_loss: f64,
    /// Reception threshold.
    pub receive: Threshold,
    /// Carrier-sense threshold.
    pub sense: Threshold,
    /// Capture ratio: the factor by which a frame must exceed another to be decoded in spite of it;
    /// infinite without capture.
    pub capture_ratio: f64,
    /// Small-scale fading, if any.
    pub fading: Option<FadingModel>,
}

/// Propagation models: received power as a function of distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PropagationModel {
    /// Free space: power falls with the square of the distance (friis-1946).
    Friis,
    /// Two-ray ground reflection: as free space up to the crossover distance 4π·h²/λ, beyond which
    /// the reflected ray cancels the direct one and power falls with the fourth power of the
    /// distance (rappaport-2002 §4.6).
    TwoRay,
    /// Unit disk: constant power up to the receive range, half of it from there to the sense range,
    /// so that no frame captures another at the usual capture ratios. Thresholds must be distances.
    Range,
    /// Log-distance path loss beyond one metre, with optional log-normal shadowing for each pair of
    /// stations.
    LogDistance {
        /// Path loss exponent: 2 in free space, 2.7 to 5 in urban areas (rappaport-2002 §4.9).
        exponent: f64,
        /// Standard deviation of the shadowing (dB); 0: none. A pair's shadowing is symmetric and
        /// depends only on the seed, the pair and the distances its stations have moved. It is
        /// truncated at three standard deviations, so that the range is finite.
        shadowing_db: f64,
        /// Decorrelation distance (m): after the two stations together have moved this far, the
        /// correlation with the earlier shadowing is 1/e. `None`: constant shadowing.
        decorrelation: Option<f64>,
    },
}

/// A threshold of received power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Power received at this distance (m) without shadowing.
    Distance(f64),
    /// Received power (W).
    Power(f64),
}

impl RadioConfig {
    /// The WaveLAN card usual in the literature: 24.5 dBm at 914 MHz, 1.5 m above flat ground, 250
    /// m receive range, 550 m sense range, capture at 10 dB.
    pub const STANDARD: Self = Self {
        model: PropagationModel::TwoRay,
        power: 0.281_838_15,
        frequency: 914e6,
        light_speed: 299_792_458.0,
        antenna_height: 1.5,
        antenna_gain: 1.0,
        system_loss: 1.0,
        receive: Threshold::Distance(250.0),
        sense: Threshold::Distance(550.0),
        capture_ratio: 10.0,
        fading: None,
    };
    /// The same with ns-2.35's speed of light of 300,000 km/s, which moves the crossover distance
    /// from 86.20 m to 86.14 m.
    pub const NS2: Self = Self { light_speed: 3e8, ..Self::STANDARD };
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// Received power as a function of the squared distance (m²), which avoids a square root.
#[derive(Clone, Debug)]
pub struct Propagation {
    path_loss: PathLoss,
    shadowing: Option<Shadowing>,
    fading: Option<Fading>,
    /// Upper bound of the received power (W).
    max_power: f64,
    receive: ResolvedThreshold,
    sense: ResolvedThreshold,
    reach: f64,
    capture: f64,
    light_speed: f64,
}

/// Path loss as a function of the squared distance, with constants derived from the configuration.
#[derive(Clone, Copy, Debug)]
enum PathLoss {
    FreeSpace { one: f64 },
    TwoRay { one: f64, fourth_power: f64, crossover_squared: f64 },
    Range { power: f64, range_squared: f64 },
    LogDistance { one: f64, half: f64 },
}

#[derive(Clone, Copy, Debug)]
struct ResolvedThreshold {
    power: f64,
    range: f64,
}

impl PathLoss {
    fn new(config: &RadioConfig) -> Self {
        let sent = config.power * config.antenna_gain * config.antenna_gain / config.system_loss;
        let wavelength = config.light_speed / config.frequency;
        let ratio = wavelength / (4.0 * PI);
        // Power received at one metre in free space.
        let one = sent * ratio * ratio;
        match config.model {
            PropagationModel::Friis => Self::FreeSpace { one },
            PropagationModel::TwoRay => {
                let height_squared = config.antenna_height * config.antenna_height;
                let crossover = height_squared / ratio;
                Self::TwoRay {
                    one,
                    fourth_power: sent * height_squared * height_squared,
                    crossover_squared: crossover * crossover,
                }
            }
            PropagationModel::Range => {
                let range = match config.receive {
                    Threshold::Distance(range) => range,
                    Threshold::Power(_) => 0.0,
                };
                Self::Range { power: config.power, range_squared: range * range }
            }
            PropagationModel::LogDistance { exponent, .. } => {
                Self::LogDistance { one, half: exponent * 0.5 }
            }
        }
    }

    #[inline]
    fn power(&self, distance_squared: f64) -> f64 {
        match *self {
            Self::FreeSpace { one } => one / distance_squared,
            Self::TwoRay { one, fourth_power, crossover_squared } => {
                if distance_squared < crossover_squared {
                    one / distance_squared
                } else {
                    fourth_power / (distance_squared * distance_squared)
                }
            }
            Self::Range { power, range_squared } => {
                if distance_squared <= range_squared {
                    power
                } else {
                    power * 0.5
                }
            }
            Self::LogDistance { one, half } => one / libm::pow(distance_squared, half),
        }
    }

    /// Returns the distance (m) at which this power is received.
    fn distance(&self, power: f64) -> f64 {
        match *self {
            Self::FreeSpace { one } => (one / power).sqrt(),
            Self::TwoRay { one, fourth_power, crossover_squared } => {
                let near = one / power;
                if near < crossover_squared {
                    near.sqrt()
                } else {
                    (fourth_power / power).sqrt().sqrt()
                }
            }
            Self::Range { range_squared, .. } => range_squared.sqrt(),
            Self::LogDistance { one, half } => libm::pow(one / power, 0.5 / half),
        }
    }
}

impl Propagation {
    /// Maximum number of stations for shadowing with decorrelation: each pair has its own state, 32
    /// MB in total.
    pub const MAX_DECORRELATING_STATIONS: u32 = 1024;

    /// Creates the propagation model for this number of stations; only shadowing and fading depend on `seed`.
    ///
    /// # Errors
    /// An invalid parameter, or thresholds inconsistent with each other or with the model.
    pub fn new(config: &RadioConfig, stations: u32, seed: u64) -> Result<Self, ParameterError> {
        check_config(config, stations)?;
        let path_loss = PathLoss::new(config);
        let limit = |name, threshold| {
            let limit = match (threshold, config.model) {
                (Threshold::Power(_), PropagationModel::Range) => {
                    let message = "the range model has no received power";
                    return Err(ParameterError::new(name, message, "a distance"));
                }
                (Threshold::Distance(range), _) => {
                    ResolvedThreshold { power: path_loss.power(range * range), range }
                }
                (Threshold::Power(power), _) => {
                    ResolvedThreshold { power, range: path_loss.distance(power) }
                }
            };
            if limit.range > 0.0 && limit.range < 1e9 {
                return Ok(limit);
            }
            let message = format!("a range of {} m is not possible", limit.range);
            Err(ParameterError::new(name, message, "a distance, or a power, above 0"))
        };
        let (receive, sense) = (limit("receive", config.receive)?, limit("sense", config.sense)?);
        if sense.range < receive.range {
            let message = format!(
                "frames are sensed up to {} m but decoded up to {} m",
                sense.range, receive.range
            );
            let help = "a sense range of at least the receive range";
            return Err(ParameterError::new("sense", message, help));
        }
        let strongest = config.fading.map_or(1.0, |_| MAX_GAIN);
        let (shadowing, strongest) = match config.model {
            PropagationModel::LogDistance { shadowing_db, decorrelation, .. }
                if shadowing_db > 0.0 =>
            {
                let strongest = strongest * db_to_factor(MAX_DEVIATIONS * shadowing_db);
                (Some(Shadowing::new(shadowing_db, decorrelation, stations, seed)), strongest)
            }
            _ => (None, strongest),
        };
        let reach = if shadowing.is_some() || config.fading.is_some() {
            path_loss.distance(sense.power / strongest)
        } else {
            sense.range
        };
        Ok(Self {
            path_loss,
            shadowing,
            fading: config.fading.map(|model| Fading::new(model, stations, seed)),
            max_power: config.power * config.antenna_gain * config.antenna_gain
                / config.system_loss,
            receive,
            sense,
            reach,
            capture: config.capture_ratio,
            light_speed: config.light_speed,
        })
    }

    /// Returns the power (W) received over a squared distance (m²) without shadowing; at most the
    /// transmit power.
    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        self.path_loss.power(distance_squared).min(self.max_power)
    }

    /// Returns the power (W) received between two stations at the start of a run, over a squared
    /// distance (m²).
    #[inline]
    pub fn initial_power_between(
        &self,
        one: StationId,
        other: StationId,
        distance_squared: f64,
    ) -> f64 {
        match &self.shadowing {
            None => self.power(distance_squared),
            Some(shadowing) => {
                let factor = shadowing.factor(one, other);
                (self.path_loss.power(distance_squared) * factor).min(self.max_power)
            }
        }
    }

    /// Returns the same after the two stations together have moved `moved` metres.
    #[inline]
    pub fn power_after_moving(
        &mut self,
        one: StationId,
        other: StationId,
        distance_squared: f64,
        moved: f64,
    ) -> f64 {
        match &mut self.shadowing {
            None => self.power(distance_squared),
            Some(shadowing) => {
                let factor = shadowing.factor_after_moving(one, other, moved);
                (self.path_loss.power(distance_squared) * factor).min(self.max_power)
            }
        }
    }

    /// Counts a frame of a station, whose fading is drawn anew.
    #[inline]
    pub fn on_frame(&mut self, from: StationId) {
        if let Some(fading) = &mut self.fading {
            fading.on_frame(from);
        }
    }

    /// Returns the power (W) of the current frame of a station at another: the power after moving, with
    /// fading.
    #[inline]
    pub fn power_of_frame(
        &mut self,
        from: StationId,
        to: StationId,
        distance_squared: f64,
        moved: f64,
    ) -> f64 {
        let power = self.power_after_moving(from, to, distance_squared, moved);
        match &self.fading {
            None => power,
            Some(fading) => (power * fading.gain(from, to)).min(self.max_power),
        }
    }

    /// Returns whether power depends on more than the distance: shadowing, or fading.
    pub const fn varies(&self) -> bool {
        self.shadowing.is_some() || self.fading.is_some()
    }

    /// Returns the reception threshold (W).
    pub const fn receive_power(&self) -> f64 {
        self.receive.power
    }

    /// Returns the carrier-sense threshold (W).
    pub const fn sense_power(&self) -> f64 {
        self.sense.power
    }

    /// Returns the receive range (m) without shadowing.
    pub const fn receive_range(&self) -> f64 {
        self.receive.range
    }

    /// Returns the carrier-sense range (m) without shadowing.
    pub const fn sense_range(&self) -> f64 {
        self.sense.range
    }

    /// Returns the distance (m) beyond which no station senses another: the sense range, or with
    /// shadowing that of a pair at three standard deviations above the mean, and with fading 14 dB more.
    pub const fn reach(&self) -> f64 {
        self.reach
    }

    /// Returns the capture ratio.
    pub const fn capture_ratio(&self) -> f64 {
        self.capture
    }

    /// Returns the propagation speed (m/s).
    pub const fn light_speed(&self) -> f64 {
        self.light_speed
    }

    /// Returns the propagation delay over a squared distance (m²), to the nanosecond.
    #[inline]
    pub fn delay(&self, distance_squared: f64) -> Duration {
        let seconds = distance_squared.sqrt() / self.light_speed;
        Duration::from_nanos((seconds * 1e9 + 0.5) as u64)
    }
}

fn check_config(config: &RadioConfig, stations: u32) -> Result<(), ParameterError> {
    let positive = [
        ("power", config.power),
        ("frequency", config.frequency),
        ("light_speed", config.light_speed),
        ("antenna_height", config.antenna_height),
        ("antenna_gain", config.antenna_gain),
        ("system_loss", config.system_loss),
    ];
    for (name, value) in positive {
        if !(value > 0.0 && value < 1e30) {
            let message = format!("{value} is out of range");
            return Err(ParameterError::new(name, message, "a number above 0"));
        }
    }
    if config.capture_ratio.is_nan() || config.capture_ratio < 1.0 {
        let message = format!("a capture ratio of {}", config.capture_ratio);
        return Err(ParameterError::new("capture", message, "a factor of 1 or more"));
    }
    if let Some(model) = config.fading {
        model.check()?;
        if config.model == PropagationModel::Range {
            let message = "fading with the range model, which has no received power";
            let help = "another model of propagation";
            return Err(ParameterError::new("fading", message, help));
        }
    }
    if let PropagationModel::LogDistance { exponent, shadowing_db, decorrelation } = config.model {
        if !(1.0..=10.0).contains(&exponent) {
            let message = format!("{exponent} is not a valid path loss exponent");
            return Err(ParameterError::new("exponent", message, "1 to 10; 2 in free space"));
        }
        if !(0.0..=30.0).contains(&shadowing_db) {
            let message = format!("a standard deviation of {shadowing_db} dB");
            return Err(ParameterError::new("shadowing", message, "0 to 30 dB; 0 for none"));
        }
        if let Some(distance) = decorrelation {
            if !(0.1..=1e6).contains(&distance) {
                let message = format!("a decorrelation distance of {distance} m");
                return Err(ParameterError::new("decorrelation", message, "0.1 m to 1000 km"));
            }
            if stations > Propagation::MAX_DECORRELATING_STATIONS {
                let message = format!("shadowing with decorrelation for {stations} nodes");
                let help = "at most 1024 nodes, or constant shadowing";
                return Err(ParameterError::new("decorrelation", message, help));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod test;
