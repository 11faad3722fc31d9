//! AODV: ad hoc on-demand distance vector routing (RFC 3561).
//!
//! A node that has a packet and no route broadcasts a request (`search`). The request sets up a reverse route
//! (`request`), on which the destination, or a node with a route to it, replies (`reply`). A broken link is
//! repaired locally (`repair`) or reported to the nodes that used it (`errors`).
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | multicast (flags J and R), subnets (prefix size), gateways (RFC 3561 §7) | a node is a host |
//! | a reboot (RFC 3561 §6.13) | nodes of the simulator do not lose their state |
//! | several interfaces (RFC 3561 §6.14) | a node has one radio |
//! | extensions (RFC 3561 §9) | they only state the hello interval, which all nodes share here |

mod buffer;
mod config;
mod errors;
mod hello;
mod losses;
mod memory;
mod repair;
mod reply;
mod request;
mod search;
mod table;
mod timers;

pub use config::{AodvConfig, ErrorRule, Hello, LocalRepair, Refresh, SearchRule};

use alloc::collections::VecDeque;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr, RandomStream, Seq, Strength};
use driftway_wire::{AodvMessage, AodvReply, AodvRequest, Body, IpHeader, Packet, Routed};

use crate::limit::Limit;
use crate::losses::Losses;
use crate::strengths::Strengths;
use crate::until::Until;
use crate::watched::Watched;
use crate::{DropReason, Hop, Outbox, Output, RouteStats};
use buffer::Buffer;
use memory::Seen;
use table::{State, Table};

/// AODV at one node. The methods are those of every protocol: see [`Output`].
///
/// [`Output::RouteFound`] and [`Output::RouteLost`] are reported for destinations for which the node had a
/// packet, the first also for watched ones. A route that expires unused is not reported as lost, nor is one
/// under repair.
#[derive(Clone, Debug)]
pub struct Aodv {
    config: AodvConfig,
    address: Ipv4Addr,
    /// The node's own sequence number (RFC 3561 §6.1).
    seq: Seq,
    /// RREQ ID of the last request.
    request_id: u32,
    table: Table,
    buffer: Buffer,
    seen: Seen,
    requests_left: Limit,
    errors_left: Limit,
    /// Neighbours whose requests are ignored (RFC 3561 §6.8).
    blacklist: Until,
    /// Neighbours that have to acknowledge a reply.
    awaited: Until,
    /// Neighbours that send hello messages, with the instant at which each is considered lost.
    neighbours: Until,
    strengths: Strengths,
    /// Instants at which repairs are given up ([`LocalRepair::PastMidpoint`]).
    repairs: VecDeque<(Instant, Ipv4Addr)>,
    /// The node is part of an active (valid) route until then (RFC 3561 §3, §6.9).
    active_until: Instant,
    last_broadcast: Instant,
    next_hello: Instant,
    /// The next check for expired routes (`expiry_interval`).
    next_round: Instant,
    /// A lower bound of all timers.
    due: Instant,
    /// Lost packets not yet reported.
    losses: Losses,
    outbox: Outbox,
    watched: Watched,
    random: RandomStream,
    stats: RouteStats,
}

/// A routing table entry, for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvRoute {
    /// The destination.
    pub destination: Ipv4Addr,
    /// The next hop, if the route is valid.
    pub next_hop: Option<Ipv4Addr>,
    /// The hop count, if the route is valid.
    pub hops: u8,
    /// The highest known sequence number of the destination, incremented when a route is lost.
    pub seq: Option<u32>,
    /// The valid sequence number flag (RFC 3561 §2).
    pub seq_is_valid: bool,
    /// The expiry of the route, or of an invalid entry.
    pub until: Instant,
    /// A route discovery is in progress.
    pub searching: bool,
}

