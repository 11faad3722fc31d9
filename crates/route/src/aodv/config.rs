//! What may be chosen about AODV.

use driftway_base::Duration;

/// AODV's constants and switches. Each says what RFC 3561 has ([`AodvConfig::STANDARD`], the
/// default) and what ns-2.35 does ([`AodvConfig::NS2`]; its file aodv/aodv.cc).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvConfig {
    /// How long a route lives that carries no packet. RFC 3561 §10: 3 s. ns-2.35: 10 s.
    pub active_route_timeout: Duration,
    /// The lifetime in a destination's own reply. RFC 3561 §10: 6 s. ns-2.35: 10 s.
    pub my_route_timeout: Duration,
    /// A guess of what a packet takes for a hop. RFC 3561 §10: 40 ms. ns-2.35: 30 ms, as time there
    /// and back, until it is measured (`timestamps`).
    pub node_traversal_time: Duration,
    /// Hops across the network at most; the time to live of a request to all. RFC 3561 §10: 35.
    /// ns-2.35: 30.
    pub net_diameter: u8,
    /// Time to live of the first request for a destination never reached. RFC 3561 §10: 1. ns-2.35
    /// has 5 and never uses it: its "last hop count" begins at 255, so the first request goes to
    /// all (30).
    pub ttl_start: u8,
    /// What each further ring has more. RFC 3561 §10, ns-2.35: 2.
    pub ttl_increment: u8,
    /// The widest ring; beyond it a request goes to all. RFC 3561 §10, ns-2.35: 7.
    pub ttl_threshold: u8,
    /// Hops by which a ring's reply may be late. RFC 3561 §10: 2. ns-2.35: none.
    pub timeout_buffer: u8,
    /// How often a request to all is repeated. RFC 3561 §10: 2. ns-2.35: 3.
    pub rreq_retries: u8,
    /// When a request is repeated, and how long a reply is waited for.
    pub search: SearchRule,
    /// Requests that a node may send in a second, where searches are timed. RFC 3561 §10: 10.
    /// ns-2.35: any (0).
    pub rreq_rate: u8,
    /// Route errors that a node may send in a second. RFC 3561 §10: 10. ns-2.35: any (0).
    pub rerr_rate: u8,
    /// For how long a request is known again. RFC 3561 §10: `PATH_DISCOVERY_TIME`, 5.6 s. ns-2.35:
    /// 6 s (up to 12, for it forgets in rounds).
    pub request_memory: Duration,
    /// How long the way back to a request's originator lives at least. RFC 3561 §6.5: 2 ×
    /// `NET_TRAVERSAL_TIME` less what the request took (`None`). ns-2.35: 6 s.
    pub reverse_route_life: Option<Duration>,
    /// How long a lost route's number is remembered. RFC 3561 §10: 15 s. ns-2.35: always (`None`).
    pub delete_period: Option<Duration>,
    /// How often routes are looked at for their end. RFC 3561: each ends when it ends (`None`).
    /// ns-2.35: every 0.5 s, all nodes at once; till then an old route is used, and use renews it.
    pub expiry_interval: Option<Duration>,
    /// Which routes a packet keeps alive.
    pub refresh: RouteRefresh,
    /// A message's sender is a neighbour to which there is a route. RFC 3561 §6.5, §6.7: yes.
    /// ns-2.35: no.
    pub neighbour_routes: bool,
    /// When a broken route is repaired where it broke.
    pub local_repair: LocalRepair,
    /// What waits for a neighbour that is gone (and what its loss was noticed by) finds another
    /// route, or waits for one if it is the own host's or its route is repaired. Each time takes
    /// one from its time to live. RFC 3561 leaves that open; yes. ns-2.35: no: the queue is
    /// dropped, and under repair left to try again.
    pub rescue: bool,
    /// What route errors name and who gets them.
    pub errors: ErrorRule,
    /// Explicit link failure notification: the source of a packet of TCP's data that a link did not carry
    /// hears of it (yu-2004 §3.1). RFC 3561 and ns-2.35: no.
    pub elfn: bool,
    /// Early packet loss notification: so does that of all data that is lost (yu-2004 §4). RFC 3561 and
    /// ns-2.35: no.
    pub epln: bool,
    /// Best-effort ACK delivery: of lost acknowledgments the last one is sent again by whoever hears of
    /// them and has a route (yu-2004 §4). RFC 3561 and ns-2.35: no.
    pub bead: bool,
    /// A route error takes what waits for its sender out of the queue. RFC 3561: no. ns-2.35: yes.
    pub purge_on_error: bool,
    /// Broadcasts that are passed on wait for a random time up to this. RFC 5148 §5 asks for it,
    /// RFC 3561 does not speak of it; both here and in ns-2.35: 10 ms.
    pub jitter: Duration,
    /// Time between packets that waited for a reply. RFC 3561: none. ns-2.35: 10 ms, for ARP's sake.
    pub release_spacing: Duration,
    /// Packets that may wait for routes. RFC 3561 §6.3 leaves it open; as ns-2.35: 64. The oldest
    /// makes way.
    pub buffer_packets: usize,
    /// How long they wait. RFC 3561 §6.3 leaves it open; as ns-2.35: 30 s.
    pub buffer_timeout: Duration,
    /// The time to live of the own host's packets. RFC 3561: the host's own (`None`). ns-2.35: 30.
    pub data_ttl: Option<u8>,
    /// Requests ask that the destination be given a route, too (flag G), where TCP or an echo waits.
    /// RFC 3561 §6.3: who expects that both ends speak does so.
    /// ns-2.35: no.
    pub gratuitous: bool,
    /// Only the destination may answer (flag D). RFC 3561 §6.3, ns-2.35: no.
    pub destination_only: bool,
    /// Replies ask for an acknowledgment (flag A). RFC 3561 §6.8: where the link layer has none; no.
    /// ns-2.35: no.
    pub ack_replies: bool,
    /// For how long requests are ignored of a neighbour that a reply did not reach. RFC 3561 §10:
    /// `BLACKLIST_TIMEOUT`, 5.6 s. ns-2.35: they never are (0).
    pub blacklist_timeout: Duration,
    /// Requests are ignored that come over a link whose end, by the received power and its trend, is
    /// nearer than this: no route is found over it (after dube-1997's signal stability). The standard
    /// and ns-2.35: none are.
    pub avoid_fading: Option<Duration>,
    /// Beacons, for want of a link layer that says what it did not carry. RFC 3561 §6.9: a choice;
    /// none. ns-2.35: none.
    pub hello: Option<HelloConfig>,
    /// A packet that the link layer gives up on is a link that broke. RFC 3561 §6.10, ns-2.35: yes.
    pub link_layer_detection: bool,
    /// So is a reply that it gives up on. RFC 3561 §6.10: yes. ns-2.35: no, only data.
    pub control_detection: bool,
    /// A reply from a route says its lifetime in whole seconds, rounded down; that from one under
    /// repair never ends. RFC 3561 §6.6.2: milliseconds. ns-2.35: yes.
    pub whole_seconds: bool,
    /// A route under repair answers requests, ends with the next hop that it had, and is replaced at
    /// an equal number only by a shorter one. RFC 3561 §6.12: no, it is invalid. ns-2.35: yes.
    pub repairing_is_valid: bool,
    /// A neighbour that asks for a destination is told of a route that leads through itself. RFC 3561
    /// §6.6 does not forbid it; no, for it can only mislead. ns-2.35: yes.
    pub answer_next_hop: bool,
    /// Own numbers are even: they grow by two for each request and each lost neighbour, and with
    /// each reply. RFC 3561 §6.1: by one with a request; a reply takes what the request knows.
    /// ns-2.35: yes.
    pub even_numbers: bool,
    /// Messages travel in UDP. RFC 3561 §2: yes. ns-2.35: no.
    pub udp: bool,
    /// Requests say when they were sent and replies bring it back, from which the originator learns
    /// what a hop takes. RFC 3561: no. ns-2.35: yes, in 4 bytes.
    pub timestamps: bool,
    /// Routes that a node may know. Both leave it open; 4096.
    pub table_size: usize,
}

