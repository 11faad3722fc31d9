//! The congestion window and the slow-start threshold, with the control that determines them. Nothing else sets them: a
//! method for each reason.

use alloc::boxed::Box;

use driftway_base::{Duration, Instant};

use super::contract::{
    AckedData, CongestionControl, CongestionWindow, Established, LostSegment, MAX_WINDOW,
    PacingRate, SentData,
};

/// The congestion state of a sender.
#[derive(Debug)]
pub struct CongestionState {
    window: CongestionWindow,
    control: Box<dyn CongestionControl>,
    /// The control sets the window itself.
    has_model: bool,
    /// The window before the last reduction, for an undo.
    prior_window: Option<CongestionWindow>,
}

/// The state, and what the control wants.
impl CongestionState {
    /// The state of a new connection. RFC 5681 §3.1: ssthresh is initially as high as possible.
    pub fn new(initial_window: u32, control: Box<dyn CongestionControl>) -> Self {
        let window = CongestionWindow { cwnd: initial_window, ssthresh: MAX_WINDOW };
        let has_model = control.has_model();
        Self { window, control, has_model, prior_window: None }
    }

    /// Replaces the congestion control before anything has been sent.
    pub(crate) fn set_control(&mut self, control: Box<dyn CongestionControl>) {
        self.has_model = control.has_model();
        self.control = control;
    }

    /// Congestion window (bytes).
    pub fn cwnd(&self) -> u32 {
        self.window.cwnd
    }
    /// Slow-start threshold (bytes).
    pub fn ssthresh(&self) -> u32 {
        self.window.ssthresh
    }
    /// Both.
    pub fn window(&self) -> CongestionWindow {
        self.window
    }
    /// The window before the last reduction, which an undo restores.
    pub(crate) fn prior_window(&self) -> Option<CongestionWindow> {
        self.prior_window
    }
    /// The congestion control sets the window itself ([`CongestionControl::has_model`]).
    pub(crate) fn has_model(&self) -> bool {
        self.has_model
    }
    /// The congestion control needs round-trip times.
    pub(crate) fn wants_round_trips(&self) -> bool {
        self.control.wants_round_trips()
    }
    /// Rate at which data is to leave.
    pub(crate) fn pacing_rate(&self) -> Option<PacingRate> {
        self.control.pacing_rate()
    }
    /// The control keeps less in flight than the path would hold.
    fn limits_itself(&self) -> bool {
        self.has_model && self.control.limits_itself()
    }
}

/// The start of a connection.
impl CongestionState {
    /// Sets the initial window, once the segment size is agreed.
    pub(crate) fn on_segment_size_agreed(&mut self, initial_window: u32) {
        self.window.cwnd = initial_window;
    }
    /// Sets the window to a segment, as the SYN was lost (RFC 5681 §3.1).
    pub(crate) fn on_syn_lost(&mut self, mss: u32) {
        self.window.cwnd = mss;
    }
    /// Reports the end of the handshake.
    pub(crate) fn on_established(&mut self, now: Instant, by: Established) {
        self.control.on_established(now, &self.window, by);
    }
}

/// Acknowledgments and transmissions.
impl CongestionState {
    /// Handles an acknowledgment that may change the window. `validates`: a window that was not used does not grow (RFC
    /// 7661), except by a model. Returns whether the control keeps less in flight than the path would hold, or did so
    /// until now: what is in flight was sent under that limit.
    pub(crate) fn on_ack(&mut self, now: Instant, acked: &AckedData, validates: bool) -> bool {
        let before = self.window.cwnd;
        let limited = self.limits_itself();
        self.control.on_ack(now, &mut self.window, acked);
        if validates && !acked.cwnd_limited && !self.has_model {
            self.window.cwnd = self.window.cwnd.min(before);
        }
        limited || self.limits_itself()
    }
    /// Reports a transmission of data.
    pub(crate) fn on_sent(&mut self, now: Instant, sent: SentData) {
        self.control.on_sent(now, &mut self.window, sent);
    }
    /// Reports a lost segment, to a control with a model.
    pub(crate) fn on_segment_lost(&mut self, now: Instant, lost: &LostSegment) {
        self.control.on_segment_lost(now, &self.window, lost);
    }
    /// Reports that sending is not limited by cwnd.
    pub(crate) fn on_pause(&mut self, now: Instant) {
        self.control.on_pause(now);
    }
    /// Reports that timers were frozen.
    pub(crate) fn on_thaw(&mut self, now: Instant, frozen_for: Duration) {
        self.control.on_thaw(now, frozen_for);
    }
}

