//! Packets of this node, and transmission of any packet.

use alloc::vec::Vec;

use driftway_base::{DropReason, Instant, Ipv4Addr};
use driftway_wire::{Body, DsrHeader, IpHeader, Packet, RoutedPacket};

use super::Dsr;
use super::discovery::DiscoveryProgress;
use super::path::{self, Path};
use crate::{LinkDestination, Output};

/// The hop limit of control packets.
const CONTROL_TTL: u8 = 255;

/// RFC 4728 §9; the field has four bits.
pub(crate) const MAX_SALVAGE_COUNT: u8 = 15;

/// The destinations of the local host, and whether there is a route to each.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalDestinations {
    list: Vec<(Ipv4Addr, bool)>,
}

/// The maximum number of destinations; the first is evicted.
const LOCAL_DESTINATIONS_MAX: usize = 64;

impl LocalDestinations {
    /// Records whether there is a route; returns the previous value.
    fn set(&mut self, destination: Ipv4Addr, has_route: bool) -> Option<bool> {
        match self.list.iter_mut().find(|(known, _)| *known == destination) {
            Some((_, known)) => Some(core::mem::replace(known, has_route)),
            None => {
                if self.list.len() >= LOCAL_DESTINATIONS_MAX {
                    self.list.remove(0);
                }
                self.list.push((destination, has_route));
                None
            }
        }
    }

    /// Records that there is a route, if the local host sends there.
    fn set_if_known(&mut self, destination: Ipv4Addr) {
        if self.list.iter().any(|(known, _)| *known == destination) {
            self.set(destination, true);
        }
    }
}

impl Dsr {
    /// Sends a packet of this node, or buffers it until there is a route (RFC 4728 §8.1.1).
    pub(super) fn route_own_packet(&mut self, now: Instant, packet: RoutedPacket) {
        let destination = packet.packet.ip.destination;
        if destination == self.address {
            self.receive(now, self.address, &packet);
        } else if self.external.contains(destination) {
            self.deliver_external(&packet);
        } else if let Some(path) = self.cache.select(now, destination) {
            self.send_on_path(now, now, packet, &path);
        } else if is_icmp_error(&packet) {
            // An error about an undeliverable packet does not justify flooding the network.
            self.drop_packet(packet, DropReason::NoRoute);
        } else {
            if !packet.is_control() {
                self.record_route_state(destination, false);
            }
            // A discovery lasts as long as a packet is buffered for it.
            if !self.send_buffer.has_packets_for(destination) {
                self.stats.discoveries += 1;
                if !packet.is_control() {
                    self.outbox.push(Output::DiscoveryStarted(destination));
                }
            }
            match self.discover_route(now, destination, true) {
                DiscoveryProgress::Ongoing => self.buffer_packet(now, packet),
                DiscoveryProgress::Failed => {
                    self.fail_discovery(now, destination);
                    self.drop_packet(packet, DropReason::DiscoveryFailed);
                }
            }
        }
    }

    /// Buffers a packet until there is a route.
    pub(super) fn buffer_packet(&mut self, now: Instant, packet: RoutedPacket) {
        if let Some(oldest) = self.send_buffer.push(now, packet) {
            self.drop_packet(oldest, DropReason::SendBufferFull);
        }
    }

    /// Sends a packet at `at` on `path`, which starts here.
    pub(super) fn send_on_path(
        &mut self,
        now: Instant,
        at: Instant,
        mut packet: RoutedPacket,
        path: &Path,
    ) {
        if self.external.contains(packet.packet.ip.destination) {
            return self.deliver_external(&packet);
        }
        if self.came_in_here(&packet) {
            return self.send_external_on_path(now, at, packet, path);
        }
        let flow = self.assign_flow(now, &mut packet, path);
        let Some(next) = flow.as_ref().unwrap_or(path).get(1) else {
            return self.drop_packet(packet, DropReason::BadRoute);
        };
        let own = packet.packet.ip.source == self.address;
        let data = !packet.is_control();
        self.cache.on_route_used(now, flow.as_ref().unwrap_or(path), data);
        // Sending another node's packet from the send buffer (ns-2.35) is not a further salvage.
        let salvage = salvage_count(&packet);
        if flow.is_some() {
            // The header is complete.
        } else if own && salvage == 0 && path.len() == 2 && !self.config.route_to_neighbour {
            strip_source_route(&mut packet);
        } else {
            path::set_source_route(&mut packet, path, salvage);
        }
        if own && !packet.is_control() {
            self.record_route_state(packet.packet.ip.destination, true);
        }
        self.transmit(now, at, &mut packet, LinkDestination::Unicast(next));
    }

