//! The window, the bursts and the events of version 3 (draft-ietf-ccwg-bbr-04 §5.4, §5.6).

use driftway_base::{Duration, Instant};

use super::control::{Bbr3, PriorBounds};
use super::mode::Mode;
use crate::congestion::contract::{
    AckedData, CongestionControl, CongestionWindow, ControlDescriptor, ControlOptions, Established,
    LostSegment, MAX_WINDOW, PacingRate, SentData,
};
use crate::congestion::path::bytes;
use crate::recovery_phase::RecoveryPhase;

/// Least window in segments (§5.6.4.3: MinPipeCwnd).
const MIN_SEGMENTS: u32 = 4;
/// Length of a burst in seconds, its most bytes and its least segments (§5.6.3).
const BURST: f64 = 0.001;
const MOST_BURST: f64 = 65_536.0;
const BURST_SEGMENTS: f64 = 2.0;
/// Bursts for which the window has room (§5.5.8).
const BURSTS_IN_FLIGHT: f64 = 3.0;

impl Bbr3 {
    /// Least window (bytes).
    pub(super) fn least_cwnd(&self) -> f64 {
        f64::from(MIN_SEGMENTS) * self.segment()
    }

    /// `gain` times the product of `bandwidth` and the round-trip time (BBRBDPMultiple).
    pub(super) fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.min_rtt.get() {
            Some(rtt) => gain * bandwidth * rtt.as_secs_f64(),
            None => f64::from(self.initial_cwnd),
        }
    }

    fn burst(&self) -> f64 {
        (self.pacing_rate * BURST).min(MOST_BURST).max(BURST_SEGMENTS * self.segment())
    }

    /// Adds to bytes in flight what bursts need (BBRQuantizationBudget).
    fn with_bursts(&self, in_flight: f64) -> f64 {
        let least = in_flight.max(BURSTS_IN_FLIGHT * self.burst()).max(self.least_cwnd());
        let more = if self.mode == Mode::ProbeBwUp { 2.0 * self.segment() } else { 0.0 };
        least + more
    }

    /// Bytes in flight for `gain` times the product of `bandwidth` and the round-trip time
    /// (BBRInflight).
    pub(super) fn flight(&self, bandwidth: f64, gain: f64) -> f64 {
        self.with_bursts(self.bdp(bandwidth, gain))
    }

    /// The window in ProbeRTT (BBRProbeRTTCwnd).
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        let half = self.bdp(self.bounded_bandwidth(), Mode::ProbeRtt.cwnd_gain());
        bytes(half.max(self.least_cwnd()))
    }

    /// Sets the window (BBRSetCwnd).
    fn set_cwnd(&mut self, window: &mut CongestionWindow, acked: &AckedData) {
        let target =
            self.bdp(self.bounded_bandwidth(), self.mode.cwnd_gain()) + self.aggregation.room();
        let most = bytes(self.with_bursts(target));
        let grown = window.cwnd.saturating_add(acked.bytes);
        if self.full_pipe.was_reached() {
            window.cwnd = grown.min(most);
        } else if window.cwnd < most || self.delivered < u64::from(self.initial_cwnd) {
            window.cwnd = grown;
        }
        window.cwnd = window.cwnd.max(bytes(self.least_cwnd())).min(MAX_WINDOW);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd(window);
    }

    /// Bounds the window by losses (BBRBoundCwndForModel).
    fn bound_cwnd(&self, window: &mut CongestionWindow) {
        let long_term = match self.mode {
            Mode::ProbeBwCruise | Mode::ProbeRtt => {
                self.long_term.with_headroom(self.segment(), self.least_cwnd())
            }
            mode if mode.probes_bandwidth() => self.long_term.in_flight,
            _ => None,
        };
        for bound in [long_term, self.short_term.in_flight].into_iter().flatten() {
            window.cwnd = window.cwnd.min(bytes(bound.max(self.least_cwnd())));
        }
    }

    /// Returns to the window from before loss recovery at its end (§5.6.4.4).
    fn end_recovery(&mut self, window: &mut CongestionWindow, acked: &AckedData) {
        let recovers = acked.phase != RecoveryPhase::Open;
        if self.recovering && !recovers {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        self.recovering = recovers;
    }
}

