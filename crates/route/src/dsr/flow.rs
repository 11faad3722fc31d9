//! Flow state (RFC 4728 §3.5, §8.6): the packets of an established flow carry no source route.
//!
//! Every flow is meant as the default flow between its ends. Routes of packets without a source route are not
//! shortened: RFC 4728 §8.6.5 leaves that open, and in ns-2.35 the condition for it never holds.

use alloc::vec::Vec;

use driftway_base::{DropReason, Duration, FailedLink, Instant, Ipv4Addr};
use driftway_wire::{DsrError, DsrErrorKind, DsrFlow, RoutedPacket};

use super::Dsr;
use super::config::FlowState;
use super::originate::salvage_count;
use super::path::{self, Path, SourceRoute};
use crate::LinkDestination;

/// The maximum number of flows; the oldest is evicted.
const FLOWS_MAX: usize = 512;

/// Initial capacity; a larger table is reallocated once.
const RESERVED: usize = 64;

/// The Flow Table and the Default Flow ID Table (RFC 4728 §4.7, §4.8).
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTable {
    /// The newest last.
    flows: Vec<Flow>,
    /// The highest odd flow ID between two ends.
    defaults: Vec<(Ipv4Addr, Ipv4Addr, u16)>,
    /// Indices of the last lookups.
    last_flow: usize,
    last_default: usize,
    next_id: u16,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    id: u16,
    path: Path,
    /// The position of this node on the path.
    position: u8,
    /// The time to live of its packets at this node.
    ttl: u8,
    /// All its packets had that time to live.
    may_be_default: bool,
    /// A link of the flow has failed.
    broken: bool,
    until: Instant,
    /// The number of packets with a source route sent by this node, and the instant of the last.
    packets_sent: u8,
    last_sent_at: Instant,
}

impl Flow {
    fn is_alive(&self, now: Instant) -> bool {
        !self.broken && now <= self.until
    }
}

/// The header of a packet on a flow of this node.
enum FlowHeader {
    /// The source route, and the flow's lifetime.
    SourceRoute,
    /// The flow ID.
    FlowId,
    /// Neither a flow ID nor a source route: the default flow.
    Empty,
}

impl FlowTable {
    fn find(&mut self, source: Ipv4Addr, destination: Ipv4Addr, id: u16) -> Option<&mut Flow> {
        let is =
            |flow: &Flow| (flow.source, flow.destination, flow.id) == (source, destination, id);
        if !self.flows.get(self.last_flow).is_some_and(is) {
            self.last_flow = self.flows.iter().rposition(is)?;
        }
        self.flows.get_mut(self.last_flow)
    }

    fn default_flow(&mut self, source: Ipv4Addr, destination: Ipv4Addr) -> Option<u16> {
        let is = |known: &(Ipv4Addr, Ipv4Addr, u16)| (known.0, known.1) == (source, destination);
        if !self.defaults.get(self.last_default).is_some_and(is) {
            self.last_default = self.defaults.iter().position(is)?;
        }
        self.defaults.get(self.last_default).map(|known| known.2)
    }

    /// The flow of this node on `path`.
    fn find_by_path(&mut self, destination: Ipv4Addr, path: &Path) -> Option<&mut Flow> {
        let is = |flow: &Flow| {
            flow.position == 0 && flow.destination == destination && flow.path == *path
        };
        if !self.flows.get(self.last_flow).is_some_and(is) {
            self.last_flow = self.flows.iter().rposition(is)?;
        }
        self.flows.get_mut(self.last_flow)
    }

    fn add(&mut self, now: Instant, flow: Flow) {
        // A packet may still arrive for a flow that has expired at its source: twice the lifetime is enough.
        self.flows.retain(|known| now.since(known.until) < Duration::from_secs(60));
        if self.flows.len() >= FLOWS_MAX {
            self.flows.remove(0);
        }
        if self.flows.capacity() == 0 {
            self.flows.reserve(RESERVED);
            self.defaults.reserve(RESERVED);
        }
        self.flows.push(flow);
        if flow.id & 1 == 0 {
            return;
        }
        let ends = (flow.source, flow.destination);
        match self.defaults.iter_mut().find(|known| (known.0, known.1) == ends) {
            Some(known) => {
                // RFC 4728 §3.5.1: flow IDs are compared modulo 2¹⁶.
                if flow.id.wrapping_sub(known.2) as i16 > 0 {
                    known.2 = flow.id;
                }
            }
            None => {
                if self.defaults.len() >= FLOWS_MAX {
                    self.defaults.remove(0);
                }
                self.defaults.push((flow.source, flow.destination, flow.id));
            }
        }
    }

