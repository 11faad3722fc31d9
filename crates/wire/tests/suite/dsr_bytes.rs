//! Encoding of DSR headers, compared with the formats of RFC 4728 §6 and §7.

use crate::packets::{packet, payload_bytes, without_stream};
use driftway_base::Ipv4Addr;
use driftway_wire::*;
use proptest::prelude::*;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const C: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
const D: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 4);
const NONE: DsrHeader = DsrHeader {
    flow: None,
    request_or_options: DsrRequestOrOptions::None,
    reply: None,
    errors: [None; DSR_ERRORS_MAX],
    timeout_s: None,
    source_route: None,
};

fn nodes(list: &[Ipv4Addr]) -> AddressList {
    AddressList::new(list).unwrap()
}

fn encoded(packet: &RoutedPacket) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    assert_eq!(packet.encode(&mut bytes, Payload::fill_pattern), Ok(bytes.len()));
    bytes
}

/// The encoded header, without the IP header.
fn header(dsr: DsrHeader) -> Vec<u8> {
    let packet = Packet { ip: IpHeader::new(A, D), body: Body::NoNextHeader };
    let bytes = encoded(&RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 });
    assert_eq!(bytes[9], 48, "the protocol number");
    bytes[20..].to_vec()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// Next header 59 (none), flags, length of the options; then type, length and data of each option.
#[test]
fn a_request() {
    let lead =
        DsrRequestOrOptions::Request(DsrRequest { id: 0x0102, target: D, route: nodes(&[B, C]) });
    let expected = bytes("3b 00 0010  01 0e 0102 0a000004 0a000002 0a000003");
    assert_eq!(header(DsrHeader { request_or_options: lead, ..NONE }), expected);
}

#[test]
fn a_reply() {
    let reply = Some(DsrReply { last_hop_external: true, route: nodes(&[B, C, D]) });
    let expected = bytes("3b 00 0010  02 0d 80 0a000002 0a000003 0a000004  e0");
    assert_eq!(header(DsrHeader { reply, ..NONE }), expected, "one octet of padding");
}

#[test]
fn errors() {
    let error = |kind| Some(DsrError { kind, salvage: 5, source: B, destination: A });
    let errors = [error(DsrErrorKind::NodeUnreachable(C)), None, None];
    let expected = bytes("3b 00 0010  03 0e 01 05 0a000002 0a000001 0a000003");
    assert_eq!(header(DsrHeader { errors, ..NONE }), expected);
    let errors = [
        error(DsrErrorKind::UnknownFlow { destination: D, id: 0x0203 }),
        error(DsrErrorKind::DefaultFlowUnknown { destination: D }),
        None,
    ];
    let expected = bytes(
        "3b 00 0024  03 10 81 05 0a000002 0a000001 0a000004 0203
                     03 0e 82 05 0a000002 0a000001 0a000004  00 00",
    );
    assert_eq!(header(DsrHeader { errors, ..NONE }), expected, "two octets of padding");
}

#[test]
fn a_source_route() {
    let route = DsrSourceRoute {
        first_hop_external: false,
        last_hop_external: true,
        salvage: 3,
        segments_left: 2,
        route: nodes(&[B, C]),
    };
    // F = 0, L = 1, four reserved bits, 0011, 000010.
    let expected = bytes("3b 00 000c  60 0a 40c2 0a000002 0a000003");
    assert_eq!(header(DsrHeader { source_route: Some(route), ..NONE }), expected);
}

/// The Flow State header comes first; its next header is DSR again.
#[test]
fn flow_state() {
    let flow = Some(DsrFlow { id: 0x0304, hops: 2 });
    assert_eq!(header(DsrHeader { flow, ..NONE }), bytes("3b 82 0304"));
    let dsr = DsrHeader { flow, timeout_s: Some(60), ..NONE };
    assert_eq!(header(dsr), bytes("30 82 0304  3b 00 0004  80 02 003c"));
}

