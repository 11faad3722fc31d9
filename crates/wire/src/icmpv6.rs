//! ICMPv6 messages: echo and the errors of routers (RFC 4443), and those that ask for hardware addresses (RFC 4861).

use core::net::Ipv6Addr;

use crate::cursor::{Reader, Writer};
use crate::ipv6_header::{IPV6_HEADER_LEN, IPV6_MIN_MTU, Ipv6Header};
use crate::{DecodeError, EncodeError, HardwareAddr};

pub(crate) const ICMPV6: u8 = 58;

// Message types.
const UNREACHABLE: u8 = 1;
const PACKET_TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const ECHO: u8 = 128;
const ECHO_REPLY: u8 = 129;
// Neighbour discovery (RFC 4861 §4).
const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// Flags of an advertisement: solicited, and to override what was known.
const SOLICITED_OVERRIDE: u32 = 0x6000_0000;
/// The option with the hardware address of the target, and its length (8 bytes).
const TARGET_LINK_LAYER: [u8; 2] = [2, 1];
/// Redirect of neighbour discovery (RFC 4861 §4.5).
const REDIRECT: u8 = 137;
/// Errors have lower types (RFC 4443 §2.1).
const FIRST_INFORMATIONAL: u8 = 128;

/// Length of a message before its data or the packet that it quotes (bytes).
const HEADER_LEN: u32 = 8;
/// Bytes of a packet that an error quotes at most: it must not exceed the smallest MTU (RFC 4443 §2.4).
const QUOTED_MAX: usize = (IPV6_MIN_MTU - IPV6_HEADER_LEN - HEADER_LEN) as usize;

/// A message of ICMPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmpv6Message<'a> {
    /// Echo request or reply (types 128 and 129).
    Echo {
        /// A reply, not a request.
        reply: bool,
        /// Identifier of the requester.
        identifier: u16,
        /// Sequence number of the request.
        sequence: u16,
        /// Data returned in the reply.
        data: &'a [u8],
    },
    /// Destination unreachable (type 1).
    Unreachable {
        /// Reason: the code.
        code: Icmpv6Unreachable,
        /// The undeliverable packet, as much of it as is quoted.
        quoted: &'a [u8],
    },
    /// Packet too big (type 2).
    PacketTooBig {
        /// The MTU of the next link (bytes).
        mtu: u32,
        /// The packet.
        quoted: &'a [u8],
    },
    /// Time exceeded (type 3): in transit (code 0) or in reassembly (code 1).
    TimeExceeded {
        /// Reassembly time exceeded.
        reassembly: bool,
        /// The discarded packet.
        quoted: &'a [u8],
    },
    /// Neighbour solicitation (type 135; RFC 4861 §4.3). Its options are not read.
    NeighbourSolicitation {
        /// The address of the neighbour whose hardware address is asked for.
        target: Ipv6Addr,
    },
    /// Neighbour advertisement (type 136; RFC 4861 §4.4), solicited and with the hardware address.
    NeighbourAdvertisement {
        /// The address.
        target: Ipv6Addr,
        /// Its hardware address.
        hardware: HardwareAddr,
    },
}

/// Codes of destination unreachable of ICMPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmpv6Unreachable {
    /// No route to the destination (0).
    NoRoute,
    /// Communication administratively prohibited (1).
    Prohibited,
    /// Address unreachable (3).
    Address,
    /// Port unreachable (4).
    Port,
}

impl Icmpv6Unreachable {
    const ALL: [Self; 4] = [Self::NoRoute, Self::Prohibited, Self::Address, Self::Port];

    const fn number(self) -> u8 {
        match self {
            Self::NoRoute => 0,
            Self::Prohibited => 1,
            Self::Address => 3,
            Self::Port => 4,
        }
    }
}

impl<'a> Icmpv6Message<'a> {
    /// Returns true for the type of an error, or of a redirect: no error is sent about these.
    pub(crate) const fn is_error_or_redirect(kind: u8) -> bool {
        kind < FIRST_INFORMATIONAL || kind == REDIRECT
    }

