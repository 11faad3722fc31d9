//! DSR (RFC 4728): a packet carries the way that it takes.
//!
//! | file | what |
//! |---|---|
//! | `config` | what the standard, ns-2.35 and the papers do differently |
//! | `path` | sequences of nodes, and those that packets carry |
//! | `cache` | what a route cache is: events in, routes and notices out |
//! | `caches` | the list of them |
//! | `path_cache`, `link_cache`, `link_graph`, `learning` | those of RFC 4728, and what both keep |
//! | `update` | a table of routes that nodes keep up to date for each other (yu-2004) |
//! | `notices` | notices to other nodes as packets |
//! | `requests`, `send_buffer` | the tables of RFC 4728 §4.2 and §4.3 |
//! | `originate` | packets of this node, and how they leave |
//! | `discovery`, `replies` | route discovery (RFC 4728 §8.2) |
//! | `forward` | source routes (RFC 4728 §8.1) |
//! | `maintenance` | failed links, errors, salvaging (RFC 4728 §8.3) |
//! | `losses` | what is said of packets of TCP that are lost (yu-2004 §4) |
//! | `confirm`, `maintenance_buffer` | acknowledgments without the link layer's (RFC 4728 §8.3.2, §8.3.3) |
//! | `flow` | flow state (RFC 4728 §3.5) |
//! | `tap` | what is overheard; shorter routes (RFC 4728 §3.4.3) |
//!
//! # What is not modelled
//!
//! | what | why |
//! |---|---|
//! | network-layer acknowledgments of packets on flows (RFC 4728 §7.2.3) | flows are for what ns-2.35 does, which has the link layer's |
//! | acknowledgments by another way than back (RFC 4728 §8.3.3) | links carry both ways |
//! | links that carry one way only (RFC 4728 §8.2.4: no reply on the request's way) | 802.11 needs both ways |
//! | "questionable" entries of the blacklist (RFC 4728 §4.6) | they expire, which they may |
//! | several interfaces, external hops, multicast (RFC 4728 §3.4.2, §8.7) | a node is a host with one radio |
//! | routes beyond 17 nodes | a header has a fixed size in memory; ns-2.35 has 16 |

mod cache;
mod caches;
mod config;
mod acknowledgment;
mod discovery;
mod flow;
mod forward;
mod caching_policy;
mod link_cache;
mod link_graph;
mod loss_notification;
mod maintenance;
mod maintenance_buffer;
mod notices;
mod originate;
mod path;
mod path_cache;
#[cfg(test)]
mod reference_link_cache;
mod replies;
mod requests;
mod send_buffer;
mod overhearing;
mod update;

use alloc::boxed::Box;
use alloc::vec::Vec;

use driftway_base::{FailedLink, Instant, Ipv4Addr, RandomStream, ReceivedPower};
use driftway_wire::{Packet, RoutedPacket};

use crate::drop_list::DropList;
use crate::received_powers::ReceivedPowers;
use crate::neighbour_deadlines::NeighbourDeadlines;
use crate::watched_destinations::WatchedDestinations;
use crate::{DropReason, LinkDestination, Outbox, Output, RouteStats};
use cache::RouteCache;
pub use caches::{CACHES, CacheKind, CacheLimits, CacheOptions, CacheDescriptor, UpdateOptions};
pub use config::{
    CachePart, NextHopConfirmation, DsrConfig, FlowState, ReplyFromCache, RequestTablePolicy, NonPropagatingRequests,
    SalvageReplies, RouteShortening,
};
use flow::FlowTable;
use loss_notification::FailedPacket;
use maintenance_buffer::MaintenanceBuffer;
use originate::LocalDestinations;
use replies::DelayedReplies;
use requests::RequestTable;
use send_buffer::SendBuffer;
use overhearing::OverhearingState;

