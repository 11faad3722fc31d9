//! Small-scale fading: a random gain of the power of each frame at each receiver.
//!
//! The gain is drawn anew, independently, for each frame and receiver, as ns-3's `NakagamiPropagationLossModel` does; it is
//! constant for the duration of a frame. Its mean is 1.

use driftway_base::{RandomStream, StationId};
use typed_index_collections::{TiVec, ti_vec};

use crate::ParameterError;
use crate::normal::truncated_normal;

/// Maximum gain, so that the range is finite: 14 dB. Fewer than one gain in 10⁶ would exceed it, for
/// Nakagami's m = 1/2, and fewer than one in 10¹⁰ from m = 1, which is Rayleigh, on.
pub(super) const MAX_GAIN: f64 = 25.118_864_315_095_8;

/// Limit of normal deviates, which have no other: less than one in 10¹⁵ is beyond it.
const MAX_DEVIATIONS: f64 = 8.0;

/// Small-scale fading: the distribution of the received power of a frame around its mean, drawn for each
/// frame and receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FadingModel {
    /// No direct path: the power is exponential.
    Rayleigh,
    /// A direct path among scattered ones (rice-1944): the outage probability at x times the mean
    /// power is 1 − Q₁(√2K, √(2(K + 1)x)), where Q₁ is Marcum's function.
    Rician {
        /// The ratio K of the power of the direct path to that of all others; 0: Rayleigh.
        factor: f64,
    },
    /// The m-distribution (nakagami-1960): the outage probability is the regularised gamma function
    /// P(m, mx).
    Nakagami {
        /// The shape m, 1/2 to 1000; 1: Rayleigh.
        shape: f64,
    },
}

/// Fading of all pairs.
#[derive(Clone, Debug)]
pub(super) struct Fading {
    model: FadingModel,
    seed: u64,
    /// Number of frames that each station has sent.
    frames: TiVec<StationId, u32>,
}

impl Fading {
    pub fn new(model: FadingModel, stations: u32, seed: u64) -> Self {
        Self { model, seed, frames: ti_vec![0; stations as usize] }
    }

    /// Counts a frame of a station, for which new gains are drawn.
    pub fn on_frame(&mut self, from: StationId) {
        self.frames[from] = self.frames[from].wrapping_add(1);
    }

    /// Returns the gain of the current frame of a station at another. It depends on the two and the frame's
    /// number only, not on the stations in between or on the order of queries.
    pub fn gain(&self, from: StationId, to: StationId) -> f64 {
        let pair = u64::from(from.number()) << 32 | u64::from(to.number());
        // A stream for each pair and frame: odd, so that the product is a bijection of the number.
        let frame = u64::from(self.frames[from]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = RandomStream::new(self.seed ^ frame, "fading", pair);
        loop {
            let gain = self.model.draw(&mut random);
            if gain <= MAX_GAIN {
                return gain;
            }
        }
    }
}

impl FadingModel {
    /// Checks the parameters.
    pub(super) fn check(self) -> Result<(), ParameterError> {
        let wrong = |message: String, help| Err(ParameterError::new("fading", message, help));
        match self {
            Self::Rician { factor } if !(0.0..=1e6).contains(&factor) => wrong(
                format!("a K factor of {factor}"),
                "0 to 60 dB; negative values in dB are below 1",
            ),
            Self::Nakagami { shape } if !(0.5..=1000.0).contains(&shape) => {
                wrong(format!("a shape m of {shape}"), "0.5 to 1000; 1 is Rayleigh")
            }
            _ => Ok(()),
        }
    }

    /// Draws a gain of the power.
    fn draw(self, random: &mut RandomStream) -> f64 {
        match self {
            Self::Rayleigh => exponential(random),
            Self::Rician { factor } => {
                // A constant component of the power K and two Gaussian ones, of the power 1 together (rice-1944).
                let direct = (2.0 * factor).sqrt() + truncated_normal(random, MAX_DEVIATIONS);
                let other = truncated_normal(random, MAX_DEVIATIONS);
                (direct * direct + other * other) / (2.0 * (factor + 1.0))
            }
            Self::Nakagami { shape } => gamma(random, shape) / shape,
        }
    }
}

/// Draws an exponential deviate of mean 1.
fn exponential(random: &mut RandomStream) -> f64 {
    -libm::log1p(-random.uniform_f64())
}

/// Draws a gamma deviate of this shape and scale 1 (Marsaglia & Tsang 2000).
fn gamma(random: &mut RandomStream, shape: f64) -> f64 {
    if shape < 1.0 {
        let uniform = 1.0 - random.uniform_f64();
        return gamma(random, shape + 1.0) * libm::pow(uniform, 1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = truncated_normal(random, MAX_DEVIATIONS);
        let root = 1.0 + c * normal;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let uniform = 1.0 - random.uniform_f64();
        if libm::log(uniform) < 0.5 * normal * normal + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod test;
