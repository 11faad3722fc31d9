//! TCP-F: TCP with route failure feedback (Chandran, Raghunathan, Venkatesan & Prakash, ICDCS 1998).
//!
//! A router that cannot forward a packet sends a route failure notification to the source (RFN,
//! [`SignalKind::RouteFailed`]), and a route re-establishment notification when it has a route again (RRN,
//! [`SignalKind::RouteRestored`]). In between the source is in the snooze state: it sends neither new data
//! nor retransmissions, and all its timers, windows and other variables are frozen. The crate `route`
//! implements the routers; this is the source (§4), with the state machine of Fig. 2 in [`State`] and
//! [`Transition`].
//!
//! Interpretation of what the paper leaves open:
//!
//! - *Acknowledgments received in the snooze state* were sent before the failure, or took another route. They
//!   are processed: SND.UNA advances and SACK blocks are recorded, but nothing is sent, and window and RTO do
//!   not change ([`HeldTimers::Freeze`]).
//! - *First transmission after the snooze* ([`ResumeFrom`]). Resuming frozen timers sends nothing, and a
//!   window whose segments were lost with the route is full: a source with one retransmission timer would
//!   wait for its timeout, which reduces the window. The paper expects the previous rate at once.
//!   Retransmitting the stored window achieves it, but is not in the paper. It is the default, because TCP-F
//!   must not be worse than plain TCP.
//! - *Incoming data* is acknowledged as usual: acknowledgments are not packets of the snoozing stream, and
//!   the peer must not time out.
//! - *Route failure with nothing outstanding*: TCP enters the snooze state as well, because new data would
//!   need the failed route.
//! - *Several failures* ([`WakeOn`]): §4 lets any router that forwarded the RFN send the RRN when it learns a
//!   route, §5.4 only the failure point. By §4 the first RRN ends the snooze; after another failure further
//!   on, the next packet causes the next RFN. By §5.4 only the failure point of the last RFN ends it: later
//!   RFNs come from nearer failure points, because neither packets nor the RFNs of remoter nodes pass a
//!   nearer failure.
//! - *Before the connection is established* TCP-F is inactive; the paper describes an established transfer.
//!
//! Driver requirements: signals of this connection only ([`Signal::concerns`]), and a hold that stops data
//! and timers. Without a hold TCP runs unassisted.

#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{
    Act, ActResult, Assign, Duration, HeldTimers, Ipv4Addr, Named, Release, RouteProbe, Signal,
    SignalDetails, SignalKind, named, options,
};

use crate::Aid;
use crate::kit::{Context, Machine, Protocol, States, resume};
use crate::options::AidOptions;

options! {
    /// Parameters that chandran-1998 leaves open.
    pub struct TcpFOptions {
        /// Route failure timeout: maximum time from the first route failure notification (RFN) to a route
        /// re-establishment notification (RRN), after which TCP resumes by itself (chandran-1998 §4).
        // The default is the longest duration of AODV's route discovery (RFC 3561 §6.3 and §10: 2.8 s,
        // doubled twice, 19.6 s in total), rounded up; DSR's route requests are at most 10 s apart (RFC 4728
        // §9).
        route_failure_timeout: time(20 s, Self::MIN_TIMEOUT..),
        /// Sequence number at which transmission resumes after a snooze.
        // chandran-1998 §4 resumes the timers from their frozen values and sends nothing by itself. The
        // default differs: implemented literally, TCP-F over present TCPs is slower than plain TCP
        // (papers/chandran-1998).
        resume_from: word(ResumeFrom::Una),
        /// Origin of the route re-establishment notification that ends a snooze.
        wakes_on: word(WakeOn::Any),
    }
}

named! {
    /// Start of transmission after a snooze.
    pub enum ResumeFrom {
        /// SND.UNA. The whole window is retransmitted, except data reported by SACK, which chandran-1998
        /// does not describe.
        Una = "una",
        /// SND.NXT, as in chandran-1998 §4. Segments lost with the route are recovered by duplicate
        /// acknowledgments or by a timeout.
        Nxt = "nxt",
    }
}

named! {
    /// Origin of the RRN that ends a snooze.
    pub enum WakeOn {
        /// Any router (chandran-1998 §4).
        Any = "any",
        /// The failure point that the last RFN names (chandran-1998 §5.4); any router if that of one of the
        /// two notifications is unknown.
        FailurePoint = "failure-point",
    }
}

impl TcpFOptions {
    /// Minimum route failure timeout.
    pub const MIN_TIMEOUT: Duration = Duration::from_millis(1);
}

