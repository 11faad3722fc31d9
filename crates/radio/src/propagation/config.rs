//! Configuration of the radios.

use core::f64::consts::PI;

use driftway_base::configuration;

use super::fading::FadingModel;
use super::link_budget::LinkBudget;
use super::models::PropagationModel;

/// A threshold of received power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Power received at this distance (m) without shadowing.
    Distance(f64),
    /// Received power (W).
    Power(f64),
}

/// Passes the options of radios to a macro, after what it is given: see
/// [`configuration!`](driftway_base::configuration). The values are in metres, hertz, watts, factors and metres per
/// second.
#[macro_export]
macro_rules! radio_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Height of every antenna above the ground, used by `"two-ray"`.
        antenna_height: f64 as Distance = 1.5;
        /// Carrier frequency.
        frequency: f64 as Frequency = 914e6;
        /// Transmission power; the default is 24.5 dBm.
        power: f64 as Power = 0.281_838_15;
        /// Gain of every antenna, for transmission and reception.
        antenna_gain: f64 as Decibel = 1.0;
        /// System loss of the hardware.
        system_loss: f64 as Decibel = 1.0;
        /// Speed of light.
        light_speed: f64 as Speed = 299_792_458.0 => 3e8,
            "The speed of light.",
            "300,000 km/s: wavelength and crossover distance are 0.07 % larger.";
        /// Capture ratio: the ratio by which a frame must exceed an overlapping one to be received;
        /// `"none"`: overlapping frames are always lost.
        capture: f64 as CaptureRatio = 10.0;
    } } };
}

radio_options! { configuration! {
    /// Configuration of the radios, the same for all stations.
    pub struct RadioConfig {
        /// The WaveLAN card usual in the literature: 24.5 dBm at 914 MHz, 1.5 m above flat ground, 250 m receive range,
        /// 550 m sense range, capture at 10 dB.
        STANDARD,
        /// The same with ns-2.35's speed of light, which moves the crossover distance from 86.20 m to 86.14 m.
        NS2,
    }
    given {
        /// Propagation model.
        model: PropagationModel = PropagationModel::TwoRay,
        /// Reception threshold.
        receive: Threshold = Threshold::Distance(250.0),
        /// Carrier-sense threshold.
        sense: Threshold = Threshold::Distance(550.0),
        /// Small-scale fading, if any.
        fading: Option<FadingModel> = None,
    }
} }

impl RadioConfig {
    /// Powers and lengths from which path loss is computed.
    pub(super) fn link_budget(&self) -> LinkBudget {
        LinkBudget {
            power: self.power,
            sent: self.power * self.antenna_gain * self.antenna_gain / self.system_loss,
            wavelength_ratio: self.light_speed / self.frequency / (4.0 * PI),
            antenna_height: self.antenna_height,
            range: match self.receive {
                Threshold::Distance(range) => range,
                Threshold::Power(_) => 0.0,
            },
        }
    }
}