impl Aodv {
    /// Creates the node at `address`; `seed` and `node` select its random numbers.
    pub fn new(config: AodvConfig, address: Ipv4Addr, seed: u64, node: u64) -> Self {
        let mut random = RandomStream::new(seed, "aodv", node);
        // Nodes do not start simultaneously.
        let next_hello = config.hello.map_or(Instant::FAR_FUTURE, |hello| {
            Instant::ZERO + random.duration(Duration::ZERO, hello.interval)
        });
        Self {
            config,
            address,
            seq: if config.even_numbers { Seq(2) } else { Seq(0) },
            request_id: 0,
            table: Table::default(),
            buffer: Buffer::default(),
            seen: Seen::default(),
            requests_left: Limit::new(config.rreq_rate),
            errors_left: Limit::new(config.rerr_rate),
            blacklist: Until::default(),
            awaited: Until::default(),
            neighbours: Until::default(),
            strengths: Strengths::default(),
            repairs: VecDeque::new(),
            active_until: Instant::ZERO,
            last_broadcast: Instant::ZERO,
            next_hello,
            next_round: Instant::FAR_FUTURE,
            due: next_hello,
            losses: Losses::default(),
            outbox: Outbox::default(),
            watched: Watched::default(),
            random,
            stats: RouteStats::default(),
        }
    }

    /// The configuration.
    pub const fn config(&self) -> &AodvConfig {
        &self.config
    }

    /// Sends a packet of the local host.
    pub fn send(&mut self, now: Instant, mut packet: Packet) {
        self.begin(now);
        if packet.ip.destination == self.address {
            self.outbox.push(Output::Deliver(packet));
        } else if packet.ip.destination == Ipv4Addr::BROADCAST {
            self.outbox.push(Output::Transmit { packet: Routed::plain(packet), hop: Hop::All });
        } else {
            if let Some(ttl) = self.config.data_ttl {
                packet.ip.ttl = ttl;
            }
            self.resolve(now, Routed::plain(packet), None);
        }
    }

    /// Requests a report of the next route to `destination`.
    pub fn watch(&mut self, destination: Ipv4Addr) {
        self.watched.add(destination);
    }

    /// Handles a packet received from the neighbour `from`, unicast to this node or broadcast.
    pub fn on_packet(&mut self, now: Instant, from: Ipv4Addr, mut packet: Routed) {
        self.begin(now);
        self.heard(now, from);
        if let Body::Aodv(message) = &packet.packet.body {
            return self.on_message(now, from, &packet.packet.ip, message);
        }
        if packet.is_control() {
            return;
        }
        let ip = &mut packet.packet.ip;
        if ip.destination == self.address || ip.destination == Ipv4Addr::BROADCAST {
            self.is_active(now + self.config.active_route_timeout);
            self.outbox.push(Output::Deliver(packet.packet));
        } else if packet.dsr.is_some() {
            self.give_up(packet, DropReason::BadRoute);
        } else if ip.source == self.address {
            self.give_up(packet, DropReason::Loop);
        } else if ip.ttl <= 1 {
            self.give_up(packet, DropReason::TimeToLive);
        } else {
            ip.ttl -= 1;
            self.resolve(now, packet, Some(from));
        }
    }