    /// Sends a packet of an external host at `at` on `path`, which starts at this gateway: its source route
    /// starts with the external hop (RFC 4728 §6.7).
    fn send_external_on_path(
        &mut self,
        now: Instant,
        at: Instant,
        mut packet: RoutedPacket,
        path: &Path,
    ) {
        let ip = packet.packet.ip;
        let mut whole = Path::of(&[ip.source]);
        let fits = whole.extend(path.as_slice())
            && whole.len() <= usize::from(self.config.max_nodes)
            && !whole.has_loop();
        let Some(next) = path.get(1).filter(|_| fits) else {
            return self.drop_packet(packet, DropReason::BadRoute);
        };
        self.cache.on_route_used(now, &whole, true);
        path::set_source_route(&mut packet, &whole, 0);
        if let Some(route) = packet.dsr.as_mut().and_then(|dsr| dsr.source_route.as_mut()) {
            route.first_hop_external = true;
            route.segments_left = route.segments_left.saturating_sub(1);
        }
        self.record_route_state(ip.destination, true);
        self.transmit(now, at, &mut packet, LinkDestination::Unicast(next));
    }

    /// Passes a packet to the interface queue at `at`, with confirmation if configured.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        at: Instant,
        packet: &mut RoutedPacket,
        hop: LinkDestination,
    ) {
        self.flag_external_hops(packet);
        if let LinkDestination::Unicast(next) = hop {
            self.await_confirmation(at, packet, next);
        }
        self.enqueue(now, at, packet, hop);
    }

    /// Passes a packet to the interface queue at `at`, without confirmation.
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        at: Instant,
        packet: &mut RoutedPacket,
        hop: LinkDestination,
    ) {
        packet.size_adjustment = self.padding(packet);
        if packet.is_control() {
            self.stats.packets_sent += 1;
            self.stats.bytes_sent += u64::from(packet.len());
        }
        let output = Output::Transmit { packet: *packet, hop };
        if at > now { self.outbox.push_at(at, output) } else { self.outbox.push(output) }
    }

    /// Creates a control packet.
    pub(super) fn control_packet(&mut self, to: Ipv4Addr, dsr: DsrHeader) -> RoutedPacket {
        let identification = self.take_identification();
        let ip = IpHeader { ttl: CONTROL_TTL, identification, ..IpHeader::new(self.address, to) };
        RoutedPacket {
            packet: Packet { ip, body: Body::NoNextHeader },
            dsr: Some(dsr),
            size_adjustment: 0,
        }
    }

    /// Records and reports a change of the route to a destination of the local host.
    fn record_route_state(&mut self, destination: Ipv4Addr, has_route: bool) {
        match (self.local_destinations.set(destination, has_route), has_route) {
            (Some(false), true) => self.report_route_found(destination),
            (Some(true), false) => self.outbox.push(Output::RouteLost(destination)),
            _ => {}
        }
    }

    fn report_route_found(&mut self, destination: Ipv4Addr) {
        self.watched.remove(destination);
        self.outbox.push(Output::RouteFound(destination));
    }

    /// Reports each watched destination that has a route now, after additions to the cache.
    pub(super) fn report_found_routes(&mut self, now: Instant) {
        let cache = &mut self.cache;
        while let Some(found) = self.watched.take(|to| cache.lookup(now, to).is_some()) {
            // Not reported before, and need not be again.
            self.local_destinations.set_if_known(found);
            self.outbox.push(Output::RouteFound(found));
        }
    }

    /// Reports each destination that has lost its route, after a link failure.
    pub(super) fn report_lost_routes(&mut self, now: Instant) {
        for (destination, has_route) in &mut self.local_destinations.list {
            if *has_route && self.cache.lookup(now, *destination).is_none() {
                *has_route = false;
                self.outbox.push(Output::RouteLost(*destination));
            }
        }
    }

    /// The difference between the size that ns-2.35 counts and the actual size.
    fn padding(&self, packet: &RoutedPacket) -> i16 {
        let tcp =
            if matches!(packet.packet.body, Body::Tcp(_)) { self.config.tcp_padding } else { 0 };
        match &packet.dsr {
            Some(dsr) if self.config.ns2_sizes => {
                tcp.saturating_add(ns2_size(dsr) as i16).saturating_sub(dsr.size() as i16)
            }
            _ => tcp,
        }
    }
}

