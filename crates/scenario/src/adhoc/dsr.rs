//! `routing = { protocol = "dsr", … }`.

use driftway_base::Duration;
use driftway_route::{
    CachePart, DsrConfig, NextHopConfirmation, NonPropagatingRequests, ReplyFromCache,
    RequestTablePolicy, RouteShortening, SalvageReplies,
};
use serde::{Deserialize, Serialize};

use super::dsr_cache::DsrCache;
use crate::Time;
use crate::file_value::{FileValue, Keyword, Keywords, Lifetime, OrNone, table};

table! {
    /// `protocol = "dsr"`: RFC 4728. What is left out is as the RFC has it; what ns-2.35 does
    /// otherwise is in `docs/ns-2.md`.
    Dsr of DsrConfig = DsrConfig::STANDARD, "a table with the keys of DSR";
    /// `promiscuous`: listen to what is sent to others. Default true.
    #[serde(rename = "promiscuous")]
    tap: bool,
    /// What routes are kept in, by its name in [`driftway_route::CACHES`]: `"link-max-life"`,
    /// `{ paths = { primary = 30, secondary = 64, timeout = "300 s" } }`, or `"update"`
    /// (DSR-Update of yu-2004), which may have options: `{ update = { truncate = true } }`. Default
    /// `"link-max-life"`, which keeps at most 256 nodes and 1024 links, each direction being one:
    /// room is made by the quarter of them whose lifetimes end first, so that in a bigger network
    /// a node searches anew for what it has forgotten.
    cache: DsrCache,
    /// The most nodes of a route, both ends included: nothing that is as many hops away is reached,
    /// and the requests for it are dropped as `route-too-long`. Default 17, the most that there may be here.
    max_nodes: u8,
    /// The hop limit of a propagating request. Default 255.
    hop_limit: u8,
    /// Which searches begin with a request that nobody forwards: `"never"`, `"first"` (the first
    /// for a target) or `"each"`. Default `"first"`.
    ring_zero: Keyword<NonPropagatingRequests>,
    /// How long an answer to such a request is waited for. Default 30 ms.
    ring_zero_wait: Time,
    /// From a request to the next one. Default 500 ms.
    request_period: Time,
    /// What each further period is multiplied with. Default 2.
    request_backoff: u32,
    /// The longest period. Default 10 s.
    request_period_max: Time,
    /// How often a request is sent again before what waits is given up; `"none"`: without end.
    /// Default 16.
    request_retries: OrNone<u8>,
    /// By what a request is known: `{ numbers = { nodes = 64, numbers = 16 } }` or
    /// `{ highest = { nodes = 128 } }`. Default: numbers.
    request_memory: RequestTableKind,
    /// Requests that come over a link which ends within this, by the received power and its trend, are
    /// ignored; `"none"`: none are. Default `"none"`.
    avoid_fading: OrNone<Time>,
    /// For how long a neighbour that a reply did not reach is on the blacklist of RFC 4728 §4.6: its
    /// requests are answered by their target, and not by others or forwarded. Default 5.6 s; 0 s:
    /// there is none.
    blacklist_timeout: Time,
    /// A broadcast, and what answers one, is put off by up to this. Default 10 ms.
    jitter: Time,
    /// The target answers every copy of a request. Default true.
    answer_every_copy: bool,
    /// Who answers a request for another node from its cache: `"never"`, `"ring-zero"` (requests
    /// that are not forwarded) or `"always"`. Default `"always"`.
    reply_from_cache: Keyword<ReplyFromCache>,
    /// An answer from the cache is put off by the jitter, too. Default true.
    jitter_cached_replies: bool,
    /// What else is in a request that is answered from the cache, such as an error, goes on to the
    /// target by the cached route (RFC 4728 §8.2.3). Default true.
    forward_answered: bool,
    /// H of RFC 4728 §8.2.5, by which answers from caches wait for shorter ones; `"none"`: they
    /// don't. Default `"none"`.
    reply_delay: OrNone<Time>,
    /// Who forwards a reply keeps what it says. Default true.
    cache_forwarded_replies: bool,
    /// The way that a request has come is kept. Default true.
    cache_requests: bool,
    /// Source routes of what is forwarded or overheard are kept. Default true.
    cache_source_routes: bool,
    /// So are those of what is received. Default true.
    cache_received_routes: bool,
    /// Where overheard replies go, if there are paths: `"primary"` or `"secondary"`. Default
    /// `"secondary"`.
    overheard_replies: Keyword<CachePart>,
    /// Where source routes of packets go: `"primary"` or `"secondary"`. Default `"secondary"`.
    source_routes: Keyword<CachePart>,
    /// What is learned of a link is learned of both its directions. Default true.
    learn_both_ways: bool,
    /// A link that fails is forgotten in both directions. Default true.
    forget_both_ways: bool,
    /// The most packets that wait for a route; the oldest makes room. Default 64.
    send_buffer: u16,
    /// How long one waits. Default 30 s.
    send_buffer_timeout: Time,
    /// What waits is looked at after this, up to twice this; `"none"`: there are exact timers.
    /// Default `"none"`.
    scan: OrNone<Time>,
    /// Any new route frees what waits for it. Default true.
    release_on_any_route: bool,
    /// Time between packets that a reply sets free. Default 0 s.
    release_spacing: Time,
    /// How a node comes to know that its next hop has got a packet: `"link-layer"`, which says what
    /// it could not carry (RFC 4728 §8.3.1), or `"network-layer"`, by acknowledgments of DSR's own
    /// (§8.3.2, §8.3.3), with which it runs over TDMA, too; what the link layer says is not heard
    /// then, and there are no flows. Default `"link-layer"`.
    confirm: Keyword<NextHopConfirmation>,
    /// MaxMaintRexmt: with `confirm = "network-layer"`, how often a packet that nobody confirms is
    /// sent again before its link counts as broken. Default 2.
    max_maint_rexmt: u8,
    /// MaintHoldoffTime: for how long a neighbour that has confirmed a packet is not asked about
    /// others; these are not sent again if they are lost. Default 250 ms.
    maint_holdoff: Time,
    /// TryPassiveAcks: how often a packet that goes farther than the next hop is sent and listened
    /// for being forwarded, before an acknowledgment is asked for. It needs `promiscuous`. Default 1;
    /// 0: acknowledgments only.
    try_passive_acks: u8,
    /// PassiveAckTimeout: for how long it is listened for. Default 100 ms.
    passive_ack_timeout: Time,
    /// A packet over a failed link is sent another way, if one is known. Default true.
    salvage: bool,
    /// How often. Default 15.
    salvage_limit: u8,
    /// How many requests (that nobody forwards) a forwarder sends for a packet that it knows no
    /// other way for, and keeps meanwhile. Default 0: it is lost.
    salvage_requests: u8,
    /// When a packet with a reply is salvaged: `"never"` or `"unless-broken"` (the link that failed
    /// is one of the reply's). Default `"never"`.
    salvage_replies: Keyword<SalvageReplies>,
    /// A failed link draws one error to each source that has packets queued for it. Default true.
    error_per_source: bool,
    /// The error goes out before the packet is salvaged. Default true.
    error_first: bool,
    /// An error that fails counts as salvaged once more, and ends when it has been so often enough
    /// (RFC 4728 §6.4). Default true.
    count_errors: bool,
    /// An error about a packet that holds errors takes them along. Default true.
    nest_errors: bool,
    /// An error about a packet of TCP's data names it, salvaged or lost (ELFN, yu-2004 §3.1). What a
    /// sender does about it is the aid `elfn`. Default false.
    elfn: bool,
    /// Errors name all data that is lost on the link, and who has salvaged a packet passes them on to
    /// its sender (early packet loss notification, yu-2004 §4). What a sender does about it is the aid
    /// `epln`. Default false.
    epln: bool,
    /// Errors name the acknowledgments that are lost on the link; who hears of them and has a cached
    /// route sends the last one again (best-effort ACK delivery, yu-2004 §4). Default false.
    bead: bool,
    /// A packet lists the nodes that have salvaged it, and the news of its loss goes back from one to
    /// the next (yu-2004 §4.3.1, the extension). Default false.
    relay_notices: bool,
    /// Who forwards or overhears an error believes it. Default true.
    snoop_errors: bool,
    /// The last error to reach this node rides on its next request, if it is no older than this;
    /// `"none"`: it doesn't. Default `"forever"`.
    spread_error: OrNone<Lifetime>,
    /// A node that overhears a packet which would reach it later tells the source of the shorter
    /// way, not again to the same `"per-sender"` or of the same route (`"per-route"`); or `"none"`.
    /// Default `"per-sender"`.
    shorten: OrNone<Keyword<RouteShortening>>,
    /// For how long it does not do so again. Default 1 s.
    shorten_holdoff: Time,
    /// A packet to a neighbour carries a source route, too. Default false.
    route_to_neighbour: bool,
    /// Sizes are those that ns-2.35 counts. Default false.
    ns2_sizes: bool,
    /// Bytes more for each TCP packet. Default 0.
    tcp_padding: i16,
    /// `{ timeout = "60 s", establish = 3, refresh = "5 s" }`: packets of an established flow carry
    /// no source route (RFC 4728 §3.5); or `"none"`. Default `"none"`.
    flow_state: OrNone<FlowState>,
}

