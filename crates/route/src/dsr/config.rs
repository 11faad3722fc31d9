//! The configuration of DSR: the differences between the standard, ns-2.35 and the papers.

use driftway_base::{Duration, named};

use super::cache_descriptor::CacheLimits;
use super::caches::CacheKind;
use super::caching_rules::{CachePart, CachingRules};

/// DSR's constants and options, each with its value in RFC 4728 and in ns-2.35 (`dsr/dsragent.cc` and the
/// files around it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrConfig {
    /// Promiscuous receive mode. RFC 4728 §3.3.1: may. ns-2.35: yes.
    pub tap: bool,
    /// The route cache. RFC 4728 App. A recommends Link-MaxLife. ns-2.35 is built with paths (30 and 64)
    /// without a timeout.
    pub cache: CacheKind,
    /// The maximum number of nodes of a route, both ends included; a header has room for 17. RFC 4728 has no
    /// limit below 64 addresses. ns-2.35: 16.
    pub max_nodes: u8,
    /// The hop limit of a propagating request. RFC 4728 §9: 255. ns-2.35: the limit of 16 nodes ends a
    /// request before any hop limit.
    pub hop_limit: u8,
    /// The discoveries that start with a non-propagating request (RFC 4728 §3.3.3).
    pub ring_zero: NonPropagatingRequests,
    /// The timeout of such a request. Both: 30 ms.
    pub ring_zero_wait: Duration,
    /// The time from a request to the next one. RFC 4728 §9: 500 ms. ns-2.35: 2 s, because it multiplies its
    /// 500 ms before the first use.
    pub request_period: Duration,
    /// The factor of each further period. RFC 4728 §8.2.1: 2. ns-2.35: 4.
    pub request_backoff: u32,
    /// The longest period. Both: 10 s.
    pub request_period_max: Duration,
    /// The number of retries of a request before the buffered packets are dropped. RFC 4728 §9: 16. ns-2.35:
    /// unlimited; packets are dropped one by one at their timeout.
    pub request_retries: Option<u8>,
    /// The rule by which duplicates of a request are recognized.
    pub request_memory: RequestTablePolicy,
    /// Requests are ignored that arrive over a link whose expected lifetime, by the received power and its
    /// trend, is shorter than this, so that no route uses it (after dube-1997's signal stability). RFC 4728
    /// and ns-2.35: none are.
    pub avoid_fading: Option<Duration>,
    /// The time for which a neighbour that a reply did not reach is blacklisted: of its requests only those
    /// for this node itself are answered. RFC 4728 §4.6: required where the link layer needs bidirectional
    /// links; the time is open, here RFC 3561's BLACKLIST_TIMEOUT. ns-2.35: no blacklist (0).
    pub blacklist_timeout: Duration,
    /// The maximum random delay of broadcasts and of replies to them. Both: 10 ms.
    pub jitter: Duration,
    /// The target answers every copy of a request. RFC 4728 §8.2.4: should. ns-2.35: yes.
    pub answer_every_copy: bool,
    /// Replies from the cache to requests for another node. RFC 4728 §8.2.3: should. ns-2.35: yes.
    pub reply_from_cache: ReplyFromCache,
    /// Replies from the cache are jittered, too. RFC 4728 §8.2.4: should. ns-2.35: no.
    pub jitter_cached_replies: bool,
    /// Other contents of a request that is answered from the cache, such as an error, are forwarded to the
    /// target on the cached route. RFC 4728 §8.2.3: should. ns-2.35: they are discarded with the request.
    pub forward_answered: bool,
    /// H of RFC 4728 §8.2.5: a reply from the cache is delayed by H × (hops − 1 + r) and canceled if the
    /// initiator is heard to use a route at least as good. RFC 4728: may; here no. ns-2.35: no.
    pub reply_delay: Option<Duration>,
    /// A node that forwards a reply caches its route. RFC 4728 §8.1.4: should; yu-2004 §2.1: yes. ns-2.35:
    /// no, it learns the route from the first packet on it.
    pub cache_forwarded_replies: bool,
    /// The reverse route of a request is cached. RFC 4728 §8.1.4: should. ns-2.35: no.
    pub cache_requests: bool,
    /// Source routes of forwarded and overheard packets are cached. Both: yes.
    pub cache_source_routes: bool,
    /// Source routes of received packets are cached. RFC 4728 §8.1.4: should. ns-2.35: no.
    pub cache_received_routes: bool,
    /// The part of the cache for overheard replies, if there are two. yu-2004 §5.3.1 on the Monarch code: the
    /// primary. ns-2.35: the secondary.
    pub overheard_replies: CachePart,
    /// The part of the cache for source routes of packets. ns-2.35: the secondary.
    pub source_routes: CachePart,
    /// A learned link counts in both directions. RFC 4728 §3.3.1: where the link layer needs both. ns-2.35:
    /// no.
    pub learn_both_ways: bool,
    /// A failed link is removed in both directions. RFC 4728 §8.3.5 removes the direction that failed; where
    /// links are learned in both directions (§3.3.1), because a link is usable only if both work, both are
    /// removed: otherwise each packet heard from the other end adds it again, and salvaged packets oscillate.
    /// ns-2.35: one direction.
    pub forget_both_ways: bool,
    /// The capacity of the send buffer in packets; the oldest is evicted. RFC 4728 §4.2: open, 64 here.
    /// ns-2.35: 64.
    pub send_buffer: u16,
    /// The time limit in the send buffer. Both: 30 s.
    pub send_buffer_timeout: Duration,
    /// The interval of scans of the send buffer, plus a random time up to the same. RFC 4728: exact timers
    /// (`None`). ns-2.35: 30 ms, plus up to 30 ms.
    pub scan: Option<Duration>,
    /// Any new route releases the packets buffered for it. RFC 4728 §4.1: should. ns-2.35: only a reply, or
    /// the next scan.
    pub release_on_any_route: bool,
    /// The interval between packets that are released by a reply. RFC 4728: none. ns-2.35: 30 ms, because of
    /// ARP.
    pub release_spacing: Duration,
    /// The method to confirm that the next hop has received a packet. RFC 4728 §8.3: by the link layer if it
    /// can. ns-2.35: so.
    pub confirm: NextHopConfirmation,
    /// MaxMaintRexmt, for network-layer confirmation: the number of retransmissions of a packet before its
    /// link is considered broken. RFC 4728 §9: 2.
    pub max_maint_rexmt: u8,
    /// MaintHoldoffTime, for network-layer confirmation: the time for which a neighbour is considered
    /// reachable after a confirmation. RFC 4728 §9: 250 ms.
    pub maint_holdoff: Duration,
    /// TryPassiveAcks, for network-layer confirmation: the number of transmissions with passive
    /// acknowledgment, if the packet goes beyond the next hop, before an acknowledgment is requested. RFC
    /// 4728 §9: 1.
    pub try_passive_acks: u8,
    /// PassiveAckTimeout. RFC 4728 §9: 100 ms.
    pub passive_ack_timeout: Duration,
    /// A packet that meets a failed link is salvaged, if another route is known. RFC 4728 §3.4.1: should.
    /// ns-2.35: yes.
    pub salvage: bool,
    /// The maximum number of salvages of a packet. Both: 15.
    pub salvage_limit: u8,
    /// A forwarder without another route keeps the packet in its own send buffer, and may send this many
    /// non-propagating requests for it. RFC 4728 §8.3.6: none, the packet is lost; so yu-2004. ns-2.35: 1
    /// (`dsr_salvage_max_requests`).
    pub salvage_requests: u8,
    /// The rule for salvaging packets that carry a reply.
    pub salvage_replies: SalvageReplies,
    /// A failed link triggers one error to each source that has packets queued for it. RFC 4728 §3.4.2:
    /// should. ns-2.35: one, for the packet that failed.
    pub error_per_source: bool,
    /// The error is sent before the packet is salvaged. RFC 4728 §8.3.6: should. ns-2.35: after.
    pub error_first: bool,
    /// An error that fails, and is nested in the error about that, increments the salvage count, and is
    /// dropped at the salvage limit (total salvage count, RFC 4728 §6.4). ns-2.35: only the errors in the
    /// packet are counted, so that errors about errors multiply.
    pub count_errors: bool,
    /// An error about a packet that holds errors contains them (nested errors). RFC 4728 §8.3.4, ns-2.35:
    /// yes.
    pub nest_errors: bool,
    /// Explicit link failure notification: an error about a TCP data packet names it, whether it was salvaged
    /// or lost (yu-2004 §3.1). RFC 4728 and ns-2.35: no.
    pub elfn: bool,
    /// Early packet loss notification: errors name all data that is lost on the link, and nodes that have
    /// salvaged a packet relay them (yu-2004 §4). RFC 4728 and ns-2.35: no.
    pub epln: bool,
    /// Best-effort ACK delivery: errors name the acknowledgments that are lost on the link, and a node that
    /// receives them and has a cached route retransmits the last one (yu-2004 §4). RFC 4728 and ns-2.35: no.
    pub bead: bool,
    /// A packet lists the nodes that have salvaged it, and notifications of its loss are relayed from one to
    /// the next (yu-2004 §4.3.1, the extension). RFC 4728 and ns-2.35: no.
    pub relay_notices: bool,
    /// A node that forwards or overhears an error removes the link. Both: yes.
    pub snoop_errors: bool,
    /// The maximum age of the last received error that is piggybacked on the next request. RFC 4728 §3.4.4:
    /// unlimited. ns-2.35: 1 s.
    pub spread_error: Option<Duration>,
    /// Automatic route shortening: a node that overhears a packet which would reach it later sends the source
    /// the shorter route. Both: yes.
    pub shorten: Option<RouteShortening>,
    /// The hold-off time of such replies. Both: 1 s.
    pub shorten_holdoff: Duration,
    /// A packet to a neighbour carries a source route, too. RFC 4728 §8.1.1: not needed. ns-2.35: yes.
    pub route_to_neighbour: bool,
    /// Packet sizes are those of ns-2.35 (`dsr/hdr_sr.h`): a reply 5 bytes and all its nodes, a salvaged
    /// route without the option's own 4 bytes, errors about flows 14 or 12 bytes.
    pub ns2_sizes: bool,
    /// Additional bytes of each TCP packet. RFC 791: none. ns-2.35: 20, a second IP header.
    pub tcp_padding: i16,
    /// Packets of an established flow carry no source route (RFC 4728 §3.5, optional). ns-2.35: compiled in.
    pub flow_state: Option<FlowState>,
}