#[test]
fn the_body_follows_with_its_protocol_number() {
    let payload = Payload::new(0, 0, 4);
    let body = Body::Udp(UdpDatagram { source_port: 1, destination_port: 2, payload });
    let packet = Packet { ip: IpHeader::new(A, D), body };
    let dsr = DsrHeader { flow: Some(DsrFlow { id: 1, hops: 0 }), ..NONE };
    let with = encoded(&RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 });
    let without = encoded(&RoutedPacket::plain(packet));
    assert_eq!((with[9], with[20]), (48, 17));
    assert_eq!(with[24..], without[20..]);
    // An empty header is not encoded.
    assert_eq!(encoded(&RoutedPacket { packet, dsr: Some(NONE), size_adjustment: 0 }), without);
}

/// Several errors and further options (RFC 4728 §6: "one or more options").
#[test]
fn extra_options() {
    let error = |node| {
        DsrOption::Error(DsrError {
            kind: DsrErrorKind::NodeUnreachable(node),
            salvage: 0,
            source: B,
            destination: A,
        })
    };
    let quotation = [1, 2, 3, 4, 5];
    let mut dsr = NONE;
    for option in [
        DsrOption::AckRequest { id: 0x0102 },
        error(C),
        error(D),
        error(C),
        DsrOption::Ack { id: 0x0304, source: B, destination: A },
        error(D),
        DsrOption::Other { kind: 0x11, data: &quotation },
    ] {
        assert!(dsr.add_option(option), "{option:?}");
    }
    let unreachable: Vec<_> = dsr.all_errors().map(|error| error.kind).collect();
    assert_eq!(unreachable, [C, D, C, D].map(DsrErrorKind::NodeUnreachable));
    let expected = bytes(
        "3b 00 0058  03 0e 01 00 0a000002 0a000001 0a000003
                     03 0e 01 00 0a000002 0a000001 0a000004
                     03 0e 01 00 0a000002 0a000001 0a000003
                     a0 02 0102  20 0a 0304 0a000002 0a000001
                     03 0e 01 00 0a000002 0a000001 0a000004
                     11 05 0102030405  e0",
    );
    assert_eq!(header(dsr), expected);
    let again = |dsr| {
        let packet = Packet { ip: IpHeader::new(A, D), body: Body::NoNextHeader };
        let routed = RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 };
        assert_eq!(RoutedPacket::decode(&encoded(&routed)), Ok((routed, [].as_slice())));
    };
    again(dsr);
    // An error among the extra options takes the place of the removed one.
    for left in [&[D, C, D][..], &[C, D], &[D], &[]] {
        assert!(dsr.take_error().is_some());
        let left: Vec<_> = left.iter().map(|node| DsrErrorKind::NodeUnreachable(*node)).collect();
        assert_eq!(dsr.errors().map(|error| error.kind).collect::<Vec<_>>(), left);
        assert_eq!(dsr.extra_options().count(), 3);
        again(dsr);
    }
    assert_eq!(dsr.take_error(), None);
}

#[test]
fn options_with_a_field_or_without_space_are_not_extra() {
    let mut dsr = NONE;
    for kind in [0, 1, 2, 3, 32, 96, 128, 160, 224, 0x21, 0x41, 0x61] {
        assert!(!dsr.add_option(DsrOption::Other { kind, data: &[] }), "{kind}");
    }
    assert!(!dsr.add_option(DsrOption::Other { kind: 0x11, data: &[0; 69] }));
    assert_eq!(dsr, NONE);
    assert!(dsr.add_option(DsrOption::Other { kind: 0x11, data: &[0; 68] }));
    assert!(!dsr.add_option(DsrOption::AckRequest { id: 1 }));
    let request = DsrRequest { id: 1, target: D, route: AddressList::EMPTY };
    let mut asking =
        DsrHeader { request_or_options: DsrRequestOrOptions::Request(request), ..NONE };
    assert!(!asking.add_option(DsrOption::AckRequest { id: 1 }));
    assert_eq!(asking.request(), Some(&request));
}

