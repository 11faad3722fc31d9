//! ATCP: TCP for mobile ad hoc networks (Liu & Singh, IEEE JSAC 19(7), 2001).
//!
//! A thin layer between TCP and IP at the sender. It tells loss (keep the window, retransmit for
//! TCP, which is put in persist mode meanwhile) from congestion (leave TCP alone) and from
//! partition (persist mode until a probe gets through, then slow start). Its functions in the
//! paper are the methods of [`Aid`] here: `atcp_input()` is `on_up` (Fig. 5), `atcp_output()` is
//! `on_down` (Fig. 6), `atcp_slowtimo()` and `atcp_timers()` are `on_timeout` (Fig. 4),
//! `atcp_notify()` is `on_signal`. The states and what moves it between them are [`State`] and
//! [`Cause`]; what the text leaves open is an option in [`AtcpOptions`].
//!
//! ATCP never acknowledges anything and never makes up a segment: what goes up came from the
//! network, or is dropped (§III-B).
//!
//! It needs from its driver:
//! - Holding a TCP that is held already changes the hold. That is how the loss state becomes
//!   disconnected without TCP sending in between.
//! - What TCP sends for [`Act::Resend`] is not shown to `on_down`: it is ATCP's own.
//! - Signals of this connection only; where the quoted ports or sequence number are known, they
//!   are checked here again (RFC 5927 §4).
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

use base::{
    Act, Done, Duration, Instant, ProbeSpacing, Release, Seq, SeqRange, Setting, Signal,
    SignalKind, TcpView,
};
use wire::{TcpFlags, TcpSegment};

use crate::{Aid, Verdict};
pub use options::{AtcpOptions, CongestedUntil, LeaveLoss, Resend, Retransmission};
pub use state::{Cause, State, diagram};

/// tcp_rexmtthresh: the duplicate acknowledgment at which TCP retransmits (RFC 5681 §3.2).
const DUPLICATE_THRESHOLD: u32 = 3;
/// Where the view does not know the segment size (RFC 9293 §3.7.1, MUST-15).
const DEFAULT_MSS: u32 = 536;
/// Where the view does not know the retransmission timeout (RFC 6298 §2.1).
const DEFAULT_RTO: Duration = Duration::from_secs(1);
/// The longest timeout of ATCP's own retransmission timer, that of 4.4BSD.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(64);

/// ATCP to one connection.
#[derive(Clone, Debug)]
pub struct Atcp {
    options: AtcpOptions,
    state: State,
    /// The driver can't do what ATCP asks for, so TCP is on its own for good.
    stepped_aside: bool,
    /// The driver holds TCP until ATCP asks it to resume.
    holds_tcp: bool,
    /// Ours and the peer's.
    ports: Option<(u16, u16)>,
    duplicates: Duplicates,
    loss: Loss,
    next_tick: Option<Instant>,
    hold_or_resume: Option<Act>,
    resend: Option<Act>,
}

/// The duplicate acknowledgments that TCP has seen, so that ATCP knows which one TCP would take
/// for the third. Those that are swallowed do not count: TCP did not see them. They need not be in
/// a row (RFC 5681 §3.2), and are counted in all states, because TCP counts in all.
#[derive(Clone, Copy, Debug, Default)]
struct Duplicates {
    /// SND.UNA when they came.
    of: Seq,
    passed: u32,
    /// The window field of the last acknowledgment.
    window: Option<u16>,
}

/// What the loss state keeps.
#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    /// TCP's congestion window at the start, if it is known (bytes).
    asnd_cwnd: Option<u32>,
    /// at_timer: when ATCP retransmits again.
    deadline: Instant,
    timeout: Duration,
}

/// What an acknowledgment is to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledgment {
    New,
    Duplicate,
    Other,
}

impl Atcp {
    /// To a new connection.
    pub fn new(options: AtcpOptions) -> Self {
        let tick = options.tick.max(AtcpOptions::MIN_TICK);
        Self {
            options: AtcpOptions { tick, ..options },
            state: State::Normal,
            stepped_aside: false,
            holds_tcp: false,
            ports: None,
            duplicates: Duplicates::default(),
            loss: Loss::default(),
            next_tick: None,
            hold_or_resume: None,
            resend: None,
        }
    }

