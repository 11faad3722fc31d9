//! ATCP: TCP for mobile ad hoc networks (Liu & Singh, IEEE JSAC 19(7), 2001).
//!
//! A layer between TCP and IP at the sender. It distinguishes loss (ATCP retransmits while TCP is in persist
//! mode, and the window is kept), congestion (TCP responds by itself) and partition (persist mode until a
//! probe is answered, then slow start). The functions of the paper are methods of [`Protocol`]:
//! `atcp_input()` is `on_up` (Fig. 5), `atcp_output()` is `on_down` (Fig. 6), `atcp_slowtimo()` and
//! `atcp_timers()` are `on_timeout` (Fig. 4), `atcp_notify()` is `on_signal`. States and transitions are
//! [`State`] and [`Transition`]; what the paper leaves open is an option in [`AtcpOptions`].
//!
//! ATCP is active while the connection is established (§III-A), which is in RFC 793's synchronized states
//! ([`Machine`]).
//!
//! ATCP never acknowledges data and never creates a segment: incoming segments are passed or dropped
//! (§III-B).
//!
//! Driver requirements:
//! - A hold of a TCP that is already held replaces the first one. The loss state becomes disconnected this
//!   way, without TCP sending in between.
//! - Segments sent for [`Act::Resend`] are not shown to `on_down`.
//! - Signals of this connection only ([`Signal::concerns`]).
//! - SND.UNA, SND.NXT or SND.MAX, and whether TCP is in persist mode. Without
//!   [`TcpView::retransmission_deadline`] ATCP does not detect imminent timeouts.
//!
//! ATCP was designed for a TCP without SACK (§III-C). A TCP that detects losses by the amount of SACKed data
//! (RFC 6675) does not wait for the third duplicate: after a loss state that dropped duplicates, the next
//! duplicate reports enough, so that TCP retransmits and halves its window. In Fig. 8 this takes about three
//! quarters more time than over Reno or NewReno.
//!
//! Not modelled: the reordering of Table I, which the rest of the paper does not describe (§V-D measures that
//! the third duplicate does not reach TCP), and the fast timer, which §IV only mentions.

mod description;
mod options;
mod state;
#[cfg(test)]
mod test;

