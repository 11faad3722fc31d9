//! The chance that a frame is damaged.

use driftway_base::Probability;

use crate::config::ErrorModel;

/// A link carries a few sizes of frames only (data, acknowledgements, probes), so that the last
/// few answers save nearly all logarithms.
const CACHE_SIZE: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct ErrorSampler {
    errors: ErrorSampler,
    cache: [Option<(u32, Probability)>; CACHE_SIZE],
    next_slot: usize,
}

impl ErrorSampler {
    pub(crate) const fn new(errors: ErrorSampler) -> Self {
        Self { errors, cache: [None; CACHE_SIZE], next_slot: 0 }
    }

    /// The chance that a frame of this size is damaged.
    pub(crate) fn loss_probability(&mut self, bytes: u32) -> Probability {
        let rate = match self.errors {
            ErrorSampler::None => return Probability::NEVER,
            ErrorSampler::Packets(rate) => return Probability::from_f64(rate),
            ErrorSampler::Bits(rate) => rate,
        };
        let known = self.cache.iter().flatten().find(|(size, _)| *size == bytes);
        if let Some((_, chance)) = known {
            return *chance;
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
    fn a_remembered_chance_is_the_computed_one() {
        let mut model = ErrorSampler::new(ErrorSampler::Bits(1e-5));
        for _ in 0..3 {
            for bytes in [40, 140, 1500, 28, 41, 576, 140, 40] {
                assert_eq!(model.loss_probability(bytes), Probability::from_bit_error_rate(1e-5, bytes * 8));
            }
        }
        assert!(model.cache.iter().all(Option::is_some));
    }

    #[test]
    fn a_packet_error_rate_knows_no_size() {
        let mut model = ErrorSampler::new(ErrorSampler::Packets(0.25));
        assert_eq!(model.loss_probability(40), Probability::from_f64(0.25));
        assert_eq!(model.loss_probability(1500), Probability::from_f64(0.25));
        assert_eq!(ErrorSampler::new(ErrorSampler::None).loss_probability(1500), Probability::NEVER);
    }
}
