//! Duplicate acknowledgments, counted as TCP counts them.

use driftway_base::{Seq, TcpView};
use driftway_wire::{TcpFlags, TcpSegment};

/// tcp_rexmtthresh: the duplicate acknowledgment at which TCP retransmits (RFC 5681 §3.2).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// What an acknowledgment is to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckKind {
    /// It acknowledges something for the first time.
    New,
    /// RFC 5681 §2
    Duplicate,
    /// Neither, or no acknowledgment.
    Other,
}

/// The duplicate acknowledgments that TCP has seen, so that an aid knows which one TCP would take
/// for the third. Those that are swallowed do not count: TCP did not see them. They need not be in
/// a row (RFC 5681 §3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DuplicateAcks {
    /// SND.UNA when they came.
    snd_una: Seq,
    delivered: u32,
    /// The window field of the last acknowledgment.
    window: Option<u16>,
}

impl DuplicateAcks {
    /// What this segment is to the sender.
    pub fn classify(&self, segment: &TcpSegment, view: &TcpView) -> AckKind {
        let Some(outstanding) = view.outstanding() else { return AckKind::Other };
        if !segment.flags.contains(TcpFlags::ACK) {
            AckKind::Other
        } else if segment.ack.after(outstanding.start) && segment.ack.at_or_before(outstanding.end)
        {
            AckKind::New
        } else if segment.ack == outstanding.start
            && segment.sequence_len() == 0
            // Before the first acknowledgment there is nothing to compare with. Counting one more
            // than TCP does is harmless, one fewer lets TCP see its third.
            && self.window.is_none_or(|window| window == segment.window)
        {
            AckKind::Duplicate
        } else {
            AckKind::Other
        }
    }

    /// Keeps the window field of an acknowledgment, to tell a duplicate from a window update.
    pub fn record_window(&mut self, segment: &TcpSegment) {
        if segment.flags.contains(TcpFlags::ACK) {
            self.window = Some(segment.window);
        }
    }

    /// Counts a duplicate that nothing hides from TCP.
    pub fn record(&mut self, una: Seq) {
        self.delivered = self.count_for(una).saturating_add(1);
        self.snd_una = una;
    }

    /// How many of this number TCP has seen.
    pub fn count_for(&self, una: Seq) -> u32 {
        if self.snd_una == una { self.delivered } else { 0 }
    }
}
