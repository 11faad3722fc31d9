//! Work that a kernel leaves to hardware when it sends over a virtual interface: checksums, and the segmentation of TCP.

use driftway_wire::{Checksum, ParsedHeader, complete_checksum};

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_HEADER_LEN: usize = 40;
// Flags of TCP that the last segment or the first one has (RFC 9293 §3.1, RFC 3168 §6.1.2).
const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The parts of a packet.
#[derive(Clone, Copy, Debug)]
struct Layout {
    is_ipv6: bool,
    protocol: u8,
    /// Length of the IP header (bytes).
    header: usize,
    /// Length of the packet (bytes).
    len: usize,
}

impl Layout {
    /// `None` for a fragment, extension headers and what is no packet.
    fn of(packet: &[u8]) -> Option<Self> {
        let number =
            |at: usize| Some(usize::from(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?)));
        let first = *packet.first()?;
        let layout = match first >> 4 {
            4 => {
                let ip = ParsedHeader::read(packet).ok().filter(|ip| !ip.is_fragment())?;
                let len = usize::from(ip.total_len);
                Self { is_ipv6: false, protocol: ip.protocol, header: ip.len, len }
            }
            6 => {
                let len = IPV6_HEADER_LEN + number(4)?;
                Self { is_ipv6: true, protocol: *packet.get(6)?, header: IPV6_HEADER_LEN, len }
            }
            _ => return None,
        };
        (layout.header <= layout.len && layout.len <= packet.len()).then_some(layout)
    }

    /// The addresses, for the pseudo-header.
    fn addresses<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        if self.is_ipv6 { &packet[8..40] } else { &packet[12..20] }
    }
}

/// Returns the packets that hardware would send for one: with checksums, and no longer than the MTU (bytes); none for a
/// longer one that is no segment of TCP. What is no packet is returned as it is.
pub fn finish(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    let Some(layout) = Layout::of(packet) else {
        return (packet.len() <= mtu).then(|| packet.to_vec()).into_iter().collect();
    };
    let packet = &packet[..layout.len];
    if packet.len() > mtu {
        return segments(packet, layout, mtu).unwrap_or_default();
    }
    let mut packet = packet.to_vec();
    set_checksum(&mut packet, layout);
    vec![packet]
}

/// Sets the checksum of TCP or UDP.
fn set_checksum(packet: &mut [u8], layout: Layout) {
    let at = layout.header
        + match layout.protocol {
            TCP => 16,
            UDP => 6,
            _ => return,
        };
    let Some(place) = packet.get(at..at + 2) else { return };
    // UDP over IPv4 may do without.
    if layout.protocol == UDP && !layout.is_ipv6 && place == [0, 0] {
        return;
    }
    let len = packet.len() - layout.header;
    let sum = Checksum::pseudo_header(layout.addresses(packet), layout.protocol, len);
    complete_checksum(&mut packet[layout.header..], at - layout.header, sum);
    // RFC 768: zero means that there is no checksum.
    if layout.protocol == UDP && packet[at..at + 2] == [0, 0] {
        packet[at..at + 2].fill(0xff);
    }
}

