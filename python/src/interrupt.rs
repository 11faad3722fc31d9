//! Work that Ctrl-C ends.

use std::collections::BTreeSet;
use std::ffi::c_long;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi::PyThreadState_SetAsyncExc;
use pyo3::prelude::*;

use crate::errors;

/// The time between two looks for a signal.
const INTERVAL: Duration = Duration::from_millis(50);

/// Looks for a signal after which work that has not ended is taken to be in Python, where it does not see `Stop`.
const PATIENCE: u32 = 5;

/// The end of runs: a flag that they look at, and the threads in which they may call Python meanwhile.
#[derive(Default)]
pub struct Stop {
    flag: AtomicBool,
    threads: Mutex<BTreeSet<c_long>>,
}

impl Deref for Stop {
    type Target = AtomicBool;
    fn deref(&self) -> &AtomicBool {
        &self.flag
    }
}

impl Stop {
    /// Calls `work` without Python's lock, as work that may call Python. Python knows the thread for as long as it works:
    /// otherwise each call of an aid would make it known, which takes ten times as long as the call.
    pub fn among_threads<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        Python::attach(|py| {
            let known = || py.import("threading")?.call_method0("get_ident")?.extract::<c_long>();
            // Without a name the thread ends as soon as it looks at the flag.
            let thread = known().ok();
            let threads = || self.threads.lock().unwrap_or_else(PoisonError::into_inner);
            let is_new = thread.is_some_and(|thread| threads().insert(thread));
            let done = py.detach(work);
            if let Some(thread) = thread.filter(|_| is_new) {
                threads().remove(&thread);
            }
            done
        })
    }

    /// Raises `KeyboardInterrupt` in the threads: a method of an aid that never returns does not see the flag.
    fn raise(&self, py: Python<'_>) {
        let exception = py.get_type::<PyKeyboardInterrupt>();
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.iter() {
            // SAFETY: Python's lock is held, and the exception is an exception type. A thread that is not known to Python is
            // passed over.
            unsafe { PyThreadState_SetAsyncExc(*thread, exception.as_ptr()) };
        }
    }
}

/// Calls `work` in a thread of its own, without Python's lock, so that other threads of Python run. Now and then
/// `tick` is called; if it raises, or a signal's handler does (Ctrl-C: `KeyboardInterrupt`), `stop` is set, and
/// the exception is raised when `work` has returned.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        scope.spawn(move || {
            let done = stop.among_threads(work);
            // Nobody listens only if this function has panicked.
            let _ = sender.send(done);
        });
        let receiver = Mutex::new(receiver);
        let mut raised: Option<PyErr> = None;
        let mut patience = PATIENCE;
        loop {
            let next = py.detach(|| {
                let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
                receiver.recv_timeout(INTERVAL)
            });
            match (next, &raised) {
                (Ok(done), None) => return Ok(done),
                (Ok(_), Some(_)) => break,
                (Err(RecvTimeoutError::Disconnected), None) => {
                    return Err(errors::bug("a thread panicked"));
                }
                (Err(RecvTimeoutError::Disconnected), Some(_)) => break,
                (Err(RecvTimeoutError::Timeout), Some(_)) => {
                    patience = patience.saturating_sub(1);
                    if patience == 0 {
                        stop.raise(py);
                    }
                }
                (Err(RecvTimeoutError::Timeout), None) => {
                    if let Err(error) = py.check_signals().and_then(|()| tick(py)) {
                        stop.store(true, Ordering::Relaxed);
                        raised = Some(error);
                    }
                }
            }
        }
        Err(raised.unwrap_or_else(|| errors::bug("an interruption without an exception")))
    })
}
