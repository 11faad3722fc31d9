//! What stands in for what a view does not know.

use driftway_base::Duration;

/// The segment size (RFC 9293 §3.7.1, MUST-15).
pub(crate) const DEFAULT_MSS: u32 = 536;
/// The retransmission timeout (RFC 6298 §2.1).
pub(crate) const DEFAULT_RTO: Duration = Duration::from_secs(1);
