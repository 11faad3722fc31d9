//! Additive increase in whole segments, as Linux counts.

use super::contract::{CongestionWindow, MAX_WINDOW};

/// Acknowledged data that has not yet grown the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WholeSegments {
    bytes: u64,
}

impl WholeSegments {
    /// Grows the window by a segment of `mss` bytes for each `per_segment` acknowledged segments.
    pub fn add(&mut self, window: &mut CongestionWindow, bytes: u32, mss: u32, per_segment: u32) {
        let mss = mss.max(1);
        let needed = u64::from(per_segment.max(1)) * u64::from(mss);
        if self.bytes >= needed {
            // The window has shrunk since.
            self.bytes = 0;
            window.cwnd = window.cwnd.saturating_add(mss).min(MAX_WINDOW);
        }
        self.bytes += u64::from(bytes);
        let segments = (self.bytes / needed).min(u64::from(MAX_WINDOW / mss)) as u32;
        self.bytes %= needed;
        window.cwnd = window.cwnd.saturating_add(segments * mss).min(MAX_WINDOW);
    }

    /// Forgets what it has counted, at a reduction.
    pub fn reset(&mut self) {
        self.bytes = 0;
    }
}

/// The window in whole segments, at least one.
pub(super) fn segments(window: &CongestionWindow, mss: u32) -> u32 {
    (window.cwnd / mss.max(1)).max(1)
}
