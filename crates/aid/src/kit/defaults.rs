//! Values assumed for unknown fields of a view.

use driftway_base::Duration;

/// Default MSS (RFC 9293 §3.7.1, MUST-15).
pub(crate) const DEFAULT_MSS: u32 = 536;
/// Initial RTO (RFC 6298 §2.1).
pub(crate) const DEFAULT_RTO: Duration = Duration::from_secs(1);
