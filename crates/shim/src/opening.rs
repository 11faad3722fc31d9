//! The handshake: what both ends agree on, and where their numbers begin.

use base::{FlowKey, Instant, Seq};
use wire::TcpFlags;

use crate::flow::{Flow, Said};
use crate::pace::StampClock;
use crate::packet::Segment;

/// What was negotiated, as far as it concerns the shim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// RFC 7323 §3.
    pub timestamps: bool,
    /// RFC 2018.
    pub sack: bool,
    /// RFC 3168.
    pub ecn: bool,
    /// How far the local TCP's window is shifted (RFC 7323 §2).
    pub shift: u8,
}

/// A connection of which not yet both SYNs were seen, or not their acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// From here to the peer.
    pub key: FlowKey,
    /// The local TCP's own number.
    isn: Seq,
    /// It has sent a SYN-ACK, not a SYN.
    passive: bool,
    /// What it offers, or, in a SYN-ACK, has agreed to.
    offers: Agreed,
    ours: Said,
    stamp: Option<u32>,
    /// When it was sent; `None` if more than once.
    at: Option<Instant>,
    pub last: Instant,
}

impl Opening {
    /// The local TCP sends a SYN or SYN-ACK.
    pub fn new(now: Instant, segment: &Segment) -> Self {
        let passive = segment.has(TcpFlags::ACK);
        let both = TcpFlags::ECE.with(TcpFlags::CWR);
        // RFC 3168 §6.1.1: ECE and CWR offer, ECE alone agrees.
        let ecn = match passive {
            false => segment.has(both),
            true => segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::CWR),
        };
        let stamps = segment.stamps;
        Self {
            key: segment.flow,
            isn: segment.seq,
            passive,
            offers: Agreed {
                timestamps: stamps.is_some(),
                sack: segment.sack_permitted,
                ecn,
                shift: segment.window_scale.unwrap_or(0),
            },
            ours: Said {
                ack: segment.ack,
                window: segment.window,
                stamp: 0,
                echo: stamps.map_or(0, |stamps| stamps.echo),
                fin: None,
            },
            stamp: stamps.map(|stamps| stamps.value),
            at: Some(now),
            last: now,
        }
    }

    /// Is `segment` the same SYN or SYN-ACK, sent again?
    pub fn is_again(&self, segment: &Segment) -> bool {
        self.isn == segment.seq && self.passive == segment.has(TcpFlags::ACK)
    }

    pub fn is_passive(&self) -> bool {
        self.passive
    }

    /// The same SYN again, perhaps with fewer offers.
    pub fn on_again(&mut self, now: Instant, segment: &Segment) {
        let again = Self::new(now, segment);
        self.offers.ecn &= again.offers.ecn;
        (self.ours, self.stamp, self.last) = (again.ours, again.stamp, now);
        // Which of them was answered is not known (Karn).
        self.at = None;
    }

    /// The peer answers: the flow, if this completes the handshake as far as the shim needs it.
    pub fn on_answer(&self, now: Instant, segment: &Segment) -> Option<Flow> {
        let syn = segment.has(TcpFlags::SYN);
        if !segment.has(TcpFlags::ACK) || segment.has(TcpFlags::RST) || syn == self.passive {
            return None;
        }
        let first = self.isn + 1;
        // RFC 9293 §3.10.7.3; the ACK of a SYN-ACK may come with, or be lost before, data.
        if segment.ack != first || self.passive && segment.seq.distance(self.ours.ack) < 0 {
            return None;
        }
        let mut agreed = self.offers;
        let mut ours = self.ours;
        if !self.passive {
            let answered = segment.has(TcpFlags::ECE) && !segment.has(TcpFlags::CWR);
            agreed.timestamps &= segment.stamps.is_some();
            agreed.sack &= segment.sack_permitted;
            agreed.ecn &= answered;
            agreed.shift = segment.window_scale.map_or(0, |_| agreed.shift);
            ours.ack = segment.seq + 1;
        }
        let theirs = Said {
            ack: segment.ack,
            window: segment.window,
            stamp: segment.stamps.map_or(0, |stamps| stamps.value),
            echo: 0,
            fin: None,
        };
        let mut flow = Flow::new(self.key, agreed, first, ours, theirs);
        if let Some(at) = self.at {
            flow.on_round_trip(now.since(at));
        }
        if let (Some(stamp), true) = (self.stamp, agreed.timestamps) {
            flow.clock = Some(StampClock::new(self.last, stamp));
        }
        flow.heard = now;
        Some(flow)
    }
}
