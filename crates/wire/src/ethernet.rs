//! Ethernet frames (IEEE 802.3), from the destination on and without the checksum.

use crate::cursor::Reader;
use crate::{DecodeError, HardwareAddr};

/// Length of the header (bytes).
pub const ETHERNET_HEADER_LEN: usize = 14;

/// The EtherType: the protocol of a frame's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// ARP.
    pub const ARP: Self = Self(0x0806);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
}

/// A frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EthernetFrame<'a> {
    /// The destination.
    pub destination: HardwareAddr,
    /// The source.
    pub source: HardwareAddr,
    /// The protocol of the payload.
    pub ether_type: EtherType,
    /// The payload, which padding may follow.
    pub payload: &'a [u8],
}

impl<'a> EthernetFrame<'a> {
    /// Decodes a frame.
    ///
    /// # Errors
    /// The bytes are shorter than a header. Never panics.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        Ok(Self {
            destination: HardwareAddr(from.read_array()?),
            source: HardwareAddr(from.read_array()?),
            ether_type: EtherType(from.u16()?),
            payload: from.0,
        })
    }

    /// The bytes of the header.
    pub fn header(&self) -> [u8; ETHERNET_HEADER_LEN] {
        let [a, b, c, d, e, f] = self.destination.0;
        let [g, h, i, j, k, l] = self.source.0;
        let [m, n] = self.ether_type.0.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
    }
}

impl HardwareAddr {
    /// Returns true for an address of several stations: multicast or broadcast.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_frame_has_a_header_and_the_rest() {
        let bytes = [1, 2, 3, 4, 5, 6, 2, 0, 0, 0, 0, 7, 8, 6, 9];
        let frame = EthernetFrame::decode(&bytes).unwrap();
        assert_eq!((frame.ether_type, frame.payload), (EtherType::ARP, &[9][..]));
        assert_eq!(frame.header(), bytes[..14]);
        assert!(frame.destination.is_group() && !frame.source.is_group());
        assert_eq!(EthernetFrame::decode(&bytes[..13]), Err(DecodeError::Truncated));
    }
}
