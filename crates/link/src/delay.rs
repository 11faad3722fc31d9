//! Propagation delays of frames: independent, correlated, or in steps.

use driftway_base::{Duration, Instant, RandomStream};

use crate::config::{Delay, DelayProcess};

/// Draws the delays of one direction.
#[derive(Clone, Debug)]
pub(crate) struct DelaySampler {
    process: DelayProcess,
    stream: RandomStream,
    correlated: Option<Correlated>,
}

/// A sequence of normally distributed numbers, each correlated with the one before.
#[derive(Clone, Debug)]
struct Correlated {
    /// Correlation of these numbers.
    factor: f64,
    last: Option<f64>,
    stream: RandomStream,
}

impl DelaySampler {
    pub(crate) fn new(process: DelayProcess, seed: u64, entity: u64) -> Self {
        let correlated = match &process {
            DelayProcess::Correlated { correlation, .. } => Some(Correlated {
                // Numbers of a bivariate normal distribution with correlation ρ have ranks of
                // correlation 6 ÷ π × asin(ρ ÷ 2).
                factor: 2.0 * libm::sin(core::f64::consts::PI * correlation.clamp(0.0, 1.0) / 6.0),
                last: None,
                stream: RandomStream::new(seed, "link-jitter", entity),
            }),
            DelayProcess::Independent(_) | DelayProcess::Steps { .. } => None,
        };
        Self { process, stream: RandomStream::new(seed, "link-delay", entity), correlated }
    }

    /// Replaces the distribution of independent delays.
    pub(crate) fn set(&mut self, delay: Delay) {
        self.process = DelayProcess::Independent(delay);
        self.correlated = None;
    }

    /// Returns the bounds of the delay of a frame whose transmission begins at `at`.
    pub(crate) fn bounds(&self, at: Instant) -> (Duration, Duration) {
        match &self.process {
            DelayProcess::Independent(delay) | DelayProcess::Correlated { delay, .. } => {
                match *delay {
                    Delay::Fixed(delay) => (delay, delay),
                    Delay::Uniform { low, high } => (low, high),
                }
            }
            DelayProcess::Steps { delays, every } => {
                let step = at.as_nanos() / every.as_nanos().max(1);
                let place = step.checked_rem(delays.len() as u64).unwrap_or_default();
                let delay = delays.get(place as usize).copied().unwrap_or_default();
                (delay, delay)
            }
        }
    }

    /// Draws the delay of the next frame between these bounds. Draws the same numbers whatever the
    /// bounds.
    #[inline]
    pub(crate) fn draw(&mut self, (low, high): (Duration, Duration)) -> Duration {
        let independent = self.stream.uniform_duration(low, high);
        match &mut self.correlated {
            None => independent,
            Some(correlated) => correlated.draw(low, high),
        }
    }
}

impl Correlated {
    /// Returns the next duration between these bounds.
    fn draw(&mut self, low: Duration, high: Duration) -> Duration {
        let width = high.saturating_sub(low).as_nanos() as f64;
        low + Duration::from_nanos((width * self.next()) as u64)
    }

    /// Returns the next number, uniformly distributed from 0 to 1.
    fn next(&mut self) -> f64 {
        // Box & Muller 1958.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.stream.uniform_f64()));
        let angle = 2.0 * core::f64::consts::PI * self.stream.uniform_f64();
        let fresh = radius * libm::cos(angle);
        let next = match self.last {
            None => fresh,
            Some(last) => self.factor * last + libm::sqrt(1.0 - self.factor * self.factor) * fresh,
        };
        self.last = Some(next);
        0.5 * libm::erfc(-next * core::f64::consts::FRAC_1_SQRT_2)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use alloc::vec::Vec;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Delays between 10 and 30 ms, in milliseconds.
    fn delays(correlation: f64, count: usize) -> Vec<f64> {
        let delay = Delay::Uniform { low: ms(10), high: ms(30) };
        let mut sampler = DelaySampler::new(DelayProcess::Correlated { delay, correlation }, 1, 0);
        let bounds = sampler.bounds(Instant::ZERO);
        (0..count).map(|_| sampler.draw(bounds).as_secs_f64() * 1e3).collect()
    }

    fn correlation(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let product = |(a, b): (&f64, &f64)| (a - mean) * (b - mean);
        let of =
            |lag: usize| values.iter().zip(values.get(lag..).unwrap()).map(product).sum::<f64>();
        of(1) / of(0)
    }

    #[test]
    fn correlated_delays_keep_their_distribution() {
        for wanted in [0.0, 0.5, 0.9] {
            let delays = delays(wanted, 100_000);
            assert!(delays.iter().all(|delay| (10.0..=30.0).contains(delay)));
            // A correlation of 0.9 leaves the information of some 100 000 ÷ 20 numbers.
            let tenth = delays.iter().filter(|delay| **delay < 12.0).count();
            assert!((9_000..11_000).contains(&tenth), "{wanted}: {tenth}");
            let found = correlation(&delays);
            assert!((found - wanted).abs() < 0.02, "{wanted}: {found}");
        }
        assert!(delays(1.0, 100).windows(2).all(|pair| (pair[0] - pair[1]).abs() < 1e-3));
    }

    #[test]
    fn steps_follow_each_other_and_begin_again() {
        let process = DelayProcess::Steps {
            delays: [20, 35, 25].map(ms).into(),
            every: Duration::from_secs(15),
        };
        let sampler = DelaySampler::new(process, 1, 0);
        for (second, delay) in [(0, 20), (14, 20), (15, 35), (44, 25), (45, 20), (100, 20)] {
            let bounds = sampler.bounds(Instant::from_secs(second));
            assert_eq!(bounds, (ms(delay), ms(delay)), "{second}");
        }
    }

    #[test]
    fn steps_of_nothing_are_no_delay() {
        let process = DelayProcess::Steps { delays: [].into(), every: Duration::ZERO };
        let bounds = DelaySampler::new(process, 1, 0).bounds(Instant::from_secs(9));
        assert_eq!(bounds, (Duration::ZERO, Duration::ZERO));
    }
}
