//! Time lines of ns-2.35's differences. A frame takes 1 ms, a link layer reports a failure after 5.

use driftway_base::{DropReason, Duration};
use driftway_route::{AodvConfig, LinkDestination, RoutingProtocol};
use driftway_wire::{AodvMessage, AodvRequest};

use crate::net::{Net, PacketOutcome, RouteEvent, at, ms};

/// ns-2.35 without jitter.
const EXACT: AodvConfig = AodvConfig { jitter: Duration::ZERO, ..AodvConfig::NS2 };

#[test]
fn the_first_request_is_network_wide_and_buffered_packets_are_spaced() {
    let mut net = Net::chain(EXACT, 4);
    let ids: Vec<_> = (0..3).map(|_| net.send(0, 3)).collect();
    net.run(ms(1000));
    assert_eq!(
        net.log,
        [
            "0 0 RREQ 3#? by 0#4 hops 0 ttl 30",
            "1 1 RREQ 3#? by 0#4 hops 1 ttl 29",
            "2 2 RREQ 3#? by 0#4 hops 2 ttl 28",
            "3 3 RREP 3#4 for 0 hops 0 life 10000 to 2",
            "4 2 RREP 3#4 for 0 hops 1 life 10000 to 1",
            "5 1 RREP 3#4 for 0 hops 2 life 10000 to 0",
        ]
    );
    let delivered = |id, when| (id, ms(when), PacketOutcome::Delivered(3));
    assert_eq!(net.outcomes, [delivered(ids[0], 9), delivered(ids[1], 19), delivered(ids[2], 29)]);
    // 48 bytes per request, 44 per reply: no UDP header, and a time stamp.
    let sent: Vec<_> = (0..4).map(|node| net.node(node).stats().bytes_sent).collect();
    assert_eq!(sent, [48, 48 + 44, 48 + 44, 44]);
}

