//! Held-back acknowledgments of a receiver.
//!
//! After timeouts during an outage, a sender resumes at once on an acknowledgment of new data, but
//! not on a duplicate. To have new data to acknowledge when the path is back, the last two received
//! bytes are not acknowledged while more are arriving. This works for senders that count segments,
//! such as Linux; one that counts bytes has room for two.

use driftway_base::{Duration, Instant};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State};
use crate::packet::{EditableBytes, Segment};

/// One for each of two acknowledgments.
const HELD_BACK_BYTES: u32 = 2;

/// Maximum hold-back time. It must not cause a timeout of the sender: minimum RTOs are several
/// times as long, and acknowledgments may be delayed as long anyway (RFC 9293 §3.8.6.3; Linux: 40
/// ms).
const HOLD_BACK_TIME: Duration = Duration::from_millis(40);

impl Flow {
    /// Lowers the acknowledgment number of the local TCP's `segment`, whose bytes are `packet`, if
    /// enabled.
    pub(super) fn hold_back(
        &mut self,
        cx: &mut Context<'_>,
        segment: &Segment,
        packet: &mut EditableBytes<'_>,
    ) {
        let ack = segment.ack;
        let newly_acked = ack.since(self.ack_limit.sent_ack);
        if newly_acked == 0 {
            return;
        }
        let open = cx.config.hold_back && matches!(self.state, State::Open);
        // A FIN is no byte; and the right edge of a closed window must not shrink.
        let last = self.peer.fin_end.is_some_and(|fin| ack.at_or_after(fin)) || segment.window == 0;
        if !open || last || !segment.has_flags(TcpFlags::ACK) {
            self.ack_limit.sent_ack = ack;
        } else if newly_acked <= HELD_BACK_BYTES {
            // Only bytes that are already held back: their timer runs.
            segment.set_ack(packet, self.ack_limit.sent_ack);
        } else {
            self.ack_limit.sent_ack = ack - HELD_BACK_BYTES;
            self.hold_back_until = cx.now + HOLD_BACK_TIME;
            segment.set_ack(packet, self.ack_limit.sent_ack);
            cx.counts.held_back += 1;
        }
    }

    /// Time at which all received bytes must be acknowledged.
    pub(super) fn holdback_timeout(&self) -> Option<Instant> {
        let in_hand = self.ack_limit.sent_ack.before(self.local.ack)
            && !self.ack_limit.is_active()
            && matches!(self.state, State::Open);
        in_hand.then_some(self.hold_back_until)
    }

    /// Number of acknowledgments that announce the restored path to the peer. With both bytes held
    /// back there are two: the window closes, and opens, as in M-TCP (Brown & Singh 1997).
    pub(super) fn announcement_count(&self) -> u8 {
        match self.local.ack.since(self.ack_limit.sent_ack) {
            HELD_BACK_BYTES => 2,
            _ => 1,
        }
    }
}
