//! Bounds-checked sequential reading and writing of bytes.

use driftway_base::Ipv4Addr;

use crate::{DecodeError, EncodeError};

/// The bytes that remain to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn read_array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }
    pub(crate) fn slice(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(DecodeError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }
    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.read_array().map(u8::from_be_bytes)
    }
    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.read_array().map(u16::from_be_bytes)
    }
    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.read_array().map(u32::from_be_bytes)
    }
    pub(crate) fn address(&mut self) -> Result<Ipv4Addr, DecodeError> {
        self.u32().map(Ipv4Addr::from_bits)
    }
}

/// The space that remains to be written.
pub(crate) struct Writer<'a> {
    buffer: &'a mut [u8],
    total_len: usize,
}

impl<'a> Writer<'a> {
    /// Writes to the first `total_len` bytes of `buf`.
    pub(crate) fn new(buf: &'a mut [u8], total_len: usize) -> Result<Self, EncodeError> {
        let buffer =
            buf.get_mut(..total_len).ok_or(EncodeError::BufferTooSmall { needed: total_len })?;
        Ok(Self { buffer, total_len })
    }
    /// The next `len` bytes, for the caller to fill.
    pub(crate) fn slice(&mut self, len: usize) -> Result<&'a mut [u8], EncodeError> {
        let room = core::mem::take(&mut self.buffer);
        let (slice, rest) = room
            .split_at_mut_checked(len)
            .ok_or(EncodeError::BufferTooSmall { needed: self.total_len })?;
        self.buffer = rest;
        Ok(slice)
    }
    /// The remaining space.
    pub(crate) fn rest(self) -> &'a mut [u8] {
        self.buffer
    }
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        self.slice(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
    pub(crate) fn u8(&mut self, value: u8) -> Result<(), EncodeError> {
        self.bytes(&[value])
    }
    pub(crate) fn u16(&mut self, value: u16) -> Result<(), EncodeError> {
        self.bytes(&value.to_be_bytes())
    }
    pub(crate) fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.bytes(&value.to_be_bytes())
    }
}
