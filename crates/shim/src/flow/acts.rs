//! The spoofing driver of aids: shows them what passes, and does what they ask for.
//!
//! In one packet the order is: what it says is noted; the aid sees it, with the view of before; its
//! acts are done; what becomes of the packet is decided. What the local TCP sends goes another way
//! round: it is put among what is in flight first, because no act can take it back. What the shim
//! keeps from the network while TCP is held, TCP has not sent in the eyes of the aid.

use alloc::boxed::Box;
use core::fmt;

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, ActResult, Instant, Release, RouteProbe, Seq, SeqRange, Assign, Signal, SignalKind, TcpView,
};
use driftway_wire::TcpSegment;

use super::view::aid_segment;
use super::{Context, Flow, HoldMode, State};
use crate::counts::{PacketDisposition, DiscardReason};
use crate::packet::Segment;

/// Acts that are done for one event at most.
const ACTS_MAX: usize = 64;

/// The aid to a connection.
pub(crate) struct ConnectionAid(pub Box<dyn Aid>);

impl fmt::Debug for ConnectionAid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.name(), self.0.state())
    }
}

/// Acknowledgments that the aid wants to leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedAcks {
    pub ack: Seq,
    /// The window field.
    pub window: u16,
    pub copies: u8,
}

impl Flow {
    /// Shows the handshake to the aid, as far as it was seen: what both ends offered.
    pub fn opened(&mut self, now: Instant, ours: &TcpSegment, theirs: &Segment) {
        let view = TcpView::default();
        self.aid.0.on_down(now, ours, &view);
        if theirs.has_flags(driftway_wire::TcpFlags::SYN) {
            self.aid.0.on_up(now, &aid_segment(theirs), &view);
        }
    }

    /// The network, or this host, says something about this flow.
    pub fn on_signal(&mut self, cx: &mut Context<'_>, signal: &Signal) {
        let alone = matches!(self.state, State::Disconnected(_)) && self.retransmission_queue.is_empty();
        let view = self.view();
        self.aid.0.on_signal(cx.now, signal, &view);
        self.perform_acts(cx, None);
        self.record_icmp_report(cx.now, signal);
        if signal.kind == SignalKind::RouteRestored {
            let announces = alone && !self.is_disconnected();
            self.announcements_left = if announces { self.announcement_count() } else { 0 };
        }
    }

    /// It is time for the aid.
    pub(super) fn wake_aid(&mut self, cx: &mut Context<'_>) {
        if self.aid.0.next_timeout().is_some_and(|at| at <= cx.now) {
            let view = self.view();
            self.aid.0.on_timeout(cx.now, &view);
            self.perform_acts(cx, None);
        }
    }

    /// The aid sees what the local TCP has sent, and `fate` is to become of; `view` is of before.
    pub(super) fn pass_down_to_aid(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        view: &TcpView,
        fate: PacketDisposition,
        packet: &mut [u8],
    ) -> PacketDisposition {
        let held = matches!(self.state, State::Disconnected(_));
        match fate {
            // A TCP that is held has not sent it.
            PacketDisposition::Pass if held && !segment.range().is_empty() => return fate,
            PacketDisposition::Pass => {}
            // It waits behind others, or is on its way once more already; a TCP that is not held has
            // sent it nevertheless.
            PacketDisposition::Stored | PacketDisposition::Discarded(DiscardReason::RetransmissionInRepair) if !held => {}
            PacketDisposition::Stored | PacketDisposition::Untouched(_) | PacketDisposition::Discarded(_) => return fate,
        }
        let seen = aid_segment(segment);
        let verdict = self.aid.0.on_down(cx.now, &seen, view);
        self.perform_acts(cx, None);
        match verdict {
            Verdict::Drop if fate == PacketDisposition::Pass => PacketDisposition::Discarded(DiscardReason::ByAid),
            verdict => {
                if fate == PacketDisposition::Pass {
                    self.apply_verdict(cx, verdict, segment, &seen, packet);
                }
                fate
            }
        }
    }

    /// The aid sees what the peer sends.
    pub(super) fn pass_up_to_aid(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        view: &TcpView,
        packet: &mut [u8],
    ) -> Verdict {
        let seen = aid_segment(segment);
        let verdict = self.aid.0.on_up(cx.now, &seen, view);
        self.undo_with_segment = false;
        self.perform_acts(cx, Some(segment));
        self.apply_verdict(cx, verdict, segment, &seen, packet);
        verdict
    }

    /// Of what an aid can replace a segment by, only a smaller window is done: there is no other that
    /// could not acknowledge, or lose, what is none of its business.
    fn apply_verdict(
        &mut self,
        cx: &mut Context<'_>,
        verdict: Verdict,
        segment: &Segment,
        seen: &TcpSegment,
        packet: &mut [u8],
    ) {
        match verdict {
            Verdict::Pass | Verdict::Drop => {}
            Verdict::Replace(TcpSegment { window, .. })
                if window <= seen.window
                    && verdict == Verdict::Replace(TcpSegment { window, ..*seen }) =>
            {
                segment.set_window(packet, window);
            }
            Verdict::Replace(_) | Verdict::Hold => {
                cx.counts.refused_verdict += 1;
                self.counts.refused += 1;
            }
        }
    }

