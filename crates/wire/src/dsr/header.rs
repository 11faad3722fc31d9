//! The DSR header (RFC 4728 §6), located between the IP header and the body of a packet.

use super::error::DsrError;
use super::extra_options::{DsrExtraOptions, DsrOption, DsrRequestOrOptions};
use super::route_options::{DsrReply, DsrRequest, DsrSourceRoute};

/// The IP protocol number of DSR (RFC 4728 §9).
pub const DSR_PROTOCOL: u8 = 48;

/// Maximum number of Route Errors in [`DsrHeader::errors`]; further ones are extra options
/// ([`DsrRequestOrOptions`]).
pub const DSR_ERRORS_MAX: usize = 3;

/// A DSR header. The Flow State header comes first, then the options in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DsrHeader {
    /// The Flow State header (RFC 4728 §7.1).
    pub flow: Option<DsrFlow>,
    /// A Route Request, or extra options.
    pub request_or_options: DsrRequestOrOptions,
    /// Route Reply (RFC 4728 §6.3).
    pub reply: Option<DsrReply>,
    /// Route Errors (RFC 4728 §6.4), the newest first; the first `None` ends the list.
    pub errors: [Option<DsrError>; DSR_ERRORS_MAX],
    /// Timeout option (RFC 4728 §7.2.1): lifetime of the flow (s). It precedes the source route, as §8.6.1
    /// requires.
    pub timeout_s: Option<u16>,
    /// Source route (RFC 4728 §6.7).
    pub source_route: Option<DsrSourceRoute>,
}

/// DSR Flow State header (RFC 4728 §3.5). A packet with neither this header nor a source route follows the
/// default flow between its endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DsrFlow {
    /// Flow ID; unique together with source and destination.
    pub id: u16,
    /// Hop count, 7 bits.
    pub hops: u8,
}

impl DsrHeader {
    /// The Route Errors, without those among the extra options.
    pub fn errors(&self) -> impl Iterator<Item = &DsrError> {
        self.errors.iter().map_while(Option::as_ref)
    }

    /// Returns true if there is any option. Without options there is no DSR Options header.
    pub fn has_options(&self) -> bool {
        !matches!(self.request_or_options, DsrRequestOrOptions::None)
            || self.reply.is_some()
            || self.errors().next().is_some()
            || self.timeout_s.is_some()
            || self.source_route.is_some()
    }

    /// Length (bytes): the Flow State header, then the fixed part of the Options header and the options,
    /// padded to a multiple of 4 (RFC 4728 §6.1).
    pub fn size(&self) -> u32 {
        let flow = if self.flow.is_some() { 4 } else { 0 };
        if !self.has_options() {
            return flow;
        }
        flow + 4 + self.options_size().next_multiple_of(4)
    }

    /// Length of the options without padding (bytes).
    pub(crate) fn options_size(&self) -> u32 {
        let lead = match &self.request_or_options {
            DsrRequestOrOptions::None => 0,
            DsrRequestOrOptions::Request(request) => 8 + 4 * request.route.len() as u32,
            DsrRequestOrOptions::ExtraOptions(more) => more.as_bytes().len() as u32,
        };
        let reply = self.reply.as_ref().map_or(0, |r| 3 + 4 * r.route.len() as u32);
        let errors: u32 = self.errors().map(DsrError::size).sum();
        let timeout = if self.timeout_s.is_some() { 4 } else { 0 };
        let route = self.source_route.as_ref().map_or(0, |r| 4 + 4 * r.route.len() as u32);
        lead + reply + errors + timeout + route
    }

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