/// By what a request is known to have been here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "{ numbers = { nodes = 64, numbers = 16 } } or { highest = { nodes = 128 } }"
)]
pub enum RequestTableKind {
    /// The last numbers of each node.
    Numbers(RequestTableIds),
    /// The number of each node that came last.
    Highest(RequestTableHighest),
}

/// `{ nodes = 64, numbers = 16 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `nodes` and `numbers`")]
pub struct RequestTableIds {
    /// Nodes that are remembered.
    pub nodes: u16,
    /// Requests of each.
    pub numbers: u8,
}

/// `{ nodes = 128 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the key `nodes`")]
pub struct RequestTableHighest {
    /// Nodes that are remembered.
    pub nodes: u16,
}

impl FileValue<RequestTablePolicy> for RequestTableKind {
    fn from_config(value: RequestTablePolicy) -> Self {
        match value {
            RequestTablePolicy::RecentIds { nodes, ids: numbers } => {
                Self::Numbers(RequestTableIds { nodes, numbers })
            }
            RequestTablePolicy::HighestId { nodes } => Self::Highest(RequestTableHighest { nodes }),
        }
    }
    fn to_config(&self) -> RequestTablePolicy {
        match *self {
            Self::Numbers(RequestTableIds { nodes, numbers }) => {
                RequestTablePolicy::RecentIds { nodes, ids: numbers }
            }
            Self::Highest(RequestTableHighest { nodes }) => RequestTablePolicy::HighestId { nodes },
        }
    }
}

