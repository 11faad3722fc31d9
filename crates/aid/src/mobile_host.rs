//! TCP on a mobile host (Singh & Iyer: *ATCP: Improving TCP performance over mobile wireless environments*,
//! 2002; called `mobile-host` here, because the name ATCP is that of liu-singh-2001).
//!
//! The host's network layer reports that it is disconnected ([`SignalKind::LinkDown`]) and connected again
//! ([`SignalKind::LinkUp`]). The peer, a fixed host, runs any TCP.
//!
//! *Sender on the mobile host.* At a disconnection the aid records whether TCP was sending (its window is
//! open), waiting for acknowledgments (its window is closed) or idle ([`State`]). Nothing is sent while
//! disconnected. A sending TCP stops its retransmission timer, and continues when it is connected again. A
//! waiting TCP keeps its timer: if that expires while disconnected, ssthresh is set ([`SsthreshAfterTimeout`]),
//! cwnd becomes one segment, the RTO stays, and TCP retransmits at the connection; otherwise TCP waits for
//! the timeout, and retransmits then without a change of cwnd and ssthresh, unless new data is acknowledged
//! before.
//!
//! *Receiver on the mobile host* ([`HeldAck`]). The acknowledgment of the last two bytes is delayed, so
//! that the host has something new to acknowledge when it is connected again, which the peer's TCP does not
//! take for a duplicate: first a byte with a closed window, then all with the open one.
//!
//! Interpretation of what the paper leaves open, and where its text and its listing differ:
//!
//! - *What is retransmitted* ([`Resend`]). Text: "the lost packet", taken as the first unacknowledged segment,
//!   as TCP does after a timeout. Listing: the last sent packet, which repairs nothing if the ones before it
//!   were lost as well. The default is the text's.
//! - *ssthresh after a timeout while disconnected*: text and listing differ; the default is the text's.
//! - *Sending* ("packets in send buffer and sending window is open"): the send buffer holds
//!   unacknowledged data as well; the window is open if it has room for one segment. When connected, TCP
//!   sends new data, and the segment of [`Resend`] before it ("resume sending from last sent packet").
//! - *Idle* ("no action"): what the application writes meanwhile waits, as the paper's SendData() has it.
//! - *An open window* (text): data is sent, and nothing again. Here the segment of [`Resend`] is sent as well,
//!   because the text's reason, that what was sent before has arrived, need not hold.
//! - *The timeout after the connection* keeps the RTO as well.
//! - *Route failures* of the local host or of routers count as disconnections, for drivers that know routes
//!   instead of links ([`LinkChange`]).
//! - *Two bytes* are held back of each acknowledgment, of pure ones and of those that data carries; fewer, if
//!   the last one advanced by less. Until the peer's FIN has been seen: the end of a connection is not delayed.
//! - *Missing signals.* A segment of the peer that arrives while disconnected, and not within 100 ms of the
//!   disconnection, shows that the host is connected. A TCP that has stopped sends probes of one byte
//!   (`probe_min`, `probe_max`), by default as often as a TCP whose RTO is backed off retransmits: over a radio, which is known to work only when a frame of a
//!   neighbour arrives, it would otherwise be later than without the aid.
//!
//! Driver requirements: a hold ([`Act::Hold`]); without it the sending half runs unassisted. Without
//! [`Act::SetTimeoutResponse`] a timeout reduces the window as usual. The receiving half needs replaced
//! acknowledgments and [`Act::SendAcks`].

mod description;
mod held_ack;
mod options;
#[cfg(test)]
mod test;

use driftway_base::{
    Act, ActResult, Assign, HeldTimers, Instant, ProbeSpacing, Release, Retransmit, RouteProbe,
    SeqRange, Signal, named,
};
use driftway_wire::{TcpFlags, TcpSegment};

pub use self::held_ack::HeldAck;
pub use self::options::{MobileHostOptions, Resend, SsthreshAfterTimeout};
use crate::SegmentVerdict;
use crate::kit::{
    Context, DEFAULT_MSS, DisconnectedSince, LinkChange, Machine, Protocol, States, resume,
};
use crate::options::AidOptions;

#[cfg(doc)]
use driftway_base::SignalKind;

named! {
    /// States of the mobile host's TCP: connected, and, while disconnected, what it was doing before.
    pub enum State {
        /// The host is connected; normal TCP operation.
        Connected = "connected",
        /// Disconnected; nothing was outstanding.
        Idle = "idle",
        /// Disconnected; the window was open, and the retransmission timer is stopped.
        Sending = "sending",
        /// Disconnected; the window was closed, and the retransmission timer runs.
        Waiting = "waiting",
    }
}

