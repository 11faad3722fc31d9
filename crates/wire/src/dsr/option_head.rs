//! The head of a DSR option: its type and its length.

use crate::EncodeError;
use crate::cursor::Writer;

// Option types (RFC 4728 §6.2 to §6.9, §7.2).
pub(super) const PAD_N: u8 = 0;
pub(super) const REQUEST: u8 = 1;
pub(super) const REPLY: u8 = 2;
pub(super) const ERROR: u8 = 3;
pub(super) const ACK: u8 = 32;
pub(super) const SOURCE_ROUTE: u8 = 96;
pub(super) const TIMEOUT: u8 = 128;
pub(super) const ACK_REQUEST: u8 = 160;
pub(super) const PAD_1: u8 = 224;

/// Bits of an option type that select the treatment of an unknown option; 00: the option is ignored and stays
/// in the packet; 11: the packet is dropped.
pub(super) const UNKNOWN_OPTION_ACTION: u8 = 0x60;

pub(super) fn write_option_head(
    kind: u8,
    len: u32,
    to: &mut Writer<'_>,
) -> Result<(), EncodeError> {
    to.u8(kind)?;
    to.u8(len as u8)
}