impl ControlDescriptor for Bbr3 {
    const NAME: &'static str = "bbr3";
    const NEEDS_LOG: bool = true;

    fn from_options(options: &ControlOptions) -> Self {
        Self::new(options.seed)
    }
}

impl CongestionControl for Bbr3 {
    fn has_model(&self) -> bool {
        true
    }

    fn on_established(&mut self, now: Instant, window: &CongestionWindow, by: Established) {
        self.start(now, window.cwnd, by);
    }

    fn on_sent(&mut self, now: Instant, window: &mut CongestionWindow, sent: SentData) {
        let in_flight = sent.in_flight.saturating_add(sent.bytes);
        self.cwnd_limited[0] |= in_flight.saturating_add(self.mss) > window.cwnd;
        if !sent.after_idle {
            return;
        }
        // §5.4.1: BBRHandleRestartFromIdle
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.mode.probes_bandwidth() {
            self.set_pacing_rate(1.0);
        } else if self.mode == Mode::ProbeRtt {
            self.end_probe_rtt(now, window, true);
        }
    }

    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        self.mss = acked.mss.max(1);
        self.update_model(now, window, acked);
        self.set_pacing_rate(self.mode.pacing_gain());
        self.end_recovery(window, acked);
        self.set_cwnd(window, acked);
    }

    fn on_segment_lost(&mut self, now: Instant, window: &CongestionWindow, lost: &LostSegment) {
        self.note_loss(now, window, lost);
    }

    /// Keeps the window and the bounds. The model has no slow-start threshold.
    fn on_loss(&mut self, _: Instant, window: &CongestionWindow, _: u32, _: u32) -> u32 {
        self.save_cwnd(window.cwnd);
        if !self.recovering {
            self.prior_bounds = PriorBounds {
                bandwidth: self.short_term.bandwidth,
                in_flight: self.short_term.in_flight,
                long_term: self.long_term.in_flight,
            };
        }
        self.recovering = true;
        window.ssthresh
    }

    fn on_ecn(&mut self, now: Instant, window: &CongestionWindow, _: u32, _: u32) -> u32 {
        self.note_congestion(now, window);
        window.ssthresh
    }

    fn on_reduction_requested(&mut self, now: Instant, window: &mut CongestionWindow) {
        self.note_congestion(now, window);
    }

    fn on_undo(&mut self) {
        let PriorBounds { bandwidth, in_flight, long_term } = self.prior_bounds;
        // No bound is the highest one.
        let higher = |now: Option<f64>, before: Option<f64>| Some(now?.max(before?));
        self.short_term.bandwidth = higher(self.short_term.bandwidth, bandwidth);
        self.short_term.in_flight = higher(self.short_term.in_flight, in_flight);
        self.long_term.in_flight = higher(self.long_term.in_flight, long_term);
        self.short_term.reset_signals();
        if !self.full_pipe.was_reached() {
            self.full_pipe.restart(0.0);
        }
    }

    fn on_window_assigned(&mut self, now: Instant, window: &CongestionWindow, anew: bool) {
        match anew {
            true => self.forget_path(now, window),
            false => self.prior_cwnd = window.cwnd,
        }
    }

    fn on_thaw(&mut self, now: Instant, frozen_for: Duration) {
        self.aggregation.postpone(now, frozen_for);
        self.cycle.postpone(now, frozen_for);
        self.min_rtt.postpone(now, frozen_for);
    }

    fn pacing_rate(&self) -> Option<PacingRate> {
        let rate = PacingRate { bytes_per_second: self.pacing_rate, quantum: bytes(self.burst()) };
        (self.pacing_rate > 0.0).then_some(rate)
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}