named! {
    /// Transitions of the mobile host's TCP.
    pub enum Transition {
        /// Disconnection with nothing outstanding.
        DisconnectedIdle = "disconnection, nothing outstanding",
        /// Disconnection with an open window.
        DisconnectedSending = "disconnection, window open",
        /// Disconnection with a closed window.
        DisconnectedWaiting = "disconnection, window closed",
        /// The host is connected.
        Connection = "connection",
        /// The driver does not support [`Act::Hold`].
        Unsupported = "unsupported by the driver",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Connected;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Idle, Self::Sending, Self::Waiting];

    fn next(self, transition: Transition) -> Self {
        match (self, transition) {
            // singh-iyer-2002 §III, Disconnection() and GetStatus()
            (Self::Connected, Transition::DisconnectedIdle) => Self::Idle,
            (Self::Connected, Transition::DisconnectedSending) => Self::Sending,
            (Self::Connected, Transition::DisconnectedWaiting) => Self::Waiting,
            (_, Transition::Connection | Transition::Unsupported | Transition::Closed) => {
                Self::Connected
            }
            (unmoved, _) => unmoved,
        }
    }
}

/// The aid for one connection.
#[derive(Clone, Debug)]
pub struct MobileHost {
    options: MobileHostOptions,
    /// The response to the next timeout is set (*DisconnectionOccurred*).
    timeout_response_set: bool,
    /// The driver cannot hold the connection.
    never_holds: bool,
    held_ack: HeldAck,
    /// A timeout has occurred while disconnected (*RTOccurred*).
    timed_out: bool,
    disconnected: DisconnectedSince,
}

impl MobileHost {
    /// Creates the aid for a new connection.
    pub fn new(options: MobileHostOptions) -> Machine<Self> {
        Machine::new(Self {
            held_ack: HeldAck::new(options.ack_delay),
            options,
            timeout_response_set: false,
            never_holds: false,
            timed_out: false,
            disconnected: DisconnectedSince::default(),
        })
    }

    /// The present activity of TCP (singh-iyer-2002 §III, GetStatus()).
    fn disconnection(cx: &Context<'_, State>) -> Transition {
        let Some(outstanding) = cx.view.outstanding() else { return Transition::DisconnectedIdle };
        let (cwnd, peer) = (cx.view.cwnd.value(), cx.view.peer_window.value());
        let window = cwnd.unwrap_or(u32::MAX).min(peer.unwrap_or(u32::MAX));
        match window.saturating_sub(outstanding.len()) >= mss(cx) {
            true => Transition::DisconnectedSending,
            false => Transition::DisconnectedWaiting,
        }
    }

    /// ssthresh after a timeout while disconnected.
    fn ssthresh(&self, cx: &Context<'_, State>) -> Assign<u32> {
        let Some(cwnd) = cx.view.cwnd.value() else { return Assign::Keep };
        Assign::Value(match self.options.ssthresh {
            SsthreshAfterTimeout::Cwnd => cwnd,
            SsthreshAfterTimeout::Max => {
                let others = [cx.view.ssthresh, cx.view.peer_window];
                others.iter().filter_map(|other| other.value()).fold(cwnd, u32::max)
            }
        })
    }

    fn set_timeout_response(&mut self, cx: &mut Context<'_, State>, act: Act) {
        self.timeout_response_set = true;
        cx.request(act);
    }

    /// Requests that the segment of [`Resend`] be sent again.
    fn resend(&self, cx: &mut Context<'_, State>) {
        let Some(outstanding) = cx.view.outstanding() else { return };
        let mss = mss(cx);
        let range = match self.options.resend {
            Resend::FirstUnacknowledged => {
                SeqRange::new(outstanding.start, (outstanding.start + mss).min(outstanding.end))
            }
            Resend::LastSent => {
                SeqRange::new((outstanding.end - mss).max(outstanding.start), outstanding.end)
            }
        };
        cx.request(Act::Resend { range, ahead_of_queue: false });
    }

    fn on_disconnected(&mut self, cx: &mut Context<'_, State>) {
        if cx.state() == State::Connected && !self.never_holds {
            let transition = Self::disconnection(cx);
            self.transition(cx, transition);
        }
        self.disconnected.on_down(cx.now);
        self.held_ack.on_disconnected();
    }

    fn on_connected(&mut self, cx: &mut Context<'_, State>) {
        self.disconnected.on_up();
        self.note_timeout(cx);
        self.transition(cx, Transition::Connection);
        if let Some(act) = self.held_ack.on_connected() {
            cx.request(act);
        }
    }

    /// Notes a timeout while disconnected: the retransmission timer does not run any more, although data is
    /// outstanding. In doubt it has expired.
    fn note_timeout(&mut self, cx: &Context<'_, State>) {
        let runs = matches!(cx.view.retransmission_deadline.value(), Some(Some(_)));
        self.timed_out |= cx.state() == State::Waiting && !runs && cx.view.outstanding().is_some();
    }

