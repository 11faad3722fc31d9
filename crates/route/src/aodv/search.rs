//! Route discovery, the originator's side (RFC 3561 §6.3, §6.4).

use driftway_base::{DropReason, Duration, Instant, Ipv4Addr, Seq};
use driftway_wire::{AodvMessage, AodvRequest, RoutedPacket};

use super::table::{HOPS_UNKNOWN, Phase, Route, RouteState};
use super::{Aodv, SearchRule};
use crate::{LinkDestination, Output};

impl Aodv {
    /// Starts or continues the discovery of a route to `destination`, for which there is a packet.
    pub(super) fn discover_route(&mut self, now: Instant, destination: Ipv4Addr) {
        match self.config.search {
            SearchRule::Timed => self.start_timed_search(now, destination),
            SearchRule::OnDemand { pause } => self.search_on_demand(now, destination, pause),
        }
    }

    fn start_timed_search(&mut self, now: Instant, destination: Ipv4Addr) {
        let config = self.config;
        let Some(route) = self.table.get_mut(destination) else { return };
        if route.search.phase != Phase::Idle {
            return;
        }
        // RFC 3561 §6.4: the last known hop count plus TTL_INCREMENT.
        let first = match route.last_hop_count {
            HOPS_UNKNOWN => config.ttl_start,
            hops => hops.saturating_add(config.ttl_increment),
        };
        route.search.ttl = ring_ttl(&config, first);
        route.search.network_wide_requests = 0;
        self.stats.discoveries += 1;
        if route.has_traffic {
            self.outbox.push(Output::DiscoveryStarted(destination));
        }
        self.send_next_request(now, destination);
    }

    /// Sends the next request of a search, once the rate limit permits.
    pub(super) fn send_next_request(&mut self, now: Instant, destination: Ipv4Addr) {
        let config = self.config;
        let Some(route) = self.table.get_mut(destination) else { return };
        let permission = self.rreq_limit.try_acquire(now);
        let search = &mut route.search;
        let (phase, until) = match permission {
            Err(free) => (Phase::RateLimited, free),
            Ok(()) => {
                let wait = if search.ttl < config.net_diameter {
                    let hops = u64::from(search.ttl) + u64::from(config.timeout_buffer);
                    config.node_traversal_time.times(2 * hops)
                } else {
                    // RFC 3561 §6.3: binary exponential back-off.
                    let doubled = 1u64
                        .checked_shl(u32::from(search.network_wide_requests))
                        .unwrap_or(u64::MAX);
                    search.network_wide_requests = search.network_wide_requests.saturating_add(1);
                    config.net_traversal_time().times(doubled)
                };
                (Phase::AwaitingReply, now + wait)
            }
        };
        search.phase = phase;
        search.until = until;
        let ttl = search.ttl;
        self.schedule(until);
        if phase == Phase::AwaitingReply {
            self.send_request(now, destination, ttl);
        }
    }

    /// Handles the timeout of a search: no reply has arrived, or the rate limit permits a request now.
    pub(super) fn on_search_timeout(&mut self, now: Instant, destination: Ipv4Addr) {
        let config = self.config;
        let Some(route) = self.table.get_mut(destination) else { return };
        let search = &mut route.search;
        match search.phase {
            Phase::Idle => {}
            Phase::RateLimited => self.send_next_request(now, destination),
            // RFC 3561 §6.12: a repair sends one request.
            Phase::AwaitingReply if route.state == RouteState::Repairing => {
                self.fail_search(now, destination)
            }
            Phase::AwaitingReply if search.ttl < config.net_diameter => {
                search.ttl = ring_ttl(&config, search.ttl.saturating_add(config.ttl_increment));
                self.send_next_request(now, destination);
            }
            Phase::AwaitingReply if search.network_wide_requests <= config.rreq_retries => {
                self.send_next_request(now, destination)
            }
            Phase::AwaitingReply => self.fail_search(now, destination),
        }
    }

    fn fail_search(&mut self, now: Instant, destination: Ipv4Addr) {
        let Some(route) = self.table.get_mut(destination) else { return };
        route.search.phase = Phase::Idle;
        route.search.until = Instant::ZERO;
        self.stats.failed_discoveries += 1;
        if route.state != RouteState::Repairing {
            return self.drop_buffered(destination, DropReason::DiscoveryFailed);
        }
        self.fail_repair(now, destination);
        // RFC 3561 §6.12 is about forwarded packets; for the local host's a search has more than one request
        // (§6.3).
        while let Some(packet) = self.take_forwarded(destination) {
            self.drop_packet(packet, DropReason::DiscoveryFailed);
        }
        if self.buffer.has_packets_for(destination) {
            self.discover_route(now, destination);
        }
    }

    /// Removes the next buffered packet for `destination` of which this node is not the originator.
    fn take_forwarded(&mut self, destination: Ipv4Addr) -> Option<RoutedPacket> {
        let (own, external) = (self.address, &self.external);
        self.buffer.take_if(|routed| {
            let ip = &routed.packet.ip;
            ip.destination == destination && ip.source != own && !external.contains(ip.source)
        })
    }

