//! Calls of an aid's methods by the simulator.

use std::collections::VecDeque;
use std::sync::Arc;

use driftway::aid::registry::{AidEnd, AidPlace};
use driftway::base::options::OptionValue;
use driftway::base::{Act, ActResult};
use driftway::wire::TcpSegment;
use driftway::{Aid as AidOfTcp, Instant, SegmentVerdict, Signal as Event, TcpView};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::base::Aid;
use super::segment::Segment;
use super::signal::Signal;
use crate::options::keywords;
use crate::run_context::{Failure, RunContext};

/// The methods that a class has, bound to the aid. The others are not called.
struct Methods {
    on_down: Option<Py<PyAny>>,
    on_up: Option<Py<PyAny>>,
    on_signal: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_done: Option<Py<PyAny>>,
    on_closed: Option<Py<PyAny>>,
}

/// An aid whose class is Python's.
struct Instance {
    object: Py<Aid>,
    methods: Methods,
}

/// The aid at one end of one connection. It sees the events of a synchronized connection, as the built-in aids do.
pub struct PythonAid {
    name: &'static str,
    who: String,
    /// `None` once it has raised an exception.
    instance: Option<Instance>,
    context: Arc<RunContext>,
    is_synchronized: bool,
    acts: VecDeque<Act>,
    timer: Option<Instant>,
    state: &'static str,
    is_disconnected: bool,
}

