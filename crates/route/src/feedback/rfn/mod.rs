//! Route failure and re-establishment notifications (chandran-1998): a router's state of failed routes, and
//! its notifications. This is the network's part of TCP-F (chandran-1998 §4, §5.4, §6.1); the source's part
//! is `driftway_aid::tcp_f`.
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | route discovery | chandran-1998 §5.1 assumes no routing protocol; the driver reports links and routes |
//! | one RFN for all sources together | chandran-1998 §5.4 only discusses it; each packet triggers its own |

mod destination;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{
    Duration, FailedLink, Instant, Ipv4Addr, PacketId, Signal, SignalDetails, SignalKind,
};
use driftway_wire::{Body, IcmpMessage, Packet, QuotedPacket};

use super::scheme::{
    FeedbackOutput, NextHop, NoticeAction, Scheme, UndeliverableOutcome, UndeliverablePacket,
};
use destination::{DestinationState, NotifiedSource};

/// The configuration of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RfnConfig {
    /// The lifetime of an RFN of another router. An RRN may be lost; without an expiry, a route would stay
    /// blocked forever at each router before the loss. If this is no longer than the source waits
    /// (`driftway_aid::tcp_f`), the source finds the route unblocked when it tries again.
    pub rfn_lifetime: Duration,
    /// The buffer for packets without a usable next hop; `None`: they are dropped.
    pub buffer: Option<BufferConfig>,
}

/// The packet buffer of a router for routes that have failed (chandran-1998 §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// The maximum number of packets per destination.
    pub max_packets: usize,
    /// The event that releases them.
    pub flush: FlushTrigger,
}

/// The event that releases buffered packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushTrigger {
    /// An RRN that is forwarded, or that is due because the router's own link is up again: only the old
    /// route.
    Rrn,
    /// Any next hop that the router learns of, without waiting for an RRN.
    AnyRoute,
}

/// The route failure agent of a router (chandran-1998 §4), without knowledge of connections.
///
/// A driver with a packet to forward calls [`on_packet`](Scheme::on_packet) and selects a next hop that
/// [`is_usable`](Scheme::is_usable), or else one that it [`can_try`](Scheme::can_try). It reports a failed
/// next hop by [`on_next_hop_failed`](Scheme::on_next_hop_failed), and a packet without a next hop by
/// [`on_undeliverable`](Scheme::on_undeliverable). Expired failures are removed with the next packet.
#[derive(Clone, Debug)]
pub struct RouteFailureAgent {
    address: Ipv4Addr,
    config: RfnConfig,
    /// Sorted by address. An entry stays, empty, when its route is restored.
    destinations: Vec<DestinationState>,
    outbox: VecDeque<FeedbackOutput>,
    released: VecDeque<PacketId>,
}

impl RouteFailureAgent {
    /// Creates an agent that knows of no failure.
    pub const fn new(address: Ipv4Addr, config: RfnConfig) -> Self {
        Self {
            address,
            config,
            destinations: Vec::new(),
            outbox: VecDeque::new(),
            released: VecDeque::new(),
        }
    }

    /// Sends an RFN to the source of `packet`, and records it.
    fn send_rfn(&mut self, packet: &Packet) -> Option<&mut DestinationState> {
        let quoted = QuotedPacket::of(packet)?;
        let place = self.index_of(quoted.destination).ok()?;
        let known = self.destinations.get_mut(place)?;
        let link = known.failed_link()?;
        known.record_rfn(link, quoted);
        let message = IcmpMessage::RouteFailed { link, quoted };
        self.outbox
            .extend(Packet::icmp_error_from(self.address, message).map(FeedbackOutput::Transmit));
        Some(known)
    }

