//! The configuration of AODV.

use driftway_base::{Duration, configuration, named};

/// Passes the options of AODV to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! aodv_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Lifetime of an active route that carries no packets (ACTIVE_ROUTE_TIMEOUT, RFC 3561 §10).
        active_route_timeout: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Duration::from_secs(3)
            => Duration::from_secs(10),
            "§10: ACTIVE_ROUTE_TIMEOUT 3 s.",
            "10 s.";
        /// Lifetime that a destination gives in its own route replies (MY_ROUTE_TIMEOUT, RFC 3561 §10).
        my_route_timeout: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Duration::from_secs(6)
            => Duration::from_secs(10),
            "§10: MY_ROUTE_TIMEOUT 6 s.",
            "10 s.";
        /// Conservative estimate of the one-hop traversal time, from which the reply timeouts are
        /// computed (NODE_TRAVERSAL_TIME, RFC 3561 §10).
        node_traversal_time: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(40)
            => Duration::from_millis(30),
            "§10: NODE_TRAVERSAL_TIME 40 ms.",
            "30 ms for both directions, until the last three replies give a better estimate.";
        /// Maximum number of hops between two nodes, which is also the TTL of a network-wide route
        /// request (NET_DIAMETER, RFC 3561 §10).
        net_diameter: u8 [range("the number of hops", 1..=255)] = 35 => 30,
            "§10: NET_DIAMETER 35.",
            "NETWORK_DIAMETER 30.";
        /// TTL of the first route request of an expanding ring search (TTL_START, RFC 3561 §6.4).
        ttl_start: u8 [range("the number of hops", 1..=255)] = 1 => 30,
            "§10: TTL_START 1.",
            "TTL_START is 5 but never used: the \"last hop count\" of an unknown destination is \
             255, so that the first request is network-wide.";
        /// TTL increment from one ring of the search to the next (TTL_INCREMENT, RFC 3561 §6.4).
        ttl_increment: u8 [range("the number of hops", 1..=255)] = 2;
        /// TTL of the widest ring of the search; the next request is network-wide (TTL_THRESHOLD, RFC
        /// 3561 §6.4).
        ttl_threshold: u8 = 7;
        /// Hops added to a ring's TTL when its reply timeout is computed (TIMEOUT_BUFFER, RFC 3561
        /// §10).
        timeout_buffer: u8 = 2 => 0,
            "§10: TIMEOUT_BUFFER 2.",
            "None.";
        /// Number of retries of a network-wide route request (RREQ_RETRIES, RFC 3561 §6.3).
        rreq_retries: u8 = 2 => 3,
            "§10: RREQ_RETRIES 2.",
            "3 (and the comparison allows one more).";
        /// Retry rule for unanswered route requests. `"timed"`: a request is repeated when its reply
        /// timeout expires (RFC 3561 §6.3, §6.4). `{ on-demand = "10 s" }`: as in ns-2.35, it is
        /// repeated only when the timeout has expired and either another packet needs the route or
        /// routes are scanned for expiry; after a failed search no request is sent for the time given.
        search: SearchRule as RequestRetry [inside()] = SearchRule::Timed
            => SearchRule::OnDemand { pause: Duration::from_secs(10) },
            "§6.3, §6.4: a request is repeated when its reply timeout expires.",
            "It is repeated when another packet arrives, or when routes are scanned for expiry; \
             after a failed search no request is sent for 10 s (`MAX_RREQ_TIMEOUT`).";
        /// Maximum number of route requests that a node originates per second (RREQ_RATELIMIT, RFC 3561
        /// §6.3); 0: unlimited.
        rreq_rate: u8 = 10 => 0,
            "§10: RREQ_RATELIMIT 10 a second.",
            "Unlimited.";
        /// Maximum number of route errors that a node originates per second (RERR_RATELIMIT, RFC 3561
        /// §6.11); 0: unlimited.
        rerr_rate: u8 = 10 => 0,
            "§10: RERR_RATELIMIT 10 a second.",
            "Unlimited.";
        /// Time for which a route request is recognised as a duplicate (PATH_DISCOVERY_TIME, RFC 3561
        /// §6.3).
        request_memory: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(5600)
            => Duration::from_secs(6),
            "§10: PATH_DISCOVERY_TIME, 5.6 s.",
            "BCAST_ID_SAVE 6 s.";
        /// Lifetime of the reverse route to the originator of a route request; `"none"`: the minimum
        /// lifetime that RFC 3561 §6.5 computes.
        reverse_route_life: Option<Duration> as OrNone<Time> [
            positive(),
            at_most(MAX_PROTOCOL_TIME)
        ] = None => Some(Duration::from_secs(6)),
            "§6.5: at least 2 × NET_TRAVERSAL_TIME minus the travel time of the request.",
            "REV_ROUTE_LIFE 6 s.";
        /// Time for which the sequence number of an invalid route is kept before its entry is deleted
        /// (DELETE_PERIOD, RFC 3561 §6.11), or `"forever"`.
        delete_period: Option<Duration> as Lifetime [at_most(MAX_PROTOCOL_TIME)] = Some(Duration::from_secs(15))
            => None,
            "§10: DELETE_PERIOD, 15 s after which the sequence number of an invalid route is \
             deleted.",
            "Entries are never deleted.";
        /// Period with which the routing table is scanned for expired routes, as in ns-2.35; `"none"`:
        /// each route expires exactly at the end of its lifetime.
        expiry_interval: Option<Duration> as OrNone<Time> [
            positive(),
            at_most(MAX_PROTOCOL_TIME)
        ] = None => Some(Duration::from_millis(500)),
            "A route expires at the end of its lifetime.",
            "Routes are scanned for expiry every 0.5 s; until then an expired route is used, and \
             its use refreshes it.";
        /// Routes whose lifetime a forwarded packet refreshes: `"both-ways"` (to its destination, its
        /// source and the neighbours on both sides, RFC 3561 §6.2) or `"destination"` (the one to its
        /// destination only, as in ns-2.35).
        refresh: RouteRefresh as Keyword<RouteRefresh> = RouteRefresh::BothWays
            => RouteRefresh::Destination,
            "§6.2: a packet refreshes the routes to its destination, its source, and the \
             neighbours on both sides.",
            "The route to its destination only.";
        /// Creates or refreshes a one-hop route to the neighbour from which an AODV message was
        /// received (RFC 3561 §6.5, §6.7).
        neighbour_routes: bool = true => false,
            "§6.5, §6.7: a message creates or refreshes the route to the neighbour that sent it.",
            "No such route.";
        /// Local repair of a broken route (RFC 3561 §6.12): `"off"`;
        /// `{ near = { max_hops = 10, add_ttl = 2 } }`, if the destination is at most `max_hops` hops
        /// away; or `"past-half"`, as in ns-2.35, if the packet had travelled more hops than remained.
        local_repair: LocalRepair as LocalRepairMode = LocalRepair::NearDestination { max_hops: 10, add_ttl: 2 }
            => LocalRepair::PastMidpoint,
            "§6.12: if the destination was at most MAX_REPAIR_TTL hops away.",
            "If the packet had travelled more hops than remained. A failed repair is not \
             reported, and its timer is set to an absolute time instead of a delay.";
        /// Reroutes the packets that are queued for an unreachable neighbour instead of dropping them.
        /// RFC 3561 leaves this open.
        reroute_queued: bool = true => false,
            "Not specified: the treatment of packets queued for an unreachable neighbour; here \
             they are rerouted.",
            "They are dropped, or left in the queue during a repair.";
        /// Explicit link failure notification (ELFN, yu-2004 §3.1): the source of a TCP data segment
        /// that a link could not deliver is notified. The aid `"elfn"` defines the sender's reaction.
        elfn: bool = false;
        /// Early packet loss notification (EPLN, yu-2004 §4): the source of every data packet that is
        /// lost on a link is notified by a message along the reverse route. The aid `"epln"` defines
        /// the sender's reaction.
        epln: bool = false;
        /// Best-effort ACK delivery (BEAD, yu-2004 §4): of the TCP acknowledgments lost on a link, a
        /// node that is notified of the loss and has a route retransmits the latest one.
        bead: bool = false;
        /// Contents and receivers of route errors: `"precursors"` (the destinations for which a
        /// neighbour is a precursor, sent to the precursors, RFC 3561 §6.11) or `"broadcast"` (all
        /// destinations reached over the broken link, always broadcast, as in ns-2.35).
        errors: ErrorRule as Keyword<ErrorRule> = ErrorRule::Precursors => ErrorRule::Broadcast,
            "§6.11: the destinations for which a neighbour is a precursor, to that neighbour.",
            "All destinations reached over the link, broadcast.";
        /// A route error removes from the interface queue the packets whose next hop is the sender of
        /// the error, as in ns-2.35.
        purge_on_error: bool = false => true,
            "Not specified.",
            "A route error drops the packets queued for its sender.";
        /// Maximum random delay before a broadcast message is forwarded (RFC 5148 §5).
        jitter: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(10);
        /// Interval between the buffered packets that a route reply releases; 0 s: all are sent at
        /// once.
        release_spacing: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::ZERO
            => Duration::from_millis(10),
            "Buffered packets are sent at once.",
            "ARP_DELAY 10 ms between them.";
        /// Maximum number of packets that a node buffers while their routes are discovered (RFC 3561
        /// §6.3 leaves it open); the oldest packet is dropped when it is exceeded.
        buffer_packets: usize [range("the number of packets", 1..=1_000_000)] = 64;
        /// Maximum time for which a packet is buffered while its route is discovered.
        buffer_timeout: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)]
            = Duration::from_secs(30);
        /// TTL of the data packets that a node originates; `"none"`: the TTL of the host.
        data_ttl: Option<u8> as OrNone<u8> = None => Some(30),
            "The host's own time to live.",
            "NETWORK_DIAMETER.";
        /// Sets the gratuitous RREP flag (G) in route requests for TCP and for echo requests, so that
        /// the destination also learns a route to the originator (RFC 3561 §6.3, §6.6.3).
        gratuitous: bool = true => false,
            "§6.3: a node that expects bidirectional traffic (TCP, an echo) requests that the \
             destination learn a route too.",
            "Never.";
        /// Sets the destination only flag (D) in route requests: no intermediate node replies (RFC 3561
        /// §6.3).
        destination_only: bool = false;
        /// Sets the acknowledgment required flag (A) in route replies (RFC 3561 §6.7, §6.8).
        ack_replies: bool = false;
        /// Time for which the route requests of a neighbour to which a route reply could not be
        /// delivered are ignored (BLACKLIST_TIMEOUT, RFC 3561 §6.8); 0 s: no blacklist.
        blacklist_timeout: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(5600)
            => Duration::ZERO,
            "§6.8, §10: the requests of a neighbour that a reply did not reach are ignored for \
             BLACKLIST_TIMEOUT.",
            "No blacklist.";
        /// Ignores route requests that arrive over a link which, by the received power and its trend,
        /// breaks within this time (after the signal stability of dube-1997); `"none"`: none are
        /// ignored.
        avoid_fading: Option<Duration> as OrNone<Time> = None;
        /// Hello messages (RFC 3561 §6.9): `{ interval = "1 s", allowed_loss = 2 }`, or `"none"`.
        hello: Option<HelloConfig> as OrNone<Hello> [
            inside(),
            says("`\"none\"`, or `{ interval = \"1 s\", allowed_loss = 2 }` over TDMA, which reports no link failures")
        ] = None;
        /// A data packet that the MAC drops after its last retry counts as a link failure (RFC 3561
        /// §6.10).
        link_layer_detection: bool = true;
        /// A route reply that the MAC drops after its last retry counts as a link failure (RFC 3561
        /// §6.10); false: only data packets count, as in ns-2.35.
        control_detection: bool = true => false,
            "§6.10: every frame that the link layer drops after its last retry is a link failure.",
            "Data packets only; a failed reply is dropped.";
        /// Lifetimes in route replies of intermediate nodes are rounded down to whole seconds, as in
        /// ns-2.35; false: they are in milliseconds (RFC 3561 §5.2).
        whole_seconds: bool = false => true,
            "§5.2: lifetimes are in milliseconds.",
            "A reply of an intermediate node has its lifetime in whole seconds, rounded down.";
        /// A node with a route under local repair replies to route requests with it, as in ns-2.35;
        /// false: the route is invalid (RFC 3561 §6.12).
        repairing_is_valid: bool = false => true,
            "§6.12: a route under repair is invalid.",
            "It is used to reply to requests.";
        /// An intermediate node also replies to a neighbour that is its own next hop to the
        /// destination, as in ns-2.35.
        answer_next_hop: bool = false => true,
            "§6.6 does not forbid it; not done here.",
            "A neighbour that requests a destination is sent a route through itself.";
        /// A node's own sequence number is always even and grows by two, as in ns-2.35; false: it grows
        /// by one (RFC 3561 §6.1).
        even_numbers: bool = false => true,
            "§6.1: a node's sequence number grows by one with a request; a reply adopts that in \
             the request.",
            "Sequence numbers grow by two with requests, replies and lost neighbours, and are \
             even.";
        /// AODV messages are UDP datagrams to port 654 (RFC 3561 §2); false: they have no UDP header,
        /// as in ns-2.35.
        udp: bool = true => false,
            "§2: messages are UDP datagrams to port 654.",
            "They have no UDP header.";
        /// Route requests and replies carry a 4-byte timestamp, from which the originator measures the
        /// time per hop, as in ns-2.35.
        timestamps: bool = false => true,
            "§5 has no such field.",
            "Requests and replies have a timestamp of 4 bytes, from which the originator measures \
             the time per hop.";
        /// Maximum number of entries in a node's routing table.
        table_size: usize [range("the number of routes", 1..=1_000_000)] = 4096;
    } } };
}

