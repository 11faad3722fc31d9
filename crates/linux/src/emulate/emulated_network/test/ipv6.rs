//! Packets of IPv6.

use driftway_wire::{Icmpv6Message, Icmpv6Unreachable, Ipv6Header, Ipv6Packet};

use super::*;

/// The global and the link-local address of the node of this number.
fn addresses(node: u32) -> [Ipv6Addr; 2] {
    ipv6_addresses(NodeId::new(node))
}

fn header(from: u32, to: u32) -> Ipv6Header {
    Ipv6Header::new(addresses(from)[0], addresses(to)[0])
}

/// A segment of 1250 bytes, header included.
fn segment6(header: Ipv6Header) -> Vec<u8> {
    let segment = TcpSegment {
        source_port: 1,
        destination_port: 2,
        flags: TcpFlags::ACK,
        ..TcpSegment::default()
    };
    let mut bytes = vec![0; 1250];
    assert_eq!(header.encode_segment(&segment, &[7; 1190], &mut bytes), Ok(1250));
    bytes
}

/// The source and the message of the only packet that leaves at the near end.
fn only_message(out: &[(usize, u64, Vec<u8>)]) -> (Ipv6Addr, Icmpv6Message<'_>) {
    let [(NEAR, _, bytes)] = out else { panic!("{out:?}") };
    let packet = Ipv6Packet::decode(bytes).unwrap();
    assert_eq!(packet.header.destination, addresses(0)[0]);
    (packet.header.source, packet.icmp().unwrap())
}

#[test]
fn ipv6_takes_the_configured_time_and_loses_hops() {
    let mut medium = medium(3, "", "");
    medium.offer(at(5), NEAR, &segment6(header(0, 3)));
    let arrived = segment6(Ipv6Header { hop_limit: 62, ..header(0, 3) });
    assert_eq!(leaves(&mut medium, at(100)), [(FAR, 38_000, arrived)]);
}

#[test]
fn routers_report_expired_hop_limits_and_quote_the_packet() {
    let mut medium = medium(3, "", "");
    let short = Ipv6Header { hop_limit: 2, ..header(0, 3) };
    medium.offer(at(0), NEAR, &segment6(short));
    let out = leaves(&mut medium, at(100));
    let (source, message) = only_message(&out);
    let Icmpv6Message::TimeExceeded { reassembly: false, quoted } = message else {
        panic!("{message:?}")
    };
    assert_eq!(source, addresses(2)[0]);
    let expected = segment6(Ipv6Header { hop_limit: 0, ..short });
    assert_eq!(quoted, &expected[..1280 - 48]);
    assert_eq!(medium.counts().icmp_from_routers, 1);
    // RFC 4443 §2.4: no error about an error.
    let error = Icmpv6Message::TimeExceeded { reassembly: false, quoted: &[1; 60] };
    let mut bytes = vec![0; 200];
    let len = error.encode(&short, &mut bytes).unwrap();
    medium.offer(at(100), NEAR, &bytes[..len]);
    assert_eq!(leaves(&mut medium, at(200)), []);
    assert_eq!(medium.counts().drops["time-to-live"], 2);
}

#[test]
fn routers_report_a_cut_link() {
    let mut medium = medium(3, CUT, "");
    medium.offer(at(60), NEAR, &segment6(header(0, 3)));
    let out = leaves(&mut medium, at(149));
    let (source, message) = only_message(&out);
    let is_unreachable =
        matches!(message, Icmpv6Message::Unreachable { code: Icmpv6Unreachable::Address, .. });
    assert!(is_unreachable, "{message:?}");
    assert_eq!(source, addresses(1)[0]);
    medium.offer(at(151), NEAR, &segment6(header(0, 3)));
    assert_eq!(leaves(&mut medium, at(300)).len(), 1, "it heals");
}

#[test]
fn routers_answer_echo_requests_and_reset_connections() {
    let mut medium = medium(3, "", "");
    let echo = Icmpv6Message::Echo { reply: false, identifier: 4, sequence: 5, data: b"hello" };
    let mut bytes = vec![0; 200];
    let len = echo.encode(&header(0, 2), &mut bytes).unwrap();
    medium.offer(at(0), NEAR, &bytes[..len]);
    let out = leaves(&mut medium, at(100));
    let reply = Icmpv6Message::Echo { reply: true, identifier: 4, sequence: 5, data: b"hello" };
    assert_eq!(only_message(&out), (addresses(2)[0], reply));
    medium.offer(at(100), NEAR, &segment6(header(0, 2)));
    let out = leaves(&mut medium, at(200));
    let [(NEAR, _, bytes)] = &out[..] else { panic!("{out:?}") };
    let Ok((Body::Tcp(reset), _)) = Ipv6Packet::decode(bytes).unwrap().body() else { panic!() };
    assert!(reset.flags.contains(TcpFlags::RST));
    assert_eq!((medium.counts().to_routers, medium.counts().icmp_from_routers), (2, 2));
}

#[test]
fn an_address_of_nobody_is_unreachable() {
    let mut medium = medium(1, "", "");
    let nobody = Ipv6Header { destination: "fd00::77".parse().unwrap(), ..header(0, 1) };
    medium.offer(at(0), NEAR, &segment6(nobody));
    let out = leaves(&mut medium, at(100));
    let (source, message) = only_message(&out);
    assert_eq!(source, addresses(0)[0]);
    assert!(matches!(message, Icmpv6Message::Unreachable { code: Icmpv6Unreachable::Address, .. }));
    // A further address has a node.
    medium.add_address(NodeId::new(1), "fd00::77".parse().unwrap()).unwrap();
    medium.offer(at(100), NEAR, &segment6(nobody));
    assert!(matches!(leaves(&mut medium, at(200))[..], [(FAR, ..)]));
    for (wrong, node) in
        [("fd00::2", 0), ("fd00::77", 0), ("fe80::9", 0), ("ff02::1", 0), ("::1", 0)]
    {
        assert!(medium.add_address(NodeId::new(node), wrong.parse().unwrap()).is_err(), "{wrong}");
    }
}

