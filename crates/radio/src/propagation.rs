//! How strong a frame arrives, and whether that is enough to decode or to sense it.

mod shadowing;

use core::f64::consts::PI;

use driftway_base::Duration;

use crate::ParameterError;
use shadowing::{MAX_DEVIATIONS, Shadowing};

/// A radio, the same for all nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioConfig {
    /// How power falls with distance.
    pub model: PropagationModel,
    /// Power sent (W).
    pub power: f64,
    /// Of the carrier (Hz).
    pub frequency: f64,
    /// Of light (m/s); ns-2 counts with 300,000,000. It gives the wavelength and the delay.
    pub light_speed: f64,
    /// Height of every antenna above the ground (m).
    pub antenna_height: f64,
    /// Gain of every antenna, as a factor, sending and receiving.
    pub antenna_gain: f64,
    /// What the hardware loses, as a factor of 1 or more.
    pub system_loss: f64,
    /// From where on a frame can be decoded.
    pub receive: Threshold,
    /// From where on a frame makes the medium busy.
    pub sense: Threshold,
    /// How many times stronger a frame must be than another to be decoded all the same; infinite if
    /// none ever is.
    pub capture_ratio: f64,
}

/// How power falls with distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PropagationModel {
    /// In free space, with the square of the distance (friis-1946).
    Friis,
    /// Over flat ground: as in free space up to the crossover distance 4π·h²/λ, where the reflected
    /// ray begins to cancel the direct one, and with the fourth power from there on
    /// (rappaport-2002 §4.6).
    TwoRay,
    /// None at all up to the receive range; as if half as strong from there to the sense range, so
    /// that at the usual capture ratios no frame captures another. Thresholds must be distances.
    Range,
    /// With a power of the distance beyond one metre, and a factor for each pair of nodes.
    LogDistance {
        /// The exponent: 2 in free space, 2.7 to 5 in towns (rappaport-2002 §4.9).
        exponent: f64,
        /// Standard deviation of the pairs' factors in dB, 0 for none. A pair's factor is the same
        /// both ways, and depends on the seed, the pair and where its nodes have been alone. It is
        /// cut off at three deviations, so that nodes are heard to a finite distance.
        shadowing_db: f64,
        /// When the two have moved by so much together (m), what is left of the correlation with the
        /// factor from before is 1/e. `None`: a factor is drawn once for the whole run.
        decorrelation: Option<f64>,
    },
}

/// From where on a frame is strong enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Up to this distance (m), without shadowing.
    Distance(f64),
    /// From this power on (W).
    Power(f64),
}

impl RadioConfig {
    /// The WaveLAN card that this field's papers use: 24.5 dBm at 914 MHz, 1.5 m above flat ground,
    /// decoded up to 250 m, sensed up to 550 m, captured at 10 dB.
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
    };
    /// The same as ns-2.35 has it: light travels 300,000 km/s, which moves the crossover distance
    /// from 86.20 m to 86.14 m.
    pub const NS2: Self = Self { light_speed: 3e8, ..Self::STANDARD };
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}

/// What arrives of a frame, by the square of the distance (m²), which spares the root.
#[derive(Clone, Debug)]
pub struct Propagation {
    path_loss: PathLoss,
    shadowing: Option<Shadowing>,
    /// What arrives at no distance (W).
    max_power: f64,
    receive: ResolvedThreshold,
    sense: ResolvedThreshold,
    reach: f64,
    capture: f64,
    light_speed: f64,
}

