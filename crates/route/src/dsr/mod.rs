//! DSR, the Dynamic Source Routing protocol (RFC 4728): a packet carries its route.
//!
//! | file | contents |
//! |---|---|
//! | `config` | the differences between the standard, ns-2.35 and the papers |
//! | `path` | sequences of nodes, and source routes of packets |
//! | `cache` | the interface of a route cache: events in, routes and notices out |
//! | `caches` | the list of route caches |
//! | `path_cache`, `link_cache`, `link_graph`, `caching_policy` | the caches of RFC 4728, and their common policy |
//! | `update` | a table of routes that nodes keep up to date for each other (yu-2004) |
//! | `notices` | notices to other nodes as packets |
//! | `requests`, `send_buffer` | the tables of RFC 4728 §4.2 and §4.3 |
//! | `originate` | packets of this node, and transmission of any packet |
//! | `discovery`, `replies` | route discovery (RFC 4728 §8.2) |
//! | `forward` | forwarding on source routes (RFC 4728 §8.1) |
//! | `maintenance` | link failures, route errors, salvaging (RFC 4728 §8.3) |
//! | `loss_notification` | reports of lost TCP packets (yu-2004 §4) |
//! | `acknowledgment`, `maintenance_buffer` | network-layer acknowledgments (RFC 4728 §8.3.2, §8.3.3) |
//! | `flow` | flow state (RFC 4728 §3.5) |
//! | `gateway` | external hops, and gateways to hosts outside the network (RFC 4728 §4.1) |
//! | `overhearing` | overheard packets; automatic route shortening (RFC 4728 §3.4.3) |
//!
//! # Gateways
//!
//! - A gateway answers a request for one of its external hosts as the target does. The reply ends with the gateway
//!   and the host, with the L flag (RFC 4728 §6.3).
//! - A packet from an external host has a source route with the F flag (§6.7), whose first node is the gateway: the
//!   reverse of the route leads back through the gateway.
//! - Nodes flag external hops by the host at their end, which has no other hops: it is in no route but at an end,
//!   and no reply from a cache is about it. The flags of packets that a node sends follow from that.
//! - Route errors about a packet from an external host, and gratuitous replies, go to the gateway. It also
//!   consumes errors for its external hosts.
//! - Packets from an external host are on no flow. Their losses are not reported to the external host.
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | network-layer acknowledgments of packets on flows (RFC 4728 §7.2.3) | flows reproduce ns-2.35, which has link-layer acknowledgments |
//! | acknowledgments on another route than the reverse one (RFC 4728 §8.3.3) | links are bidirectional |
//! | unidirectional links (RFC 4728 §8.2.4: no reply on the request's route) | 802.11 needs bidirectional links |
//! | "questionable" entries of the blacklist (RFC 4728 §4.6) | entries expire, which is permitted |
//! | several radio interfaces, multicast (RFC 4728 §3.4.2, §8.7) | a node has one radio |
//! | routes beyond 17 nodes | a header has a fixed size in memory; ns-2.35 has 16 |

mod acknowledgment;
mod cache;
mod cache_descriptor;
mod caches;
mod caching_policy;
mod caching_rules;
mod config;
mod discovery;
mod flow;
mod forward;
mod gateway;
mod link_cache;
mod link_graph;
mod loss_notification;
mod maintenance;
mod maintenance_buffer;
mod notices;
mod originate;
mod overhearing;
mod path;
mod path_cache;
#[cfg(test)]
mod reference_link_cache;
mod replies;
mod requests;
mod send_buffer;
mod update;

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{DropReason, FailedLink, Instant, Ipv4Addr, RandomStream, ReceivedPower};
use driftway_wire::{Packet, RoutedPacket};

use crate::drop_list::DropList;
use crate::external::ExternalHosts;
use crate::neighbour_deadlines::NeighbourDeadlines;
use crate::received_powers::ReceivedPowers;
use crate::watched_destinations::WatchedDestinations;
use crate::{LinkDestination, Outbox, Output, RouteStats, RoutingProtocol};
use cache::RouteCache;
pub use cache_descriptor::{CacheDescriptor, CacheLimits, CacheOptions, UpdateOptions};
pub use caches::{CACHES, CacheKind};
pub use caching_rules::CachePart;
pub use config::{
    DsrConfig, FlowState, NextHopConfirmation, NonPropagatingRequests, ReplyFromCache,
    RequestTablePolicy, RouteShortening, SalvageReplies,
};
use flow::FlowTable;
use loss_notification::FailedPacket;
use maintenance_buffer::MaintenanceBuffer;
use originate::LocalDestinations;
use overhearing::OverhearingState;
use replies::DelayedReplies;
use requests::RequestTable;
use send_buffer::SendBuffer;

