//! Kernels' packets as the network sees them, and the changes of the network in their bytes.

use std::net::{IpAddr, Ipv6Addr};

use driftway_base::{Ecn, Ipv4Addr};
use driftway_net::OPAQUE_STREAM;
use driftway_net::addresses::is_of_many;
use driftway_wire::{
    Body, DecodeError, ETHERNET_HEADER_LEN, EtherType, EthernetFrame, IPV4_HEADER_LEN,
    IPV6_HEADER_LEN, IcmpMessage, IpHeader, IpOptions, Ipv6Packet, Packet, Payload, QuotedPacket,
    UdpDatagram, UnreachableCode, edit_header, edit_ipv6_header,
};

/// Payload stream of kernels' packets, whose offset is the packet's number.
pub const KERNEL_STREAM: u32 = OPAQUE_STREAM - 1;

/// Protocol numbers.
const ICMP: u8 = 1;
const UDP: u8 = 17;
/// Types of ICMP messages that are no errors.
const ECHO_REPLY: u8 = 0;
const ECHO: u8 = 8;
/// UDP header (bytes).
const UDP_HEADER_LEN: u32 = 8;
/// Offset of the checksum in an IPv4 header.
const IP_CHECKSUM: usize = 10;
/// Destination, as the network sees it, of an IPv6 packet for a group: all systems of the link (RFC 1112).
const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// Bytes by which the header of IPv6 is longer than that of IPv4: options, as the network sees it.
const IPV6_SURPLUS: [u8; 20] = [0; (IPV6_HEADER_LEN - IPV4_HEADER_LEN) as usize];

/// A packet of a kernel, not yet numbered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelPacket {
    /// The packet without a number. That of an IPv6 packet has the addresses of nodes only
    /// [between](Self::between) these.
    packet: Packet,
    /// Its source and its destination.
    ends: (IpAddr, IpAddr),
    /// Its length (bytes); more bytes may follow.
    pub len: usize,
}

impl KernelPacket {
    /// Reads a packet; `None` if it is neither IPv4 nor IPv6.
    ///
    /// The network sees TCP, UDP, and ICMP echo messages. Of fragments, other messages and other
    /// protocols it sees only the IP header, and of messages of routing too: those of a kernel are
    /// not those of the network's routing.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if is_ipv6(bytes) {
            return Self::read_ipv6(bytes);
        }
        let (ip, len) = IpHeader::decode(bytes).ok()?;
        let packet = match Packet::decode(bytes) {
            Ok(decoded) => seen(decoded.packet, len.into()),
            Err(DecodeError::Version(_) | DecodeError::HeaderChecksum) => return None,
            Err(_) => None,
        };
        let packet = packet.unwrap_or_else(|| opaque(ip, len.into(), OPAQUE_STREAM));
        let ends = (ip.source.into(), ip.destination.into());
        Some(Self { packet, ends, len: len.into() })
    }

    /// The network sees an IPv6 packet as one of IPv4 between the same nodes, of the same length and with the same
    /// upper layer. Its errors are [translated](super::ipv6_errors).
    fn read_ipv6(bytes: &[u8]) -> Option<Self> {
        let decoded = Ipv6Packet::decode(bytes).ok()?;
        let header = decoded.header;
        let is_group = header.destination.is_multicast();
        let destination = if is_group { ALL_SYSTEMS } else { Ipv4Addr::UNSPECIFIED };
        let ip = IpHeader {
            ttl: header.hop_limit,
            ecn: header.ecn,
            dscp: header.dscp,
            options: IpOptions::new(&IPV6_SURPLUS)?,
            ..IpHeader::new(Ipv4Addr::UNSPECIFIED, destination)
        };
        let body = decoded.body().ok();
        let packet = body.and_then(|(body, _)| seen(Packet { ip, body }, decoded.len));
        let stream = if decoded.permits_errors() { KERNEL_STREAM } else { OPAQUE_STREAM };
        let packet = packet.unwrap_or_else(|| opaque(ip, decoded.len, stream));
        let ends = (header.source.into(), header.destination.into());
        Some(Self { packet, ends, len: decoded.len as usize })
    }

    /// The destination.
    pub fn destination(&self) -> IpAddr {
        self.ends.1
    }

    /// The source.
    pub fn source(&self) -> IpAddr {
        self.ends.0
    }

    /// Returns true for a packet to several hosts.
    pub fn is_for_many(&self) -> bool {
        match self.destination() {
            IpAddr::V4(address) => is_of_many(address),
            IpAddr::V6(address) => address.is_multicast(),
        }
    }

    /// The packet as the network sees it between nodes of other addresses; its bytes keep theirs.
    pub fn between(mut self, source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        (self.packet.ip.source, self.packet.ip.destination) = (source, destination);
        self
    }

    /// The packet from another address; its bytes keep theirs.
    pub fn from(self, source: Ipv4Addr) -> Self {
        self.between(source, self.packet.ip.destination)
    }

    /// The packet with a number.
    pub fn numbered(mut self, number: u64) -> Packet {
        if let Some(payload) = payload_mut(&mut self.packet.body) {
            payload.offset = number;
        }
        self.packet
    }
}

