//! A route failure agent under arbitrary packets, notifications and link failures: it sends no notification
//! about a notification, neither loses nor duplicates a buffered packet, and its messages can be encoded.

use driftway_base::{
    DropReason, Duration, FailedLink, Instant, Ipv4Addr, LinkId, NodeId, PacketId,
};
use driftway_route::feedback::{
    BufferConfig, FeedbackOutput, FlushTrigger, NextHop, RfnConfig, RouteFailureAgent, Scheme,
    UndeliverableOutcome, UndeliverablePacket,
};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, Payload, QuotedPacket, UdpDatagram};

use crate::Bytes;

const SELF: Ipv4Addr = address(1);
const RFN_LIFETIME: Duration = Duration::from_secs(20);

const fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

pub fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let buffer = match bytes.u8() % 3 {
        0 => None,
        n => Some(BufferConfig {
            max_packets: usize::from(bytes.u8() % 8),
            flush: if n == 1 { FlushTrigger::Rrn } else { FlushTrigger::AnyRoute },
        }),
    };
    let mut router = RouteFailureAgent::new(SELF, RfnConfig { rfn_lifetime: RFN_LIFETIME, buffer });
    let (mut now, mut next_id) = (Instant::ZERO, 0);
    let mut kept = Vec::new();
    while !bytes.is_empty() {
        let (next_hop, other) = (hop(&mut bytes), hop(&mut bytes));
        let packet = datagram(&mut bytes);
        let to = packet.ip.destination;
        match bytes.u8() % 6 {
            0 => router.on_next_hop_failed(to, next_hop, link(&mut bytes)),
            1 => {
                next_id += 1;
                let known = !router.is_usable(now, to, next_hop);
                let id = PacketId::new(next_id);
                let outcome = given_up(&mut router, now, &packet, Some(id));
                assert!(outcome == UndeliverableOutcome::Dropped || buffer.is_some());
                if outcome == UndeliverableOutcome::Buffered {
                    kept.push(id);
                }
                let said = message(&mut router);
                assert!(said.is_some() || !known, "a packet without a route causes an RFN");
                said.iter().for_each(check);
            }
            2 => {
                let notice = notice(&mut bytes, &packet);
                router.on_notice(now, &notice, next_hop, &[next_hop, other]);
                let mut for_us = notice;
                for_us.ip.destination = to;
                assert_eq!(
                    given_up(&mut router, now, &for_us, Some(PacketId::new(0))),
                    UndeliverableOutcome::Dropped
                );
            }
            3 => router.on_next_hop_restored(next_hop),
            4 => {
                assert_eq!(given_up(&mut router, now, &packet, None), UndeliverableOutcome::Dropped)
            }
            _ => now += Duration::from_millis(u64::from(bytes.u16())),
        }
        router.on_packet(now, to);
        let mut messages = 0;
        while let Some(message) = message(&mut router) {
            check(&message);
            messages += 1;
            assert!(messages < 512, "too many messages");
        }
        while let Some(id) = router.poll_released() {
            let place = kept.iter().position(|kept| *kept == id);
            kept.remove(place.unwrap_or_else(|| panic!("packet {id} is not buffered")));
        }
        assert_eq!(router.buffered_packets(), kept.len());
    }
}

fn given_up(
    router: &mut RouteFailureAgent,
    now: Instant,
    packet: &Packet,
    packet_id: Option<PacketId>,
) -> UndeliverableOutcome {
    router.on_undeliverable(
        now,
        &UndeliverablePacket { packet, reason: DropReason::NoRoute, link: None, packet_id },
    )
}

fn message(router: &mut RouteFailureAgent) -> Option<Packet> {
    loop {
        match router.poll()? {
            FeedbackOutput::Transmit(packet) => return Some(packet),
            FeedbackOutput::Watch(_) => {}
            FeedbackOutput::Signal(signal) => {
                panic!("no route of this node has failed: {signal:?}")
            }
        }
    }
}

/// The message comes from this node and can be decoded.
fn check(message: &Packet) {
    assert_eq!(message.ip.source, SELF);
    let mut room = [0; 128];
    match message.encode(&mut room, Payload::fill_pattern).map(|len| Packet::decode(&room[..len])) {
        Ok(Ok(decoded)) => assert_eq!(decoded.packet, *message),
        other => panic!("{other:?}"),
    }
}

fn datagram(bytes: &mut Bytes) -> Packet {
    let ip = IpHeader::new(address(bytes.u8() % 6), address(bytes.u8() % 6));
    let payload = Payload::new(0, 0, u32::from(bytes.u8()));
    Packet { ip, body: Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }) }
}

fn hop(bytes: &mut Bytes) -> NextHop {
    let n = u32::from(bytes.u8() % 4);
    match n {
        0 | 1 => NextHop::Wire { link: LinkId::new(0), from_second_end: n == 1 },
        _ => NextHop::OverAir { to: NodeId::new(n) },
    }
}

fn link(bytes: &mut Bytes) -> FailedLink {
    FailedLink { from: address(bytes.u8() % 6), to: address(bytes.u8() % 6) }
}

fn notice(bytes: &mut Bytes, about: &Packet) -> Packet {
    let (link, restored) = (link(bytes), bytes.u8() & 1 != 0);
    let message = |quoted: QuotedPacket| match restored {
        true => IcmpMessage::RouteRestored { link, quoted },
        false => IcmpMessage::RouteFailed { link, quoted },
    };
    // All addresses here are unicast addresses.
    match Packet::icmp_error(link.from, about, message) {
        Some(notice) => notice,
        None => panic!("{about:?}"),
    }
}