/// Power by the square of the distance: the factors that the configuration comes to.
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
        // What arrives at one metre in free space.
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
            PropagationModel::LogDistance { exponent, .. } => Self::LogDistance { one, half: exponent * 0.5 },
        }
    }

    #[inline]
    fn power(&self, distance_squared: f64) -> f64 {
        match *self {
            Self::FreeSpace { one } => one / distance_squared,
            Self::TwoRay { one, fourth_power: far, crossover_squared } => {
                if distance_squared < crossover_squared {
                    one / distance_squared
                } else {
                    far / (distance_squared * distance_squared)
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

    /// The distance at which this power arrives.
    fn distance(&self, power: f64) -> f64 {
        match *self {
            Self::FreeSpace { one } => (one / power).sqrt(),
            Self::TwoRay { one, fourth_power: far, crossover_squared } => {
                let near = one / power;
                if near < crossover_squared { near.sqrt() } else { (far / power).sqrt().sqrt() }
            }
            Self::Range { range_squared, .. } => range_squared.sqrt(),
            Self::LogDistance { one, half } => libm::pow(one / power, 0.5 / half),
        }
    }
}

impl Propagation {
    /// Up to so many nodes shadowing can change as they move: each pair has a state, 32 MB at most.
    pub const MAX_DECORRELATING_NODES: u32 = 1024;

    /// The propagation of a run with this `seed` (which shadowing alone depends on) and this many
    /// nodes.
    ///
    /// # Errors
    /// A parameter that makes no sense, or thresholds that do not fit each other or the model.
    pub fn new(config: &RadioConfig, nodes: u32, seed: u64) -> Result<Self, ParameterError> {
        check_config(config, nodes)?;
        let law = PathLoss::new(config);
        let limit = |name, threshold| {
            let limit = match (threshold, config.model) {
                (Threshold::Power(_), PropagationModel::Range) => {
                    let message = "a fixed range knows no power";
                    return Err(ParameterError::new(name, message, "a distance"));
                }
                (Threshold::Distance(range), _) => ResolvedThreshold { power: law.power(range * range), range },
                (Threshold::Power(power), _) => ResolvedThreshold { power, range: law.distance(power) },
            };
            if limit.range > 0.0 && limit.range < 1e9 {
                return Ok(limit);
            }
            let message = format!("{} m is no range of a radio", limit.range);
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
        let (shadowing, reach) = match config.model {
            PropagationModel::LogDistance { shadowing_db, decorrelation, .. } if shadowing_db > 0.0 => {
                let strongest = db_to_factor(MAX_DEVIATIONS * shadowing_db);
                let reach = law.distance(sense.power / strongest);
                (Some(Shadowing::new(shadowing_db, decorrelation, nodes, seed)), reach)
            }
            _ => (None, sense.range),
        };
        Ok(Self {
            path_loss: law,
            shadowing,
            max_power: config.power * config.antenna_gain * config.antenna_gain / config.system_loss,
            receive,
            sense,
            reach,
            capture: config.capture_ratio,
            light_speed: config.light_speed,
        })
    }

    /// What arrives over a distance (m²) without shadowing, in watts; never more than is sent.
    #[inline]
    pub fn power(&self, distance_squared: f64) -> f64 {
        self.path_loss.power(distance_squared).min(self.max_power)
    }

    /// What one of two nodes gets of the other over a distance (m²) at the start of a run, in watts.
    #[inline]
    pub fn initial_power_between(&self, one: u32, other: u32, distance_squared: f64) -> f64 {
        match &self.shadowing {
            None => self.power(distance_squared),
            Some(shadowing) => {
                let factor = shadowing.factor(one, other);
                (self.path_loss.power(distance_squared) * factor).min(self.max_power)
            }
        }
    }

    /// The same when the two together have moved by so much (m) since.
    #[inline]
    pub fn power_after_moving(&mut self, one: u32, other: u32, distance_squared: f64, moved: f64) -> f64 {
        match &mut self.shadowing {
            None => self.power(distance_squared),
            Some(shadowing) => {
                let factor = shadowing.factor_after_moving(one, other, moved);
                (self.path_loss.power(distance_squared) * factor).min(self.max_power)
            }
        }
    }

    /// Does power depend on the pair of nodes, and not on their distance alone?
    pub const fn has_shadowing(&self) -> bool {
        self.shadowing.is_some()
    }

    /// A frame of this power (W) or more can be decoded.
    pub const fn receive_power(&self) -> f64 {
        self.receive.power
    }

    /// A frame of this power (W) or more makes the medium busy.
    pub const fn sense_power(&self) -> f64 {
        self.sense.power
    }

    /// Up to here (m) frames can be decoded, without shadowing.
    pub const fn receive_range(&self) -> f64 {
        self.receive.range
    }

    /// Up to here (m) frames make the medium busy, without shadowing.
    pub const fn sense_range(&self) -> f64 {
        self.sense.range
    }

    /// Beyond this distance (m) no node senses another: the sense range, or with shadowing what
    /// that is for the best of pairs, three standard deviations above the mean.
    pub const fn reach(&self) -> f64 {
        self.reach
    }

    /// How many times stronger a frame must be than another to be decoded all the same.
    pub const fn capture_ratio(&self) -> f64 {
        self.capture
    }

    /// How fast it travels (m/s).
    pub const fn light_speed(&self) -> f64 {
        self.light_speed
    }

    /// How long a frame travels over a distance (m²), to the nanosecond.
    #[inline]
    pub fn delay(&self, distance_squared: f64) -> Duration {
        let seconds = distance_squared.sqrt() / self.light_speed;
        Duration::from_nanos((seconds * 1e9 + 0.5) as u64)
    }
}

fn check_config(config: &RadioConfig, nodes: u32) -> Result<(), ParameterError> {
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
            let message = format!("{value} makes no radio");
            return Err(ParameterError::new(name, message, "a number above 0"));
        }
    }
    if config.capture_ratio.is_nan() || config.capture_ratio < 1.0 {
        let message = format!("a capture ratio of {}", config.capture_ratio);
        return Err(ParameterError::new("capture", message, "a factor of 1 or more"));
    }
    if let PropagationModel::LogDistance { exponent, shadowing_db, decorrelation } = config.model {
        if !(1.0..=10.0).contains(&exponent) {
            let message = format!("power does not fall with distance to the power of {exponent}");
            return Err(ParameterError::new("exponent", message, "1 to 10; 2 in free space"));
        }
        if !(0.0..=30.0).contains(&shadowing_db) {
            let message = format!("a standard deviation of {shadowing_db} dB");
            return Err(ParameterError::new("shadowing", message, "0 to 30 dB; 0 for none"));
        }
        if let Some(distance) = decorrelation {
            if !(0.1..=1e6).contains(&distance) {
                let message = format!("shadowing that is another after {distance} m");
                return Err(ParameterError::new("decorrelation", message, "0.1 m to 1000 km"));
            }
            if nodes > Propagation::MAX_DECORRELATING_NODES {
                let message = format!("shadowing that changes among {nodes} nodes");
                let help = "1024 nodes at most, or shadowing that stays";
                return Err(ParameterError::new("decorrelation", message, help));
            }
        }
    }
    Ok(())
}

/// A ratio in dB as a factor.
fn db_to_factor(db: f64) -> f64 {
    libm::exp10(db * 0.1)
}

#[cfg(test)]
mod test;
