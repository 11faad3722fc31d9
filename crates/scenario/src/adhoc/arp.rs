//! The key `arp`: resolution of the neighbours' hardware addresses.

use std::fmt;

use driftway_link::{ArpConfig, ArpRetry};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::file_value::{FileValue, Lifetime, table};

/// Address resolution (RFC 826): `false`, `true`, or a table of options.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arp {
    /// `false`: every node knows all hardware addresses.
    #[default]
    Off,
    /// `true` or a table: nodes send ARP requests (RFC 826).
    On(ArpOptions),
}

table! {
    /// Options of ARP: the table `arp`. `arp = true` is a table with the defaults.
    ArpOptions of ArpConfig = ArpConfig::STANDARD, "true, false, or a table with the keys of ARP";
    /// Maximum number of packets that wait for the resolution of one address; the oldest is
    /// replaced when it is exceeded (RFC 1122 §2.3.2.2). 1 to 1000. Default 3.
    hold: usize,
    /// Number of unanswered requests after which the waiting packets are dropped. 1 to 1000.
    /// Default 3.
    requests: u32,
    /// Trigger of the next request for an unresolved address: a time since the previous request
    /// (RFC 1122 §2.3.2.1), or `"next-packet"`, the next packet for the same neighbour, as in
    /// ns-2.35. Default 1 s.
    retry: ArpRetryRule,
    /// Lifetime of a resolved address since its node was last heard, or `"forever"` (RFC 1122
    /// §2.3.2.1 requires a timeout and leaves its length open). Default 20 min.
    lifetime: Lifetime,
    /// Adds the sender of every overheard request to the table, as in ns-2.35; false: only a node
    /// that is the target of the request does (RFC 826). Default false.
    learn_from_all: bool,
}

/// Trigger of the next request for an unresolved address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpRetryRule {
    /// This time since the previous request.
    After(Time),
    /// `"next-packet"`: the next packet for the same neighbour.
    NextPacket,
}

impl FileValue<ArpRetry> for ArpRetryRule {
    fn from_config(value: ArpRetry) -> Self {
        match value {
            ArpRetry::After(time) => Self::After(Time(time)),
            ArpRetry::NextPacket => Self::NextPacket,
        }
    }
    fn to_config(&self) -> ArpRetry {
        match self {
            Self::After(Time(time)) => ArpRetry::After(*time),
            Self::NextPacket => ArpRetry::NextPacket,
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
        struct ArpVisitor;
        impl<'de> Visitor<'de> for ArpVisitor {
            type Value = Arp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a table with the keys of ARP")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<Arp, E> {
                Ok(if on { Arp::On(ArpOptions::default()) } else { Arp::Off })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arp, A::Error> {
                ArpOptions::deserialize(MapAccessDeserializer::new(map)).map(Arp::On)
            }
        }
        deserializer.deserialize_any(ArpVisitor)
    }
}

impl Serialize for ArpRetryRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::After(time) => time.serialize(serializer),
            Self::NextPacket => serializer.serialize_str("next-packet"),
        }
    }
}

impl<'de> Deserialize<'de> for ArpRetryRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArpRetryRuleVisitor;
        impl Visitor<'_> for ArpRetryRuleVisitor {
            type Value = ArpRetryRule;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, such as \"1 s\", or \"next-packet\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ArpRetryRule, E> {
                match text {
                    "next-packet" => Ok(ArpRetryRule::NextPacket),
                    _ => text.parse().map(ArpRetryRule::After).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(ArpRetryRuleVisitor)
    }
}
