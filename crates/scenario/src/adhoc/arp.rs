//! `arp = …`: how a node learns its neighbours' hardware addresses.

use std::fmt;

use driftway_node::{ArpConfig, ArpRetry};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;
use crate::setting::{Lifetime, Setting, table};

/// How a node learns its neighbours' hardware addresses: `true`, `false`, or `{ … }`.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arp {
    /// `false`: it knows them.
    #[default]
    Off,
    /// `true`, or a table: it asks for them (RFC 826).
    On(Resolution),
}

table! {
    /// `arp = { … }`.
    Resolution of ArpConfig = ArpConfig::STANDARD, "true, false, or a table with the keys of ARP";
    /// How many packets wait for one address; a further one takes the place of the oldest.
    hold: usize,
    /// Requests before a node gives up on what waits.
    requests: u32,
    /// What makes a node ask again: so much time, or `"next-packet"`, the next packet for the same
    /// neighbour and nothing else.
    again: Again,
    /// How long an address is known after it was last heard; `"forever"` is a value, too.
    lifetime: Lifetime,
    /// Keep the address of whoever asks, whatever it asks for.
    learn_from_all: bool,
}

/// What makes a node ask again for an address that it got no answer about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// So much time that goes by.
    After(Time),
    /// The next packet for that node.
    NextPacket,
}

impl Setting<ArpRetry> for Again {
    fn of(value: ArpRetry) -> Self {
        match value {
            ArpRetry::After(time) => Self::After(Time(time)),
            ArpRetry::NextPacket => Self::NextPacket,
        }
    }
    fn value(&self) -> ArpRetry {
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
