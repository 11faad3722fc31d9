//! The network with real packets, in virtual time.

#[path = "test/frames.rs"]
mod frames;
#[path = "test/ipv6.rs"]
mod ipv6;

use driftway_base::{Duration, Ecn, LinkId, PacketId};
use driftway_link::{QueuePosition, Side};
use driftway_wire::{
    Body, IcmpMessage, IpHeader, Packet, Payload, TcpFlags, TcpSegment, UnreachableCode,
};

use super::*;

const MS: Duration = Duration::from_millis(1);
/// Kernels at the ends of a path.
const NEAR: usize = 0;
const FAR: usize = 1;

/// A path of `hops` links of 10 Mbit/s and 10 ms, with additional keys of `[network]` and of the
/// link.
fn medium(hops: u32, more: &str, link: &str) -> EmulatedNetwork {
    let text = format!(
        "name = \"m\"\nduration = \"100 s\"\n[[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n\
         [network]\nkind = \"path\"\nhops = {hops}\n\
         link = {{ rate = \"10 Mbit/s\", delay = \"10 ms\"{link} }}\n{more}"
    );
    let scenario = Scenario::parse("m.toml", &text, &[]).unwrap();
    EmulatedNetwork::new(&scenario, 1, &[0, hops].map(NodeId::new)).unwrap()
}

/// The address of the node of this number.
fn address(node: u32) -> Ipv4Addr {
    driftway_net::addresses::address(NodeId::new(node))
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS.times(millis)
}

fn encode(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, |_, to| to.fill(7)).unwrap();
    bytes
}

/// A segment from node `from` to node `to`, 1250 bytes long: 1 ms at 10 Mbit/s.
fn segment(from: u32, to: u32) -> Packet {
    let ip = IpHeader { ecn: Ecn::Ect0, ..IpHeader::new(address(from), address(to)) };
    let segment = TcpSegment {
        source_port: 1,
        destination_port: 2,
        flags: TcpFlags::ACK,
        payload: Payload::new(0, 0, 1210),
        ..TcpSegment::default()
    };
    Packet { ip, body: Body::Tcp(segment) }
}

/// All packets that leave by `until`, as (end, time in µs, bytes).
fn leaves(medium: &mut EmulatedNetwork, until: Instant) -> Vec<(usize, u64, Vec<u8>)> {
    medium.on_timeout(until);
    assert_eq!(medium.check_conservation(), Ok(()));
    let next = || Some(medium.poll()?).map(|l| (l.kernel, l.due.as_nanos() / 1000, l.bytes));
    std::iter::from_fn(next).collect()
}

#[test]
fn a_packet_takes_the_configured_time_and_loses_ttl() {
    let mut medium = medium(3, "", "");
    let sent = segment(0, 3);
    medium.offer(at(5), NEAR, &encode(&sent));
    medium.offer(at(5), NEAR, &encode(&sent));
    let out = leaves(&mut medium, at(100));
    let arrived = Packet { ip: IpHeader { ttl: 62, ..sent.ip }, ..sent };
    assert_eq!(
        out,
        [(FAR, 38_000, encode(&arrived)), (FAR, 39_000, encode(&arrived))],
        "three times 1 ms and 10 ms, one behind the other, two routers"
    );
    let first_entered = Some(at(5));
    let carried =
        KernelCounts { entered: 2, delivered: 2, bytes: 2500, first_entered, to_routers: 0 };
    assert_eq!(medium.counts().by_kernel, [carried, KernelCounts::default()]);
}

/// Held for reordering for at most 50 ms, and marked during a congestion fault of one packet: as in
/// the simulator.
#[test]
fn packets_leave_in_reverse_and_marked() {
    let faults = "[[network.fault]]\nkind = \"reordering\"\nhop = 1\nfirst = \"1 ms\"\npackets = 9\n\
                  how = \"reverse\"\nat_most = \"50 ms\"\n\
                  [[network.fault]]\nkind = \"congestion\"\nhop = 2\nfirst = \"1 ms\"\n\
                  lasts = \"70500 us\"\nrate = \"1 kbit/s\"\nmarks = true\n";
    let mut medium = medium(2, faults, "");
    for n in 1..=2 {
        let packet = segment(0, 2);
        let packet = Packet { ip: IpHeader { identification: n, ..packet.ip }, ..packet };
        medium.offer(at(9 + u64::from(n)), NEAR, &encode(&packet));
    }
    let out = leaves(&mut medium, at(200));
    let read = |(_, due, bytes): &(usize, u64, Vec<u8>)| {
        let ip = Packet::decode(bytes).unwrap().packet.ip;
        (*due, ip.identification, ip.ecn)
    };
    // Both are held from 10 ms to 60 ms; the fault has ended when the second reaches the second
    // hop.
    let expected = [(82_000, 2, Ecn::Ce), (83_000, 1, Ecn::Ect0)];
    assert_eq!(out.iter().map(read).collect::<Vec<_>>(), expected);
    assert_eq!(medium.marked(), 1);
}

