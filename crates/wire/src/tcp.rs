//! TCP segments (RFC 9293 §3.1) with the options that driftway's TCP supports.

use driftway_base::Seq;

use crate::cursor::{Reader, Writer};
use crate::{DecodeError, EncodeError, Payload, SegmentRange, TcpFlags, TcpOptions};

/// Length of a TCP header without options (bytes).
pub(crate) const TCP_HEADER_LEN: u32 = 20;

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpSegment {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte (of the SYN, if set).
    pub seq: Seq,
    /// Acknowledgment number; valid with [`TcpFlags::ACK`] only.
    pub ack: Seq,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window field of the header, unscaled.
    pub window: u16,
    /// Urgent pointer; valid with [`TcpFlags::URG`] only.
    pub urgent: u16,
    /// Options.
    pub options: TcpOptions,
    /// Payload.
    pub payload: Payload,
}

impl TcpSegment {
    /// Sequence numbers occupied by SYN, payload and FIN.
    pub const fn range(&self) -> SegmentRange {
        SegmentRange::new(self.seq, self.flags, self.payload.len)
    }
    /// SEG.LEN (RFC 9293): the number of sequence numbers.
    pub const fn sequence_len(&self) -> u32 {
        self.range().sequence_len()
    }
    /// One past the last sequence number.
    pub const fn end(&self) -> Seq {
        self.range().end()
    }

    /// Writes header and options with a checksum of zero.
    pub(crate) fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        to.u16(self.source_port)?;
        to.u16(self.destination_port)?;
        to.u32(self.seq.0)?;
        to.u32(self.ack.0)?;
        to.u8(((TCP_HEADER_LEN + self.options.len()) << 2) as u8)?;
        to.u8(self.flags.0)?;
        to.u16(self.window)?;
        to.u16(0)?;
        to.u16(self.urgent)?;
        self.options.write(to)
    }

    /// Decodes a segment whose checksum has been verified, and returns it with its payload.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), DecodeError> {
        let mut from = Reader(bytes);
        let mut segment = Self {
            source_port: from.u16()?,
            destination_port: from.u16()?,
            seq: Seq(from.u32()?),
            ack: Seq(from.u32()?),
            ..Self::default()
        };
        // RFC 9293 §3.1: the reserved bits after the data offset are ignored.
        let header_len = u32::from(from.u8()? >> 4) * 4;
        segment.flags = TcpFlags(from.u8()?);
        segment.window = from.u16()?;
        let _checksum = from.u16()?;
        segment.urgent = from.u16()?;
        let options_len =
            header_len.checked_sub(TCP_HEADER_LEN).ok_or(DecodeError::HeaderLength)?;
        let options = from.slice(options_len as usize).map_err(|_| DecodeError::HeaderLength)?;
        segment.options = TcpOptions::read(options)?;
        segment.payload.len = from.0.len() as u32;
        Ok((segment, from.0))
    }
}
