//! The view that an aid has of the connection, and its acts on it.

use driftway_base::{
    Act, Done, Instant, Known, ProbeSpacing, RecoveryState, Release, Seq, SeqRange, Setting,
    TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use super::control_block::{Connection, Transmit};
use super::sender::{Held, NextTimeout, initial_window};
use crate::flight::Phase;
use crate::growth::MOST_WINDOW;
use crate::timer::Timer;

/// Maximum number of ranges queued for retransmission by an aid.
const MOST_RESENDS: usize = 64;

impl Connection {
    /// A snapshot of both halves; every field of TCP's is exact.
    pub fn view(&self) -> TcpView {
        let flight = &self.snd.flight;
        let held = self.snd.held.is_some();
        let probing = self.timers.get(Timer::Persist).is_some() || self.snd.probe_due;
        TcpView {
            synchronized: self.state.is_synchronized(),
            mss: Known::Exact(flight.mss()),
            una: Known::Exact(flight.una()),
            nxt: Known::Exact(flight.nxt()),
            max: Known::Exact(flight.max()),
            cwnd: Known::Exact(flight.window.cwnd),
            ssthresh: Known::Exact(flight.window.ssthresh),
            peer_window: Known::Exact(if held { 0 } else { self.snd.wnd }),
            retransmission_deadline: Known::Exact(self.timers.get(Timer::Retransmission)),
            rto: Known::Exact(self.snd.rtt.base_rto()),
            srtt: Known::Exact(self.snd.rtt.srtt()),
            recovery: Known::Exact(match flight.phase() {
                Phase::Open => RecoveryState::Open,
                Phase::Recovery { .. } => RecoveryState::Recovery,
                Phase::Loss { .. } => RecoveryState::Loss,
            }),
            persisting: Known::Exact(held || probing),
            ecn: Known::Exact(self.snd.ecn.on),
            rcv_nxt: Known::Exact(self.rcv.nxt()),
            advertised_window: Known::Exact(self.rcv.window()),
            next_hop: Known::Unknown,
        }
    }

    /// Executes an act of an aid.
    pub fn act(&mut self, now: Instant, act: &Act) -> Done {
        if !self.state.is_synchronized() {
            return Done::Unsupported;
        }
        match *act {
            Act::Hold { probe, step_back, freeze_timers, cwnd, release } => {
                self.hold(now, probe, step_back, freeze_timers, release);
                self.set_cwnd(cwnd);
                Done::Done
            }
            Act::Resume { cwnd, ssthresh, rto } => {
                // A recovery that ended during the hold; the aid's windows are set after it.
                self.snd.flight.end_recovery();
                self.set_cwnd(cwnd);
                self.set_ssthresh(ssthresh);
                match rto {
                    Setting::Keep => {}
                    Setting::Default => self.snd.rtt.restart(None),
                    Setting::Value(rto) => self.snd.rtt.restart(Some(rto)),
                }
                if self.snd.held.is_some() {
                    self.end_hold(now);
                    self.resume_recovery_timers(now);
                }
                Done::Done
            }
            Act::Resend { range, ahead_of_queue } => self.resend(range, ahead_of_queue),
            Act::Undo => {
                self.snd.undo = None;
                let undone = self.snd.flight.undo();
                if undone {
                    self.snd.recovery.on_undo();
                }
                answer(undone)
            }
            Act::Cut => {
                self.snd.flight.cut(now);
                self.snd.undo = None;
                self.snd.reduced();
                Done::Done
            }
            Act::SetTimer { keep_rto, retransmit, cwnd, ssthresh } => {
                self.snd.next_timeout = NextTimeout { keep_rto, retransmit, cwnd, ssthresh };
                Done::Done
            }
            Act::Limit { cwnd } => {
                self.snd.limit = cwnd;
                Done::Done
            }
            Act::Emit { ack, window, copies } => {
                let forged = self.forge_ack(now, ack, window);
                let Some(segment) = forged else { return Done::Unsupported };
                for _ in 0..copies {
                    self.replies.push_back(Transmit { for_aid: true, ..Transmit::of(segment) });
                }
                Done::Done
            }
            // The node sends route probes.
            Act::Seek(_) => Done::Unsupported,
        }
    }

    pub(super) fn set_ssthresh(&mut self, ssthresh: Setting<u32>) {
        match ssthresh {
            Setting::Keep => {}
            Setting::Default => self.snd.flight.window.ssthresh = MOST_WINDOW,
            // RFC 5681 §3.1, equation 4: never below two segments.
            Setting::Value(bytes) => {
                let least = self.snd.flight.mss().saturating_mul(2);
                self.snd.flight.window.ssthresh = bytes.max(least).min(MOST_WINDOW);
            }
        }
    }

    pub(super) fn set_cwnd(&mut self, cwnd: Setting<u32>) {
        let mss = self.snd.flight.mss();
        let before = self.snd.flight.window.cwnd;
        match cwnd {
            Setting::Keep => {}
            Setting::Default => self.snd.flight.window.cwnd = initial_window(&self.config, mss),
            Setting::Value(bytes) => self.snd.flight.window.cwnd = bytes.clamp(mss, MOST_WINDOW),
        }
        self.snd.reductions += u64::from(self.snd.flight.window.cwnd < before);
    }

    fn hold(
        &mut self,
        now: Instant,
        probe: Option<ProbeSpacing>,
        step_back: bool,
        freeze_timers: bool,
        release: Release,
    ) {
        // The probes of an earlier hold end; TCP's own window probes freeze with the other timers.
        if self.snd.held.is_some() || !freeze_timers {
            self.timers.stop(Timer::Persist);
        }
        // Karn: an RTT sample that spans a hold is not a measure of the path; nor is a timestamp
        // echo.
        self.snd.timed = None;
        self.snd.untimed = Some(self.snd.flight.max());
        if freeze_timers {
            self.timers.freeze(now);
        } else {
            // 4.4BSD resets the duplicates when the retransmission timer is off.
            self.snd.flight.forget_duplicates();
        }
        self.timers.stop(Timer::Retransmission);
        self.timers.stop(Timer::Recovery);
        self.timers.stop(Timer::LossProbe);
        self.snd.tail_probe_due = false;
        self.snd.held = Some(Held { release, probe });
        self.snd.flight.pause(now);
        self.snd.probe_due = false;
        self.snd.resend.clear();
        // The aid now owns the window: nothing is restored from before, and a further timeout must
        // not create an undo state that could (RFC 3522 §3.2: RetransmitTS is that of the first
        // retransmission).
        self.snd.undo = None;
        self.snd.flight.forget_before();
        self.end_f_rto();
        if step_back {
            self.snd.flight.step_back(self.config.step_back_guard);
        }
        if let Some(spacing) = probe {
            self.snd.probe_gap = spacing.first;
            let at = self.config.clock.deadline(now, spacing.first);
            self.timers.set(Timer::Persist, at);
        }
    }

    /// Ends a hold: timers restart as for a new transmission, or continue if they were frozen.
    pub(super) fn end_hold(&mut self, now: Instant) {
        if self.snd.held.take().is_none() {
            return;
        }
        self.timers.stop(Timer::Persist);
        self.snd.probe_due = false;
        // During a hold the window could not have been used.
        self.snd.window_use.start_over(now);
        if self.timers.are_frozen() {
            let still = self.timers.thaw(now);
            // Frozen time is neither idle time (RFC 5681 §4.1) nor silence of the peer.
            self.snd.recovery.on_thaw(now, still);
            self.snd.last_sent = (self.snd.last_sent + still).min(now);
            self.heard = (self.heard + still).min(now);
            self.snd.disruption = self.snd.disruption.map(|since| since.later_by(still));
        } else {
            self.snd.retries = 0;
            self.snd.disruption = None;
            self.snd.rtt.end_back_off();
            self.snd.recovery.restart_timers(self.config.clock.deadline(now, self.snd.rtt.rto()));
        }
        let times_segments = self.snd.recovery.times_segments();
        if self.snd.flight.outstanding() == 0 {
            self.timers.stop(Timer::Retransmission);
        } else if times_segments || self.timers.get(Timer::Retransmission).is_none() {
            self.restart_retransmission_timer(now);
        }
    }

    fn resend(&mut self, range: SeqRange, ahead_of_queue: bool) -> Done {
        let flight = &self.snd.flight;
        let range = SeqRange::new(range.start.max(flight.una()), range.end.min(flight.max()));
        if range.is_empty() || self.snd.resend.len() >= MOST_RESENDS {
            return Done::Unsupported;
        }
        self.snd.resend.push_back((range, ahead_of_queue));
        Done::Done
    }

    /// An acknowledgment built at an aid's request. It may repeat or hold back, but never
    /// acknowledges data that has not arrived (liu-singh-2001 §III-B), nor advertises more than is
    /// advertised already.
    fn forge_ack(&self, now: Instant, ack: Seq, window: u32) -> Option<TcpSegment> {
        if ack.after(self.rcv.nxt()) {
            return None;
        }
        let mut segment = self.bare(TcpFlags::ACK);
        segment.ack = ack;
        segment.window = self.window_field(window.min(self.rcv.edge().since(ack)));
        segment.options.timestamps = self.own_timestamps(now);
        Some(segment)
    }
}

fn answer(done: bool) -> Done {
    if done { Done::Done } else { Done::Unsupported }
}