/// An event: the method that it calls, and its arguments.
enum Call<'a> {
    Down(&'a TcpSegment),
    Up(&'a TcpSegment),
    Signal(&'a Event),
    Timeout,
    Done(&'a Act, ActResult),
    Closed,
}

impl PythonAid {
    /// Makes the aid for an end of a connection, with settings as keyword arguments. An exception ends the run at its
    /// start.
    pub fn build(
        name: &'static str,
        class: &Py<PyType>,
        place: AidPlace,
        settings: &[(&str, OptionValue)],
    ) -> Box<dyn AidOfTcp> {
        let context = RunContext::current();
        let end = match place.end {
            AidEnd::Sender => "sender",
            AidEnd::Receiver => "receiver",
            AidEnd::WirelessLeg => "wireless-leg",
            AidEnd::WiredLeg => "wired-leg",
        };
        let flow = place.flow.number();
        let mut aid = Self {
            name,
            who: format!("the aid `{name}` of flow {flow} ({end})"),
            instance: None,
            context,
            is_synchronized: false,
            acts: VecDeque::new(),
            timer: None,
            state: "",
            is_disconnected: false,
        };
        Python::attach(|py| match Self::instance(py, class, (flow, end), settings) {
            Ok(instance) => aid.instance = Some(instance),
            Err(error) => aid.fail(Instant::ZERO, error),
        });
        aid.read_state();
        Box::new(aid)
    }

    fn instance(
        py: Python<'_>,
        class: &Py<PyType>,
        (flow, end): (u32, &'static str),
        settings: &[(&str, OptionValue)],
    ) -> PyResult<Instance> {
        let keywords = keywords(py, settings)?;
        let object = class.bind(py).call((), Some(&keywords))?.cast_into::<Aid>()?;
        {
            let mut base = object.try_borrow_mut()?;
            (base.flow, base.end) = (flow, end);
        }
        let method = |name: &str| object.getattr(name).ok().map(Bound::unbind);
        let methods = Methods {
            on_down: method("on_down"),
            on_up: method("on_up"),
            on_signal: method("on_signal"),
            on_timeout: method("on_timeout"),
            on_done: method("on_done"),
            on_closed: method("on_closed"),
        };
        Ok(Instance { object: object.unbind(), methods })
    }

    /// Ends the run, and this aid.
    fn fail(&mut self, at: Instant, error: PyErr) {
        self.context.fail(Failure { who: self.who.clone(), at, error });
        self.instance = None;
        self.acts.clear();
        self.timer = None;
    }

    /// Reads the initial state.
    fn read_state(&mut self) {
        let Some(instance) = &self.instance else { return };
        Python::attach(|py| {
            if let Ok(base) = instance.object.bind(py).try_borrow() {
                (self.state, self.is_disconnected) = (base.state, base.is_disconnected);
            }
        });
    }

    /// Calls a method, if the aid has it.
    fn call(&mut self, now: Instant, view: &TcpView, call: &Call<'_>) -> SegmentVerdict {
        let Some(Instance { object, methods }) = &self.instance else {
            return SegmentVerdict::Pass;
        };
        let method = match call {
            Call::Down(_) => &methods.on_down,
            Call::Up(_) => &methods.on_up,
            Call::Signal(_) => &methods.on_signal,
            Call::Timeout => &methods.on_timeout,
            Call::Done(..) => &methods.on_done,
            Call::Closed => &methods.on_closed,
        };
        let Some(method) = method else { return SegmentVerdict::Pass };
        let made = Python::attach(|py| -> PyResult<(SegmentVerdict, After)> {
            let (object, method) = (object.bind(py), method.bind(py));
            {
                let mut base = object.try_borrow_mut()?;
                (base.now, base.view, base.timer) = (now, *view, self.timer);
            }
            let answer = match call {
                Call::Down(segment) | Call::Up(segment) => method.call1((Segment(**segment),))?,
                Call::Signal(signal) => method.call1((Signal(**signal),))?,
                Call::Timeout | Call::Closed => method.call0()?,
                Call::Done(act, result) => {
                    method.call1((name_of(act), *result == ActResult::Done))?
                }
            };
            let verdict = match call {
                Call::Down(_) | Call::Up(_) => verdict(&answer)?,
                _ => SegmentVerdict::Pass,
            };
            let mut base = object.try_borrow_mut()?;
            let acts = std::mem::take(&mut base.acts);
            let (timer, state) = (base.timer, base.state);
            Ok((verdict, After { acts, timer, state, is_disconnected: base.is_disconnected }))
        });
        match made {
            Ok((verdict, after)) => {
                self.acts.extend(after.acts);
                self.timer = after.timer;
                self.state = after.state;
                self.is_disconnected = after.is_disconnected;
                verdict
            }
            Err(error) => {
                self.fail(now, error);
                SegmentVerdict::Pass
            }
        }
    }

    /// Returns whether the connection is synchronized; once it is not any more, the aid's timer and acts are void.
    fn is_active(&mut self, now: Instant, view: &TcpView) -> bool {
        let was = std::mem::replace(&mut self.is_synchronized, view.is_synchronized);
        if was && !view.is_synchronized {
            self.timer = None;
            self.call(now, view, &Call::Closed);
            self.timer = None;
            self.acts.clear();
        }
        view.is_synchronized
    }
}

/// State of the base class after a call.
struct After {
    acts: VecDeque<Act>,
    timer: Option<Instant>,
    state: &'static str,
    is_disconnected: bool,
}

/// The verdict that a method returns.
fn verdict(answer: &Bound<'_, PyAny>) -> PyResult<SegmentVerdict> {
    if answer.is_none() {
        return Ok(SegmentVerdict::Pass);
    }
    if let Ok(segment) = answer.cast::<Segment>() {
        return Ok(SegmentVerdict::Replace(segment.get().0));
    }
    match answer.extract::<String>().as_deref() {
        Ok("pass") => Ok(SegmentVerdict::Pass),
        Ok("drop") => Ok(SegmentVerdict::Drop),
        Ok("hold") => Ok(SegmentVerdict::Hold),
        _ => Err(PyTypeError::new_err(format!(
            "on_down and on_up return None, \"pass\", \"drop\", \"hold\" or a segment, and not {}",
            answer.repr()?
        ))),
    }
}

/// The name of the method that requests an act.
const fn name_of(act: &Act) -> &'static str {
    match act {
        Act::Hold { .. } => "hold",
        Act::Resume { .. } => "resume",
        Act::Resend { .. } => "resend",
        Act::Undo => "undo",
        Act::ReduceCwnd => "reduce_cwnd",
        Act::SetTimeoutResponse { .. } => "set_timeout_response",
        Act::LimitCwnd { .. } => "limit_cwnd",
        Act::SendAcks { .. } => "send_acks",
        Act::ProbeRoute(_) => "probe_route",
    }
}

impl AidOfTcp for PythonAid {
    fn name(&self) -> &'static str {
        self.name
    }

    fn state(&self) -> &'static str {
        self.state
    }

    fn is_disconnected(&self) -> bool {
        self.is_disconnected
    }

    fn on_down(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        if !self.is_active(now, view) {
            return SegmentVerdict::Pass;
        }
        self.call(now, view, &Call::Down(segment))
    }

    fn on_up(&mut self, now: Instant, segment: &TcpSegment, view: &TcpView) -> SegmentVerdict {
        if !self.is_active(now, view) {
            return SegmentVerdict::Pass;
        }
        self.call(now, view, &Call::Up(segment))
    }

    fn on_signal(&mut self, now: Instant, signal: &Event, view: &TcpView) {
        if self.is_active(now, view) {
            self.call(now, view, &Call::Signal(signal));
        }
    }

    fn on_timeout(&mut self, now: Instant, view: &TcpView) {
        if self.is_active(now, view) && self.timer.take_if(|at| *at <= now).is_some() {
            self.call(now, view, &Call::Timeout);
        }
    }

    fn on_done(&mut self, now: Instant, act: &Act, done: ActResult, view: &TcpView) {
        self.call(now, view, &Call::Done(act, done));
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn poll_act(&mut self) -> Option<Act> {
        self.acts.pop_front()
    }
}
