//! Three duplicate acknowledgments after a disconnection (Cáceres & Iftode 1995, as described in
//! singh-iyer-2002 §II).
//!
//! When the mobile host is connected again, it sends three duplicate acknowledgments, so that the fixed host's
//! TCP retransmits at once (fast retransmit, RFC 5681 §3.2) instead of after a timeout; its congestion
//! window is reduced.
//!
//! Interpretation of what singh-iyer-2002 leaves open:
//!
//! - *The mobile host as sender* is not described there; Cáceres and Iftode let its own TCP perform a fast
//!   retransmit. Here the window is reduced, and the first unacknowledged segment is retransmitted.
//! - *A host that has received no data* sends no acknowledgments.
//! - *Acknowledgments that were lost* with the connection: the first copy is new to the peer then, and only
//!   two are duplicates. `copies` allows more.
//!
//! Driver requirements: [`Act::SendAcks`] for the receiver; [`Act::ReduceCwnd`] and [`Act::Resend`] for the
//! sender. What is not supported is not done.

#[cfg(test)]
mod test;

use alloc::boxed::Box;

use driftway_base::{Act, Named, Signal, named, options};
use driftway_wire::TcpSegment;

use crate::kit::{Context, DEFAULT_MSS, LinkChange, Machine, Protocol, States, send_acks};
use crate::options::AidOptions;
use crate::{Aid, SegmentVerdict};

options! {
    /// Parameter of three duplicate acknowledgments.
    pub struct ThreeDupacksOptions {
        /// Number of acknowledgments that are sent after a disconnection (singh-iyer-2002 §II).
        copies: count(3, 1..=Self::MAX_COPIES),
    }
}

impl ThreeDupacksOptions {
    /// Maximum number of acknowledgments.
    pub const MAX_COPIES: u32 = 100;
}

impl AidOptions for ThreeDupacksOptions {
    const NAME: &'static str = "three-dupacks";
    const SUMMARY: &'static str = "Three duplicate acknowledgments (Cáceres & Iftode 1995): a mobile \
        host that is connected again makes its peer's TCP retransmit at once.";
    const STATES: &'static [(&'static str, &'static str)] = State::DESCRIPTIONS;

    fn build(self) -> Box<dyn Aid> {
        Box::new(ThreeDupacks::new(self))
    }
}

named! {
    /// States of the aid.
    pub enum State {
        /// The host is connected.
        Connected = "connected",
        /// The host is disconnected; TCP runs as usual.
        Disconnected = "disconnected",
    }
}

named! {
    /// Transitions of the aid.
    pub enum Transition {
        /// The host is disconnected.
        Disconnection = "disconnection",
        /// The host is connected.
        Connection = "connection",
        /// The connection is closed.
        Closed = "connection closed",
    }
}

impl States for State {
    type Transition = Transition;
    const INITIAL: Self = Self::Connected;
    const CLOSED: Transition = Transition::Closed;
    const DISCONNECTED: &'static [Self] = &[Self::Disconnected];

    fn next(self, transition: Transition) -> Self {
        match transition {
            Transition::Disconnection => Self::Disconnected,
            Transition::Connection | Transition::Closed => Self::Connected,
        }
    }
}

/// The aid for one connection.
#[derive(Clone, Debug)]
pub struct ThreeDupacks {
    copies: u8,
    /// The peer has sent data.
    receives: bool,
}

impl ThreeDupacks {
    /// Creates the aid for a new connection.
    pub fn new(options: ThreeDupacksOptions) -> Machine<Self> {
        let copies = options.copies.clamp(1, ThreeDupacksOptions::MAX_COPIES) as u8;
        Machine::new(Self { copies, receives: false })
    }
}

impl Protocol for ThreeDupacks {
    type State = State;
    const NAME: &'static str = ThreeDupacksOptions::NAME;

    fn on_transition(&mut self, cx: &mut Context<'_, State>, _: State, transition: Transition) {
        if transition != Transition::Connection {
            return;
        }
        if self.receives
            && let Some(ack) = cx.view.rcv_nxt.value()
        {
            cx.request(send_acks(ack, self.copies));
        }
        if let Some(mut range) = cx.view.outstanding() {
            let mss = cx.view.mss.value().unwrap_or(DEFAULT_MSS).max(1);
            range.end = range.end.min(range.start + mss);
            cx.request(Act::ReduceCwnd);
            cx.request(Act::Resend { range, ahead_of_queue: false });
        }
    }

    fn on_signal(&mut self, cx: &mut Context<'_, State>, signal: &Signal) {
        match LinkChange::of(signal) {
            Some(LinkChange::Down) => self.transition(cx, Transition::Disconnection),
            Some(LinkChange::Up) => self.transition(cx, Transition::Connection),
            Some(LinkChange::Fading(_)) | None => {}
        }
    }

    fn on_up(&mut self, _: &mut Context<'_, State>, segment: &TcpSegment) -> SegmentVerdict {
        self.receives |= segment.sequence_len() > 0;
        SegmentVerdict::Pass
    }
}
