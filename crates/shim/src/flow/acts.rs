//! The driver of an aid below a foreign TCP: passes segments to the aid, and performs its acts.
//!
//! For one packet of the peer the order is: record its state; pass it to the aid, with the view
//! before it; perform the acts; decide on the disposition. A segment of the local TCP enters the
//! retransmission queue first, because no act can revoke it. Segments stored during a hold count as
//! unsent in the aid's view.

use alloc::boxed::Box;
use core::fmt;

use driftway_aid::{Aid, Verdict};
use driftway_base::{
    Act, Done, Instant, Release, Seek, Seq, SeqRange, Setting, Signal, SignalKind, TcpView,
};
use driftway_wire::TcpSegment;

use super::view::seen;
use super::{Context, Flow, Held, State};
use crate::counts::{Fate, Swallowed};
use crate::packet::Segment;

/// Maximum number of acts for one event.
const ACTS_MAX: usize = 64;

/// The aid to one connection.
pub(crate) struct Aided(pub Box<dyn Aid>);

impl fmt::Debug for Aided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.name(), self.0.state())
    }
}

/// Acknowledgments requested by the aid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Emitted {
    pub ack: Seq,
    /// Window field.
    pub window: u16,
    pub copies: u8,
}

impl Flow {
    /// Passes the handshake to the aid, as far as it was seen.
    pub fn opened(&mut self, now: Instant, ours: &TcpSegment, theirs: &Segment) {
        let view = TcpView::default();
        self.aid.0.on_down(now, ours, &view);
        if theirs.has(driftway_wire::TcpFlags::SYN) {
            self.aid.0.on_up(now, &seen(theirs), &view);
        }
    }

    /// Processes a signal about this flow.
    pub fn on_signal(&mut self, cx: &mut Context<'_>, signal: &Signal) {
        let alone = matches!(self.state, State::Disconnected(_)) && self.flight.is_empty();
        let view = self.view();
        self.aid.0.on_signal(cx.now, signal, &view);
        self.do_acts(cx, None);
        self.note_report(cx.now, signal);
        if signal.kind == SignalKind::RouteRestored {
            let announces = alone && !self.is_disconnected();
            self.announces = if announces { self.announcements() } else { 0 };
        }
    }

    /// Runs the aid's timer if it is due.
    pub(super) fn wake_aid(&mut self, cx: &mut Context<'_>) {
        if self.aid.0.next_timeout().is_some_and(|at| at <= cx.now) {
            let view = self.view();
            self.aid.0.on_timeout(cx.now, &view);
            self.do_acts(cx, None);
        }
    }

    /// Passes a segment of the local TCP to the aid. `disposition` is the one decided so far,
    /// `view` the view before the segment.
    pub(super) fn show_down(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        view: &TcpView,
        fate: Fate,
        packet: &mut [u8],
    ) -> Fate {
        let held = matches!(self.state, State::Disconnected(_));
        match fate {
            // A held TCP counts as not having sent it.
            Fate::Pass if held && !segment.range().is_empty() => return fate,
            Fate::Pass => {}
            // It waits in the queue, or was already retransmitted; a TCP that is not held has sent
            // it.
            Fate::Stored | Fate::Swallowed(Swallowed::RetransmissionInRepair) if !held => {}
            Fate::Stored | Fate::Untouched(_) | Fate::Swallowed(_) => return fate,
        }
        let seen = seen(segment);
        let verdict = self.aid.0.on_down(cx.now, &seen, view);
        self.do_acts(cx, None);
        match verdict {
            Verdict::Drop if fate == Fate::Pass => Fate::Swallowed(Swallowed::ByAid),
            verdict => {
                if fate == Fate::Pass {
                    self.change(cx, verdict, segment, &seen, packet);
                }
                fate
            }
        }
    }

    /// Passes a segment of the peer to the aid.
    pub(super) fn show_up(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        view: &TcpView,
        packet: &mut [u8],
    ) -> Verdict {
        let seen = seen(segment);
        let verdict = self.aid.0.on_up(cx.now, &seen, view);
        self.undoes = false;
        self.do_acts(cx, Some(segment));
        self.change(cx, verdict, segment, &seen, packet);
        verdict
    }