    /// Handles an overheard packet: its sender is in range.
    pub fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        _to: Ipv4Addr,
        _packet: &Routed,
    ) -> bool {
        self.begin(now);
        self.heard(now, from);
        true
    }

    /// Returns true if the protocol uses the received power of neighbours.
    pub const fn wants_strength(&self) -> bool {
        self.config.avoid_fading.is_some()
    }

    /// Records the power with which a neighbour is received.
    pub fn on_strength(&mut self, neighbour: Ipv4Addr, strength: Strength) {
        self.strengths.on_strength(neighbour, strength);
    }

    /// Returns true if the expected lifetime of the link from a neighbour is too short for a route.
    fn avoids(&self, now: Instant, neighbour: Ipv4Addr) -> bool {
        let within = self.config.avoid_fading;
        within.is_some_and(|within| self.strengths.ends_within(now, neighbour, within))
    }

    /// Returns the next output.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        let output = self.outbox.poll(now)?;
        if let Output::Transmit { packet, .. } = &output
            && packet.is_control()
        {
            self.stats.packets_sent += 1;
            self.stats.bytes_sent += u64::from(packet.len());
        }
        Some(output)
    }

    /// The instant at which [`Self::on_timeout`] or [`Self::poll`] has to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timer = (self.due < Instant::FAR_FUTURE).then_some(self.due);
        match (timer, self.outbox.next_timeout()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The number of host packets held.
    pub fn kept(&self) -> usize {
        self.buffer.len() + self.outbox.kept()
    }

    /// The counters.
    pub const fn stats(&self) -> &RouteStats {
        &self.stats
    }

    /// The routing table, by destination.
    pub fn routes(&self) -> impl Iterator<Item = AodvRoute> {
        self.table.iter().map(|(destination, route)| AodvRoute {
            destination,
            next_hop: route.is_valid().then_some(route.next_hop),
            hops: route.hops,
            seq: route.seq.map(|seq| seq.0),
            seq_is_valid: route.seq_is_valid,
            until: route.until,
            searching: route.search.phase != table::Phase::Idle,
        })
    }

    /// The number of entries beside routes and packets: requests, neighbours, repairs.
    pub fn remembered(&self) -> usize {
        self.seen.len()
            + self.blacklist.len()
            + self.awaited.len()
            + self.neighbours.len()
            + self.repairs.len()
    }

    /// Runs due timers before any event at the same instant: no route is used after its expiry.
    fn begin(&mut self, now: Instant) {
        if self.due <= now {
            self.on_timeout(now);
        }
    }

    fn on_message(&mut self, now: Instant, from: Ipv4Addr, ip: &IpHeader, message: &AodvMessage) {
        if from == self.address {
            return;
        }
        match message {
            AodvMessage::Request(request) => self.on_request(now, from, ip.ttl, request),
            AodvMessage::Reply(reply) if ip.destination == Ipv4Addr::BROADCAST => {
                self.on_hello(now, from, reply);
            }
            AodvMessage::Reply(reply) => self.on_reply(now, from, reply),
            AodvMessage::Error(error) => self.on_error(now, from, error),
            AodvMessage::ReplyAck => self.awaited.remove(from),
            AodvMessage::Losses(losses) => self.on_losses(now, from, losses),
        }
    }

    /// Forwards, buffers or drops a packet, which came from `from` unless it is the local host's.
    fn resolve(&mut self, now: Instant, packet: Routed, from: Option<Ipv4Addr>) {
        let destination = packet.packet.ip.destination;
        let Some(route) = self.table.entry(destination, self.config.table_size) else {
            return self.give_up(packet, DropReason::NoRoute);
        };
        route.wanted = true;
        match (route.state, from) {
            (State::Valid, _) => self.forward(now, packet, from, now),
            (State::Repairing, Some(_)) => self.keep(now, packet),
            (_, None) => {
                self.keep(now, packet);
                self.seek(now, destination);
            }
            // RFC 3561 §6.11 (ii).
            (State::Invalid, Some(last_hop)) => {
                self.tell_no_route(now, destination, last_hop);
                self.give_up(packet, DropReason::NoRoute);
                let link = FailedLink { from: self.address, to: destination };
                self.report_losses(now, link);
            }
        }
    }

    /// Sends a packet on the route to its destination, at `at`, and refreshes the routes used.
    fn forward(&mut self, now: Instant, packet: Routed, from: Option<Ipv4Addr>, at: Instant) {
        let ip = packet.packet.ip;
        let until = now + self.config.active_route_timeout;
        let next = match self.table.get_mut(ip.destination) {
            Some(route) if route.is_valid() => {
                match self.config.refresh {
                    Refresh::BothWays => route.until = route.until.max(until),
                    Refresh::Destination => route.until = until,
                }
                route.next_hop
            }
            _ => return self.give_up(packet, DropReason::NoRoute),
        };
        self.wake_for_route(until);
        if self.config.refresh == Refresh::BothWays {
            // RFC 3561 §6.2.
            for used in [Some(next), Some(ip.source), from].into_iter().flatten() {
                if used != ip.destination {
                    self.renew(now, used);
                }
            }
        }
        self.is_active(until);
        self.put(now, at, Output::Transmit { packet, hop: Hop::To(next) });
    }

    /// Extends the time for which a valid route exists, used or not, that was not set up by a hello message:
    /// otherwise hello messages would sustain each other forever.
    fn is_active(&mut self, until: Instant) {
        self.active_until = self.active_until.max(until);
    }

    /// Refreshes the route to `destination`, used by forwarded traffic. Of an invalid one the sequence number
    /// is kept, since other nodes still have routes through this one.
    fn renew(&mut self, now: Instant, destination: Ipv4Addr) {
        let forgotten = self.forgotten_at(now);
        let until = now + self.config.active_route_timeout;
        if let Some(route) = self.table.get_mut(destination) {
            let at_least = if route.is_valid() { until } else { forgotten };
            route.until = route.until.max(at_least);
        }
    }

    /// The instant at which a route that is lost now is deleted.
    fn forgotten_at(&self, now: Instant) -> Instant {
        self.config.delete_period.map_or(Instant::FAR_FUTURE, |period| now + period)
    }

    fn keep(&mut self, now: Instant, packet: Routed) {
        let until = now + self.config.buffer_timeout;
        if let Some(old) = self.buffer.push(packet, until, self.config.buffer_packets) {
            self.give_up(old, DropReason::BufferFull);
        }
        self.wake(until);
        self.wake_for_buffer(now);
    }

    fn give_up(&mut self, packet: Routed, reason: DropReason) {
        if !packet.is_control() {
            if reason.is_about_the_route() {
                self.note_loss(&packet.packet);
            }
            self.outbox.push(Output::Drop { packet, reason });
        }
    }

    /// Drops all buffered packets for `destination`.
    fn give_up_waiting(&mut self, destination: Ipv4Addr, reason: DropReason) {
        while let Some(packet) = self.buffer.take(destination) {
            self.give_up(packet, reason);
        }
    }

    fn put(&mut self, now: Instant, at: Instant, output: Output) {
        if at <= now { self.outbox.push(output) } else { self.outbox.push_at(at, output) }
    }

    /// Sends a message at `at`.
    fn say(&mut self, now: Instant, at: Instant, message: AodvMessage, ttl: u8, hop: Hop) {
        let destination = match hop {
            Hop::To(neighbour) => neighbour,
            Hop::All => {
                self.last_broadcast = at;
                Ipv4Addr::BROADCAST
            }
        };
        let ip = IpHeader { ttl, ..IpHeader::new(self.address, destination) };
        let mut packet = Routed::plain(Packet { ip, body: Body::Aodv(message) });
        if !self.config.udp {
            packet.padding = match message {
                // The time stamp takes 4 bytes instead of the 10 of an extension.
                AodvMessage::Request(AodvRequest { timestamp: Some(_), .. })
                | AodvMessage::Reply(AodvReply { timestamp: Some(_), .. }) => -14,
                AodvMessage::Request(_) | AodvMessage::Reply(_) => -8,
                AodvMessage::Error(_) | AodvMessage::ReplyAck | AodvMessage::Losses(_) => -8,
            };
        }
        self.put(now, at, Output::Transmit { packet, hop });
    }

    /// A randomly delayed instant for a broadcast that other nodes may send simultaneously.
    fn jittered(&mut self, now: Instant) -> Instant {
        now + self.random.duration(Duration::ZERO, self.config.jitter)
    }
}