    /// Moves on, and asks for what goes with that.
    fn happens(&mut self, now: Instant, cause: Cause, view: &TcpView) {
        let from = self.state;
        self.state = from.after(cause);
        match (from, self.state) {
            (from, to) if from == to => {}
            (_, State::Loss) => self.enter_loss(now, cause, view),
            (_, State::Disconnected) => self.disconnect(view),
            // liu-singh-2001 §IV: the congestion window ends up as the larger of TCP's and ATCP's.
            (State::Loss, State::Normal) => {
                let cwnd = match (self.loss.asnd_cwnd, view.cwnd.value()) {
                    (Some(asnd_cwnd), Some(cwnd)) if asnd_cwnd > cwnd => Setting::Value(asnd_cwnd),
                    _ => Setting::Keep,
                };
                self.take_out_of_persist(cwnd);
            }
            // TCP reduces the window that it has: nothing is given back here.
            (State::Loss, State::Congested) => self.take_out_of_persist(Setting::Keep),
            // liu-singh-2001 §III-A: the normal and the congested state do nothing by themselves,
            // and TCP has left the persist mode of the disconnected state already.
            _ => {}
        }
    }

    /// liu-singh-2001 §IV, atcp_timers() and the third duplicate in atcp_input().
    fn enter_loss(&mut self, now: Instant, cause: Cause, view: &TcpView) {
        let rto = view.rto.value().unwrap_or(DEFAULT_RTO);
        // RFC 6298 §5.5: where a timeout brought us here, the retransmission timer has expired
        // once already.
        let timeout = if cause == Cause::TimeoutImminent { self.backed_off(rto) } else { rto };
        let asnd_cwnd = view.cwnd.value();
        self.loss = Loss { asnd_cwnd, deadline: now + timeout, timeout };
        self.hold_or_resume = Some(Act::Hold {
            probe: None,
            step_back: false,
            freeze_timers: false,
            cwnd: Setting::Keep,
            release: Release::Resume,
        });
        self.transmit_unacknowledged(view);
        self.arm_tick(now);
    }

    /// liu-singh-2001 §IV, atcp_notify().
    fn disconnect(&mut self, view: &TcpView) {
        let AtcpOptions { persist_min, persist_max, .. } = self.options;
        self.hold_or_resume = Some(Act::Hold {
            probe: Some(ProbeSpacing { first: persist_min, max: persist_max.max(persist_min) }),
            // The BSD that the paper changed goes back to SND.UNA when the peer's window closes.
            step_back: true,
            freeze_timers: false,
            cwnd: Setting::Value(view.mss.value().unwrap_or(DEFAULT_MSS)),
            release: Release::AnyAck,
        });
    }

    fn take_out_of_persist(&mut self, cwnd: Setting<u32>) {
        self.hold_or_resume =
            Some(Act::Resume { cwnd, ssthresh: Setting::Keep, rto: Setting::Keep });
    }

    fn transmit_unacknowledged(&mut self, view: &TcpView) {
        let Some(outstanding) = view.outstanding() else { return };
        let segment = view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
        let bytes = match self.options.resend {
            Resend::First => segment,
            // liu-singh-2001 §IV: asnd_cwnd stands in for snd_cwnd; as there, a window below one
            // segment still lets one go.
            Resend::All => self.loss.asnd_cwnd.unwrap_or(0).max(segment),
        };
        let end = outstanding.start + bytes.min(outstanding.len());
        self.resend = Some(Act::Resend {
            range: SeqRange::new(outstanding.start, end),
            ahead_of_queue: self.options.retransmission == Retransmission::Ahead,
        });
    }

    fn backed_off(&self, timeout: Duration) -> Duration {
        if self.options.backoff { timeout.times(2).min(MAX_TIMEOUT) } else { timeout }
    }

    /// Is there a connection, and does the driver do as it is asked? RFC 793's synchronized states
    /// begin where liu-singh-2001 §III-A lets ATCP begin, with the established connection.
    fn takes_part(&mut self, now: Instant, view: &TcpView) -> bool {
        if !view.synchronized {
            self.happens(now, Cause::Closed, view);
            // Nobody is left to be resumed.
            self.holds_tcp = false;
            self.hold_or_resume = None;
            self.resend = None;
            self.next_tick = None;
        }
        view.synchronized && !self.stepped_aside
    }

    fn classify(&self, segment: &TcpSegment, view: &TcpView) -> Acknowledgment {
        let Some(outstanding) = view.outstanding() else { return Acknowledgment::Other };
        if !segment.flags.contains(TcpFlags::ACK) {
            Acknowledgment::Other
        } else if segment.ack.after(outstanding.start) && segment.ack.at_or_before(outstanding.end)
        {
            Acknowledgment::New
        } else if segment.ack == outstanding.start
            && segment.sequence_len() == 0
            // Before the first acknowledgment there is nothing to compare with. Counting one more
            // than TCP does is harmless, one fewer lets TCP see its third.
            && self.duplicates.window.is_none_or(|window| window == segment.window)
        {
            // RFC 5681 §2
            Acknowledgment::Duplicate
        } else {
            Acknowledgment::Other
        }
    }

