//! AODV: ad hoc on-demand distance vector routing (RFC 3561).
//!
//! A node that has a packet and no route broadcasts a request (`search`). The request sets up a reverse route
//! (`request`), on which the destination, or a node with a route to it, replies (`reply`). A broken link is
//! repaired locally (`repair`) or reported to the nodes that used it (`errors`).
//!
//! # Gateways
//!
//! A gateway answers requests for its external hosts as the leader of a subnet does (RFC 3561 §7): as the
//! destination (§6.6.1), with its own sequence number, which is that of all its hosts, hop count 0, and prefix
//! size 0, because the route is to one host. The number is raised to that in the request, so that another gateway
//! can take over. Of two gateways that answer the same request, the one with the higher number is used; of equal
//! ones the nearer. A packet from an external host of this gateway is treated as the gateway's own: its route is
//! not repaired locally, but discovered again. Its losses are not reported to the external host.
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | multicast (flags J and R), subnets (prefix size, RFC 3561 §7) | a node is a host, or a gateway to single hosts |
//! | a reboot (RFC 3561 §6.13) | nodes of the simulator do not lose their state |
//! | several interfaces (RFC 3561 §6.14) | a node has one radio |
//! | extensions (RFC 3561 §9) | they only state the hello interval, which all nodes share here |

mod buffer;
mod config;
mod errors;
mod hello;
mod loss_notification;
mod repair;
mod reply;
mod request;
mod search;
mod seen_requests;
mod table;
mod timers;

pub use config::{AodvConfig, ErrorRule, HelloConfig, LocalRepair, RouteRefresh, SearchRule};

use alloc::collections::VecDeque;

use driftway_base::{
    DropReason, Duration, FailedLink, Instant, Ipv4Addr, RandomStream, ReceivedPower, Seq,
};
use driftway_wire::{AodvMessage, AodvReply, AodvRequest, Body, IpHeader, Packet, RoutedPacket};

use crate::drop_list::DropList;
use crate::external::ExternalHosts;
use crate::neighbour_deadlines::NeighbourDeadlines;
use crate::rate_limit::RateLimit;
use crate::received_powers::ReceivedPowers;
use crate::watched_destinations::WatchedDestinations;
use crate::{HOST_TTL, LinkDestination, Outbox, Output, RouteStats, RoutingProtocol};
use buffer::PacketBuffer;
use seen_requests::SeenRequests;
use table::{RouteState, RoutingTable};

/// AODV at one node.
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
    table: RoutingTable,
    external: ExternalHosts,
    buffer: PacketBuffer,
    seen_requests: SeenRequests,
    rreq_limit: RateLimit,
    rerr_limit: RateLimit,
    /// Neighbours whose requests are ignored (RFC 3561 §6.8).
    blacklist: NeighbourDeadlines,
    /// Neighbours that have to acknowledge a reply.
    awaiting_ack: NeighbourDeadlines,
    /// Neighbours that send hello messages, with the instant at which each is considered lost.
    neighbours: NeighbourDeadlines,
    powers: ReceivedPowers,
    /// Instants at which repairs are given up ([`LocalRepair::PastMidpoint`]).
    repair_timeouts: VecDeque<(Instant, Ipv4Addr)>,
    /// The node is part of an active (valid) route until then (RFC 3561 §3, §6.9).
    active_until: Instant,
    last_broadcast: Instant,
    next_hello: Instant,
    /// The next check for expired routes (`expiry_interval`).
    next_expiry_check: Instant,
    /// A lower bound of all timers.
    next_timer: Instant,
    /// Lost packets not yet reported.
    drop_list: DropList,
    outbox: Outbox,
    watched: WatchedDestinations,
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
    pub expires_at: Instant,
    /// A route discovery is in progress.
    pub searching: bool,
}

