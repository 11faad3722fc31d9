//! Comparison with another implementation: `etherparse` decodes our packets to the same fields and checksums,
//! and we decode its packets.

use crate::packets::{encoded, packet, payload_bytes, without_stream};
use driftway_base::{Ecn, FailedLink, Seq, SeqRange};
use driftway_wire::*;
use etherparse::icmpv4::{DestUnreachableHeader, TYPE_DEST_UNREACH, TimeExceededCode};
use etherparse::{
    IcmpEchoHeader, Icmpv4Type, IpHeaders, IpNumber, Ipv4Header, NetHeaders, PacketBuilder,
    PacketHeaders, TcpHeader, TcpOptionElement, TransportHeader,
};
use proptest::prelude::*;

const SOURCE_QUENCH: u8 = 4;
const ROUTE_NOTIFICATION: u8 = 253;

proptest! {
    #[test]
    fn etherparse_decodes_our_packets(packet in packet(200)) {
        let bytes = encoded(&packet);
        let theirs = PacketHeaders::from_ip_slice(&bytes).unwrap();
        let Some(NetHeaders::Ipv4(ip, _)) = &theirs.net else { panic!("not IPv4") };
        prop_assert_eq!(usize::from(ip.total_len), bytes.len());
        prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());

        let payload = theirs.payload.slice();
        let (body, payload) = match theirs.transport.unwrap() {
            TransportHeader::Tcp(tcp) => {
                prop_assert_eq!(Ok(tcp.checksum), tcp.calc_checksum_ipv4(ip, payload));
                (Body::Tcp(our_segment(&tcp, payload.len())), payload)
            }
            TransportHeader::Udp(udp) => {
                prop_assert_eq!(Ok(udp.checksum), udp.calc_checksum_ipv4(ip, payload));
                prop_assert_eq!(usize::from(udp.length), 8 + payload.len());
                if let Body::Aodv(message) = packet.body {
                    // etherparse does not decode AODV messages.
                    prop_assert_eq!((udp.source_port, udp.destination_port), (654, 654));
                    prop_assert_eq!(payload.len(), message.size() as usize);
                    return Ok(());
                }
                let datagram = UdpDatagram {
                    source_port: udp.source_port,
                    destination_port: udp.destination_port,
                    payload: of_len(payload.len()),
                };
                (Body::Udp(datagram), payload)
            }
            TransportHeader::Icmpv4(icmp) => {
                prop_assert_eq!(icmp.checksum, icmp.icmp_type.calc_checksum(payload));
                let message = our_message(&icmp.icmp_type, payload);
                (Body::Icmp(message), if message.quoted().is_some() { &[][..] } else { payload })
            }
            other => panic!("{other:?}"),
        };
        prop_assert_eq!(Packet { ip: our_header(ip), body }, without_stream(packet));
        prop_assert_eq!(payload, payload_bytes(&packet));
    }

    #[test]
    fn we_decode_packets_of_etherparse(packet in packet(200)) {
        let ip = IpHeaders::Ipv4(their_header(&packet.ip), Default::default());
        let builder = PacketBuilder::ip(ip);
        let payload = payload_bytes(&packet);
        let mut bytes = Vec::new();
        match packet.body {
            Body::Tcp(segment) => {
                // Written without padding between the options, unlike our layout.
                let mut tcp = their_segment(&segment);
                prop_assume!(tcp.set_options(&their_options(&segment.options)).is_ok());
                builder.tcp_header(tcp).write(&mut bytes, &payload)
            }
            Body::Udp(UdpDatagram { source_port, destination_port, .. }) => {
                builder.udp(source_port, destination_port).write(&mut bytes, &payload)
            }
            Body::Aodv(message) => {
                let message = &encoded(&packet)[packet.len() as usize - message.size() as usize..];
                builder.udp(654, 654).write(&mut bytes, message)
            }
            Body::NoNextHeader | Body::Control(_) => {
                return Err(TestCaseError::reject("not supported by etherparse"));
            }
            Body::Icmp(message) => {
                let (icmp, payload) = their_message(&message, payload.clone());
                builder.icmpv4(icmp).write(&mut bytes, &payload)
            }
        }
        .unwrap();
        let decoded = Packet::decode(&bytes).unwrap();
        prop_assert_eq!(decoded.packet, without_stream(packet));
        prop_assert_eq!(decoded.payload, payload);
    }
}

fn of_len(len: usize) -> Payload {
    Payload::new(0, 0, len as u32)
}

fn our_header(ip: &Ipv4Header) -> IpHeader {
    assert!(!ip.more_fragments && ip.fragment_offset.value() == 0);
    IpHeader {
        source: ip.source.into(),
        destination: ip.destination.into(),
        ecn: Ecn::from_bits(ip.ecn.value()),
        dscp: ip.dscp.value(),
        ttl: ip.time_to_live,
        identification: ip.identification,
        dont_fragment: ip.dont_fragment,
        options: IpOptions::new(ip.options.as_slice()).unwrap(),
    }
}

