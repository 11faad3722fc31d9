//! Ethernet frames, and broadcasts of hosts that have no address yet.

use driftway_wire::{EtherType, EthernetFrame, HardwareAddr};

use super::*;

fn hardware(node: u32) -> HardwareAddr {
    HardwareAddr::of_node(NodeId::new(node))
}

fn frame(from: HardwareAddr, to: HardwareAddr, ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
    let frame = EthernetFrame { destination: to, source: from, ether_type, payload };
    [&frame.header(), payload].concat()
}

/// Kernels at all nodes of a path.
fn ethernet(hops: u32, link: &str) -> EmulatedNetwork {
    let text = format!(
        "name = \"m\"\nduration = \"100 s\"\n[[flow]]\nfrom = 0\nto = 1\napplication = \"ftp\"\n\
         [network]\nkind = \"path\"\nhops = {hops}\nlink = {{ rate = \"10 Mbit/s\", delay = \"10 ms\"{link} }}\n"
    );
    let scenario = Scenario::parse("m.toml", &text, &[]).unwrap();
    let nodes: Vec<NodeId> = (0..=hops).map(NodeId::new).collect();
    let mut network = EmulatedNetwork::new(&scenario, 1, &nodes).unwrap();
    network.carry_frames();
    network
}

/// The kernels at which frames leave, with the frames.
fn arrivals(network: &mut EmulatedNetwork, until: u64) -> Vec<(usize, Vec<u8>)> {
    leaves(network, at(until)).into_iter().map(|(kernel, _, bytes)| (kernel, bytes)).collect()
}

#[test]
fn frames_reach_the_neighbour_and_are_not_changed() {
    let mut network = ethernet(3, "");
    let packet = encode(&segment(1, 3));
    let bytes = frame(hardware(1), hardware(2), EtherType::IPV4, &packet);
    network.offer(at(0), 1, &bytes);
    assert_eq!(leaves(&mut network, at(100)), [(2, 11_000, bytes)]);
    // Nobody forwards to others, and nothing is reported: it was a frame.
    network.offer(at(100), 1, &frame(hardware(1), hardware(3), EtherType::IPV4, &packet));
    assert_eq!(arrivals(&mut network, 200), []);
    assert_eq!(network.counts().drops, BTreeMap::from([("unknown-destination", 1)]));
    network.offer(at(200), 1, &[1, 2, 3]);
    assert_eq!(network.counts().not_ip, 1);
}

#[test]
fn group_frames_reach_all_neighbours() {
    let mut network = ethernet(3, "");
    let bytes = frame(hardware(1), HardwareAddr::BROADCAST, EtherType::ARP, &[0; 28]);
    assert!(network.offer(at(0), 1, &bytes));
    assert_eq!(arrivals(&mut network, 100), [(0, bytes.clone()), (2, bytes)]);
    // A solicitation of the kernel is no sign of a program.
    let header =
        driftway_wire::Ipv6Header::new(Ipv6Addr::UNSPECIFIED, "ff02::1:ff00:1".parse().unwrap());
    let message =
        driftway_wire::Icmpv6Message::NeighbourSolicitation { target: "fd00::1".parse().unwrap() };
    let mut packet = [0; 100];
    let len = message.encode(&header, &mut packet).unwrap();
    let group = HardwareAddr([0x33, 0x33, 0xff, 0, 0, 1]);
    assert!(!network.offer(
        at(100),
        1,
        &frame(hardware(1), group, EtherType::IPV6, &packet[..len])
    ));
    assert_eq!(arrivals(&mut network, 200).len(), 2);
}

/// Addresses are learned where frames enter; those of nodes cannot be taken.
#[test]
fn hardware_addresses_are_learned() {
    let mut network = ethernet(1, "");
    let other = HardwareAddr([2, 0x42, 7, 7, 7, 7]);
    let to_other = frame(hardware(0), other, EtherType::IPV6, &[9; 60]);
    network.offer(at(0), 0, &to_other);
    assert_eq!(arrivals(&mut network, 50), []);
    network.offer(at(50), 1, &frame(other, HardwareAddr::BROADCAST, EtherType::ARP, &[0; 28]));
    network.offer(at(60), 0, &to_other);
    let learned = arrivals(&mut network, 100);
    assert_eq!(learned.last(), Some(&(1, to_other)));
    network.offer(at(100), 1, &frame(hardware(0), hardware(1), EtherType::ARP, &[0; 28]));
    let to_first = frame(hardware(1), hardware(0), EtherType::ARP, &[0; 28]);
    network.offer(at(110), 1, &to_first);
    assert_eq!(arrivals(&mut network, 200), [(0, to_first)]);
}

#[test]
fn queues_mark_packets_in_frames() {
    let mut network = ethernet(1, ", queue = { packets = 10, ecn_threshold = 2 }");
    for _ in 0..6 {
        let packet = encode(&segment(0, 1));
        network.offer(at(0), 0, &frame(hardware(0), hardware(1), EtherType::IPV4, &packet));
    }
    let out = arrivals(&mut network, 100);
    let ecn = |(_, bytes): &(usize, Vec<u8>)| Packet::decode(&bytes[14..]).unwrap().packet.ip;
    let marked: Vec<_> = out.iter().map(ecn).map(|ip| (ip.ecn, ip.ttl)).collect();
    assert_eq!(marked, [&[(Ecn::Ect0, 64); 3][..], &[(Ecn::Ce, 64); 3]].concat());
}

/// DHCP (RFC 2131 §4.1): from no address to all.
#[test]
fn a_host_without_an_address_reaches_its_neighbours() {
    let mut medium = medium(1, "", "");
    let ip = IpHeader::new(Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST);
    let datagram = driftway_wire::UdpDatagram {
        source_port: 68,
        destination_port: 67,
        payload: Payload::new(0, 0, 300),
    };
    let bytes = encode(&Packet { ip, body: Body::Udp(datagram) });
    medium.offer(at(0), NEAR, &bytes);
    assert_eq!(
        leaves(&mut medium, at(100)).pop().map(|(end, _, bytes)| (end, bytes)),
        Some((FAR, bytes))
    );
}
