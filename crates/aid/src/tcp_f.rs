//! TCP-F: TCP with feedback about routes (Chandran, Raghunathan, Venkatesan & Prakash, ICDCS 1998).
//!
//! A router that can't forward a packet any more tells its source (RFN, [`SignalKind::RouteFailed`]),
//! and tells it again when there is a route (RRN, [`SignalKind::RouteRestored`]). In between the
//! source snoozes: it sends nothing, neither new nor again, and all its timers, windows and other
//! variables stand still. What routers do for that is the crate `route`; this is the source's half
//! (§4), Fig. 2's state machine in [`State`] and [`Cause`].
//!
//! What the text leaves open, and how it is read here:
//!
//! - *Acknowledgments that arrive while snoozing* were sent before the failure, or came another
//!   way. They are taken: SND.UNA moves, SACK blocks are kept. Nothing is sent for it, the window
//!   and the timeout stay ([`Act::Hold`]'s `freeze_timers`).
//! - *What is sent first after the snooze* ([`ResumeFrom`]). Timers that go on from their frozen
//!   values send nothing, and a window whose segments died with the route is full: by them alone a
//!   source with one timer waits for a timeout, which costs it the window. The paper expects the rate of
//!   before at once; sending the stored window again gives that, but the paper does not say so. It is
//!   the default, because nobody may be worse off with TCP-F than without.
//! - *Data that arrives* is acknowledged as ever: that is no packet of the snoozing stream, and the
//!   peer that reaches us shall not have to time out.
//! - *A failure with nothing outstanding*: the route is as bad for what is written next, so TCP
//!   snoozes then, too.
//! - *Several failures* ([`WakesOn`]): §4 lets any router that forwarded the RFN send the RRN when it
//!   learns of a route, §5.4 only the failure point. By §4 whichever RRN comes first ends the snooze; if
//!   there is another failure behind it, the next packet draws the next RFN. By §5.4 it is that of the
//!   failure point whose RFN came last: those that come later come from nearer, because packets do not
//!   get past a nearer failure, nor do the RFNs of those behind it.
//! - *Before the connection is open* TCP-F stands aside; the paper speaks of a transfer under way.
//!
//! It needs from its driver: signals of this connection only ([`Signal::concerns`]), and a hold that
//! stops data and timers. A driver that has none leaves TCP on its own.

#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{
    Act, ActResult, Assign, Duration, Ipv4Addr, Release, RouteProbe, Signal, SignalKind,
};

use crate::Aid;
use crate::kit::{Context, Machine, Protocol, States, named, resume};
use crate::options::{AidOption, AidOptions, OptionField};

/// What chandran-1998 leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpFOptions {
    /// chandran-1998 §4: the longest that a route takes to come back, a parameter of the routing
    /// protocol. The default is the longest that AODV's search for a route takes before it gives up
    /// (RFC 3561 §6.3 and §10: 2.8 s, doubled twice, 19.6 s in all), rounded up; DSR's requests are
    /// at most 10 s apart (RFC 4728 §9).
    pub route_failure_timeout: Duration,
    /// chandran-1998 §4 restarts the timers from their frozen values, and sends nothing by itself. The
    /// default is otherwise: to the letter, TCP-F over today's TCPs is slower than no TCP-F
    /// (papers/chandran-1998).
    pub resume_from: ResumeFrom,
    /// Whose RRN ends the snooze (chandran-1998 §4, §5.4).
    pub wakes_on: WakeOn,
}

/// Where sending goes on after a snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ResumeFrom {
    /// At the first unacknowledged byte: all of the window that SACK has not reported goes again. Not in
    /// the paper.
    #[default]
    Una,
    /// Where it stopped, to the letter. What the failure took away waits for duplicates, or for the timer.
    Nxt,
}

/// Whose RRN ends a snooze.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WakeOn {
    /// Any router's.
    #[default]
    Any,
    /// That of the failure point, which sent the last RFN. Where a sender is not known, any.
    FailurePoint,
}

impl TcpFOptions {
    /// The shortest route failure timeout.
    pub const MIN_TIMEOUT: Duration = Duration::from_millis(1);
}

impl Default for TcpFOptions {
    fn default() -> Self {
        Self {
            route_failure_timeout: Duration::from_secs(20),
            resume_from: ResumeFrom::default(),
            wakes_on: WakeOn::default(),
        }
    }
}

