//! Quantiles of delays in bounded memory.

use driftway_base::Duration;

/// Buckets of each power of two; the value of a bucket, its middle, is off by at most a 256th.
const BUCKETS: u64 = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 7;

/// The number of buckets that is allocated with the first delay: those below 2⁴³ ns, 2.4 hours. More
/// are added when a longer delay occurs.
const ALLOCATED: usize = ((43 - BUCKET_BITS + 1) as u64 * BUCKETS) as usize;

/// Counts of delays in buckets whose width is proportional to the delay (log-linear). Delays below
/// 256 ns are exact.
#[derive(Debug, Default)]
pub struct DelayHistogram {
    counts: Vec<u32>,
    total: u64,
    least: Duration,
    most: Duration,
}

impl DelayHistogram {
    /// Adds a delay.
    pub fn add(&mut self, delay: Duration) {
        let bucket = bucket_of(delay.as_nanos());
        if bucket >= self.counts.len() {
            self.counts.resize(ALLOCATED.max(bucket + 1), 0);
        }
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
        self.least = if self.total == 0 { delay } else { self.least.min(delay) };
        self.most = self.most.max(delay);
        self.total += 1;
    }

    /// The `percent`-th percentile: the least delay that is not below this share of all (nearest
    /// rank), within 1/256. `None` without delays.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = (self.total * percent).div_ceil(100).clamp(1, self.total.max(1));
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += u64::from(*count);
            below >= rank
        })?;
        let middle = Duration::from_nanos(middle_of(bucket as u64));
        Some(middle.clamp(self.least, self.most))
    }
}

const fn bucket_of(nanos: u64) -> usize {
    if nanos < BUCKETS {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - BUCKET_BITS;
    ((shift as u64 * BUCKETS) + (nanos >> shift)) as usize
}

const fn middle_of(bucket: u64) -> u64 {
    if bucket < 2 * BUCKETS {
        return bucket;
    }
    let shift = bucket / BUCKETS - 1;
    ((BUCKETS + bucket % BUCKETS) << shift) + (1 << (shift - 1))
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::RandomStream;

    fn histogram(delays: &[u64]) -> DelayHistogram {
        let mut histogram = DelayHistogram::default();
        delays.iter().for_each(|nanos| histogram.add(Duration::from_nanos(*nanos)));
        histogram
    }

    fn percentiles(histogram: &DelayHistogram) -> [Option<u64>; 3] {
        [50, 95, 99].map(|percent| histogram.percentile(percent).map(Duration::as_nanos))
    }

    /// The nearest ranks of 1 to 100 are 50, 95 and 99; those of 1 to 10 are 5, 10 and 10.
    #[test]
    fn percentiles_are_nearest_ranks() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentiles(&histogram(&hundred)), [Some(50), Some(95), Some(99)]);
        assert_eq!(percentiles(&histogram(&hundred[90..])), [Some(5), Some(10), Some(10)]);
        assert_eq!(percentiles(&histogram(&[])), [None; 3]);
    }

    #[test]
    fn one_delay_is_exact() {
        for nanos in [0, 255, 256, 1_234_567_891, u64::MAX] {
            assert_eq!(percentiles(&histogram(&[nanos])), [Some(nanos); 3]);
        }
    }

    #[test]
    fn a_bucket_is_within_a_256th_of_its_delays() {
        for bucket in 0..bucket_of(u64::MAX) as u64 {
            assert_eq!(bucket_of(middle_of(bucket)) as u64, bucket);
        }
        for power in 8..63 {
            for nanos in [1 << power, (1 << power) + 1, (1 << (power + 1)) - 1] {
                let off = middle_of(bucket_of(nanos) as u64).abs_diff(nanos);
                assert!(off * 256 <= nanos, "{nanos} is off by {off}");
            }
        }
    }

    #[test]
    fn percentiles_are_within_a_256th_of_those_of_a_sorted_list() {
        let mut random = RandomStream::new(1, "delays", 0);
        let mut delays: Vec<u64> =
            (0..10_000).map(|n| random.uniform_below(1 << (10 + n % 30))).collect();
        let found = percentiles(&histogram(&delays));
        delays.sort_unstable();
        for (percent, found) in [50, 95, 99].into_iter().zip(found) {
            let exact = delays[percent * delays.len() / 100 - 1];
            assert!(found.unwrap().abs_diff(exact) * 256 <= exact, "{percent}: {found:?}, {exact}");
        }
    }
}
