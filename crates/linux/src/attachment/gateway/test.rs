//! The network's end of a link, frame by frame.

use driftway_wire::{Body, IpHeader, Packet, Payload, UdpDatagram};

use super::*;

const OWN: HardwareAddr = HardwareAddr([2, 0, 0, 0, 0, 4]);
const PEER: HardwareAddr = HardwareAddr([8, 8, 7, 6, 5, 4]);
const NODE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn gateway() -> Gateway {
    Gateway::new(OWN, NODE, ["fd00::5".parse().unwrap(), "fe80::5".parse().unwrap()])
}

fn packet(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let datagram = UdpDatagram { payload: Payload::new(0, 0, 9), ..UdpDatagram::default() };
    let packet = Packet { ip: IpHeader::new(from, to), body: Body::Udp(datagram) };
    let mut bytes = vec![0; packet.len() as usize];
    packet.encode(&mut bytes, Payload::fill_pattern).unwrap();
    bytes
}

fn request(target: Ipv4Addr, sender: Ipv4Addr) -> [u8; 28] {
    let message = ArpMessage {
        operation: ArpOperation::Request,
        sender_hardware: PEER,
        sender,
        target_hardware: HardwareAddr::default(),
        target,
    };
    message.encode()
}

/// Returns the consequences of a frame of the node to this address.
fn after(
    gateway: &mut Gateway,
    destination: HardwareAddr,
    kind: EtherType,
    payload: &[u8],
) -> Answer {
    gateway.on_frame(&EthernetFrame { destination, source: PEER, ether_type: kind, payload })
}

#[test]
fn arp_is_answered_for_all_but_the_node_itself() {
    let mut gateway = gateway();
    let mut ask = |target, sender| {
        after(&mut gateway, HardwareAddr::BROADCAST, EtherType::ARP, &request(target, sender))
            .frames
    };
    assert_eq!(ask(NODE, Ipv4Addr::UNSPECIFIED), [[0; 0]; 0], "a probe for its own address");
    assert_eq!(ask(OTHER, OTHER), [[0; 0]; 0], "an announcement");
    let frames = ask(OTHER, NODE);
    let [frame] = &frames[..] else { panic!("{frames:?}") };
    let frame = EthernetFrame::decode(frame).unwrap();
    assert_eq!((frame.destination, frame.source), (PEER, OWN));
    let reply = ArpMessage::decode(frame.payload).unwrap();
    assert_eq!((reply.sender, reply.sender_hardware, reply.target), (OTHER, OWN, NODE));
}

#[test]
fn solicitations_are_answered_and_kept_from_the_network() {
    let mut gateway = gateway();
    let mut ask = |source: &str, target: &str| {
        let target = target.parse().unwrap();
        let header = Ipv6Header::new(source.parse().unwrap(), "ff02::1:ff00:1".parse().unwrap());
        let mut bytes = [0; 100];
        let message = Icmpv6Message::NeighbourSolicitation { target };
        let len = message.encode(&header, &mut bytes).unwrap();
        let group = HardwareAddr([0x33, 0x33, 0xff, 0, 0, 1]);
        let answer = after(&mut gateway, group, EtherType::IPV6, &bytes[..len]);
        assert_eq!(answer.packet, None);
        answer.frames
    };
    assert_eq!(ask("::", "fd00::5"), [[0; 0]; 0]);
    assert_eq!(ask("fe80::5", "fd00::5"), [[0; 0]; 0]);
    let frames = ask("fd00::5", "fd00::1");
    let [frame] = &frames[..] else { panic!("{frames:?}") };
    let packet = Ipv6Packet::decode(&frame[14..]).unwrap();
    assert_eq!(packet.header.hop_limit, 255);
    let target = "fd00::1".parse().unwrap();
    let advertisement = Icmpv6Message::NeighbourAdvertisement { target, hardware: OWN };
    assert_eq!(packet.icmp(), Ok(advertisement));
}

#[test]
fn packets_pass_in_frames_to_the_gateway_and_to_groups() {
    let mut gateway = gateway();
    let bytes = packet(NODE, OTHER);
    for (destination, passes) in [(OWN, true), (HardwareAddr::BROADCAST, true), (PEER, false)] {
        let answer = after(&mut gateway, destination, EtherType::IPV4, &bytes);
        assert_eq!(answer.packet.is_some(), passes, "{destination}");
    }
    assert_eq!(after(&mut gateway, OWN, EtherType::IPV6, &bytes), Answer::default());
    assert_eq!(after(&mut gateway, OWN, EtherType(0x88cc), &bytes), Answer::default());
}

#[test]
fn packets_wait_for_the_hardware_address() {
    let mut gateway = gateway();
    let to_node = packet(OTHER, NODE);
    for _ in 0..20 {
        let probe = gateway.frame(&to_node);
        let probe = EthernetFrame::decode(&probe).unwrap();
        assert_eq!(probe.destination, HardwareAddr::BROADCAST);
        let probe = ArpMessage::decode(probe.payload).unwrap();
        assert_eq!((probe.sender, probe.target), (Ipv4Addr::UNSPECIFIED, NODE));
    }
    // A group needs no address.
    for (to, hardware) in [
        ([224, 0, 0, 251], [0x01, 0, 0x5e, 0, 0, 251]),
        ([239, 200, 3, 4], [0x01, 0, 0x5e, 72, 3, 4]),
        ([255; 4], [0xff; 6]),
        ([10, 255, 255, 255], [0xff; 6]),
    ] {
        let frame = gateway.frame(&packet(OTHER, to.into()));
        assert_eq!(EthernetFrame::decode(&frame).unwrap().destination.0, hardware);
    }
    let answer = after(&mut gateway, OWN, EtherType::IPV4, &packet(NODE, OTHER));
    assert_eq!(answer.frames.len(), WAITING_MAX);
    let frame = EthernetFrame::decode(&answer.frames[0]).unwrap();
    assert_eq!((frame.destination, frame.payload), (PEER, &to_node[..]));
    assert_eq!(gateway.frame(&to_node), answer.frames[0]);
}