/// Responses to congestion.
impl CongestionState {
    /// Sets ssthresh for a loss; `flight_size` is FlightSize (bytes). Recovery sets cwnd.
    pub(crate) fn on_loss(&mut self, now: Instant, flight_size: u32, mss: u32) {
        self.prior_window = Some(self.window);
        self.window.ssthresh = self.control.on_loss(now, &self.window, flight_size, mss);
    }
    /// Sets ssthresh for an ECN echo.
    pub(crate) fn on_ecn(&mut self, now: Instant, flight_size: u32, mss: u32) {
        self.prior_window = Some(self.window);
        self.window.ssthresh = self.control.on_ecn(now, &self.window, flight_size, mss);
    }
    /// Sets cwnd to a segment after a timeout (RFC 5681 §3.1, equation 4).
    pub(crate) fn on_timeout(&mut self, mss: u32) {
        self.control.on_timeout();
        self.window.cwnd = mss;
    }
    /// Sets cwnd after a timeout for a control with a model, which keeps what is not lost in flight, and a segment more
    /// (draft-ietf-ccwg-bbr-04 §5.6.4.4).
    pub(crate) fn keep_flight_after_timeout(&mut self, in_flight: u32, mss: u32) {
        if self.has_model {
            self.window.cwnd = in_flight.saturating_add(mss);
        }
    }
    /// Responds to congestion by slow start with the present ssthresh.
    pub(crate) fn restart_slow_start(&mut self, mss: u32) {
        self.prior_window = Some(self.window);
        self.window.cwnd = mss;
    }
    /// Reduces cwnd to ssthresh, if it is above: for congestion without a recovery, or where that is left early.
    pub(crate) fn limit_to_ssthresh(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }
    /// Responds to the request of an aid for a reduction, after that of cwnd.
    pub(crate) fn on_reduction_requested(&mut self, now: Instant) {
        self.control.on_reduction_requested(now, &mut self.window);
    }
}

/// Recovery. A control with a model sets the window itself.
impl CongestionState {
    /// Sets cwnd as a recovery wants it.
    pub(crate) fn set_in_recovery(&mut self, cwnd: u32) {
        if !self.has_model {
            self.window.cwnd = cwnd;
        }
    }
    /// Sets cwnd to ssthresh, at the start or at the end of a recovery.
    pub(crate) fn set_to_ssthresh(&mut self) {
        self.set_in_recovery(self.window.ssthresh);
    }
}

/// Undo of a reduction.
impl CongestionState {
    /// Restores the window from before the last reduction; false if there is none. `recovering`: in fast recovery, in
    /// which cwnd is inflated, or being reduced.
    pub(crate) fn undo(&mut self, recovering: bool) -> bool {
        let Some(before) = self.prior_window.take() else { return false };
        let least = if recovering && before.cwnd > 0 { 0 } else { self.window.cwnd };
        self.set_in_recovery(before.cwnd.max(least));
        self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
        self.control.on_undo();
        true
    }
    /// Makes the last reduction final: an undo has no effect.
    pub(crate) fn forget_prior_window(&mut self) {
        self.prior_window = None;
    }
    /// Makes the last reduction final, as Linux does with that for a mark: if a loss or a timeout within it turns out
    /// spurious, its state is undone, and the window stays.
    pub(crate) fn make_reduction_final(&mut self) {
        self.prior_window = Some(CongestionWindow { cwnd: 0, ssthresh: 0 });
    }
    /// Sets the window that an undo restores, if `before` has one.
    pub(crate) fn keep_prior_window(&mut self, before: Option<CongestionWindow>) {
        self.prior_window = before.or(self.prior_window);
    }
}

/// A window that is not used, and so is not a measure of the path.
impl CongestionState {
    /// Restarts from the restart window after an idle period (RFC 5681 §4.1).
    pub(crate) fn on_idle(&mut self, restart_window: u32) {
        self.window.cwnd = self.window.cwnd.min(restart_window);
    }
    /// Halves cwnd for each timeout of an idle period, down to the restart window (RFC 2861 §3.1). `idle` is its length
    /// beyond the first timeout.
    pub(crate) fn decay_for_idle(&mut self, restart_window: u32, idle: Duration, rto: Duration) {
        let restart_window = restart_window.min(self.window.cwnd);
        self.remember_in_ssthresh();
        let mut left = idle;
        while !left.is_zero() && self.window.cwnd > restart_window && !rto.is_zero() {
            self.window.cwnd /= 2;
            left = left.saturating_sub(rto);
        }
        self.window.cwnd = self.window.cwnd.max(restart_window);
    }
    /// Reduces cwnd by half of what was not used of it, if only `used` bytes were (RFC 2861 §3.1).
    pub(crate) fn decay_unused(&mut self, used: u32) {
        if used < self.window.cwnd {
            self.remember_in_ssthresh();
            self.window.cwnd = used + (self.window.cwnd - used) / 2;
        }
    }
    /// RFC 2861 §3.1: ssthresh keeps most of the knowledge of the path.
    fn remember_in_ssthresh(&mut self) {
        let CongestionWindow { cwnd, ssthresh } = self.window;
        self.window.ssthresh = ssthresh.max(cwnd - cwnd / 4);
    }
}

