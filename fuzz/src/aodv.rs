//! AODV under arbitrary messages, packets, link failures and times: it neither loses nor duplicates data
//! packets, has no route to itself, respects its memory limits, advances its timers, and its messages can be
//! encoded and decoded.

use std::collections::BTreeSet;

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr};
use driftway_route::{
    Aodv, AodvConfig, HelloConfig, LinkDestination, LocalRepair, Output, RoutingProtocol,
};
use driftway_wire::{
    AodvError, AodvLossNotification, AodvMessage, AodvReply, AodvRequest, Body, IpHeader, Packet,
    Payload, RoutedPacket, TcpSegment, UdpDatagram,
};

use crate::Bytes;

const SELF: Ipv4Addr = address(1);

const fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

struct Driver {
    aodv: Aodv,
    now: Instant,
    /// Data packets that are in the node.
    inside: BTreeSet<u64>,
    next_id: u64,
    /// Packets that the node has created and not yet sent.
    copies: i64,
}

pub fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let config = config(&mut bytes);
    let mut driver = Driver {
        aodv: Aodv::new(config, SELF, u64::from(bytes.u8()), 0),
        now: Instant::ZERO,
        inside: BTreeSet::new(),
        next_id: 0,
        copies: 0,
    };
    while !bytes.is_empty() {
        step(&mut driver, &mut bytes);
        driver.drain();
        assert!(driver.aodv.routes().count() <= config.table_size);
        assert!(driver.aodv.routes().all(|route| route.destination != SELF));
        assert_eq!((driver.aodv.buffered_packets(), driver.copies), (driver.inside.len(), 0));
        assert!(driver.aodv.soft_state_entries() < 5000);
    }
    // No packet stays buffered forever.
    for _ in 0..100_000 {
        let Some(at) = driver.aodv.next_timeout() else { break };
        if driver.inside.is_empty() {
            break;
        }
        driver.wake(at);
    }
    assert!(driver.inside.is_empty(), "packets stay buffered forever");
}

fn config(bytes: &mut Bytes) -> AodvConfig {
    let flags = bytes.u8();
    let is = |bit: u8| flags & 1 << bit != 0;
    let says = bytes.u8();
    let base = if is(0) { AodvConfig::NS2 } else { AodvConfig::STANDARD };
    AodvConfig {
        hello: is(1).then_some(HelloConfig::STANDARD),
        ack_replies: is(2),
        reroute_queued: base.reroute_queued ^ is(3),
        local_repair: match (is(4), is(5)) {
            (false, _) => base.local_repair,
            (true, false) => LocalRepair::Off,
            (true, true) => LocalRepair::PastMidpoint,
        },
        table_size: if is(6) { 4 } else { base.table_size },
        buffer_packets: if is(7) { 2 } else { base.buffer_packets },
        elfn: says & 1 != 0,
        epln: says & 2 != 0,
        bead: says & 4 != 0,
        ..base
    }
}

fn step(driver: &mut Driver, bytes: &mut Bytes) {
    let now = driver.now;
    let from = address(2 + bytes.u8() % 5);
    match bytes.u8() % 8 {
        0 => {
            let packet = driver.data(SELF, bytes);
            driver.aodv.send(now, packet);
        }
        1 => {
            let packet = driver.data(address(bytes.u8() % 8), bytes);
            driver.aodv.on_packet(now, from, RoutedPacket::plain(packet));
        }
        2 | 3 => {
            let packet = control(from, bytes);
            driver.aodv.on_packet(now, from, packet);
        }
        4 => {
            let failed = match bytes.u8() % 3 {
                0 => control(SELF, bytes),
                _ => RoutedPacket::plain(driver.data(address(bytes.u8() % 8), bytes)),
            };
            let mut queue: Vec<RoutedPacket> = (0..bytes.u8() % 4)
                .map(|_| RoutedPacket::plain(driver.data(address(bytes.u8() % 8), bytes)))
                .collect();
            driver.aodv.on_link_failure(now, from, failed, &mut || queue.pop());
            for left in queue {
                driver.out(&left.packet);
            }
        }
        5 => {
            let packet = control(from, bytes);
            driver.aodv.on_overheard(now, from, address(bytes.u8() % 8), &packet);
        }
        6 => {
            if let Some(at) = driver.aodv.next_timeout() {
                driver.wake(at);
            }
        }
        _ => {
            let end = now + Duration::from_millis(u64::from(bytes.u16()));
            while let Some(at) = driver.aodv.next_timeout().filter(|at| *at <= end) {
                driver.wake(at);
            }
            driver.now = end;
        }
    }
}

