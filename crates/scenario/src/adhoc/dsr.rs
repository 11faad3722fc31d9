//! The table `routing = { protocol = "dsr", … }`.

use driftway_base::Duration;
use driftway_route::{
    CachePart, DsrConfig, NextHopConfirmation, NonPropagatingRequests, ReplyFromCache,
    RequestTablePolicy, RouteShortening, SalvageReplies, dsr_options,
};
use serde::{Deserialize, Serialize};

use super::dsr_cache::DsrCache;
use crate::Time;
use crate::file_value::{FileValue, Keyword, Lifetime, OrNone, mirrors};
use crate::keys::keys;
use crate::problem::{CheckResult, MAX_PROTOCOL_TIME};
use crate::rules::{RuledValue, Table};
use crate::table::table;

dsr_options! { table! {
    /// DSR routing (RFC 4728): the table `routing` with `protocol = "dsr"`. Defaults are those of
    /// RFC 4728. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    pub struct Dsr of DsrConfig = DsrConfig::STANDARD, "a table with the keys of DSR";
} }

/// Detection of duplicate route requests (Route Request Table, RFC 4728 §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "{ numbers = { nodes = 64, numbers = 16 } } or { highest = { nodes = 128 } }"
)]
pub enum RequestTableKind {
    /// The latest identifications of each node.
    Numbers(RequestTableIds),
    /// Only the highest identification of each node, as in ns-2.35.
    Highest(RequestTableHighest),
}

keys! {
    /// Size of a table of identifications, `{ nodes = 64, numbers = 16 }`.
    #[derive(Copy, Eq)]
    pub struct RequestTableIds expecting "a table with the keys `nodes` and `numbers`" {
        /// Maximum number of initiators in the table (RequestTableSize, RFC 4728 §9).
        nodes: u16 [range("the number of nodes", 1..=65_535)],
        /// Number of identifications kept per initiator (RequestTableIds, RFC 4728 §9).
        numbers: u8 [range("the number of requests", 1..=16)],
    }
}

keys! {
    /// Size of a table of highest identifications, `{ nodes = 128 }`.
    #[derive(Copy, Eq)]
    pub struct RequestTableHighest expecting "a table with the key `nodes`" {
        /// Maximum number of initiators in the table.
        nodes: u16 [range("the number of nodes", 1..=65_535)],
    }
}

impl RuledValue for RequestTableKind {
    fn check_inside(&self, key: &str) -> CheckResult {
        match self {
            Self::Numbers(table) => table.check_ranges(&format!("{key}.numbers")),
            Self::Highest(table) => table.check_ranges(&format!("{key}.highest")),
        }
    }
}

mirrors! {
    RequestTableKind of RequestTablePolicy {
        Numbers(RequestTableIds { nodes, numbers }) = RecentIds { nodes, ids: numbers },
        Highest(RequestTableHighest { nodes }) = HighestId { nodes },
    }
}

keys! {
    /// Parameters of the flow state extension (RFC 4728 §3.5): the table `flow_state`.
    #[derive(Copy, Eq)]
    pub struct FlowState expecting "a table with the keys `timeout`, `establish`, `refresh`" {
        /// Lifetime of a flow after its last packet, in whole seconds. 1 s to 65535 s.
        timeout: Time,
        /// Number of packets with a source route after which the flow is established.
        establish: u8 [range("the number of packets", 1..=255)],
        /// Time after which a packet of the flow carries the source route again.
        refresh: Time [at_most(MAX_PROTOCOL_TIME)],
    }
}

const NANOS_PER_SECOND: u64 = Duration::from_secs(1).as_nanos();

impl FlowState {
    /// Returns whether the header can encode the timeout: 1 to 65535 whole seconds.
    pub(crate) const fn fits_header(&self) -> bool {
        let nanos = self.timeout.0.as_nanos();
        nanos.is_multiple_of(NANOS_PER_SECOND)
            && nanos / NANOS_PER_SECOND <= u16::MAX as u64
            && nanos > 0
    }
}

impl FileValue<driftway_route::FlowState> for FlowState {
    fn from_config(value: driftway_route::FlowState) -> Self {
        let driftway_route::FlowState { timeout_s, establish, refresh } = value;
        Self { timeout: Time::from_secs(timeout_s.into()), establish, refresh: Time(refresh) }
    }
    fn to_config(&self) -> driftway_route::FlowState {
        let seconds = self.timeout.0.as_nanos() / NANOS_PER_SECOND;
        driftway_route::FlowState {
            timeout_s: u16::try_from(seconds).unwrap_or(u16::MAX),
            establish: self.establish,
            refresh: self.refresh.0,
        }
    }
}
