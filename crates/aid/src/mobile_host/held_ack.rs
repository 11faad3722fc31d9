//! The acknowledgments of a receiver on a mobile host (singh-iyer-2002 §III, *FH to MH Data Transfer*).

use driftway_base::{Act, Duration, Instant, Seq};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::SegmentVerdict;
use crate::kit::send_acks;

/// Number of bytes whose acknowledgment is delayed.
const BYTES_HELD: u32 = 2;

/// The delayed acknowledgment of the last two bytes.
///
/// An acknowledgment S of new data leaves as S − 2, and S itself follows after a delay. An acknowledgment
/// that does not advance while S is pending leaves at once, twice: the first copy is new to the peer, the
/// second is the duplicate that it stands for. While disconnected S stays pending; at the connection the
/// acknowledgment S − 1 with a closed window and S with the open one follow each other.
#[derive(Clone, Debug)]
pub struct HeldAck {
    delay: Duration,
    connected: bool,
    /// The peer has sent its FIN: nothing is held back any more.
    closing: bool,
    /// The highest acknowledgment that the peer was sent (*LastSentAck*).
    last_sent: Option<Seq>,
    /// The acknowledgment that is held back (*PendingAckSeqNo*).
    pending: Option<Seq>,
    timer: Option<Instant>,
    /// Data has arrived that TCP has not acknowledged yet.
    arrived: bool,
    /// The full acknowledgment that follows the one with a closed window.
    follows: Option<Seq>,
}

impl HeldAck {
    /// Creates the receiver's half for a connection; `delay` is the paper's *d*.
    pub fn new(delay: Duration) -> Self {
        Self {
            delay,
            connected: true,
            closing: false,
            last_sent: None,
            pending: None,
            timer: None,
            arrived: false,
            follows: None,
        }
    }

    /// Time at which the pending acknowledgment is sent.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer
    }

    /// A segment of the peer arrives.
    pub fn on_arrival(&mut self, segment: &TcpSegment) {
        self.closing |= segment.flags.contains(TcpFlags::FIN);
        self.arrived |= segment.sequence_len() > 0;
    }

    /// TCP sends a segment: what becomes of it, and a further acknowledgment.
    pub fn on_departure(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
    ) -> (SegmentVerdict, Option<Act>) {
        const PASS: (SegmentVerdict, Option<Act>) = (SegmentVerdict::Pass, None);
        if !segment.flags.contains(TcpFlags::ACK) || segment.flags.contains(TcpFlags::RST) {
            return PASS;
        }
        let arrived = core::mem::take(&mut self.arrived);
        let ack = segment.ack;
        let Some(last) = self.last_sent.filter(|_| !self.closing) else {
            self.send_pending(ack);
            return PASS;
        };
        let advances = ack.after(self.pending.unwrap_or(last));
        match self.pending {
            _ if advances => {
                let sent = (ack - BYTES_HELD).max(last);
                self.last_sent = Some(sent);
                self.pending = Some(ack);
                self.timer = Some(now + self.delay);
                (SegmentVerdict::Replace(TcpSegment { ack: sent, ..*segment }), None)
            }
            // Neither data that carries an acknowledgment nor an update of the window says anything about an
            // arrival; and nothing arrives at the peer while disconnected.
            Some(pending) if segment.sequence_len() > 0 || !arrived || !self.connected => {
                let sent = if ack == pending { last } else { ack };
                (SegmentVerdict::Replace(TcpSegment { ack: sent, ..*segment }), None)
            }
            Some(_) => {
                self.send_pending(ack);
                (SegmentVerdict::Pass, Some(send_acks(ack, 1)))
            }
            None => PASS,
        }
    }

    /// The timer has expired, or not: the acknowledgment to send.
    pub fn on_timeout(&mut self, now: Instant) -> Option<Act> {
        self.timer.take_if(|at| *at <= now)?;
        let pending = self.pending.filter(|_| self.connected)?;
        self.send_pending(pending);
        Some(send_acks(pending, 1))
    }

    /// The host is disconnected.
    pub fn on_disconnected(&mut self) {
        self.connected = false;
    }

    /// The host is connected: the first of two acknowledgments, if one is pending.
    pub fn on_connected(&mut self) -> Option<Act> {
        if core::mem::replace(&mut self.connected, true) {
            return None;
        }
        let pending = self.pending?;
        self.send_pending(pending);
        self.follows = Some(pending);
        Some(Act::SendAcks { ack: pending - 1, window: 0, copies: 1 })
    }

    /// The acknowledgment that follows the one that was sent last, if one does.
    pub fn next_ack(&mut self) -> Option<Act> {
        self.follows.take().map(|ack| send_acks(ack, 1))
    }

    /// Nothing below `ack` is held back any more.
    fn send_pending(&mut self, ack: Seq) {
        self.last_sent = Some(self.last_sent.map_or(ack, |last| last.max(ack)));
        self.pending = self.pending.filter(|pending| pending.after(ack));
        if self.pending.is_none() {
            self.timer = None;
        }
    }
}
