//! Random number streams.
//!
//! A stream's key is (seed, purpose, entity), independent of the order of creation: adding a node or enabling
//! an aid changes no other stream, so that two runs that differ in their TCP see the same sequence of errors
//! on each link. The generator is xoshiro256++ (Blackman & Vigna 2021) seeded by SplitMix64; the tests freeze
//! its output, because results must not change with a library's version.

use crate::Duration;

/// One random number stream.
#[derive(Clone, Debug)]
pub struct RandomStream {
    state: [u64; 4],
}

/// A probability, stored as the number of 64-bit values out of 2⁶⁴ that count as success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Probability(u64);

impl Probability {
    /// Probability 0.
    pub const NEVER: Self = Self(0);
    /// Probability 1.
    pub const ALWAYS: Self = Self(u64::MAX);

    /// The probability `p`, clamped to 0…1 (NaN counts as 0).
    pub fn from_f64(p: f64) -> Self {
        if p >= 1.0 {
            Self::ALWAYS
        } else if p > 0.0 {
            Self((p * 18_446_744_073_709_551_616.0) as u64)
        } else {
            Self::NEVER
        }
    }

    /// The error probability of a packet of `bits` bits with independent bit errors at rate `ber`: 1 − (1 −
    /// `ber`)^`bits`, computed without cancellation.
    pub fn from_bit_error_rate(ber: f64, bits: u32) -> Self {
        if ber >= 1.0 {
            return Self::ALWAYS;
        }
        if ber.is_nan() || ber <= 0.0 {
            return Self::NEVER;
        }
        Self::from_f64(-libm::expm1(f64::from(bits) * libm::log1p(-ber)))
    }
}

const fn splitmix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The FNV-1a hash of a purpose's name.
const fn name_key(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut rest = bytes;
    while let [byte, tail @ ..] = rest {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        rest = tail;
    }
    hash
}

impl RandomStream {
    /// The stream of `entity` (a node, a link, a flow) for `purpose` (`"link-error"`) in the run with this
    /// `seed`.
    pub const fn new(seed: u64, purpose: &str, entity: u64) -> Self {
        let mut key = splitmix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
        key = splitmix(key ^ name_key(purpose));
        key = splitmix(key ^ entity.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        Self {
            state: [
                splitmix(key.wrapping_add(step)),
                splitmix(key.wrapping_add(step.wrapping_mul(2))),
                splitmix(key.wrapping_add(step.wrapping_mul(3))),
                splitmix(key.wrapping_add(step.wrapping_mul(4))),
            ],
        }
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2x, s3x) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3x, s1 ^ s2x, s2x ^ (s1 << 17), s3x.rotate_left(45)];
        result
    }

    /// One Bernoulli trial. Consumes exactly one number, so that the position in the stream does not depend
    /// on the probability.
    pub const fn bernoulli(&mut self, chance: Probability) -> bool {
        let draw = self.next_u64();
        draw < chance.0 || chance.0 == u64::MAX
    }

    /// A uniformly distributed integer below `bound` (0 for `bound` 0), by the high half of a 128-bit
    /// product. Its bias of `bound` / 2⁶⁴ is negligible. Consumes exactly one number.
    pub const fn uniform_below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// A uniformly distributed duration from `low` to `high`, both included. Consumes exactly one number.
    pub const fn uniform_duration(&mut self, low: Duration, high: Duration) -> Duration {
        let width = high.as_nanos().saturating_sub(low.as_nanos());
        let offset =
            if width == u64::MAX { self.next_u64() } else { self.uniform_below(width + 1) };
        Duration::from_nanos(low.as_nanos().saturating_add(offset))
    }

    /// A uniformly distributed number in [0, 1) with 53 bits.
    pub const fn uniform_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// An exponentially distributed duration with this mean (inter-arrival time of a Poisson process).
    pub fn exponential_duration(&mut self, mean: Duration) -> Duration {
        let draw = -libm::log1p(-self.uniform_f64());
        Duration::from_nanos((draw * mean.as_nanos() as f64) as u64)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Frozen, because all published results depend on these numbers.
    #[test]
    fn streams_are_frozen() {
        let mut s = RandomStream::new(1, "link-error", 0);
        let first: [u64; 3] = core::array::from_fn(|_| s.next_u64());
        assert_eq!(first, FROZEN);
    }
    const FROZEN: [u64; 3] =
        [16_953_911_292_288_646_495, 3_969_824_268_574_380_255, 17_280_700_185_004_919_647];

    #[test]
    fn streams_differ_by_each_part_of_their_key() {
        let first = |seed, purpose, entity| RandomStream::new(seed, purpose, entity).next_u64();
        let base = first(1, "link-error", 0);
        assert_ne!(base, first(2, "link-error", 0));
        assert_ne!(base, first(1, "link-delay", 0));
        assert_ne!(base, first(1, "link-error", 1));
    }

    #[test]
    fn distributions_have_the_expected_means() {
        let mut s = RandomStream::new(7, "test", 0);
        let n = 200_000;
        let hits = (0..n).filter(|_| s.bernoulli(Probability::from_f64(0.3))).count();
        assert!((hits as f64 / f64::from(n) - 0.3).abs() < 0.005);
        let (low, high) = (Duration::from_millis(10), Duration::from_millis(30));
        let sum: f64 = (0..n).map(|_| s.uniform_duration(low, high).as_secs_f64()).sum();
        assert!((sum / f64::from(n) - 0.02).abs() < 1e-4);
        let sum: f64 =
            (0..n).map(|_| s.exponential_duration(Duration::from_secs(1)).as_secs_f64()).sum();
        assert!((sum / f64::from(n) - 1.0).abs() < 0.02);
    }

    #[test]
    fn packet_error_rate_follows_the_formula() {
        // liu-singh-2001 §V-A: 3.2 % for 100 bytes over four hops.
        let hop =
            Probability::from_bit_error_rate(1e-5, 800).0 as f64 / 18_446_744_073_709_551_616.0;
        assert!((hop - 0.007_968).abs() < 1e-6);
        let mut ok = 1.0;
        for _ in 0..4 {
            ok *= 1.0 - hop;
        }
        assert!(((1.0 - ok) - 0.0315).abs() < 1e-4);
        assert_eq!(Probability::from_bit_error_rate(0.0, 800), Probability::NEVER);
        assert_eq!(Probability::from_bit_error_rate(1.0, 1), Probability::ALWAYS);
        assert_eq!(Probability::from_bit_error_rate(f64::NAN, 1), Probability::NEVER);
    }

    #[test]
    fn certain_and_impossible_are_exact() {
        let mut s = RandomStream::new(1, "test", 1);
        for _ in 0..1000 {
            assert!(s.bernoulli(Probability::ALWAYS));
            assert!(!s.bernoulli(Probability::NEVER));
        }
        assert_eq!(s.uniform_below(0), 0);
        assert_eq!(s.uniform_duration(Duration::MAX, Duration::MAX), Duration::MAX);
    }
}
