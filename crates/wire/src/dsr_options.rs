//! Options of a DSR header that few packets carry (RFC 4728 §6).
//!
//! Packets are copied at every hop, so a header has no room for them beside everything else. They
//! stand in memory where a Route Request would: a request has none of them.

use driftway_base::Ipv4Addr;

use crate::cursor::{Reader, Writer};
use crate::{DSR_ERRORS_MAX, DsrError, DsrHeader, DsrRequest, EncodeError};

// Option types (RFC 4728 §6.5, §6.6).
pub(crate) const ACK: u8 = 32;
pub(crate) const ACK_REQUEST: u8 = 160;

/// The bits of an option's type that say what is done by a node which does not know it; 00: nothing,
/// it stays in the packet.
const UNKNOWN_OPTION_ACTION: u8 = 0x60;

/// The most bytes of such options: as many as a request has.
const EXTRA_OPTIONS_MAX: usize = 70;

/// A Route Request, or what a packet without one carries beyond the fields of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DsrRequestOrOptions {
    /// Neither.
    #[default]
    None,
    /// RFC 4728 §6.2.
    Request(DsrRequest),
    /// Further options; [`DsrHeader::add`] puts them here.
    ExtraOptions(DsrExtraOptions),
}

/// Further options, as they are on the air.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DsrExtraOptions {
    bytes: [u8; EXTRA_OPTIONS_MAX],
    len: u8,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsrOption<'a> {
    /// A Route Error beyond those of [`DsrHeader::errors`].
    Error(DsrError),
    /// Acknowledgment Request (RFC 4728 §6.5).
    AckRequest {
        /// Which packet is to be acknowledged.
        id: u16,
    },
    /// Acknowledgment (RFC 4728 §6.6).
    Ack {
        /// That of the request.
        id: u16,
        /// Who acknowledges.
        source: Ipv4Addr,
        /// To whom.
        destination: Ipv4Addr,
    },
    /// An option that RFC 4728 does not define and whose type says that a node which does not know
    /// it leaves it alone, such as a quotation of the packet that has failed.
    Other {
        /// Its type.
        kind: u8,
        /// What it says.
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

    /// The options, in the order in which they were added.
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
    /// Is it one that a header may carry so? Others have fields of their own, or an action that
    /// would have to be taken.
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

    /// Its length (bytes).
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

    /// The next of those that were written.
    fn read(from: &mut Reader<'a>) -> Option<Self> {
        let (kind, len) = (from.u8().ok()?, from.u8().ok()?);
        let data = from.slice(usize::from(len)).ok()?;
        match kind {
            crate::dsr_codec::ERROR => Some(Self::Error(DsrError::read(Reader(data)).ok()??)),
            _ => Self::parse(kind, data),
        }
    }

    /// The option of this type, if it is no error; `None`: it is none that is kept so.
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
    /// Its request.
    pub const fn request(&self) -> Option<&DsrRequest> {
        match &self.request_or_options {
            DsrRequestOrOptions::Request(request) => Some(request),
            _ => None,
        }
    }

    /// Its request, to be changed.
    pub const fn request_mut(&mut self) -> Option<&mut DsrRequest> {
        match &mut self.request_or_options {
            DsrRequestOrOptions::Request(request) => Some(request),
            _ => None,
        }
    }

    /// Adds an option; an error to the others, as long as there is a place among them. `false` if
    /// there is no room: a header with a request has none, another has some 70 bytes.
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

    /// Takes its first error out. The others move up, and one among the further options takes the
    /// place that is free: they have errors only as long as there is no place among the others.
    pub fn take_error(&mut self) -> Option<DsrError> {
        let [first, rest @ ..] = self.errors;
        let first = first?;
        self.errors = [None; DSR_ERRORS_MAX];
        for (place, error) in self.errors.iter_mut().zip(rest) {
            *place = error;
        }
        if let DsrRequestOrOptions::ExtraOptions(more) = self.request_or_options {
            self.request_or_options = DsrRequestOrOptions::None;
            // They fit: they were there, and without one that has moved.
            for option in more.options() {
                self.add_option(option);
            }
        }
        Some(first)
    }

    /// Takes its Acknowledgment Request out: what it asks for is done at each hop anew.
    pub fn take_ack_request(&mut self) -> Option<u16> {
        let DsrRequestOrOptions::ExtraOptions(more) = self.request_or_options else { return None };
        let asked = more.options().find_map(|option| match option {
            DsrOption::AckRequest { id } => Some(id),
            _ => None,
        })?;
        self.request_or_options = DsrRequestOrOptions::None;
        // The others fit: they were there.
        for option in more.options() {
            if !matches!(option, DsrOption::AckRequest { .. }) {
                self.add_option(option);
            }
        }
        Some(asked)
    }

    /// Takes the further options of this type out.
    pub(crate) fn remove_options(&mut self, kind: u8) {
        let is_one = |option: &DsrOption<'_>| matches!(option, DsrOption::Other { kind: known, .. } if *known == kind);
        if let DsrRequestOrOptions::ExtraOptions(more) = self.request_or_options
            && more.options().any(|option| is_one(&option))
        {
            self.request_or_options = DsrRequestOrOptions::None;
            // The others fit: they were there.
            for option in more.options().filter(|option| !is_one(option)) {
                self.add_option(option);
            }
        }
    }

    /// Its further options.
    pub fn extra_options(&self) -> impl Iterator<Item = DsrOption<'_>> {
        let more = match &self.request_or_options {
            DsrRequestOrOptions::ExtraOptions(more) => Some(more),
            _ => None,
        };
        more.into_iter().flat_map(DsrExtraOptions::options)
    }

    /// Its errors, and those among the further options.
    pub fn all_errors(&self) -> impl Iterator<Item = DsrError> {
        let further = self.extra_options().filter_map(|option| match option {
            DsrOption::Error(error) => Some(error),
            _ => None,
        });
        self.errors().copied().chain(further)
    }
}