impl AidOptions for TcpFOptions {
    const NAME: &'static str = "tcp-f";
    const SUMMARY: &'static str =
        "TCP-F (Chandran et al. 1998): snoozes from a route's failure to its return";
    const OPTIONS: &'static [AidOption<Self>] = &[
        AidOption {
            name: "route_failure_timeout",
            about: "from the first RFN on, how long to wait for an RRN",
            field: OptionField::Duration {
                min: Self::MIN_TIMEOUT,
                field: |o| &mut o.route_failure_timeout,
            },
        },
        AidOption {
            name: "resume_from",
            about: "where sending goes on: at the first unacknowledged byte, or where it stopped",
            field: OptionField::Choice(&[
                ("una", |o| o.resume_from = ResumeFrom::Una),
                ("nxt", |o| o.resume_from = ResumeFrom::Nxt),
            ]),
        },
        AidOption {
            name: "wakes_on",
            about: "whose RRN ends the snooze: any router's, or the failure point's",
            field: OptionField::Choice(&[
                ("any", |o| o.wakes_on = WakeOn::Any),
                ("failure-point", |o| o.wakes_on = WakeOn::FailurePoint),
            ]),
        },
    ];

    fn build(self) -> Box<dyn Aid> {
        Box::new(TcpF::new(self))
    }
}

named! {
    /// Where TCP-F is (chandran-1998 Fig. 2).
    pub enum State {
        /// TCP works as it would without TCP-F.
        Active = "active",
        /// The route is gone, and TCP stands still.
        Snooze = "snooze",
    }
}

named! {
    /// What moves TCP-F.
    pub enum Transition {
        /// An RFN came.
        RouteFailed = "RFN",
        /// An RRN came.
        RouteRestored = "RRN",
        /// The route failure timer went off.
        RouteFailureTimeout = "route failure timer",
        /// The driver can't hold TCP.
        Unsupported = "driver refuses",
        /// There is no connection any more.
        Closed = "connection gone",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Active;
    const CLOSED: Transition = Transition::Closed;

    fn next(self, cause: Transition) -> Self {
        match (self, cause) {
            // chandran-1998 §4
            (Self::Active, Transition::RouteFailed) => Self::Snooze,
            (Self::Snooze, Transition::RouteRestored | Transition::RouteFailureTimeout) => {
                Self::Active
            }
            // Not in the paper, whose TCP can refuse nothing and whose TCP-F dies with its TCP.
            (Self::Snooze, Transition::Unsupported | Transition::Closed) => Self::Active,
            (unmoved, _) => unmoved,
        }
    }
}

/// TCP-F to one connection.
#[derive(Clone, Debug)]
pub struct TcpF {
    options: TcpFOptions,
    /// Who sent the last RFN.
    failure_point: Option<Ipv4Addr>,
}

impl TcpF {
    /// To a new connection.
    pub fn new(options: TcpFOptions) -> Machine<Self> {
        let timeout = options.route_failure_timeout.max(TcpFOptions::MIN_TIMEOUT);
        let options = TcpFOptions { route_failure_timeout: timeout, ..options };
        Machine::new(Self { options, failure_point: None })
    }

    /// May this RRN end the snooze?
    fn ends_snooze(&self, signal: &Signal) -> bool {
        self.options.wakes_on == WakeOn::Any
            || match (self.failure_point, signal.details.reporter) {
                (Some(of), Some(from)) => of == from,
                _ => true,
            }
    }
}

impl Protocol for TcpF {
    type State = State;
    const NAME: &'static str = TcpFOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, cause: Transition) {
        match cx.state() {
            State::Snooze => {
                // chandran-1998 §4: the first RFN starts the timer; those that follow find us
                // snoozing and change nothing.
                *cx.timer = Some(cx.now + self.options.route_failure_timeout);
                cx.request(Act::Hold {
                    probe: None,
                    rewind_snd_nxt: self.options.resume_from == ResumeFrom::Una,
                    freeze_timers: true,
                    cwnd: Assign::Keep,
                    release: Release::Resume,
                });
            }
            State::Active => {
                *cx.timer = None;
                // chandran-1998 §4: the timers go on from their frozen values, and so do the
                // windows. When the route failure timer has gone off, all is as after an RRN, and
                // TCP's own congestion control finds out about the route.
                if !matches!(cause, Transition::Unsupported | Transition::Closed) {
                    cx.request(resume(Assign::Keep));
                }
                if cause != Transition::Unsupported {
                    cx.request(Act::ProbeRoute(RouteProbe::Off));
                }
            }
        }
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match signal.kind {
            SignalKind::RouteFailed => {
                self.failure_point = signal.details.reporter;
                self.transition(cx, Transition::RouteFailed);
            }
            SignalKind::RouteRestored if self.ends_snooze(signal) => {
                self.transition(cx, Transition::RouteRestored);
            }
            // chandran-1998 §5.4: congestion is TCP's own affair.
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
            // chandran-1998 §4 leaves finding a new route to routing, but a protocol that looks for
            // routes on demand never does for a source that sends nothing.
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