/// The salvage count of a packet.
pub(crate) fn salvage_count(packet: &RoutedPacket) -> u8 {
    let route = packet.dsr.as_ref().and_then(|dsr| dsr.source_route.as_ref());
    route.map_or(0, |route| route.salvage.min(MAX_SALVAGE_COUNT))
}

/// Returns true for an ICMP error about an undeliverable packet (RFC 792).
const fn is_icmp_error(packet: &RoutedPacket) -> bool {
    use driftway_wire::IcmpMessage::{SourceQuench, TimeExceeded, Unreachable};

    let Body::Icmp(message) = &packet.packet.body else { return false };
    matches!(message, Unreachable { .. } | TimeExceeded { .. } | SourceQuench { .. })
}

/// Removes the source route, and the header if it is empty then.
pub(crate) fn strip_source_route(packet: &mut RoutedPacket) {
    if let Some(dsr) = &mut packet.dsr {
        dsr.source_route = None;
        if *dsr == DsrHeader::default() {
            packet.dsr = None;
        }
    }
}

/// The size of a header as ns-2.35 counts it (`hdr_sr::size`): a reply has 5 bytes and both its ends, a route
/// has no bytes of its own and all of its nodes but one, errors about flows are shorter. A forwarder of a
/// request adds the whole header once more (`handleRouteRequest`), so that a request accumulates the headers
/// of all its hops.
fn ns2_size(dsr: &DsrHeader) -> u32 {
    use driftway_wire::DsrErrorKind::{DefaultFlowUnknown, NodeUnreachable, UnknownFlow};

    let four = |nodes: usize| 4 * nodes as u32;
    let fixed = if dsr.has_options() { 4 } else { 0 };
    let nodes = dsr.request().map_or(0, |request| request.route.len());
    let request = dsr.request().map_or(0, |_| 8 + four(nodes));
    let reply = dsr.reply.as_ref().map_or(0, |reply| 5 + four(reply.route.len() + 1));
    let route = dsr
        .source_route
        .as_ref()
        .map_or(0, |route| four(route.route.len() + usize::from(route.salvage == 0)));
    let errors: u32 = dsr
        .errors()
        .map(|error| match error.kind {
            NodeUnreachable(_) => 16,
            UnknownFlow { .. } => 14,
            DefaultFlowUnknown { .. } => 12,
        })
        .sum();
    let timeout = if dsr.timeout_s.is_some() { 4 } else { 0 };
    let flow = if dsr.flow.is_some() { 4 } else { 0 };
    // The former headers had the addresses of 0 to `nodes - 1` forwarders.
    let hops = nodes as u32;
    let before = hops * (fixed + 8 + errors) + 2 * hops * hops.saturating_sub(1);
    let more: usize = dsr.extra_options().map(|option| option.size()).sum();
    let errors = errors + more as u32;
    (fixed + request + reply + route + errors + timeout + flow).next_multiple_of(4) + before
}