/// A trace with a pause of 12 s, in the direction from the far end: all that it can carry arrives.
#[test]
fn a_measured_link_carries_its_opportunities() {
    let file = std::env::temp_dir().join(format!("driftway-{}-x.up", std::process::id()));
    let times = (1..1000_u32).flat_map(|n| vec![n * 5; n as usize % 3]).chain([17_000]);
    let times: Vec<u32> = times.collect();
    let lines: String = times.iter().map(|at| format!("{at}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let back = format!(", reverse = {{ rate = {{ trace = {file:?} }} }}");
    let mut medium = medium(1, "", &back);
    std::fs::remove_file(&file).unwrap();
    let bytes = encode(&segment(1, 0));
    let mut arrived = 0;
    for millis in 0..20_000 {
        for _ in 0..3 {
            medium.offer(at(millis), FAR, &bytes);
        }
        arrived += leaves(&mut medium, at(millis)).len() as u64;
    }
    let capacity = times.len() as u64 * 1500;
    let found = arrived * bytes.len() as u64;
    assert!(capacity - found <= bytes.len() as u64, "{found} of {capacity} bytes");
}

/// The simulator's links, queues and random streams: the same frames are lost for the same seed.
#[test]
fn losses_are_those_of_the_simulator() {
    let mut medium = medium(1, "", ", packet_error_rate = 0.3");
    let mut bare = driftway_link::PathLink::new(
        driftway_link::LinkConfig {
            rate: driftway_base::Rate::from_bps(10_000_000),
            delay: driftway_link::Delay::Fixed(MS.times(10)),
            errors: driftway_link::ErrorModel::FrameErrorRate(0.3),
            queue: driftway_link::QueueConfig {
                limit: 50,
                discipline: driftway_link::Discipline::DropTail { ecn_threshold: None },
                max_bytes: None,
                mark_loss: 0.0,
            },
            duplex: driftway_link::Duplex::Full,
            order: driftway_link::DeliveryOrder::Fifo,
        },
        1,
        LinkId::new(0),
    );
    let mut expected = Vec::new();
    for n in 0..200_u16 {
        let packet = segment(0, 1);
        let packet = Packet { ip: IpHeader { identification: n, ..packet.ip }, ..packet };
        medium.offer(at(u64::from(n) * 2), NEAR, &encode(&packet));
        let frame = driftway_link::Frame {
            id: PacketId::new(n.into()),
            bytes: 1250,
            ecn_capable: true,
            flow: 0,
        };
        bare.enqueue(at(u64::from(n) * 2), Side::A, frame, QueuePosition::Tail);
    }
    while let Some(event) = bare.poll(at(1000)) {
        if let driftway_link::LinkEvent::Arrived { id, .. } = event {
            expected.push(id.number() as u16);
        }
    }
    let out = leaves(&mut medium, at(1000));
    let number = |bytes: &Vec<u8>| Packet::decode(bytes).unwrap().packet.ip.identification;
    let arrived: Vec<_> = out.iter().map(|(_, _, bytes)| number(bytes)).collect();
    assert_eq!(arrived, expected);
    assert!((100..190).contains(&arrived.len()), "{}", arrived.len());
    let lost = 200 - arrived.len() as u64;
    assert_eq!(medium.counts().drops, BTreeMap::from([("bit-error", lost)]));
}

const CUT: &str =
    "[[network.fault]]\nkind = \"partition\"\nhop = 2\nfirst = \"50 ms\"\nlasts = \"100 ms\"\n";

#[test]
fn a_router_reports_an_undeliverable_packet() {
    let mut medium = medium(3, CUT, "");
    let sent = segment(0, 3);
    medium.offer(at(60), NEAR, &encode(&sent));
    let out = leaves(&mut medium, at(149));
    let [(NEAR, _, bytes)] = &out[..] else { panic!("{out:?}") };
    let error = Packet::decode(bytes).unwrap().packet;
    let Body::Icmp(IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted }) = error.body
    else {
        panic!("{error:?}")
    };
    assert_eq!((error.ip.source, error.ip.destination), (address(1), address(0)));
    assert_eq!(
        (quoted.source, quoted.destination, quoted.ports()),
        (address(0), address(3), (1, 2))
    );
    assert_eq!(medium.counts().drops, BTreeMap::from([("unreachable", 1)]));
    assert_eq!(medium.counts().icmp_from_routers, 1);

    medium.offer(at(151), NEAR, &encode(&sent));
    assert_eq!(leaves(&mut medium, at(300)).len(), 1, "it heals");
}

#[test]
fn queues_mark_and_the_header_stays_right() {
    let mut medium = medium(1, "", ", queue = { packets = 10, ecn_threshold = 2 }");
    for _ in 0..20 {
        medium.offer(at(0), NEAR, &encode(&segment(0, 1)));
    }
    let out = leaves(&mut medium, at(100));
    let ecn: Vec<_> =
        out.iter().map(|(_, _, b)| Packet::decode(b).unwrap().packet.ip.ecn).collect();
    // The fourth meets one in transmission and two in the queue.
    let expected: Vec<_> = [Ecn::Ect0; 3].into_iter().chain([Ecn::Ce; 8]).collect();
    assert_eq!(ecn, expected);
    assert_eq!(medium.marked(), 8);
    assert_eq!(medium.counts().drops, BTreeMap::from([("queue-overflow", 9)]));
}

#[test]
fn routers_answer_and_report_expired_ttl() {
    let mut medium = medium(3, "", "");
    let echo = IcmpMessage::Echo {
        reply: false,
        identifier: 4,
        sequence: 5,
        payload: Payload::new(0, 0, 56),
    };
    let ping = Packet { ip: IpHeader::new(address(0), address(2)), body: Body::Icmp(echo) };
    medium.offer(at(0), NEAR, &encode(&ping));
    let out = leaves(&mut medium, at(100));
    let [(NEAR, _, bytes)] = &out[..] else { panic!("{out:?}") };
    let reply = Packet::decode(bytes).unwrap();
    assert_eq!(reply.packet.ip.source, address(2));
    assert_eq!(reply.payload, [7; 56]);
    assert!(matches!(reply.packet.body, Body::Icmp(IcmpMessage::Echo { reply: true, .. })));
    assert_eq!((medium.counts().to_routers, medium.counts().icmp_from_routers), (1, 1));

    let short = segment(0, 3);
    let short = Packet { ip: IpHeader { ttl: 2, ..short.ip }, ..short };
    medium.offer(at(100), NEAR, &encode(&short));
    let out = leaves(&mut medium, at(200));
    let [(NEAR, _, bytes)] = &out[..] else { panic!("{out:?}") };
    let error = Packet::decode(bytes).unwrap().packet;
    assert_eq!(error.ip.source, address(2));
    assert!(matches!(error.body, Body::Icmp(IcmpMessage::TimeExceeded { .. })));
}

#[test]
fn unknown_ipv4_packets_are_carried() {
    let mut medium = medium(2, CUT, "");
    // An unknown protocol, and a fragment.
    let mut other = encode(&segment(0, 2));
    (other[8], other[9]) = (64, 47);
    let mut fragment = encode(&segment(0, 2));
    fragment[6] = 0x20;
    let mut sent = Vec::new();
    for mut bytes in [other, fragment] {
        (bytes[10], bytes[11]) = (0, 0);
        let sum = bytes[..20].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
        let sum: u32 = sum.sum();
        let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        [bytes[10], bytes[11]] = sum.to_be_bytes();
        medium.offer(at(0), NEAR, &bytes);
        sent.push(bytes);
    }
    let out = leaves(&mut medium, at(40));
    assert_eq!(out.iter().map(|l| l.1).collect::<Vec<_>>(), [22_000, 23_000]);
    for ((_, _, arrived), sent) in out.iter().zip(&sent) {
        assert_eq!((arrived[8], &arrived[12..]), (63, &sent[12..]));
        assert!(IpHeader::decode(arrived).is_ok());
    }
    // No error is sent about a packet that is not fully decoded.
    medium.offer(at(60), NEAR, &sent[0]);
    assert_eq!(leaves(&mut medium, at(140)), []);
    assert_eq!(medium.counts().drops, BTreeMap::from([("unreachable", 1)]));

    let mut five = encode(&segment(0, 2));
    five[0] = 0x55;
    let six = &[0x60, 0, 0, 0, 0, 9][..];
    for bytes in [&five[..], six, &sent[0][..19], &[]] {
        medium.offer(at(150), NEAR, bytes);
    }
    assert_eq!(medium.counts().not_ip, 4);
}

#[test]
fn networks_behind_an_end_are_reachable() {
    let mut medium = medium(2, "", "");
    let [near, far] = [Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(10, 2, 0, 2)];
    let between = |from, to| {
        let packet = segment(0, 2);
        encode(&Packet { ip: IpHeader::new(from, to), ..packet })
    };
    medium.offer(at(0), NEAR, &between(near, far));
    medium.offer(at(0), FAR, &between(far, near));
    // To an unknown destination, and to the source's own network.
    medium.offer(at(0), NEAR, &between(near, Ipv4Addr::new(10, 3, 0, 1)));
    medium.offer(at(0), NEAR, &between(near, near));
    let out = leaves(&mut medium, at(100));
    // The sender gets two errors at once; the others are simultaneous, and links have their turns by
    // number.
    assert_eq!(out.iter().map(|l| l.0).collect::<Vec<_>>(), [NEAR, NEAR, NEAR, FAR]);
    assert_eq!(medium.counts().drops, BTreeMap::from([("unknown-destination", 2)]));
}

#[test]
fn cross_traffic_loads_the_path_and_leaves_nowhere() {
    let flood = "[[network.fault]]\nkind = \"congestion\"\nhop = 1\nfirst = \"0 s\"\n\
                 lasts = \"10 ms\"\nsize = \"1250 B\"\nrate = \"10 Mbit/s\"\n";
    let mut medium = medium(1, flood, "");
    medium.offer(at(5), NEAR, &encode(&segment(0, 1)));
    let out = leaves(&mut medium, at(100));
    let [(FAR, micros, _)] = out[..] else { panic!("{out:?}") };
    assert!(micros > 16_000, "{micros}: it waited");
    assert_eq!(medium.counts().drops, BTreeMap::new());
}

const MAC: &str = "mac = { kind = \"dcf\", data_rate = \"2 Mbit/s\", basic_rate = \"1 Mbit/s\" }";

/// Nodes with radios in a row, each of which hears its neighbours only, and kernels at the ends.
fn radios(nodes: u32, routing: &str, more: &str) -> EmulatedNetwork {
    let text = format!(
        "name = \"r\"\nduration = \"100 s\"\n[network]\nkind = \"adhoc\"\nnodes = {nodes}\n\
         mobility = {{ chain = \"200 m\" }}\n\
         {more}\nrouting = {{ protocol = \"{routing}\" }}\n\
         [[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n"
    );
    let scenario = Scenario::parse("r.toml", &text, &[]).unwrap();
    EmulatedNetwork::new(&scenario, 1, &[0, nodes - 1].map(NodeId::new)).unwrap()
}

#[test]
fn radios_carry_packets_with_each_routing() {
    for routing in ["static", "aodv", "dsr"] {
        let mut medium = radios(3, routing, MAC);
        for n in 0..20_u16 {
            let packet = segment(0, 2);
            let packet = Packet { ip: IpHeader { identification: n, ..packet.ip }, ..packet };
            medium.offer(at(u64::from(n) * 50), NEAR, &encode(&packet));
        }
        let out = leaves(&mut medium, at(5000));
        let numbers = out.iter().map(|(kernel, _, bytes)| {
            let decoded = Packet::decode(bytes).unwrap();
            assert_eq!((*kernel, bytes.len()), (FAR, 1250));
            assert!(decoded.payload.iter().all(|byte| *byte == 7));
            assert!(matches!(decoded.packet.ip.ttl, 1..64), "{routing}: {:?}", decoded.packet);
            decoded.packet.ip.identification
        });
        assert_eq!(numbers.collect::<Vec<_>>(), Vec::from_iter(0..20), "{routing}");
        let sent = KernelCounts {
            entered: 20,
            delivered: 20,
            bytes: 25_000,
            to_routers: 0,
            first_entered: Some(at(0)),
        };
        assert_eq!(medium.counts().by_kernel[NEAR], sent);
    }
}

/// A late driver changes nothing but the time at which packets leave.
#[test]
fn what_leaves_does_not_depend_on_how_often_the_driver_comes() {
    let run = |step: Option<u64>| {
        let mut medium = radios(4, "aodv", MAC);
        for n in 0..60 {
            medium.offer(at(n * 7), if n % 3 == 0 { FAR } else { NEAR }, &{
                let (from, to) = if n % 3 == 0 { (3, 0) } else { (0, 3) };
                encode(&segment(from, to))
            });
            for micros in (0..7000).step_by(step.unwrap_or(7000) as usize) {
                medium.on_timeout(at(n * 7) + Duration::from_micros(micros));
            }
        }
        let out = leaves(&mut medium, at(10_000));
        (out, medium.counts().drops.clone())
    };
    let rarely = run(None);
    assert!(rarely.0.len() > 20, "{rarely:?}");
    assert_eq!(rarely, run(Some(13)));
    assert_eq!(rarely, run(Some(1000)));
}

/// A second copy arrives when a link layer has missed an ACK, and sends the packet again.
#[test]
fn copies_have_the_right_bytes_and_count_once() {
    let lossy = "radio = { packet_error_rate = 0.2 }\n\
                 mac = { kind = \"dcf\", short_retry_limit = 1, long_retry_limit = 1 }\n\
                 link_retry = { most = 3 }\nfeedback = \"none\"";
    let mut medium = radios(3, "static", lossy);
    for n in 0..2000_u64 {
        let (kernel, from, to) = if n % 2 == 0 { (NEAR, 0, 2) } else { (FAR, 2, 0) };
        let packet = segment(from, to);
        let ip = IpHeader { identification: n as u16, ..packet.ip };
        medium.offer(at(n * 50), kernel, &encode(&Packet { ip, ..packet }));
    }
    let out = leaves(&mut medium, at(110_000));
    let mut seen = vec![0; 2000];
    for (kernel, _, bytes) in &out {
        let decoded = Packet::decode(bytes).unwrap();
        let number = usize::from(decoded.packet.ip.identification);
        assert_eq!((*kernel == FAR, bytes.len()), (number % 2 == 0, 1250));
        seen[number] += 1;
    }
    let distinct = seen.iter().filter(|copies| **copies > 0).count() as u64;
    let counts: u64 = medium.counts().by_kernel.iter().map(|counts| counts.delivered).sum();
    assert_eq!(counts, distinct);
    assert!(seen.iter().filter(|copies| **copies > 1).count() > 100, "there are copies");
}

#[test]
fn routing_does_not_search_for_groups() {
    let mut medium = radios(2, "aodv", MAC);
    for to in [Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::new(10, 255, 255, 255), address(7)] {
        let packet = segment(0, 1);
        let ip = IpHeader { destination: to, ..packet.ip };
        medium.offer(at(0), NEAR, &encode(&Packet { ip, ..packet }));
    }
    // The neighbour gets what is for all, and the sender an error.
    let out = leaves(&mut medium, at(9000));
    assert_eq!(out.iter().map(|l| l.0).collect::<Vec<_>>(), [NEAR, FAR, FAR]);
    assert_eq!(medium.counts().drops, BTreeMap::from([("unknown-destination", 1)]));
}

#[test]
fn a_kernel_needs_a_node_of_its_own() {
    let text = "name = \"m\"\nduration = \"1 s\"\n[[flow]]\nfrom = 0\nto = 1\n\
                application = \"ftp\"\n[network]\nkind = \"path\"\nhops = 1\n\
                link = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n";
    let scenario = Scenario::parse("m.toml", text, &[]).unwrap();
    for (nodes, says) in
        [(&[][..], "no node"), (&[0, 2], "no node 2"), (&[1, 1], "node 1 has two kernels")]
    {
        let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId::new).collect();
        let error = EmulatedNetwork::new(&scenario, 1, &nodes).err().unwrap();
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// A partition of a hop with `signal = "link"` takes the carrier of the kernel at its end.
#[test]
fn links_that_go_down_change_carriers() {
    let cut = |hop: u32, signal: &str| {
        format!(
            "[[network.fault]]\nkind = \"partition\"\nhop = {hop}\nfirst = \"100 ms\"\n\
             lasts = \"50 ms\"\nsignal = \"{signal}\"\n"
        )
    };
    let changes = |hops, more: &str| {
        let mut medium = medium(hops, more, "");
        let mut seen = Vec::new();
        for millis in 0..200 {
            medium.on_timeout(at(millis));
            while let Some(CarrierChange { kernel, is_on }) = medium.poll_carrier() {
                seen.push((millis, kernel, is_on));
            }
        }
        seen
    };
    assert_eq!(changes(3, &cut(3, "link")), [(100, FAR, false), (150, FAR, true)]);
    assert_eq!(changes(3, &cut(1, "link")), [(100, NEAR, false), (150, NEAR, true)]);
    let both = [(100, NEAR, false), (100, FAR, false), (150, NEAR, true), (150, FAR, true)];
    assert_eq!(changes(1, &cut(1, "link")), both);
    // Between routers, and without this signal.
    assert_eq!(changes(3, &cut(2, "link")), []);
    assert_eq!(changes(3, &cut(3, "none")), []);
}
