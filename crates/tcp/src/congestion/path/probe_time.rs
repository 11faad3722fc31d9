//! The time that a probe for the minimum round trip lasts (draft-ietf-ccwg-bbr-04 §5.3.4.3).

use driftway_base::{Duration, Instant};

/// Time with little in flight (ProbeRTTDuration).
const PROBE_TIME: Duration = Duration::from_millis(200);

/// The probe in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeTime {
    /// The probe is over then; `None` until little is in flight.
    until: Option<Instant>,
    /// A round has passed since little is in flight.
    round_passed: bool,
}

impl ProbeTime {
    /// Starts a probe.
    pub fn begin(&mut self) {
        self.until = None;
    }
    /// Handles an acknowledgment in the probe; `is_low`: little is in flight. True if its rounds
    /// start now (BBRHandleProbeRTT).
    pub fn on_ack(&mut self, now: Instant, is_low: bool, round_started: bool) -> bool {
        if self.until.is_none() {
            if is_low {
                (self.until, self.round_passed) = (Some(now + PROBE_TIME), false);
            }
            return is_low;
        }
        self.round_passed |= round_started;
        false
    }
    /// True if a round and the time have passed; if idle, the time suffices
    /// (BBRCheckProbeRTTDone).
    pub fn is_over(&self, now: Instant, idle: bool) -> bool {
        self.until.is_some_and(|end| now > end) && (self.round_passed || idle)
    }
    /// Postpones the end by the time `frozen_for` for which timers were frozen.
    pub fn postpone(&mut self, frozen_for: Duration) {
        self.until = self.until.map(|end| end + frozen_for);
    }
}