/// When a request is repeated, and how long a reply is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchRule {
    /// RFC 3561 §6.3, §6.4: when the time for a reply is over. A ring has 2 × `node_traversal_time`
    /// × (ring + `timeout_buffer`), a request to all 2 × `node_traversal_time` × `net_diameter`,
    /// doubled with each repetition. Then the search has failed.
    Timed,
    /// ns-2.35: when the time for a reply is over **and** either the host sends another packet, or
    /// `expiry_interval` comes round. A request has 2 × its time to live × the mean time that the last
    /// three replies took for a hop, × the number of requests to all so far, 10 s at most. Once all
    /// are in vain nothing is asked for another `pause`.
    OnDemand {
        /// 10 s.
        pause: Duration,
    },
}

/// Which routes a packet keeps alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteRefresh {
    /// RFC 3561 §6.2: those to its destination, its source, and the neighbours on both sides, to
    /// no less than `active_route_timeout` from now.
    BothWays,
    /// ns-2.35: that to its destination, to exactly that.
    Destination,
}

/// When a broken route is repaired where it broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalRepair {
    /// Never.
    Off,
    /// RFC 3561 §6.12: if the destination was no farther than this. One request, `add_ttl` hops
    /// wider than both the route was and half the way to the packet's source is.
    NearDestination {
        /// `MAX_REPAIR_TTL`: 0.3 × `net_diameter`.
        max_hops: u8,
        /// `LOCAL_ADD_TTL`: 2.
        add_ttl: u8,
    },
    /// ns-2.35: if the packet that broke it had passed more nodes than it had hops before it. It is
    /// looked for like any route; if that fails nobody is told. A timer is set to the request's
    /// absolute time as if it were a delay: what is still broken then is given up.
    PastMidpoint,
}

/// What route errors name and who gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorRule {
    /// RFC 3561 §6.11: destinations for which a neighbour is known to use this node; sent to it
    /// alone if it is one, else to all. A packet without a route draws one to its last hop.
    Precursors,
    /// ns-2.35: all destinations that a broken link led to; of those in another's error, those with
    /// precursors. Always to all, and without random wait for the own ones.
    Broadcast,
}

/// RFC 3561 §6.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelloConfig {
    /// Time between two; RFC 3561 §10: 1 s.
    pub interval: Duration,
    /// How many may be missed; RFC 3561 §10: 2.
    pub allowed_loss: u8,
}

impl HelloConfig {
    /// RFC 3561 §10.
    pub const STANDARD: Self = Self { interval: Duration::from_secs(1), allowed_loss: 2 };

    /// Silence after which a neighbour is gone.
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
        rescue: true,
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

    /// ns-2.35 as it is compiled: link-layer detection and local repair, no hello.
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
        rescue: false,
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

    /// What a request takes to all and back (RFC 3561 §10).
    pub(super) const fn net_traversal_time(&self) -> Duration {
        self.node_traversal_time.times(2 * self.net_diameter as u64)
    }
}

impl Default for AodvConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}
