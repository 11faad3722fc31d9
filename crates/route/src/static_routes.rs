//! Static routes: each destination has one next hop, which never changes.
//!
//! No messages are sent. A packet that meets a failed link is dropped, and the next one takes the same link:
//! the capacity of an ad hoc network without the cost of route discovery.

use alloc::vec::Vec;

use driftway_base::{DropReason, Instant, Ipv4Addr};
use driftway_wire::{Body, Packet, RoutedPacket};

use crate::external::ExternalHosts;
use crate::watched_destinations::WatchedDestinations;
use crate::{LinkDestination, Outbox, Output, RouteStats, RoutingProtocol};

/// Static routes of one node.
#[derive(Clone, Debug)]
pub struct StaticRoutes {
    address: Ipv4Addr,
    /// Pairs of destination and next hop, by destination.
    table: Vec<(Ipv4Addr, Ipv4Addr)>,
    tcp_padding: i16,
    external: ExternalHosts,
    outbox: Outbox,
    watched: WatchedDestinations,
    stats: RouteStats,
}

impl StaticRoutes {
    /// Creates the node at `address` with these pairs of destination and next hop, in any order; of several
    /// for one destination the first counts.
    pub fn new(address: Ipv4Addr, mut table: Vec<(Ipv4Addr, Ipv4Addr)>) -> Self {
        table.sort_by_key(|(destination, _)| *destination);
        table.dedup_by_key(|(destination, _)| *destination);
        Self {
            address,
            table,
            tcp_padding: 0,
            external: ExternalHosts::default(),
            outbox: Outbox::default(),
            watched: WatchedDestinations::default(),
            stats: RouteStats::default(),
        }
    }

    /// Adds this many bytes to each TCP packet of the local host. ns-2.35, whose only static routes are those
    /// of a DSDV that was stopped: 20, a second IP header.
    pub const fn with_tcp_padding(mut self, tcp_padding: i16) -> Self {
        self.tcp_padding = tcp_padding;
        self
    }

    /// Returns true if packets to `destination` leave the network here.
    fn is_destination(&self, destination: Ipv4Addr) -> bool {
        destination == self.address || self.external.contains(destination)
    }

    fn forward(&mut self, packet: RoutedPacket) {
        let destination = packet.packet.ip.destination;
        self.outbox.push(if self.is_destination(destination) {
            Output::Deliver(packet.packet)
        } else if let Some(next) = self.next_hop(destination) {
            Output::Transmit { packet, hop: LinkDestination::Unicast(next) }
        } else {
            Output::Drop { packet, reason: DropReason::NoRoute }
        });
    }
}

impl RoutingProtocol for StaticRoutes {
    fn send(&mut self, _now: Instant, packet: Packet) {
        let mut packet = RoutedPacket::plain(packet);
        if matches!(packet.packet.body, Body::Tcp(_)) {
            packet.size_adjustment = self.tcp_padding;
        }
        if packet.packet.ip.destination == Ipv4Addr::BROADCAST {
            self.outbox.push(Output::Transmit { packet, hop: LinkDestination::Broadcast });
        } else {
            self.forward(packet);
        }
    }

    fn watch_route(&mut self, destination: Ipv4Addr) {
        self.watched.add(destination);
    }

    fn add_external(&mut self, destination: Ipv4Addr) {
        self.external.add(destination);
    }

    fn on_packet(&mut self, _now: Instant, from: Ipv4Addr, mut packet: RoutedPacket) {
        let table = &self.table;
        while let Some(to) = self.watched.take(|to| next_hop(table, to) == Some(from)) {
            self.outbox.push(Output::RouteFound(to));
        }
        if packet.is_control() {
            return;
        }
        let ip = &mut packet.packet.ip;
        if ip.destination == Ipv4Addr::BROADCAST || self.is_destination(ip.destination) {
            self.outbox.push(Output::Deliver(packet.packet));
        } else if ip.ttl <= 1 {
            // RFC 1812 §5.3.1.
            self.outbox.push(Output::Drop { packet, reason: DropReason::TimeToLive });
        } else {
            ip.ttl -= 1;
            self.forward(packet);
        }
    }