/// `flow_state = { … }`: RFC 4728 §3.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `timeout`, `establish`, `refresh`")]
pub struct FlowState {
    /// How long a flow lives after its last packet, in whole seconds.
    pub timeout: Time,
    /// How many packets establish it.
    pub establish: u8,
    /// After this its source route is sent again.
    pub refresh: Time,
}

const NANOS_PER_SECOND: u64 = Duration::from_secs(1).as_nanos();

impl FlowState {
    /// Can a header say the timeout: whole seconds, 16 bits of them?
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

impl Keywords for NextHopConfirmation {
    const ALL: &'static [(&'static str, Self)] =
        &[("link-layer", Self::LinkLayer), ("network-layer", Self::NetworkLayer)];
}

impl Keywords for NonPropagatingRequests {
    const ALL: &'static [(&'static str, Self)] =
        &[("never", Self::Never), ("first", Self::First), ("each", Self::Each)];
}

impl Keywords for ReplyFromCache {
    const ALL: &'static [(&'static str, Self)] =
        &[("never", Self::Never), ("ring-zero", Self::NonPropagating), ("always", Self::Always)];
}

impl Keywords for CachePart {
    const ALL: &'static [(&'static str, Self)] =
        &[("primary", Self::Primary), ("secondary", Self::Secondary)];
}

impl Keywords for SalvageReplies {
    const ALL: &'static [(&'static str, Self)] =
        &[("never", Self::Never), ("unless-broken", Self::UnlessBroken)];
}

impl Keywords for RouteShortening {
    const ALL: &'static [(&'static str, Self)] =
        &[("per-sender", Self::PerSender), ("per-route", Self::PerRoute)];
}
