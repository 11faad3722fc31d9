//! The options of a DSR header that contain a route.

use driftway_base::Ipv4Addr;

use super::address_list::AddressList;

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
