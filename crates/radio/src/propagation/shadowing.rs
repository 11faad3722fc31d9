//! Log-normal shadowing: a factor of each pair's power, constant for a run or correlated over the
//! distance that the stations move.

use driftway_base::{RandomStream, StationId};

use crate::normal::truncated_normal;

/// Truncation of the shadowing in standard deviations, exceeded by one draw in 370: the
/// measurements behind the model do not cover such values.
pub(super) const MAX_DEVIATIONS: f64 = 3.0;

/// Maximum number of stations for which the pairs' factors are stored (4 MB); with more stations
/// each is drawn again when needed.
const MAX_STORED_STATIONS: u32 = 1024;

/// Number of draws per decorrelation distance; factors are interpolated linearly between draws.
const DRAWS_PER_DISTANCE: f64 = 10.0;

/// Shadowing of all pairs.
#[derive(Clone, Debug)]
pub(super) struct Shadowing {
    deviation_db: f64,
    seed: u64,
    /// The factors by [`pair_index`]; empty for too many stations.
    factors: Box<[f64]>,
    correlated: Option<CorrelatedShadowing>,
}

/// Index of a pair of stations, in order of the higher number.
fn pair_index(one: StationId, other: StationId) -> usize {
    let (low, high) = (one.min(other).index(), one.max(other).index());
    high * high.saturating_sub(1) / 2 + low
}

impl Shadowing {
    /// Creates the shadowing with this standard deviation (dB), correlated over the given
    /// decorrelation distance (m) if any.
    pub fn new(deviation_db: f64, decorrelation: Option<f64>, stations: u32, seed: u64) -> Self {
        let mut shadowing = Self { deviation_db, seed, factors: Box::default(), correlated: None };
        let pairs = || {
            let pairs = (0..stations).flat_map(|high| (0..high).map(move |low| (low, high)));
            pairs.map(|(low, high)| (StationId::new(low), StationId::new(high)))
        };
        if stations <= MAX_STORED_STATIONS {
            shadowing.factors =
                pairs().map(|(low, high)| shadowing.draw_factor(low, high)).collect();
        }
        shadowing.correlated = decorrelation.map(|distance| {
            let streams = pairs().map(|(low, high)| pair_stream(seed, low, high));
            CorrelatedShadowing::new(distance, streams)
        });
        shadowing
    }

    /// Returns the factor of the power between two stations at the start.
    pub fn factor(&self, one: StationId, other: StationId) -> f64 {
        self.factors
            .get(pair_index(one, other))
            .copied()
            .unwrap_or_else(|| self.draw_factor(one, other))
    }

    /// Returns the same after the two stations together have moved `moved` metres.
    pub fn factor_after_moving(&mut self, one: StationId, other: StationId, moved: f64) -> f64 {
        match &mut self.correlated {
            Some(changing) => db_to_factor(
                changing.deviation_at(pair_index(one, other), moved) * self.deviation_db,
            ),
            None => self.factor(one, other),
        }
    }

    fn draw_factor(&self, one: StationId, other: StationId) -> f64 {
        db_to_factor(
            truncated_normal(&mut pair_stream(self.seed, one, other), MAX_DEVIATIONS)
                * self.deviation_db,
        )
    }
}

fn pair_stream(seed: u64, one: StationId, other: StationId) -> RandomStream {
    let (low, high) = (one.min(other), one.max(other));
    RandomStream::new(seed, "shadowing", u64::from(low) << 32 | u64::from(high))
}

/// Shadowing whose correlation decays exponentially with the distance that both stations have moved
/// (gudmundson-1991, for one moving end; the product for two).
///
/// Each pair is a first-order autoregressive process, advanced in steps of the distance moved: a
/// factor depends only on the distances its stations have moved, not on the queries.
#[derive(Clone, Debug)]
struct CorrelatedShadowing {
    /// Distance between two draws (m).
    step: f64,
    /// Correlation of successive draws, and standard deviation of the innovation.
    correlation: f64,
    innovation_deviation: f64,
    pairs: Box<[PairProcess]>,
}

#[derive(Clone, Debug)]
struct PairProcess {
    random: RandomStream,
    /// Number of steps before `current`.
    steps: u64,
    /// The present value, in standard deviations.
    current: f64,
    next: f64,
}

impl CorrelatedShadowing {
    fn new(decorrelation: f64, streams: impl Iterator<Item = RandomStream>) -> Self {
        let correlation = libm::exp(-1.0 / DRAWS_PER_DISTANCE);
        let innovation_deviation = (1.0 - correlation * correlation).sqrt();
        let pair = |mut random: RandomStream| {
            let current = truncated_normal(&mut random, MAX_DEVIATIONS);
            let next = correlation * current
                + innovation_deviation * truncated_normal(&mut random, MAX_DEVIATIONS);
            PairProcess { random, steps: 0, current, next }
        };
        Self {
            step: decorrelation / DRAWS_PER_DISTANCE,
            correlation,
            innovation_deviation,
            pairs: streams.map(pair).collect(),
        }
    }

    fn deviation_at(&mut self, pair: usize, moved: f64) -> f64 {
        let place = moved / self.step;
        let pair = &mut self.pairs[pair];
        while pair.steps < place as u64 {
            pair.current = pair.next;
            pair.next = self.correlation * pair.current
                + self.innovation_deviation * truncated_normal(&mut pair.random, MAX_DEVIATIONS);
            pair.steps += 1;
        }
        let between = (place - pair.steps as f64).clamp(0.0, 1.0);
        (pair.current + (pair.next - pair.current) * between).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)
    }
}

/// Converts dB to a factor.
pub(super) fn db_to_factor(db: f64) -> f64 {
    libm::exp10(db * 0.1)
}
