//! What the standard, ns-2.35 and the papers do differently.

use driftway_base::Duration;

use super::caches::{CacheKind, CacheLimits};

/// How a node does DSR. Each field says what RFC 4728 asks for and what ns-2.35 does (its
/// `dsr/dsragent.cc` and what belongs to it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DsrConfig {
    /// Listens to what is sent to others. RFC 4728 §3.3.1: may. ns-2.35: does.
    pub tap: bool,
    /// What routes are kept in. RFC 4728 App. A recommends Link-MaxLife. ns-2.35 is built with paths
    /// (30 and 64) without a timeout.
    pub cache: CacheKind,
    /// The most nodes of a route, both ends included; 17 is what fits. RFC 4728 knows no limit
    /// below 64 addresses. ns-2.35: 16.
    pub max_nodes: u8,
    /// The hop limit of a propagating request. RFC 4728 §9: 255. ns-2.35: its 16 nodes end a request
    /// before any hop limit.
    pub hop_limit: u8,
    /// Which searches begin with a request that nobody forwards.
    pub ring_zero: NonPropagatingRequests,
    /// How long an answer to such a request is waited for. Both: 30 ms.
    pub ring_zero_wait: Duration,
    /// What passes between a request and the next one. RFC 4728 §9: 500 ms. ns-2.35: 2 s, because
    /// it multiplies its 500 ms before it first uses them.
    pub request_period: Duration,
    /// What each further period is multiplied with. RFC 4728 §8.2.1: 2. ns-2.35: 4.
    pub request_backoff: u32,
    /// The longest period. Both: 10 s.
    pub request_period_max: Duration,
    /// How often a request is sent again before what waits is given up. RFC 4728 §9: 16. ns-2.35: no
    /// limit; what waits for too long goes, one by one.
    pub request_retries: Option<u8>,
    /// By what a request is known to have been here before.
    pub request_memory: RequestTablePolicy,
    /// Requests are ignored that come over a link whose end, by the received power and its trend, is
    /// nearer than this: no route is found over it (after dube-1997's signal stability). The standard
    /// and ns-2.35: none are.
    pub avoid_fading: Option<Duration>,
    /// For how long a neighbour that a reply did not reach is on the blacklist: of its requests only
    /// those for this node itself are answered. RFC 4728 §4.6: must, where the link layer needs links
    /// both ways; for how long is open, here as long as RFC 3561's BLACKLIST_TIMEOUT. ns-2.35: none
    /// (0).
    pub blacklist_timeout: Duration,
    /// A broadcast, and what answers one, is put off by up to this. Both: 10 ms.
    pub jitter: Duration,
    /// The target answers every copy of a request. RFC 4728 §8.2.4: should. ns-2.35: does.
    pub answer_every_copy: bool,
    /// Who answers a request for another node from its cache. RFC 4728 §8.2.3: should. ns-2.35: does.
    pub reply_from_cache: ReplyFromCache,
    /// An answer from a cache is put off by the jitter, too. RFC 4728 §8.2.4: should. ns-2.35: no.
    pub jitter_cached_replies: bool,
    /// What else is in a request that is answered from the cache, such as an error, goes on to the
    /// target by the cached route. RFC 4728 §8.2.3: should. ns-2.35: it ends with the request.
    pub forward_answered: bool,
    /// H of RFC 4728 §8.2.5: an answer from a cache waits H × (hops − 1 + r) and is not sent if the
    /// initiator is heard to use a route as good. RFC 4728: may; here no. ns-2.35: no.
    pub reply_delay: Option<Duration>,
    /// Who forwards a reply keeps what it says. RFC 4728 §8.1.4: should; yu-2004 §2.1: does.
    /// ns-2.35: no, it learns of the route from the first packet that takes it.
    pub cache_forwarded_replies: bool,
    /// The way that a request has come is kept. RFC 4728 §8.1.4: should. ns-2.35: no.
    pub cache_requests: bool,
    /// Source routes of what is forwarded or overheard are kept. Both: yes.
    pub cache_source_routes: bool,
    /// So are those of what is received. RFC 4728 §8.1.4: should. ns-2.35: no.
    pub cache_received_routes: bool,
    /// Where overheard replies go, if there are two parts. yu-2004 §5.3.1 says of the Monarch code:
    /// the primary. ns-2.35: the secondary.
    pub overheard_replies: CachePart,
    /// Where source routes of packets go. ns-2.35: the secondary.
    pub source_routes: CachePart,
    /// What is learned of a link is learned of both its directions. RFC 4728 §3.3.1: where the link
    /// layer needs both. ns-2.35: no.
    pub learn_both_ways: bool,
    /// A link that fails is forgotten in both directions. RFC 4728 §8.3.5 speaks of the one that has
    /// failed; where a link is learned of both ways (§3.3.1), because it is of use only if it carries
    /// both, it is gone both ways, too: else each packet heard from over there brings it back, and
    /// what is salvaged goes to and fro. ns-2.35: in one.
    pub forget_both_ways: bool,
    /// The most packets that wait for a route; the oldest makes room. RFC 4728 §4.2: open, 64 here.
    /// ns-2.35: 64.
    pub send_buffer: u16,
    /// How long one waits. Both: 30 s.
    pub send_buffer_timeout: Duration,
    /// What waits is looked at after this and up to this more. RFC 4728: there are exact timers.
    /// ns-2.35: 30 ms and up to 30 ms more, again and again.
    pub scan: Option<Duration>,
    /// Any new route frees what waits for it. RFC 4728 §4.1: should. ns-2.35: only a reply, or the
    /// next look.
    pub release_on_any_route: bool,
    /// Packets set free by a reply follow each other after this. RFC 4728: no. ns-2.35: 30 ms,
    /// which its ARP needs.
    pub release_spacing: Duration,
    /// How a node comes to know that its next hop has got a packet. RFC 4728 §8.3: by the link layer
    /// where that can say. ns-2.35: so.
    pub confirm: NextHopConfirmation,
    /// By the network layer: how often a packet is sent again before its link counts as broken.
    /// RFC 4728 §9: 2 (MaxMaintRexmt).
    pub max_maint_rexmt: u8,
    /// By the network layer: for how long a neighbour that has confirmed something is taken to be
    /// there. RFC 4728 §9: 250 ms (MaintHoldoffTime).
    pub maint_holdoff: Duration,
    /// By the network layer: how often a packet is sent and listened for, if it goes farther than the
    /// next hop, before an acknowledgment is asked for. RFC 4728 §9: 1 (TryPassiveAcks).
    pub try_passive_acks: u8,
    /// For how long it is listened for. RFC 4728 §9: 100 ms (PassiveAckTimeout).
    pub passive_ack_timeout: Duration,
    /// A packet over a failed link is sent another way, if one is known. RFC 4728 §3.4.1: should.
    /// ns-2.35: does.
    pub salvage: bool,
    /// How often. Both: 15.
    pub salvage_limit: u8,
    /// A forwarder that knows no other way keeps the packet in its own send buffer, and may send
    /// this many requests for it, which nobody forwards. RFC 4728 §8.3.6: none, the packet is lost;
    /// so yu-2004. ns-2.35: 1 (`dsr_salvage_max_requests`).
    pub salvage_requests: u8,
    /// When a packet with a reply is salvaged.
    pub salvage_replies: SalvageReplies,
    /// A failed link draws one error to each source that has packets queued for it. RFC 4728
    /// §3.4.2: should. ns-2.35: one, for the packet that failed.
    pub error_per_source: bool,
    /// The error goes out before the packet is salvaged. RFC 4728 §8.3.6: should. ns-2.35: after.
    pub error_first: bool,
    /// An error that fails, and goes on inside of the one that says so, counts as salvaged once more,
    /// and ends when it has been salvaged as often as may be. RFC 4728 §6.4: so (the total salvage
    /// count). ns-2.35: only the errors that are in a packet now are counted, so that errors about
    /// errors multiply.
    pub count_errors: bool,
    /// An error about a packet that holds errors takes them along. RFC 4728 §8.3.4: does. ns-2.35:
    /// does.
    pub nest_errors: bool,
    /// Explicit link failure notification: an error about a packet of TCP's data names it, whether it
    /// was salvaged or lost (yu-2004 §3.1). RFC 4728 and ns-2.35: no.
    pub elfn: bool,
    /// Early packet loss notification: errors name all data that is lost on the link, and who has
    /// salvaged a packet passes them on (yu-2004 §4). RFC 4728 and ns-2.35: no.
    pub epln: bool,
    /// Best-effort ACK delivery: errors name the acknowledgments that are lost on the link, and who
    /// hears of them and has a cached route sends the last one again (yu-2004 §4). RFC 4728 and ns-2.35:
    /// no.
    pub bead: bool,
    /// A packet lists the nodes that have salvaged it, and notices of its loss go back from one to the
    /// next (yu-2004 §4.3.1, the extension). RFC 4728 and ns-2.35: no.
    pub relay_notices: bool,
    /// Who forwards or overhears an error believes it. Both: yes.
    pub snoop_errors: bool,
    /// The last error to reach this node rides on its next request, if it is no older. RFC 4728
    /// §3.4.4: always. ns-2.35: for 1 s.
    pub spread_error: Option<Duration>,
    /// A node that overhears a packet which would reach it later tells the source of the shorter
    /// way. Both: yes.
    pub shorten: Option<RouteShortening>,
    /// For how long it does not do so again. Both: 1 s.
    pub shorten_holdoff: Duration,
    /// A packet to a neighbour carries a source route, too. RFC 4728 §8.1.1: needs none. ns-2.35:
    /// does.
    pub route_to_neighbour: bool,
    /// Sizes are those that ns-2.35 counts (`dsr/hdr_sr.h`): a reply 5 bytes and all its nodes, a
    /// salvaged route without the option's own 4 bytes, errors about flows 14 or 12 bytes.
    pub ns2_sizes: bool,
    /// Bytes more for each TCP packet. RFC 791: none. ns-2.35: 20, a second IP header.
    pub tcp_padding: i16,
    /// Packets of an established flow carry no source route (RFC 4728 §3.5, which is optional).
    /// ns-2.35: compiled in.
    pub flow_state: Option<FlowState>,
}

