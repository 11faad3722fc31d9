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
const HELD_BACK: u32 = 2;

/// The sender must not time out for them: no sender does so sooner than in a few times that, and no
/// acknowledgment is delayed for less (RFC 9293 §3.8.6.3; Linux: 40 ms).
const FOR: Duration = Duration::from_millis(40);

/// What the peer has been given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// The highest acknowledgment number that has left.
    ack: Seq,
    /// When what is held back is given, too.
    all_at: Instant,
}

impl Given {
    /// The peer's SYN is acknowledged, and nothing else.
    pub fn new(ack: Seq) -> Self {
        Self { ack, all_at: Instant::ZERO }
    }
}

impl Flow {
    /// The local TCP's `segment`, whose bytes are `packet`, is about to leave.
    pub(super) fn hold_back(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &mut [u8]) {
        let ack = segment.ack;
        let news = ack.since(self.given.ack);
        if news == 0 {
            return;
        }
        let open = cx.config.hold_back && matches!(self.state, State::Open);
        // A FIN is no byte; and a window that is closed may not move to the left.
        let last = self.theirs.fin.is_some_and(|fin| ack.at_or_after(fin)) || segment.window == 0;
        if !open || last || !segment.has(TcpFlags::ACK) {
            self.given.ack = ack;
        } else if news <= HELD_BACK {
            // What is in hand already: its time runs.
            segment.set_ack(packet, self.given.ack);
        } else {
            self.given = Given { ack: ack - HELD_BACK, all_at: cx.now + FOR };
            segment.set_ack(packet, self.given.ack);
            cx.counts.held_back += 1;
        }
    }

    /// When all must be given that is in hand.
    pub(super) fn gives_all_at(&self) -> Option<Instant> {
        let in_hand = self.given.ack.before(self.ours.ack) && matches!(self.state, State::Open);
        in_hand.then_some(self.given.all_at)
    }

    /// The peer is given `ack`.
    pub(super) fn given_to(&mut self, ack: Seq) {
        self.given.ack = self.given.ack.max(ack);
    }

    /// How many acknowledgments tell the peer that the path is back. With both bytes in hand there are
    /// two: the window closes, and opens, as in M-TCP (Brown & Singh 1997).
    pub(super) fn announcements(&self) -> u8 {
        match self.ours.ack.since(self.given.ack) {
            HELD_BACK => 2,
            _ => 1,
        }
    }
}