/// Link-local packets reach neighbours, with the hop limit that they had, and nobody else.
#[test]
fn link_local_packets_are_not_forwarded() {
    let mut path = medium(1, "", "");
    let [from, to] = [addresses(0)[1], addresses(1)[1]];
    let local = segment6(Ipv6Header { hop_limit: 1, ..Ipv6Header::new(from, to) });
    path.offer(at(0), NEAR, &local);
    assert_eq!(leaves(&mut path, at(100)), [(FAR, 11_000, local.clone())]);
    for mut path in [medium(2, "", ""), radios(3, "static", MAC)] {
        let far = segment6(Ipv6Header { destination: addresses(2)[1], ..header(0, 2) });
        path.offer(at(0), NEAR, &far);
        let out = leaves(&mut path, at(1000));
        assert!(matches!(only_message(&out).1, Icmpv6Message::Unreachable { .. }));
    }
    let mut air = radios(2, "static", MAC);
    air.offer(at(0), NEAR, &local);
    assert!(matches!(&leaves(&mut air, at(100))[..], [(FAR, _, bytes)] if *bytes == local));
}

/// Without routing each packet, of either version, goes straight to its destination.
#[test]
fn without_routing_packets_reach_nodes_in_range() {
    for (to, arrives) in [(1, true), (2, false)] {
        let mut network = radios(3, "none", &format!("{MAC}\nfeedback = \"none\""));
        network.offer(at(0), NEAR, &segment6(header(0, to)));
        network.offer(at(100), NEAR, &encode(&segment(0, to)));
        // A router in range resets the connections.
        assert_eq!(leaves(&mut network, at(1000)).len(), if arrives { 2 } else { 0 });
        let counts = network.counts();
        let (reached, lost) = (counts.to_routers, counts.drops.get("link-failure").copied());
        assert_eq!((reached, lost), if arrives { (2, None) } else { (0, Some(2)) });
    }
}

#[test]
fn static_routes_over_the_air_carry_ipv6_and_others_refuse_it() {
    let mut medium = radios(3, "static", MAC);
    medium.offer(at(0), NEAR, &segment6(header(0, 2)));
    let arrived = segment6(Ipv6Header { hop_limit: 63, ..header(0, 2) });
    assert!(matches!(&leaves(&mut medium, at(1000))[..], [(FAR, _, bytes)] if *bytes == arrived));
    for routing in ["aodv", "dsr"] {
        let mut medium = radios(3, routing, MAC);
        medium.offer(at(0), NEAR, &segment6(header(0, 2)));
        let out = leaves(&mut medium, at(1000));
        let (source, message) = only_message(&out);
        let is_prohibited = matches!(
            message,
            Icmpv6Message::Unreachable { code: Icmpv6Unreachable::Prohibited, .. }
        );
        assert!(is_prohibited, "{routing}: {message:?}");
        assert_eq!(source, addresses(0)[0]);
        assert_eq!(medium.counts().ipv6_refused, 1);
        assert_eq!(medium.ipv6_node_addresses(), [Ipv6Addr::LOCALHOST; 0]);
        // Multicast needs no route.
        let group = Ipv6Header { destination: "ff02::fb".parse().unwrap(), ..header(0, 2) };
        medium.offer(at(1000), NEAR, &segment6(group));
        leaves(&mut medium, at(2000));
        assert_eq!(medium.counts().ipv6_refused, 1);
    }
}

/// Behind a gateway to AODV: wires carry it, the air does not.
#[test]
fn wires_of_a_mixed_network_carry_ipv6() {
    let text = r#"
        name = "m"
        duration = "100 s"
        [network]
        kind = "mixed"
        nodes = ["host", "router", "gateway", "a"]
        wire = [
            { between = ["host", "router"], rate = "10 Mbit/s", delay = "1 ms" },
            { between = ["router", "gateway"], rate = "10 Mbit/s", delay = "1 ms" },
        ]
        [network.air]
        radios = ["gateway", "a"]
        mobility = { chain = "200 m" }
        routing = "aodv"
        [[flow]]
        from = "host"
        to = "a"
        application = "ftp"
    "#;
    let scenario = Scenario::parse("m.toml", text, &[]).unwrap();
    let mut network = EmulatedNetwork::new(&scenario, 1, &[0, 2].map(NodeId::new)).unwrap();
    network.offer(at(0), NEAR, &segment6(header(0, 2)));
    let arrived = segment6(Ipv6Header { hop_limit: 63, ..header(0, 2) });
    assert!(matches!(&leaves(&mut network, at(100))[..], [(FAR, _, bytes)] if *bytes == arrived));
    network.offer(at(100), NEAR, &segment6(header(0, 3)));
    let out = leaves(&mut network, at(1000));
    let is_prohibited = matches!(
        only_message(&out).1,
        Icmpv6Message::Unreachable { code: Icmpv6Unreachable::Prohibited, .. }
    );
    assert!(is_prohibited && network.counts().ipv6_refused == 1, "{:?}", network.counts());
}
