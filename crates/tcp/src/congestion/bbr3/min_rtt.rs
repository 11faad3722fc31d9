//! The minimum round-trip time of ten seconds, and the times of ProbeRTT
//! (draft-ietf-ccwg-bbr-04 §5.3.4.3).

use driftway_base::{Duration, Instant};

use crate::congestion::path::ProbeTime;

/// Age at which the minimum expires (MinRTTFilterLen).
const WINDOW: Duration = Duration::from_secs(10);
/// Age of the last low measurement at which ProbeRTT begins (ProbeRTTInterval).
const INTERVAL: Duration = Duration::from_secs(5);

/// A measurement and its time.
#[derive(Clone, Copy, Debug, Default)]
struct Measurement {
    rtt: Option<Duration>,
    at: Instant,
}

/// The minima of both intervals, and the probe in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    least: Measurement,
    /// Minimum since the last probe (probe_rtt_min_delay).
    recent: Measurement,
    expired: bool,
    probe: ProbeTime,
}

impl MinRtt {
    /// Starts with the measurement of the handshake, if there is one.
    pub fn start(&mut self, now: Instant, rtt: Option<Duration>) {
        let first = Measurement { rtt, at: now };
        *self = Self { least: first, recent: first, ..Self::default() };
    }
    /// The minimum, once known.
    pub fn get(&self) -> Option<Duration> {
        self.least.rtt
    }
    /// Adds the measurement of an acknowledgment (BBRUpdateMinRTT).
    pub fn update(&mut self, now: Instant, rtt: Option<Duration>) {
        self.expired = now > self.recent.at + INTERVAL;
        let is_lower = |rtt, of: &Measurement| of.rtt.is_none_or(|least| rtt < least);
        if let Some(rtt) = rtt
            && (self.expired || is_lower(rtt, &self.recent))
        {
            self.recent = Measurement { rtt: Some(rtt), at: now };
        }
        let old = now > self.least.at + WINDOW;
        if self.recent.rtt.is_some_and(|rtt| old || is_lower(rtt, &self.least)) {
            self.least = self.recent;
        }
    }
    /// ProbeRTT is due.
    pub fn has_expired(&self) -> bool {
        self.expired
    }
    /// Starts ProbeRTT.
    pub fn begin_probe(&mut self) {
        self.probe.begin();
    }
    /// Handles an acknowledgment in ProbeRTT; `is_low`: as little is in flight as it wants. True if
    /// the rounds of the probe start now (BBRHandleProbeRTT).
    pub fn on_probe_ack(&mut self, now: Instant, is_low: bool, round_started: bool) -> bool {
        self.probe.on_ack(now, is_low, round_started)
    }
    /// Ends the probe if a round and its time have passed; if idle, its time suffices
    /// (BBRCheckProbeRTTDone).
    pub fn end_probe(&mut self, now: Instant, idle: bool) -> bool {
        let over = self.probe.is_over(now, idle);
        if over {
            self.recent.at = now;
        }
        over
    }
    /// Postpones its times by the time `frozen_for` for which timers were frozen until `now`.
    pub fn postpone(&mut self, now: Instant, frozen_for: Duration) {
        self.least.at = (self.least.at + frozen_for).min(now);
        self.recent.at = (self.recent.at + frozen_for).min(now);
        self.probe.postpone(frozen_for);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    const AT: fn(u64) -> Instant = Instant::from_millis;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_minimum_lasts_ten_seconds_and_a_probe_is_due_after_five() {
        let mut min_rtt = MinRtt::default();
        min_rtt.start(AT(0), Some(MS(40)));
        min_rtt.update(AT(5_000), Some(MS(60)));
        assert!(!min_rtt.has_expired());
        min_rtt.update(AT(5_001), Some(MS(50)));
        assert_eq!((min_rtt.has_expired(), min_rtt.get()), (true, Some(MS(40))));
        min_rtt.update(AT(10_001), Some(MS(55)));
        assert_eq!(min_rtt.get(), Some(MS(50)), "the one of five seconds ago");
    }

    #[test]
    fn a_probe_lasts_200_ms_and_a_round() {
        let mut min_rtt = MinRtt::default();
        min_rtt.start(AT(0), Some(MS(40)));
        min_rtt.update(AT(6_000), Some(MS(60)));
        min_rtt.begin_probe();
        assert!(min_rtt.on_probe_ack(AT(6_000), true, false));
        assert!(!min_rtt.on_probe_ack(AT(6_100), true, true));
        assert!(!min_rtt.end_probe(AT(6_200), false));
        assert!(min_rtt.end_probe(AT(6_201), false));
        min_rtt.update(AT(11_201), None);
        assert!(!min_rtt.has_expired());
    }
}
