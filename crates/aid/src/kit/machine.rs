//! State machine of an aid.

use driftway_base::{Act, ActResult, Instant, Named, Signal, TcpView};
use driftway_wire::{TcpFlags, TcpSegment};

use super::{Context, PendingActs, States};
use crate::{Aid, LossDecisions, SegmentVerdict};

/// The rules of an aid: its actions for events and transitions. The events are those of [`Aid`], limited to a
/// synchronized connection.
pub trait Protocol: Send {
    /// State type.
    type State: States;
    /// Name of the aid in scenarios.
    const NAME: &'static str;

    /// Performs the actions of the transition from `from` to the present state.
    fn on_transition(
        &mut self,
        cx: &mut Context<'_, Self::State>,
        from: Self::State,
        transition: <Self::State as States>::Transition,
    );

    /// TCP sends a segment.
    fn on_down(&mut self, _: &mut Context<'_, Self::State>, _: &TcpSegment) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    /// A segment arrives for TCP.
    fn on_up(&mut self, _: &mut Context<'_, Self::State>, _: &TcpSegment) -> SegmentVerdict {
        SegmentVerdict::Pass
    }
    /// TCP has processed the last incoming segment.
    fn on_processed(&mut self, _: &mut Context<'_, Self::State>) {}
    /// Returns true if the aid requests `on_processed`.
    fn wants_taken(&self) -> bool {
        false
    }
    /// The network or the local host reports an event.
    fn on_signal(&mut self, _: &mut Context<'_, Self::State>, _: &Signal) {}
    /// A timer has expired.
    fn on_timeout(&mut self, _: &mut Context<'_, Self::State>) {}
    /// Result of an act; also called without a synchronized connection.
    fn on_done(&mut self, _: &mut Context<'_, Self::State>, _: &Act, _: ActResult) {}

    /// A SYN is sent or arrives, before the connection is synchronized.
    fn on_syn(&mut self, _: &TcpSegment) {}
    /// The connection is closed: clears the state kept for it. [`Machine`] makes the transition, stops the
    /// timer and removes pending acts.
    fn on_closed(&mut self) {}
    /// Expiry of a second timer, in addition to [`Context::timer`].
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    /// Returns true if the aid needs no more than copies of segments in this state; see [`Aid::only_watches`].
    fn only_watches(&self, _: Self::State, _: &TcpView) -> bool {
        false
    }
    /// Decisions about losses.
    fn loss_decisions(&self) -> LossDecisions {
        LossDecisions::default()
    }

    /// Changes the state and performs the actions of the transition.
    fn transition(
        &mut self,
        cx: &mut Context<'_, Self::State>,
        transition: <Self::State as States>::Transition,
    ) {
        let from = *cx.state;
        *cx.state = from.next(transition);
        if *cx.state != from {
            self.on_transition(cx, from, transition);
        }
    }
}

/// A [`Protocol`] for one connection, with its state, timer and pending acts.
///
/// It is active while the connection is in one of RFC 793's synchronized states; other segments pass. All
/// segments pass once the aid is [disabled](Context::disable).
#[derive(Clone, Debug)]
pub struct Machine<P: Protocol> {
    pub(crate) protocol: P,
    pub(crate) state: P::State,
    timer: Option<Instant>,
    acts: PendingActs,
    /// The aid is disabled.
    disabled: bool,
}

impl<P: Protocol> Machine<P> {
    /// Creates the aid for a new connection.
    pub fn new(protocol: P) -> Self {
        let (state, acts) = (P::State::INITIAL, PendingActs::default());
        Self { protocol, state, timer: None, acts, disabled: false }
    }

    fn parts<'a>(
        &'a mut self,
        now: Instant,
        view: &'a TcpView,
    ) -> (&'a mut P, Context<'a, P::State>) {
        let Self { protocol, state, timer, acts, disabled } = self;
        (protocol, Context { now, view, timer, state, acts, disabled })
    }

    /// The protocol and the context of an event, if the aid is active.
    fn active_parts<'a>(
        &'a mut self,
        now: Instant,
        view: &'a TcpView,
    ) -> Option<(&'a mut P, Context<'a, P::State>)> {
        let (protocol, mut cx) = self.parts(now, view);
        if !view.is_synchronized {
            protocol.transition(&mut cx, P::State::CLOSED);
            protocol.on_closed();
            cx.stop();
        }
        (view.is_synchronized && !*cx.disabled).then_some((protocol, cx))
    }
}

impl<P: Protocol> Aid for Machine<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn state(&self) -> &'static str {
        self.state.name()
    }

    fn is_disconnected(&self) -> bool {
        P::State::DISCONNECTED.contains(&self.state)
    }

    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        if segment.flags.contains(TcpFlags::SYN) {
            self.protocol.on_syn(segment);
        }
        let Some((protocol, mut cx)) = self.active_parts(now, view) else {
            return SegmentVerdict::Pass;
        };
        protocol.on_down(&mut cx, segment)
    }

    fn on_up(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        if segment.flags.contains(TcpFlags::SYN) {
            self.protocol.on_syn(segment);
        }
        let Some((protocol, mut cx)) = self.active_parts(now, view) else {
            return SegmentVerdict::Pass;
        };
        protocol.on_up(&mut cx, segment)
    }

    fn on_processed(&mut self, now: Instant, view: &TcpView) {
        if let Some((protocol, mut cx)) = self.active_parts(now, view) {
            protocol.on_processed(&mut cx);
        }
    }

    fn wants_processed(&self) -> bool {
        self.protocol.wants_taken()
    }

