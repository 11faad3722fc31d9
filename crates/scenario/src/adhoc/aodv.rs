//! The table `routing = { protocol = "aodv", … }`.

use driftway_route::{AodvConfig, ErrorRule, LocalRepair, RouteRefresh, SearchRule};
use serde::{Deserialize, Serialize};

use crate::Time;
use crate::file_value::{FileValue, Keyword, Keywords, Lifetime, OrNone, table};

table! {
    /// AODV routing (RFC 3561): the table `routing` with `protocol = "aodv"`. Defaults are the
    /// constants of RFC 3561 §10; where the RFC leaves a choice open, the key's description names
    /// the default. The deviations of ns-2.35 are listed in `docs/ns-2.md`.
    Aodv of AodvConfig = AodvConfig::STANDARD, "a table with the keys of AODV";
    /// Lifetime of an active route that carries no packets (ACTIVE_ROUTE_TIMEOUT, RFC 3561 §10).
    /// Default 3 s.
    active_route_timeout: Time,
    /// Lifetime that a destination gives in its own route replies (MY_ROUTE_TIMEOUT, RFC 3561 §10).
    /// Default 6 s.
    my_route_timeout: Time,
    /// Conservative estimate of the one-hop traversal time, from which the reply timeouts are
    /// computed (NODE_TRAVERSAL_TIME, RFC 3561 §10). Default 40 ms.
    node_traversal_time: Time,
    /// Maximum number of hops between two nodes, which is also the TTL of a network-wide route
    /// request (NET_DIAMETER, RFC 3561 §10). 1 to 255. Default 35.
    net_diameter: u8,
    /// TTL of the first route request of an expanding ring search (TTL_START, RFC 3561 §6.4).
    /// 1 to 255. Default 1.
    ttl_start: u8,
    /// TTL increment from one ring of the search to the next (TTL_INCREMENT, RFC 3561 §6.4).
    /// 1 to 255. Default 2.
    ttl_increment: u8,
    /// TTL of the widest ring of the search; the next request is network-wide (TTL_THRESHOLD, RFC
    /// 3561 §6.4). Default 7.
    ttl_threshold: u8,
    /// Hops added to a ring's TTL when its reply timeout is computed (TIMEOUT_BUFFER, RFC 3561
    /// §10). Default 2.
    timeout_buffer: u8,
    /// Number of retries of a network-wide route request (RREQ_RETRIES, RFC 3561 §6.3). Default 2.
    rreq_retries: u8,
    /// Retry rule for unanswered route requests. `"timed"`: a request is repeated when its reply
    /// timeout expires (RFC 3561 §6.3, §6.4). `{ on-demand = "10 s" }`: as in ns-2.35, it is
    /// repeated only when the timeout has expired and either another packet needs the route or
    /// routes are scanned for expiry; after a failed search no request is sent for the time given.
    /// Default `"timed"`.
    search: RequestRetry,
    /// Maximum number of route requests that a node originates per second (RREQ_RATELIMIT, RFC 3561
    /// §6.3); 0: unlimited. Default 10.
    rreq_rate: u8,
    /// Maximum number of route errors that a node originates per second (RERR_RATELIMIT, RFC 3561
    /// §6.11); 0: unlimited. Default 10.
    rerr_rate: u8,
    /// Time for which a route request is recognised as a duplicate (PATH_DISCOVERY_TIME, RFC 3561
    /// §6.3). Default 5.6 s.
    request_memory: Time,
    /// Lifetime of the reverse route to the originator of a route request; `"none"`: the minimum
    /// lifetime that RFC 3561 §6.5 computes. Default `"none"`.
    reverse_route_life: OrNone<Time>,
    /// Time for which the sequence number of an invalid route is kept before its entry is deleted
    /// (DELETE_PERIOD, RFC 3561 §6.11), or `"forever"`. Default 15 s.
    delete_period: Lifetime,
    /// Period with which the routing table is scanned for expired routes, as in ns-2.35; `"none"`:
    /// each route expires exactly at the end of its lifetime. Default `"none"`.
    expiry_interval: OrNone<Time>,
    /// Routes whose lifetime a forwarded packet refreshes: `"both-ways"` (to its destination, its
    /// source and the neighbours on both sides, RFC 3561 §6.2) or `"destination"` (the one to its
    /// destination only, as in ns-2.35). Default `"both-ways"`.
    refresh: Keyword<RouteRefresh>,
    /// Creates or refreshes a one-hop route to the neighbour from which an AODV message was
    /// received (RFC 3561 §6.5, §6.7). Default true.
    neighbour_routes: bool,
    /// Local repair of a broken route (RFC 3561 §6.12): `"off"`;
    /// `{ near = { max_hops = 10, add_ttl = 2 } }`, if the destination is at most `max_hops` hops
    /// away; or `"past-half"`, as in ns-2.35, if the packet had travelled more hops than remained.
    /// Default `{ near = { max_hops = 10, add_ttl = 2 } }`.
    local_repair: LocalRepairMode,
    /// Reroutes the packets that are queued for an unreachable neighbour instead of dropping them.
    /// RFC 3561 leaves this open. Default true.
    reroute_queued: bool,
    /// Explicit link failure notification (ELFN, yu-2004 §3.1): the source of a TCP data segment
    /// that a link could not deliver is notified. The aid `"elfn"` defines the sender's reaction.
    /// Default false.
    elfn: bool,
    /// Early packet loss notification (EPLN, yu-2004 §4): the source of every data packet that is
    /// lost on a link is notified by a message along the reverse route. The aid `"epln"` defines
    /// the sender's reaction. Default false.
    epln: bool,
    /// Best-effort ACK delivery (BEAD, yu-2004 §4): of the TCP acknowledgments lost on a link, a
    /// node that is notified of the loss and has a route retransmits the latest one. Default false.
    bead: bool,
    /// Contents and receivers of route errors: `"precursors"` (the destinations for which a
    /// neighbour is a precursor, sent to the precursors, RFC 3561 §6.11) or `"broadcast"` (all
    /// destinations reached over the broken link, always broadcast, as in ns-2.35).
    /// Default `"precursors"`.
    errors: Keyword<ErrorRule>,
    /// A route error removes from the interface queue the packets whose next hop is the sender of
    /// the error, as in ns-2.35. Default false.
    purge_on_error: bool,
    /// Maximum random delay before a broadcast message is forwarded (RFC 5148 §5). Default 10 ms.
    jitter: Time,
    /// Interval between the buffered packets that a route reply releases; 0 s: all are sent at
    /// once. Default 0 s.
    release_spacing: Time,
    /// Maximum number of packets that a node buffers while their routes are discovered (RFC 3561
    /// §6.3 leaves it open); the oldest packet is dropped when it is exceeded. 1 to 1000000.
    /// Default 64.
    buffer_packets: usize,
    /// Maximum time for which a packet is buffered while its route is discovered. Default 30 s.
    buffer_timeout: Time,
    /// TTL of the data packets that a node originates; `"none"`: the TTL of the host.
    /// Default `"none"`.
    data_ttl: OrNone<u8>,
    /// Sets the gratuitous RREP flag (G) in route requests for TCP and for echo requests, so that
    /// the destination also learns a route to the originator (RFC 3561 §6.3, §6.6.3). Default true.
    gratuitous: bool,
    /// Sets the destination only flag (D) in route requests: no intermediate node replies (RFC 3561
    /// §6.3). Default false.
    destination_only: bool,
    /// Sets the acknowledgment required flag (A) in route replies (RFC 3561 §6.7, §6.8).
    /// Default false.
    ack_replies: bool,
    /// Time for which the route requests of a neighbour to which a route reply could not be
    /// delivered are ignored (BLACKLIST_TIMEOUT, RFC 3561 §6.8); 0 s: no blacklist. Default 5.6 s.
    blacklist_timeout: Time,
    /// Ignores route requests that arrive over a link which, by the received power and its trend,
    /// breaks within this time (after the signal stability of dube-1997); `"none"`: none are
    /// ignored. Default `"none"`.
    avoid_fading: OrNone<Time>,
    /// Hello messages (RFC 3561 §6.9): `{ interval = "1 s", allowed_loss = 2 }`, or `"none"`.
    /// Default: `"none"`, or `{ interval = "1 s", allowed_loss = 2 }` over TDMA, which reports no
    /// link failures.
    hello: OrNone<Hello>,
    /// A data packet that the MAC drops after its last retry counts as a link failure (RFC 3561
    /// §6.10). Default true.
    link_layer_detection: bool,
    /// A route reply that the MAC drops after its last retry counts as a link failure (RFC 3561
    /// §6.10); false: only data packets count, as in ns-2.35. Default true.
    control_detection: bool,
    /// Lifetimes in route replies of intermediate nodes are rounded down to whole seconds, as in
    /// ns-2.35; false: they are in milliseconds (RFC 3561 §5.2). Default false.
    whole_seconds: bool,
    /// A node with a route under local repair replies to route requests with it, as in ns-2.35;
    /// false: the route is invalid (RFC 3561 §6.12). Default false.
    repairing_is_valid: bool,
    /// An intermediate node also replies to a neighbour that is its own next hop to the
    /// destination, as in ns-2.35. Default false.
    answer_next_hop: bool,
    /// A node's own sequence number is always even and grows by two, as in ns-2.35; false: it grows
    /// by one (RFC 3561 §6.1). Default false.
    even_numbers: bool,
    /// AODV messages are UDP datagrams to port 654 (RFC 3561 §2); false: they have no UDP header,
    /// as in ns-2.35. Default true.
    udp: bool,
    /// Route requests and replies carry a 4-byte timestamp, from which the originator measures the
    /// time per hop, as in ns-2.35. Default false.
    timestamps: bool,
    /// Maximum number of entries in a node's routing table. 1 to 1000000. Default 4096.
    table_size: usize,
}

