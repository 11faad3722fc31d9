//! Duplicate acknowledgments, counted as TCP counts them.

use driftway_base::{Seq, TcpView};
use driftway_wire::{TcpFlags, TcpSegment};

/// DupThresh (`tcprexmtthresh` in BSD): the duplicate acknowledgment at which TCP retransmits (RFC 5681
/// §3.2).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// Classification of an incoming acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckKind {
    /// Acknowledges new data.
    New,
    /// Duplicate acknowledgment (RFC 5681 §2).
    Duplicate,
    /// Any other segment.
    Other,
}

/// Number of duplicate acknowledgments delivered to TCP, to determine which one TCP would count as the third.
/// Dropped duplicates do not count. Duplicates need not be consecutive (RFC 5681 §3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DuplicateAcks {
    /// SND.UNA of the counted duplicates.
    snd_una: Seq,
    delivered: u32,
    /// Window field of the last acknowledgment.
    window: Option<u16>,
}

impl DuplicateAcks {
    /// Classifies an incoming segment.
    pub fn classify(&self, segment: &TcpSegment, view: &TcpView) -> AckKind {
        let Some(outstanding) = view.outstanding() else { return AckKind::Other };
        if !segment.flags.contains(TcpFlags::ACK) {
            AckKind::Other
        } else if segment.ack.after(outstanding.start) && segment.ack.at_or_before(outstanding.end)
        {
            AckKind::New
        } else if segment.ack == outstanding.start
            && segment.sequence_len() == 0
            // Before the first acknowledgment there is no window to compare with. Counting one more duplicate
            // than TCP is harmless; counting one less would deliver TCP's third.
            && self.window.is_none_or(|window| window == segment.window)
        {
            AckKind::Duplicate
        } else {
            AckKind::Other
        }
    }

    /// Records the window field of an acknowledgment, to distinguish duplicates from window updates.
    pub fn record_window(&mut self, segment: &TcpSegment) {
        if segment.flags.contains(TcpFlags::ACK) {
            self.window = Some(segment.window);
        }
    }

    /// Counts a duplicate that is delivered to TCP.
    pub fn record(&mut self, una: Seq) {
        self.delivered = self.count_for(una).saturating_add(1);
        self.snd_una = una;
    }

    /// Number of duplicates of `una` that were delivered to TCP.
    pub fn count_for(&self, una: Seq) -> u32 {
        if self.snd_una == una { self.delivered } else { 0 }
    }
}
