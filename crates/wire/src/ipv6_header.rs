//! IPv6 headers (RFC 8200 §3).

use core::net::Ipv6Addr;

use driftway_base::Ecn;

use crate::checksum::{Checksum, set_checksum};
use crate::cursor::Writer;
use crate::ip::TCP;
use crate::{EncodeError, TcpSegment};

/// Length of an IPv6 header without extension headers (bytes).
pub const IPV6_HEADER_LEN: u32 = 40;
/// The MTU that every link has at least (RFC 8200 §5; bytes).
pub const IPV6_MIN_MTU: u32 = 1280;

pub(crate) const VERSION: u8 = 6;
/// An IPv6 header. The payload length and the next header are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// ECN field (RFC 3168).
    pub ecn: Ecn,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Hop limit.
    pub hop_limit: u8,
}

impl Ipv6Header {
    /// A header as hosts send it: hop limit 64, no flow label, DSCP 0, Not-ECT.
    pub const fn new(source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self { source, destination, ecn: Ecn::NotEct, dscp: 0, flow_label: 0, hop_limit: 64 }
    }

    /// Encodes a TCP segment with this payload behind the header, and returns the length of the packet.
    ///
    /// # Errors
    /// The packet does not fit into `buf` or into IPv6, or its options into the TCP header.
    pub fn encode_segment(
        &self,
        segment: &TcpSegment,
        payload: &[u8],
        buf: &mut [u8],
    ) -> Result<usize, EncodeError> {
        if !segment.options.fits_header() {
            return Err(EncodeError::TcpOptionsTooLong { len: segment.options.len() });
        }
        let len = 20 + segment.options.len() as usize + payload.len();
        self.encode(TCP, len, 16, buf, |to| {
            segment.write(to)?;
            to.bytes(payload)
        })
    }

    /// Encodes an upper layer of `len` bytes, which `write` writes with a zero at its checksum.
    pub(crate) fn encode(
        &self,
        protocol: u8,
        len: usize,
        checksum_at: usize,
        buf: &mut [u8],
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<usize, EncodeError> {
        let payload_len =
            u16::try_from(len).map_err(|_| EncodeError::TooLong { len: len as u32 })?;
        let total = IPV6_HEADER_LEN as usize + len;
        let mut to = Writer::new(buf, total)?;
        let traffic_class = u32::from(self.dscp << 2 | self.ecn.bits());
        let label = self.flow_label & 0x000f_ffff;
        to.u32(u32::from(VERSION) << 28 | traffic_class << 20 | label)?;
        to.u16(payload_len)?;
        to.u8(protocol)?;
        to.u8(self.hop_limit)?;
        to.bytes(&self.source.octets())?;
        to.bytes(&self.destination.octets())?;
        let upper = to.rest();
        write(&mut Writer::new(upper, len)?)?;
        let checksum = self.checksum(protocol, upper);
        set_checksum(upper, checksum_at, checksum);
        Ok(total)
    }

    /// The checksum of the upper layer with its pseudo-header (RFC 8200 §8.1); 0 if it includes a correct one.
    pub(crate) fn checksum(&self, protocol: u8, upper: &[u8]) -> u16 {
        let addresses = [self.source, self.destination].map(|address| address.octets());
        let sum = Checksum::pseudo_header(addresses.as_flattened(), protocol, upper.len());
        sum.and(upper).finish()
    }
}

/// Writes the fields that a network changes into the IPv6 header of `packet`. It has no checksum.
pub fn edit_ipv6_header(packet: &mut [u8], hop_limit: u8, ecn: Ecn) {
    // The traffic class is between the version and the flow label.
    if let Some(byte) = packet.get_mut(1) {
        *byte = *byte & 0b1100_1111 | ecn.bits() << 4;
    }
    if let Some(byte) = packet.get_mut(7) {
        *byte = hop_limit;
    }
}
