//! Deviations of AODV in ns-2.35 (aodv/aodv.cc, aodv/aodv.h) from RFC 3561.

use super::deviation::{Deviation, DeviationScope};

const fn key(
    key: &'static str,
    [standard, ns2]: [&'static str; 2],
    standard_says: &'static str,
    ns2_does: &'static str,
) -> Deviation {
    Deviation { key, scope: DeviationScope::Aodv, standard, ns2, standard_says, ns2_does }
}

pub(super) const AODV: &[Deviation] = &[
    key(
        "routing.active_route_timeout",
        [r#""3 s""#, r#""10 s""#],
        "§10: ACTIVE_ROUTE_TIMEOUT 3 s.",
        "10 s.",
    ),
    key(
        "routing.my_route_timeout",
        [r#""6 s""#, r#""10 s""#],
        "§10: MY_ROUTE_TIMEOUT 6 s.",
        "10 s.",
    ),
    key(
        "routing.node_traversal_time",
        [r#""40 ms""#, r#""30 ms""#],
        "§10: NODE_TRAVERSAL_TIME 40 ms.",
        "30 ms for both directions, until the last three replies give a better estimate.",
    ),
    key("routing.net_diameter", ["35", "30"], "§10: NET_DIAMETER 35.", "NETWORK_DIAMETER 30."),
    key(
        "routing.ttl_start",
        ["1", "30"],
        "§10: TTL_START 1.",
        "TTL_START is 5 but never used: the \"last hop count\" of an unknown destination is 255, \
         so that the first request is network-wide.",
    ),
    key("routing.timeout_buffer", ["2", "0"], "§10: TIMEOUT_BUFFER 2.", "None."),
    key(
        "routing.rreq_retries",
        ["2", "3"],
        "§10: RREQ_RETRIES 2.",
        "3 (and the comparison allows one more).",
    ),
    key(
        "routing.search",
        [r#""timed""#, r#"{ on-demand = "10 s" }"#],
        "§6.3, §6.4: a request is repeated when its reply timeout expires.",
        "It is repeated when another packet arrives, or when routes are scanned for expiry; \
         after a failed search no request is sent for 10 s (`MAX_RREQ_TIMEOUT`).",
    ),
    key("routing.rreq_rate", ["10", "0"], "§10: RREQ_RATELIMIT 10 a second.", "Unlimited."),
    key("routing.rerr_rate", ["10", "0"], "§10: RERR_RATELIMIT 10 a second.", "Unlimited."),
    key(
        "routing.request_memory",
        [r#""5600 ms""#, r#""6 s""#],
        "§10: PATH_DISCOVERY_TIME, 5.6 s.",
        "BCAST_ID_SAVE 6 s.",
    ),
    key(
        "routing.reverse_route_life",
        [r#""none""#, r#""6 s""#],
        "§6.5: at least 2 × NET_TRAVERSAL_TIME minus the travel time of the request.",
        "REV_ROUTE_LIFE 6 s.",
    ),
    key(
        "routing.delete_period",
        [r#""15 s""#, r#""forever""#],
        "§10: DELETE_PERIOD, 15 s after which the sequence number of an invalid route is deleted.",
        "Entries are never deleted.",
    ),
    key(
        "routing.expiry_interval",
        [r#""none""#, r#""500 ms""#],
        "A route expires at the end of its lifetime.",
        "Routes are scanned for expiry every 0.5 s; until then an expired route is used, and its \
         use refreshes it.",
    ),
    key(
        "routing.refresh",
        [r#""both-ways""#, r#""destination""#],
        "§6.2: a packet refreshes the routes to its destination, its source, and the neighbours \
         on both sides.",
        "The route to its destination only.",
    ),
    key(
        "routing.neighbour_routes",
        ["true", "false"],
        "§6.5, §6.7: a message creates or refreshes the route to the neighbour that sent it.",
        "No such route.",
    ),
    key(
        "routing.local_repair",
        ["{ near = { max_hops = 10, add_ttl = 2 } }", r#""past-half""#],
        "§6.12: if the destination was at most MAX_REPAIR_TTL hops away.",
        "If the packet had travelled more hops than remained. A failed repair is not reported, \
         and its timer is set to an absolute time instead of a delay.",
    ),
    key(
        "routing.reroute_queued",
        ["true", "false"],
        "Not specified: the treatment of packets queued for an unreachable neighbour; here they \
         are rerouted.",
        "They are dropped, or left in the queue during a repair.",
    ),
    key(
        "routing.errors",
        [r#""precursors""#, r#""broadcast""#],
        "§6.11: the destinations for which a neighbour is a precursor, to that neighbour.",
        "All destinations reached over the link, broadcast.",
    ),
    key(
        "routing.purge_on_error",
        ["false", "true"],
        "Not specified.",
        "A route error drops the packets queued for its sender.",
    ),
    key(
        "routing.release_spacing",
        [r#""0 s""#, r#""10 ms""#],
        "Buffered packets are sent at once.",
        "ARP_DELAY 10 ms between them.",
    ),
    key(
        "routing.data_ttl",
        [r#""none""#, "30"],
        "The host's own time to live.",
        "NETWORK_DIAMETER.",
    ),
    key(
        "routing.gratuitous",
        ["true", "false"],
        "§6.3: a node that expects bidirectional traffic (TCP, an echo) requests that the \
         destination learn a route too.",
        "Never.",
    ),
    key(
        "routing.blacklist_timeout",
        [r#""5600 ms""#, r#""0 s""#],
        "§6.8, §10: the requests of a neighbour that a reply did not reach are ignored for \
         BLACKLIST_TIMEOUT.",
        "No blacklist.",
    ),
    key(
        "routing.control_detection",
        ["true", "false"],
        "§6.10: every frame that the link layer drops after its last retry is a link failure.",
        "Data packets only; a failed reply is dropped.",
    ),
    key(
        "routing.whole_seconds",
        ["false", "true"],
        "§5.2: lifetimes are in milliseconds.",
        "A reply of an intermediate node has its lifetime in whole seconds, rounded down.",
    ),
    key(
        "routing.repairing_is_valid",
        ["false", "true"],
        "§6.12: a route under repair is invalid.",
        "It is used to reply to requests.",
    ),
    key(
        "routing.answer_next_hop",
        ["false", "true"],
        "§6.6 does not forbid it; not done here.",
        "A neighbour that requests a destination is sent a route through itself.",
    ),
    key(
        "routing.even_numbers",
        ["false", "true"],
        "§6.1: a node's sequence number grows by one with a request; a reply adopts that in the \
         request.",
        "Sequence numbers grow by two with requests, replies and lost neighbours, and are even.",
    ),
    key(
        "routing.udp",
        ["true", "false"],
        "§2: messages are UDP datagrams to port 654.",
        "They have no UDP header.",
    ),
    key(
        "routing.timestamps",
        ["false", "true"],
        "§5 has no such field.",
        "Requests and replies have a timestamp of 4 bytes, from which the originator measures \
         the time per hop.",
    ),
];

pub(super) const OVER_TDMA: &[Deviation] = &[Deviation {
    key: "routing.hello",
    scope: DeviationScope::AodvOverTdma,
    standard: r#"{ interval = "1 s", allowed_loss = 2 }"#,
    ns2: r#""none""#,
    standard_says: "§6.9, §6.10: a node without feedback from the link layer sends hello \
                    messages, and considers a neighbour unreachable after ALLOWED_HELLO_LOSS \
                    missing ones.",
    ns2_does: "Is compiled for feedback from the link layer, without hello messages. Its TDMA \
               provides none, so that broken links are not detected.",
}];
