//! Deviations of DSR in ns-2.35 (dsr/dsragent.cc and related files) from RFC 4728.

use super::{Deviation, Part};

const fn key(
    key: &'static str,
    [standard, ns2]: [&'static str; 2],
    standard_says: &'static str,
    ns2_does: &'static str,
) -> Deviation {
    Deviation { key, of: Part::Dsr, standard, ns2, standard_says, ns2_does }
}

pub(super) const DSR: &[Deviation] = &[
    key(
        "routing.cache",
        [
            r#""link-max-life""#,
            r#"{ paths = { primary = 30, secondary = 64, timeout = "forever" } }"#,
        ],
        "App. A recommends a cache of links, Link-MaxLife.",
        "Built with paths (dsr/mobicache.cc), 30 and 64 of them, which stay until they break.",
    ),
    key(
        "routing.max_nodes",
        ["17", "16"],
        "No limit below the room in an option, some sixty nodes; here lists are of a fixed size.",
        "MAX_SR_LEN 16.",
    ),
    key(
        "routing.ring_zero",
        [r#""first""#, r#""each""#],
        "§3.3.3: the first request for a target may be one that nobody forwards.",
        "Each search begins with one.",
    ),
    key(
        "routing.request_period",
        [r#""500 ms""#, r#""2 s""#],
        "§9: RequestPeriod 500 ms.",
        "2 s: its 500 ms are multiplied before they are first used.",
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
        "No limit; what waits for too long goes, one by one.",
    ),
    key(
        "routing.request_memory",
        ["{ numbers = { nodes = 64, numbers = 16 } }", "{ highest = { nodes = 128 } }"],
        "§4.3, §9: RequestTableIds 16 of each of RequestTableSize 64 nodes.",
        "The highest number of each of 128 nodes (dsr/requesttable.cc).",
    ),
    key(
        "routing.blacklist_timeout",
        [r#""5600 ms""#, r#""0 s""#],
        "§4.6: a neighbour that a reply did not reach is on the blacklist; for how long is open.",
        "No blacklist.",
    ),
    key(
        "routing.jitter_cached_replies",
        ["true", "false"],
        "§8.2.4: an answer is put off by BroadcastJitter.",
        "One from the cache goes at once.",
    ),
    key(
        "routing.forward_answered",
        ["true", "false"],
        "§8.2.3: what else is in a request that is answered from a cache goes on to the target.",
        "It ends with the request (`replyFromRouteCache`).",
    ),
    key(
        "routing.cache_forwarded_replies",
        ["true", "false"],
        "§8.1.4: who forwards a reply should keep what it says.",
        "It learns of the route from the first packet that takes it.",
    ),
    key(
        "routing.cache_requests",
        ["true", "false"],
        "§8.1.4: the way that a request has come may be kept.",
        "It is not.",
    ),
    key(
        "routing.cache_received_routes",
        ["true", "false"],
        "§8.1.4: so may the source route of a packet that is received.",
        "Only of those forwarded or overheard.",
    ),
    key(
        "routing.learn_both_ways",
        ["true", "false"],
        "§3.3.1: where the link layer needs links both ways, what is learned holds both ways.",
        "One way.",
    ),
    key(
        "routing.forget_both_ways",
        ["true", "false"],
        "§8.3.5: the direction that failed; the other with it, because both are learned at once.",
        "One way.",
    ),
    key(
        "routing.scan",
        [r#""none""#, r#""30 ms""#],
        "Timers are exact.",
        "The send buffer is looked at every 30 to 60 ms (`BUFFER_CHECK`).",
    ),
    key(
        "routing.release_on_any_route",
        ["true", "false"],
        "§4.1: whatever is added to the cache frees what waits for it.",
        "Only a reply does, or the next look at the buffer.",
    ),
    key(
        "routing.release_spacing",
        [r#""0 s""#, r#""30 ms""#],
        "What a reply sets free goes at once.",
        "One packet every 30 ms, for the sake of ARP.",
    ),
    key(
        "routing.salvage_requests",
        ["0", "1"],
        "§8.3.6: a packet that cannot be salvaged is lost.",
        "A forwarder keeps it in its own send buffer, and sends a request that nobody forwards \
         (`dsr_salvage_max_requests`).",
    ),
    key(
        "routing.salvage_replies",
        [r#""never""#, r#""unless-broken""#],
        "§8.3.6: a reply is not salvaged where the link layer needs links both ways.",
        "It is, unless the link that failed is one of the reply's (`dont_salvage_bad_replies`).",
    ),
    key(
        "routing.error_per_source",
        ["true", "false"],
        "§3.4.2: each source with packets queued for a failed link is told.",
        "One error, for the packet that failed.",
    ),
    key(
        "routing.error_first",
        ["true", "false"],
        "§8.3.6: the error goes out before the packet is salvaged.",
        "After.",
    ),
    key(
        "routing.count_errors",
        ["true", "false"],
        "§6.4: an error that fails counts as salvaged once more (total salvage count).",
        "Errors inside of each other multiply, up to storms of hundreds of packets a second.",
    ),
    key(
        "routing.spread_error",
        [r#""forever""#, r#""1 s""#],
        "§3.4.4: the last error rides on the next request.",
        "If it is younger than 1 s.",
    ),
    key(
        "routing.shorten",
        [r#""per-sender""#, r#""per-route""#],
        "§4.4: a source is not told again for GratReplyHoldoff, by who was overheard.",
        "By the whole route, the last ten of them; and because the time is noted beside the next \
         entry, a route draws up to two replies.",
    ),
    key(
        "routing.route_to_neighbour",
        ["false", "true"],
        "§8.1.1: a packet to a neighbour needs no source route.",
        "It has one.",
    ),
    key(
        "routing.ns2_sizes",
        ["false", "true"],
        "§6: the sizes of the options.",
        "`dsr/hdr_sr.h` counts a reply with 5 bytes and all its nodes, a salvaged route without the \
         option's own 4 bytes, errors about flows with 14 or 12; who forwards a request adds \
         its header without taking the old one off (`handleRouteRequest`).",
    ),
    key(
        "routing.tcp_padding",
        ["0", "20"],
        "RFC 791: one IP header.",
        "A TCP packet, which has its IP header counted already, gets another: 20 bytes more (so \
         under DSDV, and not under AODV).",
    ),
    key(
        "routing.flow_state",
        [r#""none""#, r#"{ timeout = "60 s", establish = 3, refresh = "5 s" }"#],
        "§3.5 is optional.",
        "Compiled in (`dsragent_enable_flowstate`): most data packets carry no source route.",
    ),
];
