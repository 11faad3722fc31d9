//! Packets sent by a Linux 6.x kernel, read from a TUN device, and ICMP messages built from packets.

use crate::packets;
use crate::packets::{encoded, packet};
use driftway_base::{Ecn, FailedLink, Ipv4Addr, Seq};
use driftway_wire::*;
use proptest::prelude::*;

const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// `connect` to port 80.
const SYN: &str =
    "4500003cedd540004006c8e2c0000201c0000202 a6980050d524282500000000a002faf0a94a0000
    020405b4 0402080accbcaece00000000 0103030a";
/// `sendto` port 9.
const DATAGRAM: &str = "450000246135400040115590c0000201c0000202 ce6800090010098f 6472696674776179";
/// Sent by a router with a route of type unreachable when it forwards a SYN. Linux quotes the whole packet.
const UNREACHABLE: &str = "45c000582d5b00004001c886c0000201c0000202 0301e96a00000000
    4500003cedd54000400660a9c0000202c6336407 a6980050d5242825
    00000000a002faf041110000020405b40402080accbcaece000000000103030a";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn syn() -> Packet {
    let options = TcpOptions {
        mss: Some(1460),
        window_scale: Some(10),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 0xccbc_aece, echo: 0 }),
        sack: SackBlocks::EMPTY,
    };
    let segment = TcpSegment {
        source_port: 0xa698,
        destination_port: 80,
        seq: Seq(0xd524_2825),
        flags: TcpFlags::SYN,
        window: 64_240,
        options,
        ..TcpSegment::default()
    };
    let ip = IpHeader { identification: 0xedd5, ..IpHeader::new(HOST, PEER) };
    Packet { ip, body: Body::Tcp(segment) }
}

#[test]
fn a_syn_of_linux() {
    let bytes = bytes(SYN);
    assert_eq!(Packet::decode(&bytes), Ok(Decoded { packet: syn(), payload: &[] }));
    // The options have the layout of Linux, so the bytes are the same.
    assert_eq!(encoded(&syn()), bytes);
}

#[test]
fn a_datagram_of_linux() {
    let bytes = bytes(DATAGRAM);
    let Decoded { packet, payload } = Packet::decode(&bytes).unwrap();
    assert_eq!(payload, b"driftway");
    let ip = IpHeader { identification: 0x6135, ..IpHeader::new(HOST, PEER) };
    let datagram =
        UdpDatagram { source_port: 0xce68, destination_port: 9, payload: Payload::new(0, 0, 8) };
    assert_eq!(packet, Packet { ip, body: Body::Udp(datagram) });
    let mut again = [0; 36];
    packet.encode(&mut again, |_, to| to.copy_from_slice(payload)).unwrap();
    assert_eq!(again.as_slice(), bytes);
}

/// The SYN quoted by the unreachable message.
fn forwarded() -> Packet {
    let mut packet = syn();
    packet.ip.source = PEER;
    packet.ip.destination = [198, 51, 100, 7].into();
    packet
}

#[test]
fn an_unreachable_of_linux_quotes_a_tcp_segment() {
    let bytes = bytes(UNREACHABLE);
    let Decoded { packet, payload } = Packet::decode(&bytes).unwrap();
    let quoted = QuotedPacket::of(&forwarded()).unwrap();
    let message = IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted };
    assert_eq!(packet.body, Body::Icmp(message));
    assert_eq!(payload, b"");
    assert_eq!(quoted.ports(), (0xa698, 80));
    assert_eq!(quoted.seq(), Seq(0xd524_2825));
    assert_eq!(quoted.total_len, 60);

    // Ours differs from Linux's in the identification, in DF, and in the quotation beyond RFC 792.
    let ours = Packet::icmp_error(HOST, &forwarded(), |_| message).unwrap();
    assert_eq!(ours.ip.dscp, packet.ip.dscp);
    let ours = encoded(&ours);
    assert_eq!(ours.len(), 56);
    assert_eq!(ours[28..], bytes[28..56]);
}

