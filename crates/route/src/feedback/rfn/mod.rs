//! Route failure and re-establishment notifications (chandran-1998): a router's memory of failed
//! routes, and what it says about them. This is the network's half of TCP-F (chandran-1998 §4, §5.4,
//! §6.1); the source's half is `driftway_aid::tcp_f`.
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | how routes are found | chandran-1998 §5.1 assumes no routing protocol; the driver reports links and ways |
//! | one RFN for all sources at once | chandran-1998 §5.4 only explores it; each packet draws its own |

mod destination;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use driftway_base::{SignalDetails, Duration, FailedLink, Instant, Ipv4Addr, Signal, SignalKind};
use driftway_wire::{Body, IcmpMessage, Packet, QuotedPacket};

use super::{UndeliverableOutcome, UndeliverablePacket, Output, NoticeAction, Scheme, NextHop};
use destination::{DestinationState, NotifiedSource};

/// How a router deals with failed routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RfnConfig {
    /// For how long a router believes an RFN of another's. An RRN may be lost; without an end, a
    /// route would stay closed for ever at each router before the loss. As long as the source
    /// waits (`driftway_aid::tcp_f`), or longer, and the source finds the way free when it tries again.
    pub rfn_lifetime: Duration,
    /// Keeps packets that have no way; `None`: they are lost.
    pub buffer: Option<BufferConfig>,
}

/// chandran-1998 §6.1: a router keeps packets while their route is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// The most packets for one destination.
    pub max_packets: usize,
    /// What sets them free.
    pub flush: FlushTrigger,
}

/// What sets kept packets free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushTrigger {
    /// An RRN that passes, or that is due because the router's own link is back: only the old route.
    Rrn,
    /// Any way that the router learns of, without waiting for an RRN.
    AnyRoute,
}

/// What a router does about routes that fail (chandran-1998 §4), without knowledge of connections.
///
/// A driver that has a packet to forward calls [`on_packet`](Scheme::on_packet) and looks for a way that
/// [`is_usable`](Scheme::is_usable), or at least one that it [`may_try`](Scheme::may_try). A way that
/// fails it reports by [`on_way_failed`](Scheme::on_way_failed), a packet without a way by
/// [`on_given_up`](Scheme::on_given_up). What is not believed any more is noticed with the next packet.
#[derive(Clone, Debug)]
pub struct RouteFailureAgent {
    address: Ipv4Addr,
    config: RfnConfig,
    /// Sorted by address. An entry stays, empty, when its route is whole again.
    destinations: Vec<DestinationState>,
    outbox: VecDeque<Output>,
    released: VecDeque<u32>,
}

impl RouteFailureAgent {
    /// One that knows of no failure.
    pub const fn new(address: Ipv4Addr, config: RfnConfig) -> Self {
        Self {
            address,
            config,
            destinations: Vec::new(),
            outbox: VecDeque::new(),
            released: VecDeque::new(),
        }
    }

    /// Sends an RFN to the source of `packet`, and remembers it.
    fn send_rfn(&mut self, packet: &Packet) -> Option<&mut DestinationState> {
        let quoted = QuotedPacket::of(packet)?;
        let place = self.index_of(quoted.destination).ok()?;
        let known = self.destinations.get_mut(place)?;
        let link = known.failed_link()?;
        known.record_rfn(link, quoted);
        let message = IcmpMessage::RouteFailed { link, quoted };
        self.outbox.extend(Packet::icmp_error_from(self.address, message).map(Output::Transmit));
        Some(known)
    }

    /// chandran-1998 §4: the route is invalid. Who knows another uses that, and the RFN ends here;
    /// else the source is remembered, and the RFN goes on.
    fn on_rfn(
        &mut self,
        now: Instant,
        link: FailedLink,
        quoted: QuotedPacket,
        way: NextHop,
        ways: &[NextHop],
    ) -> NoticeAction {
        // From where our packets do not go, it says nothing about our route.
        if !ways.contains(&way) {
            return NoticeAction::Forward;
        }
        let other = |other: &NextHop| *other != way && self.is_usable(now, quoted.destination, *other);
        let knows_another = ways.iter().any(other);
        let at_source = quoted.source == self.address;
        let until = now + self.config.rfn_lifetime;
        let Some(known) = self.destination(quoted.destination) else { return NoticeAction::Forward };
        if knows_another {
            known.mark_failed(way, link, Some(until));
            return NoticeAction::Discard;
        }
        // At the source it is its transport that stops sending, and that tries again.
        if at_source {
            known.forget_rrn(quoted.source);
        } else {
            known.mark_failed(way, link, Some(until));
            known.record_rfn(link, quoted);
        }
        NoticeAction::Forward
    }

    /// chandran-1998 §4: an RRN is forwarded, unless its source has had one from here. It tells
    /// this router of a route, too, so that whoever else has had an RFN is told.
    fn on_rrn(&mut self, quoted: QuotedPacket, way: NextHop, ways: &[NextHop]) -> NoticeAction {
        let Ok(place) = self.index_of(quoted.destination) else { return NoticeAction::Forward };
        let Some(known) = self.destinations.get_mut(place) else { return NoticeAction::Forward };
        let rrn_was_sent = known.record_rrn(quoted.source);
        if ways.contains(&way) {
            known.clear_failure(way);
            self.released.extend(known.buffered.drain(..));
            Self::send_rrns(self.address, known, &mut self.outbox);
        }
        if rrn_was_sent { NoticeAction::Discard } else { NoticeAction::Forward }
    }

