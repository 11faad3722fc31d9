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

use driftway_base::{About, Duration, FailedLink, Instant, Ipv4Addr, Signal, SignalKind};
use driftway_wire::{Body, IcmpMessage, Packet, Quoted};

use super::{Fate, GivenUp, Output, Passage, Scheme, Way};
use destination::{Destination, Source};

/// The configuration of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RfnConfig {
    /// The lifetime of an RFN of another router. An RRN may be lost; without an expiry, a route would stay
    /// blocked forever at each router before the loss. If this is no longer than the source waits
    /// (`driftway_aid::tcp_f`), the source finds the route unblocked when it tries again.
    pub believes: Duration,
    /// The buffer for packets without a usable next hop; `None`: they are dropped.
    pub buffer: Option<Buffer>,
}

/// The packet buffer of a router for routes that have failed (chandran-1998 §6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The maximum number of packets per destination.
    pub packets: usize,
    /// The event that releases them.
    pub flush: Flush,
}

/// The event that releases buffered packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// An RRN that is forwarded, or that is due because the router's own link is up again: only the old
    /// route.
    Rrn,
    /// Any next hop that the router learns of, without waiting for an RRN.
    Route,
}

/// The route failure agent of a router (chandran-1998 §4), without knowledge of connections.
///
/// A driver with a packet to forward calls [`on_packet`](Scheme::on_packet) and selects a next hop that
/// [`is_usable`](Scheme::is_usable), or else one that it [`can_try`](Scheme::can_try). It reports a failed
/// next hop by [`on_next_hop_failed`](Scheme::on_next_hop_failed), and a packet without a next hop by
/// [`on_undeliverable`](Scheme::on_undeliverable). Expired failures are removed with the next packet.
#[derive(Clone, Debug)]
pub struct Rfn {
    address: Ipv4Addr,
    config: RfnConfig,
    /// Sorted by address. An entry stays, empty, when its route is restored.
    destinations: Vec<Destination>,
    outbox: VecDeque<Output>,
    freed: VecDeque<u32>,
}

impl Rfn {
    /// Creates an agent that knows of no failure.
    pub const fn new(address: Ipv4Addr, config: RfnConfig) -> Self {
        Self {
            address,
            config,
            destinations: Vec::new(),
            outbox: VecDeque::new(),
            freed: VecDeque::new(),
        }
    }

    /// Sends an RFN to the source of `packet`, and records it.
    fn answer(&mut self, packet: &Packet) -> Option<&mut Destination> {
        let quoted = Quoted::of(packet)?;
        let place = self.place(quoted.destination).ok()?;
        let known = self.destinations.get_mut(place)?;
        let link = known.failed_link()?;
        known.has_rfn(link, quoted);
        let message = IcmpMessage::RouteFailed { link, quoted };
        self.outbox.extend(Packet::icmp_about(self.address, message).map(Output::Transmit));
        Some(known)
    }

    /// chandran-1998 §4: the route is invalidated. A router that knows another route uses it and discards the
    /// RFN; otherwise it records the source and forwards the RFN.
    fn on_rfn(
        &mut self,
        now: Instant,
        link: FailedLink,
        quoted: Quoted,
        way: Way,
        ways: &[Way],
    ) -> Passage {
        // A next hop that is not used for this destination says nothing about the route.
        if !ways.contains(&way) {
            return Passage::Forward;
        }
        let other = |other: &Way| *other != way && self.is_usable(now, quoted.destination, *other);
        let knows_another = ways.iter().any(other);
        let at_source = quoted.source == self.address;
        let until = now + self.config.believes;
        let Some(known) = self.destination(quoted.destination) else { return Passage::Forward };
        if knows_another {
            known.breaks(way, link, Some(until));
            return Passage::Discard;
        }
        // At the source it is the transport that stops sending and retries.
        if at_source {
            known.forget_told(quoted.source);
        } else {
            known.breaks(way, link, Some(until));
            known.has_rfn(link, quoted);
        }
        Passage::Forward
    }

    /// chandran-1998 §4: an RRN is forwarded, unless its source was sent one from here. It also informs this
    /// router of a route, so that all other notified sources are sent an RRN.
    fn on_rrn(&mut self, quoted: Quoted, way: Way, ways: &[Way]) -> Passage {
        let Ok(place) = self.place(quoted.destination) else { return Passage::Forward };
        let Some(known) = self.destinations.get_mut(place) else { return Passage::Forward };
        let told = known.has_rrn(quoted.source);
        if ways.contains(&way) {
            known.mends(way);
            self.freed.extend(known.kept.drain(..));
            Self::tell_sources(self.address, known, &mut self.outbox);
        }
        if told { Passage::Discard } else { Passage::Forward }
    }

    fn tell_sources(reporter: Ipv4Addr, known: &mut Destination, outbox: &mut VecDeque<Output>) {
        while let Some(Source { link, quoted }) = known.next_to_tell() {
            let message = IcmpMessage::RouteRestored { link, quoted };
            outbox.extend(Packet::icmp_about(reporter, message).map(Output::Transmit));
        }
    }

