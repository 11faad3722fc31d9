//! Seeds of the `decode` fuzz target: one packet of each supported kind, and variants that are rejected. They
//! are committed; `DRIFTWAY_BLESS=1 cargo test --test corpus` rewrites them after an intended change of the
//! encoding.

use std::path::PathBuf;

use driftway_base::{Ecn, FailedLink, Ipv4Addr, Seq, SeqRange};
use driftway_wire::*;

const HOST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// A failed link.
const LINK: FailedLink = FailedLink { from: ROUTER, to: PEER };

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, Payload::fill_pattern).unwrap();
    bytes
}

fn tcp(flags: TcpFlags, payload_len: u32, options: TcpOptions) -> Packet {
    let segment = TcpSegment {
        source_port: 40_000,
        destination_port: 80,
        seq: Seq(u32::MAX - 100),
        ack: Seq(77),
        flags,
        window: 16_000,
        options,
        payload: Payload::new(1, 0, payload_len),
        ..TcpSegment::default()
    };
    Packet { ip: IpHeader::new(HOST, PEER), body: Body::Tcp(segment) }
}

fn udp(payload_len: u32) -> Packet {
    let payload = Payload::new(2, 3, payload_len);
    let datagram = UdpDatagram { source_port: 5000, destination_port: 5001, payload };
    Packet { ip: IpHeader::new(HOST, PEER), body: Body::Udp(datagram) }
}

fn echo(reply: bool) -> Packet {
    let payload = Payload::new(3, 0, 8);
    let message = IcmpMessage::Echo { reply, identifier: 1, sequence: 2, payload };
    Packet { ip: IpHeader::new(HOST, PEER), body: Body::Icmp(message) }
}

fn aodv(message: AodvMessage) -> Vec<u8> {
    let ip = IpHeader { ttl: 1, ..IpHeader::new(HOST, Ipv4Addr::BROADCAST) };
    encoded(&Packet { ip, body: Body::Aodv(message) })
}

fn aodv_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let request = AodvRequest {
        join: false,
        repair: false,
        gratuitous: true,
        destination_only: false,
        hops: 3,
        id: 77,
        destination: PEER,
        destination_seq: None,
        originator: HOST,
        originator_seq: 9,
        timestamp: None,
    };
    let known = AodvRequest {
        destination_seq: Some(5),
        gratuitous: false,
        destination_only: true,
        ..request
    };
    let reply = AodvReply {
        repair: false,
        ack_required: true,
        prefix_size: 0,
        hops: 2,
        destination: PEER,
        destination_seq: 6,
        originator: HOST,
        lifetime_ms: 6000,
        timestamp: None,
    };
    let mut error = AodvError::new(true);
    error.push(PEER, 7);
    error.push(ROUTER, 8);
    vec![
        ("aodv-request", aodv(AodvMessage::Request(request))),
        (
            "aodv-request-stamped",
            aodv(AodvMessage::Request(AodvRequest { timestamp: Some(1 << 40), ..request })),
        ),
        ("aodv-request-known", aodv(AodvMessage::Request(known))),
        ("aodv-reply", aodv(AodvMessage::Reply(reply))),
        ("aodv-error", aodv(AodvMessage::Error(error))),
        ("aodv-reply-ack", aodv(AodvMessage::ReplyAck)),
    ]
}

fn routed(packet: Packet, dsr: DsrHeader) -> Vec<u8> {
    let packet = RoutedPacket { packet, dsr: Some(dsr), size_adjustment: 0 };
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, Payload::fill_pattern).unwrap();
    bytes
}