table! {
    /// Hello messages of AODV (RFC 3561 §6.9): the table `hello`.
    Hello of driftway_route::HelloConfig = driftway_route::HelloConfig::STANDARD, "a table with the keys `interval` and `allowed_loss`";
    /// Time between two hello messages (HELLO_INTERVAL, RFC 3561 §10). Default 1 s.
    interval: Time,
    /// Number of hello messages that may be lost before the neighbour is considered unreachable
    /// (ALLOWED_HELLO_LOSS, RFC 3561 §10). Default 2.
    allowed_loss: u8,
}

/// Retry rule for unanswered route requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"timed\" or { on-demand = \"10 s\" }")]
pub enum RequestRetry {
    /// `"timed"`: when the reply timeout expires (RFC 3561 §6.3, §6.4).
    Timed,
    /// `{ on-demand = "10 s" }`: as in ns-2.35, with this pause after a failed search.
    OnDemand(Time),
}

impl FileValue<SearchRule> for RequestRetry {
    fn from_config(value: SearchRule) -> Self {
        match value {
            SearchRule::Timed => Self::Timed,
            SearchRule::OnDemand { pause } => Self::OnDemand(Time(pause)),
        }
    }
    fn to_config(&self) -> SearchRule {
        match *self {
            Self::Timed => SearchRule::Timed,
            Self::OnDemand(Time(pause)) => SearchRule::OnDemand { pause },
        }
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

impl FileValue<LocalRepair> for LocalRepairMode {
    fn from_config(value: LocalRepair) -> Self {
        match value {
            LocalRepair::Off => Self::Off,
            LocalRepair::NearDestination { max_hops, add_ttl } => {
                Self::Near(NearRepair { max_hops, add_ttl })
            }
            LocalRepair::PastMidpoint => Self::PastHalf,
        }
    }
    fn to_config(&self) -> LocalRepair {
        match *self {
            Self::Off => LocalRepair::Off,
            Self::Near(NearRepair { max_hops, add_ttl }) => {
                LocalRepair::NearDestination { max_hops, add_ttl }
            }
            Self::PastHalf => LocalRepair::PastMidpoint,
        }
    }
}

impl Keywords for RouteRefresh {
    const ALL: &'static [(&'static str, Self)] =
        &[("both-ways", Self::BothWays), ("destination", Self::Destination)];
}

impl Keywords for ErrorRule {
    const ALL: &'static [(&'static str, Self)] =
        &[("precursors", Self::Precursors), ("broadcast", Self::Broadcast)];
}
