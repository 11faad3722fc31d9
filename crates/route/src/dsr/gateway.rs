//! Gateways, and routes with an external first or last hop (RFC 4728 §4.1, §6.3, §6.7).

use driftway_base::Ipv4Addr;
use driftway_wire::{AddressList, DsrSourceRoute, RoutedPacket};

use super::Dsr;
use super::path::SourceRoute;
use crate::Output;

/// The maximum number of external hosts that a node learns; further ones are not flagged.
const KNOWN_EXTERNAL_MAX: usize = 1024;

impl Dsr {
    /// Returns true for this node and its external hosts.
    pub(super) fn is_destination(&self, destination: Ipv4Addr) -> bool {
        destination == self.address || self.external.contains(destination)
    }

    /// Returns true if the hop to or from `host` is external.
    pub(super) fn is_known_external(&self, host: Ipv4Addr) -> bool {
        self.external.contains(host) || self.known_external.contains(host)
    }

    /// Returns true if this node is the originator of the packet, or the gateway at which it came in.
    pub(super) fn is_originator(&self, packet: &RoutedPacket) -> bool {
        packet.packet.ip.source == self.address || self.came_in_here(packet)
    }

    /// Returns true for a packet of an external host that came in at this gateway.
    pub(super) fn came_in_here(&self, packet: &RoutedPacket) -> bool {
        let route = packet.dsr.as_ref().and_then(|dsr| dsr.source_route.as_ref());
        route.is_some_and(|route| {
            route.first_hop_external
                && route.salvage == 0
                && route.route.as_slice().first() == Some(&self.address)
        })
    }

    /// Marks a packet of an external host with a provisional source route over this gateway, which is replaced
    /// once a route is known.
    pub(super) fn mark_came_in(&self, packet: &mut RoutedPacket) {
        packet.dsr.get_or_insert_default().source_route = Some(DsrSourceRoute {
            first_hop_external: true,
            last_hop_external: false,
            salvage: 0,
            segments_left: 0,
            route: AddressList::new(&[self.address]).unwrap_or_default(),
        });
    }

    /// Delivers a host packet to an external host, for the driver to forward. A control packet ends here.
    pub(super) fn deliver_external(&mut self, packet: &RoutedPacket) {
        if !packet.is_control() {
            self.outbox.push(Output::Deliver(packet.packet));
        }
    }

    /// Learns from the flags of a packet which hops are external.
    pub(super) fn learn_external(&mut self, packet: &RoutedPacket) {
        let Some(dsr) = &packet.dsr else { return };
        if let Some(reply) = dsr.reply.as_ref().filter(|reply| reply.last_hop_external)
            && let Some(host) = reply.route.as_slice().last()
        {
            self.add_known_external(*host);
        }
        if let Some(route) = &dsr.source_route {
            if route.last_hop_external {
                self.add_known_external(packet.packet.ip.destination);
            }
            if route.first_hop_external && route.salvage == 0 {
                self.add_known_external(packet.packet.ip.source);
            }
        }
    }

    fn add_known_external(&mut self, host: Ipv4Addr) {
        if host != self.address
            && self.known_external.len() < KNOWN_EXTERNAL_MAX
            && self.known_external.add(host)
        {
            self.cache.mark_external(host);
        }
    }

    /// Sets the flags of a packet's source route as the hops are flagged here.
    pub(super) fn flag_external_hops(&self, packet: &mut RoutedPacket) {
        let ip = packet.packet.ip;
        if let Some(route) = packet.dsr.as_mut().and_then(|dsr| dsr.source_route.as_mut()) {
            route.last_hop_external |= self.is_known_external(ip.destination);
            // The first hop of a salvaged packet is the salvager's.
            route.first_hop_external |= route.salvage == 0 && self.is_known_external(ip.source);
        }
    }
}

impl SourceRoute {
    /// The source route of a packet without an external first hop: it starts at the gateway, to which errors
    /// and gratuitous replies go.
    #[inline]
    pub fn within_network(packet: &RoutedPacket) -> Option<Self> {
        let route = packet.dsr.as_ref()?.source_route.as_ref()?;
        let on = Self::of_packet(packet)?;
        if !route.first_hop_external || route.salvage > 0 {
            return Some(on);
        }
        let next_position = on.next_position.checked_sub(1).filter(|next| *next >= 1)?;
        Some(Self { path: on.path.without_range(0, 1), next_position })
    }
}
