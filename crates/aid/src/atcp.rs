//! ATCP: TCP for mobile ad hoc networks (Liu & Singh, IEEE JSAC 19(7), 2001).
//!
//! A thin layer between TCP and IP at the sender. It tells loss (keep the window, retransmit for
//! TCP, which is put in persist mode meanwhile) from congestion (leave TCP alone) and from
//! partition (persist mode until a probe gets through, then slow start). Its functions in the
//! paper are the methods of [`Protocol`] here: `atcp_input()` is `on_up` (Fig. 5), `atcp_output()` is
//! `on_down` (Fig. 6), `atcp_slowtimo()` and `atcp_timers()` are `on_timeout` (Fig. 4),
//! `atcp_notify()` is `on_signal`. The states and what moves it between them are [`State`] and
//! [`Cause`]; what the text leaves open is an option in [`AtcpOptions`].
//!
//! It takes part where liu-singh-2001 §III-A lets it begin, with the established connection: there
//! RFC 793's synchronized states begin ([`Machine`]).
//!
//! ATCP never acknowledges anything and never makes up a segment: what goes up came from the
//! network, or is dropped (§III-B).
//!
//! It needs from its driver:
//! - Holding a TCP that is held already changes the hold. That is how the loss state becomes
//!   disconnected without TCP sending in between.
//! - What TCP sends for [`Act::Resend`] is not shown to `on_down`: it is ATCP's own.
//! - Signals of this connection only ([`Signal::concerns`]).
//! - SND.UNA, SND.NXT or the highest number sent, and whether TCP persists. Without
//!   [`TcpView::retransmission_deadline`] it does not see timeouts coming.
//!
//! It was made for a TCP without SACK (§III-C). One that finds losses by the amount of data reported
//! beyond a hole (RFC 6675) need not wait for the third duplicate: after a loss state that swallowed
//! duplicates, the next one reports enough, TCP retransmits by itself, and halves its window. On
//! figure 8 that costs about three quarters more time than over Reno or NewReno.
//!
//! Not modelled: the reordering of Table I, which no other part of the paper describes (what it
//! measures in §V-D is the third duplicate not reaching TCP), and the fast timer, which §IV only
//! names.

mod options;
mod state;
#[cfg(test)]
mod test;

