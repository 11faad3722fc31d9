//! A histogram of packets' lateness.

use driftway_base::Duration;

/// Buckets per power of two.
const BUCKETS_PER_OCTAVE: u32 = 16;
/// The lateness below which each nanosecond has its own bucket.
const EXACT: u64 = BUCKETS_PER_OCTAVE as u64;
const BUCKETS: usize = 61 * BUCKETS_PER_OCTAVE as usize;

/// A histogram of durations with a resolution of one sixteenth, of fixed size.
#[derive(Clone, Debug)]
pub struct LatenessHistogram {
    counts: Box<[u64]>,
    total: u64,
    max: Duration,
}

impl Default for LatenessHistogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), total: 0, max: Duration::ZERO }
    }
}

impl LatenessHistogram {
    /// Records a value.
    pub fn record(&mut self, late: Duration) {
        self.counts[bucket(late.as_nanos())] += 1;
        self.total += 1;
        self.max = self.max.max(late);
    }

    /// Number of values.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// The largest value.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// The share of values that are not longer than `limit`, with the resolution of the buckets; 1
    /// without values.
    pub fn share_within(&self, limit: Duration) -> f64 {
        let within: u64 = self.counts[..=bucket(limit.as_nanos())].iter().sum();
        if self.total == 0 { 1.0 } else { within as f64 / self.total as f64 }
    }

    /// The quantile `share` (0 … 1), at most one sixteenth too large; zero without values.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if *count > 0 && seen >= wanted {
                return Duration::from_nanos(bucket_end(bucket)).min(self.max);
            }
        }
        self.max
    }
}

/// Index of the bucket of a duration.
fn bucket(nanos: u64) -> usize {
    if nanos < EXACT {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - EXACT.ilog2();
    let part = (nanos >> shift) as u32 - BUCKETS_PER_OCTAVE;
    ((shift + 1) * BUCKETS_PER_OCTAVE + part) as usize
}

/// The longest duration of a bucket.
const fn bucket_end(bucket: usize) -> u64 {
    let (power, part) = (bucket as u32 / BUCKETS_PER_OCTAVE, bucket as u32 % BUCKETS_PER_OCTAVE);
    if power == 0 {
        return part as u64;
    }
    let first = (BUCKETS_PER_OCTAVE + part) as u64;
    (first << (power - 1)) + ((1 << (power - 1)) - 1)
}

#[cfg(test)]
mod test {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_spans() {
        let mut lateness = LatenessHistogram::default();
        assert_eq!(lateness.quantile(0.99), Duration::ZERO);
        for micros in (1..=1000).rev() {
            lateness.record(Duration::from_micros(micros));
        }
        for (share, exact) in [(0.5, 500), (0.99, 990), (1.0, 1000)] {
            let (reported, exact) = (lateness.quantile(share), Duration::from_micros(exact));
            assert!(
                reported >= exact && reported.as_nanos() * 16 <= exact.as_nanos() * 17,
                "{reported:?}"
            );
        }
        assert_eq!((lateness.max(), lateness.count()), (Duration::from_millis(1), 1000));
        let half = lateness.share_within(Duration::from_micros(500));
        assert!((0.5..0.54).contains(&half), "{half}");
    }

    proptest! {
        #[test]
        fn each_duration_has_a_bucket_of_one_sixteenth(nanos: u64) {
            let bucket = bucket(nanos);
            prop_assert!(bucket < BUCKETS);
            prop_assert!(bucket_end(bucket) >= nanos);
            prop_assert!(bucket_end(bucket) - nanos <= nanos / EXACT);
            prop_assert!(bucket == 0 || bucket_end(bucket - 1) < nanos);
        }
    }
}
