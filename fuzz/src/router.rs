//! A route failure agent under arbitrary packets, notifications and link failures: it sends no notification
//! about a notification, neither loses nor duplicates a buffered packet, and its messages can be encoded.

use driftway_base::{Duration, FailedLink, Instant, Ipv4Addr};
use driftway_route::DropReason;
use driftway_route::feedback::{Buffer, Fate, Flush, GivenUp, Output, Rfn, RfnConfig, Scheme, Way};
use driftway_wire::{Body, IcmpMessage, IpHeader, Packet, Payload, Quoted, UdpDatagram};

use crate::Bytes;

const SELF: Ipv4Addr = address(1);
const BELIEVES: Duration = Duration::from_secs(20);

const fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, host)
}

pub fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let buffer = match bytes.u8() % 3 {
        0 => None,
        n => Some(Buffer {
            packets: usize::from(bytes.u8() % 8),
            flush: if n == 1 { Flush::Rrn } else { Flush::Route },
        }),
    };
    let mut router = Rfn::new(SELF, RfnConfig { believes: BELIEVES, buffer });
    let (mut now, mut next_id) = (Instant::ZERO, 0);
    let mut kept = Vec::new();
    while !bytes.is_empty() {
        let (way, other) = (Way(u32::from(bytes.u8() % 4)), Way(u32::from(bytes.u8() % 4)));
        let packet = datagram(&mut bytes);
        let to = packet.ip.destination;
        match bytes.u8() % 6 {
            0 => router.on_way_failed(to, way, link(&mut bytes)),
            1 => {
                next_id += 1;
                let known = !router.is_usable(now, to, way);
                let fate = given_up(&mut router, now, &packet, Some(next_id));
                assert!(fate == Fate::Lost || buffer.is_some());
                if fate == Fate::Kept {
                    kept.push(next_id);
                }
                let said = message(&mut router);
                assert!(said.is_some() || !known, "a packet without a route causes an RFN");
                said.iter().for_each(check);
            }
            2 => {
                let notice = notice(&mut bytes, &packet);
                router.on_notice(now, &notice, way, &[way, other]);
                let mut for_us = notice;
                for_us.ip.destination = to;
                assert_eq!(given_up(&mut router, now, &for_us, Some(0)), Fate::Lost);
            }
            3 => router.on_way_restored(way),
            4 => assert_eq!(given_up(&mut router, now, &packet, None), Fate::Lost),
            _ => now += Duration::from_millis(u64::from(bytes.u16())),
        }
        router.on_packet(now, to);
        let mut messages = 0;
        while let Some(message) = message(&mut router) {
            check(&message);
            messages += 1;
            assert!(messages < 512, "too many messages");
        }
        while let Some(id) = router.poll_freed() {
            let place = kept.iter().position(|kept| *kept == id);
            kept.remove(place.unwrap_or_else(|| panic!("packet {id} is not buffered")));
        }
        assert_eq!(router.kept(), kept.len());
    }
}

fn given_up(router: &mut Rfn, now: Instant, packet: &Packet, number: Option<u32>) -> Fate {
    router.on_given_up(now, &GivenUp { packet, reason: DropReason::NoRoute, link: None, number })
}

fn message(router: &mut Rfn) -> Option<Packet> {
    loop {
        match router.poll()? {
            Output::Transmit(packet) => return Some(packet),
            Output::Watch(_) => {}
            Output::Signal(signal) => panic!("no route of this node has failed: {signal:?}"),
        }
    }
}

/// The message comes from this node and can be decoded.
fn check(message: &Packet) {
    assert_eq!(message.ip.source, SELF);
    let mut room = [0; 128];
    match message.encode(&mut room, Payload::pattern).map(|len| Packet::decode(&room[..len])) {
        Ok(Ok(decoded)) => assert_eq!(decoded.packet, *message),
        other => panic!("{other:?}"),
    }
}

fn datagram(bytes: &mut Bytes) -> Packet {
    let ip = IpHeader::new(address(bytes.u8() % 6), address(bytes.u8() % 6));
    let payload = Payload::new(0, 0, u32::from(bytes.u8()));
    Packet { ip, body: Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload }) }
}

fn link(bytes: &mut Bytes) -> FailedLink {
    FailedLink { from: address(bytes.u8() % 6), to: address(bytes.u8() % 6) }
}

fn notice(bytes: &mut Bytes, about: &Packet) -> Packet {
    let (link, restored) = (link(bytes), bytes.u8() & 1 != 0);
    let message = |quoted: Quoted| match restored {
        true => IcmpMessage::RouteRestored { link, quoted },
        false => IcmpMessage::RouteFailed { link, quoted },
    };
    // All addresses here are unicast addresses.
    match Packet::icmp_error(link.from, about, message) {
        Some(notice) => notice,
        None => panic!("{about:?}"),
    }
}
