//! Encoding and decoding of DSR headers (RFC 4728 §6, §7).

use driftway_base::Ipv4Addr;

use super::address_list::AddressList;
use super::error::DsrError;
use super::extra_options::{DsrOption, DsrRequestOrOptions};
use super::header::{DSR_PROTOCOL, DsrFlow, DsrHeader};
use super::option_head::{
    ERROR, PAD_1, PAD_N, REPLY, REQUEST, SOURCE_ROUTE, TIMEOUT, UNKNOWN_OPTION_ACTION,
    write_option_head,
};
use super::route_options::{DsrReply, DsrRequest, DsrSourceRoute};
use crate::cursor::{Reader, Writer};
use crate::{DecodeError, EncodeError};

/// F bit of the second byte: a Flow State header instead of an Options header.
const FLOW_STATE: u8 = 0x80;
/// L flag of a reply; F and L flags of a source route.
const REPLY_LAST_EXTERNAL: u8 = 0x80;
const FIRST_EXTERNAL: u16 = 0x8000;
const LAST_EXTERNAL: u16 = 0x4000;

impl DsrHeader {
    /// Encodes the header of a packet whose body has the protocol number `next`.
    pub(crate) fn write(&self, next: u8, to: &mut Writer<'_>) -> Result<(), EncodeError> {
        let has_options = self.has_options();
        if let Some(flow) = &self.flow {
            to.u8(if has_options { DSR_PROTOCOL } else { next })?;
            to.u8(FLOW_STATE | flow.hops.min(127))?;
            to.u16(flow.id)?;
        }
        if !has_options {
            return Ok(());
        }
        to.u8(next)?;
        to.u8(0)?;
        let options = self.options_size();
        let padded = options.next_multiple_of(4);
        to.u16(padded as u16)?;
        if let Some(request) = self.request() {
            write_option_head(REQUEST, 6 + list_size(&request.route), to)?;
            to.u16(request.id)?;
            to.u32(request.target.to_bits())?;
            write_list(&request.route, to)?;
        }
        if let Some(reply) = &self.reply {
            write_option_head(REPLY, 1 + list_size(&reply.route), to)?;
            to.u8(if reply.last_hop_external { REPLY_LAST_EXTERNAL } else { 0 })?;
            write_list(&reply.route, to)?;
        }
        for error in self.errors() {
            error.write(to)?;
        }
        if let DsrRequestOrOptions::ExtraOptions(more) = &self.request_or_options {
            let bytes = more.as_bytes();
            to.slice(bytes.len())?.copy_from_slice(bytes);
        }
        if let Some(timeout) = self.timeout_s {
            write_option_head(TIMEOUT, 2, to)?;
            to.u16(timeout)?;
        }
        if let Some(route) = &self.source_route {
            write_option_head(SOURCE_ROUTE, 2 + list_size(&route.route), to)?;
            let first = if route.first_hop_external { FIRST_EXTERNAL } else { 0 };
            let last = if route.last_hop_external { LAST_EXTERNAL } else { 0 };
            let counts =
                u16::from(route.salvage.min(15)) << 6 | u16::from(route.segments_left.min(63));
            to.u16(first | last | counts)?;
            write_list(&route.route, to)?;
        }
        // RFC 4728 §6.8: a single octet of padding is Pad1.
        match padded - options {
            0 => Ok(()),
            1 => to.u8(PAD_1),
            n => {
                write_option_head(PAD_N, n - 2, to)?;
                (2..n).try_for_each(|_| to.u8(0))
            }
        }
    }

