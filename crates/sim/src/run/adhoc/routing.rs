//! Whatever routing protocol a node speaks.

use driftway_base::{Instant, Ipv4Addr, ReceivedPower};
use driftway_route::{Aodv, Dsr, StaticRoutes, Output, RouteStats};
use driftway_wire::{Packet, RoutedPacket};

/// What hosts give their packets.
const HOST_TTL: u8 = 64;

/// A node's routing.
#[allow(clippy::large_enum_variant, reason = "all nodes of a network speak the same")]
pub enum Routing {
    Static(StaticRoutes),
    Aodv(Aodv),
    Dsr(Dsr),
}

/// The same call to whichever it is.
macro_rules! for_each_protocol {
    ($self:expr, $protocol:ident => $call:expr) => {
        match $self {
            Routing::Fixed($protocol) => $call,
            Routing::Aodv($protocol) => $call,
            Routing::Dsr($protocol) => $call,
        }
    };
}

impl Routing {
    /// Does it learn from what is for others?
    pub fn is_promiscuous(&self) -> bool {
        match self {
            Self::Dsr(dsr) => dsr.config().tap,
            Self::Static(_) | Self::Aodv(_) => false,
        }
    }

    pub fn send(&mut self, now: Instant, packet: Packet) {
        for_each_protocol!(self, protocol => protocol.send(now, packet));
    }

    /// The next route to `destination` is to be told of.
    pub fn watch_route(&mut self, destination: Ipv4Addr) {
        for_each_protocol!(self, protocol => protocol.watch(destination));
    }

    /// Is there a route to `destination`, as far as a protocol that purges queues can tell?
    pub fn has_route(&self, destination: Ipv4Addr) -> bool {
        match self {
            Self::Aodv(aodv) => aodv
                .routes()
                .any(|route| route.destination == destination && route.next_hop.is_some()),
            // It sees to what it purges: it has copies.
            Self::Dsr(_) => true,
            Self::Static(_) => false,
        }
    }

    /// The whole way to `destination`, both ends included, where a source knows it.
    pub fn source_route(&self, now: Instant, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        match self {
            Self::Dsr(dsr) => dsr.route(now, destination),
            Self::Static(_) | Self::Aodv(_) => None,
        }
    }

    /// The neighbour over which packets to `destination` leave.
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

    /// Is there anything to poll for?
    pub fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &RoutedPacket,
    ) -> bool {
        for_each_protocol!(self, protocol => protocol.on_overheard(now, from, to, packet))
    }

    /// Does it ask how strong its neighbours are?
    pub fn wants_strength(&self) -> bool {
        for_each_protocol!(self, protocol => protocol.needs_received_power())
    }

    pub fn on_strength(&mut self, neighbour: Ipv4Addr, strength: ReceivedPower) {
        for_each_protocol!(self, protocol => protocol.on_received_power(neighbour, strength));
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

    /// The time to live that packets of hosts start with.
    pub fn initial_ttl(&self) -> u8 {
        match self {
            Self::Aodv(aodv) => aodv.config().data_ttl.unwrap_or(HOST_TTL),
            _ => HOST_TTL,
        }
    }
}
