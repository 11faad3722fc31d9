//! The driver of an aid below a foreign TCP: passes segments to the aid, and performs its acts.
//!
//! For one packet of the peer the order is: record its state; pass it to the aid, with the view
//! before it; perform the acts; decide on the action. A segment of the local TCP enters the
//! retransmission queue first, because no act can revoke it. Segments stored during a hold count as
//! unsent in the aid's view.

use alloc::boxed::Box;
use core::fmt;

use driftway_aid::{Aid, SegmentVerdict};
use driftway_base::{
    Act, ActResult, Assign, Instant, Release, RouteProbe, Seq, SeqRange, Signal, SignalKind,
    TcpView,
};
use driftway_wire::TcpSegment;

use super::view::aid_segment;
use super::{Context, Flow, HoldMode, State};
use crate::counts::{DiscardReason, PacketAction};
use crate::packet::{EditableBytes, Segment};

/// Maximum number of acts for one event.
const ACTS_MAX: usize = 64;

/// The aid to one connection.
pub(crate) struct ConnectionAid(pub Box<dyn Aid>);

impl fmt::Debug for ConnectionAid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.name(), self.0.state())
    }
}

/// Maximum number of requests for acknowledgments that wait to be sent.
const REQUESTED_ACKS_MAX: usize = 8;

/// Acknowledgments requested by the aid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedAcks {
    pub ack: Seq,
    /// Window field.
    pub window: u16,
    pub copies: u8,
}

impl Flow {
    /// Passes the handshake to the aid, as far as it was seen.
    pub fn opened(&mut self, now: Instant, ours: &TcpSegment, their_syn: Option<&Segment>) {
        let view = TcpView::default();
        self.aid.0.on_down(now, ours, &view);
        if let Some(theirs) = their_syn {
            self.aid.0.on_up(now, &aid_segment(theirs), &view);
        }
    }

    /// Processes a signal about this flow.
    pub fn on_signal(&mut self, cx: &mut Context<'_>, signal: &Signal) {
        let alone =
            matches!(self.state, State::Disconnected(_)) && self.retransmission_queue.is_empty();
        self.record_link_signal(cx, signal.kind);
        let view = self.view();
        self.aid.0.on_signal(cx.now, signal, &view);
        self.perform_acts(cx, None);
        self.record_icmp_report(cx.now, signal);
        if signal.kind == SignalKind::RouteRestored {
            // An aid for receivers sends acknowledgments of its own.
            let announces = alone && !self.is_disconnected() && self.requested_acks.is_empty();
            self.announcements_left = if announces { self.announcement_count() } else { 0 };
        }
    }

    /// Runs the aid's timer if it is due.
    pub(super) fn wake_aid(&mut self, cx: &mut Context<'_>) {
        if self.aid.0.next_timeout().is_some_and(|at| at <= cx.now) {
            let view = self.view();
            self.aid.0.on_timeout(cx.now, &view);
            self.perform_acts(cx, None);
        }
    }

    /// Passes a segment of the local TCP to the aid. `action` is the one decided so far,
    /// `view` the view before the segment.
    pub(super) fn pass_down_to_aid(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        view: &TcpView,
        action: PacketAction,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        let held = matches!(self.state, State::Disconnected(_));
        match action {
            // A held TCP counts as not having sent it.
            PacketAction::Pass if held && !segment.range().is_empty() => return action,
            PacketAction::Pass | PacketAction::Edited => {}
            // It waits in the queue, or was already retransmitted; a TCP that is not held has sent
            // it.
            PacketAction::Stored
            | PacketAction::Discarded(DiscardReason::RetransmissionInRepair)
                if !held => {}
            PacketAction::Stored | PacketAction::Untouched(_) | PacketAction::Discarded(_) => {
                return action;
            }
        }
        let seen = aid_segment(segment);
        let verdict = self.aid.0.on_down(cx.now, &seen, view);
        self.perform_acts(cx, None);
        if cx.is_copy {
            return action;
        }
        self.apply_verdict_on_outgoing(cx, verdict, segment, &seen, action, packet)
    }

