//! Timer expiry.

use driftway_base::{Duration, Instant, Retransmit};

use super::control_block::{Connection, Event};
use crate::clock::LEAST_SPAN;
use crate::disruption::Disruption;
use crate::flight::Phase;
use crate::state::Cause;
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
                Timer::DelayedAck => self.acks.now = self.acks.now || self.acks.waiting > 0,
                Timer::KeepAlive => self.keep_alive_timeout(now),
                Timer::TimeWait => {
                    self.become_after(Cause::TwoMsl);
                    self.end(Event::Closed);
                }
            }
        }
    }

    /// Handles a retransmission timeout (RFC 6298 §5.4–5.7).
    pub(super) fn retransmission_timeout(&mut self, now: Instant) {
        if self.snd.flight.outstanding() == 0 {
            return;
        }
        self.stats.timeouts += 1;
        if !self.snd.recovery.take_due(now) {
            // chandran-1998 §5.2: one of many segment timers, for whose loss TCP has already
            // responded.
            self.snd.timed = None;
            self.restart_retransmission_timer(now);
            return;
        }
        self.snd.retries += 1;
        let most = if self.state.is_synchronized() {
            self.config.max_retries
        } else {
            self.config.max_syn_retries
        };
        if self.snd.retries > most && self.gives_up(now, most) {
            self.become_after(Cause::Reset);
            self.end(Event::TimedOut);
            return;
        }
        let wanted = core::mem::take(&mut self.snd.next_timeout);
        if !wanted.keep_rto {
            self.snd.rtt.back_off();
        }
        self.snd.disruption = Some(Disruption::goes_on(self.snd.disruption, now));
        self.snd.timed = None;
        if !self.state.is_synchronized() {
            self.syn_due = true;
            self.syn_lost = true;
            return;
        }
        match wanted.retransmit {
            Retransmit::Own => self.respond_to_timeout(now),
            Retransmit::Oldest => {
                self.snd.flight.resend_first();
                let at = self.config.clock.deadline(now, self.snd.rtt.rto());
                self.snd.recovery.restart_timers(at);
            }
        }
        self.set_cwnd(wanted.cwnd);
        self.set_ssthresh(wanted.ssthresh);
        self.restart_retransmission_timer(now);
    }

    /// Responds to the timeout (RFC 5681 §3.1, equation 4); loss recovery decides what is
    /// retransmitted.
    fn respond_to_timeout(&mut self, now: Instant) {
        self.stats.slow_starts += 1;
        let (before, phase) = (self.snd.flight.before(), self.snd.flight.phase());
        let timed = self.snd.recovery.next_timeout();
        self.snd.recovery.on_retransmission_timeout(now, &mut self.snd.flight);
        self.follow_recovery_timer(now, timed);
        self.begin_undo_state(true, before);
        let again = self.config.f_rto_again && self.snd.retries > 1;
        self.begin_f_rto(phase == Phase::Open || again);
        self.snd.reduced();
    }

    fn persist_timeout(&mut self, now: Instant) {
        if self.snd.held.is_none() {
            self.snd.retries += 1;
            if self.snd.retries > self.config.max_retries {
                self.become_after(Cause::Reset);
                self.end(Event::TimedOut);
                return;
            }
        }
        self.snd.probe_due = true;
        let gap = self.snd.probe_gap;
        let most = self.snd.held.and_then(|h| h.probe).map_or(self.config.persist_max, |p| p.max);
        self.snd.probe_gap = gap.times(2).min(most);
        self.timers.set(Timer::Persist, self.config.clock.deadline(now, self.snd.probe_gap));
    }

    /// Sends a keep-alive: a segment at SND.NXT − 1 without data asks for an acknowledgment (RFC
    /// 9293 §3.8.4).
    fn keep_alive_timeout(&mut self, now: Instant) {
        let Some(idle) = self.config.keep_alive else { return };
        let gap = idle.clamp(LEAST_SPAN, Duration::from_secs(75));
        let silent = now.since(self.heard);
        // MUST-24: none while data is outstanding, when other timers watch the peer.
        let busy = self.snd.flight.outstanding() > 0 || self.snd.held.is_some();
        if busy {
            self.heard = now;
        }
        if busy || silent < idle {
            let left = idle.saturating_sub(now.since(self.heard)).max(LEAST_SPAN);
            self.timers.set(Timer::KeepAlive, now + left);
            return;
        }
        if silent >= idle + gap.times(u64::from(self.config.max_retries)) {
            self.send_reset();
            self.become_after(Cause::Reset);
            self.end(Event::TimedOut);
            return;
        }
        self.snd.keep_alive_due = true;
        self.timers.set(Timer::KeepAlive, now + gap);
    }

    /// Restarts the retransmission timer, or stops it if nothing is outstanding.
    pub(super) fn restart_retransmission_timer(&mut self, now: Instant) {
        let anew = self.config.clock.deadline(now, self.snd.rtt.rto());
        let at = self.snd.recovery.first_deadline().map_or(anew, |first| first.max(now));
        if self.snd.flight.outstanding() > 0 && self.snd.held.is_none() {
            self.timers.set(Timer::Retransmission, at);
        } else {
            self.timers.stop(Timer::Retransmission);
            self.timers.refill(Timer::Retransmission, at.since(now));
        }
    }
}
