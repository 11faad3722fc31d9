//! Error probability of frames.

use driftway_base::Chance;

use crate::config::Errors;

/// Number of cached probabilities: a link carries frames of few sizes (data, acknowledgements,
/// probes), so that a small cache avoids nearly all logarithms.
const REMEMBERED: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct ErrorModel {
    errors: Errors,
    known: [Option<(u32, Chance)>; REMEMBERED],
    oldest: usize,
}

impl ErrorModel {
    pub(crate) const fn new(errors: Errors) -> Self {
        Self { errors, known: [None; REMEMBERED], oldest: 0 }
    }

    /// Returns the error probability of a frame of this size.
    pub(crate) fn chance(&mut self, bytes: u32) -> Chance {
        let rate = match self.errors {
            Errors::None => return Chance::NEVER,
            Errors::Packets(rate) => return Chance::from_probability(rate),
            Errors::Bits(rate) => rate,
        };
        let known = self.known.iter().flatten().find(|(size, _)| *size == bytes);
        if let Some((_, chance)) = known {
            return *chance;
        }
        let chance = Chance::of_any_error(rate, bytes.saturating_mul(8));
        if let Some(slot) = self.known.get_mut(self.oldest) {
            *slot = Some((bytes, chance));
        }
        self.oldest = (self.oldest + 1) % REMEMBERED;
        chance
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_cached_probability_equals_the_computed_one() {
        let mut model = ErrorModel::new(Errors::Bits(1e-5));
        for _ in 0..3 {
            for bytes in [40, 140, 1500, 28, 41, 576, 140, 40] {
                assert_eq!(model.chance(bytes), Chance::of_any_error(1e-5, bytes * 8));
            }
        }
        assert!(model.known.iter().all(Option::is_some));
    }

    #[test]
    fn a_frame_error_rate_is_independent_of_the_size() {
        let mut model = ErrorModel::new(Errors::Packets(0.25));
        assert_eq!(model.chance(40), Chance::from_probability(0.25));
        assert_eq!(model.chance(1500), Chance::from_probability(0.25));
        assert_eq!(ErrorModel::new(Errors::None).chance(1500), Chance::NEVER);
    }
}