    /// Continues after a disconnection in this state (singh-iyer-2002 §III, Connection()).
    fn resume_from(&mut self, cx: &mut Context<'_, State>, state: State) {
        cx.request(resume(Assign::Keep));
        match state {
            State::Waiting if cx.view.outstanding().is_none() => {
                self.set_timeout_response(cx, TCPS_OWN_RESPONSE);
            }
            State::Waiting => {
                let timed_out = core::mem::take(&mut self.timed_out);
                let first = self.options.resend == Resend::FirstUnacknowledged;
                let retransmit = if first { Retransmit::Oldest } else { Retransmit::Newest };
                let act = timeout_response(retransmit, Assign::Keep, Assign::Keep);
                self.set_timeout_response(cx, act);
                // After a timeout TCP itself begins with the first unacknowledged segment.
                if timed_out && !first {
                    self.resend(cx);
                }
            }
            State::Sending => self.resend(cx),
            State::Idle | State::Connected => {}
        }
    }
}

/// The response to the next timeout, which keeps the RTO.
fn timeout_response(retransmit: Retransmit, cwnd: Assign<u32>, ssthresh: Assign<u32>) -> Act {
    Act::SetTimeoutResponse { keep_rto: true, retransmit, cwnd, ssthresh }
}

/// TCP's own response to the next timeout.
const TCPS_OWN_RESPONSE: Act = Act::SetTimeoutResponse {
    keep_rto: false,
    retransmit: Retransmit::LossRecovery,
    cwnd: Assign::Keep,
    ssthresh: Assign::Keep,
};

fn mss(cx: &Context<'_, State>) -> u32 {
    cx.view.mss.value().unwrap_or(DEFAULT_MSS).max(1)
}

impl Protocol for MobileHost {
    type State = State;
    const NAME: &'static str = MobileHostOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, transition: Transition) {
        match cx.state() {
            State::Connected => {
                if transition != Transition::Unsupported {
                    cx.request(Act::ProbeRoute(RouteProbe::Off));
                }
                if transition == Transition::Connection {
                    self.resume_from(cx, from);
                }
            }
            state => {
                let waits = state == State::Waiting;
                self.timed_out = false;
                if waits {
                    // RTO() while disconnected: the text retransmits as TCP does, the listing leaves
                    // everything in flight.
                    let retransmit = match self.options.resend {
                        Resend::FirstUnacknowledged => Retransmit::LossRecovery,
                        Resend::LastSent => Retransmit::Nothing,
                    };
                    let (cwnd, ssthresh) = (Assign::Value(mss(cx)), self.ssthresh(cx));
                    self.set_timeout_response(cx, timeout_response(retransmit, cwnd, ssthresh));
                }
                let (first, longest) = (self.options.probe_min, self.options.probe_max);
                cx.request(Act::Hold {
                    probe: Some(ProbeSpacing::new(first, longest)),
                    rewind_snd_nxt: false,
                    timers: if waits { HeldTimers::KeepRetransmission } else { HeldTimers::Stop },
                    cwnd: Assign::Keep,
                    release: Release::Resume,
                });
            }
        }
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match LinkChange::of(signal) {
            Some(LinkChange::Down) => self.on_disconnected(cx),
            Some(LinkChange::Up) => self.on_connected(cx),
            // The aid needs no prediction.
            Some(LinkChange::Fading(_)) | None => {}
        }
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        if self.disconnected.is_disproved_by_arrival(cx.now) {
            self.on_connected(cx);
        }
        self.note_timeout(cx);
        self.held_ack.on_arrival(segment);
        let una = cx.view.snd_una.value();
        let is_new =
            segment.flags.contains(TcpFlags::ACK) && una.is_some_and(|u| segment.ack.after(u));
        // AckRx(): DisconnectionOccurred = FALSE. While disconnected the response stays.
        if is_new && self.timeout_response_set && cx.state() == State::Connected {
            self.timeout_response_set = false;
            cx.request(TCPS_OWN_RESPONSE);
        }
        SegmentVerdict::Pass
    }

    fn on_down(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let (verdict, act) = self.held_ack.on_departure(cx.now, segment);
        if let Some(act) = act {
            cx.request(act);
        }
        verdict
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if let Some(act) = self.held_ack.on_timeout(cx.now) {
            cx.request(act);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.held_ack.next_timeout()
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            // An on-demand routing protocol looks for no route while nothing is sent.
            (Act::Hold { .. }, ActResult::Done) if cx.state() != State::Connected => {
                cx.request(Act::ProbeRoute(RouteProbe::Repeated));
            }
            (Act::Hold { .. }, ActResult::Unsupported) => {
                self.never_holds = true;
                self.transition(cx, Transition::Unsupported);
            }
            (Act::SendAcks { .. }, _) => {
                if let Some(act) = self.held_ack.next_ack() {
                    cx.request(act);
                }
            }
            _ => {}
        }
    }

    fn on_closed(&mut self) {
        self.held_ack = HeldAck::new(self.options.ack_delay);
        self.timeout_response_set = false;
        self.disconnected.on_up();
    }
}