named! {
    /// The method to confirm that the next hop has received a packet.
    pub enum NextHopConfirmation {
        /// The link layer reports packets that were not acknowledged (RFC 4728 §8.3.1).
        LinkLayer = "link-layer",
        /// Passive acknowledgments (RFC 4728 §8.3.2) and requested acknowledgments (§8.3.3); reports of the link
        /// layer are ignored.
        NetworkLayer = "network-layer",
    }
}

named! {
    /// The discoveries that start with a non-propagating request.
    pub enum NonPropagatingRequests {
        /// No discovery.
        Never = "never",
        /// The first one for a target (RFC 4728 §3.3.3).
        First = "first",
        /// Each one (ns-2.35).
        Each = "each",
    }
}

/// The rule by which duplicates of a request are recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTablePolicy {
    /// The last 16 identifications of each of 64 nodes (RFC 4728 §4.3, §9).
    RecentIds {
        /// Nodes.
        nodes: u16,
        /// Identifications of each node, up to 16.
        ids: u8,
    },
    /// ns-2.35: the last identification of each of 128 nodes; one that is not higher is a duplicate.
    HighestId {
        /// Nodes.
        nodes: u16,
    },
}

named! {
    /// The requests that nodes answer from their caches.
    pub enum ReplyFromCache {
        /// None: only the target answers.
        Never = "never",
        /// Non-propagating requests.
        NonPropagating = "ring-zero",
        /// All requests.
        Always = "always",
    }
}