impl Driver {
    /// A data packet that enters the node.
    fn data(&mut self, source: Ipv4Addr, bytes: &mut Bytes) -> Packet {
        let ip =
            IpHeader { ttl: bytes.u8() % 32, ..IpHeader::new(source, address(bytes.u8() % 8)) };
        let payload = Payload::new(0, self.next_id, 8);
        self.inside.insert(self.next_id);
        self.next_id += 1;
        let datagram = UdpDatagram { source_port: 1, destination_port: 2, payload };
        let body = match self.next_id % 3 {
            0 => Body::Udp(datagram),
            _ => Body::Tcp(TcpSegment { payload, ..TcpSegment::default() }),
        };
        Packet { ip, body }
    }

    /// A packet leaves the node.
    fn out(&mut self, packet: &Packet) {
        // As many acknowledgments leave as were created.
        if matches!(packet.body, Body::Tcp(_)) && packet.payload().len == 0 {
            self.copies -= 1;
            return;
        }
        assert!(self.inside.remove(&packet.payload().offset), "a packet leaves twice");
    }

    fn wake(&mut self, at: Instant) {
        assert!(at >= self.now, "a timer in the past");
        self.now = at;
        self.aodv.on_timeout(at);
        self.drain();
        assert!(self.aodv.next_timeout().is_none_or(|next| next > at), "an expired timer");
    }

    fn drain(&mut self) {
        let mut messages = 0;
        while let Some(output) = self.aodv.poll(self.now) {
            match output {
                Output::Transmit { packet, hop } if packet.is_control() => {
                    check(&packet.packet, hop);
                    messages += 1;
                    assert!(messages < 10_000, "too many messages");
                }
                Output::Transmit { packet, hop } => {
                    assert!(hop != LinkDestination::Unicast(SELF));
                    self.out(&packet.packet);
                }
                Output::Drop { packet, .. } => self.out(&packet.packet),
                Output::Deliver(packet) => self.out(&packet),
                Output::Duplicated => self.copies += 1,
                Output::PurgeQueue(_)
                | Output::Signal(_)
                | Output::RouteFound(_)
                | Output::RouteLost(_)
                | Output::DiscoveryStarted(_)
                | Output::Salvaged { .. } => {}
            }
        }
    }
}

/// The message comes from this node and can be decoded.
fn check(message: &Packet, hop: LinkDestination) {
    assert_eq!(message.ip.source, SELF);
    assert_eq!(hop == LinkDestination::Broadcast, message.ip.destination == Ipv4Addr::BROADCAST);
    let mut room = [0; 200];
    match message.encode(&mut room, Payload::fill_pattern).map(|len| Packet::decode(&room[..len])) {
        Ok(Ok(decoded)) => assert_eq!(decoded.packet, *message),
        other => panic!("{other:?}"),
    }
}

fn control(source: Ipv4Addr, bytes: &mut Bytes) -> RoutedPacket {
    let (flags, hops, seq) = (bytes.u8(), bytes.u8(), number(bytes));
    let is = |bit: u8| flags & 1 << bit != 0;
    let (destination, originator) = (address(bytes.u8() % 8), address(bytes.u8() % 8));
    let message = match bytes.u8() % 7 {
        0..3 => AodvMessage::Request(AodvRequest {
            join: is(0),
            repair: is(1),
            gratuitous: is(2),
            destination_only: is(3),
            hops,
            id: u32::from(bytes.u8()),
            destination,
            destination_seq: is(4).then_some(seq),
            originator,
            originator_seq: number(bytes),
            timestamp: is(5).then_some(u64::from(seq)),
        }),
        3..5 => AodvMessage::Reply(AodvReply {
            repair: is(0),
            ack_required: is(1),
            prefix_size: 0,
            hops,
            destination,
            destination_seq: seq,
            originator,
            lifetime_ms: u32::from(bytes.u16()) << (bytes.u8() % 17),
            timestamp: is(5).then_some(u64::from(seq)),
        }),
        5 => {
            let mut error = AodvError::new(is(0));
            error.push(destination, seq);
            for _ in 0..bytes.u8() % 16 {
                error.push(address(bytes.u8() % 8), number(bytes));
            }
            AodvMessage::Error(error)
        }
        _ if is(6) => AodvMessage::LossNotification(AodvLossNotification {
            link: FailedLink { from: destination, to: originator },
            reporter: destination,
            list: crate::conn_list(bytes),
        }),
        _ => AodvMessage::ReplyAck,
    };
    let to = if is(7) { SELF } else { Ipv4Addr::BROADCAST };
    let ip = IpHeader { ttl: bytes.u8() % 40, ..IpHeader::new(source, to) };
    RoutedPacket::plain(Packet { ip, body: Body::Aodv(message) })
}

/// A sequence number: small, near the wrap, or arbitrary.
fn number(bytes: &mut Bytes) -> u32 {
    match bytes.u8() {
        small @ 0..200 => u32::from(small % 16),
        near @ 200..240 => (1 << 31) - 8 + u32::from(near % 16),
        _ => bytes.u32(),
    }
}