/// Packets are copied at each hop, so rare options must not increase the size of all packets.
#[test]
fn extra_options_do_not_increase_the_size_of_packets() {
    assert!(size_of::<DsrRequestOrOptions>() <= size_of::<Option<DsrRequest>>() + 2);
    assert!(size_of::<DsrHeader>() <= 274, "{}", size_of::<DsrHeader>());
    assert!(size_of::<RoutedPacket>() <= 472, "{}", size_of::<RoutedPacket>());
}

/// RFC 4728 §8.1.6: the bits of its type decide whether an unknown option is ignored or the packet rejected.
#[test]
fn unknown_options() {
    let with = |options: &str| {
        let options = bytes(options);
        let dsr = DsrHeader { timeout_s: Some(1), ..NONE };
        let packet = Packet { ip: IpHeader::new(A, D), body: Body::NoNextHeader };
        let mut all = encoded(&RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 });
        all.truncate(24);
        all[23] = options.len() as u8;
        all.extend(&options);
        all[3] = all.len() as u8;
        fix_checksum(&mut all);
        RoutedPacket::decode(&all).map(|(packet, _)| packet.dsr)
    };
    let timeout = Ok(Some(DsrHeader { timeout_s: Some(7), ..NONE }));
    assert_eq!(with("80 02 0007"), timeout);
    for passed_over in [
        // An option to be removed, one to be marked, and an acknowledgment request without identification.
        "21 02 0001",
        "41 00",
        "a0 01 00",
        "e0 e0 00 03 000000",
        "03 0e 02 00 0a000002 0a000001 00000000",
    ] {
        assert_eq!(with(&format!("{passed_over} 80 02 0007")), timeout, "{passed_over}");
    }
    for (refused, kind) in [
        ("61 00", 0x61),
        ("80 02 0007 80 02 0007", 128),
        ("01 07 0001 0a000001 00", 1),
        ("02 00", 2),
        ("03 02 01 00", 3),
        ("60 01 00", 96),
        ("80 01 00", 128),
    ] {
        assert_eq!(with(refused), Err(DecodeError::DsrOption { kind }), "{refused}");
    }
    let error = "03 0e 01 05 0a000002 0a000001 0a000003";
    assert!(with(&error.repeat(7)).is_ok());
    assert_eq!(with(&error.repeat(8)), Err(DecodeError::DsrOption { kind: 3 }));
    // A request occupies the space of extra options.
    let request = "01 06 0001 0a000001";
    assert!(with(&format!("{} {request}", error.repeat(3))).is_ok());
    let refused = Err(DecodeError::DsrOption { kind: 1 });
    assert_eq!(with(&format!("{} {request}", error.repeat(4))), refused);
    let refused = Err(DecodeError::DsrOption { kind: 3 });
    assert_eq!(with(&format!("{request} {}", error.repeat(4))), refused);
    assert_eq!(with("80 09 00"), Err(DecodeError::Truncated));
}

