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
    Act, ActResult, Assign, Duration, HeldTimers, Named, ProbeSize, ProbeSpacing, RecoveryState,
    Release, SeqRange, Signal, SignalKind, TcpView, named, options,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::{
    AckKind, Context, DEFAULT_MSS, DEFAULT_RTO, DUPLICATE_THRESHOLD, DuplicateAcks, Machine,
    Protocol, resume,
};
use crate::options::AidOptions;
use crate::{Aid, SegmentVerdict};
pub use state::{State, Transition};

/// Maximum probe interval: the maximum RTO.
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(64);

options! {
    /// Parameters that westin-2003 §3.2.1 and §4.8.3 compare.
    pub struct AtcpPartialOptions {
        /// State that a congestion mark leads to.
        ecn: word(EcnResponse::Normal),
        /// SND.NXT is set back to SND.UNA in the disconnected state.
        step_back: flag(true),
        /// The first unacknowledged segment is retransmitted as soon as the disconnected state begins.
        retransmit: flag(false),
    }
}

named! {
    /// State after a congestion mark.
    pub enum EcnResponse {
        /// The normal state, as in ATCP's reference code (westin-2003 §3.2.1).
        Normal = "normal",
        /// The congested state, as in liu-singh-2001.
        Congested = "congested",
    }
}

impl AidOptions for AtcpPartialOptions {
    const NAME: &'static str = "atcp-partial";
    const SUMMARY: &'static str =
        "Partial ATCP (Westin 2003): restores the window after duplicate acknowledgments.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;

    fn build(self) -> Box<dyn Aid> {
        Box::new(AtcpPartial::new(self))
    }
}

/// Partial ATCP for one connection. It has no timer; TCP's probes provide the timing.
#[derive(Clone, Debug)]
pub struct AtcpPartial {
    options: AtcpPartialOptions,
    duplicates: DuplicateAcks,
    /// The third duplicate is being delivered: TCP's congestion window before it (bytes).
    cwnd_at_third_duplicate: Option<Option<u32>>,
    /// Congestion window before the loss state (bytes).
    saved_cwnd: Option<u32>,
    /// Congestion window to restore when TCP has processed the segment (bytes).
    cwnd_to_restore: Option<u32>,
    /// The driver holds TCP.
    holds_tcp: bool,
}

impl AtcpPartial {
    /// Creates the aid for a new connection.
    pub fn new(options: AtcpPartialOptions) -> Machine<Self> {
        Machine::new(Self {
            options,
            duplicates: DuplicateAcks::default(),
            cwnd_at_third_duplicate: None,
            saved_cwnd: None,
            cwnd_to_restore: None,
            holds_tcp: false,
        })
    }

