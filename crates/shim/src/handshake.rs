//! The handshake: it determines the negotiated options and the initial sequence numbers.

use driftway_base::{FlowKey, Instant, Seq};
use driftway_wire::{TcpFlags, TcpSegment};

use crate::counts::UntouchedReason;
use crate::flow::view::aid_segment;
use crate::flow::{ConnectionAid, EndpointState, Flow};
use crate::negotiated::Negotiated;
use crate::pace::TimestampClock;
use crate::packet::Segment;

/// Maximum number of bytes of a connection in both directions, with their headers, that pass by
/// before its segments are intercepted: about what a TCP sends without an acknowledgment (RFC 6928
/// §2, ten segments), beside a request.
pub const UNSEEN_MAX: u32 = 16 << 10;

/// Bytes that the timestamps option takes in each segment (RFC 7323, appendix A).
const TIMESTAMPS_LEN: u16 = 12;

/// A connection whose three-way handshake is not complete, or of which nothing but the handshake
/// was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    /// Both endpoints, from this host to the peer.
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
    /// The handshake was seen as copies: segments pass by until the first one that is intercepted.
    passes_by: bool,
    /// The peer's SYN-ACK, seen as a copy.
    answer: Option<Segment>,
    /// One past the highest sequence number of the peer that was intercepted since.
    peer_seen: Option<Seq>,
    /// One past the sequence numbers of both FINs, seen as copies: of the local TCP, and the peer.
    fins: [Option<Seq>; 2],
}

impl Handshake {
    /// A handshake that begins with the local TCP's SYN or SYN-ACK.
    pub fn new(now: Instant, segment: &Segment) -> Self {
        let is_passive = segment.has_flags(TcpFlags::ACK);
        let both = TcpFlags::ECE.with(TcpFlags::CWR);
        // RFC 3168 §6.1.1: ECE and CWR in a SYN offer ECN, ECE alone in a SYN-ACK accepts it.
        let ecn = match is_passive {
            false => segment.has_flags(both),
            true => segment.has_flags(TcpFlags::ECE) && !segment.has_flags(TcpFlags::CWR),
        };
        let stamps = segment.options.timestamps;
        Self {
            key: segment.flow,
            isn: segment.seq,
            is_passive,
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
            passes_by: false,
            answer: None,
            peer_seen: None,
            fins: [None; 2],
        }
    }

    /// Records that the local TCP's SYN or SYN-ACK was seen as a copy, at an unknown time.
    pub fn on_copy(&mut self) {
        self.passes_by = true;
        self.sent_at = None;
    }

    /// Records a copy of the peer's SYN-ACK. The local TCP ignores any other after the first one
    /// (RFC 9293 §3.10.7.3).
    pub fn on_answer_copy(&mut self, segment: &Segment) {
        if self.passes_by
            && !self.is_passive
            && self.answer.is_none()
            && segment.ack == self.isn + 1
        {
            self.answer = Some(*segment);
        }
    }

    /// Records an intercepted segment of the peer, before the first one of the local TCP.
    pub fn on_intercepted_peer(&mut self, segment: &Segment) {
        if self.is_of_peer(segment.seq) {
            let end = segment.range().end;
            self.peer_seen = Some(self.peer_seen.map_or(end, |seen| seen.max(end)));
        }
    }

    /// Returns whether the peer may have sent everything before `seq`.
    fn is_of_peer(&self, seq: Seq) -> bool {
        self.peer_first().is_some_and(|first| {
            let seen = self.peer_seen.map_or(first, |seen| seen.max(first));
            seq.at_or_after(first) && seq.at_or_before(seen + UNSEEN_MAX)
        })
    }

    /// Records a copy of a FIN; returns whether both ends have sent theirs.
    pub fn on_fin_copy(&mut self, segment: &Segment, is_outgoing: bool) -> bool {
        let [ours, theirs] = &mut self.fins;
        *(if is_outgoing { ours } else { theirs }) = Some(segment.range().end);
        self.fins.iter().all(Option::is_some)
    }

    /// Returns whether the local TCP may accept this reset (RFC 9293 §3.10.7.3, RFC 5961 §3.2), as
    /// far as that is known.
    pub fn may_accept_reset(&self, segment: &Segment) -> bool {
        match self.peer_first() {
            Some(_) => self.is_of_peer(segment.seq),
            None => segment.has_flags(TcpFlags::ACK) && segment.ack == self.isn + 1,
        }
    }

    /// Returns whether the connection passes by until the first intercepted segment.
    pub fn passes_by(&self) -> bool {
        self.passes_by
    }