/// DSR at one node.
///
/// The IP identification of a host packet has to be unlike those of its source's other packets: it distinguishes
/// packets that are overheard (RFC 4728 §8.3.2).
///
/// Links are assumed to be bidirectional, as 802.11 needs them: a reply takes the reverse route of its
/// request (RFC 4728 §8.2.4), and the link layer reports packets that were not acknowledged (§8.3.1), unless
/// [`DsrConfig::confirm`] selects network-layer acknowledgments.
#[derive(Clone, Debug)]
pub struct Dsr {
    address: Ipv4Addr,
    config: DsrConfig,
    cache: Box<dyn RouteCache>,
    /// Hosts behind this gateway.
    external: ExternalHosts,
    /// Hosts behind other gateways, by the flags of received routes.
    known_external: ExternalHosts,
    requests: RequestTable,
    send_buffer: SendBuffer,
    /// The next scan of the send buffer.
    next_scan: Option<Instant>,
    maintenance: MaintenanceBuffer,
    /// Work space for the unconfirmed packets of a broken link.
    unconfirmed_scratch: Vec<RoutedPacket>,
    /// Work space for the packets of a failed link, and for the reports about them.
    failed_scratch: Vec<FailedPacket>,
    drop_list: DropList,
    flows: FlowTable,
    replies: DelayedReplies,
    overhearing: OverhearingState,
    powers: ReceivedPowers,
    /// Neighbours that are heard, but could not be reached (RFC 4728 §4.6).
    blacklist: NeighbourDeadlines,
    /// The last error addressed to this node, and its time of arrival.
    last_error: Option<(FailedLink, Instant)>,
    local_destinations: LocalDestinations,
    watched: WatchedDestinations,
    next_request: u16,
    next_identification: u16,
    jitter_random: RandomStream,
    scan_random: RandomStream,
    outbox: Outbox,
    stats: RouteStats,
}

impl RoutingProtocol for Dsr {
    fn send(&mut self, now: Instant, packet: Packet) {
        let destination = packet.ip.destination;
        let mut routed = RoutedPacket::plain(packet);
        if self.is_destination(destination) {
            self.outbox.push(Output::Deliver(packet));
        } else if destination == Ipv4Addr::BROADCAST {
            self.transmit(now, now, &mut routed, LinkDestination::Broadcast);
        } else {
            if packet.ip.source != self.address {
                self.mark_came_in(&mut routed);
            }
            self.route_own_packet(now, routed);
        }
        self.after_event(now);
    }

    fn watch_route(&mut self, destination: Ipv4Addr) {
        self.watched.add(destination);
    }

    fn on_packet(&mut self, now: Instant, from: Ipv4Addr, mut packet: RoutedPacket) {
        if !self.confirm_receipt(now, from, &mut packet) {
            return;
        }
        self.learn_external(&packet);
        let ip = &packet.packet.ip;
        if packet.dsr.as_ref().is_some_and(|dsr| dsr.request().is_some()) {
            self.on_request(now, from, &mut packet);
        } else if ip.destination == self.address || ip.destination == Ipv4Addr::BROADCAST {
            self.receive(now, from, &packet);
        } else {
            self.forward(now, from, &mut packet);
        }
        self.after_event(now);
    }

    fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) -> bool {
        if self.config.promiscuous {
            self.on_passive_ack(now, from, packet);
        }
        let new = self.config.promiscuous && self.overhear(now, from, to, packet);
        if new {
            self.after_event(now);
        }
        new
    }

    fn on_received_power(&mut self, neighbour: Ipv4Addr, power: ReceivedPower) {
        self.powers.update(neighbour, power);
    }

    fn needs_received_power(&self) -> bool {
        self.config.avoid_fading.is_some()
    }

    fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        if !self.ignores_link_layer(&packet) {
            self.handle_link_failure(now, to, packet, queued);
            self.after_event(now);
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        self.send_due_replies(now);
        if self.maintenance.due(now).is_some() {
            self.run_ack_timers(now);
            self.after_event(now);
        }
        if self.next_scan.is_some_and(|at| at <= now) {
            self.scan_send_buffer(now);
            let period = self.config.scan;
            self.next_scan = period.map(|period| now + self.draw_scan_period(period));
            self.after_event(now);
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Output> {
        self.outbox.poll(now)
    }

    fn next_timeout(&self) -> Option<Instant> {
        let (outbox, replies) = (self.outbox.next_timeout(), self.replies.next_timeout());
        let times = [outbox, self.next_scan, replies, self.maintenance.next_timeout()];
        times.into_iter().flatten().min()
    }

    fn buffered_packets(&self) -> usize {
        let waiting =
            self.send_buffer.iter().filter(|waiting| !waiting.packet.is_control()).count();
        waiting + self.outbox.buffered_packets()
    }

    fn stats(&self) -> &RouteStats {
        &self.stats
    }

    fn add_external(&mut self, destination: Ipv4Addr) {
        self.external.add(destination);
        self.cache.mark_external(destination);
    }

    fn is_promiscuous(&self) -> bool {
        self.config.promiscuous
    }

    /// None is known without the packet.
    fn next_hop(&self, _destination: Ipv4Addr) -> Option<Ipv4Addr> {
        None
    }

    /// A copy of the cache is queried, so that its state does not change.
    fn source_route(&self, now: Instant, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        self.cache.clone().lookup(now, destination).map(|path| path.as_slice().to_vec())
    }

    /// Only packets of which there are copies are purged.
    fn has_route(&self, _destination: Ipv4Addr) -> bool {
        true
    }

    fn new_identification(&mut self) -> Option<u16> {
        Some(self.take_identification())
    }
}

impl Dsr {
    /// Creates the node at `address`, number `node` of the run with this `seed`.
    pub fn new(config: DsrConfig, address: Ipv4Addr, seed: u64, node: u64) -> Self {
        let cache = config.cache.build(address, &config.caching_rules());
        Self::with_cache(cache, config, address, seed, node)
    }

    /// The same with this cache.
    fn with_cache(
        cache: Box<dyn RouteCache>,
        config: DsrConfig,
        address: Ipv4Addr,
        seed: u64,
        node: u64,
    ) -> Self {
        Self {
            address,
            config,
            cache,
            external: ExternalHosts::default(),
            known_external: ExternalHosts::default(),
            requests: RequestTable::new(config.request_memory),
            send_buffer: SendBuffer::new(config.send_buffer),
            next_scan: None,
            maintenance: MaintenanceBuffer::default(),
            unconfirmed_scratch: Vec::new(),
            failed_scratch: Vec::new(),
            drop_list: DropList::default(),
            flows: FlowTable::default(),
            replies: DelayedReplies::default(),
            overhearing: OverhearingState::default(),
            powers: ReceivedPowers::default(),
            blacklist: NeighbourDeadlines::default(),
            last_error: None,
            local_destinations: LocalDestinations::default(),
            watched: WatchedDestinations::default(),
            next_request: 1,
            next_identification: 1,
            jitter_random: RandomStream::new(seed, "dsr-jitter", node),
            scan_random: RandomStream::new(seed, "dsr-scan", node),
            outbox: Outbox::default(),
            stats: RouteStats::default(),
        }
    }

    /// Returns true if the expected lifetime of the link from a neighbour is too short for a route.
    fn avoids_link(&self, now: Instant, neighbour: Ipv4Addr) -> bool {
        let within = self.config.avoid_fading;
        within.is_some_and(|within| self.powers.fades_within(now, neighbour, within))
    }

    /// The configuration.
    pub const fn config(&self) -> &DsrConfig {
        &self.config
    }

    /// Returns true if there is a route over this link in the cache, in its direction, for inspection.
    pub fn has_cached_link(&self, now: Instant, link: FailedLink) -> bool {
        self.cache.has_link(now, link)
    }

    /// Sends the notices and schedules the scan that an event requires.
    fn after_event(&mut self, now: Instant) {
        self.send_notices(now);
        self.schedule_scan(now);
    }

    fn drop_packet(&mut self, packet: RoutedPacket, reason: DropReason) {
        self.outbox.push(Output::Drop { packet, reason });
    }

    /// Returns a new IP identification of this node. Its own messages have some of them.
    const fn take_identification(&mut self) -> u16 {
        let identification = self.next_identification;
        // 0 means none.
        self.next_identification = if identification == u16::MAX { 1 } else { identification + 1 };
        identification
    }
}