/// A frame as the network sees it: what is in it if that is IP, else only its length. No error is sent about it.
pub fn seen_frame(frame: &EthernetFrame<'_>) -> KernelPacket {
    let is_ip = [EtherType::IPV4, EtherType::IPV6].contains(&frame.ether_type);
    let packet = Some(frame.payload).filter(|_| is_ip).and_then(KernelPacket::read);
    let unspecified = Ipv4Addr::UNSPECIFIED;
    let mut packet = packet.unwrap_or_else(|| {
        let ip = IpHeader::new(unspecified, unspecified);
        let len = frame.payload.len();
        let packet = opaque(ip, len as u32, OPAQUE_STREAM);
        KernelPacket { packet, ends: (unspecified.into(), unspecified.into()), len }
    });
    if let Some(payload) = payload_mut(&mut packet.packet.body) {
        payload.stream = OPAQUE_STREAM;
    }
    let ip = &mut packet.packet.ip;
    ip.destination = if frame.destination.is_group() { ALL_SYSTEMS } else { unspecified };
    packet
}

/// Sets the Congestion Experienced codepoint of the packet of IP in a frame; does nothing to another frame.
pub fn write_congestion(frame: &mut [u8]) {
    let is_ip = EthernetFrame::decode(frame)
        .is_ok_and(|frame| [EtherType::IPV4, EtherType::IPV6].contains(&frame.ether_type));
    let Some(packet) = frame.get_mut(ETHERNET_HEADER_LEN..).filter(|_| is_ip) else { return };
    let at = if is_ipv6(packet) { 7 } else { 8 };
    if let Some(hops) = packet.get(at).copied() {
        rewrite(packet, hops, Ecn::Ce);
    }
}

/// Returns true for bytes of IPv6.
pub fn is_ipv6(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| byte >> 4 == 6)
}

/// Returns true for an address that is not forwarded (RFC 4291 §2.5.6).
pub const fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

/// Returns the error that a node sends about a packet to an address of nobody; `None` where none may be sent
/// (RFC 1122 §3.2.2): about errors, fragments other than the first, multicast and broadcast.
pub fn unreachable_error(node: Ipv4Addr, bytes: &[u8]) -> Option<Packet> {
    let (ip, len) = IpHeader::decode(bytes).ok()?;
    let header = IPV4_HEADER_LEN as usize + ip.options.as_slice().len();
    let behind = bytes.get(header..len.into())?;
    let is_later_fragment = u16::from_be_bytes([bytes[6], bytes[7]]) & 0x1fff != 0;
    let is_about_error = bytes[9] == ICMP && !matches!(behind.first(), Some(&(ECHO | ECHO_REPLY)));
    let to = ip.destination;
    let is_from_one = !ip.source.is_unspecified() && !ip.source.is_multicast();
    if is_later_fragment || is_about_error || is_of_many(to) || !is_from_one {
        return None;
    }
    let quoted = QuotedPacket {
        source: ip.source,
        destination: to,
        protocol: bytes[9],
        total_len: len,
        identification: ip.identification,
        ttl: ip.ttl,
        tos: bytes[1],
        dont_fragment: ip.dont_fragment,
        transport_head: *behind.first_chunk()?,
    };
    let message = IcmpMessage::Unreachable { code: UnreachableCode::Host, quoted };
    Some(Packet { ip: IpHeader::new(node, ip.source), body: Body::Icmp(message) })
}

/// Returns the number of a packet, if it is a kernel's.
pub fn number(packet: &Packet) -> Option<u64> {
    let payload = packet.payload();
    matches!(payload.stream, KERNEL_STREAM | OPAQUE_STREAM).then_some(payload.offset)
}