    /// Applies the aid's verdict. The only replacement supported is a smaller window: any other
    /// could acknowledge or lose data.
    fn change(
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
                self.tally.refused += 1;
            }
        }
    }

    /// Performs the aid's acts. `pending` is the segment that has just arrived.
    fn do_acts(&mut self, cx: &mut Context<'_>, pending: Option<&Segment>) {
        for _ in 0..ACTS_MAX {
            let Some(act) = self.aid.0.poll_act() else { return };
            let done = self.act(cx, &act, pending);
            if done == Done::Unsupported {
                cx.counts.refuse(&act);
                self.tally.refused += 1;
            }
            let view = self.view();
            self.aid.0.on_done(cx.now, &act, done, &view);
        }
    }

    /// Performs one act as far as possible from below; see the crate's table.
    pub(super) fn act(
        &mut self,
        cx: &mut Context<'_>,
        act: &Act,
        pending: Option<&Segment>,
    ) -> Done {
        match *act {
            // The local TCP's timers run on in any case; their effects are undone.
            Act::Hold { probe, step_back, freeze_timers: _, cwnd, release } => {
                let Some(keeps) = self.keeps(cwnd) else { return Done::Unsupported };
                let outage = probe.is_some() || step_back;
                let probe = self.spacing_of_probes(cx, probe);
                let any_ack = release == Release::AnyAck;
                self.hold_tcp(cx, Held { outage, probe, step_back, keeps, any_ack });
                Done::Done
            }
            Act::Resume { cwnd, ssthresh, rto } => {
                let keeps = self.keeps(cwnd);
                let resumed = self.resume(cx, keeps.unwrap_or(true));
                let rest = ssthresh == Setting::Keep && !matches!(rto, Setting::Value(_));
                answer(resumed && keeps.is_some() && rest)
            }
            Act::Resend { range, ahead_of_queue: _ } => answer(self.resend(cx, range)),
            Act::Undo => answer(self.may_undo(pending)),
            Act::Cut => {
                self.cuts = self.agreed.ecn;
                if self.cuts {
                    self.congested = Some(self.flight.max);
                }
                answer(self.cuts)
            }
            Act::Emit { ack, window, copies } => answer(self.emit(ack, window, copies)),
            // A host's routes are not discovered on demand.
            Act::Seek(Seek::Route | Seek::Nothing) => Done::Done,
            Act::SetTimer { .. } | Act::Limit { .. } | Act::Seek(Seek::Echo) => Done::Unsupported,
        }
    }

    /// Returns whether this window is the previous one. The only other one possible is that left by
    /// a timeout: one segment. `None`: not supported.
    fn keeps(&self, cwnd: Setting<u32>) -> Option<bool> {
        match cwnd {
            Setting::Keep => Some(true),
            Setting::Default => Some(false),
            Setting::Value(bytes) => {
                let one = self.agreed.mss.is_none_or(|mss| bytes <= mss.into());
                one.then_some(false)
            }
        }
    }

    /// Queues originals for retransmission ahead of all waiting segments.
    fn resend(&mut self, cx: &mut Context<'_>, range: SeqRange) -> bool {
        let (una, max) = (self.flight.una, self.flight.max);
        let range = SeqRange::new(range.start.max(una), range.end.min(max).max(una));
        if range.is_empty() || range.start.after(range.end) || !self.flight.resend(range) {
            return false;
        }
        if matches!(self.state, State::Open) && !self.queueing {
            self.spread(cx, self.flight.outstanding());
        }
        if matches!(self.state, State::Disconnected(_)) {
            self.resends = true;
            self.queueing = true;
            self.next_send = cx.now;
        }
        true
    }

    /// Requests that the local TCP's reduction be undone. If `pending` acknowledges a
    /// retransmission, at once, by the original's timestamp; otherwise with the next such
    /// acknowledgment, or at the end of the outage. Refused while congestion is echoed (RFC 4015
    /// §3), and for segments that could not have been marked.
    fn may_undo(&mut self, pending: Option<&Segment>) -> bool {
        if self.congested.is_some() {
            return false;
        }
        match self.state {
            State::Resuming(outage, _) => outage.held.keeps,
            State::Disconnected(outage) if outage.again => outage.held.keeps,
            State::Open | State::Disconnected(_) => match pending {
                Some(segment) => {
                    let capable = self.flight.resent_before(segment.ack).unwrap_or(true);
                    self.undoes = capable && segment.ack.after(self.flight.una);
                    self.undoes
                }
                None => {
                    let Some(episode) = &mut self.episode else { return false };
                    episode.wanted = true;
                    true
                }
            },
        }
    }

    /// Requests synthetic acknowledgments for the peer, not beyond what the local TCP has
    /// acknowledged, and not beyond its window.
    fn emit(&mut self, ack: Seq, window: u32, copies: u8) -> bool {
        if ack.after(self.ours.ack) || self.emits.is_some() {
            return false;
        }
        let field = u16::try_from(window >> self.agreed.shift).unwrap_or(u16::MAX);
        let window = field.min(self.ours.window);
        self.emits = (copies > 0).then_some(Emitted { ack, window, copies });
        true
    }
}

fn answer(done: bool) -> Done {
    if done { Done::Done } else { Done::Unsupported }
}