    /// ns-2.35: sends a request if permitted, see [`SearchRule::OnDemand`].
    pub(super) fn search_on_demand(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        pause: Duration,
    ) {
        let config = self.config;
        let Some(route) = self.table.get_mut(destination) else { return };
        let (last_hops, search) = (route.last_hop_count, &mut route.search);
        if route.state == RouteState::Valid || search.until > now {
            return;
        }
        if search.network_wide_requests > config.rreq_retries {
            search.until = now + pause;
            search.network_wide_requests = 0;
            self.stats.failed_discoveries += 1;
            return self.drop_buffered(destination, DropReason::DiscoveryFailed);
        }
        if search.until == Instant::ZERO {
            self.stats.discoveries += 1;
            if route.has_traffic {
                self.outbox.push(Output::DiscoveryStarted(destination));
            }
        }
        // The first has a last hop count of 255, so it is network-wide.
        let last = search.ttl.max(last_hops);
        if last < config.ttl_threshold {
            search.ttl = last.saturating_add(config.ttl_increment);
        } else {
            search.ttl = config.net_diameter;
            search.network_wide_requests = search.network_wide_requests.saturating_add(1);
        }
        let hop = search.mean_latency().unwrap_or(config.node_traversal_time);
        let wait =
            hop.times(2 * u64::from(search.ttl) * u64::from(search.network_wide_requests.max(1)));
        search.until = now + wait.min(pause);
        route.until = Instant::ZERO;
        let ttl = search.ttl;
        self.send_request(now, destination, ttl);
    }

    /// Sends a request.
    fn send_request(&mut self, now: Instant, destination: Ipv4Addr, ttl: u8) {
        let Some(route) = self.table.get_mut(destination) else { return };
        route.search.requested_at = now;
        let destination_seq = route.seq.map(|seq| seq.0);
        // RFC 3561 §6.1.
        self.seq += if self.config.even_numbers { 2 } else { 1 };
        self.request_id = self.request_id.wrapping_add(1);
        let request = AodvRequest {
            join: false,
            repair: false,
            // RFC 3561 §6.3: where two-way traffic is expected.
            gratuitous: self.config.gratuitous && self.buffer.has_two_way_traffic(destination),
            destination_only: self.config.destination_only,
            hops: 0,
            id: self.request_id,
            destination,
            destination_seq,
            originator: self.address,
            originator_seq: self.seq.0,
            timestamp: self.config.timestamps.then_some(now.as_nanos()),
        };
        self.send_message(now, now, AodvMessage::Request(request), ttl, LinkDestination::Broadcast);
    }

    /// Updates the route to `destination` if the offered one is better (RFC 3561 §6.2).
    pub(super) fn update_route(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        (seq, hops): (Seq, u8),
        next_hop: Ipv4Addr,
        until: Instant,
    ) -> bool {
        let repairing_is_valid = self.config.repairing_is_valid;
        let Some(route) = self.table.entry(destination, self.config.table_size) else {
            return false;
        };
        let itself = next_hop == destination && hops == 1;
        let taken = route.is_replaced_by(seq, hops, repairing_is_valid)
            || itself && route.accepts_previous_seq(seq, repairing_is_valid);
        if !taken {
            return false;
        }
        let before = (route.state, route.hops);
        route.install(seq, hops, next_hop, until);
        self.on_route_updated(now, destination, before);
        true
    }

    /// Reports a new or changed route; the tuple is the previous state and hop count.
    pub(super) fn on_route_updated(
        &mut self,
        now: Instant,
        destination: Ipv4Addr,
        (state, hops): (RouteState, u8),
    ) {
        let Some(Route { until, has_traffic, hops: new_hops, .. }) = self.table.get(destination)
        else {
            return;
        };
        let (until, has_traffic, longer) = (*until, *has_traffic, *new_hops > hops);
        self.schedule_route_expiry(until);
        // A watched destination is reported even if its entry was deleted (RFC 3561 §6.11) in between.
        let watched = self.watched.remove(destination);
        if watched || has_traffic && state == RouteState::Invalid {
            self.outbox.push(Output::RouteFound(destination));
        }
        if state == RouteState::Repairing && longer {
            self.report_longer_route(now, destination);
        }
    }

    /// Sends the packets buffered for `destination`, at intervals of `spacing`.
    pub(super) fn send_buffered(&mut self, now: Instant, destination: Ipv4Addr, spacing: Duration) {
        let mut at = now;
        while let Some(packet) = self.buffer.take(destination) {
            if !self.is_originator_for(packet.packet.ip.source) {
                self.record_salvaged(&packet);
            }
            self.forward(now, packet, None, at);
            at += spacing;
        }
    }
}

/// The time to live of a ring (RFC 3561 §6.4): up to the threshold, or network-wide.
fn ring_ttl(config: &super::AodvConfig, ttl: u8) -> u8 {
    if ttl > config.ttl_threshold { config.net_diameter } else { ttl.min(config.net_diameter) }
}
