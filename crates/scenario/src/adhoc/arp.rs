//! `arp = …`: how a node learns its neighbours' hardware addresses.

use std::fmt;

use driftway_node::{ArpConfig, ArpRetry};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::file_value::{FileValue, Lifetime, table};

/// How a node learns its neighbours' hardware addresses: `true`, `false`, or `{ … }`.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arp {
    /// `false`: it knows them.
    #[default]
    Off,
    /// `true`, or a table: it asks for them (RFC 826).
    On(ArpOptions),
}

table! {
    /// `arp = { … }`.
    ArpOptions of ArpConfig = ArpConfig::STANDARD, "true, false, or a table with the keys of ARP";
    /// How many packets wait for one address; a further one takes the place of the oldest.
    hold: usize,
    /// Requests before a node gives up on what waits.
    requests: u32,
    /// What makes a node ask again: so much time, or `"next-packet"`, the next packet for the same
    /// neighbour and nothing else.
    again: ArpRetryRule,
    /// How long an address is known after it was last heard; `"forever"` is a value, too.
    lifetime: Lifetime,
    /// Keep the address of whoever asks, whatever it asks for.
    learn_from_all: bool,
}

/// What makes a node ask again for an address that it got no answer about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpRetryRule {
    /// So much time that goes by.
    After(Time),
    /// The next packet for that node.
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