/// Returns true for an ICMP error about a packet of which only the IP header was seen.
pub fn is_about_opaque(packet: &Packet) -> bool {
    let Body::Icmp(message) = &packet.body else { return false };
    // No kernel sends datagrams from port 0 to port 0.
    message.quoted().is_some_and(|quoted| quoted.protocol == UDP && quoted.ports() == (0, 0))
}

/// A decoded packet with a payload for its number. Its length is that of the real packet: what is not
/// decoded, such as unknown TCP options, is added to the payload. `None` if the network is not to
/// see it.
fn seen(mut packet: Packet, len: u32) -> Option<Packet> {
    let missing = len.checked_sub(packet.len())?;
    let payload = payload_mut(&mut packet.body)?;
    *payload = Payload::new(KERNEL_STREAM, 0, payload.len + missing);
    Some(packet)
}

/// A packet of which only the IP header is seen.
fn opaque(ip: IpHeader, len: u32, stream: u32) -> Packet {
    let headers = IPV4_HEADER_LEN + ip.options.as_slice().len() as u32 + UDP_HEADER_LEN;
    let payload = Payload::new(stream, 0, len.saturating_sub(headers));
    Packet { ip, body: Body::Udp(UdpDatagram { payload, ..UdpDatagram::default() }) }
}

fn payload_mut(body: &mut Body) -> Option<&mut Payload> {
    match body {
        Body::Tcp(segment) => Some(&mut segment.payload),
        Body::Udp(datagram) => Some(&mut datagram.payload),
        Body::Icmp(IcmpMessage::Echo { payload, .. }) => Some(payload),
        Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => None,
    }
}

/// Writes the fields that a network changes into the IP header of `packet`, and updates the checksum of IPv4.
pub fn rewrite(packet: &mut [u8], ttl: u8, ecn: Ecn) {
    if is_ipv6(packet) {
        return edit_ipv6_header(packet, ttl, ecn);
    }
    let Some(tos) = packet.get(1).copied() else { return };
    edit_header(packet, 1, &[tos & 0xfc | ecn.bits()], IP_CHECKSUM);
    edit_header(packet, 8, &[ttl], IP_CHECKSUM);
}

#[cfg(test)]
mod test {
    use driftway_wire::{Icmpv6Message, Ipv6Header};

    use super::*;

    /// Covers nearly all checksums, by the identification.
    #[test]
    fn a_rewritten_header_is_right_and_else_as_it_was() {
        for number in 0..2000_u16 {
            let ip = IpHeader {
                identification: number.wrapping_mul(33),
                ttl: 200,
                dscp: 5,
                ecn: Ecn::Ect0,
                ..IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
            };
            let packet = Packet { ip, body: Body::Udp(UdpDatagram::default()) };
            let mut bytes = [0; 28];
            packet.encode(&mut bytes, |_, _| ()).unwrap();
            let (ttl, ecn) = ((number % 256) as u8, Ecn::from_bits(number as u8));
            rewrite(&mut bytes, ttl, ecn);
            let ip = IpHeader { ttl, ecn, ..ip };
            assert_eq!(Packet::decode(&bytes).unwrap().packet, Packet { ip, ..packet });
        }
        rewrite(&mut [0x45, 0], 1, Ecn::Ce);
    }

    fn encode(packet: &Packet) -> Vec<u8> {
        let mut bytes = vec![0; packet.len() as usize];
        packet.encode(&mut bytes, |_, to| to.fill(7)).unwrap();
        bytes
    }

    fn ip() -> IpHeader {
        IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
    }

    /// TCP, UDP and echo messages are seen as they are; the rest as an IP header of the same length.
    #[test]
    fn the_network_sees_what_it_can_report_on() {
        let payload = Payload::new(0, 0, 9);
        let quoted = driftway_wire::QuotedPacket::of(&Packet {
            ip: ip(),
            body: Body::Udp(UdpDatagram::default()),
        })
        .unwrap();
        let error = IcmpMessage::TimeExceeded { reassembly: false, quoted };
        let echo = IcmpMessage::Echo { reply: false, identifier: 1, sequence: 2, payload };
        let segment = driftway_wire::TcpSegment::default();
        let message = UdpDatagram { destination_port: 654, ..UdpDatagram::default() };
        for (body, is_seen) in [
            (Body::Tcp(segment), true),
            (Body::Tcp(driftway_wire::TcpSegment { payload, ..segment }), true),
            (Body::Udp(UdpDatagram { payload, ..UdpDatagram::default() }), true),
            (Body::Icmp(echo), true),
            (Body::Icmp(error), false),
            (Body::Udp(message), false),
        ] {
            let bytes = encode(&Packet { ip: ip(), body });
            let read = KernelPacket::read(&bytes).unwrap().numbered(77);
            assert_eq!((number(&read), read.len() as usize), (Some(77), bytes.len()), "{body:?}");
            let stream = if is_seen { KERNEL_STREAM } else { OPAQUE_STREAM };
            assert_eq!(read.payload().stream, stream, "{body:?}");
            assert_eq!(read.ip, ip());
        }
    }

