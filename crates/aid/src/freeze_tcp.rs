//! Freeze-TCP (Goff, Moronski, Phatak & Gupta, INFOCOM 2000, as described in singh-iyer-2002 §II).
//!
//! The mobile host's network layer predicts a disconnection ([`SignalKind::LinkFading`]). The host
//! then advertises a closed window, so that the fixed host's TCP stops sending, enters persist mode and keeps
//! its congestion window and timeout. When the host is connected again, it sends three
//! acknowledgments with the open window. The best time of the warning is a round trip before the
//! disconnection: earlier, sending stops for longer than necessary; later, data is in flight when the link
//! fails.
//!
//! Interpretation of what singh-iyer-2002 leaves open:
//!
//! - *Acknowledgments between the warning and the connection* carry a closed window as well: any
//!   other would open it again.
//! - *A disconnection without a warning*: nothing can reach the peer; at the connection the three
//!   acknowledgments are sent, as in [`three_dupacks`](crate::three_dupacks).
//! - *A warning without a disconnection* (`false_alarm_after`): the window is opened this long after the
//!   predicted time of the disconnection. A segment that arrives some time after the disconnection shows that the
//!   host is connected.
//! - *The mobile host as sender* is not described there. Here its own TCP freezes with all its timers from the
//!   warning, or from the disconnection without one, to the connection. Probes of one byte are sent
//!   (`probe_min`, `probe_max`), so that it cannot stop for ever.
//! - *A host that has received no data* sends no acknowledgments.
//!
//! Driver requirements: replaced windows and [`Act::SendAcks`] for the receiver, a hold for the sender. What
//! is not supported is not done.

#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{
    Act, ActResult, Assign, Duration, HeldTimers, Named, ProbeSpacing, Release, RouteProbe, Signal,
    named, options,
};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::kit::{
    Context, DisconnectedSince, LinkChange, Machine, Protocol, States, resume, send_acks,
};
use crate::options::AidOptions;
use crate::{Aid, SegmentVerdict};

#[cfg(doc)]
use driftway_base::SignalKind;

options! {
    /// Parameters of Freeze-TCP.
    pub struct FreezeTcpOptions {
        /// Number of acknowledgments that open the window (singh-iyer-2002 §II).
        copies: count(3, 1..=Self::MAX_COPIES),
        /// Time after the predicted disconnection at which the window is opened if there is none. Not in
        /// the paper.
        false_alarm_after: time(1 s, Self::MIN_SPAN..),
        /// Time from the warning to a frozen sender's first probe of one byte, in case the connection
        /// signal is missing. Not in the paper.
        // The RTO's lower bound (RFC 6298 §2.4).
        probe_min: time(1 s, Self::MIN_SPAN..),
        /// Longest interval between two probes; each is twice as long as the one before.
        // The RTO's upper bound (RFC 6298 §2.5).
        probe_max: time(60 s, Self::MIN_SPAN..),
    }
}

impl FreezeTcpOptions {
    /// Maximum number of acknowledgments.
    pub const MAX_COPIES: u32 = 100;
    /// Minimum of the durations.
    pub const MIN_SPAN: Duration = Duration::from_millis(100);
}

impl AidOptions for FreezeTcpOptions {
    const NAME: &'static str = "freeze-tcp";
    const SUMMARY: &'static str = "Freeze-TCP (Goff et al. 2000): a mobile host that expects a \
        disconnection closes its window, and opens it when it is connected again.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;
    const ORDERED_OPTIONS: &'static [(&'static str, &'static str)] = &[("probe_min", "probe_max")];

    fn build(self) -> Box<dyn Aid> {
        Box::new(FreezeTcp::new(self))
    }
}

named! {
    /// States of Freeze-TCP.
    pub enum State {
        /// Normal TCP operation.
        Active = "active",
        /// A disconnection is expected: the window is closed, and the host's own TCP is frozen.
        Frozen = "frozen",
        /// The host is disconnected.
        Disconnected = "disconnected",
    }
}

named! {
    /// Transitions of Freeze-TCP.
    pub enum Transition {
        /// A disconnection is expected.
        Warning = "warning",
        /// The host is disconnected.
        Disconnection = "disconnection",
        /// The host is connected.
        Connection = "connection",
        /// The expected disconnection has not come.
        FalseAlarm = "false alarm",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Active;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Disconnected];

    fn next(self, transition: Transition) -> Self {
        match (self, transition) {
            (Self::Active, Transition::Warning) => Self::Frozen,
            (Self::Active | Self::Frozen, Transition::Disconnection) => Self::Disconnected,
            (Self::Frozen, Transition::FalseAlarm) => Self::Active,
            (_, Transition::Connection | Transition::Closed) => Self::Active,
            (unmoved, _) => unmoved,
        }
    }
}

