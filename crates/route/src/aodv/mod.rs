//! AODV: ad hoc on-demand distance vector routing (RFC 3561).
//!
//! A node that has a packet and no route asks all for one (`search`); the request leaves a way
//! back behind it (`request`), on which the destination, or a node that knows a way there, answers
//! (`reply`). A link that breaks is repaired on the spot (`repair`) or reported to those that used
//! it (`errors`).
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | multicast (flags J and R), subnets (prefix size), gateways (RFC 3561 §7) | a node is a host |
//! | a reboot (RFC 3561 §6.13) | a node of the lab does not lose its memory |
//! | several interfaces (RFC 3561 §6.14) | a node has one radio |
//! | extensions (RFC 3561 §9) | they only tell a hello's interval, which all nodes share here |

mod buffer;
mod config;
mod errors;
mod hello;
mod loss_notification;
mod seen_requests;
mod repair;
mod reply;
mod request;
mod search;
mod table;
mod timers;

pub use config::{AodvConfig, ErrorRule, HelloConfig, LocalRepair, RouteRefresh, SearchRule};

use alloc::collections::VecDeque;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr, RandomStream, Seq, ReceivedPower};
use driftway_wire::{AodvMessage, AodvReply, AodvRequest, Body, IpHeader, Packet, RoutedPacket};

use crate::rate_limit::RateLimit;
use crate::drop_list::DropList;
use crate::received_powers::ReceivedPowers;
use crate::neighbour_deadlines::NeighbourDeadlines;
use crate::watched_destinations::WatchedDestinations;
use crate::{DropReason, LinkDestination, Outbox, Output, RouteStats};
use buffer::PacketBuffer;
use seen_requests::SeenRequests;
use table::{RouteState, RoutingTable};

/// AODV at one node. Its methods are those of every protocol: see [`Output`].
///
/// [`Output::RouteFound`] and [`Output::RouteLost`] are of destinations for which the node had a
/// packet, the first also of those that are watched. A route that ends because nothing used it is not
/// lost, nor is one under repair.
#[derive(Clone, Debug)]
pub struct Aodv {
    config: AodvConfig,
    address: Ipv4Addr,
    /// RFC 3561 §6.1: the own number.
    seq: Seq,
    /// Of the last request.
    request_id: u32,
    table: RoutingTable,
    buffer: PacketBuffer,
    seen_requests: SeenRequests,
    rreq_limit: RateLimit,
    rerr_limit: RateLimit,
    /// Neighbours whose requests are ignored (RFC 3561 §6.8).
    blacklist: NeighbourDeadlines,
    /// Neighbours that have to acknowledge a reply.
    awaiting_ack: NeighbourDeadlines,
    /// Neighbours that say hello, until they are taken for gone.
    neighbours: NeighbourDeadlines,
    strengths: ReceivedPowers,
    /// When what is still under repair is given up ([`LocalRepair::PastHalf`]).
    repair_timeouts: VecDeque<(Instant, Ipv4Addr)>,
    /// Part of an active route, which is a valid one, until then (RFC 3561 §3, §6.9).
    active_until: Instant,
    last_broadcast: Instant,
    next_hello: Instant,
    /// When routes are looked at next (`expiry_interval`).
    next_expiry_check: Instant,
    /// Before that no timer is due.
    next_timer: Instant,
    /// What is to be said of packets that were lost.
    drop_list: DropList,
    outbox: Outbox,
    watched: WatchedDestinations,
    random: RandomStream,
    stats: RouteStats,
}

/// A route as it stands in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvRoute {
    /// To whom.
    pub destination: Ipv4Addr,
    /// Over which neighbour, if there is a route.
    pub next_hop: Option<Ipv4Addr>,
    /// How far it is, if there is a route.
    pub hops: u8,
    /// The highest of the destination's numbers that was heard of, and one more for a route that
    /// was lost.
    pub seq: Option<u32>,
    /// It belongs to the route (RFC 3561 §2's valid sequence number flag).
    pub seq_is_valid: bool,
    /// When the route ends, or what is left of it is forgotten.
    pub expires_at: Instant,
    /// A search for it goes on.
    pub searching: bool,
}

impl Aodv {
    /// The node at `address`; `seed` and `node` choose its random numbers.
    pub fn new(config: AodvConfig, address: Ipv4Addr, seed: u64, node: u64) -> Self {
        let mut random = RandomStream::new(seed, "aodv", node);
        // Not all at once.
        let next_hello = config.hello.map_or(Instant::FAR_FUTURE, |hello| {
            Instant::ZERO + random.uniform_duration(Duration::ZERO, hello.interval)
        });
        Self {
            config,
            address,
            seq: if config.even_numbers { Seq(2) } else { Seq(0) },
            request_id: 0,
            table: RoutingTable::default(),
            buffer: PacketBuffer::default(),
            seen_requests: SeenRequests::default(),
            rreq_limit: RateLimit::new(config.rreq_rate),
            rerr_limit: RateLimit::new(config.rerr_rate),
            blacklist: NeighbourDeadlines::default(),
            awaiting_ack: NeighbourDeadlines::default(),
            neighbours: NeighbourDeadlines::default(),
            strengths: ReceivedPowers::default(),
            repair_timeouts: VecDeque::new(),
            active_until: Instant::ZERO,
            last_broadcast: Instant::ZERO,
            next_hello,
            next_expiry_check: Instant::FAR_FUTURE,
            next_timer: next_hello,
            drop_list: DropList::default(),
            outbox: Outbox::default(),
            watched: WatchedDestinations::default(),
            random,
            stats: RouteStats::default(),
        }
    }

