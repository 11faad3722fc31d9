//! The configuration of AODV.

use driftway_base::{Duration, named};

/// AODV's constants and options, each with its value in RFC 3561 ([`AodvConfig::STANDARD`], the default) and
/// in ns-2.35 ([`AodvConfig::NS2`]; its file aodv/aodv.cc).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvConfig {
    /// ACTIVE_ROUTE_TIMEOUT: lifetime of a route that carries no packets. RFC 3561 §10: 3 s. ns-2.35: 10 s.
    pub active_route_timeout: Duration,
    /// MY_ROUTE_TIMEOUT: the lifetime in a reply of the destination itself. RFC 3561 §10: 6 s. ns-2.35: 10 s.
    pub my_route_timeout: Duration,
    /// NODE_TRAVERSAL_TIME: an estimate of the time that a packet takes per hop. RFC 3561 §10: 40 ms.
    /// ns-2.35: 30 ms, as a round-trip time per hop, until it is measured (`timestamps`).
    pub node_traversal_time: Duration,
    /// NET_DIAMETER: the maximum number of hops across the network; the time to live of a network-wide
    /// request. RFC 3561 §10: 35. ns-2.35: 30.
    pub net_diameter: u8,
    /// TTL_START: time to live of the first request for a destination never reached. RFC 3561 §10: 1. ns-2.35
    /// defines 5 and never uses it: its "last hop count" starts at 255, so the first request is network-wide
    /// (30).
    pub ttl_start: u8,
    /// TTL_INCREMENT: the difference between consecutive rings. RFC 3561 §10, ns-2.35: 2.
    pub ttl_increment: u8,
    /// TTL_THRESHOLD: the widest ring; the next request is network-wide. RFC 3561 §10, ns-2.35: 7.
    pub ttl_threshold: u8,
    /// TIMEOUT_BUFFER: hops added to the timeout of a ring. RFC 3561 §10: 2. ns-2.35: none.
    pub timeout_buffer: u8,
    /// RREQ_RETRIES: retries of a network-wide request. RFC 3561 §10: 2. ns-2.35: 3.
    pub rreq_retries: u8,
    /// The rule for repeating requests.
    pub search: SearchRule,
    /// RREQ_RATELIMIT: requests per second and node, with timed searches. RFC 3561 §10: 10. ns-2.35:
    /// unlimited (0).
    pub rreq_rate: u8,
    /// RERR_RATELIMIT: route errors per second and node. RFC 3561 §10: 10. ns-2.35: unlimited (0).
    pub rerr_rate: u8,
    /// The time for which duplicates of a request are recognized. RFC 3561 §10: `PATH_DISCOVERY_TIME`, 5.6 s.
    /// ns-2.35: 6 s (up to 12 s, since it deletes entries periodically).
    pub request_memory: Duration,
    /// The minimum lifetime of the reverse route to a request's originator. RFC 3561 §6.5: 2 ×
    /// `NET_TRAVERSAL_TIME` less the time that the request took (`None`). ns-2.35: 6 s.
    pub reverse_route_life: Option<Duration>,
    /// DELETE_PERIOD: the time for which the sequence number of a lost route is kept. RFC 3561 §10: 15 s.
    /// ns-2.35: forever (`None`).
    pub delete_period: Option<Duration>,
    /// The interval of checks for expired routes. RFC 3561: each route expires at its own time (`None`).
    /// ns-2.35: every 0.5 s, at all nodes simultaneously; until then an expired route is used, and use
    /// refreshes it.
    pub expiry_interval: Option<Duration>,
    /// The routes that a packet refreshes.
    pub refresh: RouteRefresh,
    /// The sender of a message becomes a neighbour with a route. RFC 3561 §6.5, §6.7: yes. ns-2.35: no.
    pub neighbour_routes: bool,
    /// The condition for local repair of a broken route.
    pub local_repair: LocalRepair,
    /// Packets queued for a lost neighbour, and the packet that detected its loss, are rerouted, or buffered
    /// if they are the local host's or their route is under repair. Each time decrements the time to live.
    /// RFC 3561 leaves it open; yes. ns-2.35: no: the queue is dropped, and during a repair left in place.
    pub reroute_queued: bool,
    /// The contents and recipients of route errors.
    pub errors: ErrorRule,
    /// Explicit link failure notification: the source of a TCP data packet that met a failed link is notified
    /// (yu-2004 §3.1). RFC 3561 and ns-2.35: no.
    pub elfn: bool,
    /// Early packet loss notification: the source of every lost TCP data packet is notified (yu-2004 §4). RFC
    /// 3561 and ns-2.35: no.
    pub epln: bool,
    /// Best-effort ACK delivery: the last of the lost acknowledgments is retransmitted by a node that is
    /// notified of the loss and has a route (yu-2004 §4). RFC 3561 and ns-2.35: no.
    pub bead: bool,
    /// A route error removes the packets for its sender from the interface queue. RFC 3561: no. ns-2.35: yes.
    pub purge_on_error: bool,
    /// The maximum random delay of forwarded broadcasts. RFC 5148 §5 requires it, RFC 3561 does not mention
    /// it; both here and in ns-2.35: 10 ms.
    pub jitter: Duration,
    /// The interval between packets that are released by a reply. RFC 3561: none. ns-2.35: 10 ms, because of
    /// ARP.
    pub release_spacing: Duration,
    /// The capacity of the buffer of packets without a route, in packets; the oldest is evicted. RFC 3561
    /// §6.3 leaves it open; as in ns-2.35: 64.
    pub buffer_packets: usize,
    /// The time limit in that buffer. RFC 3561 §6.3 leaves it open; as in ns-2.35: 30 s.
    pub buffer_timeout: Duration,
    /// The time to live of packets of the local host. RFC 3561: the host's own (`None`). ns-2.35: 30.
    pub data_ttl: Option<u8>,
    /// Requests set the flag G (gratuitous reply to the destination) if TCP or ICMP echo packets are
    /// buffered. RFC 3561 §6.3: set where two-way traffic is expected. ns-2.35: no.
    pub gratuitous: bool,
    /// Requests set the flag D (destination only). RFC 3561 §6.3, ns-2.35: no.
    pub destination_only: bool,
    /// Replies set the flag A (acknowledgment required). RFC 3561 §6.8: where the link layer has none; no.
    /// ns-2.35: no.
    pub ack_replies: bool,
    /// BLACKLIST_TIMEOUT: the time for which requests of a neighbour are ignored that a reply did not reach.
    /// RFC 3561 §10: 5.6 s. ns-2.35: no blacklist (0).
    pub blacklist_timeout: Duration,
    /// Requests are ignored that arrive over a link whose expected lifetime, by the received power and its
    /// trend, is shorter than this, so that no route uses it (after dube-1997's signal stability). RFC 3561
    /// and ns-2.35: none are.
    pub avoid_fading: Option<Duration>,
    /// Hello messages, for a link layer that does not report failures. RFC 3561 §6.9: optional; none.
    /// ns-2.35: none.
    pub hello: Option<HelloConfig>,
    /// A packet that reaches the retry limit of the link layer indicates a broken link. RFC 3561 §6.10,
    /// ns-2.35: yes.
    pub link_layer_detection: bool,
    /// The same for control packets. RFC 3561 §6.10: yes. ns-2.35: no, only for data.
    pub control_detection: bool,
    /// Replies from the table state the lifetime in whole seconds, rounded down; that of a route under repair
    /// is unlimited. RFC 3561 §6.6.2: milliseconds. ns-2.35: yes.
    pub whole_seconds: bool,
    /// A route under repair answers requests, breaks with its former next hop, and at an equal sequence
    /// number is replaced only by a shorter one. RFC 3561 §6.12: no, it is invalid. ns-2.35: yes.
    pub repairing_is_valid: bool,
    /// A neighbour's request is answered with a route through that same neighbour. RFC 3561 §6.6 does not
    /// forbid it; no, since it can only mislead. ns-2.35: yes.
    pub answer_next_hop: bool,
    /// The node's sequence numbers are even: they increase by two for each request and each lost neighbour,
    /// and with each reply. RFC 3561 §6.1: by one with a request; a reply takes the maximum of its own and
    /// the requested number. ns-2.35: yes.
    pub even_numbers: bool,
    /// Messages are sent over UDP. RFC 3561 §2: yes. ns-2.35: no.
    pub udp: bool,
    /// Requests carry the time of sending and replies return it, from which the originator measures the
    /// latency per hop. RFC 3561: no. ns-2.35: yes, in 4 bytes.
    pub timestamps: bool,
    /// The capacity of the routing table. Both leave it open; 4096.
    pub table_size: usize,
}

