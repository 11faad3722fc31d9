//! Rare options of a DSR header (RFC 4728 §6).
//!
//! Packets are copied at every hop, so that a header has no space in memory for these options beside all
//! others. They share it with the Route Request; a request has no extra options.

use driftway_base::Ipv4Addr;

use super::error::DsrError;
use super::option_head::{
    ACK, ACK_REQUEST, ERROR, PAD_1, PAD_N, REPLY, REQUEST, SOURCE_ROUTE, TIMEOUT,
    UNKNOWN_OPTION_ACTION,
};
use super::route_options::DsrRequest;
use crate::EncodeError;
use crate::cursor::{Reader, Writer};

/// Maximum total length of extra options (bytes): the size of a Route Request in memory.
const EXTRA_OPTIONS_MAX: usize = 70;

/// A Route Request, or the options of a packet that have no field in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DsrRequestOrOptions {
    /// None of them.
    #[default]
    None,
    /// Route Request (RFC 4728 §6.2).
    Request(DsrRequest),
    /// Extra options, added by [`DsrHeader::add_option`](crate::DsrHeader::add_option).
    ExtraOptions(DsrExtraOptions),
}

/// Extra options in wire format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DsrExtraOptions {
    bytes: [u8; EXTRA_OPTIONS_MAX],
    len: u8,
}

/// An option of a DSR header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsrOption<'a> {
    /// Route Error in excess of [`DsrHeader::errors`](crate::DsrHeader::errors).
    Error(DsrError),
    /// Acknowledgment Request (RFC 4728 §6.5).
    AckRequest {
        /// Identification of the packet to be acknowledged.
        id: u16,
    },
    /// Acknowledgment (RFC 4728 §6.6).
    Ack {
        /// Identification of the request.
        id: u16,
        /// ACK source address: the acknowledging node.
        source: Ipv4Addr,
        /// ACK destination address.
        destination: Ipv4Addr,
    },
    /// An option not defined by RFC 4728 whose type allows nodes to ignore it, such as a quotation of the
    /// failed packet.
    Other {
        /// Option type.
        kind: u8,
        /// Option data.
        data: &'a [u8],
    },
}

impl core::fmt::Debug for DsrExtraOptions {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.options()).finish()
    }
}

impl DsrExtraOptions {
    pub(super) const EMPTY: Self = Self { bytes: [0; EXTRA_OPTIONS_MAX], len: 0 };

    /// The options, in the order of insertion.
    pub fn options(&self) -> impl Iterator<Item = DsrOption<'_>> {
        let mut rest = Reader(self.as_bytes());
        core::iter::from_fn(move || DsrOption::read(&mut rest))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    pub(super) fn push(&mut self, option: DsrOption<'_>) -> bool {
        let len = option.size();
        let Some(room) = self.bytes.get_mut(usize::from(self.len)..) else { return false };
        let written = Writer::new(room, len).and_then(|mut to| option.write(&mut to));
        if written.is_ok() {
            self.len += len as u8;
        }
        written.is_ok()
    }
}

impl<'a> DsrOption<'a> {
    /// Returns true if the option may be an extra option. Other options have their own fields, or require an
    /// action by nodes that do not support them.
    pub(super) const fn is_extra(&self) -> bool {
        match self {
            Self::Other { kind, .. } => {
                let defined = matches!(
                    *kind,
                    PAD_N
                        | REQUEST
                        | REPLY
                        | ERROR
                        | SOURCE_ROUTE
                        | TIMEOUT
                        | PAD_1
                        | ACK
                        | ACK_REQUEST
                );
                !defined && *kind & UNKNOWN_OPTION_ACTION == 0
            }
            _ => true,
        }
    }

    /// Length (bytes).
    pub const fn size(&self) -> usize {
        match self {
            Self::Error(error) => error.size() as usize,
            Self::AckRequest { .. } => 4,
            Self::Ack { .. } => 12,
            Self::Other { data, .. } => 2 + data.len(),
        }
    }

    fn write(&self, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let head = |kind, to: &mut Writer<'_>| {
            to.u8(kind)?;
            to.u8((self.size() - 2) as u8)
        };
        match *self {
            Self::Error(error) => error.write(to),
            Self::AckRequest { id } => {
                head(ACK_REQUEST, to)?;
                to.u16(id)
            }
            Self::Ack { id, source, destination } => {
                head(ACK, to)?;
                to.u16(id)?;
                to.u32(source.to_bits())?;
                to.u32(destination.to_bits())
            }
            Self::Other { kind, data } => {
                head(kind, to)?;
                to.slice(data.len())?.copy_from_slice(data);
                Ok(())
            }
        }
    }

    /// Decodes the next option.
    fn read(from: &mut Reader<'a>) -> Option<Self> {
        let (kind, len) = (from.u8().ok()?, from.u8().ok()?);
        let data = from.slice(usize::from(len)).ok()?;
        match kind {
            ERROR => Some(Self::Error(DsrError::read(Reader(data)).ok()??)),
            _ => Self::parse(kind, data),
        }
    }

    /// The option of this type; `None` if it is an error, malformed, or cannot be an extra option.
    pub(crate) fn parse(kind: u8, data: &'a [u8]) -> Option<Self> {
        let mut from = Reader(data);
        let option = match kind {
            ACK_REQUEST => Self::AckRequest { id: from.u16().ok()? },
            ACK => Self::Ack {
                id: from.u16().ok()?,
                source: from.address().ok()?,
                destination: from.address().ok()?,
            },
            _ => Self::Other { kind, data },
        };
        option.is_extra().then_some(option)
    }
}
