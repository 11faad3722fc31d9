//! DSR's header (RFC 4728 §6), which stands between the IP header and what the packet carries.

use driftway_base::Ipv4Addr;

use crate::DsrRequestOrOptions;

/// The IP protocol number of DSR (RFC 4728 §9).
pub const DSR_PROTOCOL: u8 = 48;

/// The most addresses in one list, so that a header has a fixed size in memory (an option has room for
/// some sixty): a reply lists all nodes but its initiator, so a route has 17.
pub const DSR_ROUTE_MAX: usize = 16;

/// The most route errors in one packet that are nested; further ones are options of [`DsrLead`].
pub const DSR_ERRORS_MAX: usize = 3;

/// A list of nodes, in order.
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
    /// None.
    pub const EMPTY: Self = Self { list: [Ipv4Addr::UNSPECIFIED; DSR_ROUTE_MAX], len: 0 };

    /// Copies them; `None` if there are too many.
    pub fn new(nodes: &[Ipv4Addr]) -> Option<Self> {
        let mut list = Self::EMPTY;
        list.list.get_mut(..nodes.len())?.copy_from_slice(nodes);
        list.len = nodes.len() as u8;
        Some(list)
    }

    /// Adds one at the end; `false` if there is no room.
    pub fn push(&mut self, node: Ipv4Addr) -> bool {
        let Some(slot) = self.list.get_mut(usize::from(self.len)) else { return false };
        *slot = node;
        self.len += 1;
        true
    }

    /// How many.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// None?
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The nodes.
    pub fn as_slice(&self) -> &[Ipv4Addr] {
        self.list.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// A DSR header: what a packet carries between the IP header and its body. First comes the Flow
/// State header, then the options in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DsrHeader {
    /// The Flow State header (RFC 4728 §7.1).
    pub flow: Option<DsrFlow>,
    /// A Route Request, or further options.
    pub request_or_options: DsrRequestOrOptions,
    /// RFC 4728 §6.3.
    pub reply: Option<DsrReply>,
    /// RFC 4728 §6.4, the newest first; the first `None` ends the list.
    pub errors: [Option<DsrError>; DSR_ERRORS_MAX],
    /// Timeout option (RFC 4728 §7.2.1): how long the flow is to live (s). It stands before the
    /// source route, as §8.6.1 asks.
    pub timeout_s: Option<u16>,
    /// RFC 4728 §6.7.
    pub source_route: Option<DsrSourceRoute>,
}

/// Route Request option: who knows a way to `target`? The initiator is the packet's IP source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrRequest {
    /// With the initiator it names the request.
    pub id: u16,
    /// To whom a way is wanted.
    pub target: Ipv4Addr,
    /// The nodes that it has passed, without its initiator.
    pub route: AddressList,
}

/// Route Reply option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrReply {
    /// L: the last hop is outside of the DSR network.
    pub last_hop_external: bool,
    /// The nodes behind the initiator of the request, the target being the last; the initiator is
    /// the packet's IP destination.
    pub route: AddressList,
}

/// Route Error option of the type "node unreachable", or of one about flow state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrError {
    /// What is wrong.
    pub kind: DsrErrorKind,
    /// How often the packet that drew it had been salvaged, 4 bits.
    pub salvage: u8,
    /// Who found it.
    pub source: Ipv4Addr,
    /// Who is told.
    pub destination: Ipv4Addr,
}

/// What a Route Error says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DsrErrorKind {
    /// Its source can't reach this neighbour.
    NodeUnreachable(Ipv4Addr),
    /// Its source doesn't know this flow (RFC 4728 §6.4: destination of the flow's packet, flow id).
    UnknownFlow {
        /// Where the packet went.
        destination: Ipv4Addr,
        /// Its flow.
        id: u16,
    },
    /// Its source doesn't know a default flow between the packet's ends.
    DefaultFlowUnknown {
        /// Where the packet went.
        destination: Ipv4Addr,
    },
}

/// DSR Source Route option. The destination stands in the IP header alone, and so does the source,
/// unless the packet has been salvaged: then the route begins with the node that salvaged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrSourceRoute {
    /// F: the first hop is outside of the DSR network.
    pub first_hop_external: bool,
    /// L: the last hop is.
    pub last_hop_external: bool,
    /// How often the packet has been salvaged, 4 bits.
    pub salvage: u8,
    /// How many nodes of `route` are still to be visited, 6 bits. While the packet is on the air to
    /// a node of the route, that node counts: it is `route.len()` on the first hop from the source
    /// and 0 on the last hop.
    pub segments_left: u8,
    /// The intermediate nodes.
    pub route: AddressList,
}

/// DSR Flow State header: the packet belongs to a flow (RFC 4728 §3.5). A packet with neither this
/// nor a source route follows the default flow between its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DsrFlow {
    /// The flow; with both ends of the packet it is unique.
    pub id: u16,
    /// Hops taken, 7 bits.
    pub hops: u8,
}

impl DsrHeader {
    /// Its errors, those among the further options apart.
    pub fn errors(&self) -> impl Iterator<Item = &DsrError> {
        self.errors.iter().map_while(Option::as_ref)
    }

    /// Has it any option? Without one there is no Options header.
    pub fn has_options(&self) -> bool {
        !matches!(self.request_or_options, DsrRequestOrOptions::None)
            || self.reply.is_some()
            || self.errors().next().is_some()
            || self.timeout_s.is_some()
            || self.source_route.is_some()
    }

    /// Its length (bytes): the Flow State header; the fixed part of the Options header, then
    /// options, padded to a multiple of 4 (RFC 4728 §6.1).
    pub fn size(&self) -> u32 {
        let flow = if self.flow.is_some() { 4 } else { 0 };
        if !self.has_options() {
            return flow;
        }
        flow + 4 + self.options_size().next_multiple_of(4)
    }

    /// The length of its options without padding.
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
    /// Its length (bytes).
    pub const fn size(&self) -> u32 {
        12 + match self.kind {
            DsrErrorKind::NodeUnreachable(_) | DsrErrorKind::DefaultFlowUnknown { .. } => 4,
            DsrErrorKind::UnknownFlow { .. } => 6,
        }
    }
}