use driftway_base::{
    Act, ActResult, Assign, Duration, HeldTimers, Instant, ProbeSpacing, Release, SeqRange, Signal,
    SignalKind, TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::SegmentVerdict;
use crate::kit::{
    AckKind, Context, DEFAULT_MSS, DEFAULT_RTO, DUPLICATE_THRESHOLD, DuplicateAcks, Machine,
    Protocol, resume,
};
use crate::options::AidOptions;
pub use options::{
    AtcpOptions, CongestedExit, CwndRestoreTime, EchoOrder, LossExit, LossRetransmission,
    QueuePosition, WithheldDuplicates,
};
pub use state::{State, Transition};

/// Maximum timeout of ATCP's retransmission timer, that of 4.4BSD.
const MAX_TIMEOUT: Duration = Duration::from_secs(64);

/// ATCP for one connection. Its timer is the next tick.
#[derive(Clone, Debug)]
pub struct Atcp {
    options: AtcpOptions,
    /// The driver holds TCP until ATCP requests a resume.
    holds_tcp: bool,
    /// Counted in all states, as TCP does.
    duplicates: DuplicateAcks,
    loss_state: LossState,
    /// TCP's congestion window before the loss state, to be restored when TCP has processed the segment.
    cwnd_to_restore: Option<u32>,
}

/// Variables of the loss state.
#[derive(Clone, Copy, Debug, Default)]
struct LossState {
    /// TCP's congestion window at the beginning, if known (bytes).
    asnd_cwnd: Option<u32>,
    /// at_timer: time of ATCP's next retransmission.
    deadline: Instant,
    timeout: Duration,
}

impl Atcp {
    /// Creates the aid for a new connection.
    pub fn new(options: AtcpOptions) -> Machine<Self> {
        let tick = options.tick.max(AtcpOptions::MIN_TICK);
        Machine::new(Self {
            options: AtcpOptions { tick, ..options },
            holds_tcp: false,
            duplicates: DuplicateAcks::default(),
            loss_state: LossState::default(),
            cwnd_to_restore: None,
        })
    }

    /// Enters the loss state (liu-singh-2001 §IV, atcp_timers(), and the third duplicate in atcp_input()).
    fn enter_loss(&mut self, cx: &mut Context<'_, State>, transition: Transition) {
        let Context { now, view, .. } = *cx;
        let rto = view.rto.value().unwrap_or(DEFAULT_RTO);
        // RFC 6298 §5.5: an imminent timeout counts as the first expiry of the retransmission timer.
        let timeout =
            if transition == Transition::TimeoutImminent { self.backed_off(rto) } else { rto };
        let asnd_cwnd = view.cwnd.value();
        self.loss_state = LossState { asnd_cwnd, deadline: now + timeout, timeout };
        cx.request(Act::Hold {
            probe: None,
            rewind_snd_nxt: false,
            timers: HeldTimers::Stop,
            cwnd: Assign::Keep,
            release: Release::Resume,
        });
        self.transmit_unacknowledged(cx);
        self.arm_tick(cx);
    }

    /// Enters the disconnected state (liu-singh-2001 §IV, atcp_notify()).
    fn disconnect(&self, cx: &mut Context<'_, State>) {
        let AtcpOptions { persist_min, persist_max, .. } = self.options;
        cx.request(Act::Hold {
            probe: Some(ProbeSpacing::new(persist_min, persist_max.max(persist_min))),
            // The 4.4BSD modified in the paper sets SND.NXT back to SND.UNA when the peer's window closes.
            rewind_snd_nxt: self.options.pull_back,
            timers: HeldTimers::Stop,
            cwnd: Assign::Value(cx.view.mss.value().unwrap_or(DEFAULT_MSS)),
            release: Release::AnyAck,
        });
    }

    fn transmit_unacknowledged(&self, cx: &mut Context<'_, State>) {
        let Some(outstanding) = cx.view.outstanding() else { return };
        let segment = cx.view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
        let bytes = match self.options.resend {
            LossRetransmission::First => segment,
            // liu-singh-2001 §IV: asnd_cwnd takes the place of snd_cwnd; as in TCP, at least one segment is
            // sent.
            LossRetransmission::All => self.loss_state.asnd_cwnd.unwrap_or(0).max(segment),
        };
        let end = outstanding.start + bytes.min(outstanding.len());
        cx.request(Act::Resend {
            range: SeqRange::new(outstanding.start, end),
            ahead_of_queue: self.options.retransmission == QueuePosition::Ahead,
        });
    }

    fn backed_off(&self, timeout: Duration) -> Duration {
        if self.options.backoff { timeout.times(2).min(MAX_TIMEOUT) } else { timeout }
    }

    fn is_new_data(segment: &TcpSegment, view: &TcpView) -> bool {
        let ends_after = |rcv_nxt| segment.end().after(rcv_nxt);
        !segment.payload.is_empty() && view.rcv_nxt.value().is_none_or(ends_after)
    }

    fn is_due_before_next_tick(&self, now: Instant, deadline: Instant) -> bool {
        deadline < now + self.options.tick
    }

    /// Starts the timer for the first tick after `now`, unless it is running.
    fn arm_tick(&self, cx: &mut Context<'_, State>) {
        let now = cx.now;
        if cx.timer.is_none() {
            let AtcpOptions { tick, tick_phase, .. } = self.options;
            let first = Instant::ZERO + tick_phase;
            let next = if now < first {
                first
            } else {
                let passed = now.since(first).as_nanos() / tick.as_nanos().max(1);
                first + tick.times(passed.saturating_add(1))
            };
            // There is no tick after the latest instant.
            *cx.timer = (next > now).then_some(next);
        }
    }

    /// Leaves TCP unassisted: without its acts, ATCP would only drop acknowledgments.
    fn disable(&mut self, cx: &mut Context<'_, State>) {
        self.transition(cx, Transition::Unsupported);
        cx.disable();
        if self.holds_tcp {
            cx.request(resume(Assign::Keep));
        }
    }
}

/// ATCP's window if it is larger than TCP's (liu-singh-2001 §IV).
fn larger_cwnd(asnd_cwnd: Option<u32>, view: &TcpView) -> Assign<u32> {
    match (asnd_cwnd, view.cwnd.value()) {
        (Some(asnd_cwnd), Some(cwnd)) if asnd_cwnd > cwnd => Assign::Value(asnd_cwnd),
        _ => Assign::Keep,
    }
}

fn is_persisting(view: &TcpView) -> bool {
    view.is_persisting.value() == Some(true)
}

/// A window probe: one byte at SND.UNA (4.4BSD), or none at SND.UNA − 1 (Linux).
fn is_probe(segment: &TcpSegment, view: &TcpView) -> bool {
    let control = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
    !segment.flags.intersects(control)
        && view.snd_una.value().is_some_and(|una| match segment.payload.len {
            0 => segment.seq + 1 == una,
            1 => segment.seq == una,
            _ => false,
        })
}

/// Returns true if the segment shows that TCP has left persist mode. liu-singh-2001 §IV leaves the
/// disconnected state at any segment but a probe, because only a TCP outside persist mode would send it.
/// However, TCP also sends acknowledgments of the peer's data and resets in persist mode; leaving the state
/// for these would end it immediately in every two-way flow. They count only if the view shows that TCP is
/// not in persist mode; otherwise only segments with more data than a probe count.
fn shows_leaving_persist(segment: &TcpSegment, view: &TcpView) -> bool {
    view.is_persisting.value() == Some(false) || segment.payload.len > 1
}

impl Protocol for Atcp {
    type State = State;
    const NAME: &'static str = AtcpOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, transition: Transition) {
        match (from, cx.state()) {
            (_, State::Loss) => self.enter_loss(cx, transition),
            (_, State::Disconnected) => self.disconnect(cx),
            // liu-singh-2001 §IV: the congestion window becomes the larger of TCP's and ATCP's.
            (State::Loss, State::Normal) => match self.options.restore {
                CwndRestoreTime::Before => {
                    cx.request(resume(larger_cwnd(self.loss_state.asnd_cwnd, cx.view)))
                }
                CwndRestoreTime::After => {
                    self.cwnd_to_restore = self.loss_state.asnd_cwnd;
                    cx.request(resume(Assign::Keep));
                }
            },
            // TCP reduces its present window; no window is restored.
            (State::Loss, State::Congested) => cx.request(resume(Assign::Keep)),
            // liu-singh-2001 §III-A: entering the normal or the congested state has no action, and TCP has
            // already left the persist mode of the disconnected state.
            _ => {}
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let view = cx.view;
        match cx.state() {
            State::Normal => {}
            State::Congested => {
                let is_new = match self.options.congested_until {
                    CongestedExit::Segment => true,
                    CongestedExit::NewData => {
                        view.snd_max.value().is_none_or(|max| segment.end().after(max))
                    }
                };
                if is_new {
                    self.transition(cx, Transition::TcpSends);
                }
            }
            // liu-singh-2001 §IV: no probes in the loss state. This applies to drivers that cannot suppress
            // them. A TCP that its driver has taken out of persist mode sends no probes; such a segment is
            // then a retransmission of a single byte.
            State::Loss if is_probe(segment, view) && view.is_persisting.value() != Some(false) => {
                return SegmentVerdict::Drop;
            }
            State::Loss => {}
            State::Disconnected => {
                if shows_leaving_persist(segment, view) {
                    self.transition(cx, Transition::TcpLeavesPersist);
                }
            }
        }
        if segment.sequence_len() > 0 {
            self.arm_tick(cx);
        }
        SegmentVerdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let view = cx.view;
        // On SYNs, ECE announces ECN capability (RFC 3168 §6.1.1), and the window is unscaled. Resets are
        // left to TCP.
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) {
            return SegmentVerdict::Pass;
        }
        let acknowledgment = self.duplicates.classify(segment, view);
        let echo = segment.flags.contains(TcpFlags::ECE);
        let ends_loss = cx.state() == State::Loss && acknowledgment == AckKind::New;
        let echo_later = echo && ends_loss && self.options.echo == EchoOrder::AfterAck;
        // liu-singh-2001 §IV: atcp_input() examines the ECN bit first.
        if echo && !echo_later {
            self.transition(cx, Transition::CongestionEcho);
        }
        self.duplicates.record_window(segment);
        match (cx.state(), acknowledgment) {
            // The driver resumes TCP before it delivers the segment, as atcp_input() does.
            (State::Loss, AckKind::New) => {
                self.transition(cx, Transition::NewAck);
                if echo_later {
                    self.transition(cx, Transition::CongestionEcho);
                }
            }
            // A held TCP does not count duplicates.
            (State::Loss, AckKind::Duplicate) => {
                return match self.options.duplicates {
                    WithheldDuplicates::All => SegmentVerdict::Drop,
                    WithheldDuplicates::Third => SegmentVerdict::Pass,
                };
            }
            (State::Loss, AckKind::Other)
                if self.options.leave_loss == LossExit::AckOrData
                    && Self::is_new_data(segment, view) =>
            {
                self.transition(cx, Transition::NewData);
            }
            // If TCP is in persist mode by itself, duplicates are answers to its probes.
            (State::Normal, AckKind::Duplicate) if is_persisting(view) => {}
            (State::Normal, AckKind::Duplicate) => {
                // Beyond the threshold, TCP has already responded in the congested state.
                if self.duplicates.count_for(segment.ack) == DUPLICATE_THRESHOLD - 1 {
                    self.transition(cx, Transition::ThirdDuplicate);
                    return SegmentVerdict::Drop;
                }
                self.duplicates.record(segment.ack);
            }
            (_, AckKind::Duplicate) => self.duplicates.record(segment.ack),
            _ => {}
        }
        SegmentVerdict::Pass
    }

    fn on_processed(&mut self, cx: &mut Context<'_, State>) {
        match larger_cwnd(self.cwnd_to_restore.take(), cx.view) {
            Assign::Keep => {}
            cwnd => cx.request(resume(cwnd)),
        }
    }

    fn wants_taken(&self) -> bool {
        self.cwnd_to_restore.is_some()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::Unreachable(_) => {
                // Each probe into a partition causes another error; a new hold would restart the probe
                // intervals. It is needed only if a late acknowledgment has released TCP.
                if cx.state() != State::Disconnected {
                    self.transition(cx, Transition::Unreachable);
                } else if cx.view.is_persisting.value() == Some(false) {
                    self.disconnect(cx);
                }
            }
            SignalKind::SourceQuench => self.transition(cx, Transition::SourceQuench),
            SignalKind::EcnEcho => self.transition(cx, Transition::CongestionEcho),
            // ATCP ignores signals that are not in the paper.
            _ => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if !cx.take_expired_timer() {
            return;
        }
        let Context { now, view, .. } = *cx;
        let deadline = view.retransmission_deadline.value().flatten();
        match cx.state() {
            State::Normal => {
                let about_to_expire =
                    deadline.is_some_and(|deadline| self.is_due_before_next_tick(now, deadline));
                if about_to_expire && view.outstanding().is_some() {
                    self.transition(cx, Transition::TimeoutImminent);
                }
            }
            // All data was acknowledged by segments that ATCP did not see.
            State::Loss if view.outstanding().is_none() => self.transition(cx, Transition::NewAck),
            // In 4.4BSD a timer of n ticks expires at the n-th tick, between n − 1 and n ticks later. The
            // same rule applies to TCP's timer above.
            State::Loss if self.is_due_before_next_tick(now, self.loss_state.deadline) => {
                self.loss_state.timeout = self.backed_off(self.loss_state.timeout);
                self.loss_state.deadline = now + self.loss_state.timeout;
                self.transmit_unacknowledged(cx);
            }
            State::Loss | State::Congested | State::Disconnected => {}
        }
        // No ticks for an idle connection; the next outgoing segment restarts them.
        if cx.state() == State::Loss || deadline.is_some() {
            self.arm_tick(cx);
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            (Act::Hold { release, .. }, ActResult::Done) => {
                self.holds_tcp = *release == Release::Resume;
            }
            // A TCP that cannot be resumed is not held.
            (Act::Resume { .. }, _) => self.holds_tcp = false,
            (Act::Hold { .. }, ActResult::Unsupported) => self.disable(cx),
            (Act::Resend { .. }, ActResult::Unsupported) if cx.state() == State::Loss => {
                self.disable(cx);
            }
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        // There is no TCP left to resume.
        self.holds_tcp = false;
        self.cwnd_to_restore = None;
    }
}
