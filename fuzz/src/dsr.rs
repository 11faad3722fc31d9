//! A DSR node under arbitrary packets, link failures and times: each data packet leaves once or stays
//! buffered, no source route contains a loop, and all output can be encoded and decoded.

use driftway_base::{Duration, Instant, Ipv4Addr, Seq};
use driftway_route::{
    CACHES, CacheKind, CacheLimits, CacheOptions, Dsr, DsrConfig, LinkDestination,
    NextHopConfirmation, Output, RoutingProtocol, UpdateOptions,
};
use driftway_wire::{
    AddressList, Body, DsrError, DsrErrorKind, DsrFlow, DsrHeader, DsrOption, DsrReply, DsrRequest,
    DsrRequestOrOptions, DsrSourceRoute, IpHeader, Packet, Payload, RoutedPacket, TcpFlags,
    TcpSegment, UdpDatagram,
};

use crate::Bytes;

const SELF: Ipv4Addr = address(1);

/// Small, so that caches fill up.
const LIMITS: CacheLimits = CacheLimits { primary: 4, secondary: 8, timeout: None };

const fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

struct Node {
    dsr: Dsr,
    now: Instant,
    /// Data packets buffered in the node.
    held: usize,
    last: Option<RoutedPacket>,
}

pub fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let kind = bytes.u8();
    let mut config = if kind & 1 == 0 { DsrConfig::STANDARD } else { DsrConfig::NS2 };
    if kind & 2 != 0 {
        config.confirm = NextHopConfirmation::NetworkLayer;
        config.try_passive_acks = kind >> 2 & 3;
        config.max_maint_rexmt = kind >> 4 & 3;
        config.flow_state = None;
    }
    if bytes.u8() & 3 == 0 {
        let listed = CACHES[usize::from(bytes.u8()) % CACHES.len()];
        let options = match listed.options {
            CacheOptions::None => None,
            CacheOptions::Limits(_) => Some(CacheOptions::Limits(LIMITS)),
            CacheOptions::Update(options) => {
                Some(CacheOptions::Update(UpdateOptions { secondary: 8, ..options }))
            }
        };
        config.cache = CacheKind::named(listed.name, options).unwrap_or(config.cache);
        config.reply_delay = Some(Duration::from_millis(3));
        config.forget_both_ways = true;
    }
    let says = bytes.u8();
    (config.elfn, config.epln) = (says & 1 != 0, says & 2 != 0);
    (config.bead, config.relay_notices) = (says & 4 != 0, says & 8 != 0);
    let dsr = Dsr::new(config, SELF, 1, 1);
    let mut node = Node { dsr, now: Instant::ZERO, held: 0, last: None };
    while !bytes.is_empty() {
        let (from, to) = (address(bytes.u8() % 8), address(bytes.u8() % 8));
        match bytes.u8() % 8 {
            0 => {
                node.held += 1;
                let mut packet = datagram(SELF, to);
                packet.ip.identification =
                    node.dsr.new_identification().expect("DSR numbers its messages");
                node.dsr.send(node.now, packet);
            }
            1 | 2 => {
                let packet = routed(&mut bytes);
                node.takes(&packet);
                node.dsr.on_packet(node.now, from, packet);
            }
            3 => {
                node.dsr.on_overheard(node.now, from, to, &routed(&mut bytes));
            }
            4 => {
                // A packet that it has sent is returned as undeliverable, together with another one.
                let packet = node.last.take().unwrap_or_else(|| routed(&mut bytes));
                let other = routed(&mut bytes);
                node.takes(&packet);
                let mut queued = (bytes.u8() & 1 == 0).then_some(other);
                queued.iter().for_each(|packet| node.takes(packet));
                node.dsr.on_link_failure(node.now, to, packet, &mut || queued.take());
                // A packet that is not taken stays in the interface queue.
                node.held -= usize::from(queued.iter().any(is_hosts));
            }
            5 => node.now += Duration::from_millis(u64::from(bytes.u16())),
            6 => node.now += Duration::from_micros(u64::from(bytes.u16())),
            _ => {
                if let Some(at) = node.dsr.next_timeout() {
                    node.now = node.now.max(at);
                }
            }
        }
        if node.dsr.next_timeout().is_some_and(|at| at <= node.now) {
            node.dsr.on_timeout(node.now);
        }
        node.drain();
        let next = node.dsr.next_timeout();
        assert!(next.is_none_or(|at| at > node.now), "an expired timer");
    }
}

impl Node {
    fn takes(&mut self, packet: &RoutedPacket) {
        self.held += usize::from(is_hosts(packet));
    }

    fn drain(&mut self) {
        let mut outputs = 0;
        while let Some(output) = self.dsr.poll(self.now) {
            outputs += 1;
            assert!(outputs < 512, "too many outputs");
            self.held += usize::from(output == Output::Duplicated);
            let left = match output {
                Output::Transmit { packet, hop } => {
                    check(&packet, hop);
                    self.last = Some(packet);
                    !packet.is_control()
                }
                Output::Drop { packet, .. } => !packet.is_control(),
                Output::Deliver(_) => true,
                _ => false,
            };
            self.held = match self.held.checked_sub(usize::from(left)) {
                Some(held) => held,
                None => panic!("an unexpected packet: {output:?}"),
            };
        }
        assert_eq!(self.dsr.buffered_packets(), self.held);
        assert!(self.held <= 256, "it grows");
    }
}

