//! The only place that reads a clock.

use driftway_base::{Duration, Instant};

/// The machine's monotonic clock, as time since the driver started.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    start: std::time::Instant,
}

impl RealClock {
    /// A clock that shows [`Instant::ZERO`] now.
    #[expect(clippy::disallowed_methods, reason = "a driver on a host has to read the real clock")]
    pub fn start() -> Self {
        Self { start: std::time::Instant::now() }
    }

    /// The present time; never less than before.
    pub fn now(&self) -> Instant {
        // 2⁶⁴ ns are 584 years.
        Instant::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Time left until `deadline`; zero if it has passed.
    pub fn until(&self, deadline: Instant) -> Duration {
        deadline.since(self.now())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn runs_forward_at_the_real_rate() {
        let clock = RealClock::start();
        let before = clock.now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let passed = clock.now().since(before);
        assert!(passed >= Duration::from_millis(20), "{passed:?}");
        assert!(passed < Duration::from_secs(10), "{passed:?}");
        assert_eq!(clock.until(before), Duration::ZERO);
        assert!(clock.until(before + Duration::from_secs(100)) > Duration::from_secs(80));
    }
}
