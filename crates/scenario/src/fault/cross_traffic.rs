//! Packets of cross traffic.

use crate::Size;

/// IP and UDP headers: the smallest packet of cross traffic.
pub(super) const MIN_PACKET_BYTES: u64 = 28;

pub(super) fn default_packet_bytes() -> Size {
    Size(100)
}
