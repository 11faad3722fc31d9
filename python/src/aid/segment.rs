//! A segment that passes an aid.

use driftway::base::Seq;
use driftway::wire::{TcpFlags, TcpSegment};
use pyo3::prelude::*;

/// A segment between TCP and IP.
#[pyclass(frozen, from_py_object, module = "driftway._driftway")]
#[derive(Clone, Copy)]
pub struct Segment(pub TcpSegment);

impl Segment {
    const fn has(&self, flag: TcpFlags) -> bool {
        self.0.flags.contains(flag)
    }
}

#[pymethods]
impl Segment {
    /// The sequence number of the first byte.
    #[getter]
    const fn seq(&self) -> u32 {
        self.0.seq.0
    }

    /// One past the last sequence number.
    #[getter]
    const fn end(&self) -> u32 {
        self.0.end().0
    }

    /// The acknowledgment number; `None` without one.
    #[getter]
    fn ack(&self) -> Option<u32> {
        self.has(TcpFlags::ACK).then_some(self.0.ack.0)
    }

    /// The payload (bytes).
    #[getter]
    const fn payload_bytes(&self) -> u32 {
        self.0.payload.len
    }

    /// The number of sequence numbers: those of the payload, of SYN and of FIN.
    #[getter]
    const fn sequence_length(&self) -> u32 {
        self.0.sequence_len()
    }

    /// The window field of the header, without scaling.
    #[getter]
    const fn window(&self) -> u16 {
        self.0.window
    }

    /// The control bits that are set, such as `("ACK", "PSH")`.
    #[getter]
    fn flags(&self) -> Vec<&'static str> {
        let names = [
            ("FIN", TcpFlags::FIN),
            ("SYN", TcpFlags::SYN),
            ("RST", TcpFlags::RST),
            ("PSH", TcpFlags::PSH),
            ("ACK", TcpFlags::ACK),
            ("URG", TcpFlags::URG),
            ("ECE", TcpFlags::ECE),
            ("CWR", TcpFlags::CWR),
        ];
        names.into_iter().filter(|(_, flag)| self.has(*flag)).map(|(name, _)| name).collect()
    }

    /// This segment with other values in its header.
    #[pyo3(signature = (*, ack = None, window = None))]
    fn replace(&self, ack: Option<u32>, window: Option<u16>) -> Self {
        let mut segment = self.0;
        segment.ack = ack.map_or(segment.ack, Seq);
        segment.window = window.unwrap_or(segment.window);
        Self(segment)
    }

    fn __repr__(&self) -> String {
        let flags = self.flags().join("|");
        format!("Segment({flags}, seq={}, end={}, ack={})", self.seq(), self.end(), self.0.ack.0)
    }
}
