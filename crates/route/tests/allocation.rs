//! Routing in its steady state does not allocate: an AODV relay, and a DSR relay, whose routes are found,
//! used, broken and found again.

use allocation_counter::measure;
use driftway_base::{Duration, Instant, Ipv4Addr};
use driftway_route::{
    Aodv, AodvConfig, CacheKind, Dsr, DsrConfig, NextHopConfirmation, Output, RoutingProtocol,
    UpdateOptions,
};
use driftway_wire::{
    AddressList, AodvMessage, AodvReply, AodvRequest, Body, DsrHeader, DsrReply, DsrRequest,
    DsrRequestOrOptions, DsrSourceRoute, IpHeader, Packet, Payload, RoutedPacket, UdpDatagram,
};

const fn at(node: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + node)
}

fn message(from: u32, to: Option<u32>, message: AodvMessage) -> RoutedPacket {
    let to = to.map_or(Ipv4Addr::BROADCAST, at);
    let ip = IpHeader { ttl: 20, ..IpHeader::new(at(from), to) };
    RoutedPacket::plain(Packet { ip, body: Body::Aodv(message) })
}

fn data(from: u32, to: u32) -> Packet {
    let payload = Payload::new(0, 0, 500);
    let ip = IpHeader { ttl: 20, ..IpHeader::new(at(from), at(to)) };
    Packet { ip, body: Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }) }
}

/// Node 1 relays from 0, its neighbour, to 9, which is behind 2 or 3.
fn round(aodv: &mut Aodv, round: u32) -> usize {
    let start = u64::from(round) * 2000;
    let now = Instant::from_millis(start);
    let request = AodvRequest {
        join: false,
        repair: false,
        gratuitous: false,
        destination_only: false,
        hops: 0,
        id: round,
        destination: at(9),
        destination_seq: Some(3 * round),
        originator: at(0),
        originator_seq: 3 * round,
        timestamp: None,
    };
    aodv.on_packet(now, at(0), message(0, None, AodvMessage::Request(request)));
    let next = 2 + round % 2;
    let reply = AodvReply {
        repair: false,
        ack_required: false,
        prefix_size: 0,
        hops: 2,
        destination: at(9),
        destination_seq: 3 * round + 1,
        originator: at(0),
        lifetime_ms: 6000,
        timestamp: None,
    };
    aodv.on_packet(now, at(next), message(next, Some(1), AodvMessage::Reply(reply)));
    let (mut outputs, mut queue) = (0, [None; 4]);
    for packet in 0..8u32 {
        aodv.on_packet(now, at(0), RoutedPacket::plain(data(0, 9)));
        aodv.send(now, data(1, 20 + packet % 3));
        while let Some(output) = aodv.poll(now) {
            if let (Output::Transmit { packet, .. }, Some(slot)) =
                (output, queue.iter_mut().find(|slot| slot.is_none()))
            {
                *slot = Some(packet).filter(|packet| !packet.is_control());
            }
            outputs += 1;
        }
    }
    if let Some(failed) = queue.iter_mut().find_map(Option::take) {
        aodv.on_link_failure(now, at(next), failed, &mut || {
            queue.iter_mut().find_map(Option::take)
        });
    }
    let end = Instant::from_millis(start + 1999);
    while let Some(at) = aodv.next_timeout().filter(|at| *at <= end) {
        aodv.on_timeout(at);
        while aodv.poll(at).is_some() {
            outputs += 1;
        }
    }
    outputs
}

#[test]
fn an_aodv_relay_does_not_allocate_in_its_steady_state() {
    for config in [AodvConfig::STANDARD, AodvConfig::NS2] {
        let mut aodv = Aodv::new(config, at(1), 1, 1);
        let mut outputs = 0;
        // ns-2.35's repairs last as long as the run so far; their number is bounded.
        let grown = measure(|| outputs = (0..2200).map(|n| round(&mut aodv, n)).sum::<usize>());
        assert!(grown.count_total > 0, "allocations are counted");
        assert!(outputs > 20_000);
        let steady = measure(|| outputs = (2200..5000).map(|n| round(&mut aodv, n)).sum());
        assert!(outputs > 30_000);
        assert_eq!(steady.count_total, 0);
        assert!(aodv.stats().link_failures > 2000 && aodv.stats().discoveries > 100);
    }
}

fn nodes(list: &[u32]) -> AddressList {
    AddressList::new(&list.iter().map(|node| at(*node)).collect::<Vec<_>>()).unwrap()
}

/// A packet from the first to the last of `path`, on its way to its node number `next`.
fn on_route(path: &[u32], next: usize, body: Body, dsr: DsrHeader, id: u32) -> RoutedPacket {
    let (from, to) = (path[0], path[path.len() - 1]);
    let ip = IpHeader { identification: id as u16, ..IpHeader::new(at(from), at(to)) };
    let source_route = Some(DsrSourceRoute {
        first_hop_external: false,
        last_hop_external: false,
        salvage: 0,
        segments_left: (path.len() - 1 - next) as u8,
        route: nodes(&path[1..path.len() - 1]),
    });
    let dsr = Some(DsrHeader { source_route, ..dsr });
    RoutedPacket { packet: Packet { ip, body }, dsr, size_adjustment: 0 }
}

