//! The table `routing = { protocol = "dsr", … }`.

use driftway_base::Duration;
use driftway_route::{
    CachePart, DsrConfig, NextHopConfirmation, NonPropagatingRequests, ReplyFromCache,
    RequestTablePolicy, RouteShortening, SalvageReplies,
};
use serde::{Deserialize, Serialize};

use super::dsr_cache::DsrCache;
use crate::Time;
use crate::file_value::{FileValue, Keyword, Lifetime, OrNone};
use crate::keys::keys;
use crate::problem::{CheckResult, MAX_PROTOCOL_TIME};
use crate::rules::{RuledValue, Table, table};

table! {
    /// DSR routing (RFC 4728): the table `routing` with `protocol = "dsr"`. Defaults are those of
    /// RFC 4728. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    Dsr of DsrConfig = DsrConfig::STANDARD, "a table with the keys of DSR";
    /// Promiscuous mode: nodes process frames addressed to other nodes (RFC 4728 §3.3.1).
    #[serde(rename = "promiscuous")]
    tap: bool,
    /// Route cache, by its name: `"link-max-life"` (the link cache that RFC 4728 appendix A
    /// recommends; at most 256 nodes and 1024 directed links, of which the quarter with the
    /// shortest remaining lifetimes is evicted when it is full);
    /// `{ paths = { primary = 30, secondary = 64, timeout = "300 s" } }` (path caches); or
    /// `"update"` (DSR-Update, yu-2004 §2.2), optionally with options,
    /// `{ update = { truncate = true } }`.
    cache: DsrCache [inside(), ns2(
        "Appendix A recommends a link cache, Link-MaxLife.",
        "A path cache (dsr/mobicache.cc) with 30 and 64 paths, which are kept until they break.",
    )],
    /// Maximum number of nodes in a route, both ends included; route requests for targets further
    /// away are dropped as `route-too-long`.
    max_nodes: u8 [range("the number of nodes", 2..=17), ns2(
        "Limited only by the size of an option, about sixty nodes; here lists have a fixed size.",
        "MAX_SR_LEN 16.",
    )],
    /// Hop limit of a propagating route request (DiscoveryHopLimit, RFC 4728 §9).
    hop_limit: u8 [range("a hop limit of", 1..=255)],
    /// Searches that begin with a non-propagating route request, which is not forwarded (RFC 4728
    /// §3.3.3): `"never"`, `"first"` (the first search for a target) or `"each"` (as in ns-2.35).
    ring_zero: Keyword<NonPropagatingRequests> [ns2(
        "§3.3.3: the first request for a target may be non-propagating.",
        "Each search begins with a non-propagating request.",
    )],
    /// Time for which replies to a non-propagating request are awaited (NonpropRequestTimeout, RFC
    /// 4728 §9).
    ring_zero_wait: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
    /// Time between the first two propagating requests of a search (RequestPeriod, RFC 4728 §9).
    request_period: Time [positive(), at_most(MAX_PROTOCOL_TIME), ns2(
        "§9: RequestPeriod 500 ms.",
        "2 s: its 500 ms are multiplied before their first use.",
    )],
    /// Factor by which the period grows from one request of a search to the next (RFC 4728 §8.2.1).
    request_backoff: u32 [range("a factor of", 1..=1000), ns2(
        "§8.2.1: the period doubles.",
        "It is multiplied by four.",
    )],
    /// Maximum period between two requests of a search (MaxRequestPeriod, RFC 4728 §9).
    request_period_max: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
    /// Maximum number of retransmissions of a route request, after which the packets waiting for
    /// the route are dropped (MaxRequestRexmt, RFC 4728 §9); `"none"`: unlimited.
    request_retries: OrNone<u8> [ns2(
        "§9: MaxRequestRexmt 16.",
        "Unlimited; packets that wait too long are dropped one by one.",
    )],
    /// Detection of duplicate route requests (Route Request Table, RFC 4728 §4.3):
    /// `{ numbers = { nodes = 64, numbers = 16 } }`, the latest identifications of each node, or
    /// `{ highest = { nodes = 128 } }`, only the highest one of each node, as in ns-2.35.
    request_memory: RequestTableKind [inside(), ns2(
        "§4.3, §9: RequestTableIds 16 for each of RequestTableSize 64 nodes.",
        "The highest identification of each of 128 nodes (dsr/requesttable.cc).",
    )],
    /// Ignores route requests that arrive over a link which, by the received power and its trend,
    /// breaks within this time (after the signal stability of dube-1997); `"none"`: none are
    /// ignored.
    avoid_fading: OrNone<Time>,
    /// Time for which a neighbour to which a route reply could not be delivered stays on the
    /// blacklist (RFC 4728 §4.6): its route requests are answered by their target only, and not
    /// forwarded; 0 s: no blacklist. RFC 4728 leaves the time open.
    blacklist_timeout: Time [at_most(MAX_PROTOCOL_TIME), ns2(
        "§4.6: a neighbour that a reply did not reach is blacklisted; the time is not specified.",
        "No blacklist.",
    )],
    /// Maximum random delay of a broadcast and of a reply to one (BroadcastJitter, RFC 4728 §9).
    jitter: Time [at_most(MAX_PROTOCOL_TIME)],
    /// The target replies to every copy of a route request (RFC 4728 §8.2.4).
    answer_every_copy: bool,
    /// Replies of nodes other than the target from their route caches (RFC 4728 §8.2.3): `"never"`,
    /// `"ring-zero"` (to non-propagating requests only) or `"always"`.
    reply_from_cache: Keyword<ReplyFromCache>,
    /// Replies from a route cache are delayed by `network.routing.jitter` as well (RFC 4728
    /// §8.2.4).
    jitter_cached_replies: bool [ns2(
        "§8.2.4: a reply is delayed by BroadcastJitter.",
        "A reply from the cache is sent at once.",
    )],
    /// Other options in a route request that is answered from a route cache, such as a route error,
    /// are forwarded to the target along the cached route (RFC 4728 §8.2.3).
    forward_answered: bool [ns2(
        "§8.2.3: other options in a request that is answered from a cache are forwarded to the \
         target.",
        "They are discarded with the request (`replyFromRouteCache`).",
    )],
    /// H of RFC 4728 §8.2.5: a reply from a route cache is delayed by H × (hops − 1 + r), with r
    /// random in 0 to 1, and suppressed if the initiator is overheard using a route that is as
    /// short; `"none"`: no delay.
    reply_delay: OrNone<Time> [at_most(MAX_PROTOCOL_TIME)],
    /// A node that forwards a route reply caches its route (RFC 4728 §8.1.4).
    cache_forwarded_replies: bool [ns2(
        "§8.1.4: a node that forwards a reply should cache its route.",
        "It learns the route from the first packet that uses it.",
    )],
    /// A node that receives a route request caches the accumulated route (RFC 4728 §8.1.4).
    cache_requests: bool [ns2(
        "§8.1.4: the accumulated route of a request may be cached.",
        "It is not cached.",
    )],
    /// A node caches the source routes of the packets that it forwards or overhears (RFC 4728
    /// §8.1.4).
    cache_source_routes: bool,
    /// A node caches the source routes of the packets that are addressed to it (RFC 4728 §8.1.4).
    cache_received_routes: bool [ns2(
        "§8.1.4: the source route of a received packet may be cached.",
        "Only of those forwarded or overheard.",
    )],
    /// Path cache in which routes of overheard replies are stored: `"primary"` or `"secondary"`.
    /// Only with `network.routing.cache = { paths = … }`.
    overheard_replies: Keyword<CachePart>,
    /// Path cache in which source routes of packets are stored: `"primary"` or `"secondary"`. Only
    /// with `network.routing.cache = { paths = … }`.
    source_routes: Keyword<CachePart>,
    /// A cached link is cached in both directions, because the MAC requires bidirectional links
    /// (RFC 4728 §3.3.1).
    learn_both_ways: bool [ns2(
        "§3.3.1: where the MAC requires bidirectional links, links are cached in both directions.",
        "In one direction.",
    )],
    /// A failed link is removed from the cache in both directions (RFC 4728 §8.3.5 names the failed
    /// direction).
    forget_both_ways: bool [ns2(
        "§8.3.5: the failed direction; here the other one too, because both are cached together.",
        "In one direction.",
    )],
    /// Maximum number of packets in a node's Send Buffer, which wait for a route (RFC 4728 §4.2);
    /// the oldest is dropped when it is exceeded.
    send_buffer: u16 [range("the number of packets", 1..=65_535)],
    /// Maximum time for which a packet waits in the Send Buffer (SendBufferTimeout, RFC 4728 §9).
    send_buffer_timeout: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
    /// Period with which the Send Buffer is scanned; each period lies at random between this time
    /// and twice this time, as in ns-2.35; `"none"`: timers are exact.
    scan: OrNone<Time> [positive(), at_most(MAX_PROTOCOL_TIME), ns2(
        "Timers are exact.",
        "The send buffer is scanned every 30 to 60 ms (`BUFFER_CHECK`).",
    )],
    /// Every route added to the cache releases the packets waiting for it (RFC 4728 §4.1); false:
    /// only a route reply or the next scan of the Send Buffer does, as in ns-2.35.
    release_on_any_route: bool [ns2(
        "§4.1: every route added to the cache releases the packets waiting for it.",
        "Only a reply or the next scan of the buffer does.",
    )],
    /// Interval between the packets that a route reply releases; 0 s: all are sent at once.
    release_spacing: Time [at_most(MAX_PROTOCOL_TIME), ns2(
        "Packets released by a reply are sent at once.",
        "One packet every 30 ms, for the sake of ARP.",
    )],
    /// Confirmation that the next hop has received a packet: `"link-layer"`, the failure reports of
    /// the MAC (RFC 4728 §8.3.1), or `"network-layer"`, passive acknowledgments and acknowledgment
    /// requests (RFC 4728 §8.3.2, §8.3.3), which also works over TDMA. With `"network-layer"` the
    /// failure reports of the MAC are ignored, and `network.routing.flow_state` is not available.
    confirm: Keyword<NextHopConfirmation>,
    /// Maximum number of retransmissions of an unconfirmed packet before its link counts as broken
    /// (MaxMaintRexmt, RFC 4728 §9). Only with `network.routing.confirm = "network-layer"`.
    max_maint_rexmt: u8,
    /// Time after a confirmation during which the same neighbour is not asked to acknowledge
    /// further packets (MaintHoldoffTime, RFC 4728 §9); a packet that is lost in this time is not
    /// retransmitted. Only with `network.routing.confirm = "network-layer"`.
    maint_holdoff: Time [at_most(MAX_PROTOCOL_TIME)],
    /// Number of times that a packet which travels beyond the next hop is sent with passive
    /// acknowledgment before an acknowledgment is requested (TryPassiveAcks, RFC 4728 §9); 0:
    /// acknowledgments are always requested. Needs `promiscuous`. Only with
    /// `network.routing.confirm = "network-layer"`.
    try_passive_acks: u8,
    /// Time for which a passive acknowledgment is awaited (PassiveAckTimeout, RFC 4728 §9). Only
    /// with `network.routing.confirm = "network-layer"`.
    passive_ack_timeout: Time [positive(), at_most(MAX_PROTOCOL_TIME)],
    /// Packet salvaging (RFC 4728 §3.4.1): a packet whose next link has failed is sent along
    /// another cached route.
    salvage: bool,
    /// Maximum number of times that one packet is salvaged (MAX_SALVAGE_COUNT, RFC 4728 §9).
    salvage_limit: u8 [range("the number of times", 0..=15)],
    /// Number of non-propagating requests that a forwarding node sends for a packet which it cannot
    /// salvage and keeps in its Send Buffer meanwhile, as in ns-2.35; 0: the packet is dropped (RFC
    /// 4728 §8.3.6).
    salvage_requests: u8 [ns2(
        "§8.3.6: a packet that cannot be salvaged is dropped.",
        "A forwarding node keeps it in its own send buffer, and sends a non-propagating request \
         (`dsr_salvage_max_requests`).",
    )],
    /// Salvaging of packets that carry a route reply: `"never"` (RFC 4728 §8.3.6) or
    /// `"unless-broken"`, unless the failed link is part of the replied route, as in ns-2.35.
    salvage_replies: Keyword<SalvageReplies> [ns2(
        "§8.3.6: a reply is not salvaged where the MAC requires bidirectional links.",
        "It is, unless the failed link is part of the reply (`dont_salvage_bad_replies`).",
    )],
    /// Each source with packets queued for a failed link is sent a route error (RFC 4728 §3.4.2);
    /// false: only the source of the packet that failed.
    error_per_source: bool [ns2(
        "§3.4.2: each source with packets queued for a failed link is sent an error.",
        "One error, for the packet that failed.",
    )],
    /// The route error is sent before the packet is salvaged (RFC 4728 §8.3.6); false: after.
    error_first: bool [ns2(
        "§8.3.6: the error is sent before the packet is salvaged.",
        "After.",
    )],
    /// A route error that itself fails counts as salvaged once more, and is dropped when the
    /// salvage count reaches its maximum (total salvage count, RFC 4728 §6.4).
    count_errors: bool [ns2(
        "§6.4: an error that fails counts as salvaged once more (total salvage count).",
        "Nested errors multiply, up to storms of hundreds of packets per second.",
    )],
    /// A route error about a packet that contains route errors carries them along (RFC 4728
    /// §8.3.4).
    nest_errors: bool,
    /// Explicit link failure notification (ELFN, yu-2004 §3.1): a route error about a TCP data
    /// segment identifies the segment, whether it was salvaged or lost. The aid `"elfn"` defines
    /// the sender's reaction.
    elfn: bool,
    /// Early packet loss notification (EPLN, yu-2004 §4): route errors identify all data packets
    /// that were lost on the link, and a node that salvaged a packet relays them to the packet's
    /// source. The aid `"epln"` defines the sender's reaction.
    epln: bool,
    /// Best-effort ACK delivery (BEAD, yu-2004 §4): route errors identify the TCP acknowledgments
    /// that were lost on the link; a node that is notified and has a cached route retransmits the
    /// latest one.
    bead: bool,
    /// A packet lists the nodes that have salvaged it, and loss notifications travel back from one
    /// to the next (the extension of yu-2004 §4.3.1).
    relay_notices: bool,
    /// Nodes that forward or overhear a route error remove its link from their caches.
    snoop_errors: bool,
    /// Maximum age of the last received route error that a node piggybacks on its next route
    /// request (RFC 4728 §3.4.4), or `"forever"`; `"none"`: none is piggybacked.
    spread_error: OrNone<Lifetime> [ns2(
        "§3.4.4: the last error is piggybacked on the next request.",
        "Only if it is younger than 1 s.",
    )],
    /// Automatic route shortening (RFC 4728 §3.4.3): a node that overhears a packet which lists it
    /// further along the route sends the source a gratuitous reply. Repetitions are suppressed
    /// `"per-sender"` (by source and overheard node, RFC 4728 §4.4) or `"per-route"` (as in
    /// ns-2.35); `"none"`: no shortening.
    shorten: OrNone<Keyword<RouteShortening>> [ns2(
        "§4.4: a gratuitous reply is not repeated for GratReplyHoldoff, per source and overheard \
         node.",
        "Per route, for the last ten routes; because the time is stored with the wrong entry, a \
         route triggers up to two replies.",
    )],
    /// Time for which a gratuitous reply is not repeated (GratReplyHoldoff, RFC 4728 §9).
    shorten_holdoff: Time [at_most(MAX_PROTOCOL_TIME)],
    /// Packets to a neighbour carry a source route too, as in ns-2.35; false: they need none (RFC
    /// 4728 §8.1.1).
    route_to_neighbour: bool [ns2(
        "§8.1.1: a packet to a neighbour needs no source route.",
        "It carries one.",
    )],
    /// DSR options have the sizes that ns-2.35 counts (dsr/hdr_sr.h); false: those of RFC 4728 §6.
    ns2_sizes: bool [ns2(
        "§6: the sizes of the options.",
        "`dsr/hdr_sr.h` counts a reply with 5 bytes and all its nodes, a salvaged route without \
         the option's own 4 bytes, errors about flows with 14 or 12 bytes; a node that forwards a \
         request adds its header without removing the old one (`handleRouteRequest`).",
    )],
    /// Bytes added to each TCP packet; ns-2.35 counts a second IP header of 20 bytes.
    tcp_padding: i16 [ns2(
        "RFC 791: one IP header.",
        "A TCP packet, whose IP header is already counted, gets another one: 20 bytes more (also \
         with DSDV, but not with AODV).",
    )],
    /// Flow state extension (RFC 4728 §3.5): packets of an established flow carry no source route.
    /// `{ timeout = "60 s", establish = 3, refresh = "5 s" }`, or `"none"`. Needs
    /// `network.routing.confirm = "link-layer"`.
    flow_state: OrNone<FlowState> [inside(), ns2(
        "§3.5 is optional.",
        "Compiled in (`dsragent_enable_flowstate`): most data packets carry no source route.",
    )],
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
