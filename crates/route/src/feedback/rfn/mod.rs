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

use driftway_base::{About, Duration, FailedLink, Instant, Ipv4Addr, Signal, SignalKind};
use driftway_wire::{Body, IcmpMessage, Packet, Quoted};

use super::{Fate, GivenUp, Output, Passage, Scheme, Way};
use destination::{Destination, Source};

/// How a router deals with failed routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RfnConfig {
    /// For how long a router believes an RFN of another's. An RRN may be lost; without an end, a
    /// route would stay closed for ever at each router before the loss. As long as the source
    /// waits (`driftway_aid::tcp_f`), or longer, and the source finds the way free when it tries again.
    pub believes: Duration,
    /// Keeps packets that have no way; `None`: they are lost.
    pub buffer: Option<Buffer>,
}

/// chandran-1998 §6.1: a router keeps packets while their route is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The most packets for one destination.
    pub packets: usize,
    /// What sets them free.
    pub flush: Flush,
}

/// What sets kept packets free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// An RRN that passes, or that is due because the router's own link is back: only the old route.
    Rrn,
    /// Any way that the router learns of, without waiting for an RRN.
    Route,
}

/// What a router does about routes that fail (chandran-1998 §4), without knowledge of connections.
///
/// A driver that has a packet to forward calls [`on_packet`](Scheme::on_packet) and looks for a way that
/// [`is_usable`](Scheme::is_usable), or at least one that it [`may_try`](Scheme::may_try). A way that
/// fails it reports by [`on_way_failed`](Scheme::on_way_failed), a packet without a way by
/// [`on_given_up`](Scheme::on_given_up). What is not believed any more is noticed with the next packet.
#[derive(Clone, Debug)]
pub struct Rfn {
    address: Ipv4Addr,
    config: RfnConfig,
    /// Sorted by address. An entry stays, empty, when its route is whole again.
    destinations: Vec<Destination>,
    outbox: VecDeque<Output>,
    freed: VecDeque<u32>,
}

impl Rfn {
    /// One that knows of no failure.
    pub const fn new(address: Ipv4Addr, config: RfnConfig) -> Self {
        Self {
            address,
            config,
            destinations: Vec::new(),
            outbox: VecDeque::new(),
            freed: VecDeque::new(),
        }
    }

    /// Sends an RFN to the source of `packet`, and remembers it.
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

    /// chandran-1998 §4: the route is invalid. Who knows another uses that, and the RFN ends here;
    /// else the source is remembered, and the RFN goes on.
    fn on_rfn(
        &mut self,
        now: Instant,
        link: FailedLink,
        quoted: Quoted,
        way: Way,
        ways: &[Way],
    ) -> Passage {
        // From where our packets do not go, it says nothing about our route.
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
        // At the source it is its transport that stops sending, and that tries again.
        if at_source {
            known.forget_told(quoted.source);
        } else {
            known.breaks(way, link, Some(until));
            known.has_rfn(link, quoted);
        }
        Passage::Forward
    }

    /// chandran-1998 §4: an RRN is forwarded, unless its source has had one from here. It tells
    /// this router of a route, too, so that whoever else has had an RFN is told.
    fn on_rrn(&mut self, quoted: Quoted, way: Way, ways: &[Way]) -> Passage {
        let Ok(place) = self.place(quoted.destination) else { return Passage::Forward };
        let Some(known) = self.destinations.get_mut(place) else { return Passage::Forward };
        let rrn_was_sent = known.has_rrn(quoted.source);
        if ways.contains(&way) {
            known.mends(way);
            self.freed.extend(known.kept.drain(..));
            Self::tell_sources(self.address, known, &mut self.outbox);
        }
        if rrn_was_sent { Passage::Discard } else { Passage::Forward }
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

    /// What is known of `destination`, which may be nothing yet.
    fn destination(&mut self, destination: Ipv4Addr) -> Option<&mut Destination> {
        let place = self.place(destination).unwrap_or_else(|place| {
            self.destinations.insert(place, Destination::new(destination));
            place
        });
        self.destinations.get_mut(place)
    }
}

impl Scheme for Rfn {
    /// chandran-1998 §5.4: each packet that has no way draws an RFN, so that the source of every flow
    /// that uses the route learns of it, and no other; §2: so does one that is lost on the link when it
    /// fails, for which there is no other way. About an RFN, an RRN or any other ICMP error nothing is
    /// said (RFC 1122 §3.2.2). A time to live that has run out says nothing of a route.
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

    /// chandran-1998 §4: this router is the failure point. It sends no more packets there until the link
    /// is back.
    fn on_way_failed(&mut self, destination: Ipv4Addr, way: Way, link: FailedLink) {
        self.outbox.push_back(Output::Watch(destination));
        if let Some(known) = self.destination(destination) {
            known.breaks(way, link, None);
        }
    }

    /// What was heard over the link before is out of date: if there is another failure behind it, the
    /// next packet will show.
    ///
    /// chandran-1998 §4: a router that learns of a route sends an RRN to each source whose identity
    /// it has stored.
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

    /// chandran-1998 §4: the failure point is the source itself, and nothing has to travel. (So does
    /// ELFN stop a TCP whose node begins to look for a route: yu-2004 §3.2.) Packets that wait for
    /// another route are not given up.
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

    /// What carries feedback goes as far as links carry it: by it routers learn that what they have
    /// heard is over.
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
