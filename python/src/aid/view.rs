//! An aid's view of its connection.

use driftway::TcpView;
use driftway::base::{Known, RecoveryState, Seq};
use pyo3::prelude::*;

/// The variables of a connection at one moment. A value that is not known is `None`.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct View(pub TcpView);

fn number(seq: Known<Seq>) -> Option<u32> {
    seq.value().map(|Seq(number)| number)
}

#[pymethods]
impl View {
    /// True if the connection is synchronized (ESTABLISHED or a later state, RFC 9293 §3.3.2).
    #[getter]
    const fn is_synchronized(&self) -> bool {
        self.0.is_synchronized
    }

    /// The largest payload of a segment (bytes).
    #[getter]
    fn mss_bytes(&self) -> Option<u32> {
        self.0.mss.value()
    }

    /// SND.UNA: the oldest unacknowledged sequence number.
    #[getter]
    fn snd_una(&self) -> Option<u32> {
        number(self.0.snd_una)
    }

    /// SND.NXT: the next sequence number to send.
    #[getter]
    fn snd_nxt(&self) -> Option<u32> {
        number(self.0.snd_nxt)
    }

    /// SND.MAX: one past the highest sequence number ever sent.
    #[getter]
    fn snd_max(&self) -> Option<u32> {
        number(self.0.snd_max)
    }

    /// RCV.NXT: the next sequence number expected from the peer.
    #[getter]
    fn rcv_nxt(&self) -> Option<u32> {
        number(self.0.rcv_nxt)
    }

    /// The congestion window (bytes).
    #[getter]
    fn cwnd_bytes(&self) -> Option<u32> {
        self.0.cwnd.value()
    }

    /// The slow-start threshold (bytes).
    #[getter]
    fn ssthresh_bytes(&self) -> Option<u32> {
        self.0.ssthresh.value()
    }

    /// The peer's receive window as TCP sees it (bytes).
    #[getter]
    fn peer_window_bytes(&self) -> Option<u32> {
        self.0.peer_window.value()
    }

    /// The receive window that is advertised (bytes).
    #[getter]
    fn advertised_window_bytes(&self) -> Option<u32> {
        self.0.advertised_window.value()
    }

    /// The retransmission timeout without back-off (s).
    #[getter]
    fn rto_s(&self) -> Option<f64> {
        self.0.rto.value().map(|time| time.as_secs_f64())
    }

    /// The smoothed round-trip time (s); `None` before the first sample.
    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt.value().flatten().map(|time| time.as_secs_f64())
    }

    /// The time at which the retransmission timer expires (s); `None` while it is stopped.
    #[getter]
    fn retransmission_deadline_s(&self) -> Option<f64> {
        self.0.retransmission_deadline.value().flatten().map(|at| at.as_secs_f64())
    }

    /// The state of loss recovery: `"open"`, `"recovery"` or `"loss"`.
    #[getter]
    fn recovery(&self) -> Option<&'static str> {
        self.0.recovery.value().map(|state| match state {
            RecoveryState::Open => "open",
            RecoveryState::Recovery => "recovery",
            RecoveryState::Loss => "loss",
        })
    }

    /// True if the sender sends only window probes.
    #[getter]
    fn is_persisting(&self) -> Option<bool> {
        self.0.is_persisting.value()
    }

    /// True if ECN was negotiated (RFC 3168).
    #[getter]
    fn is_ecn_negotiated(&self) -> Option<bool> {
        self.0.is_ecn_negotiated.value()
    }

    /// The sequence numbers that are sent and not acknowledged, as first and one past the last; `None` if there
    /// are none.
    #[getter]
    fn outstanding(&self) -> Option<(u32, u32)> {
        self.0.outstanding().map(|range| (range.start.0, range.end.0))
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