    /// Ends this node's flows over the link.
    pub fn remove_link(&mut self, link: FailedLink) {
        for flow in self.flows.iter_mut().filter(|flow| flow.position == 0) {
            let mut links = flow.path.as_slice().windows(2);
            flow.broken |= links.any(|hop| hop == [link.from, link.to]);
        }
    }
}

impl Dsr {
    /// Puts a packet of this node on a flow (RFC 4728 §8.6.1), if possible, and returns the flow's path.
    pub(super) fn assign_flow(
        &mut self,
        now: Instant,
        packet: &mut RoutedPacket,
        path: &Path,
    ) -> Option<Path> {
        let config = self.config.flow_state?;
        if packet.packet.ip.source != self.address || salvage_count(packet) > 0 {
            return None;
        }
        let dsr = packet.dsr.unwrap_or_default();
        let is_link_failure =
            |error: &DsrError| matches!(error.kind, DsrErrorKind::NodeUnreachable(_));
        if dsr.request().is_some() || dsr.reply.is_some() || dsr.errors().any(is_link_failure) {
            return None;
        }
        let ip = packet.packet.ip;
        // The default flow needs the least bytes; a shorter route is still better.
        let mut path = *path;
        let usual = self.flows.default_flow(ip.source, ip.destination);
        if let Some(id) = usual
            && let Some(flow) = self.flows.find(ip.source, ip.destination, id)
            && flow.is_alive(now)
            && flow.path.len() <= path.len()
        {
            path = flow.path;
        }
        let (id, carries) = self.use_flow(now, config, ip.destination, ip.ttl, &path);
        let dsr = packet.dsr.get_or_insert_default();
        dsr.timeout_s = None;
        dsr.source_route = None;
        dsr.flow = Some(DsrFlow { id, hops: 0 });
        match carries {
            FlowHeader::SourceRoute => {
                dsr.timeout_s = Some(config.timeout_s);
                path::set_source_route(packet, &path, 0);
            }
            FlowHeader::FlowId => {}
            FlowHeader::Empty => {
                dsr.flow = None;
                if !dsr.has_options() {
                    packet.dsr = None;
                }
            }
        }
        Some(path)
    }

    /// The flow of this node on `path`, created if necessary, for a packet with this time to live.
    fn use_flow(
        &mut self,
        now: Instant,
        config: FlowState,
        destination: Ipv4Addr,
        ttl: u8,
        path: &Path,
    ) -> (u16, FlowHeader) {
        let until = now + Duration::from_secs(u64::from(config.timeout_s));
        let usual = self.flows.default_flow(self.address, destination);
        if let Some(flow) = self.flows.find_by_path(destination, path)
            && flow.is_alive(now)
        {
            flow.until = until;
            if flow.packets_sent < config.establish || now.since(flow.last_sent_at) > config.refresh
            {
                flow.may_be_default &= flow.ttl == ttl;
                flow.packets_sent = flow.packets_sent.saturating_add(1);
                flow.last_sent_at = now;
                return (flow.id, FlowHeader::SourceRoute);
            }
            let default = usual == Some(flow.id) && flow.ttl == ttl && flow.may_be_default;
            return (flow.id, if default { FlowHeader::Empty } else { FlowHeader::FlowId });
        }
        // Odd flow IDs are for default flows.
        let id = self.flows.next_id | 1;
        self.flows.next_id = id.wrapping_add(2);
        let flow = Flow {
            source: self.address,
            destination,
            id,
            path: *path,
            position: 0,
            ttl,
            may_be_default: true,
            broken: false,
            until,
            packets_sent: 1,
            last_sent_at: now,
        };
        self.flows.add(now, flow);
        (id, FlowHeader::SourceRoute)
    }

    /// Establishes the flow of a packet with a source route at this intermediate node (RFC 4728 §3.5.2).
    pub(super) fn establish_flow(
        &mut self,
        now: Instant,
        packet: &mut RoutedPacket,
        on: &SourceRoute,
    ) {
        let ip = packet.packet.ip;
        let Some(dsr) = &mut packet.dsr else { return };
        let (Some(carried), Some(timeout_s)) = (&mut dsr.flow, dsr.timeout_s) else { return };
        carried.hops = carried.hops.saturating_add(1);
        // Packets on a flow have not been salvaged (RFC 4728 §8.6.7).
        if self.config.flow_state.is_none()
            || on.path.first() != Some(ip.source)
            || ip.source == self.address
            || self.flows.find(ip.source, ip.destination, carried.id).is_some()
        {
            return;
        }
        let flow = Flow {
            source: ip.source,
            destination: ip.destination,
            id: carried.id,
            path: on.path,
            position: on.next_position as u8,
            ttl: ip.ttl,
            may_be_default: false,
            broken: false,
            until: now + Duration::from_secs(u64::from(timeout_s)),
            packets_sent: 0,
            last_sent_at: now,
        };
        self.flows.add(now, flow);
    }

