//! The key `arp`: resolution of the neighbours' hardware addresses.

use std::borrow::Cow;

use driftway_link::{ArpConfig, ArpRetry, arp_options};
use serde::de::MapAccess;
use serde::{Serialize, Serializer};

use crate::Time;
use crate::file_value::{Lifetime, mirrors};
use crate::problem::CheckResult;
use crate::rules::{RuledValue, Table};
use crate::table::table;
use crate::value_or::{self, Forms, Found, value_or};

/// Address resolution (RFC 826): `false`, `true`, or a table of options.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Arp {
    /// `false`: every node knows all hardware addresses.
    #[default]
    Off,
    /// `true` or a table: nodes send ARP requests (RFC 826).
    On(ArpOptions),
}

arp_options! { table! {
    /// Options of ARP: the table `arp`. `arp = true` is a table with the defaults.
    pub struct ArpOptions of ArpConfig = ArpConfig::STANDARD, "true, false, or a table with the keys of ARP";
} }

value_or! {
    /// Trigger of the next request for an unresolved address.
    #[derive(Eq)]
    pub enum ArpRetryRule expecting "a time with its unit, such as \"1 s\", or \"next-packet\"" {
        /// This time since the previous request.
        After(time: Time) from text,
        /// `"next-packet"`: the next packet for the same neighbour.
        NextPacket = "next-packet",
    }
}

impl RuledValue for ArpRetryRule {
    fn time(&self) -> Option<Time> {
        match self {
            Self::After(time) => Some(*time),
            Self::NextPacket => None,
        }
    }
}

mirrors! {
    ArpRetryRule of ArpRetry {
        After(Time(time)) = After(time),
        NextPacket = NextPacket,
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

impl Forms for Arp {
    fn expecting() -> Cow<'static, str> {
        "true, false, or a table with the keys of ARP".into()
    }
    fn read(found: Found<'_>) -> Option<Result<Self, String>> {
        match found {
            Found::Flag(true) => Some(Ok(Self::On(ArpOptions::default()))),
            Found::Flag(false) => Some(Ok(Self::Off)),
            _ => None,
        }
    }
    fn read_table<'de, A: MapAccess<'de>>(found: A) -> Option<Result<Self, A::Error>> {
        Some(value_or::table(found).map(Self::On))
    }
}

value_or::by_forms!(Arp);

impl RuledValue for Arp {
    fn check_inside(&self, key: &str) -> CheckResult {
        match self {
            Self::Off => Ok(()),
            Self::On(options) => options.check_ranges(key),
        }
    }
}
