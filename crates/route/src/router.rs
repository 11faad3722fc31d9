//! A router's memory of failed routes, and what it says about them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use base::{Duration, FailedLink, Instant, Ipv4Addr};
use wire::{Body, IcmpMessage, Packet, Quoted};

use crate::destination::{Destination, Source};

/// A way out of a router, an interface and the neighbour behind it. The driver numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way(pub u32);

/// How a router deals with failed routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// For how long a router believes an RFN of another's. An RRN may be lost; without an end, a
    /// route would stay closed for ever at each router before the loss. As long as the source
    /// waits (`aid::tcp_f`), or longer, and the source finds the way free when it tries again.
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

/// What becomes of a packet that has no way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is kept, by its number, until [`Router::poll_freed`] gives that back.
    Kept,
    /// It is lost.
    Refused,
    /// It is lost, because as many are kept as may be.
    Overflow,
}

/// What becomes of an RFN or RRN that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on.
    Forward,
    /// It ends here.
    Discard,
}

/// What a router does about routes that fail (chandran-1998 §4): a state machine without I/O, and
/// without knowledge of connections.
///
/// A driver that has a packet to forward calls [`on_packet`](Self::on_packet), looks for a way that
/// [`is_usable`](Self::is_usable), or at least one that it [`may_try`](Self::may_try), and tells of
/// what it finds: a link that refuses it
/// ([`on_link_failure`](Self::on_link_failure)), no way at all ([`on_no_way`](Self::on_no_way)), a
/// link that fails with a packet on it ([`on_loss`](Self::on_loss)). It shows each RFN and RRN that passes, those for the router's own host included
/// ([`on_notice`](Self::on_notice)), and says when a link is back
/// ([`on_link_restored`](Self::on_link_restored)). After each it polls
/// [`poll_transmit`](Self::poll_transmit) for messages and [`poll_freed`](Self::poll_freed) for kept
/// packets that are to be forwarded anew. There are no timers: what is not believed any more is
/// noticed with the next packet. Time never goes back.
#[derive(Clone, Debug)]
pub struct Router {
    address: Ipv4Addr,
    config: Config,
    /// Sorted by address. An entry stays, empty, when its route is whole again.
    destinations: Vec<Destination>,
    outbox: VecDeque<Packet>,
    freed: VecDeque<u32>,
}

impl Router {
    /// One that knows of no failure.
    pub const fn new(address: Ipv4Addr, config: Config) -> Self {
        Self {
            address,
            config,
            destinations: Vec::new(),
            outbox: VecDeque::new(),
            freed: VecDeque::new(),
        }
    }

    /// Has it never heard of a failure? Then every way is usable, and no packet is kept.
    pub fn is_new(&self) -> bool {
        self.destinations.is_empty()
    }

    /// Can packets for `destination` take `way`?
    pub fn is_usable(&self, now: Instant, destination: Ipv4Addr, way: Way) -> bool {
        !self.known(destination).is_some_and(|known| known.is_broken(now, way))
    }

    /// Can `way` be tried for `packet` if no way is usable? What carries feedback goes as far as links
    /// carry it: by it routers learn that what they have heard is over.
    pub fn may_try(&self, packet: &Packet, way: Way) -> bool {
        let feedback = matches!(&packet.body, Body::Icmp(message) if message.quoted().is_some());
        feedback && !self.known(packet.ip.destination).is_some_and(|known| known.is_cut(way))
    }

    /// How many packets it keeps, those to be polled included.
    pub fn kept(&self) -> usize {
        self.destinations.iter().map(|known| known.kept.len()).sum::<usize>() + self.freed.len()
    }

    /// A packet for `destination` is about to be forwarded: what was only heard, and long ago, is
    /// not believed any more.
    pub fn on_packet(&mut self, now: Instant, destination: Ipv4Addr) {
        let Ok(place) = self.place(destination) else { return };
        let Some(known) = self.destinations.get_mut(place) else { return };
        if known.forgets(now) {
            self.freed.extend(known.kept.drain(..));
        }
    }

    /// The router's own link `link` on `way` did not carry a packet for `destination`
    /// (chandran-1998 §4: the failure point). Until it is back, no more are sent there.
    pub fn on_link_failure(&mut self, destination: Ipv4Addr, way: Way, link: FailedLink) {
        if let Some(known) = self.destination(destination) {
            known.breaks(way, link, None);
        }
    }

    /// There is no usable way for packet number `id`. chandran-1998 §5.4: each such packet draws an
    /// RFN, so that the source of every flow that uses the route learns of it, and no other. About
    /// an RFN, an RRN or any other ICMP error nothing is said (RFC 1122 §3.2.2).
    pub fn on_no_way(&mut self, id: u32, packet: &Packet) -> Fate {
        let buffer = self.config.buffer;
        let Some(known) = self.answer(packet) else { return Fate::Refused };
        match buffer {
            None => Fate::Refused,
            Some(buffer) if known.kept.len() < buffer.packets => {
                known.kept.push_back(id);
                Fate::Kept
            }
            Some(_) => Fate::Overflow,
        }
    }

    /// A packet is lost on the router's own link, which had taken it and then failed, and there is
    /// no other way. chandran-1998 §2: who could not deliver a packet is told so by its link, and
    /// tells the source as for one that comes later.
    pub fn on_loss(&mut self, packet: &Packet) {
        self.answer(packet);
    }

    /// Sends an RFN to the source of `packet`, and remembers it.
    fn answer(&mut self, packet: &Packet) -> Option<&mut Destination> {
        let quoted = Quoted::of(packet)?;
        let place = self.place(quoted.destination).ok()?;
        let known = self.destinations.get_mut(place)?;
        let link = known.failed_link()?;
        known.has_rfn(link, quoted);
        let message = IcmpMessage::RouteFailed { link, quoted };
        self.outbox.extend(Packet::icmp_about(self.address, message));
        Some(known)
    }

    /// An RFN or RRN has come over `way`; `ways` are all by which packets to its destination could
    /// leave. Any other packet is forwarded.
    pub fn on_notice(&mut self, now: Instant, notice: &Packet, way: Way, ways: &[Way]) -> Passage {
        match notice.body {
            Body::Icmp(IcmpMessage::RouteFailed { link, quoted }) => {
                self.on_rfn(now, link, quoted, way, ways)
            }
            Body::Icmp(IcmpMessage::RouteRestored { quoted, .. }) => self.on_rrn(quoted, way, ways),
            _ => Passage::Forward,
        }
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
        let told = known.has_rrn(quoted.source);
        if ways.contains(&way) {
            known.mends(way);
            self.freed.extend(known.kept.drain(..));
            Self::tell_sources(self.address, known, &mut self.outbox);
        }
        if told { Passage::Discard } else { Passage::Forward }
    }

    /// The link on `way` carries again. What was heard over it before is out of date: if there is
    /// another failure behind it, the next packet will show.
    ///
    /// chandran-1998 §4: a router that learns of a route sends an RRN to each source whose identity
    /// it has stored.
    pub fn on_link_restored(&mut self, way: Way) {
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

    fn tell_sources(reporter: Ipv4Addr, known: &mut Destination, outbox: &mut VecDeque<Packet>) {
        while let Some(Source { link, quoted }) = known.next_to_tell() {
            outbox
                .extend(Packet::icmp_about(reporter, IcmpMessage::RouteRestored { link, quoted }));
        }
    }

    /// The next message to be sent.
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        self.outbox.pop_front()
    }

    /// The number of the next packet that was kept and is to be forwarded anew.
    pub fn poll_freed(&mut self) -> Option<u32> {
        self.freed.pop_front()
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