    /// Does what the aid wants done. `pending` is what has just arrived.
    fn perform_acts(&mut self, cx: &mut Context<'_>, pending: Option<&Segment>) {
        for _ in 0..ACTS_MAX {
            let Some(act) = self.aid.0.poll_act() else { return };
            let done = self.perform_act(cx, &act, pending);
            if done == ActResult::Unsupported {
                cx.counts.count_refusal(&act);
                self.counts.refused += 1;
            }
            let view = self.view();
            self.aid.0.on_done(cx.now, &act, done, &view);
        }
    }

    /// Does what an aid wants done, as far as it can be done from below. See the crate's table.
    pub(super) fn perform_act(
        &mut self,
        cx: &mut Context<'_>,
        act: &Act,
        pending: Option<&Segment>,
    ) -> ActResult {
        match *act {
            // Timers of the local TCP run on, whatever is asked for; what they did is undone.
            Act::Hold { probe, rewind_snd_nxt: step_back, freeze_timers: _, cwnd, release } => {
                let Some(keeps) = self.keeps_window(cwnd) else { return ActResult::Unsupported };
                let outage = probe.is_some() || step_back;
                let probe = self.probe_spacing(cx, probe);
                let any_ack = release == Release::AnyAck;
                self.hold_tcp(cx, HoldMode { is_outage: outage, probe_spacing: probe, step_back, keep_window: keeps, any_ack });
                ActResult::Done
            }
            Act::Resume { cwnd, ssthresh, rto } => {
                let keeps = self.keeps_window(cwnd);
                let resumed = self.resume(cx, keeps.unwrap_or(true));
                let rest = ssthresh == Assign::Keep && !matches!(rto, Assign::Value(_));
                done_if(resumed && keeps.is_some() && rest)
            }
            Act::Resend { range, ahead_of_queue: _ } => done_if(self.resend(cx, range)),
            Act::Undo => done_if(self.request_undo(pending)),
            Act::ReduceCwnd => {
                self.echo_congestion = self.negotiated.ecn;
                if self.echo_congestion {
                    self.congestion_until = Some(self.retransmission_queue.max);
                }
                done_if(self.echo_congestion)
            }
            Act::SendAcks { ack, window, copies } => done_if(self.emit(ack, window, copies)),
            // A host's routes do not wait for a packet to be looked for.
            Act::ProbeRoute(RouteProbe::Repeated | RouteProbe::Off) => ActResult::Done,
            Act::SetTimeoutResponse { .. } | Act::LimitCwnd { .. } | Act::ProbeRoute(RouteProbe::Single) => ActResult::Unsupported,
        }
    }

    /// Is the local TCP to have the window that it had? Otherwise it has what its timeouts have left
    /// it: one segment. Nothing else can be had.
    fn keeps_window(&self, cwnd: Assign<u32>) -> Option<bool> {
        match cwnd {
            Assign::Keep => Some(true),
            Assign::Initial => Some(false),
            Assign::Value(bytes) => {
                let one = self.negotiated.mss.is_none_or(|mss| bytes <= mss.into());
                one.then_some(false)
            }
        }
    }

    /// Sends originals again, ahead of all that waits.
    fn resend(&mut self, cx: &mut Context<'_>, range: SeqRange) -> bool {
        let (una, max) = (self.retransmission_queue.una, self.retransmission_queue.max);
        let range = SeqRange::new(range.start.max(una), range.end.min(max).max(una));
        if range.is_empty() || range.start.after(range.end) || !self.retransmission_queue.resend(range) {
            return false;
        }
        if matches!(self.state, State::Open) && !self.is_queueing {
            self.pace_waiting(cx, self.retransmission_queue.outstanding());
        }
        if matches!(self.state, State::Disconnected(_)) {
            self.resend_while_held = true;
            self.is_queueing = true;
            self.next_send = cx.now;
        }
        true
    }

    /// Is what the local TCP did for a loss taken back? With `pending`, which covers what it has sent
    /// again, at once: then that gets the echo of the original. Otherwise as soon as there is one, or
    /// with the end of the outage. Not while congestion is echoed (RFC 4015 §3), nor for what could
    /// not have been marked.
    fn request_undo(&mut self, pending: Option<&Segment>) -> bool {
        if self.congestion_until.is_some() {
            return false;
        }
        match self.state {
            State::Resuming(outage, _) => outage.hold.keep_window,
            State::Disconnected(outage) if outage.again => outage.hold.keep_window,
            State::Open | State::Disconnected(_) => match pending {
                Some(segment) => {
                    let capable = self.retransmission_queue.first_retransmitted_is_ecn_capable(segment.ack).unwrap_or(true);
                    self.undo_with_segment = capable && segment.ack.after(self.retransmission_queue.una);
                    self.undo_with_segment
                }
                None => {
                    let Some(episode) = &mut self.loss_episode else { return false };
                    episode.undo_wanted = true;
                    true
                }
            },
        }
    }

    /// An acknowledgment made up for the peer: of nothing that the local TCP has not acknowledged, and
    /// without a promise beyond its window.
    fn emit(&mut self, ack: Seq, window: u32, copies: u8) -> bool {
        if ack.after(self.local.ack) || self.requested_acks.is_some() {
            return false;
        }
        let field = u16::try_from(window >> self.negotiated.window_shift).unwrap_or(u16::MAX);
        let window = field.min(self.local.window);
        self.requested_acks = (copies > 0).then_some(RequestedAcks { ack, window, copies });
        true
    }
}

fn done_if(done: bool) -> ActResult {
    if done { ActResult::Done } else { ActResult::Unsupported }
}
