//! Held-back acknowledgments of a receiver.
//!
//! After timeouts during an outage, a sender resumes at once on an acknowledgment of new data, but
//! not on a duplicate. To have new data to acknowledge when the path is back, the last two received
//! bytes are not acknowledged while more are arriving. This works for senders that count segments,
//! such as Linux; one that counts bytes has room for two.

use driftway_base::{Duration, Instant, Seq};
use driftway_wire::TcpFlags;

use super::{Context, Flow, State};
use crate::packet::Segment;

/// One for each of two acknowledgments.
const HELD_BACK: u32 = 2;

/// Maximum hold-back time. It must not cause a timeout of the sender: minimum RTOs are several
/// times as long, and acknowledgments may be delayed as long anyway (RFC 9293 §3.8.6.3; Linux: 40
/// ms).
const FOR: Duration = Duration::from_millis(40);

/// State of the acknowledgments sent to the peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// The highest acknowledgment number sent.
    ack: Seq,
    /// Time at which the held-back bytes are acknowledged.
    all_at: Instant,
}

impl Given {
    /// Only the peer's SYN is acknowledged.
    pub fn new(ack: Seq) -> Self {
        Self { ack, all_at: Instant::ZERO }
    }
}

impl Flow {
    /// Lowers the acknowledgment number of the local TCP's `segment`, whose bytes are `packet`, if
    /// enabled.
    pub(super) fn hold_back(&mut self, cx: &mut Context<'_>, segment: &Segment, packet: &mut [u8]) {
        let ack = segment.ack;
        let news = ack.since(self.given.ack);
        if news == 0 {
            return;
        }
        let open = cx.config.hold_back && matches!(self.state, State::Open);
        // A FIN is no byte; and the right edge of a closed window must not shrink.
        let last = self.theirs.fin.is_some_and(|fin| ack.at_or_after(fin)) || segment.window == 0;
        if !open || last || !segment.has(TcpFlags::ACK) {
            self.given.ack = ack;
        } else if news <= HELD_BACK {
            // Only bytes that are already held back: their timer runs.
            segment.set_ack(packet, self.given.ack);
        } else {
            self.given = Given { ack: ack - HELD_BACK, all_at: cx.now + FOR };
            segment.set_ack(packet, self.given.ack);
            cx.counts.held_back += 1;
        }
    }

    /// Time at which all received bytes must be acknowledged.
    pub(super) fn gives_all_at(&self) -> Option<Instant> {
        let in_hand = self.given.ack.before(self.ours.ack) && matches!(self.state, State::Open);
        in_hand.then_some(self.given.all_at)
    }

    /// Records that `ack` was sent to the peer.
    pub(super) fn given_to(&mut self, ack: Seq) {
        self.given.ack = self.given.ack.max(ack);
    }

    /// Number of acknowledgments that announce the restored path to the peer. With both bytes held
    /// back there are two: the window closes, and opens, as in M-TCP (Brown & Singh 1997).
    pub(super) fn announcements(&self) -> u8 {
        match self.ours.ack.since(self.given.ack) {
            HELD_BACK => 2,
            _ => 1,
        }
    }
}
