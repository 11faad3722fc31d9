//! The table `routing = { protocol = "aodv", … }`.

use std::borrow::Cow;

use driftway_route::{
    AodvConfig, ErrorRule, HelloConfig, LocalRepair, RouteRefresh, SearchRule, aodv_options,
    hello_options,
};
use serde::{Deserialize, Serialize};

use crate::Time;
use crate::deviation::{Deviation, DeviationScope};
use crate::file_value::{Keyword, Lifetime, OrNone, mirrors};
use crate::problem::{CheckResult, MAX_PROTOCOL_TIME, require_at_most};
use crate::rules::RuledValue;
use crate::table::table;

aodv_options! { table! {
    /// AODV routing (RFC 3561): the table `routing` with `protocol = "aodv"`. Defaults are the
    /// constants of RFC 3561 §10; where the RFC leaves a choice open, the key's description names
    /// the default. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    pub struct Aodv of AodvConfig = AodvConfig::STANDARD, "a table with the keys of AODV";
} }

/// Default of `hello` over TDMA, which is another one than the configuration's.
pub(crate) const OVER_TDMA: Deviation = Deviation {
    key: Cow::Borrowed("routing.hello"),
    scope: DeviationScope::AodvOverTdma,
    standard: Cow::Borrowed(r#"{ interval = "1 s", allowed_loss = 2 }"#),
    ns2: Cow::Borrowed(r#""none""#),
    standard_says: "§6.9, §6.10: a node without feedback from the link layer sends hello \
                    messages, and considers a neighbour unreachable after ALLOWED_HELLO_LOSS \
                    missing ones.",
    ns2_does: "Is compiled for feedback from the link layer, without hello messages. Its TDMA \
               provides none, so that broken links are not detected.",
};

hello_options! { table! {
    /// Hello messages of AODV (RFC 3561 §6.9): the table `hello`.
    pub struct Hello of HelloConfig = HelloConfig::STANDARD, "a table with the keys `interval` and `allowed_loss`";
} }

/// Retry rule for unanswered route requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"timed\" or { on-demand = \"10 s\" }")]
pub enum RequestRetry {
    /// `"timed"`: when the reply timeout expires (RFC 3561 §6.3, §6.4).
    Timed,
    /// `{ on-demand = "10 s" }`: as in ns-2.35, with this pause after a failed search.
    OnDemand(Time),
}

mirrors! {
    RequestRetry of SearchRule {
        Timed = Timed,
        OnDemand(Time(pause)) = OnDemand { pause },
    }
}

/// Condition under which a node repairs a broken route itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "\"off\", { near = { max_hops = 10, add_ttl = 2 } } or \"past-half\""
)]
pub enum LocalRepairMode {
    /// `"off"`: never.
    Off,
    /// `{ near = { … } }`: if the destination is near enough (RFC 3561 §6.12).
    Near(NearRepair),
    /// `"past-half"`: as in ns-2.35, if the packet had travelled more hops than remained.
    PastHalf,
}

/// Limits of local repair, `{ max_hops = 10, add_ttl = 2 }` (RFC 3561 §6.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `max_hops` and `add_ttl`")]
pub struct NearRepair {
    /// Maximum number of hops to the destination (MAX_REPAIR_TTL, RFC 3561 §10).
    pub max_hops: u8,
    /// Hops by which the TTL of the repairing request exceeds the expected distance (LOCAL_ADD_TTL,
    /// RFC 3561 §10).
    pub add_ttl: u8,
}

mirrors! {
    LocalRepairMode of LocalRepair {
        Off = Off,
        Near(NearRepair { max_hops, add_ttl }) = NearDestination { max_hops, add_ttl },
        PastHalf = PastMidpoint,
    }
}

impl RuledValue for RequestRetry {
    fn check_inside(&self, key: &str) -> CheckResult {
        match self {
            Self::Timed => Ok(()),
            Self::OnDemand(pause) => {
                require_at_most(format!("{key}.on-demand"), *pause, MAX_PROTOCOL_TIME)
            }
        }
    }
}

impl RuledValue for LocalRepairMode {}
