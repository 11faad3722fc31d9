//! Packets of cross traffic.

use crate::Size;

pub(super) fn default_packet_bytes() -> Size {
    Size(100)
}
