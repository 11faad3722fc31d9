//! Link failures reported by the link layer: local repair (RFC 3561 §6.12) or route loss.

use driftway_base::{DropReason, Duration, FailedLink, Instant, Ipv4Addr};
use driftway_wire::{AodvMessage, RoutedPacket};

use super::errors::PendingError;
use super::table::{Phase, RouteState};
use super::{Aodv, LocalRepair};
use crate::Output;

/// The maximum number of pending repairs; ns-2.35's timers run for as long again as the run did before.
const REPAIRS_MAX: usize = 1024;

impl Aodv {
    /// Handles a packet to `to` that reached the retry limit of the link layer.
    pub(super) fn handle_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        self.run_due_timers(now);
        self.stats.link_failures += 1;
        let link = FailedLink { from: self.address, to };
        if !self.config.link_layer_detection {
            return self.drop_packet(packet, DropReason::LinkFailure);
        }
        if packet.is_control() {
            if let Some(AodvMessage::Reply(_)) = packet.aodv() {
                self.blacklist_neighbour(now, to);
            }
            if !self.config.control_detection {
                return;
            }
            self.invalidate_link(now, to, None);
        } else {
            let destination = packet.packet.ip.destination;
            let repair = self.repair_ttl(to, &packet);
            if self.config.local_repair == LocalRepair::PastMidpoint && repair.is_some() {
                self.record_triggering_packet(link, &packet.packet, true);
                self.repair_past_half(now, packet);
                return self.report_losses(now, link);
            }
            if repair.is_some()
                && let Some(route) = self.table.get_mut(destination)
            {
                // RFC 3561 §6.12: no node upstream of the break may answer with the broken route.
                route.seq = route.incremented_seq();
                route.state = RouteState::Repairing;
            }
            self.invalidate_link(now, to, repair.map(|_| destination));
            // yu-2004 §4.3.1: the local TCP is notified of the failure before the route discovery starts.
            let own = self.config.reroute_queued && packet.packet.ip.source == self.address;
            if own {
                self.record_triggering_packet(link, &packet.packet, true);
            }
            let saved = self.reroute(now, packet);
            if !own {
                self.record_triggering_packet(link, &packet.packet, saved);
            }
            if let Some(radius) = repair {
                self.begin_repair(now, destination, radius);
            }
        }
        while let Some(packet) = queued() {
            if !self.reroute(now, packet) {
                self.signal_own_loss(link, &packet.packet);
            }
        }
        self.report_losses(now, link);
    }

    /// The time to live of the search if the route of this packet is to be repaired.
    fn repair_ttl(&self, to: Ipv4Addr, packet: &RoutedPacket) -> Option<u8> {
        let ip = &packet.packet.ip;
        let route = self.table.get(ip.destination)?;
        match self.config.local_repair {
            LocalRepair::Off => None,
            LocalRepair::NearDestination { max_hops, add_ttl } => {
                let broken = route.is_valid() && route.next_hop == to;
                if !broken || self.is_originator_for(ip.source) || route.hops > max_hops {
                    return None;
                }
                let back = self.table.get(ip.source).filter(|back| back.is_valid());
                let half_way = back.map_or(0, |back| back.hops / 2);
                let radius = route.hops.max(half_way).saturating_add(add_ttl);
                Some(radius.min(self.config.net_diameter))
            }
            LocalRepair::PastMidpoint => {
                let passed = self.config.data_ttl?.saturating_sub(ip.ttl);
                // No route has 255 hops.
                (passed > route.hops).then_some(self.config.net_diameter)
            }
        }
    }

    fn begin_repair(&mut self, now: Instant, destination: Ipv4Addr, radius: u8) {
        let Some(route) = self.table.get_mut(destination) else { return };
        if route.search.phase != Phase::Idle {
            return;
        }
        route.search.ttl = radius;
        route.search.network_wide_requests = 0;
        self.stats.discoveries += 1;
        self.send_next_request(now, destination);
    }

    /// Invalidates the route after a failed repair (RFC 3561 §6.12).
    pub(super) fn fail_repair(&mut self, now: Instant, destination: Ipv4Addr) {
        let forgotten = self.deletion_time(now);
        let Some(route) = self.table.get_mut(destination) else { return };
        let seq = route.seq;
        route.invalidate(seq, forgotten);
        let precursors = route.precursors.clone();
        route.precursors.clear();
        if route.has_traffic {
            self.outbox.push(Output::RouteLost(destination));
        }
        self.schedule(forgotten);
        let mut report = PendingError::new(false);
        self.add_unreachable(now, &mut report, destination, seq, &precursors, now);
        self.send_error(now, report, now);
    }

    /// ns-2.35: buffers the packet; the rest of the queue stays and fails again.
    fn repair_past_half(&mut self, now: Instant, packet: RoutedPacket) {
        let destination = packet.packet.ip.destination;
        self.buffer_packet(now, packet);
        let Some(route) = self.table.get_mut(destination) else { return };
        route.state = RouteState::Repairing;
        self.discover_route(now, destination);
        let Some(route) = self.table.get(destination) else { return };
        // The absolute deadline for the reply, used as a delay.
        let at = now + Duration::from_nanos(route.search.until.as_nanos());
        if self.repair_timeouts.len() == REPAIRS_MAX {
            self.repair_timeouts.pop_front();
        }
        let place = self.repair_timeouts.partition_point(|(when, _)| *when <= at);
        self.repair_timeouts.insert(place, (at, destination));
        self.schedule(at);
    }

    /// ns-2.35: invalidates a route that is still under repair, this one or a later one.
    pub(super) fn on_repair_timeout(&mut self, now: Instant, destination: Ipv4Addr) {
        let forgotten = self.deletion_time(now);
        let Some(route) = self.table.get_mut(destination) else { return };
        if route.state == RouteState::Repairing {
            let seq = route.seq;
            route.invalidate(seq, forgotten);
            if route.has_traffic {
                self.outbox.push(Output::RouteLost(destination));
            }
        }
    }

    /// Reports that a packet gets another route.
    pub(super) fn record_salvaged(&mut self, packet: &RoutedPacket) {
        self.stats.salvaged += 1;
        self.outbox.push(Output::Salvaged { packet: packet.packet, salvage_count: 1 });
    }

    /// Reroutes a packet that met the broken link, buffers it (both true), or drops it.
    fn reroute(&mut self, now: Instant, mut packet: RoutedPacket) -> bool {
        if packet.is_control() {
            return false;
        }
        let own = self.is_originator_for(packet.packet.ip.source);
        let ip = &mut packet.packet.ip;
        let destination = ip.destination;
        let state = self.table.get(destination).map(|route| route.state);
        let another_try = match state {
            Some(RouteState::Valid | RouteState::Repairing) => self.config.reroute_queued,
            Some(RouteState::Invalid) => self.config.reroute_queued && own,
            None => false,
        };
        if !another_try {
            self.drop_packet(packet, DropReason::LinkFailure);
            return false;
        }
        // RFC 791 §3.2: every module that processes a datagram decrements the time to live. Otherwise a link
        // that delivers requests but no data would return the same packet forever.
        if ip.ttl <= 1 {
            self.drop_packet(packet, DropReason::TimeToLive);
            return false;
        }
        ip.ttl -= 1;
        if state == Some(RouteState::Valid) {
            self.record_salvaged(&packet);
            self.forward(now, packet, None, now);
            return true;
        }
        self.buffer_packet(now, packet);
        if state == Some(RouteState::Invalid) {
            self.discover_route(now, destination);
        }
        true
    }

    /// Blacklists `neighbour`, which a reply did not reach: its requests may not be answered (RFC 3561 §6.8).
    pub(super) fn blacklist_neighbour(&mut self, now: Instant, neighbour: Ipv4Addr) {
        if !self.config.blacklist_timeout.is_zero() {
            let until = now + self.config.blacklist_timeout;
            self.blacklist.set(neighbour, until);
            self.schedule(until);
        }
    }
}
