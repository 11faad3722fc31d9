//! IPv6 packets (RFC 8200), as far as a network that carries those of others reads them: TCP, UDP and echo messages
//! behind the header.

use driftway_base::Ecn;

use crate::cursor::Reader;
use crate::icmpv6::{ICMPV6, Icmpv6Message};
use crate::ip::{NO_NEXT_HEADER, TCP, UDP};
use crate::ipv6_header::{IPV6_HEADER_LEN, Ipv6Header, VERSION};
use crate::{Body, DecodeError, IcmpMessage, TcpSegment, UdpDatagram};

// Extension headers before that of the upper layer (RFC 8200 §4.1).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
/// Offset and M flag of a fragment header, both zero in an atomic fragment (RFC 6946).
const IS_FRAGMENT: u16 = 0xfff9;

/// A packet of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Packet<'a> {
    /// The header.
    pub header: Ipv6Header,
    /// Total length (bytes).
    pub len: u32,
    /// Protocol number behind all extension headers; `None` for a fragment, a packet without upper layer,
    /// and invalid extension headers.
    pub protocol: Option<u8>,
    /// The bytes of the upper layer.
    pub upper: &'a [u8],
}

impl<'a> Ipv6Packet<'a> {
    /// Decodes the packet at the start of `bytes`. Bytes after its length are ignored.
    ///
    /// # Errors
    /// The bytes do not begin with a complete packet of IPv6. Never panics.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        let word = from.u32()?;
        let version = (word >> 28) as u8;
        if version != VERSION {
            return Err(DecodeError::Version(version));
        }
        let (payload_len, next, hop_limit) = (from.u16()?, from.u8()?, from.u8()?);
        let traffic_class = (word >> 20) as u8;
        let header = Ipv6Header {
            source: from.read_array::<16>()?.into(),
            destination: from.read_array::<16>()?.into(),
            ecn: Ecn::from_bits(traffic_class),
            dscp: traffic_class >> 2,
            flow_label: word & 0x000f_ffff,
            hop_limit,
        };
        let payload = from.slice(payload_len.into())?;
        let (protocol, upper) =
            upper_layer(next, payload).map_or((None, &[][..]), |(next, at)| (Some(next), at));
        Ok(Self { header, len: IPV6_HEADER_LEN + u32::from(payload_len), protocol, upper })
    }

    /// Decodes what IPv4 has, too: TCP, UDP and echo messages, with the payload bytes.
    ///
    /// # Errors
    /// Another upper layer, or a wrong checksum.
    pub fn body(&self) -> Result<(Body, &'a [u8]), DecodeError> {
        let protocol = self.protocol.ok_or(DecodeError::Protocol(NO_NEXT_HEADER))?;
        match protocol {
            TCP => {
                self.check(protocol, self.upper)?;
                let (segment, payload) = TcpSegment::read(self.upper)?;
                Ok((Body::Tcp(segment), payload))
            }
            UDP => {
                let (datagram, has_checksum) = UdpDatagram::delimit(self.upper)?;
                // RFC 8200 §8.1: unlike with IPv4 it is required.
                if !has_checksum {
                    return Err(DecodeError::Checksum);
                }
                self.check(protocol, datagram)?;
                let (datagram, payload) = UdpDatagram::read(datagram)?;
                Ok((Body::Udp(datagram), payload))
            }
            ICMPV6 => match self.icmp()? {
                Icmpv6Message::Echo { reply, identifier, sequence, data } => {
                    let payload = crate::Payload::new(0, 0, data.len() as u32);
                    let message = IcmpMessage::Echo { reply, identifier, sequence, payload };
                    Ok((Body::Icmp(message), data))
                }
                other => Err(other.unsupported()),
            },
            other => Err(DecodeError::Protocol(other)),
        }
    }

    /// Decodes a message of ICMPv6.
    ///
    /// # Errors
    /// Another upper layer, a wrong checksum, or a message that is not supported.
    pub fn icmp(&self) -> Result<Icmpv6Message<'a>, DecodeError> {
        match self.protocol {
            Some(ICMPV6) => {
                self.check(ICMPV6, self.upper)?;
                Icmpv6Message::read(self.upper)
            }
            other => Err(DecodeError::Protocol(other.unwrap_or(NO_NEXT_HEADER))),
        }
    }

    /// Returns true if an error may be sent about the packet (RFC 4443 §2.4): it is no error itself and no
    /// redirect, and it goes from one host to one.
    pub fn permits_errors(&self) -> bool {
        let Ipv6Header { source, destination, .. } = self.header;
        let is_error = self.protocol == Some(ICMPV6)
            && self.upper.first().is_none_or(|kind| Icmpv6Message::is_error_or_redirect(*kind));
        !is_error
            && !destination.is_multicast()
            && !source.is_multicast()
            && !source.is_unspecified()
    }

    fn check(&self, protocol: u8, upper: &[u8]) -> Result<(), DecodeError> {
        match self.header.checksum(protocol, upper) {
            0 => Ok(()),
            _ => Err(DecodeError::Checksum),
        }
    }
}

