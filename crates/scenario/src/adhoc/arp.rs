//! The key `arp`: resolution of the neighbours' hardware addresses.

use std::borrow::Cow;

use driftway_link::{ArpConfig, ArpRetry};
use serde::de::MapAccess;
use serde::{Serialize, Serializer};

use crate::Time;
use crate::file_value::{FileValue, Lifetime};
use crate::problem::CheckResult;
use crate::rules::{RuledValue, Table, table};
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

table! {
    /// Options of ARP: the table `arp`. `arp = true` is a table with the defaults.
    ArpOptions of ArpConfig = ArpConfig::STANDARD, "true, false, or a table with the keys of ARP";
    /// Maximum number of packets that wait for the resolution of one address; the oldest is
    /// replaced when it is exceeded (RFC 1122 §2.3.2.2).
    hold: usize [range("the number of packets", 1..=1000), ns2(
        "RFC 1122 §2.3.2.2: at least the latest packet is kept for each unresolved address. Linux \
         keeps several; driftway keeps three.",
        "One packet, which a newer one replaces (mac/arp.cc `arpresolve`).",
    )],
    /// Number of unanswered requests after which the waiting packets are dropped.
    requests: u32 [range("the number of requests", 1..=1000)],
    /// Trigger of the next request for an unresolved address: a time since the previous request
    /// (RFC 1122 §2.3.2.1), or `"next-packet"`, the next packet for the same neighbour, as in
    /// ns-2.35.
    retry: ArpRetryRule [positive(), ns2(
        "RFC 1122 §2.3.2.1: requests are sent at most once per second; the waiting packets are \
         dropped if there is no reply.",
        "No timer: only the next packet for the same neighbour triggers another request. The \
         packet after the third request is reported as a link failure, together with the one that \
         waited. Until then up to three packets are dropped silently (mac/arp.cc, \
         `ARP_MAX_REQUEST_COUNT`).",
    )],
    /// Lifetime of a resolved address since its node was last heard, or `"forever"` (RFC 1122
    /// §2.3.2.1 requires a timeout and leaves its length open).
    lifetime: Lifetime [positive(), ns2(
        "RFC 1122 §2.3.2.1: there must be a mechanism to flush out-of-date addresses; 20 minutes \
         is the value of BSD.",
        "Addresses never expire (mac/arp.cc).",
    )],
    /// Adds the sender of every overheard request to the table, as in ns-2.35; false: only a node
    /// that is the target of the request does (RFC 826).
    learn_from_all: bool [ns2(
        "RFC 826, packet reception: known addresses are updated, but only the target of a message \
         adds an unknown one.",
        "Every node that receives a request adds the address of its sender (mac/arp.cc \
         `arpinput`).",
    )],
}

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
