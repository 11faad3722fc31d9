//! What is kept in hand as a receiver.
//!
//! A sender that has timed out again and again during an outage goes on at once when something new
//! is acknowledged; a duplicate is not. So that there is something new to acknowledge when the path
//! is back, the last two bytes of what has arrived are not acknowledged while more is arriving. It
//! is for senders that count segments, as Linux does: one that counts bytes has room for two.

use driftway_base::{Duration, Instant, Seq};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State};
use crate::packet::Segment;

/// One for each of two acknowledgments.
const HELD_BACK_BYTES: u32 = 2;

/// The sender must not time out for them: no sender does so sooner than in a few times that, and no
/// acknowledgment is delayed for less (RFC 9293 §3.8.6.3; Linux: 40 ms).
const HOLD_BACK_TIME: Duration = Duration::from_millis(40);

/// What the peer has been given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckHoldback {
    /// The highest acknowledgment number that has left.
    sent_ack: Seq,
    /// When what is held back is given, too.
    release_at: Instant,
}

impl AckHoldback {
    /// The peer's SYN is acknowledged, and nothing else.
    pub fn new(ack: Seq) -> Self {
        Self { sent_ack: ack, release_at: Instant::ZERO }
    }
}

impl Flow {
    /// The local TCP's `segment`, whose bytes are `packet`, is about to leave.
    pub(super) fn hold_back(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &mut [u8]) {
        let ack = segment.ack;
        let newly_acked = ack.since(self.ack_holdback.sent_ack);
        if newly_acked == 0 {
            return;
        }
        let open = cx.config.hold_back && matches!(self.state, State::Open);
        // A FIN is no byte; and a window that is closed may not move to the left.
        let last = self.peer.fin_end.is_some_and(|fin| ack.at_or_after(fin)) || segment.window == 0;
        if !open || last || !segment.has_flags(TcpFlags::ACK) {
            self.ack_holdback.sent_ack = ack;
        } else if newly_acked <= HELD_BACK_BYTES {
            // What is in hand already: its time runs.
            segment.set_ack(packet, self.ack_holdback.sent_ack);
        } else {
            self.ack_holdback = AckHoldback { sent_ack: ack - HELD_BACK_BYTES, release_at: cx.now + HOLD_BACK_TIME };
            segment.set_ack(packet, self.ack_holdback.sent_ack);
            cx.counts.held_back += 1;
        }
    }

    /// When all must be given that is in hand.
    pub(super) fn holdback_timeout(&self) -> Option<Instant> {
        let in_hand = self.ack_holdback.sent_ack.before(self.local.ack) && matches!(self.state, State::Open);
        in_hand.then_some(self.ack_holdback.release_at)
    }

    /// The peer is given `ack`.
    pub(super) fn on_ack_sent(&mut self, ack: Seq) {
        self.ack_holdback.sent_ack = self.ack_holdback.sent_ack.max(ack);
    }

    /// How many acknowledgments tell the peer that the path is back. With both bytes in hand there are
    /// two: the window closes, and opens, as in M-TCP (Brown & Singh 1997).
    pub(super) fn announcement_count(&self) -> u8 {
        match self.local.ack.since(self.ack_holdback.sent_ack) {
            HELD_BACK_BYTES => 2,
            _ => 1,
        }
    }
}
