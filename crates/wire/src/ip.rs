//! IPv4 headers (RFC 791).

use driftway_base::{Ecn, Ipv4Addr};

use crate::checksum::{Checksum, complete_checksum};
use crate::cursor::{Reader, Writer};
use crate::{DecodeError, EncodeError};

/// Length of an IPv4 header without options (bytes).
pub const IPV4_HEADER_LEN: u32 = 20;

const VERSION: u8 = 4;

pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
/// "No next header" (RFC 8200 §4.7), as used by DSR (RFC 4728 §6.1).
pub(crate) const NO_NEXT_HEADER: u8 = 59;

// Fields of the header's fourth 16-bit word.
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// An IPv4 header. Lengths and checksum are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// ECN field (RFC 3168).
    pub ecn: Ecn,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Time to live (hops).
    pub ttl: u8,
    /// Identification.
    pub identification: u16,
    /// Don't Fragment flag.
    pub dont_fragment: bool,
    /// Options, in wire format.
    pub options: IpOptions,
}

impl IpHeader {
    /// A header as hosts send it: TTL 64, Don't Fragment, no options, DSCP 0, Not-ECT. The identification is
    /// 0, which RFC 6864 §4.1 allows for packets that are not fragmented.
    pub const fn new(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self {
            source,
            destination,
            ecn: Ecn::NotEct,
            dscp: 0,
            ttl: 64,
            identification: 0,
            dont_fragment: true,
            options: IpOptions::EMPTY,
        }
    }
    /// The TOS byte: DSCP and ECN field.
    pub(crate) const fn tos(&self) -> u8 {
        (self.dscp << 2) | self.ecn.bits()
    }

    /// Writes the header of a packet of `total_len` bytes.
    pub(crate) fn write(
        &self,
        total_len: u16,
        protocol: u8,
        to: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        let header = to.slice(IPV4_HEADER_LEN as usize + self.options.as_slice().len())?;
        let mut fields = Writer::new(header, header.len())?;
        fields.u8((VERSION << 4) | ((IPV4_HEADER_LEN as u8 + self.options.len) / 4))?;
        fields.u8(self.tos())?;
        fields.u16(total_len)?;
        fields.u16(self.identification)?;
        fields.u16(if self.dont_fragment { DONT_FRAGMENT } else { 0 })?;
        fields.u8(self.ttl)?;
        fields.u8(protocol)?;
        fields.u16(0)?;
        fields.u32(self.source.to_bits())?;
        fields.u32(self.destination.to_bits())?;
        fields.bytes(self.options.as_slice())?;
        complete_checksum(header, 10, Checksum::default());
        Ok(())
    }
}

/// A decoded header, with the fields that [`IpHeader`] derives.
#[derive(Clone, Copy, Debug)]
pub struct ParsedHeader {
    /// The fields that a sender chooses.
    pub header: IpHeader,
    /// Protocol number of the body.
    pub protocol: u8,
    /// Length of the packet (bytes).
    pub total_len: u16,
    /// Header length (bytes).
    pub len: usize,
    /// Fragment offset (8 bytes); 0 for an unfragmented packet and for a first fragment.
    pub fragment_offset: u16,
    /// More fragments follow.
    pub more_fragments: bool,
}

impl ParsedHeader {
    /// Decodes the header at the start of `bytes`. Neither the checksum nor the presence of the whole packet
    /// is verified, because neither holds for the header quoted in an ICMP message.
    ///
    /// # Errors
    /// If the bytes do not begin with a whole IPv4 header. Never panics.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut from = Reader(bytes);
        let first = from.u8()?;
        if first >> 4 != VERSION {
            return Err(DecodeError::Version(first >> 4));
        }
        let len = usize::from(first & 0xf) * 4;
        let options_len =
            len.checked_sub(IPV4_HEADER_LEN as usize).ok_or(DecodeError::HeaderLength)?;
        let tos = from.u8()?;
        let (total_len, identification, fragment) = (from.u16()?, from.u16()?, from.u16()?);
        let (ttl, protocol, _checksum) = (from.u8()?, from.u8()?, from.u16()?);
        let (source, destination) = (from.address()?, from.address()?);
        let options = from.slice(options_len)?;
        let header = IpHeader {
            source,
            destination,
            ecn: Ecn::from_bits(tos),
            dscp: tos >> 2,
            ttl,
            identification,
            dont_fragment: fragment & DONT_FRAGMENT != 0,
            options: IpOptions::new(options).unwrap_or_default(),
        };
        Ok(Self {
            header,
            protocol,
            total_len,
            len,
            fragment_offset: fragment & FRAGMENT_OFFSET,
            more_fragments: fragment & MORE_FRAGMENTS != 0,
        })
    }

    /// Returns true for a part of a packet.
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }
}

/// Up to 40 bytes of IP options in wire format, padded to a multiple of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpOptions {
    bytes: [u8; 40],
    len: u8,
}

impl IpOptions {
    /// No options.
    pub const EMPTY: Self = Self { bytes: [0; 40], len: 0 };

    /// Copies `bytes`, padded with end-of-list to a multiple of 4; `None` if there are more than 40.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut options = Self::EMPTY;
        options.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        options.len = bytes.len().next_multiple_of(4) as u8;
        Some(options)
    }
    /// Length of the options including padding (bytes).
    pub(crate) const fn len(&self) -> u32 {
        self.len as u32
    }
    /// The options including padding.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Default for IpOptions {
    fn default() -> Self {
        Self::EMPTY
    }
}