fn their_header(ip: &IpHeader) -> Ipv4Header {
    Ipv4Header {
        source: ip.source.octets(),
        destination: ip.destination.octets(),
        ecn: ip.ecn.bits().try_into().unwrap(),
        dscp: ip.dscp.try_into().unwrap(),
        time_to_live: ip.ttl,
        identification: ip.identification,
        dont_fragment: ip.dont_fragment,
        options: ip.options.as_slice().try_into().unwrap(),
        ..Ipv4Header::default()
    }
}

fn our_segment(tcp: &TcpHeader, payload_len: usize) -> TcpSegment {
    let bits = [tcp.fin, tcp.syn, tcp.rst, tcp.psh, tcp.ack, tcp.urg, tcp.ece, tcp.cwr];
    let flags = bits.iter().rev().fold(0, |flags, &bit| flags << 1 | u8::from(bit));
    let mut options = TcpOptions::default();
    for option in tcp.options_iterator() {
        match option.unwrap() {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                for (start, end) in [Some(first)].into_iter().chain(rest).flatten() {
                    options.sack.push(SeqRange::new(Seq(start), Seq(end)));
                }
            }
            TcpOptionElement::Timestamp(value, echo) => {
                options.timestamps = Some(Timestamps { value, echo });
            }
        }
    }
    TcpSegment {
        source_port: tcp.source_port,
        destination_port: tcp.destination_port,
        seq: Seq(tcp.sequence_number),
        ack: Seq(tcp.acknowledgment_number),
        flags: TcpFlags(flags),
        window: tcp.window_size,
        urgent: tcp.urgent_pointer,
        options,
        payload: of_len(payload_len),
    }
}

fn their_segment(segment: &TcpSegment) -> TcpHeader {
    let has = |flag| segment.flags.contains(flag);
    TcpHeader {
        source_port: segment.source_port,
        destination_port: segment.destination_port,
        sequence_number: segment.seq.0,
        acknowledgment_number: segment.ack.0,
        // A reserved bit, which must be ignored.
        ns: true,
        fin: has(TcpFlags::FIN),
        syn: has(TcpFlags::SYN),
        rst: has(TcpFlags::RST),
        psh: has(TcpFlags::PSH),
        ack: has(TcpFlags::ACK),
        urg: has(TcpFlags::URG),
        ece: has(TcpFlags::ECE),
        cwr: has(TcpFlags::CWR),
        window_size: segment.window,
        urgent_pointer: segment.urgent,
        ..TcpHeader::default()
    }
}

