//! The update of the model by an acknowledgment, in the draft's order
//! (draft-ietf-ccwg-bbr-04 §5.2.3).

use driftway_base::Instant;

use super::ack_aggregation::Acked;
use super::control::Bbr3;
use super::long_term::{in_flight_at_loss, is_too_high};
use super::mode::{Event, Mode};
use super::short_term::Delivery;
use crate::congestion::contract::{AckedData, CongestionWindow, LostSegment};
use crate::recovery_phase::RecoveryPhase;

/// Ranges lost in a round that end Startup (§5.3.1.3: BBRStartupFullLossCnt).
const STARTUP_LOST_RANGES: u32 = 6;

impl Bbr3 {
    /// Updates the model and the state (BBRUpdateModelAndState).
    pub(super) fn update_model(
        &mut self,
        now: Instant,
        window: &mut CongestionWindow,
        acked: &AckedData,
    ) {
        let cwnd = f64::from(window.cwnd);
        let delivery = self.update_delivery(acked);
        self.short_term.end_round(self.mode.accelerates(), self.bandwidth.get(), cwnd);
        if acked.bytes > 0 {
            let acked = Acked {
                bytes: f64::from(acked.bytes),
                round: self.rounds.count(),
                bandwidth: self.bounded_bandwidth(),
                cwnd,
                in_startup: !self.full_pipe.was_reached(),
            };
            self.aggregation.on_acked(now, &acked);
        }
        if let Some(delivery) = delivery
            && self.rounds.has_started()
            && acked.rate.is_some_and(|sample| !sample.app_limited)
        {
            self.full_pipe.on_round(delivery.rate);
        }
        self.check_startup_done(acked);
        if self.mode == Mode::Drain
            && f64::from(acked.in_flight) <= self.flight(self.bounded_bandwidth(), 1.0)
        {
            self.apply(Event::QueueDrained);
            self.start_down(now);
        }
        if delivery.is_some() {
            self.update_probe_bw(now, window, acked);
        }
        self.min_rtt.update(now, acked.rtt);
        self.check_probe_rtt(now, window, acked);
        if let Some(delivery) = delivery {
            self.short_term.advance(&delivery);
        }
        if self.short_term.round_has_ended() {
            self.lost_ranges = 0;
        }
    }

    /// Takes the sample into the maxima (BBRUpdateLatestDeliverySignals, BBRUpdateMaxBw).
    fn update_delivery(&mut self, acked: &AckedData) -> Option<Delivery> {
        let Some(sample) = acked.rate else {
            self.rounds.on_nothing_delivered();
            self.short_term.on_nothing_delivered();
            return None;
        };
        self.delivered = sample.total_delivered;
        let delivery = Delivery {
            rate: sample.bytes_per_second().unwrap_or(0.0),
            delivered: sample.delivered as f64,
            prior: sample.prior_delivered,
            total: sample.total_delivered,
        };
        self.short_term.on_delivered(&delivery);
        self.rounds.on_delivered(delivery.prior, delivery.total);
        if self.rounds.has_started() {
            self.cycle.on_round();
            self.cwnd_limited = [false, self.cwnd_limited[0]];
        }
        if delivery.rate > 0.0 && (!sample.app_limited || delivery.rate >= self.bandwidth.get()) {
            self.bandwidth.add(self.cycles, delivery.rate);
        }
        Some(delivery)
    }

    /// Ends Startup by a plateau of the bandwidth or by losses (§5.3.1.2, §5.3.1.3).
    fn check_startup_done(&mut self, acked: &AckedData) {
        if self.mode != Mode::Startup {
            return;
        }
        let recovers = matches!(acked.phase, RecoveryPhase::Recovery { .. });
        let too_high = acked.rate.is_some_and(|sample| {
            is_too_high(sample.lost as f64, f64::from(sample.sent_in_flight))
        });
        if recovers
            && self.short_term.round_has_ended()
            && self.lost_ranges >= STARTUP_LOST_RANGES
            && too_high
        {
            self.end_startup_by_congestion();
        }
        if self.full_pipe.was_reached() {
            self.apply(Event::PipeFull);
        }
    }

    /// Notes that congestion shows the pipe to be full.
    fn end_startup_by_congestion(&mut self) {
        self.full_pipe.set_reached();
        let bdp = self.bdp(self.bounded_bandwidth(), 1.0);
        self.long_term.in_flight = Some(bdp.max(self.short_term.latest_delivered()));
    }

    /// Enters, handles and leaves ProbeRTT (BBRCheckProbeRTT).
    fn check_probe_rtt(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        if self.mode != Mode::ProbeRtt && self.min_rtt.has_expired() && !self.idle_restart {
            self.apply(Event::MinRttExpired);
            self.save_cwnd(window.cwnd);
            self.min_rtt.begin_probe();
            self.stop_probing();
            self.rounds.restart(self.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            let is_low = acked.in_flight <= self.probe_rtt_cwnd();
            if self.min_rtt.on_probe_ack(now, is_low, self.rounds.has_started()) {
                self.rounds.restart(self.delivered);
            }
            self.end_probe_rtt(now, window, false);
        }
        if acked.rate.is_some() {
            self.idle_restart = false;
        }
    }

    /// Leaves ProbeRTT if its time is over (BBRCheckProbeRTTDone, BBRExitProbeRTT).
    pub(super) fn end_probe_rtt(
        &mut self,
        now: Instant,
        window: &mut CongestionWindow,
        idle: bool,
    ) {
        if !self.min_rtt.end_probe(now, idle) {
            return;
        }
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.short_term.reset_bounds();
        if self.full_pipe.was_reached() {
            self.start_down(now);
            self.apply(Event::MinRttMeasured);
        } else {
            self.apply(Event::MinRttMeasuredInStartup);
        }
    }

    /// Notes a lost segment (BBRHandleLostPacket).
    pub(super) fn note_loss(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        lost: &LostSegment,
    ) {
        self.short_term.on_loss(lost.delivered);
        if self.lost_end != Some(lost.range.start) {
            self.lost_ranges = self.lost_ranges.saturating_add(1);
        }
        self.lost_end = Some(lost.range.end);
        if !self.probe_samples {
            return;
        }
        let (all, in_flight) = (lost.lost as f64, f64::from(lost.sent_in_flight));
        if is_too_high(all, in_flight) {
            let at_loss = in_flight_at_loss(f64::from(lost.range.len()), all, in_flight);
            let bound = (!lost.app_limited).then_some(at_loss);
            self.handle_too_high(now, window, bound);
        }
    }

    /// Handles congestion without a loss: a mark, or an aid's request.
    pub(super) fn note_congestion(&mut self, now: Instant, window: &CongestionWindow) {
        self.short_term.on_loss(self.delivered);
        if self.mode == Mode::Startup {
            self.end_startup_by_congestion();
        } else if self.probe_samples {
            self.handle_too_high(now, window, Some(0.0));
        }
    }
}
