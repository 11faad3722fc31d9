//! Deviations of DSR in ns-2.35 (dsr/dsragent.cc and related files) from RFC 4728.

use super::deviation::{Deviation, DeviationScope};

const fn key(
    key: &'static str,
    [standard, ns2]: [&'static str; 2],
    standard_says: &'static str,
    ns2_does: &'static str,
) -> Deviation {
    Deviation { key, scope: DeviationScope::Dsr, standard, ns2, standard_says, ns2_does }
}

pub(super) const DSR: &[Deviation] = &[
    key(
        "routing.cache",
        [
            r#""link-max-life""#,
            r#"{ paths = { primary = 30, secondary = 64, timeout = "forever" } }"#,
        ],
        "Appendix A recommends a link cache, Link-MaxLife.",
        "A path cache (dsr/mobicache.cc) with 30 and 64 paths, which are kept until they break.",
    ),
    key(
        "routing.max_nodes",
        ["17", "16"],
        "Limited only by the size of an option, about sixty nodes; here lists have a fixed size.",
        "MAX_SR_LEN 16.",
    ),
    key(
        "routing.ring_zero",
        [r#""first""#, r#""each""#],
        "§3.3.3: the first request for a target may be non-propagating.",
        "Each search begins with a non-propagating request.",
    ),
    key(
        "routing.request_period",
        [r#""500 ms""#, r#""2 s""#],
        "§9: RequestPeriod 500 ms.",
        "2 s: its 500 ms are multiplied before their first use.",
    ),
    key(
        "routing.request_backoff",
        ["2", "4"],
        "§8.2.1: the period doubles.",
        "It is multiplied by four.",
    ),
    key(
        "routing.request_retries",
        ["16", r#""none""#],
        "§9: MaxRequestRexmt 16.",
        "Unlimited; packets that wait too long are dropped one by one.",
    ),
    key(
        "routing.request_memory",
        ["{ numbers = { nodes = 64, numbers = 16 } }", "{ highest = { nodes = 128 } }"],
        "§4.3, §9: RequestTableIds 16 for each of RequestTableSize 64 nodes.",
        "The highest identification of each of 128 nodes (dsr/requesttable.cc).",
    ),
    key(
        "routing.blacklist_timeout",
        [r#""5600 ms""#, r#""0 s""#],
        "§4.6: a neighbour that a reply did not reach is blacklisted; the time is not specified.",
        "No blacklist.",
    ),
    key(
        "routing.jitter_cached_replies",
        ["true", "false"],
        "§8.2.4: a reply is delayed by BroadcastJitter.",
        "A reply from the cache is sent at once.",
    ),
    key(
        "routing.forward_answered",
        ["true", "false"],
        "§8.2.3: other options in a request that is answered from a cache are forwarded to the \
         target.",
        "They are discarded with the request (`replyFromRouteCache`).",
    ),
    key(
        "routing.cache_forwarded_replies",
        ["true", "false"],
        "§8.1.4: a node that forwards a reply should cache its route.",
        "It learns the route from the first packet that uses it.",
    ),
    key(
        "routing.cache_requests",
        ["true", "false"],
        "§8.1.4: the accumulated route of a request may be cached.",
        "It is not cached.",
    ),
    key(
        "routing.cache_received_routes",
        ["true", "false"],
        "§8.1.4: the source route of a received packet may be cached.",
        "Only of those forwarded or overheard.",
    ),
    key(
        "routing.learn_both_ways",
        ["true", "false"],
        "§3.3.1: where the MAC requires bidirectional links, links are cached in both directions.",
        "In one direction.",
    ),
    key(
        "routing.forget_both_ways",
        ["true", "false"],
        "§8.3.5: the failed direction; here the other one too, because both are cached together.",
        "In one direction.",
    ),
    key(
        "routing.scan",
        [r#""none""#, r#""30 ms""#],
        "Timers are exact.",
        "The send buffer is scanned every 30 to 60 ms (`BUFFER_CHECK`).",
    ),
    key(
        "routing.release_on_any_route",
        ["true", "false"],
        "§4.1: every route added to the cache releases the packets waiting for it.",
        "Only a reply or the next scan of the buffer does.",
    ),
    key(
        "routing.release_spacing",
        [r#""0 s""#, r#""30 ms""#],
        "Packets released by a reply are sent at once.",
        "One packet every 30 ms, for the sake of ARP.",
    ),
    key(
        "routing.salvage_requests",
        ["0", "1"],
        "§8.3.6: a packet that cannot be salvaged is dropped.",
        "A forwarding node keeps it in its own send buffer, and sends a non-propagating request \
         (`dsr_salvage_max_requests`).",
    ),
    key(
        "routing.salvage_replies",
        [r#""never""#, r#""unless-broken""#],
        "§8.3.6: a reply is not salvaged where the MAC requires bidirectional links.",
        "It is, unless the failed link is part of the reply (`dont_salvage_bad_replies`).",
    ),
    key(
        "routing.error_per_source",
        ["true", "false"],
        "§3.4.2: each source with packets queued for a failed link is sent an error.",
        "One error, for the packet that failed.",
    ),
    key(
        "routing.error_first",
        ["true", "false"],
        "§8.3.6: the error is sent before the packet is salvaged.",
        "After.",
    ),
    key(
        "routing.count_errors",
        ["true", "false"],
        "§6.4: an error that fails counts as salvaged once more (total salvage count).",
        "Nested errors multiply, up to storms of hundreds of packets per second.",
    ),
    key(
        "routing.spread_error",
        [r#""forever""#, r#""1 s""#],
        "§3.4.4: the last error is piggybacked on the next request.",
        "Only if it is younger than 1 s.",
    ),
    key(
        "routing.shorten",
        [r#""per-sender""#, r#""per-route""#],
        "§4.4: a gratuitous reply is not repeated for GratReplyHoldoff, per source and overheard \
         node.",
        "Per route, for the last ten routes; because the time is stored with the wrong entry, a \
         route triggers up to two replies.",
    ),
    key(
        "routing.route_to_neighbour",
        ["false", "true"],
        "§8.1.1: a packet to a neighbour needs no source route.",
        "It carries one.",
    ),
    key(
        "routing.ns2_sizes",
        ["false", "true"],
        "§6: the sizes of the options.",
        "`dsr/hdr_sr.h` counts a reply with 5 bytes and all its nodes, a salvaged route without \
         the option's own 4 bytes, errors about flows with 14 or 12 bytes; a node that forwards a \
         request adds its header without removing the old one (`handleRouteRequest`).",
    ),
    key(
        "routing.tcp_padding",
        ["0", "20"],
        "RFC 791: one IP header.",
        "A TCP packet, whose IP header is already counted, gets another one: 20 bytes more (also \
         with DSDV, but not with AODV).",
    ),
    key(
        "routing.flow_state",
        [r#""none""#, r#"{ timeout = "60 s", establish = 3, refresh = "5 s" }"#],
        "§3.5 is optional.",
        "Compiled in (`dsragent_enable_flowstate`): most data packets carry no source route.",
    ),
];