named! {
    /// The rule for salvaging packets that carry a reply.
    pub enum SalvageReplies {
        /// RFC 4728 §8.3.6: never, where the link layer needs bidirectional links.
        Never = "never",
        /// ns-2.35: unless the failed link is part of the reply's route.
        UnlessBroken = "unless-broken",
    }
}

named! {
    /// The rule that limits gratuitous replies.
    pub enum RouteShortening {
        /// RFC 4728 §4.4: per source and overheard sender.
        PerSender = "per-sender",
        /// ns-2.35: per route, for the last ten; since it stores the time in the next entry, a route triggers up
        /// to two replies.
        PerRoute = "per-route",
    }
}

/// Flow state (RFC 4728 §3.5). Every flow is meant as the default flow between its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// The lifetime of a flow after its last packet. ns-2.35: 60 s.
    pub timeout_s: u16,
    /// The number of packets that establish a flow. ns-2.35: 3.
    pub establish: u8,
    /// The interval after which the source route is sent again. ns-2.35: 5 s.
    pub refresh: Duration,
}

impl DsrConfig {
    /// Returns what caches read of it.
    pub(crate) const fn caching_rules(&self) -> CachingRules {
        CachingRules {
            learn_both_ways: self.learn_both_ways,
            forget_both_ways: self.forget_both_ways,
            max_nodes: self.max_nodes,
            cache_requests: self.cache_requests,
            cache_source_routes: self.cache_source_routes,
            cache_received_routes: self.cache_received_routes,
            cache_forwarded_replies: self.cache_forwarded_replies,
            overheard_replies: self.overheard_replies,
            source_routes: self.source_routes,
            route_to_neighbour: self.route_to_neighbour,
        }
    }