    /// chandran-1998 §4: the route is invalidated. A router that knows another route uses it and discards the
    /// RFN; otherwise it records the source and forwards the RFN.
    fn on_rfn(
        &mut self,
        now: Instant,
        link: FailedLink,
        quoted: QuotedPacket,
        next_hop: NextHop,
        next_hops: &[NextHop],
    ) -> NoticeAction {
        // A next hop that is not used for this destination says nothing about the route.
        if !next_hops.contains(&next_hop) {
            return NoticeAction::Forward;
        }
        let other =
            |other: &NextHop| *other != next_hop && self.is_usable(now, quoted.destination, *other);
        let knows_another = next_hops.iter().any(other);
        let at_source = quoted.source == self.address;
        let until = now + self.config.rfn_lifetime;
        let Some(known) = self.destination(quoted.destination) else {
            return NoticeAction::Forward;
        };
        if knows_another {
            known.mark_failed(next_hop, link, Some(until));
            return NoticeAction::Discard;
        }
        // At the source it is the transport that stops sending and retries.
        if at_source {
            known.forget_rrn(quoted.source);
        } else {
            known.mark_failed(next_hop, link, Some(until));
            known.record_rfn(link, quoted);
        }
        NoticeAction::Forward
    }

    /// chandran-1998 §4: an RRN is forwarded, unless its source was sent one from here. It also informs this
    /// router of a route, so that all other notified sources are sent an RRN.
    fn on_rrn(
        &mut self,
        quoted: QuotedPacket,
        next_hop: NextHop,
        next_hops: &[NextHop],
    ) -> NoticeAction {
        let Ok(place) = self.index_of(quoted.destination) else { return NoticeAction::Forward };
        let Some(known) = self.destinations.get_mut(place) else { return NoticeAction::Forward };
        let rrn_was_sent = known.record_rrn(quoted.source);
        if next_hops.contains(&next_hop) {
            known.clear_failure(next_hop);
            self.released.extend(known.buffered.drain(..));
            Self::send_rrns(self.address, known, &mut self.outbox);
        }
        if rrn_was_sent { NoticeAction::Discard } else { NoticeAction::Forward }
    }

    fn send_rrns(
        reporter: Ipv4Addr,
        known: &mut DestinationState,
        outbox: &mut VecDeque<FeedbackOutput>,
    ) {
        while let Some(NotifiedSource { link, quoted }) = known.take_next_for_rrn() {
            let message = IcmpMessage::RouteRestored { link, quoted };
            outbox.extend(Packet::icmp_error_from(reporter, message).map(FeedbackOutput::Transmit));
        }
    }

    fn index_of(&self, destination: Ipv4Addr) -> Result<usize, usize> {
        self.destinations.binary_search_by_key(&destination, |known| known.address)
    }

    fn destination_state(&self, destination_entry: Ipv4Addr) -> Option<&DestinationState> {
        self.destinations.get(self.index_of(destination_entry).ok()?)
    }

    /// The state of `destination`, created if there is none.
    fn destination(&mut self, destination: Ipv4Addr) -> Option<&mut DestinationState> {
        let place = self.index_of(destination).unwrap_or_else(|place| {
            self.destinations.insert(place, DestinationState::new(destination));
            place
        });
        self.destinations.get_mut(place)
    }
}

impl Scheme for RouteFailureAgent {
    /// chandran-1998 §5.4: each packet without a next hop triggers an RFN, so that the source of every flow
    /// on the route is notified, and no other; §2: so does a packet that is lost on the link when it fails
    /// and has no other route. An RFN, an RRN or another ICMP error triggers none (RFC 1122 §3.2.2). An
    /// expired time to live does not indicate a route failure.
    fn on_undeliverable(
        &mut self,
        _now: Instant,
        lost: &UndeliverablePacket<'_>,
    ) -> UndeliverableOutcome {
        if !lost.reason.is_route_failure() {
            return UndeliverableOutcome::Dropped;
        }
        let buffer = self.config.buffer;
        let Some(known) = self.send_rfn(lost.packet) else { return UndeliverableOutcome::Dropped };
        match lost.packet_id.zip(buffer) {
            None => UndeliverableOutcome::Dropped,
            Some((id, buffer)) if known.buffered.len() < buffer.max_packets => {
                known.buffered.push_back(id);
                UndeliverableOutcome::Buffered
            }
            Some(_) => UndeliverableOutcome::Overflow,
        }
    }

