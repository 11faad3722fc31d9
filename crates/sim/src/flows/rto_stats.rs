//! A sender's retransmission timeout over time.

use driftway_base::{Duration, Instant};
use driftway_tcp::RttEstimator;

/// Statistics of a sender's retransmission timeout, which changes only at events of its connection: an update
/// after each event misses no change.
#[derive(Debug, Default)]
pub struct RtoStats {
    /// The longest timeout since the first round-trip sample, back-off included.
    pub longest: Option<Duration>,
    /// The time that it has been backed off, up to `since`.
    backed_off: Duration,
    /// The time since which it has been backed off.
    since: Option<Instant>,
}

impl RtoStats {
    /// Records the timeout after an event of the connection.
    pub fn update(&mut self, now: Instant, rtt: &RttEstimator) {
        if let Some(since) = self.since.take() {
            self.backed_off = self.backed_off + now.since(since);
        }
        self.since = (rtt.rto() > rtt.base_rto()).then_some(now);
        // The initial timeout is a matter of configuration, not of the path.
        if rtt.srtt().is_some() {
            self.longest = self.longest.max(Some(rtt.rto()));
        }
    }

    /// The time that the timeout has been above its value without back-off, up to `end`.
    pub fn backed_off(&self, end: Instant) -> Duration {
        self.backed_off + self.since.map_or(Duration::ZERO, |since| end.since(since))
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const fn secs(at: u64) -> Instant {
        Instant::from_secs(at)
    }

    #[test]
    fn the_timeout_is_recorded_from_event_to_event() {
        let seconds = Duration::from_secs;
        let mut rtt = RttEstimator::new(seconds(3), seconds(1), seconds(64), Duration::ZERO);
        let mut watch = RtoStats::default();
        watch.update(secs(0), &rtt);
        assert_eq!((watch.longest, watch.backed_off(secs(9))), (None, Duration::ZERO));
        rtt.sample(seconds(1), 1);
        watch.update(secs(1), &rtt);
        // RFC 6298 §2.2: 1 + 4 × 0.5
        assert_eq!(watch.longest, Some(seconds(3)));
        rtt.back_off();
        watch.update(secs(4), &rtt);
        rtt.back_off();
        watch.update(secs(10), &rtt);
        assert_eq!(watch.longest, Some(seconds(12)));
        assert_eq!(watch.backed_off(secs(15)), seconds(11));
        rtt.sample(seconds(1), 1);
        watch.update(secs(20), &rtt);
        assert_eq!((watch.longest, watch.backed_off(secs(99))), (Some(seconds(12)), seconds(16)));
    }
}