/// A request carries no data of a host, and a packet with a request is not examined further.
fn is_hosts(packet: &RoutedPacket) -> bool {
    let request = packet.dsr.is_some_and(|dsr| dsr.request().is_some());
    !packet.is_control() && !request
}

fn check(packet: &RoutedPacket, hop: LinkDestination) {
    let mut room = [0; 2048];
    let plain = RoutedPacket { size_adjustment: 0, ..*packet };
    let Ok(len) = packet.encode(&mut room, Payload::fill_pattern) else { panic!("{packet:?}") };
    let Ok((again, _)) = RoutedPacket::decode(&room[..len]) else { panic!("{packet:?}") };
    assert_eq!(again, plain);
    let Some(dsr) = &packet.dsr else { return };
    let ip = &packet.packet.ip;
    if let Some(request) = dsr.request() {
        no_loop(&[ip.source], &request.route, &[]);
    }
    if let Some(route) = &dsr.source_route {
        let source: &[Ipv4Addr] = if route.salvage == 0 { &[ip.source] } else { &[] };
        let nodes = no_loop(source, &route.route, &[ip.destination]);
        let next = nodes.len() - 1 - usize::from(route.segments_left);
        assert_eq!(hop, LinkDestination::Unicast(nodes[next]));
        assert_eq!(nodes[next - 1], SELF);
    }
}

fn no_loop(first: &[Ipv4Addr], route: &AddressList, last: &[Ipv4Addr]) -> Vec<Ipv4Addr> {
    let nodes = [first, route.as_slice(), last].concat();
    let mut sorted = nodes.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), nodes.len(), "a loop: {nodes:?}");
    nodes
}

fn datagram(from: Ipv4Addr, to: Ipv4Addr) -> Packet {
    let payload = Payload::new(0, 0, 8);
    let body = Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload });
    Packet { ip: IpHeader::new(from, to), body }
}

fn nodes(bytes: &mut Bytes) -> AddressList {
    let mut nodes = AddressList::EMPTY;
    for _ in 0..bytes.u8() % 6 {
        nodes.push(address(bytes.u8() % 8));
    }
    nodes
}

fn error(bytes: &mut Bytes) -> DsrError {
    let (source, destination) = (address(bytes.u8() % 8), address(bytes.u8() % 8));
    let other = address(bytes.u8() % 8);
    let kind = match bytes.u8() % 4 {
        0 => DsrErrorKind::UnknownFlow { destination: other, id: 1 },
        1 => DsrErrorKind::DefaultFlowUnknown { destination: other },
        _ => DsrErrorKind::NodeUnreachable(other),
    };
    DsrError { kind, salvage: bytes.u8() & 15, source, destination }
}

/// A packet as another node might send it.
fn routed(bytes: &mut Bytes) -> RoutedPacket {
    let mut packet = datagram(address(bytes.u8() % 8), address(bytes.u8() % 8));
    packet.ip.identification = u16::from(bytes.u8());
    packet.ip.ttl = bytes.u8();
    let parts = bytes.u8();
    if parts & 1 == 0 {
        packet.body = Body::NoNextHeader;
    }
    if parts & 33 == 33 {
        let payload = Payload::new(0, 0, u32::from(packet.ip.ttl & 1));
        let seq = Seq(packet.ip.ttl.into());
        let flags = TcpFlags::ACK;
        packet.body = Body::Tcp(TcpSegment { seq, flags, payload, ..TcpSegment::default() });
    }
    let mut dsr = DsrHeader::default();
    if parts & 2 != 0 {
        dsr.request_or_options = DsrRequestOrOptions::Request(DsrRequest {
            id: u16::from(bytes.u8()),
            target: address(bytes.u8() % 8),
            route: nodes(bytes),
        });
        packet.body = Body::NoNextHeader;
    }
    if parts & 4 != 0 {
        dsr.reply = Some(DsrReply { last_hop_external: false, route: nodes(bytes) });
    }
    if parts & 8 != 0 {
        for _ in 0..=bytes.u8() % 6 {
            dsr.add_option(DsrOption::Error(error(bytes)));
        }
        if parts & 64 != 0 {
            dsr.set_conn_list(&crate::conn_list(bytes));
        }
        let further = bytes.u8();
        if further & 1 == 0 {
            dsr.add_option(DsrOption::Other { kind: 1 << 4, data: &[bytes.u8(); 9] });
        }
        let id = u16::from(further >> 4);
        if further & 2 != 0 {
            dsr.add_option(DsrOption::AckRequest { id });
        }
        if further & 4 != 0 {
            dsr.add_option(DsrOption::Ack { id, source: address(further >> 5), destination: SELF });
        }
    }
    if parts & 16 != 0 {
        dsr.source_route = Some(DsrSourceRoute {
            first_hop_external: false,
            last_hop_external: false,
            salvage: bytes.u8() & 15,
            segments_left: bytes.u8() & 7,
            route: nodes(bytes),
        });
    }
    if parts & 32 != 0 {
        dsr.flow = Some(DsrFlow { id: u16::from(bytes.u8() & 7), hops: bytes.u8() & 7 });
    }
    if parts & 64 != 0 {
        dsr.timeout_s = Some(60);
    }
    RoutedPacket { packet, dsr: (parts & 128 == 0).then_some(dsr), size_adjustment: 0 }
}
