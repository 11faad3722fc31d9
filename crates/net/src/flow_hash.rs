//! Hash of a packet's flow, for queues that are fair to flows.

use driftway_wire::{Body, Packet};

/// Hash of protocol, addresses and ports (RFC 8290 §4.1.1): FNV-1a. Packets without ports are separated by
/// the rest.
pub(crate) fn flow_hash(packet: &Packet) -> u32 {
    const OFFSET_BASIS: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    let (from, to) = match &packet.body {
        Body::Tcp(segment) => (segment.source_port, segment.destination_port),
        Body::Udp(datagram) => (datagram.source_port, datagram.destination_port),
        Body::Icmp(_) | Body::Aodv(_) | Body::Control(_) | Body::NoNextHeader => (0, 0),
    };
    let addresses = [packet.ip.source, packet.ip.destination].map(|address| address.octets());
    let ports = [from, to].map(u16::to_be_bytes);
    let bytes = addresses.iter().flatten().chain(ports.iter().flatten());
    bytes.fold((OFFSET_BASIS ^ u32::from(packet.protocol())).wrapping_mul(PRIME), |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod test {
    use super::*;
    use driftway_base::{Ipv4Addr, Seq};
    use driftway_wire::{IpHeader, Payload, TcpSegment, UdpDatagram};

    fn segment(source_port: u16, seq: u32) -> Packet {
        let ip = IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let segment = TcpSegment { source_port, seq: Seq(seq), ..TcpSegment::default() };
        Packet { ip, body: Body::Tcp(segment) }
    }

    #[test]
    fn packets_of_a_connection_have_one_hash_and_others_have_others() {
        let one = flow_hash(&segment(4000, 1));
        assert_eq!(flow_hash(&segment(4000, 77_777)), one);
        assert_ne!(flow_hash(&segment(4001, 1)), one);
        let mut other = segment(4000, 1);
        other.ip.destination = Ipv4Addr::new(10, 0, 0, 3);
        assert_ne!(flow_hash(&other), one);
        let payload = Payload::new(0, 0, 100);
        let body = Body::Udp(UdpDatagram { source_port: 4000, destination_port: 0, payload });
        assert_ne!(flow_hash(&Packet { body, ..segment(4000, 1) }), one);
    }
}