/// Sets the checksum of the IP header.
fn fix_checksum(bytes: &mut [u8]) {
    bytes[10..12].fill(0);
    let sum: u32 = bytes[..20].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

fn list() -> impl Strategy<Value = AddressList> {
    prop::collection::vec(address(), 0..=DSR_ROUTE_MAX).prop_map(|list| nodes(&list))
}

fn error() -> impl Strategy<Value = DsrError> {
    let kind = prop_oneof![
        address().prop_map(DsrErrorKind::NodeUnreachable),
        (address(), any::<u16>())
            .prop_map(|(destination, id)| DsrErrorKind::UnknownFlow { destination, id }),
        address().prop_map(|destination| DsrErrorKind::DefaultFlowUnknown { destination }),
    ];
    (kind, 0..16u8, address(), address()).prop_map(|(kind, salvage, source, destination)| {
        DsrError { kind, salvage, source, destination }
    })
}

/// An option type and data.
fn extra_option() -> impl Strategy<Value = (u8, Vec<u8>)> {
    (any::<u8>(), prop::collection::vec(any::<u8>(), 0..40))
}

fn any_header() -> impl Strategy<Value = DsrHeader> {
    let option = prop::option::of::<BoxedStrategy<_>>;
    let flow = (any::<u16>(), 0..128u8).prop_map(|(id, hops)| DsrFlow { id, hops });
    let request = (any::<u16>(), address(), list()).prop_map(|(id, target, route)| DsrRequest {
        id,
        target,
        route,
    });
    let reply = (any::<bool>(), list())
        .prop_map(|(last_hop_external, route)| DsrReply { last_hop_external, route });
    let route = (any::<[bool; 2]>(), 0..16u8, 0..64u8, list()).prop_map(
        |([first_hop_external, last_hop_external], salvage, segments_left, route)| DsrSourceRoute {
            first_hop_external,
            last_hop_external,
            salvage,
            segments_left,
            route,
        },
    );
    (
        prop::option::of(flow),
        prop::option::of(request),
        prop::option::of(reply),
        prop::collection::vec(error(), 0..=DSR_ERRORS_MAX + 3),
        prop::collection::vec(extra_option(), 0..4),
        option(any::<u16>().boxed()),
        prop::option::of(route),
    )
        .prop_map(|(flow, request, reply, errors, more, timeout_s, source_route)| {
            let lead = request.map_or(DsrRequestOrOptions::None, DsrRequestOrOptions::Request);
            let mut header = DsrHeader {
                flow,
                request_or_options: lead,
                reply,
                timeout_s,
                source_route,
                ..NONE
            };
            // Options that do not fit are not added.
            for error in errors {
                header.add_option(DsrOption::Error(error));
            }
            for (kind, data) in &more {
                header.add_option(match kind % 4 {
                    0 => DsrOption::AckRequest { id: 7 },
                    1 => DsrOption::Ack { id: 7, source: A, destination: B },
                    _ => DsrOption::Other { kind: *kind, data },
                });
            }
            header
        })
        .prop_filter("not empty", |header| *header != NONE)
}

proptest! {
    #[test]
    fn headers_round_trip(packet in packet(60), dsr in any_header(), control in any::<bool>()) {
        let packet = if control { Packet { body: Body::NoNextHeader, ..packet } } else { packet };
        let routed = RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 };
        let bytes = encoded(&routed);
        prop_assert_eq!(bytes.len() % 4, packet.len() as usize % 4);
        let (read, payload) = RoutedPacket::decode(&bytes).unwrap();
        prop_assert_eq!(read, RoutedPacket { packet: without_stream(packet), ..routed });
        prop_assert_eq!(payload, payload_bytes(&packet));
    }

    #[test]
    fn damaged_headers_are_decoded_or_rejected(
        dsr in any_header(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in 0..4usize,
    ) {
        let packet = Packet { ip: IpHeader::new(A, D), body: Body::NoNextHeader };
        let mut bytes = encoded(&RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 });
        for (at, byte) in damage {
            let at = 20 + at.index(bytes.len() - 20);
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut);
        bytes[3] = bytes.len() as u8;
        bytes[2] = (bytes.len() >> 8) as u8;
        fix_checksum(&mut bytes);
        if let Ok((packet, _)) = RoutedPacket::decode(&bytes) {
            let again = encoded(&packet);
            prop_assert_eq!(RoutedPacket::decode(&again), Ok((packet, [].as_slice())));
        }
    }
}

/// RFC 4728 §8.3.3: an acknowledgment request applies to the next hop only; the other options stay.
#[test]
fn an_acknowledgment_request_is_removed() {
    let error =
        DsrError { kind: DsrErrorKind::NodeUnreachable(C), salvage: 1, source: A, destination: B };
    let mut dsr = NONE;
    assert_eq!(dsr.take_ack_request(), None);
    for _ in 0..4 {
        assert!(dsr.add_option(DsrOption::Error(error)));
    }
    let without = dsr;
    assert!(dsr.add_option(DsrOption::AckRequest { id: 0x0102 }));
    assert_eq!(dsr.take_ack_request(), Some(0x0102));
    assert_eq!((dsr, dsr.take_ack_request()), (without, None));
    let mut alone = NONE;
    assert!(alone.add_option(DsrOption::AckRequest { id: 7 }));
    assert_eq!((alone.take_ack_request(), alone), (Some(7), NONE));
}
