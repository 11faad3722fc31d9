//! The part of ATCP that westin-2003 implemented in the TCPs of ns-2.
//!
//! It differs from complete ATCP ([`atcp`](crate::atcp)) in that TCP sees each loss and responds to it: the
//! third duplicate acknowledgment reaches TCP, and timeouts occur. What remains of ATCP is the restored
//! window after duplicates (§3.2.1, §4.1.2), and the disconnected state.
//!
//! - *Loss* begins after TCP's response. After duplicates TCP enters persist mode: its retransmission has
//!   been sent, and only one segment per timeout follows. The first new acknowledgment ends it, and the
//!   congestion window is that before the duplicates. After a timeout TCP's window is one segment and its
//!   timer acts like a persist timer, so that nothing is done at the beginning or at the end (§4.1.2,
//!   §4.3.2).
//! - *Disconnected*: the window is one segment, SND.NXT is set back to SND.UNA
//!   ([`step_back`](AtcpPartialOptions::step_back)), and that segment is sent at each timeout. Any incoming
//!   packet ends it, followed by slow start (§4.8.1, §4.8.3). There is no separate persist timer: the first
//!   probe is sent after one retransmission timeout, and the interval doubles each time.
//! - *A congestion mark* prevents the loss state ([`ecn`](AtcpPartialOptions::ecn)).
//!
//! Interpretation of what the thesis leaves open: the saved window is that before the third duplicate. It is
//! restored when TCP has processed the acknowledgment, because the end of fast recovery would otherwise
//! reduce it again. ssthresh is TCP's.

mod state;
#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{
    Act, Done, Duration, ProbeSize, ProbeSpacing, RecoveryState, Release, SeqRange, Setting,
    Signal, SignalKind, TcpView,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::{
    Acknowledgment, Context, DEFAULT_MSS, DEFAULT_RTO, DUPLICATE_THRESHOLD, Duplicates, Machine,
    Protocol, resume,
};
use crate::options::{AidOption, Configure, Set};
use crate::{Aid, Verdict};
pub use state::{Cause, State};

/// Maximum probe interval: the maximum RTO.
const LONGEST_GAP: Duration = Duration::from_secs(64);

/// Parameters that westin-2003 §3.2.1 and §4.8.3 compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtcpPartialOptions {
    /// State after a congestion mark.
    pub ecn: Ecn,
    /// Sets SND.NXT back to SND.UNA when disconnected.
    pub step_back: bool,
    /// Retransmits the first unacknowledged segment at once when disconnected.
    pub retransmit: bool,
}

/// State after a congestion mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Normal, as in ATCP's reference code (westin-2003 §3.2.1).
    #[default]
    Normal,
    /// Congested, as in liu-singh-2001.
    Congested,
}

impl Default for AtcpPartialOptions {
    fn default() -> Self {
        Self { ecn: Ecn::Normal, step_back: true, retransmit: false }
    }
}

impl Configure for AtcpPartialOptions {
    const NAME: &'static str = "atcp-partial";
    const ABOUT: &'static str =
        "partial ATCP (Westin 2003): restores the window after duplicate acknowledgments";
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "ecn",
            about: "state after a congestion mark: normal or congested",
            set: Set::Choice(&[
                ("normal", |o| o.ecn = Ecn::Normal),
                ("congested", |o| o.ecn = Ecn::Congested),
            ]),
        },
        AidOption {
            name: "step_back",
            about: "set SND.NXT back to SND.UNA when disconnected",
            set: Set::Flag(|o| &mut o.step_back),
        },
        AidOption {
            name: "retransmit",
            about: "retransmit the first unacknowledged segment at once when disconnected",
            set: Set::Flag(|o| &mut o.retransmit),
        },
    ];

    fn build(self) -> Box<dyn Aid> {
        Box::new(AtcpPartial::new(self))
    }
}

/// Partial ATCP for one connection. It has no timer; TCP's probes provide the timing.
#[derive(Clone, Debug)]
pub struct AtcpPartial {
    options: AtcpPartialOptions,
    duplicates: Duplicates,
    /// The third duplicate is being delivered: TCP's congestion window before it (bytes).
    third: Option<Option<u32>>,
    /// Congestion window before the loss state (bytes).
    saved: Option<u32>,
    /// Congestion window to restore when TCP has processed the segment (bytes).
    owed: Option<u32>,
    /// The driver holds TCP.
    holds_tcp: bool,
}

impl AtcpPartial {
    /// Creates the aid for a new connection.
    pub fn new(options: AtcpPartialOptions) -> Machine<Self> {
        Machine::new(Self {
            options,
            duplicates: Duplicates::default(),
            third: None,
            saved: None,
            owed: None,
            holds_tcp: false,
        })
    }

    /// Puts TCP in persist mode with one segment per retransmission timeout.
    fn persist(cx: &mut Context<'_, State>, step_back: bool, cwnd: Setting<u32>) {
        let first = cx.view.rto.value().unwrap_or(DEFAULT_RTO).min(LONGEST_GAP);
        cx.ask(Act::Hold {
            probe: Some(ProbeSpacing { first, max: LONGEST_GAP, size: ProbeSize::Segment }),
            step_back,
            freeze_timers: false,
            cwnd,
            release: Release::Resume,
        });
    }