#[test]
fn a_search_is_repeated_at_expiry_checks_and_then_pauses() {
    let mut net = Net::chain(EXACT, 2);
    let id = net.send(0, 5);
    net.run(ms(28_999));
    let asked = |net: &Net| -> Vec<String> {
        let own = net.log.iter().filter(|line| line.contains(" 0 RREQ"));
        own.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    // 2 × 30 × 30 ms × 1, 2, 3 and 4, each up to the next half second.
    assert_eq!(asked(&net), ["0", "2000", "6000", "11500"]);
    assert_eq!(
        net.outcomes,
        [(id, ms(19_000), PacketOutcome::Dropped(0, DropReason::DiscoveryFailed))]
    );
    net.send(0, 5);
    assert_eq!(asked(&net).len(), 4);
    net.run(ms(29_000));
    assert_eq!(asked(&net)[4..], ["29000"]);
}

#[test]
fn the_timeout_follows_the_latency_of_the_last_replies() {
    let mut net = Net::chain(EXACT, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.link(0, 1, false);
    net.send(0, 3);
    net.run(ms(1100));
    net.log.clear();
    // The reply took 6 ms over 3 hops. The route had 3 hops: a ring of 5, 2 × 5 × 2 ms.
    net.send(0, 3);
    net.run(ms(1119));
    net.send(0, 3);
    net.run(ms(1120));
    net.send(0, 3);
    net.send(0, 3);
    assert_eq!(
        net.log,
        ["1100 0 RREQ 3#5 by 0#8 hops 0 ttl 5", "1120 0 RREQ 3#5 by 0#10 hops 0 ttl 7"]
    );
}

#[test]
fn a_broken_link_drops_its_queue_and_invalidates_all_routes_over_it() {
    let mut net = Net::chain(EXACT, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.log.clear();
    net.route_events.clear();
    net.link(1, 2, false);
    let ids: Vec<_> = (0..3).map(|_| net.send(0, 3)).collect();
    net.run(ms(1100));
    // Node 1 is one hop from the source and two from the destination: no repair.
    assert_eq!(net.log, ["1006 1 RERR 3#5 to all"]);
    for id in ids {
        let end = PacketOutcome::Dropped(1, DropReason::LinkFailure);
        assert!(net.outcomes.contains(&(id, ms(1006), end)));
    }
    let events = [
        (1006, 1, RouteEvent::Lost(3)),
        (1007, 0, RouteEvent::Lost(3)),
        (1007, 0, RouteEvent::Purge(1)),
    ];
    assert_eq!(net.route_events, events.map(|(when, node, event)| (ms(when), node, event)));
}

#[test]
fn a_repair_sends_no_error_and_its_timer_uses_an_absolute_time() {
    let mut net = Net::chain(EXACT, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.log.clear();
    net.route_events.clear();
    net.link(2, 3, false);
    let id = net.send(0, 3);
    net.run(ms(3813));
    // Node 1 replies with the very route that broke; node 2 does not accept it, since it counts its own as
    // one. The request may be repeated at 1007 + 1800 ms; that instant, as a delay, ends it.
    assert_eq!(
        net.log,
        [
            "1007 2 RREQ 3#4 by 2#4 hops 0 ttl 30",
            "1008 1 RREP 3#4 for 2 hops 2 life 9000 to 2",
            "3000 2 RREQ 3#4 by 2#6 hops 0 ttl 30",
            "3001 1 RREP 3#4 for 2 hops 2 life 8000 to 2",
        ]
    );
    assert_eq!(net.outcome_of(id), None);
    assert_eq!(net.route_events, []);
    net.run(ms(3814));
    assert_eq!(net.route_events, [(ms(3814), 2, RouteEvent::Lost(3))]);
    assert!(net.log.iter().all(|line| !line.contains("RERR")));
}

#[test]
fn a_repair_keeps_the_rest_of_the_queue() {
    let mut net = Net::chain(EXACT, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.link(2, 3, false);
    for _ in 0..3 {
        net.send(0, 3);
    }
    net.run(ms(1500));
    assert_eq!(net.node(2).stats().link_failures, 3, "each packet fails separately");
    net.link(2, 3, true);
    net.run(ms(4000));
    assert!((1..4).all(|id| net.outcome_of(id) == Some(PacketOutcome::Delivered(3))));
    assert_eq!((net.node(2).stats().salvaged, net.salvaged), (3, vec![(2, 1); 3]));
}

#[test]
fn routes_expire_at_periodic_checks() {
    let mut net = Net::chain(EXACT, 2);
    net.send(0, 1);
    net.run(ms(100));
    let route = |net: &Net| net.node(0).routes().find(|route| route.destination == at(1)).unwrap();
    let until = route(&net).expires_at;
    assert_eq!(until, ms(10_002));
    net.run(ms(10_499));
    assert!(route(&net).next_hop.is_some());
    let mut used = net.clone();
    net.run(ms(10_500));
    assert_eq!((route(&net).next_hop, route(&net).seq), (None, Some(5)));
    used.send(0, 1);
    used.run(ms(20_499));
    assert_eq!(route(&used).expires_at, ms(20_499), "use refreshes an expired route");
    assert!(route(&used).next_hop.is_some());
    used.run(ms(20_500));
    assert!(route(&used).next_hop.is_none());
    assert_eq!(used.log.len(), 2, "without a search");
}

#[test]
fn replies_from_expired_or_repairing_routes_have_odd_lifetimes() {
    let mut net = Net::chain(EXACT, 4);
    net.send(1, 3);
    net.run(ms(10_400));
    net.log.clear();
    // Expired since 10 004 ms.
    net.send(0, 3);
    net.run(ms(10_410));
    assert!(net.log[1].ends_with("RREP 3#4 for 0 hops 2 life 0 to 0"), "{:?}", net.log);
    net.run(ms(10_600));
    net.link(2, 3, false);
    net.send(0, 3);
    net.run(ms(10_700));
    net.log.clear();
    let request = AodvRequest {
        join: false,
        repair: false,
        gratuitous: false,
        destination_only: false,
        hops: 1,
        id: 99,
        destination: at(3),
        destination_seq: None,
        originator: at(0),
        originator_seq: 98,
        timestamp: None,
    };
    net.inject(2, 1, AodvMessage::Request(request), 9, LinkDestination::Broadcast);
    // The expiry of a route under discovery is 0; 0 less now, unsigned.
    assert_eq!(net.log, [format!("10700 2 RREP 3#4 for 0 hops 1 life {} to 1", u32::MAX)]);
}