/// Assignments by an aid.
impl CongestionState {
    /// Sets cwnd, to a segment at least.
    pub(crate) fn assign_cwnd(&mut self, bytes: u32, mss: u32) {
        self.window.cwnd = bytes.clamp(mss, MAX_WINDOW);
    }
    /// Sets ssthresh, to two segments at least (RFC 5681 §3.1, equation 4).
    pub(crate) fn assign_ssthresh(&mut self, bytes: u32, mss: u32) {
        self.window.ssthresh = bytes.max(mss.saturating_mul(2)).min(MAX_WINDOW);
    }
    /// Reports an assignment of cwnd; `anew`: to that of a new connection.
    pub(crate) fn on_assigned(&mut self, now: Instant, anew: bool) {
        self.control.on_window_assigned(now, &self.window, anew);
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::congestion::test::acked;
    use crate::congestion::{ControlKind, ControlOptions, new};

    fn state(kind: ControlKind) -> CongestionState {
        CongestionState::new(8000, new(kind, &ControlOptions::default()))
    }

    fn seen(state: &CongestionState) -> (u32, u32) {
        (state.cwnd(), state.ssthresh())
    }

    #[test]
    fn a_timeout_and_its_undo() {
        let mut state = state(ControlKind::Reno);
        state.on_loss(Instant::ZERO, 8000, 1000);
        state.on_timeout(1000);
        assert_eq!(seen(&state), (1000, 4000));
        assert!(state.undo(false));
        assert_eq!(seen(&state), (8000, MAX_WINDOW));
        assert!(!state.undo(false), "there is nothing left to undo");
    }

    /// Limits itself from the first acknowledgment to the second, as BBR does in ProbeRtt.
    #[derive(Debug, Default)]
    struct LimitedOnce(u32);

    impl CongestionControl for LimitedOnce {
        fn has_model(&self) -> bool {
            true
        }
        fn on_ack(&mut self, _: Instant, _: &mut CongestionWindow, _: &AckedData) {
            self.0 += 1;
        }
        fn on_loss(&mut self, _: Instant, window: &CongestionWindow, _: u32, _: u32) -> u32 {
            window.ssthresh
        }
        fn on_undo(&mut self) {}
        fn limits_itself(&self) -> bool {
            self.0 == 1
        }
    }

    #[test]
    fn what_is_in_flight_as_a_limit_ends_was_sent_under_it() {
        let mut state = CongestionState::new(8000, Box::new(LimitedOnce::default()));
        let limited = [(); 3].map(|()| state.on_ack(Instant::ZERO, &acked(1000), false));
        assert_eq!(limited, [true, true, false]);
    }

    #[test]
    fn an_unused_window_does_not_grow_and_decays() {
        let mut state = state(ControlKind::Reno);
        let unused = AckedData { cwnd_limited: false, ..acked(1000) };
        state.on_ack(Instant::ZERO, &unused, true);
        assert_eq!(state.cwnd(), 8000);
        state.on_ack(Instant::ZERO, &unused, false);
        assert_eq!(state.cwnd(), 9000);
        state.assign_ssthresh(0, 1000);
        state.decay_unused(5000);
        assert_eq!(seen(&state), (7000, 6750));
        // Three timeouts halve it three times, but not below the restart window.
        let rto = Duration::from_secs(1);
        state.decay_for_idle(1000, rto.times(3), rto);
        assert_eq!(state.cwnd(), 1000);
    }

    #[test]
    fn recovery_leaves_the_window_to_a_control_with_a_model() {
        for (kind, cwnd) in [(ControlKind::Reno, 3000), (ControlKind::Bbr, 8000)] {
            let mut state = state(kind);
            state.set_in_recovery(3000);
            assert_eq!(state.cwnd(), cwnd);
        }
    }
}
