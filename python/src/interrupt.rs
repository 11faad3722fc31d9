//! Work that Ctrl-C ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors;

/// The time between two looks for a signal.
const INTERVAL: Duration = Duration::from_millis(50);

/// Calls `work` in a thread of its own, without Python's lock, so that other threads of Python run. Now and then
/// `tick` is called; if it raises, or a signal's handler does (Ctrl-C: `KeyboardInterrupt`), `stop` is set, and
/// the exception is raised when `work` has returned.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        scope.spawn(move || {
            // The thread is known to Python for as long as it works: otherwise each call of an aid would make it
            // known, which takes ten times as long as the call.
            let done = Python::attach(|py| py.detach(work));
            // Nobody listens only if this function has panicked.
            let _ = sender.send(done);
        });
        let receiver = Mutex::new(receiver);
        let mut raised: Option<PyErr> = None;
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
                (Err(RecvTimeoutError::Timeout), Some(_)) => {}
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