/// How a node comes to know that its next hop has got a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHopConfirmation {
    /// RFC 4728 §8.3.1: the link layer says what it could not carry.
    LinkLayer,
    /// RFC 4728 §8.3.2, §8.3.3: the neighbour is heard to forward it, or asked to acknowledge it; what
    /// the link layer says is not heard.
    NetworkLayer,
}

/// A part of a path cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePart {
    /// For what was asked for.
    Primary,
    /// For what was seen.
    Secondary,
}

/// Which searches begin with a request of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonPropagatingRequests {
    /// None.
    Never,
    /// RFC 4728 §3.3.3: the first for a target.
    First,
    /// ns-2.35: each.
    Each,
}

/// By what a request is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTablePolicy {
    /// RFC 4728 §4.3, §9: the last 16 numbers of each of 64 nodes.
    RecentIds {
        /// Nodes.
        nodes: u16,
        /// Numbers of each, up to 16.
        ids: u8,
    },
    /// ns-2.35: the number of each of 128 nodes that came last; what is not higher was here.
    HighestId {
        /// Nodes.
        nodes: u16,
    },
}

/// Who answers from its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyFromCache {
    /// Only the target answers.
    Never,
    /// Requests that are not forwarded are answered by whoever can.
    NonPropagating,
    /// All requests are.
    Always,
}

/// When a packet with a reply is salvaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SalvageReplies {
    /// RFC 4728 §8.3.6: not, where the link layer needs links both ways.
    Never,
    /// ns-2.35: unless the link that failed is one of the reply's.
    UnlessBroken,
}

/// By what it is known that a source has been told of a shorter way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteShortening {
    /// RFC 4728 §4.4: by the source, and by who was overheard.
    PerSender,
    /// ns-2.35: by the whole route, the last ten of them; and because it notes the time beside the
    /// next entry, a route draws up to two replies.
    PerRoute,
}

/// RFC 4728 §3.5. Every flow is meant as the default one between its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// How long a flow lives after its last packet. ns-2.35: 60 s.
    pub timeout_s: u16,
    /// How many packets establish it. ns-2.35: 3.
    pub establish: u8,
    /// After this its source route is sent again. ns-2.35: 5 s.
    pub refresh: Duration,
}

impl DsrConfig {
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

    /// ns-2.35 as it is built.
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