    /// Encodes the message behind a header, and returns the length of the packet. A quoted packet is cut so that
    /// the error is no longer than the smallest MTU.
    ///
    /// # Errors
    /// It does not fit into `buf` or into IPv6.
    pub fn encode(&self, header: &Ipv6Header, buf: &mut [u8]) -> Result<usize, EncodeError> {
        let mut neighbour = [0; 24];
        let (kind, code, word, behind) = match *self {
            Self::Echo { reply, identifier, sequence, data } => {
                let word = u32::from(identifier) << 16 | u32::from(sequence);
                (if reply { ECHO_REPLY } else { ECHO }, 0, word, data)
            }
            Self::Unreachable { code, quoted } => (UNREACHABLE, code.number(), 0, cut(quoted)),
            Self::PacketTooBig { mtu, quoted } => (PACKET_TOO_BIG, 0, mtu, cut(quoted)),
            Self::TimeExceeded { reassembly, quoted } => {
                (TIME_EXCEEDED, reassembly.into(), 0, cut(quoted))
            }
            Self::NeighbourSolicitation { target } => {
                let place = Writer::new(&mut neighbour, 24)?.slice(16)?;
                place.copy_from_slice(&target.octets());
                (NEIGHBOUR_SOLICITATION, 0, 0, neighbour.get(..16).unwrap_or_default())
            }
            Self::NeighbourAdvertisement { target, hardware } => {
                let mut to = Writer::new(&mut neighbour, 24)?;
                to.bytes(&target.octets())?;
                to.bytes(&TARGET_LINK_LAYER)?;
                to.bytes(&hardware.0)?;
                (NEIGHBOUR_ADVERTISEMENT, 0, SOLICITED_OVERRIDE, &neighbour[..])
            }
        };
        header.encode(ICMPV6, HEADER_LEN as usize + behind.len(), 2, buf, |to: &mut Writer<'_>| {
            to.u8(kind)?;
            to.u8(code)?;
            to.u16(0)?;
            to.u32(word)?;
            to.bytes(behind)
        })
    }

    /// Decodes a message whose checksum has been verified.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        let (kind, code, _checksum, word) = (from.u8()?, from.u8()?, from.u16()?, from.u32()?);
        let behind = from.0;
        Ok(match (kind, code) {
            (ECHO | ECHO_REPLY, 0) => Self::Echo {
                reply: kind == ECHO_REPLY,
                identifier: (word >> 16) as u16,
                sequence: word as u16,
                data: behind,
            },
            (UNREACHABLE, _) => {
                let known = Icmpv6Unreachable::ALL.into_iter().find(|of| of.number() == code);
                let code = known.ok_or(DecodeError::IcmpMessage { kind, code })?;
                Self::Unreachable { code, quoted: behind }
            }
            (PACKET_TOO_BIG, 0) => Self::PacketTooBig { mtu: word, quoted: behind },
            (TIME_EXCEEDED, 0 | 1) => Self::TimeExceeded { reassembly: code == 1, quoted: behind },
            (NEIGHBOUR_SOLICITATION, 0) => {
                Self::NeighbourSolicitation { target: from.read_array::<16>()?.into() }
            }
            (NEIGHBOUR_ADVERTISEMENT, 0) => {
                let target = from.read_array::<16>()?.into();
                match (from.read_array()?, from.read_array()?) {
                    (TARGET_LINK_LAYER, hardware) => {
                        Self::NeighbourAdvertisement { target, hardware: HardwareAddr(hardware) }
                    }
                    _ => return Err(DecodeError::IcmpMessage { kind, code }),
                }
            }
            _ => return Err(DecodeError::IcmpMessage { kind, code }),
        })
    }

    /// The error of a place where only echo messages are supported.
    pub(crate) const fn unsupported(&self) -> DecodeError {
        let (kind, code) = match self {
            Self::Echo { .. } => (ECHO, 0),
            Self::Unreachable { code, .. } => (UNREACHABLE, code.number()),
            Self::PacketTooBig { .. } => (PACKET_TOO_BIG, 0),
            Self::TimeExceeded { reassembly, .. } => (TIME_EXCEEDED, *reassembly as u8),
            Self::NeighbourSolicitation { .. } => (NEIGHBOUR_SOLICITATION, 0),
            Self::NeighbourAdvertisement { .. } => (NEIGHBOUR_ADVERTISEMENT, 0),
        };
        DecodeError::IcmpMessage { kind, code }
    }
}

fn cut(quoted: &[u8]) -> &[u8] {
    quoted.get(..QUOTED_MAX).unwrap_or(quoted)
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::Ipv6Packet;

    const HEADER: Ipv6Header = Ipv6Header::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);

    #[test]
    fn messages_are_decoded_as_they_were_encoded() {
        let quoted = &[7; 100][..];
        let code = Icmpv6Unreachable::ALL.into_iter();
        let unreachable = code.map(|code| Icmpv6Message::Unreachable { code, quoted });
        let others = [
            Icmpv6Message::Echo { reply: false, identifier: 1, sequence: 2, data: b"ping" },
            Icmpv6Message::Echo { reply: true, identifier: 0xffff, sequence: 0, data: &[] },
            Icmpv6Message::PacketTooBig { mtu: 1400, quoted },
            Icmpv6Message::TimeExceeded { reassembly: false, quoted },
            Icmpv6Message::TimeExceeded { reassembly: true, quoted },
        ];
        let target = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9);
        let hardware = HardwareAddr([1, 2, 3, 4, 5, 6]);
        let neighbours = [
            Icmpv6Message::NeighbourSolicitation { target },
            Icmpv6Message::NeighbourAdvertisement { target, hardware },
        ];
        for message in unreachable.chain(others).chain(neighbours) {
            let mut buffer = [0; 300];
            let len = message.encode(&HEADER, &mut buffer).unwrap();
            let packet = Ipv6Packet::decode(&buffer[..len]).unwrap();
            assert_eq!((packet.icmp(), packet.len as usize), (Ok(message), len));
            let is_echo = matches!(message, Icmpv6Message::Echo { .. });
            let is_neighbour = neighbours.contains(&message);
            assert_eq!(packet.body().is_ok(), is_echo);
            assert_eq!(packet.permits_errors(), is_echo || is_neighbour);
            buffer[45] ^= 1;
            assert_eq!(Ipv6Packet::decode(&buffer).unwrap().icmp(), Err(DecodeError::Checksum));
        }
    }

    #[test]
    fn an_error_quotes_what_fits_into_the_smallest_mtu() {
        let message = Icmpv6Message::TimeExceeded { reassembly: false, quoted: &[1; 1500] };
        let len = message.encode(&HEADER, &mut [0; 2000]).unwrap();
        assert_eq!(len, 1280);
    }
}
