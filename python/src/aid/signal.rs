//! Signals for an aid.

use driftway::Signal as Event;
use driftway::base::{PacketDisposition, SignalKind, UnreachableScope};
use pyo3::prelude::*;

/// A network event that TCP itself does not observe.
#[pyclass(frozen, module = "driftway._driftway")]
pub struct Signal(pub Event);

#[pymethods]
impl Signal {
    /// The kind: `"unreachable"`, `"source-quench"`, `"ecn-echo"`, `"route-failed"`, `"route-restored"`,
    /// `"packet-lost"`, `"route-discovery"`, `"link-up"`, `"link-down"` or `"link-fading"`.
    #[getter]
    const fn kind(&self) -> &'static str {
        match self.0.kind {
            SignalKind::Unreachable(_) => "unreachable",
            SignalKind::SourceQuench => "source-quench",
            SignalKind::EcnEcho => "ecn-echo",
            SignalKind::RouteFailed => "route-failed",
            SignalKind::RouteRestored => "route-restored",
            SignalKind::PacketLost { .. } => "packet-lost",
            SignalKind::RouteDiscovery => "route-discovery",
            SignalKind::LinkUp => "link-up",
            SignalKind::LinkDown => "link-down",
            SignalKind::LinkFading { .. } => "link-fading",
        }
    }

    /// The scope of what is unreachable, `"net"` or `"host"`; `None` for another signal.
    #[getter]
    const fn scope(&self) -> Option<&'static str> {
        match self.0.kind {
            SignalKind::Unreachable(UnreachableScope::Net) => Some("net"),
            SignalKind::Unreachable(UnreachableScope::Host) => Some("host"),
            _ => None,
        }
    }

    /// The first sequence number of the packet that is quoted; `None` if unknown.
    #[getter]
    fn seq(&self) -> Option<u32> {
        self.0.details.seq.map(|seq| seq.0)
    }

    /// The sequence ranges of lost packets, each as first and one past the last.
    #[getter]
    fn ranges(&self) -> Vec<(u32, u32)> {
        match &self.0.kind {
            SignalKind::PacketLost { ranges, .. } => {
                ranges.as_slice().iter().map(|range| (range.start.0, range.end.0)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// True if the packets that a link did not carry go on over another route; `None` for another signal.
    #[getter]
    fn is_salvaged(&self) -> Option<bool> {
        match self.0.kind {
            SignalKind::PacketLost { disposition, .. } => {
                Some(disposition == PacketDisposition::Salvaged)
            }
            _ => None,
        }
    }

    /// The estimated time until a link fails (s); `None` for another signal.
    #[getter]
    fn expected_lifetime_s(&self) -> Option<f64> {
        match self.0.kind {
            SignalKind::LinkFading { expected_lifetime } => Some(expected_lifetime.as_secs_f64()),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