/// DSR at one node. Its methods are those of every protocol: see [`Output`].
///
/// Links are taken to carry both ways, as 802.11 needs it: a reply goes back the way that its request
/// has come (RFC 4728 §8.2.4), and the link layer says what was not acknowledged (§8.3.1) unless
/// [`DsrConfig::confirm`] has another do so.
#[derive(Clone, Debug)]
pub struct Dsr {
    address: Ipv4Addr,
    config: DsrConfig,
    cache: Box<dyn RouteCache>,
    requests: RequestTable,
    send_buffer: SendBuffer,
    /// When what waits is looked at.
    next_scan: Option<Instant>,
    maintenance: MaintenanceBuffer,
    /// Empty: room for what a broken link leaves unconfirmed.
    unconfirmed_scratch: Vec<RoutedPacket>,
    /// Empty: room for what a broken link does not carry, and for what is said of that.
    failed_scratch: Vec<FailedPacket>,
    drop_list: DropList,
    flows: FlowTable,
    replies: DelayedReplies,
    overhearing: OverhearingState,
    strengths: ReceivedPowers,
    /// RFC 4728 §4.6: neighbours that are heard, but could not be reached.
    blacklist: NeighbourDeadlines,
    /// The last error that has reached this node as its destination, and when.
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

impl Dsr {
    /// The node at `address`, number `node` of the run with this `seed`.
    pub fn new(config: DsrConfig, address: Ipv4Addr, seed: u64, node: u64) -> Self {
        let cache = config.cache.build(address, &config);
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
            strengths: ReceivedPowers::default(),
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

    /// A packet of the own host.
    pub fn send(&mut self, now: Instant, mut packet: Packet) {
        let ip = &mut packet.ip;
        // What tells packets apart that are overheard (RFC 4728 §8.3.2).
        ip.identification = self.new_identification();
        let destination = packet.ip.destination;
        let routed = RoutedPacket::plain(packet);
        if destination == self.address {
            self.outbox.push(Output::Deliver(packet));
        } else if destination == Ipv4Addr::BROADCAST {
            self.transmit(now, now, routed, LinkDestination::Broadcast);
        } else {
            self.route_own_packet(now, routed);
        }
        self.after_event(now);
    }

    /// The next route to `destination` is to be told of.
    pub fn watch(&mut self, destination: Ipv4Addr) {
        self.watched.add(destination);
    }

    /// What the link layer got for this node, or for all.
    pub fn on_packet(&mut self, now: Instant, from: Ipv4Addr, packet: RoutedPacket) {
        let Some(packet) = self.confirm_receipt(now, from, packet) else { return };
        let ip = &packet.packet.ip;
        if packet.dsr.as_ref().is_some_and(|dsr| dsr.request().is_some()) {
            self.on_request(now, from, packet);
        } else if ip.destination == self.address || ip.destination == Ipv4Addr::BROADCAST {
            self.receive(now, from, packet);
        } else {
            self.forward(now, from, packet);
        }
        self.after_event(now);
    }

    /// What it heard for others; is there anything to poll for?
    pub fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) -> bool {
        if self.config.tap {
            self.on_passive_ack(now, from, packet);
        }
        let new = self.config.tap && self.overhear(now, from, to, packet);
        if new {
            self.after_event(now);
        }
        new
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

    /// The link layer gave up on a packet to `to`; each call of `queued` takes the next packet to
    /// the same neighbour out of the interface queue.
    pub fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: impl FnMut() -> Option<RoutedPacket>,
    ) {
        if !self.ignores_link_layer(&packet) {
            self.handle_link_failure(now, to, packet, queued);
            self.after_event(now);
        }
    }

    /// A timer is due.
    pub fn on_timeout(&mut self, now: Instant) {
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

    /// The next thing to be done.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        self.outbox.poll(now)
    }

    /// When [`on_timeout`](Self::on_timeout), or [`poll`](Self::poll), has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let (outbox, replies) = (self.outbox.next_timeout(), self.replies.next_timeout());
        let times = [outbox, self.next_scan, replies, self.maintenance.next_timeout()];
        times.into_iter().flatten().min()
    }

    /// Packets of hosts that it holds.
    pub fn buffered_packets(&self) -> usize {
        let waiting = self.send_buffer.iter().filter(|waiting| !waiting.packet.is_control()).count();
        waiting + self.outbox.buffered_packets()
    }

    /// How it is set.
    pub const fn config(&self) -> &DsrConfig {
        &self.config
    }

    /// What it did.
    pub const fn stats(&self) -> &RouteStats {
        &self.stats
    }

    /// The way to `destination` that it would take, both ends included; for those who look: a copy
    /// of the cache is asked, so that nothing changes.
    pub fn route(&self, now: Instant, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        self.cache.clone().lookup(now, destination).map(|path| path.as_slice().to_vec())
    }

    /// Is there a route over this link in its cache, in its direction? For those who look.
    pub fn has_cached_link(&self, now: Instant, link: FailedLink) -> bool {
        self.cache.has_link(now, link)
    }

    /// What an event leaves to be done.
    fn after_event(&mut self, now: Instant) {
        self.send_notices(now);
        self.schedule_scan(now);
    }

    fn drop_packet(&mut self, packet: RoutedPacket, reason: DropReason) {
        self.outbox.push(Output::Drop { packet, reason });
    }

    const fn new_identification(&mut self) -> u16 {
        let identification = self.next_identification;
        // 0 means none.
        self.next_identification = if identification == u16::MAX { 1 } else { identification + 1 };
        identification
    }
}