    fn place(&self, destination: Ipv4Addr) -> Result<usize, usize> {
        self.destinations.binary_search_by_key(&destination, |known| known.address)
    }

    fn known(&self, destination: Ipv4Addr) -> Option<&Destination> {
        self.destinations.get(self.place(destination).ok()?)
    }

    /// The state of `destination`, created if there is none.
    fn destination(&mut self, destination: Ipv4Addr) -> Option<&mut Destination> {
        let place = self.place(destination).unwrap_or_else(|place| {
            self.destinations.insert(place, Destination::new(destination));
            place
        });
        self.destinations.get_mut(place)
    }
}

impl Scheme for Rfn {
    /// chandran-1998 §5.4: each packet without a next hop triggers an RFN, so that the source of every flow
    /// on the route is notified, and no other; §2: so does a packet that is lost on the link when it fails
    /// and has no other route. An RFN, an RRN or another ICMP error triggers none (RFC 1122 §3.2.2). An
    /// expired time to live does not indicate a route failure.
    fn on_given_up(&mut self, _now: Instant, lost: &GivenUp<'_>) -> Fate {
        if !lost.reason.is_about_the_route() {
            return Fate::Lost;
        }
        let buffer = self.config.buffer;
        let Some(known) = self.answer(lost.packet) else { return Fate::Lost };
        match lost.number.zip(buffer) {
            None => Fate::Lost,
            Some((number, buffer)) if known.kept.len() < buffer.packets => {
                known.kept.push_back(number);
                Fate::Kept
            }
            Some(_) => Fate::Overflow,
        }
    }

    /// chandran-1998 §4: this router is the failure point. It sends no more packets over this next hop until
    /// the link is up.
    fn on_way_failed(&mut self, destination: Ipv4Addr, way: Way, link: FailedLink) {
        self.outbox.push_back(Output::Watch(destination));
        if let Some(known) = self.destination(destination) {
            known.breaks(way, link, None);
        }
    }

    /// Failures reported over this link before are out of date: if there is another failure behind it, the
    /// next packet will reveal it.
    ///
    /// chandran-1998 §4: a router that learns of a route sends an RRN to each source whose identity it has
    /// stored.
    fn on_way_restored(&mut self, way: Way) {
        for known in &mut self.destinations {
            if !known.mends(way) {
                continue;
            }
            let flushes = match self.config.buffer.map(|buffer| buffer.flush) {
                Some(Flush::Rrn) => !known.awaits_notice(),
                _ => true,
            };
            if flushes {
                self.freed.extend(known.kept.drain(..));
            }
            Self::tell_sources(self.address, known, &mut self.outbox);
        }
    }

    /// chandran-1998 §4: the failure point is the source itself, and no notification has to be sent. (ELFN,
    /// likewise, freezes a TCP whose node starts a route discovery: yu-2004 §3.2.) Packets buffered by
    /// routing are not reported as undeliverable.
    fn on_route_lost(&mut self, _now: Instant, to: Ipv4Addr) {
        let about = About { destination: Some(to), ..About::default() };
        self.outbox.push_back(Output::Signal(Signal { kind: SignalKind::RouteFailed, about }));
    }

    fn on_notice(&mut self, now: Instant, notice: &Packet, way: Way, ways: &[Way]) -> Passage {
        match notice.body {
            Body::Icmp(IcmpMessage::RouteFailed { link, quoted }) => {
                self.on_rfn(now, link, quoted, way, ways)
            }
            Body::Icmp(IcmpMessage::RouteRestored { quoted, .. }) => self.on_rrn(quoted, way, ways),
            _ => Passage::Forward,
        }
    }

    fn on_packet(&mut self, now: Instant, destination: Ipv4Addr) -> bool {
        let Ok(place) = self.place(destination) else { return false };
        let Some(known) = self.destinations.get_mut(place) else { return false };
        if known.forgets(now) {
            self.freed.extend(known.kept.drain(..));
        }
        !self.freed.is_empty()
    }

    fn remembers(&self) -> bool {
        true
    }

    fn is_usable(&self, now: Instant, destination: Ipv4Addr, way: Way) -> bool {
        !self.known(destination).is_some_and(|known| known.is_broken(now, way))
    }

    /// Feedback is forwarded as long as the node's own links are up: it informs routers that a reported
    /// failure is over.
    fn may_try(&self, packet: &Packet, way: Way) -> bool {
        let feedback = matches!(&packet.body, Body::Icmp(message) if message.quoted().is_some());
        feedback && !self.known(packet.ip.destination).is_some_and(|known| known.is_cut(way))
    }

    fn kept(&self) -> usize {
        self.destinations.iter().map(|known| known.kept.len()).sum::<usize>() + self.freed.len()
    }

    fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front()
    }

    fn poll_freed(&mut self) -> Option<u32> {
        self.freed.pop_front()
    }
}
