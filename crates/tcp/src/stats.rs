//! Counters of a connection.

use driftway_base::Duration;

/// Counters since the connection was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments with payload sent, retransmissions included, probes not.
    pub segments_sent: u64,
    /// Payload bytes in them.
    pub bytes_sent: u64,
    /// Segments sent that carried data sent before.
    pub retransmissions: u64,
    /// Retransmission timeouts, those of a SYN included.
    pub timeouts: u64,
    /// Fast retransmits (recoveries started by duplicates or SACK).
    pub fast_retransmits: u64,
    /// Timeouts that set cwnd to one segment.
    pub slow_starts: u64,
    /// Window reductions because of an ECN echo.
    pub ecn_reductions: u64,
    /// Zero-window probes and probes during a hold.
    pub probes: u64,
    /// Pure acknowledgments sent.
    pub acks_sent: u64,
    /// Segments rejected: out of window, unacceptable acknowledgment, old timestamp.
    pub segments_rejected: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub tail_probes: u64,
    /// Responses to a loss undone because the loss was spurious.
    pub responses_undone: u64,
    /// RTO back-offs reverted after ICMP destination unreachable (RFC 6069).
    pub back_offs_reverted: u64,
    /// Sum of round-trip samples.
    pub rtt_sum: Duration,
    /// Number of round-trip samples.
    pub rtt_samples: u64,
}