impl RoutingProtocol for Aodv {
    fn send(&mut self, now: Instant, mut packet: Packet) {
        self.run_due_timers(now);
        if self.is_destination(packet.ip.destination) {
            self.outbox.push(Output::Deliver(packet));
        } else if packet.ip.destination == Ipv4Addr::BROADCAST {
            self.outbox.push(Output::Transmit {
                packet: RoutedPacket::plain(packet),
                hop: LinkDestination::Broadcast,
            });
        } else {
            if let Some(ttl) = self.config.data_ttl
                && packet.ip.source == self.address
            {
                packet.ip.ttl = ttl;
            }
            self.route_packet(now, RoutedPacket::plain(packet), None);
        }
    }

    fn watch_route(&mut self, destination: Ipv4Addr) {
        self.watched.add(destination);
    }

    fn add_external(&mut self, destination: Ipv4Addr) {
        self.external.add(destination);
    }

    fn on_packet(&mut self, now: Instant, from: Ipv4Addr, mut packet: RoutedPacket) {
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
        } else if self.external.contains(ip.destination) {
            self.extend_active(now + self.config.active_route_timeout);
            if self.config.refresh == RouteRefresh::BothWays {
                // RFC 3561 §6.2: the packet is forwarded, although not over a route of the table.
                self.refresh_route(now, packet.packet.ip.source);
                self.refresh_route(now, from);
            }
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

    fn on_overheard(
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

    fn on_received_power(&mut self, neighbour: Ipv4Addr, power: ReceivedPower) {
        self.powers.update(neighbour, power);
    }

    fn needs_received_power(&self) -> bool {
        self.config.avoid_fading.is_some()
    }

    fn poll(&mut self, now: Instant) -> Option<Output> {
        let output = self.outbox.poll(now);
        if let Some(Output::Transmit { packet, .. }) = &output
            && packet.is_control()
        {
            self.stats.packets_sent += 1;
            self.stats.bytes_sent += u64::from(packet.len());
        }
        output
    }

    fn next_timeout(&self) -> Option<Instant> {
        let timer = (self.next_timer < Instant::FAR_FUTURE).then_some(self.next_timer);
        match (timer, self.outbox.next_timeout()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn buffered_packets(&self) -> usize {
        self.buffer.len() + self.outbox.buffered_packets()
    }

    fn stats(&self) -> &RouteStats {
        &self.stats
    }

    fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        self.handle_link_failure(now, to, packet, queued);
    }

    fn on_timeout(&mut self, now: Instant) {
        self.run_timers(now);
    }

    fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        self.routes().find(|route| route.destination == destination)?.next_hop
    }

    fn initial_ttl(&self) -> u8 {
        self.config.data_ttl.unwrap_or(HOST_TTL)
    }
}

impl Aodv {
    /// Creates the node at `address`; `seed` and `node` select its random numbers.
    pub fn new(config: AodvConfig, address: Ipv4Addr, seed: u64, node: u64) -> Self {
        let mut random = RandomStream::new(seed, "aodv", node);
        // Nodes do not start simultaneously.
        let next_hello = config.hello.map_or(Instant::FAR_FUTURE, |hello| {
            Instant::ZERO + random.uniform_duration(Duration::ZERO, hello.interval)
        });
        Self {
            config,
            address,
            seq: if config.even_numbers { Seq(2) } else { Seq(0) },
            request_id: 0,
            table: RoutingTable::default(),
            external: ExternalHosts::default(),
            buffer: PacketBuffer::default(),
            seen_requests: SeenRequests::default(),
            rreq_limit: RateLimit::new(config.rreq_rate),
            rerr_limit: RateLimit::new(config.rerr_rate),
            blacklist: NeighbourDeadlines::default(),
            awaiting_ack: NeighbourDeadlines::default(),
            neighbours: NeighbourDeadlines::default(),
            powers: ReceivedPowers::default(),
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

    /// The configuration.
    pub const fn config(&self) -> &AodvConfig {
        &self.config
    }

    /// Returns true if packets to `destination` leave the network here.
    fn is_destination(&self, destination: Ipv4Addr) -> bool {
        destination == self.address || self.external.contains(destination)
    }

    /// Returns true if this node acts as the originator of packets of `source`.
    fn is_originator_for(&self, source: Ipv4Addr) -> bool {
        source == self.address || self.external.contains(source)
    }

    /// Returns true if the expected lifetime of the link from a neighbour is too short for a route.
    fn avoids_link(&self, now: Instant, neighbour: Ipv4Addr) -> bool {
        let within = self.config.avoid_fading;
        within.is_some_and(|within| self.powers.fades_within(now, neighbour, within))
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

    /// The number of entries beside routes and packets: requests, neighbours, repairs.
    pub fn soft_state_entries(&self) -> usize {
        self.seen_requests.len()
            + self.blacklist.len()
            + self.awaiting_ack.len()
            + self.neighbours.len()
            + self.repair_timeouts.len()
    }

    /// Runs due timers before any event at the same instant: no route is used after its expiry.
    fn run_due_timers(&mut self, now: Instant) {
        if self.next_timer <= now {
            self.run_timers(now);
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

    /// Forwards, buffers or drops a packet, which came from `from` unless it is the local host's.
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

    /// Sends a packet on the route to its destination, at `at`, and refreshes the routes used.
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

    /// Extends the time for which a valid route exists, used or not, that was not set up by a hello message:
    /// otherwise hello messages would sustain each other forever.
    fn extend_active(&mut self, until: Instant) {
        self.active_until = self.active_until.max(until);
    }

    /// Refreshes the route to `destination`, used by forwarded traffic. Of an invalid one the sequence number
    /// is kept, since other nodes still have routes through this one.
    fn refresh_route(&mut self, now: Instant, destination: Ipv4Addr) {
        let forgotten = self.deletion_time(now);
        let until = now + self.config.active_route_timeout;
        if let Some(route) = self.table.get_mut(destination) {
            let at_least = if route.is_valid() { until } else { forgotten };
            route.until = route.until.max(at_least);
        }
    }

    /// The instant at which a route that is lost now is deleted.
    fn deletion_time(&self, now: Instant) -> Instant {
        self.config.delete_period.map_or(Instant::FAR_FUTURE, |period| now + period)
    }

    fn buffer_packet(&mut self, now: Instant, packet: RoutedPacket) {
        let until = now + self.config.buffer_timeout;
        if let Some(old) = self.buffer.push(packet, until, self.config.buffer_packets) {
            self.drop_packet(old, DropReason::SendBufferFull);
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

    /// Drops all buffered packets for `destination`.
    fn drop_buffered(&mut self, destination: Ipv4Addr, reason: DropReason) {
        while let Some(packet) = self.buffer.take(destination) {
            self.drop_packet(packet, reason);
        }
    }

    fn output_at(&mut self, now: Instant, at: Instant, output: Output) {
        if at <= now { self.outbox.push(output) } else { self.outbox.push_at(at, output) }
    }

    /// Sends a message at `at`.
    fn send_message(
        &mut self,
        now: Instant,
        at: Instant,
        message: AodvMessage,
        ttl: u8,
        hop: LinkDestination,
    ) {
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
                // The time stamp takes 4 bytes instead of the 10 of an extension.
                AodvMessage::Request(AodvRequest { timestamp: Some(_), .. })
                | AodvMessage::Reply(AodvReply { timestamp: Some(_), .. }) => -14,
                AodvMessage::Request(_) | AodvMessage::Reply(_) => -8,
                AodvMessage::Error(_)
                | AodvMessage::ReplyAck
                | AodvMessage::LossNotification(_) => -8,
            };
        }
        self.output_at(now, at, Output::Transmit { packet, hop });
    }

    /// A randomly delayed instant for a broadcast that other nodes may send simultaneously.
    fn jittered(&mut self, now: Instant) -> Instant {
        now + self.random.uniform_duration(Duration::ZERO, self.config.jitter)
    }
}
