//! Arbitrary valid packets and their bytes.
#![allow(dead_code, reason = "each test file takes what it needs")]

use driftway_base::{Ecn, Endpoint, FailedLink, FlowKey, Ipv4Addr, Seq, SeqRange};
use driftway_wire::*;
use proptest::prelude::*;

/// Any packet that can be encoded, with a payload of up to `max_payload` bytes.
pub fn packet(max_payload: u32) -> impl Strategy<Value = Packet> {
    (ip_header(), body(max_payload)).prop_map(|(ip, body)| Packet { ip, body })
}

/// The encoded packet, with the simulated payload pattern.
pub fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    let len = packet.encode(&mut bytes, Payload::fill_pattern).unwrap();
    assert_eq!(len, bytes.len());
    bytes
}

/// The payload bytes.
pub fn payload_bytes(packet: &Packet) -> Vec<u8> {
    let payload = packet.payload();
    let mut bytes = vec![0; payload.len as usize];
    payload.fill_pattern(&mut bytes);
    bytes
}

/// The packet as decoded without knowledge of streams.
pub fn without_stream(mut packet: Packet) -> Packet {
    let payload = match &mut packet.body {
        Body::Tcp(segment) => &mut segment.payload,
        Body::Udp(datagram) => &mut datagram.payload,
        Body::Icmp(IcmpMessage::Echo { payload, .. }) => payload,
        Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => return packet,
    };
    *payload = Payload::new(0, 0, payload.len);
    packet
}

fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from_bits)
}

pub fn ip_header() -> impl Strategy<Value = IpHeader> {
    let bits = (any::<u8>(), any::<u8>(), any::<u16>(), any::<bool>());
    let options = prop_oneof![
        3 => Just(IpOptions::EMPTY),
        1 => prop::collection::vec(any::<u8>(), 0..=40).prop_map(|b| IpOptions::new(&b).unwrap()),
    ];
    (address(), address(), bits, options).prop_map(
        |(source, destination, (tos, ttl, identification, dont_fragment), options)| IpHeader {
            source,
            destination,
            ecn: Ecn::from_bits(tos),
            dscp: tos >> 2,
            ttl,
            identification,
            dont_fragment,
            options,
        },
    )
}

fn body(max_payload: u32) -> impl Strategy<Value = Body> {
    prop_oneof![
        4 => tcp_segment(max_payload).prop_map(Body::Tcp),
        2 => udp_datagram(max_payload).prop_map(Body::Udp),
        3 => icmp_message(max_payload).prop_map(Body::Icmp),
        2 => aodv_message().prop_map(Body::Aodv),
    ]
}

fn payload(max: u32) -> impl Strategy<Value = Payload> {
    (any::<u32>(), any::<u64>(), prop_oneof![Just(0), 0..=max])
        .prop_map(|(stream, offset, len)| Payload::new(stream, offset, len))
}

pub fn tcp_segment(max_payload: u32) -> impl Strategy<Value = TcpSegment> {
    let ports = any::<(u16, u16)>();
    let numbers = any::<(u32, u32, u8, u16, u16)>();
    (ports, numbers, tcp_options(), payload(max_payload)).prop_map(
        |(ports, (seq, ack, flags, window, urgent), options, payload)| TcpSegment {
            source_port: ports.0,
            destination_port: ports.1,
            seq: Seq(seq),
            ack: Seq(ack),
            flags: TcpFlags(flags),
            window,
            urgent,
            options,
            payload,
        },
    )
}

fn tcp_options() -> impl Strategy<Value = TcpOptions> {
    let timestamps =
        any::<Option<(u32, u32)>>().prop_map(|t| t.map(|(value, echo)| Timestamps { value, echo }));
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
    (any::<Option<u16>>(), prop::option::of(0..=14u8), any::<bool>(), timestamps, blocks).prop_map(
        |(mss, window_scale, sack_permitted, timestamps, blocks)| {
            let mut options = TcpOptions {
                mss,
                window_scale,
                sack_permitted,
                timestamps,
                sack: SackBlocks::EMPTY,
            };
            for (start, end) in blocks {
                let mut longer = options;
                longer.sack.push(SeqRange::new(Seq(start), Seq(end)));
                if longer.len() <= 40 {
                    options = longer;
                }
            }
            options
        },
    )
}

