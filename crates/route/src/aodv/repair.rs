//! The link layer gives up on a packet: repair (RFC 3561 §6.12), or loss.

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr};
use driftway_wire::{AodvMessage, RoutedPacket};

use super::errors::PendingError;
use super::table::{Phase, RouteState};
use super::{Aodv, LocalRepair};
use crate::{DropReason, Output};

/// Repairs that are remembered; ns-2.35's timers run for as long again as the run did before.
const REPAIRS_MAX: usize = 1024;

impl Aodv {
    /// The link layer gave up on a packet to `to`. Each call of `queued` takes the next packet to the
    /// same neighbour out of the interface queue; what is not taken stays.
    pub fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        mut queued: impl FnMut() -> Option<RoutedPacket>,
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
                // RFC 3561 §6.12: nobody before the break can answer with the route that broke.
                route.seq = route.incremented_seq();
                route.state = RouteState::Repairing;
            }
            self.invalidate_link(now, to, repair.map(|_| destination));
            // yu-2004 §4.3.1: the own TCP hears of the failure, then a route is looked for.
            let own = self.config.rescue && packet.packet.ip.source == self.address;
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

    /// If the route of this packet is to be repaired: how far the search goes.
    fn repair_ttl(&self, to: Ipv4Addr, packet: &RoutedPacket) -> Option<u8> {
        let ip = &packet.packet.ip;
        let route = self.table.get(ip.destination)?;
        match self.config.local_repair {
            LocalRepair::Off => None,
            LocalRepair::NearDestination { max_hops, add_ttl } => {
                let broken = route.is_valid() && route.next_hop == to;
                if !broken || ip.source == self.address || route.hops > max_hops {
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

    /// RFC 3561 §6.12: the repair failed, so the route is lost.
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

    /// ns-2.35: the packet waits, the rest of the queue is left to fail again.
    fn repair_past_half(&mut self, now: Instant, packet: RoutedPacket) {
        let destination = packet.packet.ip.destination;
        self.buffer_packet(now, packet);
        let Some(route) = self.table.get_mut(destination) else { return };
        route.state = RouteState::Repairing;
        self.discover_route(now, destination);
        let Some(route) = self.table.get(destination) else { return };
        // The instant until which it waits for a reply, taken for a span.
        let at = now + Duration::from_nanos(route.search.until.as_nanos());
        if self.repair_timeouts.len() == REPAIRS_MAX {
            self.repair_timeouts.pop_front();
        }
        let place = self.repair_timeouts.partition_point(|(when, _)| *when <= at);
        self.repair_timeouts.insert(place, (at, destination));
        self.schedule(at);
    }

    /// ns-2.35: time is up for a repair, or for whatever is under repair by now.
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

    /// A packet gets another route.
    pub(super) fn record_salvaged(&mut self, packet: &RoutedPacket) {
        self.stats.salvaged += 1;
        self.outbox.push(Output::Salvaged { packet: packet.packet, salvage_count: 1 });
    }

    /// What the broken link did not carry: another route, a place to wait (true), or the end.
    fn reroute(&mut self, now: Instant, mut packet: RoutedPacket) -> bool {
        if packet.is_control() {
            return false;
        }
        let ip = &mut packet.packet.ip;
        let (destination, own) = (ip.destination, ip.source == self.address);
        let state = self.table.get(destination).map(|route| route.state);
        let another_try = match state {
            Some(RouteState::Valid | RouteState::Repairing) => self.config.rescue,
            Some(RouteState::Invalid) => self.config.rescue && own,
            None => false,
        };
        if !another_try {
            self.drop_packet(packet, DropReason::LinkFailure);
            return false;
        }
        // RFC 791 §3.2: every module that processes a datagram takes one at least. A link that carries
        // requests and no packets would else give the same packet back for ever.
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

    /// A reply did not reach `neighbour`: what is heard of it may not be answered (RFC 3561 §6.8).
    pub(super) fn blacklist_neighbour(&mut self, now: Instant, neighbour: Ipv4Addr) {
        if !self.config.blacklist_timeout.is_zero() {
            let until = now + self.config.blacklist_timeout;
            self.blacklist.set(neighbour, until);
            self.schedule(until);
        }
    }
}
