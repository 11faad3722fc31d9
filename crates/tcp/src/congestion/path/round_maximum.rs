//! Maximum over the last rounds.

/// Maximum of samples over the present round and the `N` − 1 before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundMaximum<const N: usize> {
    /// The maximum of each round, and the round.
    maxima: [(u64, f64); N],
}

impl<const N: usize> Default for RoundMaximum<N> {
    fn default() -> Self {
        Self { maxima: [(0, 0.0); N] }
    }
}

impl<const N: usize> RoundMaximum<N> {
    /// Adds a sample of `round`, which never goes back.
    pub fn add(&mut self, round: u64, sample: f64) {
        let place = round.checked_rem(N as u64).unwrap_or(0) as usize;
        if let Some((of, maximum)) = self.maxima.get_mut(place) {
            *maximum = if *of == round { maximum.max(sample) } else { sample };
            *of = round;
        }
        self.forget_before(round, N as u64);
    }

    /// Forgets samples that are not of the `length` rounds up to `round`.
    pub fn forget_before(&mut self, round: u64, length: u64) {
        for (of, maximum) in &mut self.maxima {
            if of.saturating_add(length) <= round {
                *maximum = 0.0;
            }
        }
    }

    /// The maximum; zero without samples.
    pub fn get(&self) -> f64 {
        self.maxima.iter().fold(0.0, |most, (_, maximum)| most.max(*maximum))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_maximum_expires_and_the_next_best_replaces_it() {
        let mut most = RoundMaximum::<3>::default();
        most.add(1, 9.0);
        most.add(1, 4.0);
        most.add(2, 5.0);
        assert_eq!(most.get(), 9.0);
        most.add(3, 3.0);
        assert_eq!(most.get(), 9.0);
        most.add(4, 2.0);
        assert_eq!(most.get(), 5.0);
        // Rounds without a sample count, too.
        most.add(6, 1.0);
        assert_eq!(most.get(), 2.0);
        most.forget_before(7, 1);
        assert_eq!(most.get(), 0.0);
    }
}