/// The rule for repeating requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchRule {
    /// RFC 3561 §6.3, §6.4: a request is repeated when its timeout expires. A ring has 2 ×
    /// `node_traversal_time` × (ring + `timeout_buffer`), a network-wide request 2 × `node_traversal_time` ×
    /// `net_diameter`, doubled with each retry. Then the search fails.
    Timed,
    /// ns-2.35: a request is repeated when its timeout has expired **and** either the host sends another
    /// packet, or `expiry_interval` elapses. The timeout is 2 × time to live × the mean latency per hop of
    /// the last three replies × the number of network-wide requests so far, at most 10 s. Once all have
    /// failed, no request is sent for another `pause`.
    OnDemand {
        /// 10 s.
        pause: Duration,
    },
}

named! {
    /// The routes that a packet refreshes.
    pub enum RouteRefresh {
        /// RFC 3561 §6.2: those to its destination, its source, and the previous and next hop, to at least
        /// `active_route_timeout` from now.
        BothWays = "both-ways",
        /// ns-2.35: the route to its destination, to exactly `active_route_timeout` from now.
        Destination = "destination",
    }
}

/// The condition for local repair of a broken route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalRepair {
    /// Never.
    Off,
    /// RFC 3561 §6.12: if the destination was at most this far. One request, `add_ttl` hops wider than the
    /// former route and than half the distance to the packet's source.
    NearDestination {
        /// `MAX_REPAIR_TTL`: 0.3 × `net_diameter`.
        max_hops: u8,
        /// `LOCAL_ADD_TTL`: 2.
        add_ttl: u8,
    },
    /// ns-2.35: if the packet that met the break had passed more nodes than the route still had hops. The
    /// search is an ordinary one; no error is sent if it fails. A timer is set to the request's absolute time
    /// as if it were a delay: a route still broken then is invalidated.
    PastMidpoint,
}

