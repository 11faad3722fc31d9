//! `routing = { protocol = "aodv", … }`.

use driftway_route::{AodvConfig, ErrorRule, LocalRepair, RouteRefresh, SearchRule};
use serde::{Deserialize, Serialize};

use crate::Time;
use crate::file_value::{FileValue, Keyword, Keywords, Lifetime, OrNone, table};

table! {
    /// `protocol = "aodv"`: RFC 3561. What is left out is as the RFC has it, or, where that leaves
    /// it open, as everybody does; what ns-2.35 does otherwise is in `docs/ns-2.md`.
    Aodv of AodvConfig = AodvConfig::STANDARD, "a table with the keys of AODV";
    /// How long a route lives that carries no packet. Default 3 s.
    active_route_timeout: Time,
    /// The lifetime in a destination's own reply. Default 6 s.
    my_route_timeout: Time,
    /// A guess of what a packet takes for a hop. Default 40 ms.
    node_traversal_time: Time,
    /// Hops across the network at most; the time to live of a request to all. Default 35.
    net_diameter: u8,
    /// Time to live of the first request. Default 1.
    ttl_start: u8,
    /// What each further ring has more. Default 2.
    ttl_increment: u8,
    /// The widest ring; beyond it a request goes to all. Default 7.
    ttl_threshold: u8,
    /// Hops by which a ring's reply may be late. Default 2.
    timeout_buffer: u8,
    /// How often a request to all is repeated. Default 2.
    rreq_retries: u8,
    /// When a request is repeated: `"timed"`, or `{ on-demand = "10 s" }`, ns-2.35's way with this
    /// pause after a failure. Default `"timed"`.
    search: RequestRetry,
    /// Requests that a node may begin in a second; 0: any number. Default 10.
    rreq_rate: u8,
    /// Route errors that a node may send in a second; 0: any number. Default 10.
    rerr_rate: u8,
    /// For how long a request is known again. Default 5.6 s.
    request_memory: Time,
    /// How long the way back to a request's originator lives; `"none"`: as RFC 3561 §6.5 works it
    /// out. Default `"none"`.
    reverse_route_life: OrNone<Time>,
    /// How long a lost route's number is remembered; `"forever"` is a value, too. Default 15 s.
    delete_period: Lifetime,
    /// How often routes are looked at for their end; `"none"`: each ends when it ends. Default
    /// `"none"`.
    expiry_interval: OrNone<Time>,
    /// Which routes a packet keeps alive: `"both-ways"` (to its destination, its source and the
    /// neighbours on both sides) or `"destination"`. Default `"both-ways"`.
    refresh: Keyword<RouteRefresh>,
    /// A message's sender is a neighbour to which there is a route. Default true.
    neighbour_routes: bool,
    /// When a broken route is repaired where it broke: `"off"`,
    /// `{ near = { max_hops = 10, add_ttl = 2 } }` or `"past-half"`, ns-2.35's way. Default: near.
    local_repair: LocalRepairMode,
    /// What waits for a neighbour that is gone finds another route. Default true.
    rescue: bool,
    /// The source of a packet of TCP's data that a link did not carry hears of it (ELFN, yu-2004 §3.1).
    /// What a sender does about it is the aid `elfn`. Default false.
    elfn: bool,
    /// So does that of all data that is lost, by a message on the route back (early packet loss
    /// notification, yu-2004 §4). What a sender does about it is the aid `epln`. Default false.
    epln: bool,
    /// Of lost acknowledgments the last one is sent again by whoever hears of them and has a route
    /// (best-effort ACK delivery, yu-2004 §4). Default false.
    bead: bool,
    /// What route errors name and who gets them: `"precursors"` or `"broadcast"`. Default
    /// `"precursors"`.
    errors: Keyword<ErrorRule>,
    /// A route error takes what waits for its sender out of the queue. Default false.
    purge_on_error: bool,
    /// Broadcasts that are passed on wait for a random time up to this. Default 10 ms.
    jitter: Time,
    /// Time between packets that waited for a reply. Default 0 s.
    release_spacing: Time,
    /// Packets that may wait for routes. Default 64.
    buffer_packets: usize,
    /// How long they wait. Default 30 s.
    buffer_timeout: Time,
    /// The time to live of the own host's packets; `"none"`: the host's own. Default `"none"`.
    data_ttl: OrNone<u8>,
    /// Requests ask that the destination be given a route, too (flag G), where TCP or an echo waits.
    /// Default true.
    gratuitous: bool,
    /// Only the destination may answer (flag D). Default false.
    destination_only: bool,
    /// Replies ask for an acknowledgment (flag A). Default false.
    ack_replies: bool,
    /// For how long requests are ignored of a neighbour that a reply did not reach. Default 5.6 s.
    blacklist_timeout: Time,
    /// Requests that come over a link which ends within this, by the received power and its trend, are
    /// ignored; `"none"`: none are. Default `"none"`.
    avoid_fading: OrNone<Time>,
    /// `{ interval = "1 s", allowed_loss = 2 }`: beacons, or `"none"`. Default `"none"`, but over
    /// TDMA, which reports no failure, those of RFC 3561.
    hello: OrNone<Hello>,
    /// A packet that the link layer gives up on is a link that broke. Default true.
    link_layer_detection: bool,
    /// So is a reply that it gives up on. Default true.
    control_detection: bool,
    /// Lifetimes in replies are rounded down to seconds. Default false.
    whole_seconds: bool,
    /// A route under repair answers requests. Default false.
    repairing_is_valid: bool,
    /// A neighbour that asks is told of a route that leads through itself. Default false.
    answer_next_hop: bool,
    /// Own numbers are even. Default false.
    even_numbers: bool,
    /// Messages travel in UDP. Default true.
    udp: bool,
    /// Requests say when they were sent and replies bring it back: what a hop takes is measured.
    /// Default false.
    timestamps: bool,
    /// Routes that a node may know. Default 4096.
    table_size: usize,
}

table! {
    /// `hello = { … }`: RFC 3561 §6.9.
    Hello of driftway_route::HelloConfig = driftway_route::HelloConfig::STANDARD, "a table with the keys `interval` and `allowed_loss`";
    /// From one to the next. Default 1 s.
    interval: Time,
    /// How many may be missed. Default 2.
    allowed_loss: u8,
}

/// When a request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", expecting = "\"timed\" or { on-demand = \"10 s\" }")]
pub enum RequestRetry {
    /// When the time for a reply is over (RFC 3561 §6.3, §6.4).
    Timed,
    /// As ns-2.35 has it, with a pause of this length once all requests were in vain.
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

/// When a broken route is repaired where it broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "kebab-case",
    expecting = "\"off\", { near = { max_hops = 10, add_ttl = 2 } } or \"past-half\""
)]
pub enum LocalRepairMode {
    /// Never.
    Off,
    /// If the destination was near (RFC 3561 §6.12).
    Near(NearRepair),
    /// As ns-2.35: if the packet had more hops behind it than before it.
    PastHalf,
}

/// `{ max_hops = 10, add_ttl = 2 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with the keys `max_hops` and `add_ttl`")]
pub struct NearRepair {
    /// Hops to the destination at most.
    pub max_hops: u8,
    /// Hops that the request has more than seem to be needed.
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
