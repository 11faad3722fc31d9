//! A run that is stepped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use driftway::base::{FlowId, NodeId};
use driftway::sim::{RunError, Simulation as Run};
use driftway::{Duration, Instant, Scenario as Parsed};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::aid::View;
use crate::errors;
use crate::interrupt::{Stop, interruptible};
use crate::results::Results;
use crate::run_context::RunContext;
use crate::scenario::Scenario;

/// Simulated time between two looks for an interruption. A run gives the same results however it is paused.
const SLICE: Duration = Duration::from_millis(100);

/// A run that the caller advances and inspects.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Simulation {
    run: Mutex<Option<Run<'static>>>,
    scenario: Arc<Parsed>,
    context: Arc<RunContext>,
    stop: Arc<Stop>,
}

impl Simulation {
    /// Calls `work` with the run, and then raises what an aid has raised.
    fn advance(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Run<'static>, &AtomicBool) -> Result<bool, RunError> + Send,
    ) -> PyResult<bool> {
        self.stop.store(false, Ordering::Relaxed);
        let more = interruptible(
            py,
            &self.stop,
            |_| Ok(()),
            || {
                let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
                // Connections that open meanwhile get their congestion controls.
                self.context.within(|| run.as_mut().map(|run| work(run, &self.stop)))
            },
        )?;
        if let Some(error) = self.context.take_error(py) {
            return Err(error);
        }
        let more = more.ok_or_else(finished)?;
        more.map_err(|error| errors::of_simulation(&error))
    }

    /// Calls `look` with the run.
    fn look<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mut Run<'static>) -> T + Send,
    ) -> PyResult<T> {
        let found = py.detach(|| {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            run.as_mut().map(look)
        });
        found.ok_or_else(finished)
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("this simulation has been finished")
}

#[pymethods]
impl Simulation {
    /// A run of a scenario that has not handled any event yet.
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, seed: u64) -> PyResult<Self> {
        let (stop, scenario) = (Arc::default(), Arc::new(scenario.parsed().clone()));
        let context = RunContext::new(seed, Arc::clone(&stop));
        let made = py.detach(|| context.within(|| Run::new(Arc::clone(&scenario), seed, None)));
        if let Some(error) = context.take_error(py) {
            return Err(error);
        }
        let run = Mutex::new(Some(made.map_err(|error| errors::of_simulation(&error))?));
        Ok(Self { run, scenario, context, stop })
    }

    /// Handles the next event; false when the run is over.
    fn step(&self, py: Python<'_>) -> PyResult<bool> {
        self.advance(py, |run, _| run.step())
    }

    /// Handles all events up to and including this time (s); false when the run is over.
    fn run_until(&self, py: Python<'_>, time_s: f64) -> PyResult<bool> {
        // As long as the longest run.
        if !(0.0..=1e9).contains(&time_s) {
            return Err(PyValueError::new_err(format!("time_s: {time_s} is no time from 0 s on")));
        }
        let until = Instant::from_nanos((time_s * 1e9).round() as u64);
        self.advance(py, move |run, stop| {
            loop {
                let next = (run.now() + SLICE).min(until);
                let more = run.run_until(next)?;
                if !more || next >= until || stop.load(Ordering::Relaxed) {
                    return Ok(more);
                }
            }
        })
    }

    /// The simulated time (s).
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, |run| run.now().as_secs_f64())
    }

    /// The number of nodes, which are numbered from 0.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |run| run.nodes())
    }

    /// The number of flows.
    #[getter]
    fn flows(&self) -> usize {
        self.scenario.flows.len()
    }

    /// The number of packets in the interface queues of a node.
    fn queue_length(&self, py: Python<'_>, node: u32) -> PyResult<usize> {
        self.look(py, |run| {
            ((node as usize) < run.nodes()).then(|| run.queue_length(NodeId::new(node)))
        })?
        .ok_or_else(|| no_such("node", node))
    }

    /// The position of a node (m); `None` without a radio.
    fn position(&self, py: Python<'_>, node: u32) -> PyResult<Option<(f64, f64)>> {
        self.look(py, |run| {
            ((node as usize) < run.nodes()).then(|| run.position(NodeId::new(node)))
        })?
        .ok_or_else(|| no_such("node", node))
    }

    /// The route from one node to another, both included; `None` if there is none.
    fn route(&self, py: Python<'_>, from: u32, to: u32) -> PyResult<Option<Vec<u32>>> {
        let furthest = from.max(to);
        let found = self.look(py, |run| {
            let route = |run: &Run<'_>| run.route(NodeId::new(from), NodeId::new(to));
            ((furthest as usize) < run.nodes()).then(|| route(run))
        })?;
        let route = found.ok_or_else(|| no_such("node", furthest))?;
        Ok(route.map(|nodes| nodes.into_iter().map(NodeId::number).collect()))
    }

    /// The state of a flow, by names.
    fn flow<'py>(&self, py: Python<'py>, flow: u32) -> PyResult<Bound<'py, PyDict>> {
        let found = self.look(py, |run| run.flow(FlowId::new(flow)))?;
        let snapshot = found.ok_or_else(|| no_such("flow", flow))?;
        let state = PyDict::new(py);
        state.set_item("delivered_bytes", snapshot.delivered_bytes)?;
        state.set_item("outcome", snapshot.outcome.name())?;
        let sender = snapshot.sender;
        let stats = sender.map(|sender| sender.stats);
        state.set_item("segments_sent", stats.map(|of| of.segments_sent))?;
        state.set_item("retransmissions", stats.map(|of| of.retransmissions))?;
        state.set_item("timeouts", stats.map(|of| of.timeouts))?;
        state.set_item("rto_s", sender.map(|sender| sender.rto.as_secs_f64()))?;
        state.set_item("aid_state", sender.and_then(|sender| sender.aid_state))?;
        state.set_item("view", sender.map(|sender| View(sender.view)))?;
        Ok(state)
    }

    /// Stops now, and returns the results so far.
    fn finish(&self, py: Python<'_>) -> PyResult<Results> {
        let scenario = Parsed::clone(&self.scenario);
        let result = py.detach(|| {
            let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
            run.map(Run::finish)
        });
        let result = result.ok_or_else(finished)?.map_err(|error| errors::of_simulation(&error))?;
        Ok(Results::of_run(scenario, result))
    }
}

fn no_such(what: &str, number: u32) -> PyErr {
    PyIndexError::new_err(format!("there is no {what} {number}"))
}
