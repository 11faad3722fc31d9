//! The handshake: it determines the negotiated options and the initial sequence numbers.

use driftway_base::{FlowKey, Instant, Seq};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::counts::UntouchedReason;
use crate::flow::view::aid_segment;
use crate::flow::{ConnectionAid, EndpointState, Flow};
use crate::negotiated::Negotiated;
use crate::pace::TimestampClock;
use crate::packet::Segment;

/// Bytes that the timestamps option takes in each segment (RFC 7323, appendix A).
const TIMESTAMPS_LEN: u16 = 12;

/// A connection whose three-way handshake is not complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    /// From this host to the peer.
    pub key: FlowKey,
    /// Initial sequence number of the local TCP.
    isn: Seq,
    /// The local TCP has sent a SYN-ACK, not a SYN (passive open).
    is_passive: bool,
    /// Options that the local TCP offers in its SYN, or has agreed to in its SYN-ACK.
    offered: Negotiated,
    /// The local TCP's SYN or SYN-ACK.
    syn: TcpSegment,
    local: EndpointState,
    /// Its TSval, if it carries timestamps (RFC 7323 §3.2).
    tsval: Option<u32>,
    /// Send time; `None` if it was retransmitted.
    sent_at: Option<Instant>,
    pub last_sent: Instant,
}

impl Handshake {
    /// A handshake that begins with the local TCP's SYN or SYN-ACK.
    pub fn new(now: Instant, segment: &Segment) -> Self {
        let passive = segment.has_flags(TcpFlags::ACK);
        let both = TcpFlags::ECE.with(TcpFlags::CWR);
        // RFC 3168 §6.1.1: ECE and CWR in a SYN offer ECN, ECE alone in a SYN-ACK accepts it.
        let ecn = match passive {
            false => segment.has_flags(both),
            true => segment.has_flags(TcpFlags::ECE) && !segment.has_flags(TcpFlags::CWR),
        };
        let stamps = segment.options.timestamps;
        Self {
            key: segment.flow,
            isn: segment.seq,
            is_passive: passive,
            offered: Negotiated {
                sack: segment.options.sack_permitted,
                ecn,
                window_shift: segment.options.window_scale.unwrap_or(0),
                peer_window_shift: None,
                mss: segment.options.mss,
            },
            syn: aid_segment(segment),
            local: EndpointState {
                ack: segment.ack,
                window: segment.window,
                echo: stamps.map_or(0, |stamps| stamps.echo),
                ece: false,
                fin_end: None,
            },
            tsval: stamps.map(|stamps| stamps.value),
            sent_at: Some(now),
            last_sent: now,
        }
    }

    /// Returns whether `segment` is a retransmission of the SYN or SYN-ACK.
    pub fn is_retransmission(&self, segment: &Segment) -> bool {
        self.isn == segment.seq && self.is_passive == segment.has_flags(TcpFlags::ACK)
    }

    pub fn is_passive(&self) -> bool {
        self.is_passive
    }

    /// Records a retransmission of the SYN, which may offer fewer options.
    pub fn on_retransmission(&mut self, now: Instant, segment: &Segment) {
        let again = Self::new(now, segment);
        self.offered.ecn &= again.offered.ecn;
        (self.local, self.tsval, self.last_sent) = (again.local, again.tsval, now);
        self.syn = again.syn;
        // Karn's algorithm: the acknowledged copy is not known.
        self.sent_at = None;
    }

    /// Processes a segment of the peer; returns the flow if it completes the handshake.
    ///
    /// # Errors
    /// The handshake completes, but the shim cannot support the connection.
    pub fn on_reply(
        &self,
        now: Instant,
        segment: &Segment,
        aid: impl FnOnce() -> ConnectionAid,
    ) -> Result<Option<Flow>, UntouchedReason> {
        let syn = segment.has_flags(TcpFlags::SYN);
        if !segment.has_flags(TcpFlags::ACK)
            || segment.has_flags(TcpFlags::RST)
            || syn == self.is_passive
        {
            return Ok(None);
        }
        let first = self.isn + 1;
        // RFC 9293 §3.10.7.3; the ACK of a SYN-ACK may carry data, or be lost before data arrive.
        if segment.ack != first || self.is_passive && segment.seq.distance(self.local.ack) < 0 {
            return Ok(None);
        }
        if syn && segment.unknown_option {
            return Err(UntouchedReason::UnknownOption);
        }
        // In an active open the SYN-ACK decides on the options, in a passive open its own SYN-ACK
        // did.
        let (Some(stamp), true) =
            (self.tsval, self.is_passive || segment.options.timestamps.is_some())
        else {
            return Err(UntouchedReason::NoTimestamps);
        };
        let mut agreed = self.offered;
        let mut ours = self.local;
        if !self.is_passive {
            agreed.sack &= segment.options.sack_permitted;
            agreed.ecn &= segment.has_flags(TcpFlags::ECE) && !segment.has_flags(TcpFlags::CWR);
            agreed.window_shift = segment.options.window_scale.map_or(0, |_| agreed.window_shift);
            agreed.peer_window_shift = Some(segment.options.window_scale.map_or(0, |shift| {
                // RFC 7323 §2.2: only if both ends offer it.
                if self.syn.options.window_scale.is_some() { shift } else { 0 }
            }));
            agreed.mss = agreed.mss.min(segment.options.mss);
            ours.ack = segment.seq + 1;
        }
        agreed.mss = agreed.mss.map(|mss| mss.saturating_sub(TIMESTAMPS_LEN).max(1));
        let theirs = EndpointState {
            ack: segment.ack,
            window: segment.window,
            echo: 0,
            ece: false,
            fin_end: None,
        };
        let clock = TimestampClock::new(self.last_sent, stamp);
        let recent = segment.options.timestamps.map_or(ours.echo, |stamps| stamps.value);
        let mut flow = Flow::new(self.key, agreed, ours, theirs, recent, clock, aid());
        if let Some(at) = self.sent_at {
            flow.on_rtt_sample(now.since(at));
        }
        (flow.last_sent, flow.last_heard) = (self.last_sent, now);
        flow.opened(now, &self.syn, segment);
        Ok(Some(flow))
    }
}
