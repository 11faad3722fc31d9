//! The DSR header (RFC 4728 §6), located between the IP header and the body of a packet.

use driftway_base::Ipv4Addr;

use crate::DsrRequestOrOptions;

/// The IP protocol number of DSR (RFC 4728 §9).
pub const DSR_PROTOCOL: u8 = 48;

/// Maximum number of addresses in one list. It gives a header a fixed size in memory; the format allows about
/// sixty. A reply lists all nodes but the initiator, so that a route has at most 17 nodes.
pub const DSR_ROUTE_MAX: usize = 16;

/// Maximum number of Route Errors in [`DsrHeader::errors`]; further ones are extra options
/// ([`DsrRequestOrOptions`]).
pub const DSR_ERRORS_MAX: usize = 3;

/// An ordered list of node addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddressList {
    list: [Ipv4Addr; DSR_ROUTE_MAX],
    len: u8,
}

impl core::fmt::Debug for AddressList {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}

impl Default for AddressList {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl AddressList {
    /// The empty list.
    pub const EMPTY: Self = Self { list: [Ipv4Addr::UNSPECIFIED; DSR_ROUTE_MAX], len: 0 };

    /// Copies `nodes`; `None` if there are more than [`DSR_ROUTE_MAX`].
    pub fn new(nodes: &[Ipv4Addr]) -> Option<Self> {
        let mut list = Self::EMPTY;
        list.list.get_mut(..nodes.len())?.copy_from_slice(nodes);
        list.len = nodes.len() as u8;
        Some(list)
    }

    /// Appends an address; returns false if there is no space left.
    pub fn push(&mut self, node: Ipv4Addr) -> bool {
        let Some(slot) = self.list.get_mut(usize::from(self.len)) else { return false };
        *slot = node;
        self.len += 1;
        true
    }

    /// Number of addresses.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The addresses.
    pub fn as_slice(&self) -> &[Ipv4Addr] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
}

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

/// Route Request option (RFC 4728 §6.2). The initiator is the packet's IP source address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrRequest {
    /// Identification; unique together with the initiator.
    pub id: u16,
    /// Target: the node to which a route is requested.
    pub target: Ipv4Addr,
    /// Nodes that forwarded the request, without the initiator.
    pub route: AddressList,
}

/// Route Reply option (RFC 4728 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrReply {
    /// L flag: the last hop is external to the DSR network.
    pub last_hop_external: bool,
    /// The nodes after the initiator of the request, ending with the target; the initiator is the packet's IP
    /// destination address.
    pub route: AddressList,
}

/// Route Error option (RFC 4728 §6.4, §7.3) of type "node unreachable", or about flow state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrError {
    /// Error type and type-specific information.
    pub kind: DsrErrorKind,
    /// Salvage count of the packet that caused the error, 4 bits.
    pub salvage: u8,
    /// Error source address: the node that detected the error.
    pub source: Ipv4Addr,
    /// Error destination address: the node to be notified.
    pub destination: Ipv4Addr,
}

/// Type of a Route Error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsrErrorKind {
    /// The error source cannot reach this neighbour.
    NodeUnreachable(Ipv4Addr),
    /// The error source does not know the flow (RFC 4728 §7.3.1).
    UnknownFlow {
        /// Destination of the flow's packet.
        destination: Ipv4Addr,
        /// Flow ID.
        id: u16,
    },
    /// The error source does not know a default flow between the packet's endpoints (RFC 4728 §7.3.2).
    DefaultFlowUnknown {
        /// Destination of the packet.
        destination: Ipv4Addr,
    },
}

/// DSR Source Route option (RFC 4728 §6.7). Source and destination are those of the IP header, unless the
/// packet was salvaged: then the route begins with the node that salvaged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrSourceRoute {
    /// F flag: the first hop is external to the DSR network.
    pub first_hop_external: bool,
    /// L flag: the last hop is external to the DSR network.
    pub last_hop_external: bool,
    /// Salvage count of the packet, 4 bits.
    pub salvage: u8,
    /// Segments Left: number of nodes of `route` still to be visited, 6 bits. The node to which the packet is
    /// being transmitted counts: the value is `route.len()` on the first hop from the source and 0 on the
    /// last hop.
    pub segments_left: u8,
    /// The intermediate nodes.
    pub route: AddressList,
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
            DsrRequestOrOptions::Request(request) => 8 + 4 * u32::from(request.route.len),
            DsrRequestOrOptions::ExtraOptions(more) => more.as_bytes().len() as u32,
        };
        let reply = self.reply.as_ref().map_or(0, |r| 3 + 4 * u32::from(r.route.len));
        let errors: u32 = self.errors().map(DsrError::size).sum();
        let timeout = if self.timeout_s.is_some() { 4 } else { 0 };
        let route = self.source_route.as_ref().map_or(0, |r| 4 + 4 * u32::from(r.route.len));
        lead + reply + errors + timeout + route
    }
}

impl DsrError {
    /// Length (bytes).
    pub const fn size(&self) -> u32 {
        12 + match self.kind {
            DsrErrorKind::NodeUnreachable(_) | DsrErrorKind::DefaultFlowUnknown { .. } => 4,
            DsrErrorKind::UnknownFlow { .. } => 6,
        }
    }
}