    /// Puts TCP in persist mode with one segment per retransmission timeout.
    fn enter_persist(cx: &mut Context<'_, State>, rewind_snd_nxt: bool, cwnd: Assign<u32>) {
        let first = cx.view.rto.value().unwrap_or(DEFAULT_RTO).min(MAX_PROBE_INTERVAL);
        cx.request(Act::Hold {
            probe: Some(ProbeSpacing { first, max: MAX_PROBE_INTERVAL, size: ProbeSize::Segment }),
            rewind_snd_nxt,
            timers: HeldTimers::Stop,
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
        cx.request(Act::Resend { range, ahead_of_queue: false });
    }

    fn resume_if_held(&self, cx: &mut Context<'_, State>) {
        if self.holds_tcp {
            cx.request(resume(Assign::Keep));
        }
    }

    fn on_echo(&mut self, cx: &mut Context<'_, State>) {
        let transition = match self.options.ecn {
            EcnResponse::Normal => Transition::EchoToNormal,
            EcnResponse::Congested => Transition::CongestionEcho,
        };
        self.transition(cx, transition);
    }
}

/// Returns true if the segment is the first retransmission after a timeout. After the first new
/// acknowledgment the window exceeds one segment.
fn follows_timeout(segment: &TcpSegment, view: &TcpView) -> bool {
    let mss = view.mss.value().unwrap_or(DEFAULT_MSS);
    view.recovery.value() == Some(RecoveryState::Loss)
        && view.cwnd.value().is_some_and(|cwnd| cwnd <= mss)
        && view.snd_una.value() == Some(segment.seq)
        && segment.sequence_len() > 0
}

impl Protocol for AtcpPartial {
    type State = State;
    const NAME: &'static str = AtcpPartialOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, transition: Transition) {
        match (from, cx.state(), transition) {
            (_, State::Loss, Transition::ThirdDuplicate) => {
                Self::enter_persist(cx, false, Assign::Keep);
                // TCP's own retransmission would be sent only after the hold.
                Self::retransmit(cx);
            }
            (_, State::Disconnected, _) => {
                self.saved_cwnd = None;
                let segment = cx.view.mss.value().unwrap_or(DEFAULT_MSS);
                Self::enter_persist(cx, self.options.step_back, Assign::Value(segment));
                if self.options.retransmit {
                    Self::retransmit(cx);
                }
            }
            (State::Loss, State::Normal, Transition::NewAck) => {
                self.cwnd_to_restore = self.saved_cwnd.take();
                self.resume_if_held(cx);
            }
            (State::Loss | State::Disconnected, _, _) => {
                self.saved_cwnd = None;
                self.resume_if_held(cx);
            }
            _ => {}
        }
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let view = cx.view;
        match cx.state() {
            State::Normal if follows_timeout(segment, view) => {
                self.transition(cx, Transition::Timeout);
            }
            State::Congested if view.snd_max.value().is_none_or(|max| segment.end().after(max)) => {
                self.transition(cx, Transition::TcpSends);
            }
            _ => {}
        }
        SegmentVerdict::Pass
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let view = cx.view;
        let control = TcpFlags::SYN.with(TcpFlags::RST);
        if segment.flags.intersects(control) {
            return SegmentVerdict::Pass;
        }
        let acknowledgment = self.duplicates.classify(segment, view);
        self.duplicates.record_window(segment);
        self.transition(cx, Transition::PacketArrival);
        let echo = segment.flags.contains(TcpFlags::ECE);
        if echo {
            self.on_echo(cx);
        }
        match acknowledgment {
            AckKind::New => self.transition(cx, Transition::NewAck),
            AckKind::Duplicate => {
                self.duplicates.record(segment.ack);
                let is_third = self.duplicates.count_for(segment.ack) == DUPLICATE_THRESHOLD;
                let persists = view.is_persisting.value() == Some(true);
                if is_third && cx.state() == State::Normal && !echo && !persists {
                    self.cwnd_at_third_duplicate = Some(view.cwnd.value());
                }
            }
            AckKind::Other => {}
        }
        SegmentVerdict::Pass
    }

    fn on_processed(&mut self, cx: &mut Context<'_, State>) {
        if let Some(cwnd) = self.cwnd_at_third_duplicate.take() {
            self.saved_cwnd = cwnd;
            self.transition(cx, Transition::ThirdDuplicate);
        }
        let cwnd = self.cwnd_to_restore.take();
        if let Some(cwnd) = cwnd.filter(|cwnd| cx.view.cwnd.value().is_some_and(|now| now < *cwnd))
        {
            cx.request(resume(Assign::Value(cwnd)));
        }
    }

    fn wants_taken(&self) -> bool {
        self.cwnd_at_third_duplicate.is_some() || self.cwnd_to_restore.is_some()
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::Unreachable(_) => self.transition(cx, Transition::Unreachable),
            SignalKind::EcnEcho => self.on_echo(cx),
            _ => {}
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            (Act::Hold { .. }, ActResult::Done) => self.holds_tcp = true,
            (Act::Resume { .. }, _) => self.holds_tcp = false,
            (Act::Hold { .. }, ActResult::Unsupported) => {
                self.transition(cx, Transition::Unsupported);
                cx.disable();
                self.resume_if_held(cx);
            }
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        // There is no TCP left to resume.
        (self.cwnd_at_third_duplicate, self.saved_cwnd, self.cwnd_to_restore) = (None, None, None);
        self.holds_tcp = false;
    }
}