/// The aid for one connection.
#[derive(Clone, Debug)]
pub struct FreezeTcp {
    options: FreezeTcpOptions,
    /// The peer has sent data.
    receives: bool,
    /// The peer was notified that the window is closed.
    window_closed: bool,
    /// The host's own TCP is frozen.
    holds: bool,
    disconnected: DisconnectedSince,
}

impl FreezeTcp {
    /// Creates the aid for a new connection.
    pub fn new(options: FreezeTcpOptions) -> Machine<Self> {
        Machine::new(Self {
            options,
            receives: false,
            window_closed: false,
            holds: false,
            disconnected: DisconnectedSince::default(),
        })
    }

    /// Stops the host's own TCP.
    fn freeze(&mut self, cx: &mut Context<'_, State>) {
        if !self.holds {
            self.holds = true;
            let (first, longest) = (self.options.probe_min, self.options.probe_max);
            cx.request(Act::Hold {
                probe: Some(ProbeSpacing::new(first, longest)),
                rewind_snd_nxt: false,
                timers: HeldTimers::Freeze,
                cwnd: Assign::Keep,
                release: Release::Resume,
            });
        }
    }

    fn thaw(&mut self, cx: &mut Context<'_, State>) {
        self.window_closed = false;
        if core::mem::take(&mut self.holds) {
            cx.request(resume(Assign::Keep));
            cx.request(Act::ProbeRoute(RouteProbe::Off));
        }
        let copies = self.options.copies.clamp(1, FreezeTcpOptions::MAX_COPIES) as u8;
        if self.receives
            && let Some(ack) = cx.view.rcv_nxt.value()
        {
            cx.request(send_acks(ack, copies));
        }
    }
}

impl Protocol for FreezeTcp {
    type State = State;
    const NAME: &'static str = FreezeTcpOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, transition: Transition) {
        match transition {
            Transition::Warning => {
                self.freeze(cx);
                self.window_closed = true;
                if self.receives
                    && let Some(ack) = cx.view.rcv_nxt.value()
                {
                    cx.request(Act::SendAcks { ack, window: 0, copies: 1 });
                }
            }
            Transition::Disconnection => {
                self.disconnected.on_down(cx.now);
                *cx.timer = None;
                self.freeze(cx);
                // An on-demand routing protocol looks for no route while nothing is sent. Before the
                // disconnection there is one.
                cx.request(Act::ProbeRoute(RouteProbe::Repeated));
            }
            Transition::Connection | Transition::FalseAlarm => {
                self.disconnected.on_up();
                *cx.timer = None;
                self.thaw(cx);
            }
            Transition::Closed => {}
        }
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match LinkChange::of(signal) {
            Some(LinkChange::Fading(lifetime)) if cx.state() == State::Active => {
                *cx.timer = Some(cx.now + (lifetime + self.options.false_alarm_after));
                self.transition(cx, Transition::Warning);
            }
            Some(LinkChange::Fading(_)) | None => {}
            Some(LinkChange::Down) => self.transition(cx, Transition::Disconnection),
            Some(LinkChange::Up) => self.transition(cx, Transition::Connection),
        }
    }

    fn on_timeout(&mut self, cx: &mut Context<'_, State>) {
        if cx.take_expired_timer() {
            self.transition(cx, Transition::FalseAlarm);
        }
    }

    fn on_up(&mut self, cx: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        self.receives |= segment.sequence_len() > 0;
        if self.disconnected.is_disproved_by_arrival(cx.now) {
            self.transition(cx, Transition::Connection);
        }
        SegmentVerdict::Pass
    }

    fn on_down(&mut self, _: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        let carries_window = segment.flags.contains(TcpFlags::ACK);
        match self.window_closed && carries_window && !segment.flags.contains(TcpFlags::RST) {
            true => SegmentVerdict::Replace(TcpSegment { window: 0, ..*segment }),
            false => SegmentVerdict::Pass,
        }
    }

    fn on_done(&mut self, cx: &mut Context<'_, State>, act: &Act, done: ActResult) {
        if matches!((act, done), (Act::Hold { .. }, ActResult::Unsupported)) {
            self.holds = false;
            cx.request(Act::ProbeRoute(RouteProbe::Off));
        }
    }

    fn on_closed(&mut self) {
        (self.window_closed, self.holds) = (false, false);
        self.disconnected.on_up();
    }
}