    /// Decodes the headers at the start of `bytes`. Returns them with the protocol number of the body and the
    /// body.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, u8, &[u8]), DecodeError> {
        let mut from = Reader(bytes);
        let mut header = Self::default();
        let (mut next, mut second) = (from.u8()?, from.u8()?);
        if second & FLOW_STATE != 0 {
            header.flow = Some(DsrFlow { hops: second & !FLOW_STATE, id: from.u16()? });
            if next != DSR_PROTOCOL {
                return Ok((header, next, from.0));
            }
            (next, second) = (from.u8()?, from.u8()?);
            if second & FLOW_STATE != 0 {
                // RFC 4728 §8.6.2: at most one Flow State header.
                return Err(DecodeError::HeaderLength);
            }
        }
        let len = from.u16()?;
        let mut options = Reader(from.slice(usize::from(len))?);
        while !options.0.is_empty() {
            header.read_option(&mut options)?;
        }
        Ok((header, next, from.0))
    }

    fn read_option(&mut self, options: &mut Reader<'_>) -> Result<(), DecodeError> {
        let kind = options.u8()?;
        if kind == PAD_1 {
            return Ok(());
        }
        let len = options.u8()?;
        let mut from = Reader(options.slice(usize::from(len))?);
        let wrong = |_| DecodeError::DsrOption { kind };
        let once =
            |is_new: bool| if is_new { Ok(()) } else { Err(DecodeError::DsrOption { kind }) };
        match kind {
            REQUEST => {
                // A request replaces options that may be ignored, but not errors.
                let errors = self.extra_options().any(|more| matches!(more, DsrOption::Error(_)));
                once(self.request().is_none() && !errors)?;
                let (id, target) = (from.u16().map_err(wrong)?, from.address().map_err(wrong)?);
                let route = read_list(from).ok_or(DecodeError::DsrOption { kind })?;
                self.request_or_options =
                    DsrRequestOrOptions::Request(DsrRequest { id, target, route });
            }
            REPLY => {
                once(self.reply.is_none())?;
                let flags = from.u8().map_err(wrong)?;
                let route = read_list(from).ok_or(DecodeError::DsrOption { kind })?;
                let last_hop_external = flags & REPLY_LAST_EXTERNAL != 0;
                self.reply = Some(DsrReply { last_hop_external, route });
            }
            ERROR => {
                if let Some(error) = DsrError::read(from).map_err(wrong)? {
                    once(self.add_option(DsrOption::Error(error)))?;
                }
            }
            TIMEOUT => {
                once(self.timeout_s.is_none())?;
                self.timeout_s = Some(from.u16().map_err(wrong)?);
            }
            SOURCE_ROUTE => {
                once(self.source_route.is_none())?;
                let fields = from.u16().map_err(wrong)?;
                let route = read_list(from).ok_or(DecodeError::DsrOption { kind })?;
                self.source_route = Some(DsrSourceRoute {
                    first_hop_external: fields & FIRST_EXTERNAL != 0,
                    last_hop_external: fields & LAST_EXTERNAL != 0,
                    salvage: (fields >> 6 & 15) as u8,
                    segments_left: (fields & 63) as u8,
                    route,
                });
            }
            // RFC 4728 §8.1.6: treatment of unknown options.
            _ => {
                once(kind & UNKNOWN_OPTION_ACTION != UNKNOWN_OPTION_ACTION)?;
                // Ignored if there is no space left.
                if let Some(option) = DsrOption::parse(kind, from.0) {
                    self.add_option(option);
                }
            }
        }
        Ok(())
    }
}

const fn list_size(nodes: &AddressList) -> u32 {
    4 * nodes.len() as u32
}

fn write_list(nodes: &AddressList, to: &mut Writer<'_>) -> Result<(), EncodeError> {
    nodes.as_slice().iter().try_for_each(|node| to.u32(node.to_bits()))
}

/// The rest of the option as a list; `None` if it is not a list of addresses, or longer than
/// [`DSR_ROUTE_MAX`](crate::DSR_ROUTE_MAX).
fn read_list(from: Reader<'_>) -> Option<AddressList> {
    let (addresses, rest) = from.0.as_chunks::<4>();
    let mut nodes = AddressList::EMPTY;
    let all = addresses.iter().all(|octets| nodes.push(Ipv4Addr::from(*octets)));
    (all && rest.is_empty()).then_some(nodes)
}
