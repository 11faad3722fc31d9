//! The table `routing`: the routing protocol.

use std::borrow::Cow;

use driftway_route::{RoutingPlace, RoutingProtocol};

use super::{Aodv, Dsr};
use crate::deviation::{Deviation, DeviationScope};
use crate::keys::keys;
use crate::registered::Registered;
use crate::tagged::tagged;

tagged! {
    /// Routing protocol; the key `protocol` selects the variant.
    pub enum Routing by "protocol",
    /// Values of `protocol`.
    pub enum RoutingKind {
        /// Ad hoc on-demand distance vector routing (RFC 3561).
        Aodv(Aodv) = "aodv",
        /// Dynamic source routing (RFC 4728).
        Dsr(Dsr) = "dsr",
        /// Static shortest paths between the initial positions of the nodes.
        Static(StaticRouting) = "static",
        /// No routing: a packet is sent straight to its destination, which has to be in range. An emulation carries
        /// Ethernet frames between neighbours, and routing is up to the nodes' kernels and their daemons.
        None(NoRouting) = "none",
    }
    /// A protocol that declares its options itself, built in or of a [`Registry`](crate::Registry).
    or Registered(Registered<RoutingPlace, Box<dyn RoutingProtocol>>),
}

impl Routing {
    /// Name of the protocol, for readers.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Aodv(_) => "AODV",
            Self::Dsr(_) => "DSR",
            Self::Static(_) => "static routes",
            Self::None(_) => "no routing",
            Self::Registered(protocol) => protocol.name(),
        }
    }
}

keys! {
    /// Static routing: the table `routing` with `protocol = "static"`.
    #[derive(Eq)]
    pub struct StaticRouting with defaults expecting "a table with the keys of static routing" {
        /// Bytes added to each TCP packet; ns-2.35's DSDV counts a second IP header of 20 bytes.
        tcp_padding: i16 = 0,
    }
}

keys! {
    /// No routing: `routing = "none"`.
    #[derive(Eq)]
    pub struct NoRouting with defaults expecting "a table with `protocol = \"none\"` alone" {}
}

/// Deviation of ns-2.35 with static routing.
pub(crate) const NS2: &[Deviation] = &[Deviation {
    key: Cow::Borrowed("routing.tcp_padding"),
    scope: DeviationScope::Static,
    standard: Cow::Borrowed("0"),
    ns2: Cow::Borrowed("20"),
    standard_says: "A packet has one IP header.",
    ns2_does: "Its closest equivalent of static routes is a stopped DSDV, whose packets have \
                   a second IP header of 20 bytes; TCP packets under AODV do not (dsdv/dsdv.cc \
                   `recv`, aodv/aodv.cc `recv`).",
}];
