//! Calls of a congestion control's methods by the simulator.

use std::fmt;
use std::sync::Arc;

use driftway::Instant;
use driftway::base::options::OptionValue;
use driftway::tcp::congestion::{
    AckedData, CongestionControl, CongestionWindow, MAX_WINDOW, slow_start,
};
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::acked::Acked;
use super::base::Growth;
use crate::options::keywords;
use crate::run_context::{Failure, RunContext};

/// The methods that a class has, bound to the control. In place of the others is Reno (RFC 5681).
struct Methods {
    on_ack: Option<Py<PyAny>>,
    on_loss: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
}

struct Instance {
    object: Py<Growth>,
    methods: Methods,
}

/// A congestion control whose class is Python's.
struct PythonGrowth {
    name: &'static str,
    /// `None` once it has raised an exception.
    instance: Option<Instance>,
    context: Arc<RunContext>,
    /// The time of the last event, for those that have none.
    now: Instant,
}

impl fmt::Debug for PythonGrowth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Makes the congestion control of a connection, with settings as keyword arguments. An exception ends the run.
pub fn build(
    name: &'static str,
    class: &Py<PyType>,
    settings: &[(&str, OptionValue)],
) -> Box<dyn CongestionControl> {
    let context = RunContext::current();
    let mut control = PythonGrowth { name, instance: None, context, now: Instant::ZERO };
    match Python::attach(|py| instance(py, class, settings)) {
        Ok(made) => control.instance = Some(made),
        Err(error) => control.fail(error),
    }
    Box::new(control)
}

fn instance(
    py: Python<'_>,
    class: &Py<PyType>,
    settings: &[(&str, OptionValue)],
) -> PyResult<Instance> {
    let keywords = keywords(py, settings)?;
    let object = class.bind(py).call((), Some(&keywords))?.cast_into::<Growth>()?;
    let method = |name: &str| object.getattr(name).ok().map(Bound::unbind);
    let methods = Methods {
        on_ack: method("on_ack"),
        on_loss: method("on_loss"),
        on_timeout: method("on_timeout"),
        on_undo: method("on_undo"),
    };
    Ok(Instance { object: object.unbind(), methods })
}

impl PythonGrowth {
    fn fail(&mut self, error: PyErr) {
        let who = format!("the congestion control `{}`", self.name);
        self.context.fail(Failure { who, at: self.now, error });
        self.instance = None;
    }

    /// Calls a method with a window, which it may change; `None` if the class has no such method, or it failed.
    fn call<T>(
        &mut self,
        window: Option<&mut CongestionWindow>,
        method: fn(&Methods) -> Option<&Py<PyAny>>,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let Instance { object, methods } = self.instance.as_ref()?;
        let method = method(methods)?;
        let now = self.now;
        let made = Python::attach(|py| {
            let object = object.bind(py);
            {
                let mut base = object.try_borrow_mut()?;
                base.now = now;
                if let Some(window) = &window {
                    base.window = **window;
                }
            }
            let answer = call(method.bind(py))?;
            if let Some(window) = window {
                *window = object.try_borrow()?.window;
            }
            Ok(answer)
        });
        made.map_err(|error| self.fail(error)).ok()
    }
}

impl CongestionControl for PythonGrowth {
    fn on_ack(&mut self, now: Instant, window: &mut CongestionWindow, acked: &AckedData) {
        self.now = now;
        let called = self.call(
            Some(window),
            |methods| methods.on_ack.as_ref(),
            |method| method.call1((Acked(*acked),)).map(drop),
        );
        if called.is_none() {
            reno(window, acked);
        }
        // A window of less than a segment would send nothing for ever.
        window.cwnd = window.cwnd.clamp(acked.mss.min(MAX_WINDOW), MAX_WINDOW);
    }

    fn on_loss(
        &mut self,
        now: Instant,
        window: &CongestionWindow,
        flight_size: u32,
        mss: u32,
    ) -> u32 {
        self.now = now;
        let mut copy = *window;
        let threshold = self.call(
            Some(&mut copy),
            |methods| methods.on_loss.as_ref(),
            |method| method.call1((flight_size, mss))?.extract::<u32>(),
        );
        threshold.unwrap_or(flight_size / 2).max(2 * mss)
    }

    fn on_timeout(&mut self) {
        self.call(None, |methods| methods.on_timeout.as_ref(), |method| method.call0().map(drop));
    }

    fn on_undo(&mut self) {
        self.call(None, |methods| methods.on_undo.as_ref(), |method| method.call0().map(drop));
    }
}

/// Reno: a segment more in each round trip (RFC 5681 §3.1, equation 3).
fn reno(window: &mut CongestionWindow, acked: &AckedData) {
    let Some(acked) = slow_start(window, acked) else { return };
    let squared = u64::from(acked.mss) * u64::from(acked.mss);
    let increment = (squared / u64::from(window.cwnd.max(1))).max(1) as u32;
    window.cwnd = window.cwnd.saturating_add(increment).min(MAX_WINDOW);
}