pub fn udp_datagram(max_payload: u32) -> impl Strategy<Value = UdpDatagram> {
    // Datagrams to AODV's port are decoded as AODV.
    let port = any::<u16>().prop_filter("AODV's", |port| *port != AODV_PORT);
    (any::<u16>(), port, payload(max_payload)).prop_map(
        |(source_port, destination_port, payload)| UdpDatagram {
            source_port,
            destination_port,
            payload,
        },
    )
}

pub fn icmp_message(max_payload: u32) -> impl Strategy<Value = IcmpMessage> {
    let echo = (any::<(bool, u16, u16)>(), payload(max_payload)).prop_map(
        |((reply, identifier, sequence), payload)| IcmpMessage::Echo {
            reply,
            identifier,
            sequence,
            payload,
        },
    );
    let code = prop_oneof![
        Just(UnreachableCode::Net),
        Just(UnreachableCode::Host),
        Just(UnreachableCode::Protocol),
        Just(UnreachableCode::Port),
        any::<u16>().prop_map(|mtu| UnreachableCode::FragmentationNeeded { mtu }),
        (5..=255u8).prop_map(UnreachableCode::Other),
    ];
    prop_oneof![
        echo,
        (code, quoted()).prop_map(|(code, quoted)| IcmpMessage::Unreachable { code, quoted }),
        quoted().prop_map(|quoted| IcmpMessage::SourceQuench { quoted }),
        (any::<bool>(), quoted())
            .prop_map(|(reassembly, quoted)| IcmpMessage::TimeExceeded { reassembly, quoted }),
        (link(), quoted()).prop_map(|(link, quoted)| IcmpMessage::RouteFailed { link, quoted }),
        (link(), quoted()).prop_map(|(link, quoted)| IcmpMessage::RouteRestored { link, quoted }),
    ]
}

pub fn aodv_message() -> impl Strategy<Value = AodvMessage> {
    let flags = any::<[bool; 4]>();
    let numbers = any::<(u8, u32, Option<u32>, u32)>();
    let timestamp = any::<Option<u64>>();
    let request = (flags, numbers, address(), address(), timestamp.clone()).prop_map(
        |(
            flags,
            (hops, id, destination_seq, originator_seq),
            destination,
            originator,
            timestamp,
        )| {
            let [join, repair, gratuitous, destination_only] = flags;
            AodvMessage::Request(AodvRequest {
                join,
                repair,
                gratuitous,
                destination_only,
                hops,
                id,
                destination,
                destination_seq,
                originator,
                originator_seq,
                timestamp,
            })
        },
    );
    let numbers = any::<(u8, u32, u32)>();
    let reply = (any::<[bool; 2]>(), 0..32u8, numbers, address(), address(), timestamp).prop_map(
        |([repair, ack_required], prefix_size, numbers, destination, originator, timestamp)| {
            let (hops, destination_seq, lifetime_ms) = numbers;
            AodvMessage::Reply(AodvReply {
                repair,
                ack_required,
                prefix_size,
                hops,
                destination,
                destination_seq,
                originator,
                lifetime_ms,
                timestamp,
            })
        },
    );
    let unreachable = prop::collection::vec((address(), any::<u32>()), 1..=AODV_UNREACHABLE_MAX);
    let error = (any::<bool>(), unreachable).prop_map(|(no_delete, unreachable)| {
        let mut error = AodvError::new(no_delete);
        for (destination, seq) in unreachable {
            assert!(error.push(destination, seq));
        }
        AodvMessage::Error(error)
    });
    let losses = (link(), address(), conn_list()).prop_map(|(link, reporter, list)| {
        AodvMessage::LossNotification(AodvLossNotification { link, reporter, list })
    });
    let ack = Just(AodvMessage::ReplyAck);
    prop_oneof![3 => request, 3 => reply, 3 => error, 1 => ack, 3 => losses]
}

