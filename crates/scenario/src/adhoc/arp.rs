//! `arp = …`: how a node learns its neighbours' hardware addresses.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Time;

/// How a node learns its neighbours' hardware addresses: `true`, `false`, or `{ … }`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arp {
    /// `false`: it knows them.
    Off,
    /// `true`, or a table: it asks for them (RFC 826).
    On(Resolution),
}

/// `arp = { … }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table with the keys of ARP")]
pub struct Resolution {
    /// How many packets wait for one address; a further one takes the place of the oldest.
    /// Default 3.
    pub hold: u32,
    /// Requests before a node gives up on what waits. Default 3.
    pub requests: u32,
    /// What makes a node ask again. Default `"timer"`.
    pub again: Again,
    /// From one request to the next, if it is a timer that makes them. Default 1 s.
    pub every: Time,
    /// How long an address is known; `"forever"` is a value, too. Default 20 min.
    pub lifetime: Lifetime,
}

/// What makes a node ask again for an address that it got no answer about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "a word")]
pub enum Again {
    /// Time that goes by.
    #[default]
    Timer,
    /// The next packet for that node; the one after `requests` packets is given up, and the one
    /// that waits with it.
    Packet,
}

/// How long an address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// So long after it was last heard.
    Limited(Time),
    /// Until the run ends.
    Forever,
}

impl Default for Resolution {
    fn default() -> Self {
        Self {
            hold: 3,
            requests: 3,
            again: Again::Timer,
            every: Time::from_secs(1),
            lifetime: Lifetime::Limited(Time::from_secs(1200)),
        }
    }
}

impl Default for Arp {
    fn default() -> Self {
        Self::On(Resolution::default())
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
                Ok(if on { Arp::default() } else { Arp::Off })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Arp, A::Error> {
                Resolution::deserialize(MapAccessDeserializer::new(map)).map(Arp::On)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl Serialize for Lifetime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Limited(time) => time.serialize(serializer),
            Self::Forever => serializer.serialize_str("forever"),
        }
    }
}

impl<'de> Deserialize<'de> for Lifetime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Lifetime;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time with its unit, such as \"20 min\", or \"forever\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Lifetime, E> {
                match text {
                    "forever" => Ok(Lifetime::Forever),
                    _ => text.parse().map(Lifetime::Limited).map_err(E::custom),
                }
            }
        }
        deserializer.deserialize_any(Text)
    }
}
