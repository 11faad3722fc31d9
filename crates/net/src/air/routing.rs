//! The routing protocol of a node.

use driftway_base::{Instant, Ipv4Addr, ReceivedPower};
use driftway_route::{Aodv, Dsr, Output, RouteStats, StaticRoutes};
use driftway_wire::{Packet, RoutedPacket};

/// The initial time to live of host packets.
pub const HOST_TTL: u8 = 64;

/// A node's routing protocol.
#[allow(clippy::large_enum_variant, reason = "all nodes of a network run the same protocol")]
pub enum Routing {
    Static(StaticRoutes),
    Aodv(Aodv),
    Dsr(Dsr),
}

/// Makes the same call whatever the protocol.
macro_rules! for_each_protocol {
    ($self:expr, $protocol:ident => $call:expr) => {
        match $self {
            Routing::Static($protocol) => $call,
            Routing::Aodv($protocol) => $call,
            Routing::Dsr($protocol) => $call,
        }
    };
}

impl Routing {
    /// True if it learns from frames that are addressed to others.
    pub fn is_promiscuous(&self) -> bool {
        match self {
            Self::Dsr(dsr) => dsr.config().tap,
            Self::Static(_) | Self::Aodv(_) => false,
        }
    }

    /// Declares that a destination is reached through this node, outside of the air.
    pub fn add_external(&mut self, destination: Ipv4Addr) {
        for_each_protocol!(self, protocol => protocol.add_external(destination));
    }

    /// Returns the IP identification of the node's next packet, if the protocol counts.
    pub fn new_identification(&mut self) -> Option<u16> {
        match self {
            Self::Dsr(dsr) => Some(dsr.new_identification()),
            Self::Static(_) | Self::Aodv(_) => None,
        }
    }

    pub fn send(&mut self, now: Instant, packet: Packet) {
        for_each_protocol!(self, protocol => protocol.send(now, packet));
    }

    /// Requests a report of the next route to `destination`.
    pub fn watch_route(&mut self, destination: Ipv4Addr) {
        for_each_protocol!(self, protocol => protocol.watch_route(destination));
    }

    /// True if there is a route to `destination`, for protocols that purge interface queues.
    pub fn has_route(&self, destination: Ipv4Addr) -> bool {
        match self {
            Self::Aodv(aodv) => aodv
                .routes()
                .any(|route| route.destination == destination && route.next_hop.is_some()),
            // It purges only packets of which it has copies.
            Self::Dsr(_) => true,
            Self::Static(_) => false,
        }
    }

    /// The whole route to `destination`, both ends included, if the protocol uses source routes.
    pub fn source_route(&self, now: Instant, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        match self {
            Self::Dsr(dsr) => dsr.route(now, destination),
            Self::Static(_) | Self::Aodv(_) => None,
        }
    }

    /// The neighbour through which packets to `destination` leave.
    pub fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        match self {
            Self::Static(fixed) => fixed.next_hop(destination),
            Self::Aodv(aodv) => {
                aodv.routes().find(|route| route.destination == destination)?.next_hop
            }
            Self::Dsr(_) => None,
        }
    }

    pub fn on_packet(&mut self, now: Instant, from: Ipv4Addr, packet: RoutedPacket) {
        for_each_protocol!(self, protocol => protocol.on_packet(now, from, packet));
    }

    /// Returns `true` if there is output to poll.
    pub fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) -> bool {
        for_each_protocol!(self, protocol => protocol.on_overheard(now, from, to, packet))
    }

    /// True if it uses the received power of its neighbours.
    pub fn needs_received_power(&self) -> bool {
        for_each_protocol!(self, protocol => protocol.needs_received_power())
    }

    pub fn on_received_power(&mut self, neighbour: Ipv4Addr, power: ReceivedPower) {
        for_each_protocol!(self, protocol => protocol.on_received_power(neighbour, power));
    }

    pub fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        for_each_protocol!(self, protocol => protocol.on_link_failure(now, to, packet, queued));
    }

    pub fn on_timeout(&mut self, now: Instant) {
        for_each_protocol!(self, protocol => protocol.on_timeout(now));
    }

    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        for_each_protocol!(self, protocol => protocol.poll(now))
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        for_each_protocol!(self, protocol => protocol.next_timeout())
    }

    pub fn buffered_packets(&self) -> usize {
        for_each_protocol!(self, protocol => protocol.buffered_packets())
    }

    pub fn stats(&self) -> RouteStats {
        *for_each_protocol!(self, protocol => protocol.stats())
    }

    /// The initial time to live of host packets.
    pub fn initial_ttl(&self) -> u8 {
        match self {
            Self::Aodv(aodv) => aodv.config().data_ttl.unwrap_or(HOST_TTL),
            _ => HOST_TTL,
        }
    }
}