#[test]
fn no_errors_about_errors_or_non_unicast_packets() {
    let unreachable = |quoted| IcmpMessage::Unreachable { code: UnreachableCode::Net, quoted };
    let error = Packet::icmp_error(HOST, &forwarded(), unreachable).unwrap();
    assert_eq!(error.ip.destination, PEER);
    assert_eq!(Packet::icmp_error(PEER, &error, unreachable), None);

    let allowed = |source: [u8; 4], destination: [u8; 4]| {
        let ip = IpHeader::new(source.into(), destination.into());
        QuotedPacket::of(&Packet { ip, ..syn() }).is_some()
    };
    assert!(allowed([10, 0, 0, 1], [10, 0, 0, 2]));
    assert!(!allowed([10, 0, 0, 1], [224, 0, 0, 1]));
    assert!(!allowed([10, 0, 0, 1], [255, 255, 255, 255]));
    assert!(!allowed([0, 0, 0, 0], [10, 0, 0, 2]));
    assert!(!allowed([127, 0, 0, 1], [10, 0, 0, 2]));
    assert!(!allowed([224, 0, 0, 1], [10, 0, 0, 2]));
    assert!(!allowed([255, 255, 255, 255], [10, 0, 0, 2]));
}

#[test]
fn a_source_quench_has_the_precedence_of_the_packet() {
    let mut offending = forwarded();
    offending.ip.dscp = 0b011_101;
    let quench =
        Packet::icmp_error(HOST, &offending, |quoted| IcmpMessage::SourceQuench { quoted });
    assert_eq!(quench.unwrap().ip.dscp, 0b011_000);
}

/// Experimental type (RFC 4727 §3): both ends of the link, and the quotation of an ICMP error.
#[test]
fn encoding_of_route_notifications() {
    let link = FailedLink { from: HOST, to: [10, 1, 2, 3].into() };
    let quotation = &bytes(UNREACHABLE)[28..56];
    let failed = |quoted| IcmpMessage::RouteFailed { link, quoted };
    let restored = |quoted| IcmpMessage::RouteRestored { link, quoted };
    for (code, packet) in [
        (0, Packet::icmp_error(HOST, &forwarded(), failed).unwrap()),
        (1, Packet::icmp_error(HOST, &forwarded(), restored).unwrap()),
    ] {
        assert_eq!((packet.ip.destination, packet.len()), (PEER, 60));
        let bytes = encoded(&packet);
        assert_eq!(bytes[20..22], [253, code]);
        assert_eq!(bytes[24..32], [192, 0, 2, 1, 10, 1, 2, 3]);
        assert_eq!(bytes[32..], *quotation);
        assert_eq!(Packet::decode(&bytes).unwrap().packet, packet);
        // An error is not sent about an error (RFC 1122 §3.2.2).
        assert_eq!(Packet::icmp_error(HOST, &packet, failed), None);
        let Body::Icmp(message) = packet.body else { panic!("{packet:?}") };
        assert_eq!(Packet::icmp_error_from(HOST, message), Some(packet));
    }
    let mut other_code = encoded(&Packet::icmp_error(HOST, &forwarded(), failed).unwrap());
    other_code[21] = 2;
    packets::fix_checksums(&mut other_code);
    assert_eq!(Packet::decode(&other_code), Err(DecodeError::IcmpMessage { kind: 253, code: 2 }));
}

#[test]
fn an_echo_is_answered() {
    let payload = Payload::new(3, 1000, 56);
    let echo = |reply| IcmpMessage::Echo { reply, identifier: 7, sequence: 9, payload };
    let ip = IpHeader { dscp: 10, ecn: Ecn::Ect0, ..IpHeader::new(HOST, PEER) };
    let request = Packet { ip, body: Body::Icmp(echo(false)) };
    let reply = request.echo_reply().unwrap();
    let ip = IpHeader { dscp: 10, ..IpHeader::new(PEER, HOST) };
    assert_eq!(reply, Packet { ip, body: Body::Icmp(echo(true)) });

    assert_eq!(reply.echo_reply(), None);
    assert_eq!(syn().echo_reply(), None);
    let to_all = IpHeader::new(HOST, Ipv4Addr::BROADCAST);
    assert_eq!(Packet { ip: to_all, ..request }.echo_reply(), None);
}

proptest! {
    /// A quotation has the bytes of the packet, as far as a packet without payload bytes determines them.
    #[test]
    fn a_quotation_is_the_start_of_the_packet(mut offending in packet(100)) {
        offending.ip.options = IpOptions::EMPTY;
        let time_exceeded =
            |quoted| IcmpMessage::TimeExceeded { reassembly: false, quoted };
        if let Some(error) = Packet::icmp_error(HOST, &offending, time_exceeded) {
            let mut front = encoded(&offending)[..28].to_vec();
            match offending.body {
                Body::Tcp(_) => {}
                Body::Udp(_) => front[26..28].fill(0),
                Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => front[22..24].fill(0),
            }
            prop_assert_eq!(&encoded(&error)[28..], front);
        }
    }
}