    /// chandran-1998 §4: this router is the failure point. It sends no more packets over this next hop until
    /// the link is up.
    fn on_next_hop_failed(&mut self, destination: Ipv4Addr, next_hop: NextHop, link: FailedLink) {
        self.outbox.push_back(FeedbackOutput::Watch(destination));
        if let Some(known) = self.destination(destination) {
            known.mark_failed(next_hop, link, None);
        }
    }

    /// Failures reported over this link before are out of date: if there is another failure behind it, the
    /// next packet will reveal it.
    ///
    /// chandran-1998 §4: a router that learns of a route sends an RRN to each source whose identity it has
    /// stored.
    fn on_next_hop_restored(&mut self, next_hop: NextHop) {
        for known in &mut self.destinations {
            if !known.clear_failure(next_hop) {
                continue;
            }
            let flushes = match self.config.buffer.map(|buffer| buffer.flush) {
                Some(FlushTrigger::Rrn) => !known.awaits_rrn(),
                _ => true,
            };
            if flushes {
                self.released.extend(known.buffered.drain(..));
            }
            Self::send_rrns(self.address, known, &mut self.outbox);
        }
    }

    /// chandran-1998 §4: the failure point is the source itself, and no notification has to be sent. (ELFN,
    /// likewise, freezes a TCP whose node starts a route discovery: yu-2004 §3.2.) Packets buffered by
    /// routing are not reported as undeliverable.
    fn on_route_lost(&mut self, _now: Instant, to: Ipv4Addr) {
        let details = SignalDetails { destination: Some(to), ..SignalDetails::default() };
        self.outbox
            .push_back(FeedbackOutput::Signal(Signal { kind: SignalKind::RouteFailed, details }));
    }

    fn on_notice(
        &mut self,
        now: Instant,
        notice: &Packet,
        next_hop: NextHop,
        next_hops: &[NextHop],
    ) -> NoticeAction {
        match notice.body {
            Body::Icmp(IcmpMessage::RouteFailed { link, quoted }) => {
                self.on_rfn(now, link, quoted, next_hop, next_hops)
            }
            Body::Icmp(IcmpMessage::RouteRestored { quoted, .. }) => {
                self.on_rrn(quoted, next_hop, next_hops)
            }
            _ => NoticeAction::Forward,
        }
    }

    fn on_packet(&mut self, now: Instant, destination: Ipv4Addr) -> bool {
        let Ok(place) = self.index_of(destination) else { return false };
        let Some(known) = self.destinations.get_mut(place) else { return false };
        if known.expire(now) {
            self.released.extend(known.buffered.drain(..));
        }
        !self.released.is_empty()
    }

    fn is_stateful(&self) -> bool {
        true
    }

    fn is_usable(&self, now: Instant, destination: Ipv4Addr, next_hop: NextHop) -> bool {
        !self.destination_state(destination).is_some_and(|known| known.is_failed(now, next_hop))
    }

    /// Feedback is forwarded as long as the node's own links are up: it informs routers that a reported
    /// failure is over.
    fn can_try(&self, packet: &Packet, next_hop: NextHop) -> bool {
        let feedback = matches!(&packet.body, Body::Icmp(message) if message.quoted().is_some());
        feedback
            && !self
                .destination_state(packet.ip.destination)
                .is_some_and(|known| known.is_own_link_failed(next_hop))
    }

    fn buffered_packets(&self) -> usize {
        self.destinations.iter().map(|known| known.buffered.len()).sum::<usize>()
            + self.released.len()
    }

    fn poll(&mut self) -> Option<FeedbackOutput> {
        self.outbox.pop_front()
    }

    fn poll_released(&mut self) -> Option<PacketId> {
        self.released.pop_front()
    }
}
