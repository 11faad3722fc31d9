//! The configuration of DSR: the differences between the standard, ns-2.35 and the papers.

use driftway_base::{Duration, configuration, named};

use super::cache_descriptor::CacheLimits;
use super::caches::CacheKind;
use super::caching_rules::{CachePart, CachingRules};

/// Passes the options of DSR to a macro, after what it is given: see [`configuration!`](driftway_base::configuration).
#[macro_export]
macro_rules! dsr_options {
    ($table:ident! { $($head:tt)* }) => { $table! { $($head)* options {
        /// Promiscuous mode: nodes process frames addressed to other nodes (RFC 4728 §3.3.1).
        promiscuous: bool = true;
        /// Route cache, by its name: `"link-max-life"` (the link cache that RFC 4728 appendix A
        /// recommends; at most 256 nodes and 1024 directed links, of which the quarter with the
        /// shortest remaining lifetimes is evicted when it is full);
        /// `{ paths = { primary = 30, secondary = 64, timeout = "300 s" } }` (path caches); or
        /// `"update"` (DSR-Update, yu-2004 §2.2), optionally with options,
        /// `{ update = { truncate = true } }`.
        cache: CacheKind as DsrCache [inside()] = CacheKind::LINK_MAX_LIFE
            => CacheKind::paths(CacheLimits { primary: 30, secondary: 64, timeout: None }),
            "Appendix A recommends a link cache, Link-MaxLife.",
            "A path cache (dsr/mobicache.cc) with 30 and 64 paths, which are kept until they \
             break.";
        /// Maximum number of nodes in a route, both ends included; route requests for targets further
        /// away are dropped as `route-too-long`.
        max_nodes: u8 [range("the number of nodes", 2..=17)] = 17 => 16,
            "Limited only by the size of an option, about sixty nodes; here lists have a fixed \
             size.",
            "MAX_SR_LEN 16.";
        /// Hop limit of a propagating route request (DiscoveryHopLimit, RFC 4728 §9).
        hop_limit: u8 [range("a hop limit of", 1..=255)] = 255;
        /// Searches that begin with a non-propagating route request, which is not forwarded (RFC 4728
        /// §3.3.3): `"never"`, `"first"` (the first search for a target) or `"each"` (as in ns-2.35).
        ring_zero: NonPropagatingRequests as Keyword<NonPropagatingRequests> = NonPropagatingRequests::First
            => NonPropagatingRequests::Each,
            "§3.3.3: the first request for a target may be non-propagating.",
            "Each search begins with a non-propagating request.";
        /// Time for which replies to a non-propagating request are awaited (NonpropRequestTimeout, RFC
        /// 4728 §9).
        ring_zero_wait: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)]
            = Duration::from_millis(30);
        /// Time between the first two propagating requests of a search (RequestPeriod, RFC 4728 §9).
        request_period: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(500)
            => Duration::from_secs(2),
            "§9: RequestPeriod 500 ms.",
            "2 s: its 500 ms are multiplied before their first use.";
        /// Factor by which the period grows from one request of a search to the next (RFC 4728 §8.2.1).
        request_backoff: u32 [range("a factor of", 1..=1000)] = 2 => 4,
            "§8.2.1: the period doubles.",
            "It is multiplied by four.";
        /// Maximum period between two requests of a search (MaxRequestPeriod, RFC 4728 §9).
        request_period_max: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)]
            = Duration::from_secs(10);
        /// Maximum number of retransmissions of a route request, after which the packets waiting for
        /// the route are dropped (MaxRequestRexmt, RFC 4728 §9); `"none"`: unlimited.
        request_retries: Option<u8> as OrNone<u8> = Some(16) => None,
            "§9: MaxRequestRexmt 16.",
            "Unlimited; packets that wait too long are dropped one by one.";
        /// Detection of duplicate route requests (Route Request Table, RFC 4728 §4.3):
        /// `{ numbers = { nodes = 64, numbers = 16 } }`, the latest identifications of each node, or
        /// `{ highest = { nodes = 128 } }`, only the highest one of each node, as in ns-2.35.
        request_memory: RequestTablePolicy as RequestTableKind [inside()] = RequestTablePolicy::RecentIds { nodes: 64, ids: 16 }
            => RequestTablePolicy::HighestId { nodes: 128 },
            "§4.3, §9: RequestTableIds 16 for each of RequestTableSize 64 nodes.",
            "The highest identification of each of 128 nodes (dsr/requesttable.cc).";
        /// Ignores route requests that arrive over a link which, by the received power and its trend,
        /// breaks within this time (after the signal stability of dube-1997); `"none"`: none are
        /// ignored.
        avoid_fading: Option<Duration> as OrNone<Time> = None;
        /// Time for which a neighbour to which a route reply could not be delivered stays on the
        /// blacklist (RFC 4728 §4.6): its route requests are answered by their target only, and not
        /// forwarded; 0 s: no blacklist. RFC 4728 leaves the time open.
        blacklist_timeout: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(5600)
            => Duration::ZERO,
            "§4.6: a neighbour that a reply did not reach is blacklisted; the time is not \
             specified.",
            "No blacklist.";
        /// Maximum random delay of a broadcast and of a reply to one (BroadcastJitter, RFC 4728 §9).
        jitter: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(10);
        /// The target replies to every copy of a route request (RFC 4728 §8.2.4).
        answer_every_copy: bool = true;
        /// Replies of nodes other than the target from their route caches (RFC 4728 §8.2.3): `"never"`,
        /// `"ring-zero"` (to non-propagating requests only) or `"always"`.
        reply_from_cache: ReplyFromCache as Keyword<ReplyFromCache> = ReplyFromCache::Always;
        /// Replies from a route cache are delayed by `network.routing.jitter` as well (RFC 4728
        /// §8.2.4).
        jitter_cached_replies: bool = true => false,
            "§8.2.4: a reply is delayed by BroadcastJitter.",
            "A reply from the cache is sent at once.";
        /// Other options in a route request that is answered from a route cache, such as a route error,
        /// are forwarded to the target along the cached route (RFC 4728 §8.2.3).
        forward_answered: bool = true => false,
            "§8.2.3: other options in a request that is answered from a cache are forwarded to \
             the target.",
            "They are discarded with the request (`replyFromRouteCache`).";
        /// H of RFC 4728 §8.2.5: a reply from a route cache is delayed by H × (hops − 1 + r), with r
        /// random in 0 to 1, and suppressed if the initiator is overheard using a route that is as
        /// short; `"none"`: no delay.
        reply_delay: Option<Duration> as OrNone<Time> [at_most(MAX_PROTOCOL_TIME)] = None;
        /// A node that forwards a route reply caches its route (RFC 4728 §8.1.4).
        cache_forwarded_replies: bool = true => false,
            "§8.1.4: a node that forwards a reply should cache its route.",
            "It learns the route from the first packet that uses it.";
        /// A node that receives a route request caches the accumulated route (RFC 4728 §8.1.4).
        cache_requests: bool = true => false,
            "§8.1.4: the accumulated route of a request may be cached.",
            "It is not cached.";
        /// A node caches the source routes of the packets that it forwards or overhears (RFC 4728
        /// §8.1.4).
        cache_source_routes: bool = true;
        /// A node caches the source routes of the packets that are addressed to it (RFC 4728 §8.1.4).
        cache_received_routes: bool = true => false,
            "§8.1.4: the source route of a received packet may be cached.",
            "Only of those forwarded or overheard.";
        /// Path cache in which routes of overheard replies are stored: `"primary"` or `"secondary"`.
        /// Only with `network.routing.cache = { paths = … }`.
        overheard_replies: CachePart as Keyword<CachePart> = CachePart::Secondary;
        /// Path cache in which source routes of packets are stored: `"primary"` or `"secondary"`. Only
        /// with `network.routing.cache = { paths = … }`.
        source_routes: CachePart as Keyword<CachePart> = CachePart::Secondary;
        /// A cached link is cached in both directions, because the MAC requires bidirectional links
        /// (RFC 4728 §3.3.1).
        learn_both_ways: bool = true => false,
            "§3.3.1: where the MAC requires bidirectional links, links are cached in both \
             directions.",
            "In one direction.";
        /// A failed link is removed from the cache in both directions (RFC 4728 §8.3.5 names the failed
        /// direction).
        forget_both_ways: bool = true => false,
            "§8.3.5: the failed direction; here the other one too, because both are cached \
             together.",
            "In one direction.";
        /// Maximum number of packets in a node's Send Buffer, which wait for a route (RFC 4728 §4.2);
        /// the oldest is dropped when it is exceeded.
        send_buffer: u16 [range("the number of packets", 1..=65_535)] = 64;
        /// Maximum time for which a packet waits in the Send Buffer (SendBufferTimeout, RFC 4728 §9).
        send_buffer_timeout: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)]
            = Duration::from_secs(30);
        /// Period with which the Send Buffer is scanned; each period lies at random between this time
        /// and twice this time, as in ns-2.35; `"none"`: timers are exact.
        scan: Option<Duration> as OrNone<Time> [positive(), at_most(MAX_PROTOCOL_TIME)] = None
            => Some(Duration::from_millis(30)),
            "Timers are exact.",
            "The send buffer is scanned every 30 to 60 ms (`BUFFER_CHECK`).";
        /// Every route added to the cache releases the packets waiting for it (RFC 4728 §4.1); false:
        /// only a route reply or the next scan of the Send Buffer does, as in ns-2.35.
        release_on_any_route: bool = true => false,
            "§4.1: every route added to the cache releases the packets waiting for it.",
            "Only a reply or the next scan of the buffer does.";
        /// Interval between the packets that a route reply releases; 0 s: all are sent at once.
        release_spacing: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::ZERO
            => Duration::from_millis(30),
            "Packets released by a reply are sent at once.",
            "One packet every 30 ms, for the sake of ARP.";
        /// Confirmation that the next hop has received a packet: `"link-layer"`, the failure reports of
        /// the MAC (RFC 4728 §8.3.1), or `"network-layer"`, passive acknowledgments and acknowledgment
        /// requests (RFC 4728 §8.3.2, §8.3.3), which also works over TDMA. With `"network-layer"` the
        /// failure reports of the MAC are ignored, and `network.routing.flow_state` is not available.
        confirm: NextHopConfirmation as Keyword<NextHopConfirmation>
            = NextHopConfirmation::LinkLayer;
        /// Maximum number of retransmissions of an unconfirmed packet before its link counts as broken
        /// (MaxMaintRexmt, RFC 4728 §9). Only with `network.routing.confirm = "network-layer"`.
        max_maint_rexmt: u8 = 2;
        /// Time after a confirmation during which the same neighbour is not asked to acknowledge
        /// further packets (MaintHoldoffTime, RFC 4728 §9); a packet that is lost in this time is not
        /// retransmitted. Only with `network.routing.confirm = "network-layer"`.
        maint_holdoff: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::from_millis(250);
        /// Number of times that a packet which travels beyond the next hop is sent with passive
        /// acknowledgment before an acknowledgment is requested (TryPassiveAcks, RFC 4728 §9); 0:
        /// acknowledgments are always requested. Needs `promiscuous`. Only with
        /// `network.routing.confirm = "network-layer"`.
        try_passive_acks: u8 = 1;
        /// Time for which a passive acknowledgment is awaited (PassiveAckTimeout, RFC 4728 §9). Only
        /// with `network.routing.confirm = "network-layer"`.
        passive_ack_timeout: Duration as Time [positive(), at_most(MAX_PROTOCOL_TIME)]
            = Duration::from_millis(100);
        /// Packet salvaging (RFC 4728 §3.4.1): a packet whose next link has failed is sent along
        /// another cached route.
        salvage: bool = true;
        /// Maximum number of times that one packet is salvaged (MAX_SALVAGE_COUNT, RFC 4728 §9).
        salvage_limit: u8 [range("the number of times", 0..=15)] = 15;
        /// Number of non-propagating requests that a forwarding node sends for a packet which it cannot
        /// salvage and keeps in its Send Buffer meanwhile, as in ns-2.35; 0: the packet is dropped (RFC
        /// 4728 §8.3.6).
        salvage_requests: u8 = 0 => 1,
            "§8.3.6: a packet that cannot be salvaged is dropped.",
            "A forwarding node keeps it in its own send buffer, and sends a non-propagating \
             request (`dsr_salvage_max_requests`).";
        /// Salvaging of packets that carry a route reply: `"never"` (RFC 4728 §8.3.6) or
        /// `"unless-broken"`, unless the failed link is part of the replied route, as in ns-2.35.
        salvage_replies: SalvageReplies as Keyword<SalvageReplies> = SalvageReplies::Never
            => SalvageReplies::UnlessBroken,
            "§8.3.6: a reply is not salvaged where the MAC requires bidirectional links.",
            "It is, unless the failed link is part of the reply (`dont_salvage_bad_replies`).";
        /// Each source with packets queued for a failed link is sent a route error (RFC 4728 §3.4.2);
        /// false: only the source of the packet that failed.
        error_per_source: bool = true => false,
            "§3.4.2: each source with packets queued for a failed link is sent an error.",
            "One error, for the packet that failed.";
        /// The route error is sent before the packet is salvaged (RFC 4728 §8.3.6); false: after.
        error_first: bool = true => false,
            "§8.3.6: the error is sent before the packet is salvaged.",
            "After.";
        /// A route error that itself fails counts as salvaged once more, and is dropped when the
        /// salvage count reaches its maximum (total salvage count, RFC 4728 §6.4).
        count_errors: bool = true => false,
            "§6.4: an error that fails counts as salvaged once more (total salvage count).",
            "Nested errors multiply, up to storms of hundreds of packets per second.";
        /// A route error about a packet that contains route errors carries them along (RFC 4728
        /// §8.3.4).
        nest_errors: bool = true;
        /// Explicit link failure notification (ELFN, yu-2004 §3.1): a route error about a TCP data
        /// segment identifies the segment, whether it was salvaged or lost. The aid `"elfn"` defines
        /// the sender's reaction.
        elfn: bool = false;
        /// Early packet loss notification (EPLN, yu-2004 §4): route errors identify all data packets
        /// that were lost on the link, and a node that salvaged a packet relays them to the packet's
        /// source. The aid `"epln"` defines the sender's reaction.
        epln: bool = false;
        /// Best-effort ACK delivery (BEAD, yu-2004 §4): route errors identify the TCP acknowledgments
        /// that were lost on the link; a node that is notified and has a cached route retransmits the
        /// latest one.
        bead: bool = false;
        /// A packet lists the nodes that have salvaged it, and loss notifications travel back from one
        /// to the next (the extension of yu-2004 §4.3.1).
        relay_notices: bool = false;
        /// Nodes that forward or overhear a route error remove its link from their caches.
        snoop_errors: bool = true;
        /// Maximum age of the last received route error that a node piggybacks on its next route
        /// request (RFC 4728 §3.4.4), or `"forever"`; `"none"`: none is piggybacked.
        spread_error: Option<Duration> as OrNone<Lifetime> = Some(Duration::MAX)
            => Some(Duration::from_secs(1)),
            "§3.4.4: the last error is piggybacked on the next request.",
            "Only if it is younger than 1 s.";
        /// Automatic route shortening (RFC 4728 §3.4.3): a node that overhears a packet which lists it
        /// further along the route sends the source a gratuitous reply. Repetitions are suppressed
        /// `"per-sender"` (by source and overheard node, RFC 4728 §4.4) or `"per-route"` (as in
        /// ns-2.35); `"none"`: no shortening.
        shorten: Option<RouteShortening> as OrNone<Keyword<RouteShortening>> = Some(RouteShortening::PerSender)
            => Some(RouteShortening::PerRoute),
            "§4.4: a gratuitous reply is not repeated for GratReplyHoldoff, per source and \
             overheard node.",
            "Per route, for the last ten routes; because the time is stored with the wrong entry, \
             a route triggers up to two replies.";
        /// Time for which a gratuitous reply is not repeated (GratReplyHoldoff, RFC 4728 §9).
        shorten_holdoff: Duration as Time [at_most(MAX_PROTOCOL_TIME)] = Duration::from_secs(1);
        /// Packets to a neighbour carry a source route too, as in ns-2.35; false: they need none (RFC
        /// 4728 §8.1.1).
        route_to_neighbour: bool = false => true,
            "§8.1.1: a packet to a neighbour needs no source route.",
            "It carries one.";
        /// DSR options have the sizes that ns-2.35 counts (dsr/hdr_sr.h); false: those of RFC 4728 §6.
        ns2_sizes: bool = false => true,
            "§6: the sizes of the options.",
            "`dsr/hdr_sr.h` counts a reply with 5 bytes and all its nodes, a salvaged route \
             without the option's own 4 bytes, errors about flows with 14 or 12 bytes; a node that \
             forwards a request adds its header without removing the old one \
             (`handleRouteRequest`).";
        /// Bytes added to each TCP packet; ns-2.35 counts a second IP header of 20 bytes.
        tcp_padding: i16 = 0 => 20,
            "RFC 791: one IP header.",
            "A TCP packet, whose IP header is already counted, gets another one: 20 bytes more \
             (also with DSDV, but not with AODV).";
        /// Flow state extension (RFC 4728 §3.5): packets of an established flow carry no source route.
        /// `{ timeout = "60 s", establish = 3, refresh = "5 s" }`, or `"none"`. Needs
        /// `network.routing.confirm = "link-layer"`.
        flow_state: Option<FlowState> as OrNone<FlowState> [inside()] = None
            => Some(FlowState { timeout_s: 60, establish: 3, refresh: Duration::from_secs(5), }),
            "§3.5 is optional.",
            "Compiled in (`dsragent_enable_flowstate`): most data packets carry no source route.";
    } } };
}

dsr_options! { configuration! {
    /// DSR's constants and options.
    #[derive(Eq)]
    pub struct DsrConfig {
        /// RFC 4728.
        STANDARD,
        /// ns-2.35 (`dsr/dsragent.cc` and the files around it) as compiled by default.
        NS2,
    }
} }

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
}