    /// Applies the aid's verdict on a segment of the local TCP. Supported are a lower acknowledgment
    /// number and a smaller window: neither acknowledges nor loses data.
    fn apply_verdict_on_outgoing(
        &mut self,
        cx: &mut Context<'_>,
        verdict: SegmentVerdict,
        segment: &Segment,
        seen: &TcpSegment,
        action: PacketAction,
        packet: &mut EditableBytes<'_>,
    ) -> PacketAction {
        match verdict {
            SegmentVerdict::Pass => self.lift_ack_limit(),
            SegmentVerdict::Replace(TcpSegment { ack, window, .. })
                if ack.at_or_before(seen.ack)
                    && window <= seen.window
                    && verdict == SegmentVerdict::Replace(TcpSegment { ack, window, ..*seen }) =>
            {
                let window = self.limit_ack(cx, seen, ack, window);
                // A stored segment gets both when it is sent.
                if action == PacketAction::Pass {
                    segment.set_window(packet, window);
                }
            }
            SegmentVerdict::Drop if action == PacketAction::Pass => {
                // The local TCP does not repeat its acknowledgment.
                if segment.range().is_empty() {
                    self.limit_ack(cx, seen, self.ack_limit.sent_ack, seen.window);
                }
                return PacketAction::Discarded(DiscardReason::ByAid);
            }
            SegmentVerdict::Drop => {}
            SegmentVerdict::Replace(_) | SegmentVerdict::Hold => {
                self.lift_ack_limit();
                if action == PacketAction::Pass {
                    cx.counts.refused_verdict += 1;
                    self.counts.refused += 1;
                }
            }
        }
        action
    }

    /// Passes a segment of the peer to the aid.
    pub(super) fn pass_up_to_aid(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        view: &TcpView,
        packet: &mut EditableBytes<'_>,
    ) -> SegmentVerdict {
        let seen = aid_segment(segment);
        let verdict = self.aid.0.on_up(cx.now, &seen, view);
        self.undo_with_segment = false;
        self.perform_acts(cx, Some(segment));
        let decisions = self.aid.0.loss_decisions();
        cx.counts.loss_decisions.add_difference(&self.loss_decisions, &decisions);
        self.loss_decisions = decisions;
        self.apply_verdict_on_incoming(cx, verdict, segment, &seen, packet);
        verdict
    }

    /// Applies the aid's verdict on a segment of the peer. The only replacement supported is a
    /// smaller window: any other could acknowledge or lose data.
    fn apply_verdict_on_incoming(
        &mut self,
        cx: &mut Context<'_>,
        verdict: SegmentVerdict,
        segment: &Segment,
        seen: &TcpSegment,
        packet: &mut EditableBytes<'_>,
    ) {
        match verdict {
            SegmentVerdict::Pass | SegmentVerdict::Drop => {}
            SegmentVerdict::Replace(TcpSegment { window, .. })
                if window <= seen.window
                    && verdict == SegmentVerdict::Replace(TcpSegment { window, ..*seen }) =>
            {
                segment.set_window(packet, window);
            }
            SegmentVerdict::Replace(_) | SegmentVerdict::Hold => {
                cx.counts.refused_verdict += 1;
                self.counts.refused += 1;
            }
        }
    }

    /// Performs the aid's acts. `pending` is the segment that has just arrived.
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

