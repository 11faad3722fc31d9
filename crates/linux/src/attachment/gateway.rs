//! A network of IP behind an Ethernet interface: it has one hardware address, and answers for all its nodes.

use std::collections::VecDeque;
use std::net::Ipv6Addr;

use driftway_base::Ipv4Addr;
use driftway_net::addresses::is_of_many;
use driftway_wire::{
    ArpMessage, ArpOperation, EtherType, EthernetFrame, HardwareAddr, Icmpv6Message, Ipv6Header,
    Ipv6Packet,
};

/// Packets that wait for the hardware address of the node (RFC 1122 §2.3.2.2: at least one).
const WAITING_MAX: usize = 16;
/// Hop limit of neighbour discovery (RFC 4861 §7.1).
const HOP_LIMIT: u8 = 255;
const ICMPV6: u8 = 58;
/// Messages of ICMPv6 that are for the link alone: of listeners to groups (RFC 2710, RFC 3810), and of neighbour
/// discovery (RFC 4861).
const OF_LINK: [u8; 9] = [130, 131, 132, 133, 134, 135, 136, 137, 143];

/// The network's end of the link to a node.
#[derive(Debug)]
pub struct Gateway {
    own: HardwareAddr,
    /// The node's addresses, for which the gateway does not answer.
    node: Ipv4Addr,
    node_ipv6: [Ipv6Addr; 2],
    /// The node's hardware address, from the last frame; `None` before the first.
    peer: Option<HardwareAddr>,
    waiting: VecDeque<Vec<u8>>,
}

/// The consequences of a frame of the node.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Its packet, for the network.
    pub packet: Option<Vec<u8>>,
    /// Frames for the node.
    pub frames: Vec<Vec<u8>>,
}

impl Gateway {
    /// Creates the end with a hardware address of its own, of a link to a node with these addresses.
    pub fn new(own: HardwareAddr, node: Ipv4Addr, node_ipv6: [Ipv6Addr; 2]) -> Self {
        Self { own, node, node_ipv6, peer: None, waiting: VecDeque::new() }
    }

    /// Handles a frame of the node.
    pub fn on_frame(&mut self, frame: &EthernetFrame<'_>) -> Answer {
        let mut answer = Answer::default();
        if frame.source.is_group() {
            return answer;
        }
        self.peer = Some(frame.source);
        let waiting = std::mem::take(&mut self.waiting);
        answer.frames.extend(waiting.iter().map(|packet| self.frame(packet)));
        if !frame.destination.is_group() && frame.destination != self.own {
            return answer;
        }
        match frame.ether_type {
            EtherType::ARP => answer.frames.extend(self.answer_arp(frame.payload)),
            EtherType::IPV4 => answer.packet = Some(frame.payload.to_vec()),
            EtherType::IPV6 => match Ipv6Packet::decode(frame.payload) {
                Ok(packet) if is_of_link(&packet) => {
                    answer.frames.extend(self.answer_solicitation(&packet));
                }
                Ok(packet) => answer.packet = Some(frame.payload[..packet.len as usize].to_vec()),
                Err(_) => {}
            },
            _ => {}
        }
        answer
    }

    /// The frame that brings a packet to the node; while its hardware address is unknown, a request for that.
    pub fn frame(&mut self, packet: &[u8]) -> Vec<u8> {
        let (destination, ether_type) = match packet.first().map(|first| first >> 4) {
            Some(6) => (group_of_ipv6(packet), EtherType::IPV6),
            _ => (group_of_ipv4(packet), EtherType::IPV4),
        };
        if let Some(destination) = destination.or(self.peer) {
            return self.encode(destination, ether_type, packet);
        }
        if self.waiting.len() == WAITING_MAX {
            self.waiting.pop_front();
        }
        self.waiting.push_back(packet.to_vec());
        // RFC 5227 §2.1.1: a probe, since the network has no address of its own.
        let probe = ArpMessage {
            operation: ArpOperation::Request,
            sender_hardware: self.own,
            sender: Ipv4Addr::UNSPECIFIED,
            target_hardware: HardwareAddr::default(),
            target: self.node,
        };
        self.encode(HardwareAddr::BROADCAST, EtherType::ARP, &probe.encode())
    }

    fn answer_arp(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let request = ArpMessage::decode(payload).ok()?;
        let is_request = request.operation == ArpOperation::Request;
        if !is_request || request.target == self.node || request.target == request.sender {
            return None;
        }
        let reply = ArpMessage {
            operation: ArpOperation::Reply,
            sender_hardware: self.own,
            sender: request.target,
            target_hardware: request.sender_hardware,
            target: request.sender,
        };
        Some(self.encode(request.sender_hardware, EtherType::ARP, &reply.encode()))
    }

    fn answer_solicitation(&self, packet: &Ipv6Packet<'_>) -> Option<Vec<u8>> {
        let Ok(Icmpv6Message::NeighbourSolicitation { target }) = packet.icmp() else {
            return None;
        };
        let source = packet.header.source;
        // The node may ask whether its own address is taken (RFC 4862 §5.4).
        if source.is_unspecified() || self.node_ipv6.contains(&target) || target == source {
            return None;
        }
        let header = Ipv6Header { hop_limit: HOP_LIMIT, ..Ipv6Header::new(target, source) };
        let mut bytes = [0; 100];
        let advertisement = Icmpv6Message::NeighbourAdvertisement { target, hardware: self.own };
        let len = advertisement.encode(&header, &mut bytes).ok()?;
        Some(self.encode(self.peer?, EtherType::IPV6, &bytes[..len]))
    }

    fn encode(&self, destination: HardwareAddr, ether_type: EtherType, payload: &[u8]) -> Vec<u8> {
        let frame = EthernetFrame { destination, source: self.own, ether_type, payload };
        [&frame.header(), payload].concat()
    }
}

fn is_of_link(packet: &Ipv6Packet<'_>) -> bool {
    packet.protocol == Some(ICMPV6)
        && packet.upper.first().is_some_and(|kind| OF_LINK.contains(kind))
}

/// The hardware address of a packet's group (RFC 1112 §6.4); `None` if it is for one host.
fn group_of_ipv4(packet: &[u8]) -> Option<HardwareAddr> {
    let to: [u8; 4] = *packet.get(16..)?.first_chunk()?;
    let address = Ipv4Addr::from(to);
    let [_, b, c, d] = to;
    match address.is_multicast() {
        true => Some(HardwareAddr([0x01, 0, 0x5e, b & 0x7f, c, d])),
        false => is_of_many(address).then_some(HardwareAddr::BROADCAST),
    }
}

/// The same of IPv6 (RFC 2464 §7).
fn group_of_ipv6(packet: &[u8]) -> Option<HardwareAddr> {
    let to: [u8; 16] = *packet.get(24..)?.first_chunk()?;
    let [.., a, b, c, d] = to;
    Ipv6Addr::from(to).is_multicast().then_some(HardwareAddr([0x33, 0x33, a, b, c, d]))
}

#[cfg(test)]
#[path = "gateway/test.rs"]
mod test;