    /// Returns whether the connection is known to be open.
    pub fn is_established(&self) -> bool {
        self.answer.is_some()
    }

    /// The peer's first sequence number after its SYN.
    fn peer_first(&self) -> Option<Seq> {
        if self.is_passive {
            Some(self.local.ack)
        } else {
            self.answer.map(|answer| answer.seq + 1)
        }
    }

    /// The flow of a connection that has passed by until now, when the local TCP sends `segment`:
    /// `None` as long as it does not show the state of the local TCP.
    ///
    /// # Errors
    /// The shim cannot support the connection.
    pub fn on_first_intercepted(
        &self,
        now: Instant,
        segment: &Segment,
        aid: impl FnOnce() -> ConnectionAid,
    ) -> Result<Option<Flow>, UntouchedReason> {
        let first = self.isn + 1;
        if !self.passes_by || segment.has_flags(TcpFlags::RST) {
            return Err(UntouchedReason::Preexisting);
        }
        // A keep-alive, or a window probe.
        if !segment.has_flags(TcpFlags::ACK) || segment.seq == self.isn {
            return Ok(None);
        }
        // The copies are of another connection, or some are missing.
        let is_own = segment.seq.at_or_after(first) && segment.seq.at_or_before(first + UNSEEN_MAX);
        if !is_own || !self.is_of_peer(segment.ack) {
            return Err(UntouchedReason::Preexisting);
        }
        let agreed = self.negotiated(self.answer.as_ref())?;
        let Some(stamps) = segment.options.timestamps else {
            return Err(UntouchedReason::NoTimestamps);
        };
        if segment.unknown_option {
            return Err(UntouchedReason::UnknownOption);
        }
        let [our_fin, their_fin] = self.fins;
        let ours = EndpointState {
            ack: segment.ack,
            window: segment.window,
            echo: stamps.echo,
            ece: segment.has_flags(TcpFlags::ECE),
            fin_end: our_fin,
        };
        // What the peer has acknowledged is not known: at least the SYN.
        let theirs = EndpointState {
            ack: first,
            window: self.answer.map_or(u16::MAX, |answer| answer.window),
            echo: 0,
            ece: false,
            fin_end: their_fin,
        };
        let clock = TimestampClock::new(now, stamps.value);
        let mut flow = Flow::new(self.key, agreed, ours, theirs, stamps.echo, clock, aid());
        flow.set_unseen(first + UNSEEN_MAX, stamps.value);
        (flow.last_sent, flow.last_heard) = (now, now);
        flow.opened(now, &self.syn, self.answer.as_ref());
        Ok(Some(flow))
    }

    /// The options to which both ends have agreed. In an active open the peer's SYN-ACK, `answer`, decides on the
    /// options, in a passive open the local TCP's own SYN-ACK did.
    ///
    /// # Errors
    /// The shim cannot support the connection.
    fn negotiated(&self, answer: Option<&Segment>) -> Result<Negotiated, UntouchedReason> {
        if answer.is_some_and(|answer| answer.unknown_option) {
            return Err(UntouchedReason::UnknownOption);
        }
        if self.tsval.is_none() || answer.is_some_and(|answer| answer.options.timestamps.is_none())
        {
            return Err(UntouchedReason::NoTimestamps);
        }
        let mut agreed = self.offered;
        if let Some(answer) = answer {
            agreed.sack &= answer.options.sack_permitted;
            agreed.ecn &= answer.has_flags(TcpFlags::ECE) && !answer.has_flags(TcpFlags::CWR);
            agreed.window_shift = answer.options.window_scale.map_or(0, |_| agreed.window_shift);
            agreed.peer_window_shift = Some(answer.options.window_scale.map_or(0, |shift| {
                // RFC 7323 §2.2: only if both ends offer it.
                if self.syn.options.window_scale.is_some() { shift } else { 0 }
            }));
            agreed.mss = agreed.mss.min(answer.options.mss);
        }
        agreed.mss = agreed.mss.map(|mss| mss.saturating_sub(TIMESTAMPS_LEN).max(1));
        Ok(agreed)
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
        let agreed = self.negotiated(syn.then_some(segment))?;
        let Some(stamp) = self.tsval else { return Err(UntouchedReason::NoTimestamps) };
        let mut ours = self.local;
        if syn {
            ours.ack = segment.seq + 1;
        }
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
        flow.opened(now, &self.syn, syn.then_some(segment));
        Ok(Some(flow))
    }
}