named! {
    /// The contents and recipients of route errors.
    pub enum ErrorRule {
        /// RFC 3561 §6.11: the destinations that have precursors; unicast to a single precursor, else broadcast.
        /// A packet without a route triggers an error to its last hop.
        Precursors = "precursors",
        /// ns-2.35: all destinations over a broken link; of those in a received error, those with precursors.
        /// Always broadcast, and without jitter if originated here.
        Broadcast = "broadcast",
    }
}

/// Hello messages (RFC 3561 §6.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelloConfig {
    /// HELLO_INTERVAL; RFC 3561 §10: 1 s.
    pub interval: Duration,
    /// ALLOWED_HELLO_LOSS; RFC 3561 §10: 2.
    pub allowed_loss: u8,
}

impl HelloConfig {
    /// RFC 3561 §10.
    pub const STANDARD: Self = Self { interval: Duration::from_secs(1), allowed_loss: 2 };

    /// The silence after which a neighbour is considered lost.
    pub(super) const fn neighbour_timeout(self) -> Duration {
        self.interval.times(self.allowed_loss as u64)
    }
}

impl AodvConfig {
    /// RFC 3561 §10.
    pub const STANDARD: Self = Self {
        active_route_timeout: Duration::from_secs(3),
        my_route_timeout: Duration::from_secs(6),
        node_traversal_time: Duration::from_millis(40),
        net_diameter: 35,
        ttl_start: 1,
        ttl_increment: 2,
        ttl_threshold: 7,
        timeout_buffer: 2,
        rreq_retries: 2,
        search: SearchRule::Timed,
        rreq_rate: 10,
        rerr_rate: 10,
        request_memory: Duration::from_millis(5600),
        reverse_route_life: None,
        delete_period: Some(Duration::from_secs(15)),
        expiry_interval: None,
        refresh: RouteRefresh::BothWays,
        neighbour_routes: true,
        local_repair: LocalRepair::NearDestination { max_hops: 10, add_ttl: 2 },
        reroute_queued: true,
        elfn: false,
        epln: false,
        bead: false,
        errors: ErrorRule::Precursors,
        purge_on_error: false,
        jitter: Duration::from_millis(10),
        release_spacing: Duration::ZERO,
        buffer_packets: 64,
        buffer_timeout: Duration::from_secs(30),
        data_ttl: None,
        gratuitous: true,
        destination_only: false,
        ack_replies: false,
        blacklist_timeout: Duration::from_millis(5600),
        avoid_fading: None,
        hello: None,
        link_layer_detection: true,
        control_detection: true,
        whole_seconds: false,
        repairing_is_valid: false,
        answer_next_hop: false,
        even_numbers: false,
        udp: true,
        timestamps: false,
        table_size: 4096,
    };

    /// ns-2.35 as compiled by default: link-layer detection and local repair, no hello.
    pub const NS2: Self = Self {
        active_route_timeout: Duration::from_secs(10),
        my_route_timeout: Duration::from_secs(10),
        node_traversal_time: Duration::from_millis(30),
        net_diameter: 30,
        ttl_start: 30,
        ttl_increment: 2,
        ttl_threshold: 7,
        timeout_buffer: 0,
        rreq_retries: 3,
        search: SearchRule::OnDemand { pause: Duration::from_secs(10) },
        rreq_rate: 0,
        rerr_rate: 0,
        request_memory: Duration::from_secs(6),
        reverse_route_life: Some(Duration::from_secs(6)),
        delete_period: None,
        expiry_interval: Some(Duration::from_millis(500)),
        refresh: RouteRefresh::Destination,
        neighbour_routes: false,
        local_repair: LocalRepair::PastMidpoint,
        reroute_queued: false,
        elfn: false,
        epln: false,
        bead: false,
        errors: ErrorRule::Broadcast,
        purge_on_error: true,
        jitter: Duration::from_millis(10),
        release_spacing: Duration::from_millis(10),
        buffer_packets: 64,
        buffer_timeout: Duration::from_secs(30),
        data_ttl: Some(30),
        gratuitous: false,
        destination_only: false,
        ack_replies: false,
        blacklist_timeout: Duration::ZERO,
        avoid_fading: None,
        hello: None,
        link_layer_detection: true,
        control_detection: false,
        whole_seconds: true,
        repairing_is_valid: true,
        answer_next_hop: true,
        even_numbers: true,
        udp: false,
        timestamps: true,
        table_size: 4096,
    };

    /// NET_TRAVERSAL_TIME (RFC 3561 §10).
    pub(super) const fn net_traversal_time(&self) -> Duration {
        self.node_traversal_time.times(2 * self.net_diameter as u64)
    }
}

impl Default for AodvConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}