/// Divides a segment of TCP; `None` for another packet.
fn segments(packet: &[u8], layout: Layout, mtu: usize) -> Option<Vec<Vec<u8>>> {
    let transport = packet.get(layout.header..).filter(|_| layout.protocol == TCP)?;
    let tcp_header = usize::from(*transport.get(12)? >> 4) * 4;
    let headers = layout.header + tcp_header;
    let payload = packet.get(headers..).filter(|_| tcp_header >= 20)?;
    let size = mtu.checked_sub(headers).filter(|size| *size > 0)?;
    let sequence = u32::from_be_bytes(*transport.get(4..)?.first_chunk()?);
    let chunks = payload.chunks(size);
    let last = chunks.len() - 1;
    let segment = |(number, chunk): (usize, &[u8])| {
        let mut segment = [&packet[..headers], chunk].concat();
        let len = segment.len();
        if layout.is_ipv6 {
            segment[4..6].copy_from_slice(&((len - IPV6_HEADER_LEN) as u16).to_be_bytes());
        } else {
            segment[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            let identification = u16::from_be_bytes([segment[4], segment[5]]);
            let identification = identification.wrapping_add(number as u16);
            segment[4..6].copy_from_slice(&identification.to_be_bytes());
            complete_checksum(&mut segment[..layout.header], 10, Checksum::default());
        }
        let tcp = &mut segment[layout.header..];
        let sequence = sequence.wrapping_add((number * size) as u32);
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        if number < last {
            tcp[13] &= !FIN_AND_PSH;
        }
        if number > 0 {
            tcp[13] &= !CWR;
        }
        set_checksum(&mut segment, layout);
        segment
    };
    Some(chunks.enumerate().map(segment).collect())
}

#[cfg(test)]
mod test {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use driftway_base::Seq;
    use driftway_wire::{
        Body, IpHeader, Ipv6Header, Ipv6Packet, Packet, Payload, TcpFlags, TcpSegment, UdpDatagram,
    };

    use super::*;

    fn segment(payload: usize) -> TcpSegment {
        let flags = TcpFlags(TcpFlags::ACK.0 | FIN_AND_PSH | CWR);
        let payload = Payload::new(0, 0, payload as u32);
        TcpSegment { seq: Seq(0xffff_ff00), flags, payload, ..TcpSegment::default() }
    }

    fn ip() -> IpHeader {
        IpHeader::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2))
    }

    fn bytes_of(body: Body) -> Vec<u8> {
        let packet = Packet { ip: ip(), body };
        let mut bytes = vec![0; packet.len() as usize];
        packet
            .encode(&mut bytes, |_, to| to.iter_mut().zip(0..).for_each(|(to, n)| *to = n as u8))
            .unwrap();
        bytes
    }

    #[test]
    fn missing_checksums_are_set() {
        let datagram = UdpDatagram { payload: Payload::new(0, 0, 9), ..UdpDatagram::default() };
        for (body, at) in [(Body::Tcp(segment(9)), 36), (Body::Udp(datagram), 26)] {
            let right = bytes_of(body);
            let mut wrong = right.clone();
            wrong[at] ^= 0x55;
            assert_eq!(finish(&wrong, 1500), [right]);
        }
        assert_eq!(finish(&[1, 2, 3], 1500), [[1, 2, 3]]);
        assert_eq!(finish(&[], 1500), [[0; 0]]);
    }

    #[test]
    fn long_segments_are_divided() {
        let packets = finish(&bytes_of(Body::Tcp(segment(2500))), 1000);
        let mut received = Vec::new();
        for (number, bytes) in packets.iter().enumerate() {
            let decoded = Packet::decode(bytes).unwrap();
            let Body::Tcp(of) = decoded.packet.body else { panic!() };
            assert_eq!(of.seq, Seq(0xffff_ff00) + received.len() as u32);
            let has = |bits| of.flags.0 & bits != 0;
            assert_eq!((has(CWR), has(FIN_AND_PSH)), (number == 0, number == 2));
            assert_eq!(decoded.packet.ip.identification, number as u16);
            received.extend_from_slice(decoded.payload);
        }
        let sent: Vec<u8> = (0..2500).map(|n| n as u8).collect();
        assert_eq!((packets.len(), received), (3, sent.clone()));
        let header = Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let mut bytes = vec![0; 3000];
        let len = header.encode_segment(&segment(2500), &sent, &mut bytes).unwrap();
        let packets = finish(&bytes[..len], 1300);
        let payloads = packets.iter().map(|bytes| {
            let packet = Ipv6Packet::decode(bytes).unwrap();
            let (body, payload) = packet.body().unwrap();
            assert!(matches!(body, Body::Tcp(_)) && bytes.len() <= 1300);
            payload.to_vec()
        });
        assert_eq!(payloads.collect::<Vec<_>>().concat(), sent);
        // Nothing else is divided.
        let datagram = UdpDatagram { payload: Payload::new(0, 0, 2500), ..UdpDatagram::default() };
        assert_eq!(finish(&bytes_of(Body::Udp(datagram)), 1000), [[0; 0]; 0]);
    }

    /// No input panics, and no packet is longer than the MTU.
    #[test]
    fn arbitrary_bytes_are_divided_or_dropped() {
        let mut bytes = bytes_of(Body::Tcp(segment(200)));
        for at in 0..60 {
            for value in [0, 1, 0x0f, 0x45, 0x60, 0xff] {
                let before = std::mem::replace(&mut bytes[at], value);
                for mtu in [0, 20, 41, 100, 300] {
                    for len in [bytes.len(), 60, 21, at] {
                        assert!(
                            finish(&bytes[..len], mtu).iter().all(|packet| packet.len() <= mtu)
                        );
                    }
                }
                bytes[at] = before;
            }
        }
    }
}
