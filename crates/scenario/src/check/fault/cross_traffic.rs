//! Packets of cross traffic.

use crate::Size;
use crate::problem::{CheckResult, require_range};

/// IP and UDP headers: the smallest packet of cross traffic.
const MIN_FOREIGN_PACKET_BYTES: u64 = 28;

pub(super) fn check_size(key: &str, Size(found): Size) -> CheckResult {
    require_range(
        format!("{key}.size"),
        "the packet size in bytes",
        found,
        MIN_FOREIGN_PACKET_BYTES,
        65_535,
    )
}
