//! Samples of flows.

/// The state of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// The flow's index.
    pub flow: u32,
    /// Payload delivered in order (bytes).
    pub delivered_bytes: u64,
    /// Congestion window (bytes); `None` for UDP, or before the connection.
    pub cwnd_bytes: Option<u64>,
    /// Smoothed round-trip time (s); `None` for UDP, or without a sample.
    pub rtt_s: Option<f64>,
    /// Retransmissions so far; `None` for UDP.
    pub retransmissions: Option<u64>,
}
