//! Rare options of a DSR header (RFC 4728 §6).
//!
//! Packets are copied at every hop, so that a header has no space in memory for these options beside all
//! others. They share it with the Route Request; a request has no extra options.

use driftway_base::Ipv4Addr;

use crate::cursor::{Reader, Writer};
use crate::{DSR_ERRORS_MAX, DsrError, DsrHeader, DsrRequest, EncodeError};

// Option types (RFC 4728 §6.5, §6.6).
pub(crate) const ACK: u8 = 32;
pub(crate) const ACK_REQUEST: u8 = 160;

/// Bits of an option type that select the treatment of an unknown option; 00: the option is ignored and stays
/// in the packet.
const UNKNOWN_OPTION_ACTION: u8 = 0x60;

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
    /// Extra options, added by [`DsrHeader::add_option`].
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
    /// Route Error in excess of [`DsrHeader::errors`].
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
    const EMPTY: Self = Self { bytes: [0; EXTRA_OPTIONS_MAX], len: 0 };

    /// The options, in the order of insertion.
    pub fn options(&self) -> impl Iterator<Item = DsrOption<'_>> {
        let mut rest = Reader(self.as_bytes());
        core::iter::from_fn(move || DsrOption::read(&mut rest))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    fn push(&mut self, option: DsrOption<'_>) -> bool {
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
    const fn is_extra(&self) -> bool {
        use crate::dsr_codec::{ERROR, PAD_1, PAD_N, REPLY, REQUEST, SOURCE_ROUTE, TIMEOUT};
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
            crate::dsr_codec::ERROR => Some(Self::Error(DsrError::read(Reader(data)).ok()??)),
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

impl DsrHeader {
    /// The Route Request.
    pub const fn request(&self) -> Option<&DsrRequest> {
        match &self.request_or_options {
            DsrRequestOrOptions::Request(request) => Some(request),
            _ => None,
        }
    }

    /// The Route Request, mutable.
    pub const fn request_mut(&mut self) -> Option<&mut DsrRequest> {
        match &mut self.request_or_options {
            DsrRequestOrOptions::Request(request) => Some(request),
            _ => None,
        }
    }

    /// Adds an option. An error is added to [`errors`](Self::errors) while there is space, otherwise to the
    /// extra options. Returns false if there is no space left: a header with a request has none, others have
    /// about 70 bytes.
    pub fn add_option(&mut self, option: DsrOption<'_>) -> bool {
        if let DsrOption::Error(error) = option
            && let Some(place) = self.errors.iter_mut().find(|place| place.is_none())
        {
            *place = Some(error);
            return true;
        }
        if !option.is_extra() {
            return false;
        }
        match &mut self.request_or_options {
            DsrRequestOrOptions::Request(_) => false,
            DsrRequestOrOptions::ExtraOptions(more) => more.push(option),
            DsrRequestOrOptions::None => {
                let mut more = DsrExtraOptions::EMPTY;
                let fits = more.push(option);
                if fits {
                    self.request_or_options = DsrRequestOrOptions::ExtraOptions(more);
                }
                fits
            }
        }
    }

    /// Removes and returns the first error. The others move up, and the first error among the extra options
    /// takes the free place: extra options contain errors only while `errors` is full.
    pub fn take_error(&mut self) -> Option<DsrError> {
        let [first, rest @ ..] = self.errors;
        let first = first?;
        self.errors = [None; DSR_ERRORS_MAX];
        for (place, error) in self.errors.iter_mut().zip(rest) {
            *place = error;
        }
        if let DsrRequestOrOptions::ExtraOptions(more) = self.request_or_options {
            self.request_or_options = DsrRequestOrOptions::None;
            // They fit: they are the previous options, without the error that has moved.
            for option in more.options() {
                self.add_option(option);
            }
        }
        Some(first)
    }

    /// Removes and returns the Acknowledgment Request, which applies to one hop only.
    pub fn take_ack_request(&mut self) -> Option<u16> {
        let DsrRequestOrOptions::ExtraOptions(more) = self.request_or_options else { return None };
        let asked = more.options().find_map(|option| match option {
            DsrOption::AckRequest { id } => Some(id),
            _ => None,
        })?;
        self.request_or_options = DsrRequestOrOptions::None;
        // They fit: they were present before.
        for option in more.options() {
            if !matches!(option, DsrOption::AckRequest { .. }) {
                self.add_option(option);
            }
        }
        Some(asked)
    }

    /// Removes the extra options of this type.
    pub(crate) fn remove_options(&mut self, kind: u8) {
        let is_one = |option: &DsrOption<'_>| matches!(option, DsrOption::Other { kind: known, .. } if *known == kind);
        if let DsrRequestOrOptions::ExtraOptions(more) = self.request_or_options
            && more.options().any(|option| is_one(&option))
        {
            self.request_or_options = DsrRequestOrOptions::None;
            // They fit: they were present before.
            for option in more.options().filter(|option| !is_one(option)) {
                self.add_option(option);
            }
        }
    }

    /// The extra options.
    pub fn extra_options(&self) -> impl Iterator<Item = DsrOption<'_>> {
        let more = match &self.request_or_options {
            DsrRequestOrOptions::ExtraOptions(more) => Some(more),
            _ => None,
        };
        more.into_iter().flat_map(DsrExtraOptions::options)
    }

    /// All Route Errors, including those among the extra options.
    pub fn all_errors(&self) -> impl Iterator<Item = DsrError> {
        let further = self.extra_options().filter_map(|option| match option {
            DsrOption::Error(error) => Some(error),
            _ => None,
        });
        self.errors().copied().chain(further)
    }
}
