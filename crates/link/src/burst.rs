//! Bursts of losses: the two states of Gilbert, "Capacity of a burst-noise channel" (1960), and
//! Elliott (1963).

use driftway_base::{Probability, RandomStream};

/// Bursts of losses: while one lasts, each frame is lost. Other errors are independent of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstConfig {
    /// Share of all frames that are lost in bursts, below 1.
    pub rate: f64,
    /// Mean number of frames that a burst takes, at least 1.
    pub mean_length: f64,
}

/// The state of a direction with bursts.
#[derive(Clone, Debug)]
pub(crate) struct Burst {
    begins: Probability,
    ends: Probability,
    lasts: bool,
    stream: RandomStream,
}

impl Burst {
    pub(crate) fn new(config: BurstConfig, seed: u64, entity: u64) -> Self {
        let BurstConfig { rate, mean_length } = config;
        let ends = 1.0 / mean_length.max(1.0);
        Self {
            // In the long run as many bursts begin as end: (1 − rate) × begins = rate × ends.
            begins: Probability::from_f64(rate * ends / (1.0 - rate)),
            ends: Probability::from_f64(ends),
            lasts: false,
            stream: RandomStream::new(seed, "link-burst", entity),
        }
    }

    /// Returns true if the next frame is lost in a burst. Draws one number.
    pub(crate) const fn draw(&mut self) -> bool {
        let change = if self.lasts { self.ends } else { self.begins };
        if self.stream.bernoulli(change) {
            self.lasts = !self.lasts;
        }
        self.lasts
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn bursts_have_their_share_and_their_mean_length() {
        for (rate, mean_length) in [(0.02, 8.0), (0.1, 1.0), (0.5, 3.0)] {
            let mut burst = Burst::new(BurstConfig { rate, mean_length }, 1, 0);
            let lost: Vec<bool> = (0..1_000_000).map(|_| burst.draw()).collect();
            let count = lost.iter().filter(|lost| **lost).count() as f64;
            let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
            assert!((count / 1e6 / rate - 1.0).abs() < 0.05, "{rate}: {count}");
            let length = count / bursts / mean_length;
            assert!((length - 1.0).abs() < 0.05, "{rate}: {length}");
        }
    }

    #[test]
    fn without_a_rate_nothing_is_lost() {
        let mut never = Burst::new(BurstConfig { rate: 0.0, mean_length: 5.0 }, 1, 0);
        assert!((0..1000).all(|_| !never.draw()));
    }
}