/// Packets of a round, made before allocations are counted.
struct Round {
    request: RoutedPacket,
    reply: RoutedPacket,
    data: [RoutedPacket; 8],
    overheard: [RoutedPacket; 8],
}

impl Round {
    fn new(round: u32) -> Self {
        let far = 10 + round % 300;
        let next = 2 + round % 2;
        let none = DsrHeader::default();
        let request = DsrRequest { id: round as u16, target: at(far), route: AddressList::EMPTY };
        let lead = DsrRequestOrOptions::Request(request);
        let ip = IpHeader { ttl: 16, ..IpHeader::new(at(0), Ipv4Addr::BROADCAST) };
        let packet = Packet { ip, body: Body::NoNextHeader };
        let request = RoutedPacket {
            packet,
            dsr: Some(DsrHeader { request_or_options: lead, ..none }),
            size_adjustment: 0,
        };
        let reply = Some(DsrReply { last_hop_external: false, route: nodes(&[1, next, far]) });
        let back = [far, next, 1, 0];
        let reply = on_route(&back, 2, Body::NoNextHeader, DsrHeader { reply, ..none }, round);
        let body = data(0, far).body;
        let way = [0, 1, next, far];
        let id = |n| round * 16 + n;
        Self {
            request,
            reply,
            data: core::array::from_fn(|n| on_route(&way, 1, body, none, id(n as u32))),
            overheard: core::array::from_fn(|n| {
                let way = [5, 6, 7 + n as u32 % 3, 400 + round % 50, far];
                on_route(&way, 2, body, none, id(8 + n as u32))
            }),
        }
    }

    fn run(&self, dsr: &mut Dsr, round: u32) -> usize {
        let start = u64::from(round) * 2000;
        let now = Instant::from_millis(start);
        let next = at(2 + round % 2);
        dsr.on_packet(now, at(0), self.request);
        dsr.on_packet(now, next, self.reply);
        let (mut outputs, mut queue) = (0, [None; 4]);
        for (packet, overheard) in self.data.iter().zip(&self.overheard) {
            dsr.on_packet(now, at(0), *packet);
            let to = overheard.dsr.unwrap().source_route.unwrap().route.as_slice()[1];
            dsr.on_overheard(now, at(6), to, overheard);
            dsr.send(now, data(1, 500 + round % 3));
            dsr.send(now, data(1, 400 + round % 50));
            while let Some(output) = dsr.poll(now) {
                if let (Output::Transmit { packet, .. }, Some(slot)) =
                    (output, queue.iter_mut().find(|slot| slot.is_none()))
                {
                    *slot = Some(packet).filter(|packet| !packet.is_control());
                }
                outputs += 1;
            }
        }
        if let Some(failed) = queue.iter_mut().find_map(Option::take) {
            dsr.on_link_failure(now, next, failed, &mut || queue.iter_mut().find_map(Option::take));
        }
        let end = Instant::from_millis(start + 1999);
        while let Some(at) = dsr.next_timeout().filter(|at| *at <= end) {
            dsr.on_timeout(at);
            while dsr.poll(at).is_some() {
                outputs += 1;
            }
        }
        outputs
    }
}

#[test]
fn a_dsr_relay_does_not_allocate_in_its_steady_state() {
    let rounds: Vec<_> = (0..2000).map(Round::new).collect();
    let confirms = DsrConfig { confirm: NextHopConfirmation::NetworkLayer, ..DsrConfig::STANDARD };
    let asks = DsrConfig { try_passive_acks: 0, maint_holdoff: Duration::ZERO, ..confirms };
    let cache = CacheKind::update(UpdateOptions::PAPER);
    let updates = DsrConfig { cache, route_to_neighbour: true, ..DsrConfig::STANDARD };
    for config in [DsrConfig::STANDARD, DsrConfig::NS2, confirms, asks, updates] {
        let mut dsr = Dsr::new(config, at(1), 1, 1);
        let mut run = |from: usize, to: usize| -> usize {
            let rounds = rounds.iter().enumerate().take(to).skip(from);
            rounds.map(|(n, round)| round.run(&mut dsr, n as u32)).sum()
        };
        let mut outputs = 0;
        let grown = measure(|| outputs = run(0, 1200));
        assert!(grown.count_total > 0, "allocations are counted");
        assert!(outputs > 10_000);
        let steady = measure(|| outputs = run(1200, 2000));
        assert!(outputs > 10_000);
        assert_eq!(steady.count_total, 0, "{:?}", config.cache);
        let stats = dsr.stats();
        if config.confirm == NextHopConfirmation::LinkLayer {
            assert!(stats.link_failures == 2000 && stats.salvaged > 1000, "{stats:?}");
        } else {
            assert!(stats.link_failures > 1000 && stats.retransmitted > 10_000, "{stats:?}");
        }
    }
}
