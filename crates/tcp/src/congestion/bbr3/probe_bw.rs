//! The states of ProbeBW (draft-ietf-ccwg-bbr-04 §5.3.3.6).

use driftway_base::Instant;

use super::control::Bbr3;
use super::cycle::AckPhase;
use super::long_term::is_too_high;
use super::mode::{Event, Mode};
use super::short_term::BETA;
use crate::congestion::contract::{AckedData, CongestionWindow};
use crate::congestion::path::bytes;
use crate::delivery_rate::RateSample;

impl Bbr3 {
    /// Advances the states of ProbeBW (BBRUpdateProbeBWCyclePhase).
    pub(super) fn update_probe_bw(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        acked: &AckedData,
    ) {
        let Some(sample) = acked.rate.filter(|_| self.full_pipe.was_reached()) else { return };
        self.adapt_long_term_model(window, acked, &sample);
        let is_over = self.mode == Mode::ProbeBwUp && self.is_probe_over(window, &sample);
        match self.mode {
            Mode::ProbeBwDown | Mode::ProbeBwCruise if self.is_probe_due(now, window) => {
                self.apply(Event::ProbeDue);
                self.start_refill();
            }
            Mode::ProbeBwDown if self.has_headroom(acked) => self.apply(Event::HeadroomLeft),
            Mode::ProbeBwRefill if self.rounds.has_started() => {
                self.probe_samples = true;
                self.apply(Event::PipeRefilled);
                self.start_up(window, &sample);
            }
            Mode::ProbeBwUp if is_over => {
                self.apply(Event::ProbeEnded);
                self.start_down(now);
            }
            _ => {}
        }
    }

    /// Starts ProbeBW_DOWN (BBRStartProbeBW_DOWN).
    pub(super) fn start_down(&mut self, now: Instant) {
        self.short_term.reset_signals();
        self.cycle.start(now, &mut self.random);
        self.rounds.restart(self.delivered);
    }

    /// Notes that acknowledgments are those of a probe that is over.
    pub(super) fn stop_probing(&mut self) {
        self.cycle.acks = AckPhase::ProbeStopping;
    }

    fn start_refill(&mut self) {
        self.short_term.reset_bounds();
        self.long_term.reset_growth();
        self.cycle.acks = AckPhase::Refilling;
        self.rounds.restart(self.delivered);
    }

    fn start_up(&mut self, window: &CongestionWindow, sample: &RateSample) {
        self.cycle.acks = AckPhase::ProbeStarting;
        self.rounds.restart(self.delivered);
        self.full_pipe.restart(sample.bytes_per_second().unwrap_or(0.0));
        self.long_term.raise_slope(f64::from(window.cwnd), self.segment());
    }

    fn is_probe_due(&self, now: Instant, window: &CongestionWindow) -> bool {
        let segments = self.target_in_flight(window) / self.segment();
        self.cycle.is_probe_due(now, segments)
    }

    /// The estimated bandwidth-delay product, unless congestion has cut the window
    /// (BBRTargetInflight).
    fn target_in_flight(&self, window: &CongestionWindow) -> f64 {
        self.bdp(self.bounded_bandwidth(), 1.0).min(f64::from(window.cwnd))
    }

    /// Little enough is in flight (BBRIsTimeToCruise).
    fn has_headroom(&self, acked: &AckedData) -> bool {
        let in_flight = f64::from(acked.in_flight);
        let bound = self.long_term.with_headroom(self.segment(), self.least_cwnd());
        bound.is_none_or(|bound| in_flight <= bound)
            && in_flight <= self.flight(self.bandwidth.get(), 1.0)
    }

    /// The path is used in full (BBRIsTimeToGoDown).
    fn is_probe_over(&mut self, window: &CongestionWindow, sample: &RateSample) -> bool {
        if self.is_limited_by_long_term(window) {
            self.full_pipe.restart(sample.bytes_per_second().unwrap_or(0.0));
            return false;
        }
        self.full_pipe.is_full_now()
    }

    fn is_limited_by_long_term(&self, window: &CongestionWindow) -> bool {
        let reaches = |bound| window.cwnd >= bytes(bound);
        self.is_cwnd_limited() && self.long_term.in_flight.is_some_and(reaches)
    }

    /// Ages the bandwidth, and raises the long-term bound (BBRAdaptLongTermModel).
    fn adapt_long_term_model(
        &mut self,
        window: &CongestionWindow,
        acked: &AckedData,
        sample: &RateSample,
    ) {
        if self.rounds.has_started() {
            match self.cycle.acks {
                AckPhase::ProbeStarting => self.cycle.acks = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.cycle.acks = AckPhase::Init;
                    if self.mode.probes_bandwidth() && !sample.app_limited {
                        self.cycles += 1;
                    }
                }
                _ => {}
            }
        }
        let in_flight = f64::from(sample.sent_in_flight);
        if is_too_high(sample.lost as f64, in_flight) {
            return;
        }
        self.long_term.raise_to(in_flight);
        if self.mode == Mode::ProbeBwUp && self.is_limited_by_long_term(window) {
            self.long_term.grow(f64::from(acked.bytes));
            if self.rounds.has_started() {
                self.long_term.raise_slope(f64::from(window.cwnd), self.segment());
            }
        }
    }

    /// Handles too many losses with `in_flight` bytes in flight; `None`: limited by the application
    /// (BBRHandleInflightTooHigh).
    pub(super) fn handle_too_high(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        in_flight: Option<f64>,
    ) {
        self.probe_samples = false;
        if let Some(in_flight) = in_flight {
            self.long_term.in_flight = Some(in_flight.max(self.target_in_flight(window) * BETA));
        }
        if self.mode == Mode::ProbeBwUp {
            self.apply(Event::ProbeEnded);
            self.start_down(now);
        }
    }
}
