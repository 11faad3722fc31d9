//! The key `arp`: resolution of the neighbours' hardware addresses.

use std::fmt;

use driftway_node::{ArpConfig, AskAgain};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::setting::{Lifetime, Setting, table};

/// Address resolution (RFC 826): `false`, `true`, or a table of options.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arp {
    /// `false`: every node knows all hardware addresses.
    #[default]
    Off,
    /// `true` or a table: nodes send ARP requests (RFC 826).
    On(Resolution),
}

table! {
    /// Options of ARP: the table `arp`. `arp = true` is a table with the defaults.
    Resolution of ArpConfig = ArpConfig::STANDARD, "true, false, or a table with the keys of ARP";
    /// Maximum number of packets that wait for the resolution of one address; the oldest is
    /// replaced when it is exceeded (RFC 1122 §2.3.2.2). 1 to 1000. Default 3.
    hold: usize,
    /// Number of unanswered requests after which the waiting packets are dropped. 1 to 1000.
    /// Default 3.
    requests: u32,
    /// Trigger of the next request for an unresolved address: a time since the previous request
    /// (RFC 1122 §2.3.2.1), or `"next-packet"`, the next packet for the same neighbour, as in
    /// ns-2.35. Default 1 s.
    again: Again,
    /// Lifetime of a resolved address since its node was last heard, or `"forever"` (RFC 1122
    /// §2.3.2.1 requires a timeout and leaves its length open). Default 20 min.
    lifetime: Lifetime,
    /// Adds the sender of every overheard request to the table, as in ns-2.35; false: only a node
    /// that is the target of the request does (RFC 826). Default false.
    learn_from_all: bool,
}

/// Trigger of the next request for an unresolved address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// This time since the previous request.
    After(Time),
    /// `"next-packet"`: the next packet for the same neighbour.
    NextPacket,
}

impl Setting<AskAgain> for Again {
    fn of(value: AskAgain) -> Self {
        match value {
            AskAgain::After(time) => Self::After(Time(time)),
            AskAgain::NextPacket => Self::NextPacket,
        }
    }
    fn value(&self) -> AskAgain {
        match self {
            Self::After(Time(time)) => AskAgain::After(*time),
            Self::NextPacket => AskAgain::NextPacket,
        }
    }
}

impl Serialize for Arp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::On(resolution) => resolution.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Arp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Arp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a table with the keys of ARP")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<Arp, E> {
                Ok(if on { Arp::On(Resolution::default()) } else { Arp::Off })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arp, A::Error> {
                Resolution::deserialize(MapAccessDeserializer::new(map)).map(Arp::On)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for Again {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::After(time) => time.serialize(serializer),
            Self::NextPacket => serializer.serialize_str("next-packet"),
        }
    }
}

impl<'de> Deserialize<'de> for Again {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Again;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, such as \"1 s\", or \"next-packet\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Again, E> {
                match text {
                    "next-packet" => Ok(Again::NextPacket),
                    _ => text.parse().map(Again::After).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(Text)
    }
}