/// The protocol number and the bytes of the upper layer, behind extension headers.
fn upper_layer(mut next: u8, mut bytes: &[u8]) -> Option<(u8, &[u8])> {
    loop {
        let len = match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => (usize::from(*bytes.get(1)?) + 1) * 8,
            FRAGMENT => {
                let place = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
                if place & IS_FRAGMENT != 0 {
                    return None;
                }
                8
            }
            NO_NEXT_HEADER => return None,
            _ => return Some((next, bytes)),
        };
        next = *bytes.first()?;
        bytes = bytes.get(len..)?;
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::edit_ipv6_header;
    use core::net::Ipv6Addr;
    use driftway_base::Seq;

    const A: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    const B: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

    fn segment() -> ([u8; 200], usize) {
        let mut bytes = [0; 200];
        let segment = TcpSegment { source_port: 7, seq: Seq(9), ..TcpSegment::default() };
        let header =
            Ipv6Header { dscp: 5, ecn: Ecn::Ect0, flow_label: 0xabcde, ..Ipv6Header::new(A, B) };
        let len = header.encode_segment(&segment, b"abc", &mut bytes).unwrap();
        (bytes, len)
    }

    #[test]
    fn a_segment_is_decoded_as_it_was_encoded() {
        let (bytes, len) = segment();
        let packet = Ipv6Packet::decode(&bytes).unwrap();
        assert_eq!((packet.len as usize, len), (63, 63));
        assert_eq!((packet.header.dscp, packet.header.flow_label), (5, 0xabcde));
        let (Body::Tcp(segment), payload) = packet.body().unwrap() else { panic!() };
        assert_eq!((segment.source_port, segment.seq, payload), (7, Seq(9), &b"abc"[..]));
        assert!(packet.permits_errors());
    }

    /// Every changed bit is noticed, but those that no checksum covers.
    #[test]
    fn a_wrong_checksum_is_noticed() {
        let (bytes, len) = segment();
        for at in 8..len {
            let mut wrong = bytes;
            wrong[at] ^= 0x10;
            assert!(Ipv6Packet::decode(&wrong).unwrap().body().is_err(), "{at}");
        }
    }

    #[test]
    fn the_hop_limit_and_the_ecn_field_are_edited() {
        let (mut bytes, _) = segment();
        let before = Ipv6Packet::decode(&bytes).unwrap().header;
        edit_ipv6_header(&mut bytes, 3, Ecn::Ce);
        let packet = Ipv6Packet::decode(&bytes).unwrap();
        assert_eq!(packet.header, Ipv6Header { hop_limit: 3, ecn: Ecn::Ce, ..before });
        assert!(packet.body().is_ok());
        edit_ipv6_header(&mut [0x60], 1, Ecn::Ce);
    }

    /// Two extension headers; a fragment and a truncated header have no upper layer.
    #[test]
    fn the_upper_layer_is_behind_extension_headers() {
        let (bytes, len) = segment();
        let extended = |first: u8, headers: &[u8]| {
            let mut packet = bytes[..40].to_vec();
            packet[6] = first;
            packet[5] += headers.len() as u8;
            packet.extend_from_slice(headers);
            packet.extend_from_slice(&bytes[40..len]);
            packet
        };
        let options = [60, 0, 1, 4, 0, 0, 0, 0, TCP, 0, 1, 4, 0, 0, 0, 0];
        let packet = extended(HOP_BY_HOP, &options);
        assert!(matches!(Ipv6Packet::decode(&packet).unwrap().body(), Ok((Body::Tcp(_), b"abc"))));
        for (place, is_seen) in [([0, 0], true), ([0, 1], false), ([0, 8], false)] {
            let header = [TCP, 0, place[0], place[1], 0, 0, 0, 1];
            let packet = extended(FRAGMENT, &header);
            assert_eq!(Ipv6Packet::decode(&packet).unwrap().body().is_ok(), is_seen, "{place:?}");
        }
        let packet = extended(HOP_BY_HOP, &[TCP, 200, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Ipv6Packet::decode(&packet).unwrap().protocol, None);
    }
}