    /// Performs one act as far as possible from below; see the crate's table.
    pub(super) fn perform_act(
        &mut self,
        cx: &mut Context<'_>,
        act: &Act,
        pending: Option<&Segment>,
    ) -> ActResult {
        match *act {
            // The local TCP's timers run on in any case; their effects are undone.
            Act::Hold { probe, rewind_snd_nxt, timers: _, cwnd, release } => {
                let Some(keep_window) = self.keeps_window(cwnd) else {
                    return ActResult::Unsupported;
                };
                let outage = probe.is_some() || rewind_snd_nxt;
                let probe_spacing = self.probe_spacing(cx, probe);
                let any_ack = release == Release::AnyAck;
                self.hold_tcp(
                    cx,
                    HoldMode {
                        is_outage: outage,
                        probe_spacing,
                        step_back: rewind_snd_nxt,
                        keep_window,
                        any_ack,
                    },
                );
                ActResult::Done
            }
            Act::Resume { cwnd, ssthresh, rto } => {
                let keep_window = self.keeps_window(cwnd);
                let resumed = self.resume(cx, keep_window.unwrap_or(true));
                let rest = ssthresh == Assign::Keep && !matches!(rto, Assign::Value(_));
                done_if(resumed && keep_window.is_some() && rest)
            }
            Act::Resend { range, ahead_of_queue: _ } => done_if(self.resend(cx, range)),
            // The local TCP already has the segment of a copy.
            Act::Undo => done_if(!(cx.is_copy && pending.is_some()) && self.request_undo(pending)),
            Act::ReduceCwnd => {
                self.echo_congestion = self.negotiated.ecn;
                if self.echo_congestion {
                    self.congestion_until = Some(self.retransmission_queue.max);
                }
                done_if(self.echo_congestion)
            }
            Act::SendAcks { ack, window, copies } => done_if(self.emit(ack, window, copies)),
            // A host's routes are not discovered on demand.
            Act::ProbeRoute(RouteProbe::Repeated | RouteProbe::Off) => ActResult::Done,
            Act::SetTimeoutResponse { .. }
            | Act::LimitCwnd { .. }
            | Act::ProbeRoute(RouteProbe::Single) => ActResult::Unsupported,
        }
    }

    /// Returns whether this window is the previous one. The only other one possible is that left by
    /// a timeout: one segment. `None`: not supported.
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

    /// Queues originals for retransmission ahead of all waiting segments.
    fn resend(&mut self, cx: &mut Context<'_>, range: SeqRange) -> bool {
        let (una, max) = (self.retransmission_queue.una, self.retransmission_queue.max);
        let range = SeqRange::new(range.start.max(una), range.end.min(max).max(una));
        if range.is_empty()
            || range.start.after(range.end)
            || !self.retransmission_queue.resend(range)
        {
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

    /// Requests that the local TCP's reduction be undone. If `pending` acknowledges a
    /// retransmission, at once, by the original's timestamp; otherwise with the next such
    /// acknowledgment, or at the end of the outage. Refused while congestion is echoed (RFC 4015
    /// §3), and for segments that could not have been marked.
    fn request_undo(&mut self, pending: Option<&Segment>) -> bool {
        if self.congestion_until.is_some() {
            return false;
        }
        match self.state {
            State::Resuming(outage, _) => outage.hold.keep_window,
            State::Disconnected(outage) if outage.again => outage.hold.keep_window,
            State::Open | State::Disconnected(_) => match pending {
                Some(segment) => {
                    let capable = self
                        .retransmission_queue
                        .first_retransmitted_is_ecn_capable(segment.ack)
                        .unwrap_or(true);
                    self.undo_with_segment =
                        capable && segment.ack.after(self.retransmission_queue.una);
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

    /// Requests synthetic acknowledgments for the peer, not beyond what the local TCP has
    /// acknowledged, and not beyond its window. They are sent in the order of the requests; one
    /// that is lower than what the peer has seen is raised to it.
    fn emit(&mut self, ack: Seq, window: u32, copies: u8) -> bool {
        if ack.after(self.local.ack) || self.requested_acks.len() >= REQUESTED_ACKS_MAX {
            return false;
        }
        let field = u16::try_from(window >> self.negotiated.window_shift).unwrap_or(u16::MAX);
        let window = field.min(self.local.window);
        if copies > 0 {
            self.requested_acks.push_back(RequestedAcks { ack, window, copies });
        }
        true
    }
}

fn done_if(done: bool) -> ActResult {
    if done { ActResult::Done } else { ActResult::Unsupported }
}
