//! A split connection: two legs, and what passes between them.

use std::collections::VecDeque;

use driftway_base::{Ecn, Instant, Seq};
use driftway_tcp::{Event, State, Transmit, reset_for};
use driftway_wire::{Packet, TcpFlags, TcpSegment};

use super::event::GatewayEventKind;
use super::leg::{Damage, Leg};
use super::side::Side;

/// The two conjugated connections (liu-singh-2001 §III-A).
pub(super) struct SplitConnection {
    wireless: Leg,
    wired: Leg,
    /// The side of the end that opens the connection.
    initiator: Side,
    /// Sequence number of the initiator's SYN.
    initial_seq: Seq,
    /// The initiator's last SYN, until the other leg is established.
    pending_syn: Option<(TcpSegment, Ecn)>,
    /// The answer to a SYN that is refused.
    refusal: Option<TcpSegment>,
    is_established: bool,
    has_failed: bool,
    /// Room for the data of one direction (bytes).
    buffer: u32,
    /// The most that a direction has had in its buffer (bytes).
    longest_buffer: u64,
    events: VecDeque<GatewayEventKind>,
}

impl SplitConnection {
    /// The leg towards the responder is to connect, and the one towards the initiator to listen.
    pub fn new(
        wireless: Leg,
        wired: Leg,
        initiator: Side,
        syn: (TcpSegment, Ecn),
        buffer: u32,
    ) -> Self {
        Self {
            wireless,
            wired,
            initiator,
            initial_seq: syn.0.seq,
            pending_syn: Some(syn),
            refusal: None,
            is_established: false,
            has_failed: false,
            buffer,
            longest_buffer: 0,
            events: VecDeque::new(),
        }
    }

    pub fn leg(&self, side: Side) -> &Leg {
        match side {
            Side::Wireless => &self.wireless,
            Side::Wired => &self.wired,
        }
    }

    pub fn leg_mut(&mut self, side: Side) -> &mut Leg {
        match side {
            Side::Wireless => &mut self.wireless,
            Side::Wired => &mut self.wired,
        }
    }

    pub fn longest_buffer(&self) -> u64 {
        self.longest_buffer
    }

    pub fn poll_event(&mut self) -> Option<GatewayEventKind> {
        self.events.pop_front()
    }

    /// Returns true if a segment begins another connection between the same ends: a SYN of the
    /// initiator that is not a copy of the first one, and that no leg of this connection can answer.
    pub fn is_succeeded_by(&self, from: Side, segment: &TcpSegment) -> bool {
        let opens = segment.flags.contains(TcpFlags::SYN) && !segment.flags.contains(TcpFlags::ACK);
        let is_over = self.wireless.is_over() && self.wired.is_over();
        let is_opening = self.pending_syn.is_some() && from == self.initiator;
        opens && segment.seq != self.initial_seq && (is_over || is_opening)
    }

    /// Handles a segment from the end on this side.
    pub fn on_segment(&mut self, now: Instant, from: Side, segment: &TcpSegment, ecn: Ecn) {
        if from == self.initiator
            && let Some(pending) = &mut self.pending_syn
        {
            if segment.flags.contains(TcpFlags::SYN) {
                // The last one: it may no longer offer ECN (RFC 3168 §6.1.1.1), and its timestamp
                // measures the round trip.
                *pending = (*segment, ecn);
            } else if segment.flags.contains(TcpFlags::RST) {
                self.fail(from, GatewayEventKind::Reset(from));
            }
            return;
        }
        self.leg_mut(from).on_segment(now, segment, ecn);
        self.run(now);
    }

    /// Passes between the legs what can pass, until nothing changes.
    pub fn run(&mut self, now: Instant) {
        loop {
            let mut has_changed = false;
            for side in Side::BOTH {
                while let Some(event) = self.leg_mut(side).poll_event() {
                    self.on_event(now, side, event);
                    has_changed = true;
                }
                has_changed |= self.relay(side);
            }
            has_changed |= self.check_attempt();
            if !has_changed {
                return;
            }
        }
    }

    fn on_event(&mut self, now: Instant, side: Side, event: Event) {
        match event {
            Event::Connected if side == self.initiator => {
                self.is_established = true;
                self.events.push_back(GatewayEventKind::Established);
            }
            // Only now is the SYN answered, so that a refused connection is refused to the initiator.
            Event::Connected => {
                if let Some((syn, ecn)) = self.pending_syn.take() {
                    self.leg_mut(side.other()).on_segment(now, &syn, ecn);
                }
            }
            Event::Reset => self.fail(side, GatewayEventKind::Reset(side)),
            Event::TimedOut => self.fail(side, GatewayEventKind::TimedOut(side)),
            // The end of a stream is passed on after its data.
            Event::PeerClosed
            | Event::Closed
            | Event::RetransmissionTimeout
            | Event::FastRetransmit => {}
        }
    }

    /// Detects that the initiator has reset its attempt after our SYN: its leg listens again, or is
    /// closed if it was to close, which TCP does not report as a reset.
    fn check_attempt(&mut self) -> bool {
        let initiator = self.initiator;
        let is_given_up = self.pending_syn.is_none()
            && !self.is_established
            && !self.has_failed
            && matches!(self.leg(initiator).state(), State::Listen | State::Closed);
        if is_given_up {
            self.fail(initiator, GatewayEventKind::Reset(initiator));
        }
        is_given_up
    }

    /// Resets what is left after one side has failed.
    fn fail(&mut self, side: Side, how: GatewayEventKind) {
        if std::mem::replace(&mut self.has_failed, true) {
            return;
        }
        self.events.push_back(how);
        if let Some((syn, _)) = self.pending_syn.take()
            && side != self.initiator
        {
            self.refusal = reset_for(&syn);
        }
        self.leg_mut(side.other()).socket.tcp_mut().abort();
        if !self.leg(side).is_over() {
            self.leg_mut(side).socket.tcp_mut().abort();
        }
    }

    /// Relays what has come in on one side; true if something has.
    fn relay(&mut self, from: Side) -> bool {
        let (source, sink) = match from {
            Side::Wireless => (&mut self.wireless, &mut self.wired),
            Side::Wired => (&mut self.wired, &mut self.wireless),
        };
        // A connection that is over, or not open yet, takes no data.
        if self.has_failed || matches!(sink.state(), State::Closed | State::Listen | State::SynSent)
        {
            return false;
        }
        let mut has_changed = false;
        loop {
            match sink.relay_from(source, self.buffer) {
                Ok(true) => has_changed = true,
                Ok(false) => break,
                Err(Damage) => {
                    self.fail(from, GatewayEventKind::Damaged(from));
                    return true;
                }
            }
        }
        self.longest_buffer = self.longest_buffer.max(sink.buffered_bytes());
        sink.close_after(source) || has_changed
    }

    /// Returns the next packet of a leg.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Packet, Transmit)> {
        if let Some(segment) = self.refusal.take() {
            let packet = self.leg(self.initiator).packet(segment);
            return Some((packet, plain(segment)));
        }
        let wireless = self.wireless.poll_transmit(now);
        wireless.or_else(|| self.wired.poll_transmit(now))
    }
}

/// A segment outside of the data flow.
const fn plain(segment: TcpSegment) -> Transmit {
    Transmit {
        segment,
        ecn: Ecn::NotEct,
        ahead_of_queue: false,
        retransmission: false,
        requested_by_aid: false,
    }
}