    fn on_signal(&mut self, now: Instant, signal: &Signal, view: &TcpView) {
        if let Some((protocol, mut cx)) = self.active_parts(now, view) {
            protocol.on_signal(&mut cx, signal);
        }
    }

    fn on_timeout(&mut self, now: Instant, view: &TcpView) {
        if let Some((protocol, mut cx)) = self.active_parts(now, view) {
            protocol.on_timeout(&mut cx);
        }
    }

    fn on_done(&mut self, now: Instant, act: &Act, done: ActResult, view: &TcpView) {
        let (protocol, mut cx) = self.parts(now, view);
        protocol.on_done(&mut cx, act, done);
    }

    fn next_timeout(&self) -> Option<Instant> {
        [self.timer, self.protocol.next_timeout()].into_iter().flatten().min()
    }

    fn poll_act(&mut self) -> Option<Act> {
        self.acts.poll()
    }

    fn only_watches(&self, view: &TcpView) -> bool {
        let is_idle = self.timer.is_none() && self.protocol.only_watches(self.state, view);
        self.disabled || is_idle
    }

    fn loss_decisions(&self) -> LossDecisions {
        self.protocol.loss_decisions()
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::named;
    use driftway_base::{Duration, SignalKind};

    named! {
        /// States of a test protocol.
        pub enum State {
            /// Waits for a signal.
            Idle = "idle",
            /// Has requested an act and started its timer.
            Busy = "busy",
        }
    }

    named! {
        /// Transitions of a test protocol.
        pub enum Transition {
            /// A signal was received.
            Signal = "signal",
            /// The connection is closed.
            Closed = "closed",
        }
    }

    impl States for State {
        type Transition = Transition;
        const INITIAL: Self = Self::Idle;
        const CLOSED: Transition = Transition::Closed;
        const DISCONNECTED: &'static [Self] = &[Self::Busy];

        fn next(self, transition: Transition) -> Self {
            match transition {
                Transition::Signal => Self::Busy,
                Transition::Closed => Self::Idle,
            }
        }
    }

    /// Drops all segments. Requests an act for a signal, and disables itself if the act is unsupported.
    struct Toy;

    impl Protocol for Toy {
        type State = State;
        const NAME: &'static str = "toy";

        fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, _: Transition) {
            assert_ne!(from, cx.state(), "a transition changes the state");
            cx.request(Act::ReduceCwnd);
            *cx.timer = Some(cx.now + Duration::from_secs(1));
        }
        fn on_down(&mut self, _: &mut Context<'_, State>, _: &TcpSegment) -> SegmentVerdict {
            SegmentVerdict::Drop
        }
        fn on_up(&mut self, _: &mut Context<'_, State>, _: &TcpSegment) -> SegmentVerdict {
            SegmentVerdict::Drop
        }
        fn on_signal(&mut self, cx: &mut Context<'_, State>, _: &Signal) {
            self.transition(cx, Transition::Signal);
        }
        fn on_done(&mut self, cx: &mut Context<'_, State>, _: &Act, done: ActResult) {
            if done == ActResult::Unsupported {
                cx.disable();
            }
        }
    }

    const NOW: Instant = Instant::from_secs(5);

    fn view(is_synchronized: bool) -> TcpView {
        TcpView { is_synchronized, ..TcpView::default() }
    }

    /// Verdicts for an outgoing and an incoming segment.
    fn verdicts(toy: &mut Machine<Toy>, synchronized: bool) -> [SegmentVerdict; 2] {
        let segment = TcpSegment { source_port: 1, destination_port: 2, ..TcpSegment::default() };
        let view = view(synchronized);
        [toy.on_down(NOW, &segment, &view), toy.on_up(NOW, &segment, &view)]
    }

    /// A machine that received a signal before and after the connection was synchronized.
    fn signalled() -> Machine<Toy> {
        let mut toy = Machine::new(Toy);
        assert_eq!(verdicts(&mut toy, false), [SegmentVerdict::Pass; 2]);
        let signal = Signal::new(SignalKind::RouteFailed);
        toy.on_signal(NOW, &signal, &view(false));
        assert_eq!((toy.state(), toy.poll_act()), ("idle", None), "not synchronized yet");
        assert!(!toy.is_disconnected());
        toy.on_signal(NOW, &signal, &view(true));
        assert_eq!(verdicts(&mut toy, true), [SegmentVerdict::Drop; 2]);
        assert_eq!((toy.state(), toy.next_timeout()), ("busy", Some(Instant::from_secs(6))));
        assert!(toy.is_disconnected());
        toy
    }

    #[test]
    fn closing_the_connection_returns_to_the_initial_state() {
        let mut toy = signalled();
        assert_eq!(verdicts(&mut toy, false), [SegmentVerdict::Pass; 2]);
        assert_eq!((toy.state(), toy.next_timeout(), toy.poll_act()), ("idle", None, None));
    }

    #[test]
    fn a_disabled_aid_passes_all_segments() {
        let mut toy = signalled();
        toy.on_done(NOW, &Act::ReduceCwnd, ActResult::Unsupported, &view(true));
        assert_eq!((toy.next_timeout(), toy.poll_act()), (None, None));
        toy.on_signal(NOW, &Signal::new(SignalKind::RouteFailed), &view(true));
        assert_eq!((toy.poll_act(), verdicts(&mut toy, true)), (None, [SegmentVerdict::Pass; 2]));
    }

    #[test]
    fn an_unexpired_timer_keeps_running() {
        let mut toy = signalled();
        let view = view(true);
        for (at, expires) in [(5, false), (6, true), (7, false)] {
            let (_, mut cx) = toy.parts(Instant::from_secs(at), &view);
            assert_eq!(cx.take_expired_timer(), expires, "{at} s");
        }
    }
}