    /// An option that is not decoded counts as payload.
    #[test]
    fn the_length_is_that_of_the_real_packet() {
        let segment = Packet { ip: ip(), body: Body::Tcp(driftway_wire::TcpSegment::default()) };
        let mut bytes = encode(&segment);
        // Four bytes of an experimental option (RFC 4727), and the end of the options.
        bytes.extend_from_slice(&[253, 4, 1, 2, 0, 0, 0, 0]);
        bytes[3] += 8;
        bytes[32] += 2 << 4;
        for checksum in [10, 36] {
            bytes[checksum..checksum + 2].fill(0);
        }
        let pseudo = [&bytes[12..20], &[0, 6, 0, 28], &bytes[20..]].concat();
        let (header, transport) = (checksum(&bytes[..20]), checksum(&pseudo));
        bytes[10..12].copy_from_slice(&header);
        bytes[36..38].copy_from_slice(&transport);
        let read = KernelPacket::read(&bytes).unwrap().numbered(1);
        assert!(matches!(read.body, Body::Tcp(_)), "{read:?}");
        assert_eq!((read.len(), read.payload().len), (48, 8));
    }

    /// The upper layer of IPv6 is seen, in a packet of the same length; of other messages the header only.
    #[test]
    fn the_network_sees_ipv6_as_ipv4() {
        let [a, b] = [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last));
        let header = Ipv6Header { hop_limit: 9, ecn: Ecn::Ect0, ..Ipv6Header::new(a, b) };
        let mut bytes = [0; 200];
        let segment = driftway_wire::TcpSegment { source_port: 7, ..Default::default() };
        let len = header.encode_segment(&segment, b"abc", &mut bytes).unwrap();
        let read = KernelPacket::read(&bytes).unwrap();
        assert_eq!((read.source(), read.destination()), (a.into(), b.into()));
        let packet = read.between(ip().source, ip().destination).numbered(5);
        assert_eq!((packet.len() as usize, number(&packet)), (len, Some(5)));
        assert_eq!((packet.ip.ttl, packet.ip.ecn, read.is_for_many()), (9, Ecn::Ect0, false));
        let Body::Tcp(seen) = packet.body else { panic!("{packet:?}") };
        assert_eq!((seen.source_port, seen.payload.len), (7, 3));
        rewrite(&mut bytes, 8, Ecn::Ce);
        let changed = Ipv6Packet::decode(&bytes).unwrap();
        assert_eq!((changed.header.hop_limit, changed.header.ecn), (8, Ecn::Ce));
        assert!(changed.body().is_ok());
        let error = Icmpv6Message::TimeExceeded { reassembly: false, quoted: &[0; 50] };
        let len = error.encode(&header, &mut bytes).unwrap();
        let packet = KernelPacket::read(&bytes).unwrap().numbered(6);
        assert_eq!(packet.payload().stream, OPAQUE_STREAM);
        assert_eq!((packet.len() as usize, number(&packet)), (len, Some(6)));
        let group = Ipv6Header { destination: "ff02::fb".parse().unwrap(), ..header };
        group.encode_segment(&segment, b"", &mut bytes).unwrap();
        let read = KernelPacket::read(&bytes).unwrap();
        assert!(read.is_for_many() && is_of_many(read.numbered(1).ip.destination));
        assert_eq!(KernelPacket::read(&bytes[..50]), None);
    }

    fn checksum(bytes: &[u8]) -> [u8; 2] {
        let words = bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let mut sum: u32 = words.sum();
        sum = (sum & 0xffff) + (sum >> 16);
        (!(((sum & 0xffff) + (sum >> 16)) as u16)).to_be_bytes()
    }
}
