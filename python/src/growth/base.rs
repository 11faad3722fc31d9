//! The base class of congestion controls.

use driftway::Instant;
use driftway::tcp::congestion::{CongestionWindow, slow_start};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::acked::Acked;

/// The base class of congestion controls, which `driftway.growth` adds to a class.
#[pyclass(subclass, module = "driftway._driftway")]
pub struct Growth {
    /// The time of the event.
    pub(super) now: Instant,
    /// The window, which the class changes.
    pub(super) window: CongestionWindow,
}

#[pymethods]
impl Growth {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    const fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { now: Instant::ZERO, window: CongestionWindow { cwnd: 0, ssthresh: 0 } }
    }

    /// The simulated time of the event (s).
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// The congestion window (bytes).
    #[getter]
    const fn cwnd_bytes(&self) -> u32 {
        self.window.cwnd
    }

    #[setter]
    const fn set_cwnd_bytes(&mut self, bytes: u32) {
        self.window.cwnd = bytes;
    }

    /// The slow-start threshold (bytes).
    #[getter]
    const fn ssthresh_bytes(&self) -> u32 {
        self.window.ssthresh
    }

    #[setter]
    const fn set_ssthresh_bytes(&mut self, bytes: u32) {
        self.window.ssthresh = bytes;
    }

    /// Grows the window as in slow start (RFC 5681 §3.1), and returns the bytes that are left for congestion
    /// avoidance: `None` in slow start.
    fn slow_start(&mut self, acked: &Acked) -> Option<u32> {
        slow_start(&mut self.window, &acked.0).map(|left| left.bytes)
    }
}