    /// Retransmits the first unacknowledged segment once.
    fn retransmit(cx: &mut Context<'_, State>) {
        let Some(outstanding) = cx.view.outstanding() else { return };
        let segment = cx.view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
        let end = outstanding.start + segment.min(outstanding.len());
        let range = SeqRange::new(outstanding.start, end);
        cx.ask(Act::Resend { range, ahead_of_queue: false });
    }

    fn release(&self, cx: &mut Context<'_, State>) {
        if self.holds_tcp {
            cx.ask(resume(Setting::Keep));
        }
    }

    fn on_echo(&mut self, cx: &mut Context<'_, State>) {
        let cause = match self.options.ecn {
            Ecn::Normal => Cause::PlainEcho,
            Ecn::Congested => Cause::CongestionEcho,
        };
        self.transition(cx, cause);
    }
}

/// Returns true if the segment is the first retransmission after a timeout. After the first new
/// acknowledgment the window exceeds one segment.
fn follows_timeout(segment: &TcpSegment, view: &TcpView) -> bool {
    let mss = view.mss.value().unwrap_or(DEFAULT_MSS);
    view.recovery.value() == Some(RecoveryState::Loss)
        && view.cwnd.value().is_some_and(|cwnd| cwnd <= mss)
        && view.una.value() == Some(segment.seq)
        && segment.sequence_len() > 0
}

impl Protocol for AtcpPartial {
    type State = State;
    const NAME: &'static str = AtcpPartialOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, cause: Cause) {
        match (from, cx.state(), cause) {
            (_, State::Loss, Cause::ThirdDuplicate) => {
                Self::persist(cx, false, Setting::Keep);
                // TCP's own retransmission would be sent only after the hold.
                Self::retransmit(cx);
            }
            (_, State::Disconnected, _) => {
                self.saved = None;
                let segment = cx.view.mss.value().unwrap_or(DEFAULT_MSS);
                Self::persist(cx, self.options.step_back, Setting::Value(segment));
                if self.options.retransmit {
                    Self::retransmit(cx);
                }
            }
            (State::Loss, State::Normal, Cause::NewAck) => {
                self.owed = self.saved.take();
                self.release(cx);
            }
            (State::Loss | State::Disconnected, _, _) => {
                self.saved = None;
                self.release(cx);
            }
            _ => {}
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let view = cx.view;
        match cx.state() {
            State::Normal if follows_timeout(segment, view) => {
                self.transition(cx, Cause::Timeout);
            }
            State::Congested if view.max.value().is_none_or(|max| segment.end().after(max)) => {
                self.transition(cx, Cause::TcpSends);
            }
            _ => {}
        }
        Verdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> Verdict {
        let view = cx.view;
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) {
            return Verdict::Pass;
        }
        let acknowledgment = self.duplicates.classify(segment, view);
        self.duplicates.keep_window(segment);
        self.transition(cx, Cause::Packet);
        let echo = segment.flags.contains(TcpFlags::ECE);
        if echo {
            self.on_echo(cx);
        }
        match acknowledgment {
            Acknowledgment::New => self.transition(cx, Cause::NewAck),
            Acknowledgment::Duplicate => {
                self.duplicates.count(segment.ack);
                let is_third = self.duplicates.of(segment.ack) == DUPLICATE_THRESHOLD;
                let persists = view.persisting.value() == Some(true);
                if is_third && cx.state() == State::Normal && !echo && !persists {
                    self.third = Some(view.cwnd.value());
                }
            }
            Acknowledgment::Other => {}
        }
        Verdict::Pass
    }

    fn on_taken(&mut self, cx: &mut Context<'_, State>) {
        if let Some(cwnd) = self.third.take() {
            self.saved = cwnd;
            self.transition(cx, Cause::ThirdDuplicate);
        }
        let cwnd = self.owed.take();
        if let Some(cwnd) = cwnd.filter(|cwnd| cx.view.cwnd.value().is_some_and(|now| now < *cwnd))
        {
            cx.ask(resume(Setting::Value(cwnd)));
        }
    }

    fn wants_taken(&self) -> bool {
        self.third.is_some() || self.owed.is_some()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::Unreachable(_) => self.transition(cx, Cause::Unreachable),
            SignalKind::EcnEcho => self.on_echo(cx),
            _ => {}
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: Done) {
        match (act, done) {
            (Act::Hold { .. }, Done::Done) => self.holds_tcp = true,
            (Act::Resume { .. }, _) => self.holds_tcp = false,
            (Act::Hold { .. }, Done::Unsupported) => {
                self.transition(cx, Cause::Refused);
                cx.step_aside();
                self.release(cx);
            }
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        // There is no TCP left to resume.
        (self.third, self.saved, self.owed) = (None, None, None);
        self.holds_tcp = false;
    }
}
