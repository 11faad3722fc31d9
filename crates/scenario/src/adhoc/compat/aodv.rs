//! Deviations of AODV in ns-2.35 (aodv/aodv.cc, aodv/aodv.h) from RFC 3561.

use super::{Deviation, Part};

const fn key(
    key: &'static str,
    [standard, ns2]: [&'static str; 2],
    standard_says: &'static str,
    ns2_does: &'static str,
) -> Deviation {
    Deviation { key, of: Part::Aodv, standard, ns2, standard_says, ns2_does }
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
        "30 ms there and back, until the last three replies say better.",
    ),
    key("routing.net_diameter", ["35", "30"], "§10: NET_DIAMETER 35.", "NETWORK_DIAMETER 30."),
    key(
        "routing.ttl_start",
        ["1", "30"],
        "§10: TTL_START 1.",
        "TTL_START is 5 and never used: the \"last hop count\" of a destination not reached yet is \
         255, so the first request goes to all.",
    ),
    key("routing.timeout_buffer", ["2", "0"], "§10: TIMEOUT_BUFFER 2.", "None."),
    key(
        "routing.rreq_retries",
        ["2", "3"],
        "§10: RREQ_RETRIES 2.",
        "3 (and the test lets one more out).",
    ),
    key(
        "routing.search",
        [r#""timed""#, r#"{ on-demand = "10 s" }"#],
        "§6.3, §6.4: a request is repeated when the time for a reply is over.",
        "It is repeated when another packet comes, or routes are looked at for their end; after \
         all were in vain there is a pause of 10 s (`MAX_RREQ_TIMEOUT`).",
    ),
    key("routing.rreq_rate", ["10", "0"], "§10: RREQ_RATELIMIT 10 a second.", "Any number."),
    key("routing.rerr_rate", ["10", "0"], "§10: RERR_RATELIMIT 10 a second.", "Any number."),
    key(
        "routing.request_memory",
        [r#""5600 ms""#, r#""6 s""#],
        "§10: PATH_DISCOVERY_TIME, 5.6 s.",
        "BCAST_ID_SAVE 6 s.",
    ),
    key(
        "routing.reverse_route_life",
        [r#""none""#, r#""6 s""#],
        "§6.5: at least 2 × NET_TRAVERSAL_TIME less what the request took.",
        "REV_ROUTE_LIFE 6 s.",
    ),
    key(
        "routing.delete_period",
        [r#""15 s""#, r#""forever""#],
        "§10: DELETE_PERIOD, 15 s after which a lost route's number is forgotten.",
        "Entries stay.",
    ),
    key(
        "routing.expiry_interval",
        [r#""none""#, r#""500 ms""#],
        "A route ends when its lifetime does.",
        "Lifetimes are looked at every 0.5 s; an old route is used until then, and use renews it.",
    ),
    key(
        "routing.refresh",
        [r#""both-ways""#, r#""destination""#],
        "§6.2: a packet renews the routes to its destination, its source, and the neighbours on \
         both sides.",
        "That to its destination.",
    ),
    key(
        "routing.neighbour_routes",
        ["true", "false"],
        "§6.5, §6.7: who sent a message is a neighbour to which there is a route.",
        "No such route.",
    ),
    key(
        "routing.local_repair",
        ["{ near = { max_hops = 10, add_ttl = 2 } }", r#""past-half""#],
        "§6.12: if the destination was no more than MAX_REPAIR_TTL hops away.",
        "If the packet had come further than it had to go. A failed repair tells nobody, and its \
         timer is set to an absolute time as if it were a delay.",
    ),
    key(
        "routing.rescue",
        ["true", "false"],
        "Leaves open what becomes of packets queued for a neighbour that is gone; here they look \
         for another route.",
        "They are dropped, or under repair left in the queue.",
    ),
    key(
        "routing.errors",
        [r#""precursors""#, r#""broadcast""#],
        "§6.11: destinations for which a neighbour is known to use this node, to that neighbour.",
        "All destinations that the link led to, to all.",
    ),
    key(
        "routing.purge_on_error",
        ["false", "true"],
        "Says nothing of the sort.",
        "A route error drops what waits for its sender.",
    ),
    key(
        "routing.release_spacing",
        [r#""0 s""#, r#""10 ms""#],
        "Packets that waited for a reply go at once.",
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
        "§6.3: who expects that both ends speak (TCP, an echo) asks that the destination be given a route, too.",
        "Never.",
    ),
    key(
        "routing.blacklist_timeout",
        [r#""5600 ms""#, r#""0 s""#],
        "§6.8, §10: a neighbour that a reply did not reach is ignored for BLACKLIST_TIMEOUT.",
        "No blacklist.",
    ),
    key(
        "routing.control_detection",
        ["true", "false"],
        "§6.10: any frame that the link layer gives up on is a link that broke.",
        "Data only; a reply that fails is dropped.",
    ),
    key(
        "routing.whole_seconds",
        ["false", "true"],
        "§5.2: lifetimes are in milliseconds.",
        "A reply from a route says its lifetime in whole seconds, rounded down.",
    ),
    key(
        "routing.repairing_is_valid",
        ["false", "true"],
        "§6.12: a route under repair is invalid.",
        "It answers requests.",
    ),
    key(
        "routing.answer_next_hop",
        ["false", "true"],
        "§6.6 does not forbid it; here no.",
        "A neighbour that asks for a destination is told of a route through itself.",
    ),
    key(
        "routing.even_numbers",
        ["false", "true"],
        "§6.1: an own number grows by one with a request; a reply takes what the request knows.",
        "They grow by two with requests, replies and lost neighbours, and are even.",
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
        "Requests and replies have a time stamp of 4 bytes, from which the originator learns what \
         a hop takes.",
    ),
];

pub(super) const OVER_TDMA: &[Deviation] = &[Deviation {
    key: "routing.hello",
    of: Part::AodvOverTdma,
    standard: r#"{ interval = "1 s", allowed_loss = 2 }"#,
    ns2: r#""none""#,
    standard_says: "§6.9, §6.10: a node that has no feedback from the link layer says hello, and \
                    takes a neighbour for gone that has missed ALLOWED_HELLO_LOSS of them.",
    ns2_does: "Is compiled for feedback from the link layer, without hello. Its TDMA gives none, so \
               that no node notices a link that is gone.",
}];
