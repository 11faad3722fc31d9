//! The table `routing`: the routing protocol.

use serde::de::MapAccess;
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Aodv, Dsr};
use crate::tagged::{self, Tagged};

/// Routing protocol; the key `protocol` selects the variant.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum Routing {
    /// Ad hoc on-demand distance vector routing (RFC 3561).
    Aodv(Aodv),
    /// Dynamic source routing (RFC 4728).
    Dsr(Dsr),
    /// Static shortest paths between the initial positions of the nodes.
    Static(StaticRouting),
}

/// Static routing: the table `routing` with `protocol = "static"`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of static routing")]
pub struct StaticRouting {
    /// Bytes added to each TCP packet; ns-2.35's DSDV counts a second IP header of 20 bytes.
    /// Default 0.
    pub tcp_padding: i16,
}

/// Values of `protocol`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Aodv,
    Dsr,
    Static,
}

impl<'de> Tagged<'de> for Routing {
    const KEY: &'static str = "protocol";
    type Kind = Kind;
    fn read<A: MapAccess<'de>>(
        kind: Kind,
        rest: MapAccessDeserializer<A>,
    ) -> Result<Self, A::Error> {
        match kind {
            Kind::Aodv => Aodv::deserialize(rest).map(Self::Aodv),
            Kind::Dsr => Dsr::deserialize(rest).map(Self::Dsr),
            Kind::Static => StaticRouting::deserialize(rest).map(Self::Static),
        }
    }
}

impl<'de> Deserialize<'de> for Routing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}