/// A list with as many entries as fit, at least one.
pub fn conn_list() -> impl Strategy<Value = ConnList> {
    prop::collection::vec(conn_info(), 1..4).prop_map(|infos| {
        let mut list = ConnList::EMPTY;
        infos.iter().for_each(|info| {
            list.push(info);
        });
        list
    })
}

fn conn_info() -> impl Strategy<Value = ConnInfo> {
    let ends = (address(), any::<u16>(), address(), any::<u16>());
    let flow = ends.prop_map(|(from, source, to, destination)| FlowKey {
        source: Endpoint::new(from, source),
        destination: Endpoint::new(to, destination),
    });
    let relays = prop::collection::vec(address(), 0..2);
    let segments = prop::collection::vec((any::<u32>(), 1..u16::MAX), 1..4);
    let data = (any::<bool>(), segments).prop_map(|(salvaged, segments)| {
        let mut runs = SegmentRuns::default();
        segments.into_iter().for_each(|(seq, len)| assert!(runs.push(Seq(seq), len)));
        ConnPackets::Data { salvaged, runs }
    });
    let numbers = any::<(u32, u32, u16, Option<(u32, u32)>)>();
    let acks =
        (any::<(bool, bool, u8)>(), numbers).prop_map(|((ack_sent, ece, count), numbers)| {
            let (seq, ack, window, timestamps) = numbers;
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            let highest = LostAck { seq: Seq(seq), ack: Seq(ack), window, timestamps, ece };
            ConnPackets::Acks { ack_sent, count, highest }
        });
    let packets = prop_oneof![data, acks];
    (flow, relays, packets).prop_map(|(flow, relays, packets)| ConnInfo {
        flow,
        relays: AddressList::new(&relays).unwrap(),
        packets,
    })
}

fn link() -> impl Strategy<Value = FailedLink> {
    (address(), address()).prop_map(|(from, to)| FailedLink { from, to })
}

fn quoted() -> impl Strategy<Value = QuotedPacket> {
    (ip_header(), any::<(u8, u16, [u8; 8])>()).prop_map(
        |(ip, (protocol, total_len, transport_head))| QuotedPacket {
            source: ip.source,
            destination: ip.destination,
            protocol,
            total_len,
            identification: ip.identification,
            ttl: ip.ttl,
            tos: (ip.dscp << 2) | ip.ecn.bits(),
            dont_fragment: ip.dont_fragment,
            transport_head,
        },
    )
}

/// Writes correct checksums into bytes that look like a packet, so that damage is not rejected by checksums.
pub fn fix_checksums(bytes: &mut [u8]) {
    let set = |bytes: &mut [u8], at: usize, start: u64| {
        if bytes.len() < at + 2 {
            return;
        }
        bytes[at..at + 2].fill(0);
        let words =
            bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | w.get(1).map_or(0, |&b| b.into()));
        let sum = words.sum::<u64>() + start;
        // 2¹⁶ − 1 is the modulus of ones' complement.
        let checksum = 0xffff - ((sum.max(1) - 1) % 0xffff + 1) as u16;
        bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    };
    if bytes.len() < 20 {
        return;
    }
    let header = (usize::from(bytes[0] & 0xf) * 4).clamp(20, bytes.len());
    set(&mut bytes[..header], 10, 0);
    let end = usize::from(u16::from_be_bytes([bytes[2], bytes[3]])).clamp(header, bytes.len());
    let protocol = bytes[9];
    let addresses = bytes[12..20].chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(w[1]));
    let pseudo_header = addresses.sum::<u64>() + u64::from(protocol) + (end - header) as u64;
    match protocol {
        6 => set(&mut bytes[header..end], 16, pseudo_header),
        17 => {
            set(&mut bytes[header..end], 6, pseudo_header);
            if let Some(field @ [0, 0]) = bytes[..end].get_mut(header + 6..header + 8) {
                field.fill(0xff);
            }
        }
        1 => set(&mut bytes[header..end], 2, 0),
        _ => {}
    }
}