    /// RFC 4728.
    pub const STANDARD: Self = Self {
        tap: true,
        cache: CacheKind::LINK_MAX_LIFE,
        max_nodes: 17,
        hop_limit: 255,
        ring_zero: NonPropagatingRequests::First,
        ring_zero_wait: Duration::from_millis(30),
        request_period: Duration::from_millis(500),
        request_backoff: 2,
        request_period_max: Duration::from_secs(10),
        request_retries: Some(16),
        request_memory: RequestTablePolicy::RecentIds { nodes: 64, ids: 16 },
        avoid_fading: None,
        blacklist_timeout: Duration::from_millis(5600),
        jitter: Duration::from_millis(10),
        answer_every_copy: true,
        reply_from_cache: ReplyFromCache::Always,
        jitter_cached_replies: true,
        forward_answered: true,
        reply_delay: None,
        cache_forwarded_replies: true,
        cache_requests: true,
        cache_source_routes: true,
        cache_received_routes: true,
        overheard_replies: CachePart::Secondary,
        source_routes: CachePart::Secondary,
        learn_both_ways: true,
        forget_both_ways: true,
        send_buffer: 64,
        send_buffer_timeout: Duration::from_secs(30),
        scan: None,
        release_on_any_route: true,
        release_spacing: Duration::ZERO,
        confirm: NextHopConfirmation::LinkLayer,
        max_maint_rexmt: 2,
        maint_holdoff: Duration::from_millis(250),
        try_passive_acks: 1,
        passive_ack_timeout: Duration::from_millis(100),
        salvage: true,
        salvage_limit: 15,
        salvage_requests: 0,
        salvage_replies: SalvageReplies::Never,
        error_per_source: true,
        error_first: true,
        count_errors: true,
        nest_errors: true,
        elfn: false,
        epln: false,
        bead: false,
        relay_notices: false,
        snoop_errors: true,
        spread_error: Some(Duration::MAX),
        shorten: Some(RouteShortening::PerSender),
        shorten_holdoff: Duration::from_secs(1),
        route_to_neighbour: false,
        ns2_sizes: false,
        tcp_padding: 0,
        flow_state: None,
    };

    /// ns-2.35 as compiled by default.
    pub const NS2: Self = Self {
        cache: CacheKind::paths(CacheLimits { primary: 30, secondary: 64, timeout: None }),
        max_nodes: 16,
        ring_zero: NonPropagatingRequests::Each,
        request_period: Duration::from_secs(2),
        request_backoff: 4,
        request_retries: None,
        request_memory: RequestTablePolicy::HighestId { nodes: 128 },
        avoid_fading: None,
        blacklist_timeout: Duration::ZERO,
        jitter_cached_replies: false,
        forward_answered: false,
        cache_forwarded_replies: false,
        cache_requests: false,
        cache_received_routes: false,
        learn_both_ways: false,
        forget_both_ways: false,
        scan: Some(Duration::from_millis(30)),
        release_on_any_route: false,
        release_spacing: Duration::from_millis(30),
        salvage_requests: 1,
        salvage_replies: SalvageReplies::UnlessBroken,
        error_per_source: false,
        error_first: false,
        count_errors: false,
        spread_error: Some(Duration::from_secs(1)),
        shorten: Some(RouteShortening::PerRoute),
        route_to_neighbour: true,
        ns2_sizes: true,
        tcp_padding: 20,
        flow_state: Some(FlowState {
            timeout_s: 60,
            establish: 3,
            refresh: Duration::from_secs(5),
        }),
        ..Self::STANDARD
    };
}

impl Default for DsrConfig {
    fn default() -> Self {
        Self::STANDARD
    }
}
