//! UDP datagrams (RFC 768).

use crate::cursor::{Reader, Writer};
use crate::{DecodeError, EncodeError, Payload};

/// Length of a UDP header (bytes).
pub(crate) const UDP_HEADER_LEN: u32 = 8;

/// A UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UdpDatagram {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Payload.
    pub payload: Payload,
}

impl UdpDatagram {
    /// Writes the header with a checksum of zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        to.u16(self.source_port)?;
        to.u16(self.destination_port)?;
        // A packet that fits into IP also fits into UDP.
        to.u16(UDP_HEADER_LEN.saturating_add(self.payload.len) as u16)?;
        to.u16(0)
    }

    /// Decodes a datagram whose checksum has been verified, and returns it with its payload.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let mut from = Reader(bytes);
        let (source_port, destination_port) = (from.u16()?, from.u16()?);
        let (_len, _checksum) = (from.u16()?, from.u16()?);
        let payload = Payload::new(0, 0, from.0.len() as u32);
        Ok((Self { source_port, destination_port, payload }, from.0))
    }

    /// The datagram in the body of an IP packet, and whether its checksum is present. Bytes after it are not
    /// part of it (surplus area, RFC 9868).
    pub(crate) fn delimit(body: &[u8]) -> Result<(&[u8], bool), DecodeError> {
        let mut header = Reader(body);
        let _ports = header.u32()?;
        let (len, checksum) = (header.u16()?, header.u16()?);
        if u32::from(len) < UDP_HEADER_LEN {
            return Err(DecodeError::HeaderLength);
        }
        Ok((Reader(body).slice(usize::from(len))?, checksum != 0))
    }
}
