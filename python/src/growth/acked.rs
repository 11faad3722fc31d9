//! An acknowledgment, as a congestion control sees it.

use driftway::tcp::congestion::AckedData;
use pyo3::prelude::*;

/// An acknowledgment that may change the window.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Acked(pub AckedData);

#[pymethods]
impl Acked {
    /// The bytes by which the window may grow.
    #[getter]
    const fn bytes(&self) -> u32 {
        self.0.bytes
    }

    /// The segment size (bytes).
    #[getter]
    const fn mss_bytes(&self) -> u32 {
        self.0.mss
    }

    /// The smoothed round-trip time (s); `None` before it is measured.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt.map(|time| time.as_secs_f64())
    }

    /// The round-trip time of the newest segment among those that it delivers (s); `None` if it is not known.
    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.0.rtt.map(|time| time.as_secs_f64())
    }

    /// True if sending was limited by the window, and not by the application or the peer.
    #[getter]
    const fn is_cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    /// The bytes in the network after it.
    #[getter]
    const fn in_flight_bytes(&self) -> u32 {
        self.0.in_flight
    }

    /// The bytes that it has shown to be lost.
    #[getter]
    const fn lost_bytes(&self) -> u32 {
        self.0.lost
    }
}