    /// A duplicate that nothing hides from TCP.
    fn count_duplicate(&mut self, una: Seq) {
        self.duplicates.passed = self.duplicates_of(una).saturating_add(1);
        self.duplicates.of = una;
    }

    fn duplicates_of(&self, una: Seq) -> u32 {
        if self.duplicates.of == una { self.duplicates.passed } else { 0 }
    }

    fn is_new_data(segment: &TcpSegment, view: &TcpView) -> bool {
        let ends_after = |rcv_nxt| segment.end().after(rcv_nxt);
        !segment.payload.is_empty() && view.rcv_nxt.value().is_none_or(ends_after)
    }

    fn happens_before_next_tick(&self, now: Instant, deadline: Instant) -> bool {
        deadline < now + self.options.tick
    }

    /// Asks for the first tick after `now`, unless one is asked for.
    fn arm_tick(&mut self, now: Instant) {
        if self.next_tick.is_none() {
            let AtcpOptions { tick, tick_phase, .. } = self.options;
            let first = Instant::ZERO + tick_phase;
            let next = if now < first {
                first
            } else {
                let passed = now.since(first).as_nanos() / tick.as_nanos().max(1);
                first + tick.times(passed.saturating_add(1))
            };
            // At the end of time there is no next tick.
            self.next_tick = (next > now).then_some(next);
        }
    }

    /// RFC 5927 §4.1: what is quoted must be outstanding. The rest is the driver's to tell apart.
    fn concerns_us(&self, signal: &Signal, view: &TcpView) -> bool {
        let ports = signal.about.flow.map(|flow| (flow.source.port, flow.destination.port));
        let quotes_us = ports.is_none_or(|quoted| self.ports.is_none_or(|ours| ours == quoted));
        let is_outstanding = |seq| view.outstanding().is_some_and(|range| range.contains(seq));
        quotes_us && signal.about.seq.is_none_or(is_outstanding)
    }

    /// TCP is on its own from here on: ATCP without its acts would only swallow acknowledgments.
    fn step_aside(&mut self) {
        self.state = self.state.after(Cause::Refused);
        self.stepped_aside = true;
        self.next_tick = None;
        self.hold_or_resume = None;
        self.resend = None;
        if self.holds_tcp {
            self.take_out_of_persist(Setting::Keep);
        }
    }
}

fn persists(view: &TcpView) -> bool {
    view.persisting.value() == Some(true)
}

