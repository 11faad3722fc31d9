//! A distance-vector protocol as in textbooks: each node reports to its neighbours at intervals how far each
//! destination is.

use std::collections::BTreeMap;

use driftway::base::{Declared, DropReason, Ipv4Addr, RandomStream, options};
use driftway::route::{LinkDestination, Outbox, Output, RouteStats, RoutingPlace, RoutingProtocol};
use driftway::wire::{Body, ControlKind, ControlMessage, IpHeader, Packet, RoutedPacket};
use driftway::{Duration, Instant};

/// Pairs of a destination, 4 bytes, and its distance in hops, 1 byte.
static UPDATE: ControlKind = ControlKind { name: "distance-vector-update", port: 520 };
const PAIR: usize = 5;
const PAIRS: usize = ControlMessage::MAX_BYTES / PAIR;
/// RFC 1058 §3.2: a distance of 16 is none.
const INFINITY: u8 = 16;

options! {
    /// Options of the protocol.
    pub struct DistanceVectorOptions {
        /// Time between two updates.
        update: time(5 s, 100 ms..=60 s),
    }
}

impl Declared<RoutingPlace, Box<dyn RoutingProtocol>> for DistanceVectorOptions {
    const NAME: &'static str = "distance-vector";
    const SUMMARY: &'static str = "Distance vectors, as in RIP (RFC 1058).";

    fn build(self, place: &RoutingPlace) -> Box<dyn RoutingProtocol> {
        let mut random = RandomStream::new(place.seed, Self::NAME, place.node.number().into());
        let first = random.uniform_duration(Duration::ZERO, self.update);
        Box::new(DistanceVector {
            options: self,
            address: place.address,
            routes: BTreeMap::new(),
            next_update: Instant::ZERO + first,
            outbox: Outbox::default(),
            watched: Vec::new(),
            stats: RouteStats::default(),
        })
    }
}

struct Route {
    next_hop: Ipv4Addr,
    hops: u8,
    until: Instant,
}

struct DistanceVector {
    options: DistanceVectorOptions,
    address: Ipv4Addr,
    routes: BTreeMap<Ipv4Addr, Route>,
    next_update: Instant,
    outbox: Outbox,
    watched: Vec<Ipv4Addr>,
    stats: RouteStats,
}

impl DistanceVector {
    fn on_update(&mut self, now: Instant, from: Ipv4Addr, bytes: &[u8]) {
        let until = now + self.options.update.times(3);
        for pair in bytes.chunks_exact(PAIR) {
            let &[a, b, c, d, distance] = pair else { continue };
            let (destination, hops) = (Ipv4Addr::new(a, b, c, d), distance.saturating_add(1));
            let known = self.routes.get(&destination);
            let is_better = known.is_none_or(|route| hops < route.hops || route.next_hop == from);
            if destination != self.address && hops < INFINITY && is_better {
                if known.is_none() && self.watched.contains(&destination) {
                    self.watched.retain(|watched| *watched != destination);
                    self.outbox.push(Output::RouteFound(destination));
                }
                self.routes.insert(destination, Route { next_hop: from, hops, until });
            }
        }
    }

    fn send_update(&mut self) {
        let own = [(self.address, 0)];
        let others = self.routes.iter().map(|(destination, route)| (*destination, route.hops));
        let pairs: Vec<_> = own.into_iter().chain(others).collect();
        for part in pairs.chunks(PAIRS) {
            let bytes: Vec<u8> = part
                .iter()
                .flat_map(|(destination, hops)| destination.octets().into_iter().chain([*hops]))
                .collect();
            let Some(message) = ControlMessage::new(&UPDATE, &bytes) else { continue };
            let ip = IpHeader { ttl: 1, ..IpHeader::new(self.address, Ipv4Addr::BROADCAST) };
            let packet = RoutedPacket::plain(Packet { ip, body: Body::Control(message) });
            self.stats.packets_sent += 1;
            self.stats.bytes_sent += u64::from(packet.len());
            self.outbox.push(Output::Transmit { packet, hop: LinkDestination::Broadcast });
        }
    }

    fn forward(&mut self, packet: RoutedPacket) {
        let output = match self.next_hop(packet.packet.ip.destination) {
            Some(next) => Output::Transmit { packet, hop: LinkDestination::Unicast(next) },
            None => Output::Drop { packet, reason: DropReason::NoRoute },
        };
        self.outbox.push(output);
    }
}

impl RoutingProtocol for DistanceVector {
    fn send(&mut self, _now: Instant, packet: Packet) {
        if packet.ip.destination == self.address {
            self.outbox.push(Output::Deliver(packet));
        } else {
            self.forward(RoutedPacket::plain(packet));
        }
    }

    fn watch_route(&mut self, destination: Ipv4Addr) {
        self.watched.push(destination);
    }

    /// Not in networks with gateways.
    fn add_external(&mut self, _destination: Ipv4Addr) {}

    fn on_packet(&mut self, now: Instant, from: Ipv4Addr, mut packet: RoutedPacket) {
        if let Body::Control(message) = &packet.packet.body {
            if *message.kind() == UPDATE {
                self.on_update(now, from, message.bytes());
            }
            return;
        }
        let ip = &mut packet.packet.ip;
        if ip.destination == self.address {
            self.outbox.push(Output::Deliver(packet.packet));
        } else if ip.ttl <= 1 {
            self.outbox.push(Output::Drop { packet, reason: DropReason::TimeToLive });
        } else {
            ip.ttl -= 1;
            self.forward(packet);
        }
    }

    fn on_link_failure(
        &mut self,
        _now: Instant,
        to: Ipv4Addr,
        packet: RoutedPacket,
        _queued: &mut dyn FnMut() -> Option<RoutedPacket>,
    ) {
        self.stats.link_failures += 1;
        self.routes.retain(|_, route| route.next_hop != to);
        if !packet.is_control() {
            self.outbox.push(Output::Drop { packet, reason: DropReason::LinkFailure });
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.next_update <= now {
            self.routes.retain(|_, route| route.until > now);
            self.send_update();
            self.next_update = now + self.options.update;
        }
    }

    fn poll(&mut self, now: Instant) -> Option<Output> {
        self.outbox.poll(now)
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.next_update)
    }

    fn buffered_packets(&self) -> usize {
        self.outbox.buffered_packets()
    }

    fn stats(&self) -> &RouteStats {
        &self.stats
    }

    fn next_hop(&self, destination: Ipv4Addr) -> Option<Ipv4Addr> {
        self.routes.get(&destination).map(|route| route.next_hop)
    }
}
