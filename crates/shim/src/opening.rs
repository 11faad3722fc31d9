//! The handshake: negotiated options and initial sequence numbers.

use driftway_base::{FlowKey, Instant, Seq};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::counts::Untouched;
use crate::flow::view::seen;
use crate::flow::{Aided, Flow, Said};
use crate::pace::StampClock;
use crate::packet::Segment;

/// Bytes that the timestamps option takes in each segment (RFC 7323, appendix A).
const STAMPS: u16 = 12;

/// Negotiated options that concern the shim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Selective acknowledgments (RFC 2018).
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Window scale of the local TCP's window field (RFC 7323 §2).
    pub shift: u8,
    /// Window scale of the peer's window field, if its SYN was seen.
    pub peer_shift: Option<u8>,
    /// Largest payload of the local TCP's segments (bytes).
    pub mss: Option<u16>,
}

/// A connection whose three-way handshake is not complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// From this host to the peer.
    pub key: FlowKey,
    /// Initial sequence number of the local TCP.
    isn: Seq,
    /// The local TCP has sent a SYN-ACK, not a SYN (passive open).
    passive: bool,
    /// Options that the local TCP offers in its SYN, or has agreed to in its SYN-ACK.
    offers: Agreed,
    /// The local TCP's SYN or SYN-ACK.
    says: TcpSegment,
    ours: Said,
    /// Its TSval, if it carries timestamps (RFC 7323 §3.2).
    stamp: Option<u32>,
    /// Send time; `None` if it was retransmitted.
    at: Option<Instant>,
    pub last: Instant,
}

impl Opening {
    /// A handshake that begins with the local TCP's SYN or SYN-ACK.
    pub fn new(now: Instant, segment: &Segment) -> Self {
        let passive = segment.has(TcpFlags::ACK);
        let both = TcpFlags::ECE.with(TcpFlags::CWR);
        // RFC 3168 §6.1.1: ECE and CWR in a SYN offer ECN, ECE alone in a SYN-ACK accepts it.
        let ecn = match passive {
            false => segment.has(both),
            true => segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::CWR),
        };
        let stamps = segment.options.timestamps;
        Self {
            key: segment.flow,
            isn: segment.seq,
            passive,
            offers: Agreed {
                sack: segment.options.sack_permitted,
                ecn,
                shift: segment.options.window_scale.unwrap_or(0),
                peer_shift: None,
                mss: segment.options.mss,
            },
            says: seen(segment),
            ours: Said {
                ack: segment.ack,
                window: segment.window,
                echo: stamps.map_or(0, |stamps| stamps.echo),
                echoes: false,
                fin: None,
            },
            stamp: stamps.map(|stamps| stamps.value),
            at: Some(now),
            last: now,
        }
    }

    /// Returns whether `segment` is a retransmission of the SYN or SYN-ACK.
    pub fn is_again(&self, segment: &Segment) -> bool {
        self.isn == segment.seq && self.passive == segment.has(TcpFlags::ACK)
    }

    pub fn is_passive(&self) -> bool {
        self.passive
    }

    /// Records a retransmission of the SYN, which may offer fewer options.
    pub fn on_again(&mut self, now: Instant, segment: &Segment) {
        let again = Self::new(now, segment);
        self.offers.ecn &= again.offers.ecn;
        (self.ours, self.stamp, self.last) = (again.ours, again.stamp, now);
        self.says = again.says;
        // Karn's algorithm: the acknowledged copy is not known.
        self.at = None;
    }

    /// Processes a segment of the peer; returns the flow if it completes the handshake.
    ///
    /// # Errors
    /// The handshake completes, but the shim can't support the connection.
    pub fn on_answer(
        &self,
        now: Instant,
        segment: &Segment,
        aid: impl FnOnce() -> Aided,
    ) -> Result<Option<Flow>, Untouched> {
        let syn = segment.has(TcpFlags::SYN);
        if !segment.has(TcpFlags::ACK) || segment.has(TcpFlags::RST) || syn == self.passive {
            return Ok(None);
        }
        let first = self.isn + 1;
        // RFC 9293 §3.10.7.3; the ACK of a SYN-ACK may carry data, or be lost before data arrive.
        if segment.ack != first || self.passive && segment.seq.distance(self.ours.ack) < 0 {
            return Ok(None);
        }
        if syn && segment.unknown_option {
            return Err(Untouched::UnknownOption);
        }
        // In an active open the SYN-ACK decides on the options, in a passive open the own SYN-ACK
        // did.
        let (Some(stamp), true) =
            (self.stamp, self.passive || segment.options.timestamps.is_some())
        else {
            return Err(Untouched::NoTimestamps);
        };
        let mut agreed = self.offers;
        let mut ours = self.ours;
        if !self.passive {
            agreed.sack &= segment.options.sack_permitted;
            agreed.ecn &= segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::CWR);
            agreed.shift = segment.options.window_scale.map_or(0, |_| agreed.shift);
            agreed.peer_shift = Some(segment.options.window_scale.map_or(0, |shift| {
                // RFC 7323 §2.2: only if both ends offer it.
                if self.says.options.window_scale.is_some() { shift } else { 0 }
            }));
            agreed.mss = agreed.mss.min(segment.options.mss);
            ours.ack = segment.seq + 1;
        }
        agreed.mss = agreed.mss.map(|mss| mss.saturating_sub(STAMPS).max(1));
        let theirs =
            Said { ack: segment.ack, window: segment.window, echo: 0, echoes: false, fin: None };
        let clock = StampClock::new(self.last, stamp);
        let recent = segment.options.timestamps.map_or(ours.echo, |stamps| stamps.value);
        let mut flow = Flow::new(self.key, agreed, ours, theirs, recent, clock, aid());
        if let Some(at) = self.at {
            flow.on_round_trip(now.since(at));
        }
        (flow.sent, flow.heard) = (self.last, now);
        flow.opened(now, &self.says, segment);
        Ok(Some(flow))
    }
}