fn their_options(options: &TcpOptions) -> Vec<TcpOptionElement> {
    let mut theirs = Vec::new();
    theirs.extend(options.window_scale.map(TcpOptionElement::WindowScale));
    if let [first, rest @ ..] = options.sack.as_slice() {
        let pair = |block: &SeqRange| (block.start.0, block.end.0);
        let rest = std::array::from_fn(|i| rest.get(i).map(pair));
        theirs.push(TcpOptionElement::SelectiveAcknowledgement(pair(first), rest));
    }
    theirs.extend(options.timestamps.map(|t| TcpOptionElement::Timestamp(t.value, t.echo)));
    if options.sack_permitted {
        theirs.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    theirs.extend(options.mss.map(TcpOptionElement::MaximumSegmentSize));
    theirs
}

fn quotation(bytes: &[u8]) -> QuotedPacket {
    let (ip, head) = Ipv4Header::from_slice(bytes).unwrap();
    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    QuotedPacket {
        source: ip.source.into(),
        destination: ip.destination.into(),
        protocol: ip.protocol.0,
        total_len: ip.total_len,
        identification: ip.identification,
        ttl: ip.time_to_live,
        tos: (ip.dscp.value() << 2) | ip.ecn.value(),
        dont_fragment: ip.dont_fragment,
        transport_head: head.try_into().unwrap(),
    }
}

fn our_message(icmp: &Icmpv4Type, payload: &[u8]) -> IcmpMessage {
    let echo = |echo: &IcmpEchoHeader, reply| IcmpMessage::Echo {
        reply,
        identifier: echo.id,
        sequence: echo.seq,
        payload: of_len(payload.len()),
    };
    let quoted = || quotation(payload);
    match icmp {
        Icmpv4Type::EchoRequest(header) => echo(header, false),
        Icmpv4Type::EchoReply(header) => echo(header, true),
        Icmpv4Type::DestinationUnreachable(header) => {
            let code = match header {
                DestUnreachableHeader::Network => UnreachableCode::Net,
                DestUnreachableHeader::Host => UnreachableCode::Host,
                DestUnreachableHeader::Protocol => UnreachableCode::Protocol,
                DestUnreachableHeader::Port => UnreachableCode::Port,
                DestUnreachableHeader::FragmentationNeeded { next_hop_mtu } => {
                    UnreachableCode::FragmentationNeeded { mtu: *next_hop_mtu }
                }
                other => UnreachableCode::Other(other.code_u8()),
            };
            IcmpMessage::Unreachable { code, quoted: quoted() }
        }
        Icmpv4Type::TimeExceeded(code) => {
            let reassembly = *code == TimeExceededCode::FragmentReassemblyTimeExceeded;
            IcmpMessage::TimeExceeded { reassembly, quoted: quoted() }
        }
        Icmpv4Type::Unknown { type_u8: SOURCE_QUENCH, code_u8: 0, bytes5to8: [0, 0, 0, 0] } => {
            IcmpMessage::SourceQuench { quoted: quoted() }
        }
        // Codes without a name in etherparse.
        Icmpv4Type::Unknown { type_u8: TYPE_DEST_UNREACH, code_u8, bytes5to8: [0, 0, 0, 0] } => {
            let code = UnreachableCode::Other(*code_u8);
            IcmpMessage::Unreachable { code, quoted: quoted() }
        }
        Icmpv4Type::Unknown { type_u8: ROUTE_NOTIFICATION, code_u8, bytes5to8 } => {
            let (to, behind) = payload.split_first_chunk::<4>().unwrap();
            let link = FailedLink { from: (*bytes5to8).into(), to: (*to).into() };
            let quoted = quotation(behind);
            match code_u8 {
                0 => IcmpMessage::RouteFailed { link, quoted },
                _ => IcmpMessage::RouteRestored { link, quoted },
            }
        }
        other => panic!("{other:?}"),
    }
}

/// The ICMP header and its payload.
fn their_message(message: &IcmpMessage, payload: Vec<u8>) -> (Icmpv4Type, Vec<u8>) {
    let unknown = |type_u8, code_u8| Icmpv4Type::Unknown { type_u8, code_u8, bytes5to8: [0; 4] };
    let mut before = Vec::new();
    let icmp = match *message {
        IcmpMessage::Echo { reply, identifier, sequence, .. } => {
            let echo = IcmpEchoHeader { id: identifier, seq: sequence };
            let icmp =
                if reply { Icmpv4Type::EchoReply(echo) } else { Icmpv4Type::EchoRequest(echo) };
            return (icmp, payload);
        }
        IcmpMessage::Unreachable { code, .. } => {
            let (code, mtu) = match code {
                UnreachableCode::Net => (0, 0),
                UnreachableCode::Host => (1, 0),
                UnreachableCode::Protocol => (2, 0),
                UnreachableCode::Port => (3, 0),
                UnreachableCode::FragmentationNeeded { mtu } => (4, mtu),
                UnreachableCode::Other(code) => (code, 0),
            };
            DestUnreachableHeader::from_values(code, mtu)
                .map_or(unknown(TYPE_DEST_UNREACH, code), Icmpv4Type::DestinationUnreachable)
        }
        IcmpMessage::SourceQuench { .. } => unknown(SOURCE_QUENCH, 0),
        IcmpMessage::TimeExceeded { reassembly: false, .. } => {
            Icmpv4Type::TimeExceeded(TimeExceededCode::TtlExceededInTransit)
        }
        IcmpMessage::TimeExceeded { reassembly: true, .. } => {
            Icmpv4Type::TimeExceeded(TimeExceededCode::FragmentReassemblyTimeExceeded)
        }
        IcmpMessage::RouteFailed { link, .. } | IcmpMessage::RouteRestored { link, .. } => {
            before = link.to.octets().to_vec();
            Icmpv4Type::Unknown {
                type_u8: ROUTE_NOTIFICATION,
                code_u8: matches!(message, IcmpMessage::RouteRestored { .. }).into(),
                bytes5to8: link.from.octets(),
            }
        }
    };
    let quoted = message.quoted().unwrap();
    let header = Ipv4Header {
        source: quoted.source.octets(),
        destination: quoted.destination.octets(),
        protocol: IpNumber(quoted.protocol),
        total_len: quoted.total_len,
        identification: quoted.identification,
        time_to_live: quoted.ttl,
        ecn: (quoted.tos & 3).try_into().unwrap(),
        dscp: (quoted.tos >> 2).try_into().unwrap(),
        dont_fragment: quoted.dont_fragment,
        // Options, and more than 8 bytes after the header, which must be skipped.
        options: [1, 1, 1, 0].into(),
        ..Ipv4Header::default()
    };
    let mut behind = before;
    behind.extend_from_slice(&header.to_bytes());
    behind.extend(quoted.transport_head);
    behind.extend([0xee; 12]);
    (icmp, behind)
}
