//! The view that an aid has of the connection, and its acts on it.

use driftway_base::{
    Act, ActResult, Assign, HeldTimers, Instant, Known, ProbeSpacing, RecoveryState, Release, Seq,
    SeqRange, TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use super::control_block::{Connection, Transmit};
use super::sender::{Hold, TimeoutOverride, initial_window};
use crate::congestion::MAX_WINDOW;
use crate::send_state::RecoveryPhase;
use crate::timer::Timer;

/// Maximum number of ranges queued for retransmission by an aid.
const MAX_AID_RETRANSMISSIONS: usize = 64;

impl Connection {
    /// A snapshot of both halves; every field of TCP's is exact.
    pub fn view(&self) -> TcpView {
        let send = &self.snd.send_state;
        let held = self.snd.hold.is_some();
        let probing = self.timers.deadline(Timer::Persist).is_some() || self.snd.window_probe_due;
        TcpView {
            is_synchronized: self.state.is_synchronized(),
            mss: Known::Exact(send.mss()),
            snd_una: Known::Exact(send.una()),
            snd_nxt: Known::Exact(send.nxt()),
            snd_max: Known::Exact(send.max()),
            cwnd: Known::Exact(send.cwnd()),
            ssthresh: Known::Exact(send.ssthresh()),
            peer_window: Known::Exact(if held { 0 } else { self.snd.wnd }),
            retransmission_deadline: Known::Exact(self.timers.deadline(Timer::Retransmission)),
            rto: Known::Exact(self.snd.rtt.base_rto()),
            srtt: Known::Exact(self.snd.rtt.srtt()),
            recovery: Known::Exact(match send.phase() {
                RecoveryPhase::Open => RecoveryState::Open,
                RecoveryPhase::Recovery { .. } => RecoveryState::Recovery,
                RecoveryPhase::Loss { .. } => RecoveryState::Loss,
            }),
            is_persisting: Known::Exact(held || probing),
            is_ecn_negotiated: Known::Exact(self.snd.ecn.negotiated),
            rcv_nxt: Known::Exact(self.rcv.nxt()),
            advertised_window: Known::Exact(self.rcv.window()),
            next_hop_power: Known::Unknown,
        }
    }

    /// Executes an act of an aid.
    pub fn act(&mut self, now: Instant, act: &Act) -> ActResult {
        if !self.state.is_synchronized() {
            return ActResult::Unsupported;
        }
        match *act {
            Act::Hold { probe, rewind_snd_nxt, timers, cwnd, release } => {
                self.hold(now, probe, rewind_snd_nxt, timers, release);
                self.set_cwnd(cwnd);
                self.report_assignment(now, cwnd);
                ActResult::Done
            }
            Act::Resume { cwnd, ssthresh, rto } => {
                // A recovery that ended during the hold; the aid's windows are set after it.
                self.snd.send_state.complete_prr();
                self.set_cwnd(cwnd);
                self.set_ssthresh(ssthresh);
                self.report_assignment(now, cwnd);
                match rto {
                    Assign::Keep => {}
                    Assign::Initial => self.snd.rtt.reset(None),
                    Assign::Value(rto) => self.snd.rtt.reset(Some(rto)),
                }
                if self.snd.hold.is_some() {
                    self.end_hold(now);
                    self.resume_recovery_timers(now);
                }
                ActResult::Done
            }
            Act::Resend { range, ahead_of_queue } => {
                self.queue_aid_retransmission(range, ahead_of_queue)
            }
            Act::Undo => {
                self.snd.undo_state = None;
                done_or_unsupported(self.snd.send_state.undo())
            }
            Act::ReduceCwnd => {
                self.snd.send_state.reduce_for_aid(now);
                self.snd.undo_state = None;
                self.snd.on_cwnd_reduced();
                ActResult::Done
            }
            Act::SetTimeoutResponse { keep_rto, retransmit, cwnd, ssthresh } => {
                self.snd.timeout_override =
                    TimeoutOverride { keep_rto, retransmit, cwnd, ssthresh };
                ActResult::Done
            }
            Act::LimitCwnd { cwnd } => {
                self.snd.aid_cwnd_limit = cwnd;
                ActResult::Done
            }
            Act::SendAcks { ack, window, copies } => {
                let forged = self.forge_ack(now, ack, window);
                let Some(segment) = forged else { return ActResult::Unsupported };
                for _ in 0..copies {
                    self.replies
                        .push_back(Transmit { requested_by_aid: true, ..Transmit::plain(segment) });
                }
                ActResult::Done
            }
            // The node sends route probes.
            Act::ProbeRoute(_) => ActResult::Unsupported,
        }
    }

    pub(super) fn set_ssthresh(&mut self, ssthresh: Assign<u32>) {
        let send = &mut self.snd.send_state;
        let bytes = match ssthresh {
            Assign::Keep => return,
            Assign::Initial => MAX_WINDOW,
            Assign::Value(bytes) => bytes,
        };
        send.congestion.assign_ssthresh(bytes, send.mss());
    }

    pub(super) fn set_cwnd(&mut self, cwnd: Assign<u32>) {
        let send = &mut self.snd.send_state;
        let (mss, before) = (send.mss(), send.cwnd());
        let bytes = match cwnd {
            Assign::Keep => return,
            Assign::Initial => initial_window(&self.config, mss),
            Assign::Value(bytes) => bytes,
        };
        send.congestion.assign_cwnd(bytes, mss);
        self.snd.cwnd_reductions += u64::from(send.cwnd() < before);
    }

    /// Reports an assignment of cwnd to the congestion control.
    pub(super) fn report_assignment(&mut self, now: Instant, cwnd: Assign<u32>) {
        if cwnd != Assign::Keep {
            self.snd.send_state.congestion.on_assigned(now, cwnd == Assign::Initial);
        }
    }

    fn hold(
        &mut self,
        now: Instant,
        probe: Option<ProbeSpacing>,
        step_back: bool,
        timers: HeldTimers,
        release: Release,
    ) {
        // The probes of an earlier hold end; TCP's own window probes freeze with the other timers.
        if self.snd.hold.is_some() || timers != HeldTimers::Freeze {
            self.timers.stop(Timer::Persist);
        }
        // Karn: an RTT sample that spans a hold is not a measure of the path; nor is a timestamp
        // echo.
        self.snd.timed_segment = None;
        self.snd.no_sample_until = Some(self.snd.send_state.max());
        if timers == HeldTimers::Freeze {
            self.timers.freeze(now);
        } else {
            // 4.4BSD resets the duplicates when the retransmission timer is off.
            self.snd.send_state.reset_dup_acks();
        }
        if timers != HeldTimers::KeepRetransmission {
            self.timers.stop(Timer::Retransmission);
        }
        self.timers.stop(Timer::Recovery);
        self.timers.stop(Timer::LossProbe);
        self.snd.tail_probe_due = false;
        self.snd.hold = Some(Hold { release, probe, timers });
        self.snd.send_state.congestion.on_pause(now);
        // Samples that span a hold are no measure of the path.
        self.snd.send_state.on_app_limited();
        self.snd.window_probe_due = false;
        self.snd.aid_retransmissions.clear();
        // The aid now owns the window: nothing is restored from before, and a further timeout must
        // not create an undo state that could (RFC 3522 §3.2: RetransmitTS is that of the first
        // retransmission).
        self.snd.undo_state = None;
        self.snd.send_state.congestion.forget_prior_window();
        self.end_f_rto();
        if step_back {
            self.snd.send_state.rewind_nxt(self.config.step_back_guard);
        }
        if let Some(spacing) = probe {
            self.snd.probe_interval = spacing.first;
            let at = self.config.clock.deadline(now, spacing.first);
            self.timers.set(Timer::Persist, at);
        }
    }

    /// Ends a hold: timers restart as for a new transmission, or continue if they were frozen.
    pub(super) fn end_hold(&mut self, now: Instant) {
        let Some(held) = self.snd.hold.take() else { return };
        self.timers.stop(Timer::Persist);
        self.snd.window_probe_due = false;
        // During a hold the window could not have been used.
        self.snd.cwnd_usage.restart(now);
        if self.timers.are_frozen() {
            let frozen_for = self.timers.thaw(now);
            // Frozen time is neither idle time (RFC 5681 §4.1) nor silence of the peer.
            self.snd.recovery.on_thaw(now, frozen_for);
            self.snd.send_state.on_thaw(now, frozen_for);
            self.snd.last_sent = (self.snd.last_sent + frozen_for).min(now);
            self.last_received = (self.last_received + frozen_for).min(now);
            self.snd.disruption = self.snd.disruption.map(|since| since.postponed_by(frozen_for));
        } else if held.timers != HeldTimers::KeepRetransmission {
            self.snd.retries = 0;
            self.snd.disruption = None;
            self.snd.rtt.clear_back_off();
            self.snd
                .recovery
                .restart_segment_timers(self.config.clock.deadline(now, self.snd.rtt.rto()));
        }
        let times_segments = self.snd.recovery.has_segment_timers();
        if self.snd.send_state.outstanding() == 0 {
            self.timers.stop(Timer::Retransmission);
        } else if times_segments || self.timers.deadline(Timer::Retransmission).is_none() {
            self.restart_retransmission_timer(now);
        }
    }

    /// Retransmits the newest segment, as if an aid requested it.
    pub(super) fn retransmit_newest(&mut self) {
        let (max, mss) = (self.snd.send_state.max(), self.snd.send_state.mss());
        self.queue_aid_retransmission(SeqRange::new(max - mss, max), false);
    }

    fn queue_aid_retransmission(&mut self, range: SeqRange, ahead_of_queue: bool) -> ActResult {
        let send = &self.snd.send_state;
        let range = SeqRange::new(range.start.max(send.una()), range.end.min(send.max()));
        if range.is_empty() || self.snd.aid_retransmissions.len() >= MAX_AID_RETRANSMISSIONS {
            return ActResult::Unsupported;
        }
        self.snd.aid_retransmissions.push_back((range, ahead_of_queue));
        ActResult::Done
    }

    /// An acknowledgment built at an aid's request. It may repeat or hold back, but never
    /// acknowledges data that has not arrived (liu-singh-2001 §III-B), nor advertises more than is
    /// advertised already.
    fn forge_ack(&self, now: Instant, ack: Seq, window: u32) -> Option<TcpSegment> {
        if ack.after(self.rcv.nxt()) {
            return None;
        }
        let mut segment = self.header_only_segment(TcpFlags::ACK);
        segment.ack = ack;
        segment.window = self.window_field(window.min(self.rcv.right_edge().since(ack)));
        segment.options.timestamps = self.own_timestamps(now);
        Some(segment)
    }
}

fn done_or_unsupported(done: bool) -> ActResult {
    if done { ActResult::Done } else { ActResult::Unsupported }
}
