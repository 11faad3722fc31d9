//! Radio propagation: received power, and the thresholds for reception and carrier sensing.

mod config;
mod fading;
mod link_budget;
mod models;
mod shadowing;

use driftway_base::{Duration, StationId};

use crate::ParameterError;
pub use config::{RadioConfig, Threshold};
pub use fading::FadingModel;
use fading::{Fading, MAX_GAIN};
use models::PathLoss;
pub use models::{LogDistance, PropagationKind, PropagationModel};
use shadowing::{MAX_DEVIATIONS, Shadowing, db_to_factor};

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

#[derive(Clone, Copy, Debug)]
struct ResolvedThreshold {
    power: f64,
    range: f64,
}

impl Propagation {
    /// Maximum number of stations for shadowing with decorrelation.
    pub const MAX_DECORRELATING_STATIONS: u32 = LogDistance::MAX_DECORRELATING_STATIONS;

    /// Creates the propagation model for this number of stations; only shadowing and fading depend on `seed`.
    ///
    /// # Errors
    /// An invalid parameter, or thresholds inconsistent with each other or with the model.
    pub fn new(config: &RadioConfig, stations: u32, seed: u64) -> Result<Self, ParameterError> {
        check_config(config, stations)?;
        let budget = config.link_budget();
        let path_loss = PathLoss::new(&config.model, &budget);
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
            PropagationModel::LogDistance(LogDistance { shadowing_db, decorrelation, .. })
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
            max_power: budget.sent,
            receive,
            sense,
            reach,
            capture: config.capture,
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

    /// Returns the ratio of squared distances below which no frame captures another, whose signals have no
    /// shadowing or fading; 0 if that is not known.
    pub fn capture_squares(&self) -> f64 {
        // Powers are rounded, and have an upper bound; at a ratio of 1 that matters.
        if self.capture > 1.001 {
            self.path_loss.squared_distances_of(self.capture) * (1.0 - 1e-6)
        } else {
            0.0
        }
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
    if config.capture.is_nan() || config.capture < 1.0 {
        let message = format!("a capture ratio of {}", config.capture);
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
    config.model.check(stations)
}

#[cfg(test)]
mod test;
