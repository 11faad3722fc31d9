//! The minimum round-trip time of ten seconds, and the time in ProbeRtt.

use driftway_base::{Duration, Instant};

use crate::congestion::path::ProbeTime;

/// Age at which the minimum expires.
const WINDOW: Duration = Duration::from_secs(10);

/// The minimum and its age.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    least: Option<Duration>,
    since: Instant,
    probe: ProbeTime,
}

impl MinRtt {
    /// The minimum, once known.
    pub fn get(&self) -> Option<Duration> {
        self.least
    }
    /// Starts with the measurement of the handshake, if there is one.
    pub fn start(&mut self, now: Instant, rtt: Option<Duration>) {
        *self = Self { least: rtt, since: now, ..Self::default() };
    }
    /// Adds the measurement of an acknowledgment. True if the minimum had expired.
    pub fn update(&mut self, now: Instant, rtt: Option<Duration>) -> bool {
        let expired = now > self.since + WINDOW;
        if let Some(rtt) = rtt
            && (expired || self.least.is_none_or(|least| rtt < least))
        {
            (self.least, self.since) = (Some(rtt), now);
        }
        expired
    }
    /// Starts ProbeRtt.
    pub fn begin_probe(&mut self) {
        self.probe.begin();
    }
    /// Handles an acknowledgment in ProbeRtt; `is_low`: four segments are in flight, or fewer. True
    /// if the rounds of the probe start now.
    pub fn on_probe_ack(&mut self, now: Instant, is_low: bool, round_started: bool) -> bool {
        self.probe.on_ack(now, is_low, round_started)
    }
    /// Ends the probe if a round and its time have passed; if idle, its time suffices.
    pub fn end_probe(&mut self, now: Instant, idle: bool) -> bool {
        let over = self.probe.is_over(now, idle);
        if over {
            self.since = now;
        }
        over
    }
    /// Postpones its times by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.since = (self.since + frozen_for).min(now);
        self.probe.postpone(frozen_for);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const AT: fn(u64) -> Instant = Instant::from_millis;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_minimum_expires_after_ten_seconds() {
        let mut min_rtt = MinRtt::default();
        assert!(!min_rtt.update(AT(0), Some(MS(40))));
        assert!(!min_rtt.update(AT(10_000), Some(MS(50))));
        assert_eq!(min_rtt.get(), Some(MS(40)));
        assert!(min_rtt.update(AT(10_001), Some(MS(50))));
        assert_eq!(min_rtt.get(), Some(MS(50)));
        min_rtt.postpone(AT(20_000), MS(5_000));
        assert!(!min_rtt.update(AT(25_000), None));
    }

    #[test]
    fn a_probe_lasts_200_ms_and_a_round_with_little_in_flight() {
        let mut min_rtt = MinRtt::default();
        min_rtt.begin_probe();
        assert!(!min_rtt.on_probe_ack(AT(0), false, true));
        assert!(min_rtt.on_probe_ack(AT(10), true, true));
        assert!(!min_rtt.on_probe_ack(AT(211), true, false));
        assert!(!min_rtt.end_probe(AT(211), false), "no round has passed");
        assert!(!min_rtt.on_probe_ack(AT(212), true, true));
        assert!(min_rtt.end_probe(AT(212), false));
        assert!(!min_rtt.update(AT(10_212), None));
    }
}
