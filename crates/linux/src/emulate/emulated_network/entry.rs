//! Packets that enter the network at a node.

use std::net::IpAddr;

use driftway_base::{DropReason, NodeId};
use driftway_link::QueuePosition;
use driftway_net::addresses::{address, ipv6_addresses, node_at_ipv6};
use driftway_wire::{Icmpv6Message, Icmpv6Unreachable};

use super::{DepartingPacket, EmulatedNetwork};
use crate::emulate::ipv6_errors::error_about;
use crate::emulate::kernel_packet::{KernelPacket, is_link_local, unreachable_error};

impl EmulatedNetwork {
    /// Lets a packet with bytes enter at a node. Routing must not search for addresses that no node
    /// has.
    pub(super) fn enter(&mut self, node: NodeId, packet: KernelPacket, bytes: &[u8]) {
        let bytes = &bytes[..packet.len];
        if packet.is_for_many() {
            return self.enter_for_all(node, packet, bytes);
        }
        let Some(to) = self.node_of(packet.destination()).filter(|to| *to != node) else {
            self.count_drop(DropReason::UnknownDestination);
            return self.report_unknown(node, bytes);
        };
        let is_ipv6 = packet.destination().is_ipv6();
        if is_ipv6 && self.refuses_ipv6 && !self.net.is_reached_by_wires(node, to) {
            self.counts.ipv6_refused += 1;
            return self.report_unreachable(node, Icmpv6Unreachable::Prohibited, bytes);
        }
        let number = self.store.insert(self.net.now(), node, bytes);
        let ends =
            (self.seen_address(packet.source(), node), self.seen_address(packet.destination(), to));
        let seen = packet.between(ends.0, ends.1).numbered(number);
        if !matches!(packet.destination(), IpAddr::V6(address) if is_link_local(address)) {
            return self.net.send(node, seen, QueuePosition::Tail);
        }
        if !self.net.send_to_neighbour(node, to, seen) {
            self.store.on_dropped(self.net.now(), number);
            self.count_drop(DropReason::UnknownDestination);
            self.report_unreachable(node, Icmpv6Unreachable::Address, bytes);
        }
    }

    /// Lets a packet of multicast or broadcast enter: the neighbours on each link and air get it.
    fn enter_for_all(&mut self, node: NodeId, packet: KernelPacket, bytes: &[u8]) {
        let packet = match packet.source() {
            IpAddr::V4(_) => packet,
            IpAddr::V6(_) => packet.from(address(node)),
        };
        for interface in self.net.interfaces(node) {
            let number = self.store.insert(self.net.now(), node, bytes);
            self.net.broadcast(node, interface, packet.numbered(number));
        }
    }

    /// Returns the address by which the network knows a node: it knows one of each node, and none outside of it.
    fn seen_address(&self, of: IpAddr, node: NodeId) -> std::net::Ipv4Addr {
        match of {
            IpAddr::V4(of) if self.net.node_at(of) == Some(node) => of,
            _ => address(node),
        }
    }

    /// Returns the node to which packets for an address are sent: that of the address, or the one with the
    /// uplink, which is for IPv4.
    fn node_of(&self, address: IpAddr) -> Option<NodeId> {
        let further = self.further_addresses.get(&address).copied();
        further.or_else(|| self.own_node_of(address)).or(self.uplink.filter(|_| address.is_ipv4()))
    }

    /// Returns the node that has an address by its number.
    pub(super) fn own_node_of(&self, address: IpAddr) -> Option<NodeId> {
        match address {
            IpAddr::V4(address) => self.net.node_at(address),
            IpAddr::V6(address) => node_at_ipv6(address, self.net.nodes()),
        }
    }

    /// Reports to a kernel that the destination of its packet does not exist, as its own node.
    fn report_unknown(&mut self, node: NodeId, bytes: &[u8]) {
        self.report_unreachable(node, Icmpv6Unreachable::Address, bytes);
        if let Some(kernel) = self.kernel_at[node]
            && let Some(error) = unreachable_error(address(node), bytes)
        {
            self.deliver_own(kernel, &error);
        }
    }

    /// Reports to a kernel that its packet of IPv6 cannot be sent, as its own node.
    fn report_unreachable(&mut self, node: NodeId, code: Icmpv6Unreachable, bytes: &[u8]) {
        let [reporter, _] = ipv6_addresses(node);
        if let Some(kernel) = self.kernel_at[node]
            && let Some(bytes) =
                error_about(bytes, reporter, |quoted| Icmpv6Message::Unreachable { code, quoted })
        {
            self.counts.icmp_from_routers += 1;
            self.departing.push_back(DepartingPacket { kernel, due: self.net.now(), bytes });
        }
    }
}
