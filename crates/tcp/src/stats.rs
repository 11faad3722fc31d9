//! What a connection counts.

use driftway_base::Duration;

/// Counters since the connection was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments with payload sent, retransmissions included, probes not.
    pub segments_sent: u64,
    /// Payload bytes in them.
    pub bytes_sent: u64,
    /// Segments sent that carried something sent before.
    pub retransmissions: u64,
    /// Retransmission timeouts, those of a SYN included.
    pub timeouts: u64,
    /// Fast retransmits (recoveries begun by duplicates or SACK).
    pub fast_retransmits: u64,
    /// Timeouts that set cwnd to one segment.
    pub slow_starts: u64,
    /// Reductions because of an ECN echo.
    pub ecn_reductions: u64,
    /// Zero-window and hold probes sent.
    pub probes: u64,
    /// Acknowledgments sent that carried no data.
    pub acks_sent: u64,
    /// Segments refused: out of window, bad acknowledgment, old timestamp.
    pub segments_rejected: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub tail_probes: u64,
    /// Responses to a loss taken back because there was none.
    pub responses_undone: u64,
    /// Back-offs of the RTO taken back on a router's word (RFC 6069).
    pub back_offs_reverted: u64,
    /// Sum of round-trip samples.
    pub rtt_sum: Duration,
    /// Number of round-trip samples.
    pub rtt_samples: u64,
}
