//! The context that the aids of a run share: a place for the first exception, which ends the run.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use driftway::Instant;
use pyo3::prelude::*;

use crate::errors;
use crate::interrupt::Stop;

/// The context of a run.
pub struct RunContext {
    seed: u64,
    /// Ends the run, and those beside it.
    stop: Arc<Stop>,
    failure: Mutex<Option<Failure>>,
}

/// An exception that code of the user has raised.
pub struct Failure {
    /// The aid or metric that has raised it.
    pub who: String,
    /// The simulated time.
    pub at: Instant,
    /// The exception.
    pub error: PyErr,
}

thread_local! {
    /// The context of the run that this thread sets up. A run is set up by one thread; its aids keep the context.
    static CURRENT: RefCell<Option<Arc<RunContext>>> = const { RefCell::new(None) };
}

/// Puts the former context back, also after a panic.
struct Restore(Option<Arc<RunContext>>);

impl Drop for Restore {
    fn drop(&mut self) {
        let former = self.0.take();
        CURRENT.with_borrow_mut(|current| *current = former);
    }
}

impl RunContext {
    /// A context of a run with this seed.
    pub fn new(seed: u64, stop: Arc<Stop>) -> Arc<Self> {
        Arc::new(Self { seed, stop, failure: Mutex::new(None) })
    }

    /// Calls `work` with this context as that of the run.
    pub fn within<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let former = CURRENT.with_borrow_mut(|current| current.replace(Arc::clone(self)));
        let _restore = Restore(former);
        work()
    }

    /// The context of the run that this thread sets up; outside of a run one that nobody reads.
    pub fn current() -> Arc<Self> {
        let current = CURRENT.with_borrow(Clone::clone);
        current.unwrap_or_else(|| Self::new(0, Arc::default()))
    }

    /// Ends the run with the first exception.
    pub fn fail(&self, failure: Failure) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(failure);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns whether the run has failed.
    pub fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The exception that ended the run, as the cause of a `RunError` with its simulated time.
    pub fn take_error(&self, py: Python<'_>) -> Option<PyErr> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Failure { who, at, error } = failure?;
        let (seed, time_s) = (self.seed, at.as_secs_f64());
        let message = format!("seed {seed}, {time_s:.9} s: {who} has raised {error}");
        Some(errors::raised(message, seed, time_s, error, py))
    }
}
