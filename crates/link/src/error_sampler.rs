//! Error probability of frames.

use driftway_base::Probability;

use crate::config::ErrorModel;

/// Number of cached probabilities: a link carries frames of few sizes (data, acknowledgements,
/// probes), so that a small cache avoids nearly all logarithms.
const CACHE_SIZE: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct ErrorSampler {
    errors: ErrorModel,
    cache: [Option<(u32, Probability)>; CACHE_SIZE],
    next_slot: usize,
}

impl ErrorSampler {
    pub(crate) const fn new(errors: ErrorModel) -> Self {
        Self { errors, cache: [None; CACHE_SIZE], next_slot: 0 }
    }

    /// Returns the error probability of a frame of this size.
    pub(crate) fn loss_probability(&mut self, bytes: u32) -> Probability {
        let rate = match self.errors {
            ErrorModel::None => return Probability::NEVER,
            ErrorModel::FrameErrorRate(rate) => return Probability::from_f64(rate),
            ErrorModel::BitErrorRate(rate) => rate,
        };
        for (size, chance) in self.cache.iter().flatten() {
            if *size == bytes {
                return *chance;
            }
        }
        let chance = Probability::from_bit_error_rate(rate, bytes.saturating_mul(8));
        if let Some(slot) = self.cache.get_mut(self.next_slot) {
            *slot = Some((bytes, chance));
        }
        self.next_slot = (self.next_slot + 1) % CACHE_SIZE;
        chance
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_cached_probability_equals_the_computed_one() {
        let mut model = ErrorSampler::new(ErrorModel::BitErrorRate(1e-5));
        for _ in 0..3 {
            for bytes in [40, 140, 1500, 28, 41, 576, 140, 40] {
                assert_eq!(
                    model.loss_probability(bytes),
                    Probability::from_bit_error_rate(1e-5, bytes * 8)
                );
            }
        }
        assert!(model.cache.iter().all(Option::is_some));
    }

    #[test]
    fn a_frame_error_rate_is_independent_of_the_size() {
        let mut model = ErrorSampler::new(ErrorModel::FrameErrorRate(0.25));
        assert_eq!(model.loss_probability(40), Probability::from_f64(0.25));
        assert_eq!(model.loss_probability(1500), Probability::from_f64(0.25));
        assert_eq!(ErrorSampler::new(ErrorModel::None).loss_probability(1500), Probability::NEVER);
    }
}