fn dsr_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let none = DsrHeader::default();
    let nothing = Packet { ip: IpHeader::new(HOST, PEER), body: Body::NoNextHeader };
    let nodes = |n: u8| {
        let nodes: Vec<_> = (0..n).map(|i| Ipv4Addr::new(10, 0, 0, 20 + i)).collect();
        AddressList::new(&nodes).unwrap()
    };
    let error = |kind| Some(DsrError { kind, salvage: 1, source: ROUTER, destination: HOST });
    let unreachable = DsrErrorKind::NodeUnreachable(PEER);
    let lead = DsrRequestOrOptions::Request(DsrRequest { id: 77, target: PEER, route: nodes(2) });
    let route = |salvage| {
        Some(DsrSourceRoute {
            first_hop_external: false,
            last_hop_external: false,
            salvage,
            segments_left: 2,
            route: nodes(3),
        })
    };
    let reply = Some(DsrReply { last_hop_external: false, route: nodes(4) });
    let of_flows = [
        error(DsrErrorKind::UnknownFlow { destination: PEER, id: 3 }),
        error(DsrErrorKind::DefaultFlowUnknown { destination: PEER }),
        error(unreachable),
    ];
    let reported = [error(unreachable), None, None];
    let flow = Some(DsrFlow { id: 3, hops: 2 });
    let established = DsrHeader { flow, timeout_s: Some(60), source_route: route(0), ..none };
    vec![
        ("dsr-request", routed(nothing, DsrHeader { request_or_options: lead, ..none })),
        (
            "dsr-request-with-error",
            routed(nothing, DsrHeader { request_or_options: lead, errors: reported, ..none }),
        ),
        ("dsr-reply", routed(nothing, DsrHeader { reply, source_route: route(0), ..none })),
        ("dsr-errors", routed(nothing, DsrHeader { errors: of_flows, ..none })),
        ("dsr-data", routed(udp(13), DsrHeader { source_route: route(0), ..none })),
        ("dsr-salvaged", routed(udp(13), DsrHeader { source_route: route(2), ..none })),
        ("dsr-flow-establishment", routed(udp(13), established)),
        ("dsr-flow", routed(udp(13), DsrHeader { flow, ..none })),
    ]
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let timestamps = Some(Timestamps { value: 1000, echo: 900 });
    let on_syn = TcpOptions {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps,
        sack: SackBlocks::EMPTY,
    };
    let stamped = TcpOptions { timestamps, ..TcpOptions::default() };
    let sack = |blocks: u32, options: TcpOptions| {
        let mut options = options;
        for i in 0..blocks {
            options.sack.push(SeqRange::new(Seq(1000 * i), Seq(1000 * i + 500)));
        }
        options
    };
    let syn = tcp(TcpFlags::SYN, 0, on_syn);
    let data = tcp(TcpFlags::ACK.with(TcpFlags::PSH), 33, TcpOptions::default());
    let error = |offending: &Packet, message: fn(QuotedPacket) -> IcmpMessage| {
        encoded(&Packet::icmp_error(ROUTER, offending, message).unwrap())
    };
    let mut with_ip_options = data;
    // Record route with space for one address (RFC 791).
    with_ip_options.ip.options = IpOptions::new(&[7, 7, 4, 0, 0, 0, 0]).unwrap();
    let mut marked = data;
    marked.ip.ecn = Ecn::Ce;
    let mut udp_without_checksum = encoded(&udp(6));
    udp_without_checksum[26..28].fill(0);
    let mut bad_checksum = encoded(&data);
    bad_checksum[40] ^= 1;
    let mut padded = encoded(&tcp(TcpFlags::ACK, 0, TcpOptions::default()));
    padded.resize(46, 0);

    vec![
        ("tcp-syn", encoded(&syn)),
        ("tcp-syn-ack", encoded(&tcp(TcpFlags::SYN.with(TcpFlags::ACK), 0, on_syn))),
        ("tcp-data", encoded(&data)),
        ("tcp-data-timestamps", encoded(&tcp(TcpFlags::ACK, 20, stamped))),
        ("tcp-ack-sack4", encoded(&tcp(TcpFlags::ACK, 0, sack(4, TcpOptions::default())))),
        ("tcp-ack-sack3-timestamps", encoded(&tcp(TcpFlags::ACK, 0, sack(3, stamped)))),
        ("tcp-ecn-marked", encoded(&marked)),
        ("tcp-ip-options", encoded(&with_ip_options)),
        ("tcp-padded-frame", padded),
        ("tcp-bad-checksum", bad_checksum),
        ("udp", encoded(&udp(13))),
        ("udp-empty", encoded(&udp(0))),
        ("udp-without-checksum", udp_without_checksum),
        ("icmp-echo", encoded(&echo(false))),
        ("icmp-echo-reply", encoded(&echo(true))),
        (
            "icmp-host-unreachable",
            error(&data, |quoted| IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted }),
        ),
        (
            "icmp-fragmentation-needed",
            error(&data, |quoted| {
                let code = UnreachableCode::FragmentationNeeded { mtu: 576 };
                IcmpMessage::Unreachable { code, quoted }
            }),
        ),
        ("icmp-source-quench", error(&data, |quoted| IcmpMessage::SourceQuench { quoted })),
        (
            "icmp-time-exceeded",
            error(&udp(13), |quoted| IcmpMessage::TimeExceeded { reassembly: false, quoted }),
        ),
        (
            "icmp-route-failed",
            error(&data, |quoted| IcmpMessage::RouteFailed { link: LINK, quoted }),
        ),
        (
            "icmp-route-restored",
            error(&data, |quoted| IcmpMessage::RouteRestored { link: LINK, quoted }),
        ),
    ]
}

#[test]
fn the_committed_seeds_are_up_to_date() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/decode");
    let bless = std::env::var_os("DRIFTWAY_BLESS").is_some();
    if bless {
        std::fs::create_dir_all(&folder).unwrap();
    }
    for (name, bytes) in seeds().into_iter().chain(aodv_seeds()).chain(dsr_seeds()) {
        let path = folder.join(name);
        if bless {
            std::fs::write(&path, &bytes).unwrap();
        }
        let committed = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(committed, bytes, "{name}");
        let refused = Packet::decode(&bytes).is_err();
        assert_eq!(refused, name == "tcp-bad-checksum" || name.starts_with("dsr-"), "{name}");
        assert_eq!(RoutedPacket::decode(&bytes).is_err(), name == "tcp-bad-checksum", "{name}");
    }
}