impl AidOptions for TcpFOptions {
    const NAME: &'static str = "tcp-f";
    const SUMMARY: &'static str =
        "TCP-F (Chandran et al. 1998): freezes TCP from route failure to route re-establishment.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;

    fn build(self) -> Box<dyn Aid> {
        Box::new(TcpF::new(self))
    }
}

named! {
    /// States of TCP-F (chandran-1998 Fig. 2).
    pub enum State {
        /// Normal TCP operation.
        Active = "active",
        /// The route has failed, and TCP is frozen.
        Snooze = "snooze",
    }
}

named! {
    /// Transitions of TCP-F.
    pub enum Transition {
        /// An RFN was received.
        RouteFailed = "RFN",
        /// An RRN was received.
        RouteRestored = "RRN",
        /// The route failure timer has expired.
        RouteFailureTimeout = "route failure timer",
        /// The driver does not support [`Act::Hold`].
        Unsupported = "unsupported by the driver",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Active;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Snooze];

    fn next(self, transition: Transition) -> Self {
        match (self, transition) {
            // chandran-1998 §4
            (Self::Active, Transition::RouteFailed) => Self::Snooze,
            (Self::Snooze, Transition::RouteRestored | Transition::RouteFailureTimeout) => {
                Self::Active
            }
            // Not in the paper, where TCP-F is part of TCP.
            (Self::Snooze, Transition::Unsupported | Transition::Closed) => Self::Active,
            (unmoved, _) => unmoved,
        }
    }
}

/// TCP-F for one connection.
#[derive(Clone, Debug)]
pub struct TcpF {
    options: TcpFOptions,
    /// Failure point of the last RFN.
    failure_point: Option<Ipv4Addr>,
}

impl TcpF {
    /// Creates the aid for a new connection.
    pub fn new(options: TcpFOptions) -> Machine<Self> {
        let route_failure_timeout = options.route_failure_timeout.max(TcpFOptions::MIN_TIMEOUT);
        let options = TcpFOptions { route_failure_timeout, ..options };
        Machine::new(Self { options, failure_point: None })
    }

    /// Returns true if this RRN ends the snooze.
    fn ends_snooze(&self, signal: &Signal) -> bool {
        self.options.wakes_on == WakeOn::Any
            || match (self.failure_point, failure_point(&signal.details)) {
                (Some(of), Some(from)) => of == from,
                _ => true,
            }
    }
}

/// The node whose link has failed. A router that has received an RFN answers further packets with RFNs of its own,
/// about the same link.
fn failure_point(details: &SignalDetails) -> Option<Ipv4Addr> {
    details.failed_link.map(|link| link.from).or(details.reporter)
}

impl Protocol for TcpF {
    type State = State;
    const NAME: &'static str = TcpFOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, transition: Transition) {
        match cx.state() {
            State::Snooze => {
                // chandran-1998 §4: the first RFN starts the timer; further RFNs in the snooze state change
                // nothing.
                *cx.timer = Some(cx.now + self.options.route_failure_timeout);
                cx.request(Act::Hold {
                    probe: None,
                    rewind_snd_nxt: self.options.resume_from == ResumeFrom::Una,
                    timers: HeldTimers::Freeze,
                    cwnd: Assign::Keep,
                    release: Release::Resume,
                });
            }
            State::Active => {
                *cx.timer = None;
                // chandran-1998 §4: timers and windows continue from their frozen values. The same applies
                // after a route failure timeout; TCP's congestion control then detects the state of the
                // route.
                if !matches!(transition, Transition::Unsupported | Transition::Closed) {
                    cx.request(resume(Assign::Keep));
                }
                if transition != Transition::Unsupported {
                    cx.request(Act::ProbeRoute(RouteProbe::Off));
                }
            }
        }
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::RouteFailed => {
                self.failure_point = failure_point(&signal.details);
                self.transition(cx, Transition::RouteFailed);
            }
            SignalKind::RouteRestored if self.ends_snooze(signal) => {
                self.transition(cx, Transition::RouteRestored);
            }
            // chandran-1998 §5.4: congestion is handled by TCP.
            _ => {}
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if cx.take_expired_timer() {
            self.transition(cx, Transition::RouteFailureTimeout);
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        match (act, done) {
            // chandran-1998 §4 leaves finding a new route to the routing protocol, but an on-demand protocol
            // starts no route discovery for a source that sends nothing.
            (Act::Hold { .. }, ActResult::Done) => {
                cx.request(Act::ProbeRoute(RouteProbe::Repeated))
            }
            (Act::Hold { .. }, ActResult::Unsupported) => {
                self.transition(cx, Transition::Unsupported)
            }
            _ => {}
        }
    }
}