    /// How it is set.
    pub const fn config(&self) -> &AodvConfig {
        &self.config
    }

    /// A packet of the own host.
    pub fn send(&mut self, now: Instant, mut packet: Packet) {
        self.run_due_timers(now);
        if packet.ip.destination == self.address {
            self.outbox.push(Output::Deliver(packet));
        } else if packet.ip.destination == Ipv4Addr::BROADCAST {
            self.outbox.push(Output::Transmit { packet: RoutedPacket::plain(packet), hop: LinkDestination::Broadcast });
        } else {
            if let Some(ttl) = self.config.data_ttl {
                packet.ip.ttl = ttl;
            }
            self.route_packet(now, RoutedPacket::plain(packet), None);
        }
    }

    /// The next route to `destination` is to be told of.
    pub fn watch(&mut self, destination: Ipv4Addr) {
        self.watched.add(destination);
    }

    /// What the link layer got for this node, or for all, from its neighbour `from`.
    pub fn on_packet(&mut self, now: Instant, from: Ipv4Addr, mut packet: RoutedPacket) {
        self.run_due_timers(now);
        self.refresh_neighbour(now, from);
        if let Body::Aodv(message) = &packet.packet.body {
            return self.on_message(now, from, &packet.packet.ip, message);
        }
        if packet.is_control() {
            return;
        }
        let ip = &mut packet.packet.ip;
        if ip.destination == self.address || ip.destination == Ipv4Addr::BROADCAST {
            self.extend_active(now + self.config.active_route_timeout);
            self.outbox.push(Output::Deliver(packet.packet));
        } else if packet.dsr.is_some() {
            self.drop_packet(packet, DropReason::BadRoute);
        } else if ip.source == self.address {
            self.drop_packet(packet, DropReason::Loop);
        } else if ip.ttl <= 1 {
            self.drop_packet(packet, DropReason::TimeToLive);
        } else {
            ip.ttl -= 1;
            self.route_packet(now, packet, Some(from));
        }
    }

