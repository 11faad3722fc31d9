//! The routing protocol of a node.

use driftway_base::{Instant, Ipv4Addr, Strength};
use driftway_route::{Aodv, Dsr, Fixed, Output, RouteStats};
use driftway_wire::{Packet, Routed};

/// The initial time to live of host packets.
const HOST_TTL: u8 = 64;

/// A node's routing protocol.
#[allow(clippy::large_enum_variant, reason = "all nodes of a network run the same protocol")]
pub enum Routing {
    Fixed(Fixed),
    Aodv(Aodv),
    Dsr(Dsr),
}

/// Makes the same call whatever the protocol.
macro_rules! each {
    ($self:expr, $protocol:ident => $call:expr) => {
        match $self {
            Routing::Fixed($protocol) => $call,
            Routing::Aodv($protocol) => $call,
            Routing::Dsr($protocol) => $call,
        }
    };
}

impl Routing {
    /// True if it learns from frames that are addressed to others.
    pub fn listens(&self) -> bool {
        match self {
            Self::Dsr(dsr) => dsr.config().tap,
            Self::Fixed(_) | Self::Aodv(_) => false,
        }
    }

    pub fn send(&mut self, now: Instant, packet: Packet) {
        each!(self, protocol => protocol.send(now, packet));
    }

    /// Requests a report of the next route to `destination`.
    pub fn watch(&mut self, destination: Ipv4Addr) {
        each!(self, protocol => protocol.watch(destination));
    }

    /// True if there is a route to `destination`, for protocols that purge interface queues.
    pub fn knows_way(&self, destination: Ipv4Addr) -> bool {
        match self {
            Self::Aodv(aodv) => aodv
                .routes()
                .any(|route| route.destination == destination && route.next_hop.is_some()),
            // It purges only packets of which it has copies.
            Self::Dsr(_) => true,
            Self::Fixed(_) => false,
        }
    }

    /// The whole route to `destination`, both ends included, if the protocol uses source routes.
    pub fn source_route(&self, now: Instant, destination: Ipv4Addr) -> Option<Vec<Ipv4Addr>> {
        match self {
            Self::Dsr(dsr) => dsr.route(now, destination),
            Self::Fixed(_) | Self::Aodv(_) => None,
        }
    }

    /// The neighbour through which packets to `destination` leave.
    pub fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        match self {
            Self::Fixed(fixed) => fixed.next_hop(destination),
            Self::Aodv(aodv) => {
                aodv.routes().find(|route| route.destination == destination)?.next_hop
            }
            Self::Dsr(_) => None,
        }
    }

    pub fn on_packet(&mut self, now: Instant, from: Ipv4Addr, packet: Routed) {
        each!(self, protocol => protocol.on_packet(now, from, packet));
    }

    /// Returns `true` if there is output to poll.
    pub fn on_overheard(
        &mut self,
        now: Instant,
        from: Ipv4Addr,
        to: Ipv4Addr,
        packet: &Routed,
    ) -> bool {
        each!(self, protocol => protocol.on_overheard(now, from, to, packet))
    }

    /// True if it uses the received power of its neighbours.
    pub fn wants_strength(&self) -> bool {
        each!(self, protocol => protocol.wants_strength())
    }

    pub fn on_strength(&mut self, neighbour: Ipv4Addr, strength: Strength) {
        each!(self, protocol => protocol.on_strength(neighbour, strength));
    }

    pub fn on_link_failure(
        &mut self,
        now: Instant,
        to: Ipv4Addr,
        packet: Routed,
        queued: &mut dyn FnMut() -> Option<Routed>,
    ) {
        each!(self, protocol => protocol.on_link_failure(now, to, packet, queued));
    }

    pub fn on_timeout(&mut self, now: Instant) {
        each!(self, protocol => protocol.on_timeout(now));
    }

    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        each!(self, protocol => protocol.poll(now))
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        each!(self, protocol => protocol.next_timeout())
    }

    pub fn kept(&self) -> usize {
        each!(self, protocol => protocol.kept())
    }

    pub fn stats(&self) -> RouteStats {
        *each!(self, protocol => protocol.stats())
    }

    /// The initial time to live of host packets.
    pub fn first_ttl(&self) -> u8 {
        match self {
            Self::Aodv(aodv) => aodv.config().data_ttl.unwrap_or(HOST_TTL),
            _ => HOST_TTL,
        }
    }
}
