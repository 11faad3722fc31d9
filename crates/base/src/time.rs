//! Integer time. Simulated time is a count of nanoseconds since the start of the run. It does not wrap (584
//! years), and arithmetic saturates, so that no input causes a panic.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// An instant: nanoseconds since the start of the run (simulation) or of the driver (host).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

/// Conversions of a number of nanoseconds; the texts say from which point they count.
macro_rules! conversions {
    ($type:ident, $after:literal, $since:literal) => {
        impl $type {
            #[doc = concat!("`nanos` nanoseconds", $after, ".")]
            pub const fn from_nanos(nanos: u64) -> Self {
                Self(nanos)
            }
            #[doc = concat!("`micros` microseconds", $after, ".")]
            pub const fn from_micros(micros: u64) -> Self {
                Self(micros.saturating_mul(1_000))
            }
            #[doc = concat!("`millis` milliseconds", $after, ".")]
            pub const fn from_millis(millis: u64) -> Self {
                Self(millis.saturating_mul(1_000_000))
            }
            #[doc = concat!("`secs` seconds", $after, ".")]
            pub const fn from_secs(secs: u64) -> Self {
                Self(secs.saturating_mul(1_000_000_000))
            }
            #[doc = concat!("Nanoseconds", $since, ".")]
            pub const fn as_nanos(self) -> u64 {
                self.0
            }
            #[doc = concat!("Whole milliseconds", $since, ".")]
            pub const fn as_millis(self) -> u64 {
                self.0 / 1_000_000
            }
            #[doc = concat!("Seconds", $since, ", for display and plots.")]
            pub fn as_secs_f64(self) -> f64 {
                self.0 as f64 / 1e9
            }
        }
    };
}
conversions!(Instant, " after the start", " since the start");
conversions!(Duration, "", "");

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const FAR_FUTURE: Self = Self(u64::MAX);
    /// Time elapsed since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration, longer than any run.
    pub const MAX: Self = Self(u64::MAX);
    /// Returns true if the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `self × factor`, saturating.
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
    /// `self ÷ divisor`, rounding down; `divisor` 0 counts as 1.
    pub const fn over(self, divisor: u64) -> Self {
        Self(self.0 / if divisor == 0 { 1 } else { divisor })
    }
    /// `self − other`, at least zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Absolute difference of two durations.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