    /// Forwards a packet without a source route (RFC 4728 §8.6.3, §8.6.4).
    pub(super) fn forward_on_flow(&mut self, now: Instant, packet: &mut RoutedPacket) {
        let Some(config) = self.config.flow_state else {
            return self.drop_packet(*packet, DropReason::BadRoute);
        };
        let ip = packet.packet.ip;
        let number = packet.dsr.as_ref().and_then(|dsr| dsr.flow).map(|flow| flow.id);
        let unknown_default = DsrErrorKind::DefaultFlowUnknown { destination: ip.destination };
        let Some(id) = number.or_else(|| self.flows.default_flow(ip.source, ip.destination)) else {
            return self.on_unknown_flow(now, packet, unknown_default);
        };
        let Some(flow) = self.flows.find(ip.source, ip.destination, id) else {
            let kind = DsrErrorKind::UnknownFlow { destination: ip.destination, id };
            return self.on_unknown_flow(now, packet, kind);
        };
        if number.is_none() && flow.ttl != ip.ttl {
            return self.on_unknown_flow(now, packet, unknown_default);
        }
        let Some(next) =
            flow.path.get(usize::from(flow.position) + 1).filter(|_| flow.position > 0)
        else {
            return self.drop_packet(*packet, DropReason::Loop);
        };
        if ip.ttl <= 1 {
            return self.drop_packet(*packet, DropReason::TimeToLive);
        }
        flow.until = now + Duration::from_secs(u64::from(config.timeout_s));
        packet.packet.ip.ttl -= 1;
        if let Some(flow) = packet.dsr.as_mut().and_then(|dsr| dsr.flow.as_mut()) {
            flow.hops = flow.hops.saturating_add(1);
        }
        self.transmit(now, now, packet, LinkDestination::Unicast(next));
    }

    /// Salvages a packet on an unknown flow, and reports the error to its source.
    fn on_unknown_flow(&mut self, now: Instant, packet: &RoutedPacket, kind: DsrErrorKind) {
        let source = packet.packet.ip.source;
        if source == self.address {
            return self.drop_packet(*packet, DropReason::Loop);
        }
        let header = self.error_about(packet, kind, source);
        self.reroute_or_drop(now, *packet, None);
        let Some(header) = header else { return };
        self.stats.route_errors += 1;
        let error = self.control_packet(source, header);
        self.route_own_packet(now, error);
    }

    /// Handles a flow error: the flow has to be established again.
    pub(super) fn on_flow_error(&mut self, kind: DsrErrorKind) {
        let (destination, id) = match kind {
            DsrErrorKind::UnknownFlow { destination, id } => (destination, Some(id)),
            DsrErrorKind::DefaultFlowUnknown { destination } => (destination, None),
            DsrErrorKind::NodeUnreachable(_) => return,
        };
        let id = id.or_else(|| self.flows.default_flow(self.address, destination));
        if let Some(flow) = id.and_then(|id| self.flows.find(self.address, destination, id)) {
            flow.packets_sent = 0;
        }
    }

    /// Restores the source route of a packet on a flow, as on the hop that failed, so that the failure is
    /// handled like any other.
    pub(super) fn restore_source_route(&mut self, packet: &mut RoutedPacket) {
        let ip = packet.packet.ip;
        let number = packet.dsr.as_ref().and_then(|dsr| dsr.flow).map(|flow| flow.id);
        let id = number.or_else(|| self.flows.default_flow(ip.source, ip.destination));
        let Some(flow) = id.and_then(|id| self.flows.find(ip.source, ip.destination, id)) else {
            return;
        };
        let (path, at) = (flow.path, flow.position);
        path::set_source_route(packet, &path, 0);
        if let Some(route) = packet.dsr.as_mut().and_then(|dsr| dsr.source_route.as_mut()) {
            route.segments_left = route.segments_left.saturating_sub(at);
        }
    }
}

/// Removes the flow options: salvaged and retransmitted packets are on no flow (RFC 4728 §8.6.7).
pub(super) fn strip_flow(packet: &mut RoutedPacket) {
    if let Some(dsr) = &mut packet.dsr {
        dsr.flow = None;
        dsr.timeout_s = None;
        if !dsr.has_options() {
            packet.dsr = None;
        }
    }
}