    fn on_link_failure(
        &mut self,
        _now: Instant,
        _to: Ipv4Addr,
        packet: RoutedPacket,
        _queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        self.stats.link_failures += 1;
        if !packet.is_control() {
            self.outbox.push(Output::Drop { packet, reason: DropReason::LinkFailure });
        }
    }

    fn on_timeout(&mut self, _now: Instant) {}

    fn poll(&mut self, now: Instant) -> Option<Output> {
        self.outbox.poll(now)
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn buffered_packets(&self) -> usize {
        self.outbox.buffered_packets()
    }

    fn stats(&self) -> &RouteStats {
        &self.stats
    }

    fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        next_hop(&self.table, destination)
    }

    /// Takes the next hop to the gateway, unless there is a route.
    fn add_route_through(&mut self, destination: Ipv4Addr, gateway: Ipv4Addr) {
        if let Some(next_hop) = self.next_hop(gateway)
            && let Err(place) = self.table.binary_search_by_key(&destination, |(to, _)| *to)
        {
            self.table.insert(place, (destination, next_hop));
        }
    }

    /// Nothing is purged.
    fn has_route(&self, _destination: Ipv4Addr) -> bool {
        false
    }
}

fn next_hop(table: &[(Ipv4Addr, Ipv4Addr)], destination: Ipv4Addr) -> Option<Ipv4Addr> {
    let at = table.binary_search_by_key(&destination, |(to, _)| *to).ok()?;
    table.get(at).map(|(_, hop)| *hop)
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_wire::{Body, IpHeader, Payload, UdpDatagram};

    const fn at(node: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(0x0a00_0001 + node)
    }

    fn packet(from: u32, to: u32, ttl: u8) -> Packet {
        let ip = IpHeader { ttl, ..IpHeader::new(at(from), at(to)) };
        let payload = Payload::new(1, 0, 100);
        Packet { ip, body: Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }) }
    }

    /// Node 1 of a chain 0 – 1 – 2.
    fn middle_node() -> StaticRoutes {
        StaticRoutes::new(at(1), alloc::vec![(at(2), at(2)), (at(0), at(0)), (at(3), at(2))])
    }

    #[test]
    fn forwarding_decrements_the_time_to_live() {
        let mut node = middle_node();
        node.on_packet(Instant::ZERO, at(0), RoutedPacket::plain(packet(0, 3, 9)));
        let expected = Output::Transmit {
            packet: RoutedPacket::plain(packet(0, 3, 8)),
            hop: LinkDestination::Unicast(at(2)),
        };
        assert_eq!(node.buffered_packets(), 1);
        assert_eq!(node.poll(Instant::ZERO), Some(expected));
        assert_eq!(node.poll(Instant::ZERO), None);
        assert_eq!(node.buffered_packets(), 0);
    }

    #[test]
    fn a_local_packet_keeps_its_time_to_live() {
        let mut node = middle_node();
        node.send(Instant::ZERO, packet(1, 2, 1));
        let expected = Output::Transmit {
            packet: RoutedPacket::plain(packet(1, 2, 1)),
            hop: LinkDestination::Unicast(at(2)),
        };
        assert_eq!(node.poll(Instant::ZERO), Some(expected));
    }

    #[test]
    fn packets_without_time_to_live_or_route_are_dropped() {
        let mut node = middle_node();
        for (given, reason) in [
            (packet(0, 2, 1), DropReason::TimeToLive),
            (packet(0, 2, 0), DropReason::TimeToLive),
            (packet(0, 7, 9), DropReason::NoRoute),
        ] {
            node.on_packet(Instant::ZERO, at(0), RoutedPacket::plain(given));
            match node.poll(Instant::ZERO) {
                Some(Output::Drop { packet, reason: why }) => {
                    assert_eq!((packet.packet.ip.destination, why), (given.ip.destination, reason));
                }
                other => panic!("{other:?}"),
            }
        }
        node.on_packet(Instant::ZERO, at(0), RoutedPacket::plain(packet(0, 1, 1)));
        assert_eq!(node.poll(Instant::ZERO), Some(Output::Deliver(packet(0, 1, 1))));
    }

    #[test]
    fn a_link_failure_drops_one_packet_and_keeps_the_queue() {
        let mut node = middle_node();
        let lost = RoutedPacket::plain(packet(0, 2, 9));
        node.on_link_failure(Instant::ZERO, at(2), lost, &mut || panic!("the queue is not read"));
        let expected = Output::Drop { packet: lost, reason: DropReason::LinkFailure };
        assert_eq!(node.poll(Instant::ZERO), Some(expected));
        assert_eq!(node.next_hop(at(2)), Some(at(2)));
        assert_eq!(node.stats().link_failures, 1);
    }

    /// Host 3 is behind node 1: the driver decrements the time to live of its packets.
    #[test]
    fn a_gateway_delivers_packets_to_an_external_host() {
        let mut node = middle_node();
        node.add_external(at(3));
        for ttl in [9, 1] {
            node.on_packet(Instant::ZERO, at(0), RoutedPacket::plain(packet(0, 3, ttl)));
            assert_eq!(node.poll(Instant::ZERO), Some(Output::Deliver(packet(0, 3, ttl))));
        }
        node.send(Instant::ZERO, packet(1, 3, 9));
        assert_eq!(node.poll(Instant::ZERO), Some(Output::Deliver(packet(1, 3, 9))));
        node.send(Instant::ZERO, packet(3, 0, 9));
        let expected = Output::Transmit {
            packet: RoutedPacket::plain(packet(3, 0, 9)),
            hop: LinkDestination::Unicast(at(0)),
        };
        assert_eq!(node.poll(Instant::ZERO), Some(expected));
        node.send(Instant::ZERO, packet(3, 7, 9));
        let dropped = node.poll(Instant::ZERO);
        assert!(matches!(dropped, Some(Output::Drop { reason: DropReason::NoRoute, .. })));
        assert_eq!(node.poll(Instant::ZERO), None);
    }

    /// A chain of 0, 1 and 2, a gateway to host 3: one packet there, one back.
    #[test]
    fn an_external_host_is_reached_over_a_chain() {
        let mut nodes = [
            StaticRoutes::new(at(0), alloc::vec![(at(1), at(1)), (at(2), at(1)), (at(3), at(1))]),
            middle_node(),
            StaticRoutes::new(at(2), alloc::vec![(at(0), at(1)), (at(1), at(1))]),
        ];
        nodes[2].add_external(at(3));
        for (first, given, last, ttl) in [(0, packet(0, 3, 9), 2, 8), (2, packet(3, 0, 9), 0, 8)] {
            nodes[first].send(Instant::ZERO, given);
            let mut node = first;
            let delivered = loop {
                match nodes[node].poll(Instant::ZERO) {
                    Some(Output::Transmit { packet, hop: LinkDestination::Unicast(to) }) => {
                        let from = at(node as u32);
                        node = (to.to_bits() - at(0).to_bits()) as usize;
                        nodes[node].on_packet(Instant::ZERO, from, packet);
                    }
                    Some(Output::Deliver(packet)) => break packet,
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!((node, delivered.ip.ttl), (last, ttl));
        }
    }

    /// Node 2 is out of reach, and 3 behind it; hearing any other node reports nothing.
    #[test]
    fn a_watched_destination_is_reported_when_its_next_hop_is_heard() {
        let mut node = middle_node();
        node.watch_route(at(2));
        node.watch_route(at(3));
        node.watch_route(at(3));
        let mut heard = |from| {
            let echo = RoutedPacket::plain(packet(from, 1, 9));
            node.on_packet(Instant::ZERO, at(from), echo);
            let outputs: Vec<_> = core::iter::from_fn(|| node.poll(Instant::ZERO)).collect();
            assert_eq!(outputs.last(), Some(&Output::Deliver(packet(from, 1, 9))));
            outputs[..outputs.len() - 1].to_vec()
        };
        assert_eq!(heard(0), []);
        assert_eq!(heard(2), [Output::RouteFound(at(2)), Output::RouteFound(at(3))]);
        assert_eq!(heard(2), [], "each is reported once");
    }
}
