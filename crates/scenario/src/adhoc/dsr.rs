//! The table `routing = { protocol = "dsr", … }`.

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
    /// DSR routing (RFC 4728): the table `routing` with `protocol = "dsr"`. Defaults are those of
    /// RFC 4728. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    Dsr of DsrConfig = DsrConfig::STANDARD, "a table with the keys of DSR";
    /// Promiscuous mode: nodes process frames addressed to other nodes (RFC 4728 §3.3.1).
    /// Default true.
    #[serde(rename = "promiscuous")]
    tap: bool,
    /// Route cache, by its name: `"link-max-life"` (the link cache that RFC 4728 appendix A
    /// recommends; at most 256 nodes and 1024 directed links, of which the quarter with the
    /// shortest remaining lifetimes is evicted when it is full);
    /// `{ paths = { primary = 30, secondary = 64, timeout = "300 s" } }` (path caches); or
    /// `"update"` (DSR-Update, yu-2004 §2.2), optionally with options,
    /// `{ update = { truncate = true } }`. Default `"link-max-life"`.
    cache: DsrCache,
    /// Maximum number of nodes in a route, both ends included; route requests for targets further
    /// away are dropped as `route-too-long`. 2 to 17. Default 17.
    max_nodes: u8,
    /// Hop limit of a propagating route request (DiscoveryHopLimit, RFC 4728 §9). 1 to 255.
    /// Default 255.
    hop_limit: u8,
    /// Searches that begin with a non-propagating route request, which is not forwarded (RFC 4728
    /// §3.3.3): `"never"`, `"first"` (the first search for a target) or `"each"` (as in ns-2.35).
    /// Default `"first"`.
    ring_zero: Keyword<NonPropagatingRequests>,
    /// Time for which replies to a non-propagating request are awaited (NonpropRequestTimeout, RFC
    /// 4728 §9). Default 30 ms.
    ring_zero_wait: Time,
    /// Time between the first two propagating requests of a search (RequestPeriod, RFC 4728 §9).
    /// Default 500 ms.
    request_period: Time,
    /// Factor by which the period grows from one request of a search to the next (RFC 4728 §8.2.1).
    /// 1 to 1000. Default 2.
    request_backoff: u32,
    /// Maximum period between two requests of a search (MaxRequestPeriod, RFC 4728 §9).
    /// Default 10 s.
    request_period_max: Time,
    /// Maximum number of retransmissions of a route request, after which the packets waiting for
    /// the route are dropped (MaxRequestRexmt, RFC 4728 §9); `"none"`: unlimited. Default 16.
    request_retries: OrNone<u8>,
    /// Detection of duplicate route requests (Route Request Table, RFC 4728 §4.3):
    /// `{ numbers = { nodes = 64, numbers = 16 } }`, the latest identifications of each node, or
    /// `{ highest = { nodes = 128 } }`, only the highest one of each node, as in ns-2.35.
    /// Default `{ numbers = { nodes = 64, numbers = 16 } }`.
    request_memory: RequestTableKind,
    /// Ignores route requests that arrive over a link which, by the received power and its trend,
    /// breaks within this time (after the signal stability of dube-1997); `"none"`: none are
    /// ignored. Default `"none"`.
    avoid_fading: OrNone<Time>,
    /// Time for which a neighbour to which a route reply could not be delivered stays on the
    /// blacklist (RFC 4728 §4.6): its route requests are answered by their target only, and not
    /// forwarded; 0 s: no blacklist. RFC 4728 leaves the time open. Default 5.6 s.
    blacklist_timeout: Time,
    /// Maximum random delay of a broadcast and of a reply to one (BroadcastJitter, RFC 4728 §9).
    /// Default 10 ms.
    jitter: Time,
    /// The target replies to every copy of a route request (RFC 4728 §8.2.4). Default true.
    answer_every_copy: bool,
    /// Replies of nodes other than the target from their route caches (RFC 4728 §8.2.3): `"never"`,
    /// `"ring-zero"` (to non-propagating requests only) or `"always"`. Default `"always"`.
    reply_from_cache: Keyword<ReplyFromCache>,
    /// Replies from a route cache are delayed by `network.routing.jitter` as well (RFC 4728
    /// §8.2.4). Default true.
    jitter_cached_replies: bool,
    /// Other options in a route request that is answered from a route cache, such as a route error,
    /// are forwarded to the target along the cached route (RFC 4728 §8.2.3). Default true.
    forward_answered: bool,
    /// H of RFC 4728 §8.2.5: a reply from a route cache is delayed by H × (hops − 1 + r), with r
    /// random in 0 to 1, and suppressed if the initiator is overheard using a route that is as
    /// short; `"none"`: no delay. Default `"none"`.
    reply_delay: OrNone<Time>,
    /// A node that forwards a route reply caches its route (RFC 4728 §8.1.4). Default true.
    cache_forwarded_replies: bool,
    /// A node that receives a route request caches the accumulated route (RFC 4728 §8.1.4).
    /// Default true.
    cache_requests: bool,
    /// A node caches the source routes of the packets that it forwards or overhears (RFC 4728
    /// §8.1.4). Default true.
    cache_source_routes: bool,
    /// A node caches the source routes of the packets that are addressed to it (RFC 4728 §8.1.4).
    /// Default true.
    cache_received_routes: bool,
    /// Path cache in which routes of overheard replies are stored: `"primary"` or `"secondary"`.
    /// Only with `network.routing.cache = { paths = … }`. Default `"secondary"`.
    overheard_replies: Keyword<CachePart>,
    /// Path cache in which source routes of packets are stored: `"primary"` or `"secondary"`. Only
    /// with `network.routing.cache = { paths = … }`. Default `"secondary"`.
    source_routes: Keyword<CachePart>,
    /// A cached link is cached in both directions, because the MAC requires bidirectional links
    /// (RFC 4728 §3.3.1). Default true.
    learn_both_ways: bool,
    /// A failed link is removed from the cache in both directions (RFC 4728 §8.3.5 names the failed
    /// direction). Default true.
    forget_both_ways: bool,
    /// Maximum number of packets in a node's Send Buffer, which wait for a route (RFC 4728 §4.2);
    /// the oldest is dropped when it is exceeded. 1 to 65535. Default 64.
    send_buffer: u16,
    /// Maximum time for which a packet waits in the Send Buffer (SendBufferTimeout, RFC 4728 §9).
    /// Default 30 s.
    send_buffer_timeout: Time,
    /// Period with which the Send Buffer is scanned; each period lies at random between this time
    /// and twice this time, as in ns-2.35; `"none"`: timers are exact. Default `"none"`.
    scan: OrNone<Time>,
    /// Every route added to the cache releases the packets waiting for it (RFC 4728 §4.1); false:
    /// only a route reply or the next scan of the Send Buffer does, as in ns-2.35. Default true.
    release_on_any_route: bool,
    /// Interval between the packets that a route reply releases; 0 s: all are sent at once.
    /// Default 0 s.
    release_spacing: Time,
    /// Confirmation that the next hop has received a packet: `"link-layer"`, the failure reports of
    /// the MAC (RFC 4728 §8.3.1), or `"network-layer"`, passive acknowledgments and acknowledgment
    /// requests (RFC 4728 §8.3.2, §8.3.3), which also works over TDMA. With `"network-layer"` the
    /// failure reports of the MAC are ignored, and `network.routing.flow_state` is not available.
    /// Default `"link-layer"`.
    confirm: Keyword<NextHopConfirmation>,
    /// Maximum number of retransmissions of an unconfirmed packet before its link counts as broken
    /// (MaxMaintRexmt, RFC 4728 §9). Only with `network.routing.confirm = "network-layer"`.
    /// Default 2.
    max_maint_rexmt: u8,
    /// Time after a confirmation during which the same neighbour is not asked to acknowledge
    /// further packets (MaintHoldoffTime, RFC 4728 §9); a packet that is lost in this time is not
    /// retransmitted. Only with `network.routing.confirm = "network-layer"`. Default 250 ms.
    maint_holdoff: Time,
    /// Number of times that a packet which travels beyond the next hop is sent with passive
    /// acknowledgment before an acknowledgment is requested (TryPassiveAcks, RFC 4728 §9); 0:
    /// acknowledgments are always requested. Needs `promiscuous`. Only with
    /// `network.routing.confirm = "network-layer"`. Default 1.
    try_passive_acks: u8,
    /// Time for which a passive acknowledgment is awaited (PassiveAckTimeout, RFC 4728 §9). Only
    /// with `network.routing.confirm = "network-layer"`. Default 100 ms.
    passive_ack_timeout: Time,
    /// Packet salvaging (RFC 4728 §3.4.1): a packet whose next link has failed is sent along
    /// another cached route. Default true.
    salvage: bool,
    /// Maximum number of times that one packet is salvaged (MAX_SALVAGE_COUNT, RFC 4728 §9).
    /// 0 to 15. Default 15.
    salvage_limit: u8,
    /// Number of non-propagating requests that a forwarding node sends for a packet which it cannot
    /// salvage and keeps in its Send Buffer meanwhile, as in ns-2.35; 0: the packet is dropped (RFC
    /// 4728 §8.3.6). Default 0.
    salvage_requests: u8,
    /// Salvaging of packets that carry a route reply: `"never"` (RFC 4728 §8.3.6) or
    /// `"unless-broken"`, unless the failed link is part of the replied route, as in ns-2.35.
    /// Default `"never"`.
    salvage_replies: Keyword<SalvageReplies>,
    /// Each source with packets queued for a failed link is sent a route error (RFC 4728 §3.4.2);
    /// false: only the source of the packet that failed. Default true.
    error_per_source: bool,
    /// The route error is sent before the packet is salvaged (RFC 4728 §8.3.6); false: after.
    /// Default true.
    error_first: bool,
    /// A route error that itself fails counts as salvaged once more, and is dropped when the
    /// salvage count reaches its maximum (total salvage count, RFC 4728 §6.4). Default true.
    count_errors: bool,
    /// A route error about a packet that contains route errors carries them along (RFC 4728
    /// §8.3.4). Default true.
    nest_errors: bool,
    /// Explicit link failure notification (ELFN, yu-2004 §3.1): a route error about a TCP data
    /// segment identifies the segment, whether it was salvaged or lost. The aid `"elfn"` defines
    /// the sender's reaction. Default false.
    elfn: bool,
    /// Early packet loss notification (EPLN, yu-2004 §4): route errors identify all data packets
    /// that were lost on the link, and a node that salvaged a packet relays them to the packet's
    /// source. The aid `"epln"` defines the sender's reaction. Default false.
    epln: bool,
    /// Best-effort ACK delivery (BEAD, yu-2004 §4): route errors identify the TCP acknowledgments
    /// that were lost on the link; a node that is notified and has a cached route retransmits the
    /// latest one. Default false.
    bead: bool,
    /// A packet lists the nodes that have salvaged it, and loss notifications travel back from one
    /// to the next (the extension of yu-2004 §4.3.1). Default false.
    relay_notices: bool,
    /// Nodes that forward or overhear a route error remove its link from their caches.
    /// Default true.
    snoop_errors: bool,
    /// Maximum age of the last received route error that a node piggybacks on its next route
    /// request (RFC 4728 §3.4.4), or `"forever"`; `"none"`: none is piggybacked.
    /// Default `"forever"`.
    spread_error: OrNone<Lifetime>,
    /// Automatic route shortening (RFC 4728 §3.4.3): a node that overhears a packet which lists it
    /// further along the route sends the source a gratuitous reply. Repetitions are suppressed
    /// `"per-sender"` (by source and overheard node, RFC 4728 §4.4) or `"per-route"` (as in
    /// ns-2.35); `"none"`: no shortening. Default `"per-sender"`.
    shorten: OrNone<Keyword<RouteShortening>>,
    /// Time for which a gratuitous reply is not repeated (GratReplyHoldoff, RFC 4728 §9).
    /// Default 1 s.
    shorten_holdoff: Time,
    /// Packets to a neighbour carry a source route too, as in ns-2.35; false: they need none (RFC
    /// 4728 §8.1.1). Default false.
    route_to_neighbour: bool,
    /// DSR options have the sizes that ns-2.35 counts (dsr/hdr_sr.h); false: those of RFC 4728 §6.
    /// Default false.
    ns2_sizes: bool,
    /// Bytes added to each TCP packet; ns-2.35 counts a second IP header of 20 bytes. Default 0.
    tcp_padding: i16,
    /// Flow state extension (RFC 4728 §3.5): packets of an established flow carry no source route.
    /// `{ timeout = "60 s", establish = 3, refresh = "5 s" }`, or `"none"`. Needs
    /// `network.routing.confirm = "link-layer"`. Default `"none"`.
    flow_state: OrNone<FlowState>,
}

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

/// Size of a table of identifications, `{ nodes = 64, numbers = 16 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `nodes` and `numbers`")]
pub struct RequestTableIds {
    /// Maximum number of initiators in the table (RequestTableSize, RFC 4728 §9). 1 to 65535.
    pub nodes: u16,
    /// Number of identifications kept per initiator (RequestTableIds, RFC 4728 §9). 1 to 16.
    pub numbers: u8,
}

/// Size of a table of highest identifications, `{ nodes = 128 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the key `nodes`")]
pub struct RequestTableHighest {
    /// Maximum number of initiators in the table. 1 to 65535.
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

/// Parameters of the flow state extension (RFC 4728 §3.5): the table `flow_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `timeout`, `establish`, `refresh`")]
pub struct FlowState {
    /// Lifetime of a flow after its last packet, in whole seconds. 1 s to 65535 s.
    pub timeout: Time,
    /// Number of packets with a source route after which the flow is established. 1 to 255.
    pub establish: u8,
    /// Time after which a packet of the flow carries the source route again.
    pub refresh: Time,
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