    /// What it heard for others says that they are there.
    pub fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        _to: Ipv4Addr,
        _packet: &RoutedPacket,
    ) -> bool {
        self.run_due_timers(now);
        self.refresh_neighbour(now, from);
        true
    }

    /// Does it ask how strong its neighbours are?
    pub const fn needs_received_power(&self) -> bool {
        self.config.avoid_fading.is_some()
    }

    /// How strong a neighbour is that is heard now.
    pub fn on_received_power(&mut self, neighbour: Ipv4Addr, strength: ReceivedPower) {
        self.strengths.update(neighbour, strength);
    }

    /// Does the link from a neighbour end too soon for a route over it?
    fn avoids_link(&self, now: Instant, neighbour: Ipv4Addr) -> bool {
        let within = self.config.avoid_fading;
        within.is_some_and(|within| self.strengths.fades_within(now, neighbour, within))
    }

    /// The next thing to be done.
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

    /// When [`Self::on_timeout`] or [`Self::poll`] has to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timer = (self.next_timer < Instant::FAR_FUTURE).then_some(self.next_timer);
        match (timer, self.outbox.next_timeout()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Packets of hosts that it holds.
    pub fn buffered_packets(&self) -> usize {
        self.buffer.len() + self.outbox.buffered_packets()
    }

    /// What it did.
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
            expires_at: route.until,
            searching: route.search.phase != table::Phase::Idle,
        })
    }

    /// How much it remembers beside routes and packets: requests, neighbours, repairs.
    pub fn soft_state_entries(&self) -> usize {
        self.seen_requests.len()
            + self.blacklist.len()
            + self.awaiting_ack.len()
            + self.neighbours.len()
            + self.repair_timeouts.len()
    }

    /// Timers come before what happens at the same instant: no route is used beyond its end.
    fn run_due_timers(&mut self, now: Instant) {
        if self.next_timer <= now {
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
            AodvMessage::ReplyAck => self.awaiting_ack.remove(from),
            AodvMessage::LossNotification(losses) => self.on_loss_notification(now, from, losses),
        }
    }

    /// Finds the next hop of a packet, which came from `from` if it is not the own host's.
    fn route_packet(&mut self, now: Instant, packet: RoutedPacket, from: Option<Ipv4Addr>) {
        let destination = packet.packet.ip.destination;
        let Some(route) = self.table.entry(destination, self.config.table_size) else {
            return self.drop_packet(packet, DropReason::NoRoute);
        };
        route.has_traffic = true;
        match (route.state, from) {
            (RouteState::Valid, _) => self.forward(now, packet, from, now),
            (RouteState::Repairing, Some(_)) => self.buffer_packet(now, packet),
            (_, None) => {
                self.buffer_packet(now, packet);
                self.discover_route(now, destination);
            }
            // RFC 3561 §6.11 (ii).
            (RouteState::Invalid, Some(last_hop)) => {
                self.report_no_route(now, destination, last_hop);
                self.drop_packet(packet, DropReason::NoRoute);
                let link = FailedLink { from: self.address, to: destination };
                self.report_losses(now, link);
            }
        }
    }

    /// Sends a packet over the route to its destination, at `at`, and renews what it uses.
    fn forward(&mut self, now: Instant, packet: RoutedPacket, from: Option<Ipv4Addr>, at: Instant) {
        let ip = packet.packet.ip;
        let until = now + self.config.active_route_timeout;
        let next = match self.table.get_mut(ip.destination) {
            Some(route) if route.is_valid() => {
                match self.config.refresh {
                    RouteRefresh::BothWays => route.until = route.until.max(until),
                    RouteRefresh::Destination => route.until = until,
                }
                route.next_hop
            }
            _ => return self.drop_packet(packet, DropReason::NoRoute),
        };
        self.schedule_route_expiry(until);
        if self.config.refresh == RouteRefresh::BothWays {
            // RFC 3561 §6.2.
            for used in [Some(next), Some(ip.source), from].into_iter().flatten() {
                if used != ip.destination {
                    self.refresh_route(now, used);
                }
            }
        }
        self.extend_active(until);
        self.output_at(now, at, Output::Transmit { packet, hop: LinkDestination::Unicast(next) });
    }

    /// There is a route here until then, used or not, that something else than a hello has made: those
    /// of hellos would keep each other alive for ever.
    fn extend_active(&mut self, until: Instant) {
        self.active_until = self.active_until.max(until);
    }

    /// The route to `destination` is used by traffic that passes here. If there is none, its number
    /// is kept, because others still live whose routes lead here.
    fn refresh_route(&mut self, now: Instant, destination: Ipv4Addr) {
        let forgotten = self.deletion_time(now);
        let until = now + self.config.active_route_timeout;
        if let Some(route) = self.table.get_mut(destination) {
            let at_least = if route.is_valid() { until } else { forgotten };
            route.until = route.until.max(at_least);
        }
    }

    /// When a route that is lost now is forgotten.
    fn deletion_time(&self, now: Instant) -> Instant {
        self.config.delete_period.map_or(Instant::FAR_FUTURE, |period| now + period)
    }

    fn buffer_packet(&mut self, now: Instant, packet: RoutedPacket) {
        let until = now + self.config.buffer_timeout;
        if let Some(old) = self.buffer.push(packet, until, self.config.buffer_packets) {
            self.drop_packet(old, DropReason::BufferFull);
        }
        self.schedule(until);
        self.schedule_buffer_check(now);
    }

    fn drop_packet(&mut self, packet: RoutedPacket, reason: DropReason) {
        if !packet.is_control() {
            if reason.is_route_failure() {
                self.record_loss(&packet.packet);
            }
            self.outbox.push(Output::Drop { packet, reason });
        }
    }

    /// All that waits for `destination` is dropped.
    fn drop_buffered(&mut self, destination: Ipv4Addr, reason: DropReason) {
        while let Some(packet) = self.buffer.take(destination) {
            self.drop_packet(packet, reason);
        }
    }

    fn output_at(&mut self, now: Instant, at: Instant, output: Output) {
        if at <= now { self.outbox.push(output) } else { self.outbox.push_at(at, output) }
    }

    /// Sends a message, at `at`.
    fn send_message(&mut self, now: Instant, at: Instant, message: AodvMessage, ttl: u8, hop: LinkDestination) {
        let destination = match hop {
            LinkDestination::Unicast(neighbour) => neighbour,
            LinkDestination::Broadcast => {
                self.last_broadcast = at;
                Ipv4Addr::BROADCAST
            }
        };
        let ip = IpHeader { ttl, ..IpHeader::new(self.address, destination) };
        let mut packet = RoutedPacket::plain(Packet { ip, body: Body::Aodv(message) });
        if !self.config.udp {
            packet.size_adjustment = match message {
                // Its time stamp has 4 bytes, and not the 10 of an extension.
                AodvMessage::Request(AodvRequest { timestamp: Some(_), .. })
                | AodvMessage::Reply(AodvReply { timestamp: Some(_), .. }) => -14,
                AodvMessage::Request(_) | AodvMessage::Reply(_) => -8,
                AodvMessage::Error(_) | AodvMessage::ReplyAck | AodvMessage::LossNotification(_) => -8,
            };
        }
        self.output_at(now, at, Output::Transmit { packet, hop });
    }

    /// A random instant for a broadcast that others may send, too.
    fn jittered(&mut self, now: Instant) -> Instant {
        now + self.random.uniform_duration(Duration::ZERO, self.config.jitter)
    }
}