use driftway_base::{
    Act, ActResult, Assign, Duration, Instant, ProbeSpacing, Release, SeqRange, Signal, SignalKind,
    TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::Verdict;
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

/// The longest timeout of ATCP's own retransmission timer, that of 4.4BSD.
const MAX_TIMEOUT: Duration = Duration::from_secs(64);

/// ATCP to one connection. Its timer is the next tick.
#[derive(Clone, Debug)]
pub struct Atcp {
    options: AtcpOptions,
    /// The driver holds TCP until ATCP asks it to resume.
    holds_tcp: bool,
    /// Counted in all states, because TCP counts in all.
    duplicates: DuplicateAcks,
    loss_state: LossState,
    /// TCP's window of before the loss state, to be given back when TCP has taken the segment.
    cwnd_to_restore: Option<u32>,
}

/// What the loss state keeps.
#[derive(Clone, Copy, Debug, Default)]
struct LossState {
    /// TCP's congestion window at the start, if it is known (bytes).
    asnd_cwnd: Option<u32>,
    /// at_timer: when ATCP retransmits again.
    deadline: Instant,
    timeout: Duration,
}

impl Atcp {
    /// To a new connection.
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

    /// liu-singh-2001 §IV, atcp_timers() and the third duplicate in atcp_input().
    fn enter_loss(&mut self, cx: &mut Context<'_, State>, cause: Transition) {
        let Context { now, view, .. } = *cx;
        let rto = view.rto.value().unwrap_or(DEFAULT_RTO);
        // RFC 6298 §5.5: where a timeout brought us here, the retransmission timer has expired
        // once already.
        let timeout = if cause == Transition::TimeoutImminent { self.backed_off(rto) } else { rto };
        let asnd_cwnd = view.cwnd.value();
        self.loss_state = LossState { asnd_cwnd, deadline: now + timeout, timeout };
        cx.request(Act::Hold {
            probe: None,
            rewind_snd_nxt: false,
            freeze_timers: false,
            cwnd: Assign::Keep,
            release: Release::Resume,
        });
        self.transmit_unacknowledged(cx);
        self.arm_tick(cx);
    }

    /// liu-singh-2001 §IV, atcp_notify().
    fn disconnect(&self, cx: &mut Context<'_, State>) {
        let AtcpOptions { persist_min, persist_max, .. } = self.options;
        cx.request(Act::Hold {
            probe: Some(ProbeSpacing::new(persist_min, persist_max.max(persist_min))),
            // The BSD that the paper changed goes back to SND.UNA when the peer's window closes.
            rewind_snd_nxt: self.options.pull_back,
            freeze_timers: false,
            cwnd: Assign::Value(cx.view.mss.value().unwrap_or(DEFAULT_MSS)),
            release: Release::AnyAck,
        });
    }

    fn transmit_unacknowledged(&self, cx: &mut Context<'_, State>) {
        let Some(outstanding) = cx.view.outstanding() else { return };
        let segment = cx.view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
        let bytes = match self.options.resend {
            LossRetransmission::First => segment,
            // liu-singh-2001 §IV: asnd_cwnd stands in for snd_cwnd; as there, a window below one
            // segment still lets one go.
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

    /// Asks for the first tick after `now`, unless one is asked for.
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
            // At the end of time there is no next tick.
            *cx.timer = (next > now).then_some(next);
        }
    }

    /// TCP is on its own from here on: ATCP without its acts would only swallow acknowledgments.
    fn disable(&mut self, cx: &mut Context<'_, State>) {
        self.transition(cx, Transition::Unsupported);
        cx.disable();
        if self.holds_tcp {
            cx.request(resume(Assign::Keep));
        }
    }
}

/// liu-singh-2001 §IV: ATCP's window, where it is larger than TCP's.
fn larger_cwnd(asnd_cwnd: Option<u32>, view: &TcpView) -> Assign<u32> {
    match (asnd_cwnd, view.cwnd.value()) {
        (Some(asnd_cwnd), Some(cwnd)) if asnd_cwnd > cwnd => Assign::Value(asnd_cwnd),
        _ => Assign::Keep,
    }
}

fn is_persisting(view: &TcpView) -> bool {
    view.is_persisting.value() == Some(true)
}

/// One byte at SND.UNA (4.4BSD), or none just before it (Linux).
fn is_probe(segment: &TcpSegment, view: &TcpView) -> bool {
    let control = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
    !segment.flags.intersects(control)
        && view.snd_una.value().is_some_and(|una| match segment.payload.len {
            0 => segment.seq + 1 == una,
            1 => segment.seq == una,
            _ => false,
        })
}

/// Does this segment show that TCP is out of persist mode? liu-singh-2001 §IV leaves the
/// disconnected state at any segment but a probe, because only a TCP that is out of persist mode
/// would send one. An acknowledgment of the peer's data, or a reset, shows no such thing: TCP sends
/// both in persist mode too, and to leave at them would end the disconnected state of every two-way
/// flow at once. So they count only where the view says that TCP is out of it, and otherwise
/// nothing counts but more data than a probe has.
fn shows_leaving_persist(segment: &TcpSegment, view: &TcpView) -> bool {
    view.is_persisting.value() == Some(false) || segment.payload.len > 1
}

impl Protocol for Atcp {
    type State = State;
    const NAME: &'static str = AtcpOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, cause: Transition) {
        match (from, cx.state()) {
            (_, State::Loss) => self.enter_loss(cx, cause),
            (_, State::Disconnected) => self.disconnect(cx),
            // liu-singh-2001 §IV: the congestion window ends up as the larger of TCP's and ATCP's.
            (State::Loss, State::Normal) => match self.options.restore {
                CwndRestoreTime::Before => {
                    cx.request(resume(larger_cwnd(self.loss_state.asnd_cwnd, cx.view)))
                }
                CwndRestoreTime::After => {
                    self.cwnd_to_restore = self.loss_state.asnd_cwnd;
                    cx.request(resume(Assign::Keep));
                }
            },
            // TCP reduces the window that it has: nothing is given back here.
            (State::Loss, State::Congested) => cx.request(resume(Assign::Keep)),
            // liu-singh-2001 §III-A: the normal and the congested state do nothing by themselves,
            // and TCP has left the persist mode of the disconnected state already.
            _ => {}
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
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
            // liu-singh-2001 §IV: no probes in loss. This is for drivers that can't keep TCP from
            // sending them. A TCP that a driver has taken out of persist mode by itself sends none: what
            // looks like one is the only byte that it has to send again.
            State::Loss if is_probe(segment, view) && view.is_persisting.value() != Some(false) => {
                return Verdict::Drop;
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
        Verdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let view = cx.view;
        // On SYNs, ECE speaks of what the peer can do (RFC 3168 §6.1.1), and the window is not
        // scaled. Resets are TCP's to judge.
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) {
            return Verdict::Pass;
        }
        let acknowledgment = self.duplicates.classify(segment, view);
        let echo = segment.flags.contains(TcpFlags::ECE);
        let ends_loss = cx.state() == State::Loss && acknowledgment == AckKind::New;
        let echo_later = echo && ends_loss && self.options.echo == EchoOrder::AfterAck;
        // liu-singh-2001 §IV: atcp_input() looks at the ECN bit first.
        if echo && !echo_later {
            self.transition(cx, Transition::CongestionEcho);
        }
        self.duplicates.record_window(segment);
        match (cx.state(), acknowledgment) {
            // The driver resumes TCP before it hands the segment on, as atcp_input() does.
            (State::Loss, AckKind::New) => {
                self.transition(cx, Transition::NewAck);
                if echo_later {
                    self.transition(cx, Transition::CongestionEcho);
                }
            }
            // A TCP that is held does not count those that it is shown.
            (State::Loss, AckKind::Duplicate) => {
                return match self.options.duplicates {
                    WithheldDuplicates::All => Verdict::Drop,
                    WithheldDuplicates::Third => Verdict::Pass,
                };
            }
            (State::Loss, AckKind::Other)
                if self.options.leave_loss == LossExit::AckOrData
                    && Self::is_new_data(segment, view) =>
            {
                self.transition(cx, Transition::NewData);
            }
            // In persist mode of TCP's own accord, duplicates are the answers to its probes.
            (State::Normal, AckKind::Duplicate) if is_persisting(view) => {}
            (State::Normal, AckKind::Duplicate) => {
                // Beyond the threshold TCP has already responded, in the congested state.
                if self.duplicates.count_for(segment.ack) == DUPLICATE_THRESHOLD - 1 {
                    self.transition(cx, Transition::ThirdDuplicate);
                    return Verdict::Drop;
                }
                self.duplicates.record(segment.ack);
            }
            (_, AckKind::Duplicate) => self.duplicates.record(segment.ack),
            _ => {}
        }
        Verdict::Pass
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
                // Each probe into a partition draws one more of these; holding again would start
                // the spacing of probes over. Unless an acknowledgment that was still under way
                // has released TCP.
                if cx.state() != State::Disconnected {
                    self.transition(cx, Transition::Unreachable);
                } else if cx.view.is_persisting.value() == Some(false) {
                    self.disconnect(cx);
                }
            }
            SignalKind::SourceQuench => self.transition(cx, Transition::SourceQuench),
            SignalKind::EcnEcho => self.transition(cx, Transition::CongestionEcho),
            // What is not in the paper means nothing to ATCP.
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
            // All was acknowledged, by what ATCP was not shown.
            State::Loss if view.outstanding().is_none() => self.transition(cx, Transition::NewAck),
            // In 4.4BSD a timer of n ticks goes off at the n-th tick: between n − 1 and n of them
            // later, which is the same rule as for TCP's.
            State::Loss if self.is_due_before_next_tick(now, self.loss_state.deadline) => {
                self.loss_state.timeout = self.backed_off(self.loss_state.timeout);
                self.loss_state.deadline = now + self.loss_state.timeout;
                self.transmit_unacknowledged(cx);
            }
            State::Loss | State::Congested | State::Disconnected => {}
        }
        // An idle connection is left in peace; the next segment down starts the ticks again.
        if cx.state() == State::Loss || deadline.is_some() {
            self.arm_tick(cx);
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            (Act::Hold { release, .. }, ActResult::Done) => {
                self.holds_tcp = *release == Release::Resume;
            }
            // A TCP that can't be resumed is not held.
            (Act::Resume { .. }, _) => self.holds_tcp = false,
            (Act::Hold { .. }, ActResult::Unsupported) => self.disable(cx),
            (Act::Resend { .. }, ActResult::Unsupported) if cx.state() == State::Loss => {
                self.disable(cx);
            }
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        // Nobody is left to be resumed.
        self.holds_tcp = false;
        self.cwnd_to_restore = None;
    }
}
