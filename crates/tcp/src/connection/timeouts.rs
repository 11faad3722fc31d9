//! Timer expiry.

use driftway_base::{Duration, HeldTimers, Instant, Retransmit};

use super::control_block::{Connection, Event};
use crate::clock::MIN_TIMER_SPAN;
use crate::disruption::Disruption;
use crate::send_state::RecoveryPhase;
use crate::state::{State, Transition};
use crate::timer::Timer;

impl Connection {
    /// Handles all timers that have expired.
    pub fn on_timeout(&mut self, now: Instant) {
        // Each at most once: a timer that is rearmed waits for the next call.
        for timer in Timer::ALL {
            if !self.timers.take_due(timer, now) {
                continue;
            }
            match timer {
                Timer::Recovery => self.recovery_timeout(now),
                Timer::LossProbe => self.loss_probe_timeout(now),
                Timer::Retransmission => self.retransmission_timeout(now),
                Timer::Persist => self.persist_timeout(now),
                Timer::DelayedAck => self.delayed_ack_timeout(),
                // The driver polls for what may leave now.
                Timer::Pacing => {}
                Timer::KeepAlive => self.keep_alive_timeout(now),
                Timer::TimeWait => {
                    self.apply_transition(Transition::TwoMsl);
                    self.terminate(Event::Closed);
                }
            }
        }
    }

    /// Handles a retransmission timeout (RFC 6298 §5.4–5.7).
    pub(super) fn retransmission_timeout(&mut self, now: Instant) {
        if self.snd.send_state.outstanding() == 0 {
            return;
        }
        self.stats.timeouts += 1;
        self.events.push_back(Event::RetransmissionTimeout);
        if !self.snd.recovery.expire_segment_timers(now) {
            // chandran-1998 §5.2: one of many segment timers, for whose loss TCP has already
            // responded.
            self.snd.timed_segment = None;
            self.restart_retransmission_timer(now);
            return;
        }
        // RFC 9293 §3.8.6.1: a closed window is no reason to abort, as long as the peer answers.
        let probes = self.snd.wnd == 0 && self.config.linux_persist;
        self.snd.retries += 1;
        let most = if self.state.is_synchronized() {
            self.config.max_retries
        } else if self.state == State::SynSent {
            self.config.max_syn_retries.saturating_add(self.config.syn_linear_timeouts)
        } else {
            self.config.max_syn_retries
        };
        if self.snd.retries > most && self.should_give_up(now, most) {
            self.apply_transition(Transition::Reset);
            self.terminate(Event::TimedOut);
            return;
        }
        let overrides = core::mem::take(&mut self.snd.timeout_override);
        let linear =
            self.state == State::SynSent && self.snd.retries <= self.config.syn_linear_timeouts;
        if !overrides.keep_rto && !linear {
            self.snd.rtt.back_off();
        }
        self.snd.disruption = Some(Disruption::after_timeout(self.snd.disruption, now));
        self.snd.timed_segment = None;
        if !self.state.is_synchronized() {
            self.syn_due = true;
            self.syn_lost = true;
            return;
        }
        if probes {
            // Each probe is a timeout of its own.
            self.snd.send_state.forget_timeout();
        }
        match overrides.retransmit {
            Retransmit::LossRecovery => self.respond_to_timeout(now, probes),
            Retransmit::Oldest => self.snd.send_state.request_head_retransmit(),
            Retransmit::Newest => self.retransmit_newest(),
            Retransmit::Nothing => {}
        }
        if overrides.retransmit != Retransmit::LossRecovery {
            let at = self.config.clock.deadline(now, self.snd.rtt.rto());
            self.snd.recovery.restart_segment_timers(at);
        }
        self.set_cwnd(overrides.cwnd);
        self.set_ssthresh(overrides.ssthresh);
        self.report_assignment(now, overrides.cwnd);
        if probes && overrides.retransmit == Retransmit::LossRecovery {
            // The window would hold back what loss recovery wants to send.
            self.snd.send_state.request_head_retransmit();
        }
        if self.snd.hold.is_none() {
            self.restart_retransmission_timer(now);
        }
    }

    /// Responds to the timeout (RFC 5681 §3.1, equation 4); loss recovery decides what is
    /// retransmitted. `probes`: the peer's window is closed.
    fn respond_to_timeout(&mut self, now: Instant, probes: bool) {
        self.stats.slow_starts += 1;
        let (before, phase) =
            (self.snd.send_state.congestion.prior_window(), self.snd.send_state.phase());
        let timed = self.snd.recovery.next_timeout();
        self.snd.recovery.on_retransmission_timeout(now, &mut self.snd.send_state);
        if !self.snd.recovery.uses_go_back_n() {
            self.snd.send_state.keep_flight_after_timeout();
        }
        self.update_recovery_timer_if_changed(now, timed);
        self.begin_undo_state(true, before);
        let again = self.config.f_rto_again && self.snd.retries > 1 && !probes;
        self.begin_f_rto(phase == RecoveryPhase::Open || again);
        self.snd.on_cwnd_reduced();
    }

    fn persist_timeout(&mut self, now: Instant) {
        if self.snd.hold.is_none() {
            self.snd.retries += 1;
            if self.snd.retries > self.config.max_retries {
                self.apply_transition(Transition::Reset);
                self.terminate(Event::TimedOut);
                return;
            }
        }
        self.snd.window_probe_due = true;
        let gap = self.snd.probe_interval;
        let most = self.snd.hold.and_then(|h| h.probe).map_or(self.config.persist_max, |p| p.max);
        self.snd.probe_interval = gap.times(2).min(most);
        self.timers.set(Timer::Persist, self.config.clock.deadline(now, self.snd.probe_interval));
    }

    /// Sends a keep-alive: a segment at SND.NXT − 1 without data asks for an acknowledgment (RFC
    /// 9293 §3.8.4).
    fn keep_alive_timeout(&mut self, now: Instant) {
        let Some(idle) = self.config.keep_alive else { return };
        let gap = idle.clamp(MIN_TIMER_SPAN, Duration::from_secs(75));
        let silent = now.since(self.last_received);
        // MUST-24: none while data is outstanding, when other timers watch the peer.
        let busy = self.snd.send_state.outstanding() > 0 || self.snd.hold.is_some();
        if busy {
            self.last_received = now;
        }
        if busy || silent < idle {
            let left = idle.saturating_sub(now.since(self.last_received));
            self.timers.set(Timer::KeepAlive, self.config.clock.deadline(now, left));
            return;
        }
        if silent >= idle + gap.times(u64::from(self.config.max_retries)) {
            self.send_reset();
            self.apply_transition(Transition::Reset);
            self.terminate(Event::TimedOut);
            return;
        }
        self.snd.keep_alive_due = true;
        self.timers.set(Timer::KeepAlive, self.config.clock.deadline(now, gap));
    }

    /// Restarts the retransmission timer, or stops it if nothing is outstanding.
    pub(super) fn restart_retransmission_timer(&mut self, now: Instant) {
        let anew = self.config.clock.deadline(now, self.snd.rtt.rto());
        let at = self.snd.recovery.first_segment_deadline().map_or(anew, |first| first.max(now));
        let keeps = |hold: super::sender::Hold| hold.timers == HeldTimers::KeepRetransmission;
        if self.snd.send_state.outstanding() > 0 && self.snd.hold.is_none_or(keeps) {
            self.timers.set(Timer::Retransmission, at);
        } else {
            self.timers.stop(Timer::Retransmission);
            self.timers.set_frozen_remaining(Timer::Retransmission, at.since(now));
        }
    }
}