aodv_options! { configuration! {
    /// AODV's constants and options.
    #[derive(Eq)]
    pub struct AodvConfig {
        /// RFC 3561 §10.
        STANDARD,
        /// ns-2.35 (its file aodv/aodv.cc) as compiled by default: link-layer detection and local repair, no hello.
        NS2,
    }
} }

/// Passes the options of AODV's hello messages to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! hello_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Time between two hello messages (HELLO_INTERVAL, RFC 3561 §10).
        interval: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Duration::from_secs(1);
        /// Number of hello messages that may be lost before the neighbour is considered unreachable
        /// (ALLOWED_HELLO_LOSS, RFC 3561 §10).
        allowed_loss: u8 = 2;
    } } };
}

hello_options! { configuration! {
    /// Hello messages (RFC 3561 §6.9).
    #[derive(Eq)]
    pub struct HelloConfig {
        /// RFC 3561 §10.
        STANDARD,
    }
} }

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

impl HelloConfig {
    /// The silence after which a neighbour is considered lost.
    pub(super) const fn neighbour_timeout(self) -> Duration {
        self.interval.times(self.allowed_loss as u64)
    }
}

impl AodvConfig {
    /// NET_TRAVERSAL_TIME (RFC 3561 §10).
    pub(super) const fn net_traversal_time(&self) -> Duration {
        self.node_traversal_time.times(2 * self.net_diameter as u64)
    }
}
