//! The state machine of an aid.

use driftway_base::{Act, ActResult, Instant, Signal, TcpView};
use driftway_wire::TcpSegment;

use super::{Context, Named, PendingActs, States};
use crate::{Aid, Verdict};

/// An aid as its paper draws it: what it does for an event, and with a transition. The events are
/// those of [`Aid`], as long as it takes part in a connection.
pub trait Protocol: Send {
    /// Its states.
    type State: States;
    /// The name by which scenarios know it.
    const NAME: &'static str;

    /// Does what goes with the transition from `from`, which has just been made.
    fn on_transition(
        &mut self,
        cx: &mut Context<'_, Self::State>,
        from: Self::State,
        cause: <Self::State as States>::Transition,
    );

    /// A segment that TCP sends.
    fn on_down(&mut self, _: &mut Context<'_, Self::State>, _: &TcpSegment) -> Verdict {
        Verdict::Pass
    }
    /// A segment that arrives for TCP.
    fn on_up(&mut self, _: &mut Context<'_, Self::State>, _: &TcpSegment) -> Verdict {
        Verdict::Pass
    }
    /// TCP has taken the segment that came up last.
    fn on_processed(&mut self, _: &mut Context<'_, Self::State>) {}
    /// Whether it wants to hear of that.
    fn wants_taken(&self) -> bool {
        false
    }
    /// The network, or this host, reports something.
    fn on_signal(&mut self, _: &mut Context<'_, Self::State>, _: &Signal) {}
    /// A timer is due.
    fn on_timeout(&mut self, _: &mut Context<'_, Self::State>) {}
    /// What became of an act. It comes without a connection, too.
    fn on_done(&mut self, _: &mut Context<'_, Self::State>, _: &Act, _: ActResult) {}

    /// There is no connection: forgets what it kept of it. [`Machine`] has made the transition, and
    /// stops its timer and its acts.
    fn on_closed(&mut self) {}
    /// When it wants to be woken, beside the [timer](Context::timer).
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Moves on, and does what goes with that.
    fn transition(
        &mut self,
        cx: &mut Context<'_, Self::State>,
        cause: <Self::State as States>::Transition,
    ) {
        let from = *cx.state;
        *cx.state = from.next(cause);
        if *cx.state != from {
            self.on_transition(cx, from, cause);
        }
    }
}

/// A [`Protocol`] to one connection, with its state, its timer and what it asks for.
///
/// It takes part while the connection is in one of RFC 793's synchronized states; what comes before
/// and after passes. So does everything once the aid has [stepped aside](Context::step_aside).
#[derive(Clone, Debug)]
pub struct Machine<P: Protocol> {
    pub(crate) protocol: P,
    pub(crate) state: P::State,
    timer: Option<Instant>,
    acts: PendingActs,
    /// It takes no part any more.
    disabled: bool,
}

impl<P: Protocol> Machine<P> {
    /// To a new connection.
    pub fn new(protocol: P) -> Self {
        let (state, acts) = (P::State::INITIAL, PendingActs::default());
        Self { protocol, state, timer: None, acts, disabled: false }
    }

    fn parts<'a>(
        &'a mut self,
        now: Instant,
        view: &'a TcpView,
    ) -> (&'a mut P, Context<'a, P::State>) {
        let Self { protocol, state, timer, acts, disabled: aside } = self;
        (protocol, Context { now, view, timer, state, acts, disabled: aside })
    }

    /// The aid and what surrounds the event, if it takes part.
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

    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict {
        let Some((protocol, mut cx)) = self.active_parts(now, view) else { return Verdict::Pass };
        protocol.on_down(&mut cx, segment)
    }

    fn on_up(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> Verdict {
        let Some((protocol, mut cx)) = self.active_parts(now, view) else { return Verdict::Pass };
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
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::kit::named;
    use driftway_base::{Duration, SignalKind};

    named! {
        /// A toy's states.
        pub enum State {
            /// Waits for a signal.
            Idle = "idle",
            /// Has asked for something, and waits for its timer.
            Busy = "busy",
        }
    }

    named! {
        /// What moves it.
        pub enum Cause {
            /// A signal came.
            Signal = "signal",
            /// There is no connection any more.
            Closed = "closed",
        }
    }

    impl States for State {
        type Transition = Cause;
        const INITIAL: Self = Self::Idle;
        const CLOSED: Cause = Cause::Closed;

        fn next(self, cause: Cause) -> Self {
            match cause {
                Cause::Signal => Self::Busy,
                Cause::Closed => Self::Idle,
            }
        }
    }

    /// Drops what passes. At a signal it asks for an act, and steps aside if that is refused.
    struct Toy;

    impl Protocol for Toy {
        type State = State;
        const NAME: &'static str = "toy";

        fn on_transition(&mut self, cx: &mut Context<'_, State>, from: State, _: Cause) {
            assert_ne!(from, cx.state(), "a transition leads elsewhere");
            cx.request(Act::ReduceCwnd);
            *cx.timer = Some(cx.now + Duration::from_secs(1));
        }
        fn on_down(&mut self, _: &mut Context<'_, State>, _: &TcpSegment) -> Verdict {
            Verdict::Drop
        }
        fn on_up(&mut self, _: &mut Context<'_, State>, _: &TcpSegment) -> Verdict {
            Verdict::Drop
        }
        fn on_signal(&mut self, cx: &mut Context<'_, State>, _: &Signal) {
            self.transition(cx, Cause::Signal);
        }
        fn on_done(&mut self, cx: &mut Context<'_, State>, _: &Act, done: ActResult) {
            if done == ActResult::Unsupported {
                cx.disable();
            }
        }
    }

    const NOW: Instant = Instant::from_secs(5);

    fn view(synchronized: bool) -> TcpView {
        TcpView { is_synchronized: synchronized, ..TcpView::default() }
    }

    /// What becomes of a segment on its way down and up.
    fn verdicts(toy: &mut Machine<Toy>, synchronized: bool) -> [Verdict; 2] {
        let segment = TcpSegment { source_port: 1, destination_port: 2, ..TcpSegment::default() };
        let view = view(synchronized);
        [toy.on_down(NOW, &segment, &view), toy.on_up(NOW, &segment, &view)]
    }

    /// One that has sent its SYN, and got a signal on the connection then.
    fn signalled() -> Machine<Toy> {
        let mut toy = Machine::new(Toy);
        assert_eq!(verdicts(&mut toy, false), [Verdict::Pass; 2]);
        let signal = Signal::new(SignalKind::RouteFailed);
        toy.on_signal(NOW, &signal, &view(false));
        assert_eq!((toy.state(), toy.poll_act()), ("idle", None), "there is no connection yet");
        toy.on_signal(NOW, &signal, &view(true));
        assert_eq!(verdicts(&mut toy, true), [Verdict::Drop; 2]);
        assert_eq!((toy.state(), toy.next_timeout()), ("busy", Some(Instant::from_secs(6))));
        toy
    }

    #[test]
    fn the_end_of_the_connection_leads_back_to_the_start() {
        let mut toy = signalled();
        assert_eq!(verdicts(&mut toy, false), [Verdict::Pass; 2]);
        assert_eq!((toy.state(), toy.next_timeout(), toy.poll_act()), ("idle", None, None));
    }

    #[test]
    fn an_aid_that_has_stepped_aside_takes_no_part() {
        let mut toy = signalled();
        toy.on_done(NOW, &Act::ReduceCwnd, ActResult::Unsupported, &view(true));
        assert_eq!((toy.next_timeout(), toy.poll_act()), (None, None));
        toy.on_signal(NOW, &Signal::new(SignalKind::RouteFailed), &view(true));
        assert_eq!((toy.poll_act(), verdicts(&mut toy, true)), (None, [Verdict::Pass; 2]));
    }

    #[test]
    fn a_timer_that_is_not_due_goes_on() {
        let mut toy = signalled();
        let view = view(true);
        for (at, expires) in [(5, false), (6, true), (7, false)] {
            let (_, mut cx) = toy.parts(Instant::from_secs(at), &view);
            assert_eq!(cx.take_expired_timer(), expires, "{at} s");
        }
    }
}
