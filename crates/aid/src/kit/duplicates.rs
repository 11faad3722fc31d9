//! Duplicate acknowledgments, counted as TCP counts them.

use driftway_base::{Seq, TcpView};
use driftway_wire::{TcpFlags, TcpSegment};

/// DupThresh (`tcprexmtthresh` in BSD): the duplicate acknowledgment at which TCP retransmits (RFC 5681
/// §3.2).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// Classification of an incoming acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acknowledgment {
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
pub(crate) struct Duplicates {
    /// SND.UNA of the counted duplicates.
    of: Seq,
    passed: u32,
    /// Window field of the last acknowledgment.
    window: Option<u16>,
}

impl Duplicates {
    /// Classifies an incoming segment.
    pub fn classify(&self, segment: &TcpSegment, view: &TcpView) -> Acknowledgment {
        let Some(outstanding) = view.outstanding() else { return Acknowledgment::Other };
        if !segment.flags.contains(TcpFlags::ACK) {
            Acknowledgment::Other
        } else if segment.ack.after(outstanding.start) && segment.ack.at_or_before(outstanding.end)
        {
            Acknowledgment::New
        } else if segment.ack == outstanding.start
            && segment.sequence_len() == 0
            // Before the first acknowledgment there is no window to compare with. Counting one more duplicate
            // than TCP is harmless; counting one less would deliver TCP's third.
            && self.window.is_none_or(|window| window == segment.window)
        {
            Acknowledgment::Duplicate
        } else {
            Acknowledgment::Other
        }
    }

    /// Records the window field of an acknowledgment, to distinguish duplicates from window updates.
    pub fn keep_window(&mut self, segment: &TcpSegment) {
        if segment.flags.contains(TcpFlags::ACK) {
            self.window = Some(segment.window);
        }
    }

    /// Counts a duplicate that is delivered to TCP.
    pub fn count(&mut self, una: Seq) {
        self.passed = self.of(una).saturating_add(1);
        self.of = una;
    }

    /// Number of duplicates of `una` that were delivered to TCP.
    pub fn of(&self, una: Seq) -> u32 {
        if self.of == una { self.passed } else { 0 }
    }
}