/// One byte at SND.UNA (4.4BSD), or none just before it (Linux).
fn is_probe(segment: &TcpSegment, view: &TcpView) -> bool {
    let control = TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST);
    !segment.flags.intersects(control)
        && view.una.value().is_some_and(|una| match segment.payload.len {
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
    view.persisting.value() == Some(false) || segment.payload.len > 1
}

impl Aid for Atcp {
    fn name(&self) -> &'static str {
        "atcp"
    }

    fn state(&self) -> &'static str {
        self.state.name()
    }

    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict {
        self.ports = Some((segment.source_port, segment.destination_port));
        if !self.takes_part(now, view) {
            return Verdict::Pass;
        }
        match self.state {
            State::Normal => {}
            State::Congested => {
                let is_new = match self.options.congested_until {
                    CongestedUntil::Segment => true,
                    CongestedUntil::NewData => {
                        view.max.value().is_none_or(|max| segment.end().after(max))
                    }
                };
                if is_new {
                    self.happens(now, Cause::TcpSends, view);
                }
            }
            // liu-singh-2001 §IV: no probes in loss. This is for drivers that can't keep TCP from
            // sending them. A TCP that a driver has taken out of persist mode by itself sends none: what
            // looks like one is the only byte that it has to send again.
            State::Loss if is_probe(segment, view) && view.persisting.value() != Some(false) => {
                return Verdict::Drop;
            }
            State::Loss => {}
            State::Disconnected => {
                if shows_leaving_persist(segment, view) {
                    self.happens(now, Cause::TcpLeavesPersist, view);
                }
            }
        }
        if segment.sequence_len() > 0 {
            self.arm_tick(now);
        }
        Verdict::Pass
    }

    fn on_up(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict {
        // On SYNs, ECE speaks of what the peer can do (RFC 3168 §6.1.1), and the window is not
        // scaled. Resets are TCP's to judge.
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if !self.takes_part(now, view) || segment.flags.intersects(control) {
            return Verdict::Pass;
        }
        // liu-singh-2001 §IV: atcp_input() looks at the ECN bit first.
        if segment.flags.contains(TcpFlags::ECE) {
            self.happens(now, Cause::CongestionEcho, view);
        }
        let acknowledgment = self.classify(segment, view);
        if segment.flags.contains(TcpFlags::ACK) {
            self.duplicates.window = Some(segment.window);
        }
        match (self.state, acknowledgment) {
            // The driver resumes TCP before it hands the segment on, as atcp_input() does.
            (State::Loss, Acknowledgment::New) => self.happens(now, Cause::NewAck, view),
            (State::Loss, Acknowledgment::Duplicate) => return Verdict::Drop,
            (State::Loss, Acknowledgment::Other)
                if self.options.leave_loss == LeaveLoss::AckOrData
                    && Self::is_new_data(segment, view) =>
            {
                self.happens(now, Cause::NewData, view);
            }
            // In persist mode of TCP's own accord, duplicates are the answers to its probes.
            (State::Normal, Acknowledgment::Duplicate) if persists(view) => {}
            (State::Normal, Acknowledgment::Duplicate) => {
                // Beyond the threshold TCP has already responded, in the congested state.
                if self.duplicates_of(segment.ack) == DUPLICATE_THRESHOLD - 1 {
                    self.happens(now, Cause::ThirdDuplicate, view);
                    return Verdict::Drop;
                }
                self.count_duplicate(segment.ack);
            }
            (_, Acknowledgment::Duplicate) => self.count_duplicate(segment.ack),
            _ => {}
        }
        Verdict::Pass
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, view: &TcpView) {
        if !self.takes_part(now, view) || !self.concerns_us(signal, view) {
            return;
        }
        match signal.kind {
            SignalKind::Unreachable(_) => {
                // Each probe into a partition draws one more of these; holding again would start
                // the spacing of probes over. Unless an acknowledgment that was still under way
                // has released TCP.
                if self.state != State::Disconnected {
                    self.happens(now, Cause::Unreachable, view);
                } else if view.persisting.value() == Some(false) {
                    self.disconnect(view);
                }
            }
            SignalKind::SourceQuench => self.happens(now, Cause::SourceQuench, view),
            SignalKind::EcnEcho => self.happens(now, Cause::CongestionEcho, view),
            // What is not in the paper means nothing to ATCP.
            _ => {}
        }
    }

    fn on_timeout(&mut self, now: Instant, view: &TcpView) {
        if self.next_tick.is_none_or(|tick| now < tick) {
            return;
        }
        self.next_tick = None;
        if !self.takes_part(now, view) {
            return;
        }
        let deadline = view.retransmission_deadline.value().flatten();
        match self.state {
            State::Normal => {
                let about_to_expire =
                    deadline.is_some_and(|deadline| self.happens_before_next_tick(now, deadline));
                if about_to_expire && view.outstanding().is_some() {
                    self.happens(now, Cause::TimeoutImminent, view);
                }
            }
            // All was acknowledged, by what ATCP was not shown.
            State::Loss if view.outstanding().is_none() => self.happens(now, Cause::NewAck, view),
            // In 4.4BSD a timer of n ticks goes off at the n-th tick: between n − 1 and n of them
            // later, which is the same rule as for TCP's.
            State::Loss if self.happens_before_next_tick(now, self.loss.deadline) => {
                self.loss.timeout = self.backed_off(self.loss.timeout);
                self.loss.deadline = now + self.loss.timeout;
                self.transmit_unacknowledged(view);
            }
            State::Loss | State::Congested | State::Disconnected => {}
        }
        // An idle connection is left in peace; the next segment down starts the ticks again.
        if self.state == State::Loss || deadline.is_some() {
            self.arm_tick(now);
        }
    }

    fn on_done(&mut self, _: Instant, act: &Act, done: Done, _: &TcpView) {
        match (act, done) {
            (Act::Hold { release, .. }, Done::Done) => {
                self.holds_tcp = *release == Release::Resume;
            }
            // A TCP that can't be resumed is not held.
            (Act::Resume { .. }, _) => self.holds_tcp = false,
            (Act::Hold { .. }, Done::Unsupported) => self.step_aside(),
            (Act::Resend { .. }, Done::Unsupported) if self.state == State::Loss => {
                self.step_aside();
            }
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.next_tick
    }

    fn poll_act(&mut self) -> Option<Act> {
        self.hold_or_resume.take().or_else(|| self.resend.take())
    }
}