    fn send_rrns(reporter: Ipv4Addr, known: &mut DestinationState, outbox: &mut VecDeque<Output>) {
        while let Some(NotifiedSource { link, quoted }) = known.take_next_for_rrn() {
            let message = IcmpMessage::RouteRestored { link, quoted };
            outbox.extend(Packet::icmp_error_from(reporter, message).map(Output::Transmit));
        }
    }

    fn index_of(&self, destination: Ipv4Addr) -> Result<usize, usize> {
        self.destinations.binary_search_by_key(&destination, |known| known.address)
    }

    fn destination_state(&self, destination_entry: Ipv4Addr) -> Option<&DestinationState> {
        self.destinations.get(self.index_of(destination_entry).ok()?)
    }

    /// What is known of `destination`, which may be nothing yet.
    fn destination(&mut self, destination: Ipv4Addr) -> Option<&mut DestinationState> {
        let place = self.index_of(destination).unwrap_or_else(|place| {
            self.destinations.insert(place, DestinationState::new(destination));
            place
        });
        self.destinations.get_mut(place)
    }
}

impl Scheme for RouteFailureAgent {
    /// chandran-1998 §5.4: each packet that has no way draws an RFN, so that the source of every flow
    /// that uses the route learns of it, and no other; §2: so does one that is lost on the link when it
    /// fails, for which there is no other way. About an RFN, an RRN or any other ICMP error nothing is
    /// said (RFC 1122 §3.2.2). A time to live that has run out says nothing of a route.
    fn on_undeliverable(&mut self, _now: Instant, lost: &UndeliverablePacket<'_>) -> UndeliverableOutcome {
        if !lost.reason.is_route_failure() {
            return UndeliverableOutcome::Dropped;
        }
        let buffer = self.config.buffer;
        let Some(known) = self.send_rfn(lost.packet) else { return UndeliverableOutcome::Dropped };
        match lost.packet_id.zip(buffer) {
            None => UndeliverableOutcome::Dropped,
            Some((number, buffer)) if known.buffered.len() < buffer.max_packets => {
                known.buffered.push_back(number);
                UndeliverableOutcome::Buffered
            }
            Some(_) => UndeliverableOutcome::Overflow,
        }
    }

    /// chandran-1998 §4: this router is the failure point. It sends no more packets there until the link
    /// is back.
    fn on_next_hop_failed(&mut self, destination: Ipv4Addr, way: NextHop, link: FailedLink) {
        self.outbox.push_back(Output::Watch(destination));
        if let Some(known) = self.destination(destination) {
            known.mark_failed(way, link, None);
        }
    }

    /// What was heard over the link before is out of date: if there is another failure behind it, the
    /// next packet will show.
    ///
    /// chandran-1998 §4: a router that learns of a route sends an RRN to each source whose identity
    /// it has stored.
    fn on_next_hop_restored(&mut self, way: NextHop) {
        for known in &mut self.destinations {
            if !known.clear_failure(way) {
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

    /// chandran-1998 §4: the failure point is the source itself, and nothing has to travel. (So does
    /// ELFN stop a TCP whose node begins to look for a route: yu-2004 §3.2.) Packets that wait for
    /// another route are not given up.
    fn on_route_lost(&mut self, _now: Instant, to: Ipv4Addr) {
        let about = SignalDetails { destination: Some(to), ..SignalDetails::default() };
        self.outbox.push_back(Output::Signal(Signal { kind: SignalKind::RouteFailed, details: about }));
    }

    fn on_notice(&mut self, now: Instant, notice: &Packet, way: NextHop, ways: &[NextHop]) -> NoticeAction {
        match notice.body {
            Body::Icmp(IcmpMessage::RouteFailed { link, quoted }) => {
                self.on_rfn(now, link, quoted, way, ways)
            }
            Body::Icmp(IcmpMessage::RouteRestored { quoted, .. }) => self.on_rrn(quoted, way, ways),
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

    fn is_usable(&self, now: Instant, destination: Ipv4Addr, way: NextHop) -> bool {
        !self.destination_state(destination).is_some_and(|known| known.is_failed(now, way))
    }

    /// What carries feedback goes as far as links carry it: by it routers learn that what they have
    /// heard is over.
    fn can_try(&self, packet: &Packet, way: NextHop) -> bool {
        let feedback = matches!(&packet.body, Body::Icmp(message) if message.quoted().is_some());
        feedback && !self.destination_state(packet.ip.destination).is_some_and(|known| known.is_own_link_failed(way))
    }

    fn buffered_packets(&self) -> usize {
        self.destinations.iter().map(|known| known.buffered.len()).sum::<usize>() + self.released.len()
    }

    fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front()
    }

    fn poll_released(&mut self) -> Option<u32> {
        self.released.pop_front()
    }
}
