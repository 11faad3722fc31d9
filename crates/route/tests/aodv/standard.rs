//! Time lines of RFC 3561. A frame takes 1 ms, a link layer reports a failure after 5.

use driftway_base::{DropReason, Duration, Instant, ReceivedPower};
use driftway_route::{AodvConfig, HelloConfig, LinkDestination, LocalRepair, RoutingProtocol};
use driftway_wire::{AodvMessage, AodvRequest};

use crate::net::{Net, PacketOutcome, RouteEvent, at, ms};

/// RFC 3561 without jitter.
const EXACT: AodvConfig =
    AodvConfig { jitter: Duration::ZERO, gratuitous: false, ..AodvConfig::STANDARD };

/// One that finds two-hop neighbours at once.
const WIDE: AodvConfig = AodvConfig { ttl_start: 5, ..EXACT };

#[test]
fn rings_grow_until_one_reaches_the_destination() {
    let mut net = Net::chain(EXACT, 4);
    let id = net.send(0, 3);
    net.run(ms(1000));
    // RFC 3561 §6.4: 2 × 40 ms × (1 + 2).
    assert_eq!(
        net.log,
        [
            "0 0 RREQ 3#? by 0#1 hops 0 ttl 1",
            "240 0 RREQ 3#? by 0#2 hops 0 ttl 3",
            "241 1 RREQ 3#? by 0#2 hops 1 ttl 2",
            "242 2 RREQ 3#? by 0#2 hops 2 ttl 1",
            "243 3 RREP 3#0 for 0 hops 0 life 6000 to 2",
            "244 2 RREP 3#0 for 0 hops 1 life 6000 to 1",
            "245 1 RREP 3#0 for 0 hops 2 life 6000 to 0",
        ]
    );
    assert_eq!(net.outcomes, [(id, ms(249), PacketOutcome::Delivered(3))]);
    assert_eq!(net.route_events, [(ms(246), 0, RouteEvent::Found(3))]);
}

#[test]
fn a_failing_search_doubles_its_timeout_and_ends() {
    let mut net = Net::chain(EXACT, 2);
    let id = net.send(0, 5);
    net.run(ms(60_000));
    let requests: Vec<_> = net.log.iter().filter(|line| line.contains(" 0 RREQ")).collect();
    // RFC 3561 §6.4: rings of 1, 3, 5, 7; §6.3: then all, with 2.8, 5.6 and 11.2 s.
    assert_eq!(
        requests,
        [
            "0 0 RREQ 5#? by 0#1 hops 0 ttl 1",
            "240 0 RREQ 5#? by 0#2 hops 0 ttl 3",
            "640 0 RREQ 5#? by 0#3 hops 0 ttl 5",
            "1200 0 RREQ 5#? by 0#4 hops 0 ttl 7",
            "1920 0 RREQ 5#? by 0#5 hops 0 ttl 35",
            "4720 0 RREQ 5#? by 0#6 hops 0 ttl 35",
            "10320 0 RREQ 5#? by 0#7 hops 0 ttl 35",
        ]
    );
    let end = PacketOutcome::Dropped(0, DropReason::DiscoveryFailed);
    assert_eq!(net.outcomes, [(id, ms(21_520), end)]);
    let stats = net.node(0).stats();
    assert_eq!((stats.discoveries, stats.failed_discoveries), (1, 1));
}

#[test]
fn an_intermediate_node_replies_to_both_ends() {
    let mut net = Net::chain(AodvConfig { gratuitous: true, ..WIDE }, 4);
    net.send(1, 3);
    net.run(ms(1000));
    net.log.clear();
    let id = net.send_tcp(0, 3);
    net.run(ms(2000));
    // RFC 3561 §6.6.2, §6.6.3: node 1 knows node 3 since 4 ms, for 6 s, and its packets refresh that only to
    // 3 s from then.
    assert_eq!(
        net.log,
        [
            "1000 0 RREQ 3#? by 0#1 hops 0 ttl 5",
            "1001 1 RREP 3#0 for 0 hops 2 life 5003 to 0",
            "1001 1 RREP 0#1 for 3 hops 1 life 5520 to 2",
            "1002 2 RREP 0#1 for 3 hops 2 life 5520 to 3",
        ]
    );
    assert_eq!(net.outcome_of(id), Some(PacketOutcome::Delivered(3)));
    assert_eq!(net.node(1).stats().replies_from_cache, 1);
    // There is a reverse route without a search.
    net.log.clear();
    net.send(3, 0);
    net.run(ms(2100));
    assert_eq!(net.log, [""; 0]);
    // Where no return traffic is expected, none is requested (§6.3).
    let mut net = Net::chain(AodvConfig { gratuitous: true, ..WIDE }, 4);
    net.send(1, 3);
    net.run(ms(1000));
    net.log.clear();
    net.send(0, 3);
    net.run(ms(2000));
    assert_eq!(
        net.log,
        ["1000 0 RREQ 3#? by 0#1 hops 0 ttl 5", "1001 1 RREP 3#0 for 0 hops 2 life 5003 to 0",]
    );
}

#[test]
fn with_destination_only_no_intermediate_node_replies() {
    let mut net = Net::chain(AodvConfig { destination_only: true, ..WIDE }, 4);
    net.send(1, 3);
    net.run(ms(1000));
    net.send(0, 3);
    net.run(ms(2000));
    assert_eq!(net.node(1).stats().replies_from_cache, 0);
    assert!(net.log.contains(&"1003 3 RREP 3#0 for 0 hops 0 life 6000 to 2".to_owned()));
}

/// A diamond: the received power shows that the link from the source to one of two relays fades.
#[test]
fn a_route_avoids_a_fading_link() {
    for (avoid_fading, through) in [(None, 1), (Some(1_990), 1), (Some(2_000), 2)] {
        let avoid_fading = avoid_fading.map(Duration::from_millis);
        let mut net = Net::new(AodvConfig { avoid_fading, ..WIDE }, 4, 1);
        for relay in [1, 2] {
            net.link(0, relay, true);
            net.link(relay, 3, true);
        }
        // 4 dB at 2 dB per second.
        let (now, trend) = (Instant::ZERO, Some(-200));
        assert_eq!(net.node(1).needs_received_power(), avoid_fading.is_some());
        net.power(
            1,
            0,
            ReceivedPower {
                heard_at: now,
                power_mbm: -8600,
                trend_cdb_per_s: trend,
                sensitivity_mbm: -9000,
            },
        );
        net.send(0, 3);
        net.run(ms(100));
        assert_eq!(net.path(0, 3), [0, through, 3], "{avoid_fading:?}");
    }
}

#[test]
fn a_broken_link_is_reported_to_its_precursors() {
    let mut net = Net::chain(AodvConfig { local_repair: LocalRepair::Off, ..WIDE }, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.log.clear();
    net.route_events.clear();
    net.link(2, 3, false);
    let id = net.send(0, 3);
    net.run(ms(1500));
    // RFC 3561 §6.11: to the only precursor, with the next number.
    assert_eq!(net.log, ["1007 2 RERR 3#1 to 1", "1008 1 RERR 3#1 to 0"]);
    assert_eq!(
        net.outcomes[1..],
        [(id, ms(1007), PacketOutcome::Dropped(2, DropReason::LinkFailure))]
    );
    assert_eq!(
        net.route_events,
        [
            (ms(1007), 2, RouteEvent::Lost(3)),
            (ms(1008), 1, RouteEvent::Lost(3)),
            (ms(1009), 0, RouteEvent::Lost(3))
        ]
    );
    // The next search starts two hops beyond the last hop count (RFC 3561 §6.4).
    net.log.clear();
    net.send(0, 3);
    assert_eq!(net.log, ["1500 0 RREQ 3#1 by 0#2 hops 0 ttl 5"]);
}

#[test]
fn several_precursors_get_one_broadcast() {
    // 0 and 4 both use 1 and 2 to reach 3.
    let mut net = Net::new(AodvConfig { local_repair: LocalRepair::Off, ..WIDE }, 5, 1);
    for (a, b) in [(0, 1), (4, 1), (1, 2), (2, 3)] {
        net.link(a, b, true);
    }
    net.send(0, 3);
    net.run(ms(100));
    net.send(4, 3);
    net.run(ms(200));
    net.log.clear();
    net.link(1, 2, false);
    net.send(0, 3);
    net.run(ms(300));
    // Node 2 is lost as well, whose number is unknown.
    assert_eq!(net.log, ["206 1 RERR 2#0 3#1 to all"]);
    assert!(net.route_events.contains(&(ms(207), 0, RouteEvent::Lost(3))));
    assert!(net.route_events.contains(&(ms(207), 4, RouteEvent::Lost(3))));
}

#[test]
fn a_local_repair() {
    let mut net = Net::chain(WIDE, 5);
    net.link(3, 4, false);
    for (a, b) in [(2, 4), (4, 3)] {
        net.link(a, b, true);
    }
    net.send(0, 3);
    net.run(ms(1000));
    net.log.clear();
    net.link(2, 3, false);
    let id = net.send(0, 3);
    net.run(ms(1500));
    // RFC 3561 §6.12: the destination was one hop away, the source two: 1 + 2 hops. The new route is longer,
    // which is reported to its users without a deletion.
    assert_eq!(
        net.log,
        [
            "1007 2 RREQ 3#1 by 2#1 hops 0 ttl 3",
            "1008 1 RREQ 3#1 by 2#1 hops 1 ttl 2",
            "1008 4 RREQ 3#1 by 2#1 hops 1 ttl 2",
            "1009 0 RREQ 3#1 by 2#1 hops 2 ttl 1",
            "1009 3 RREP 3#1 for 2 hops 0 life 6000 to 4",
            "1010 4 RREP 3#1 for 2 hops 1 life 6000 to 2",
            "1011 2 RERR-N 3#1 to 1",
            "1012 1 RERR-N 3#1 to 0",
        ]
    );
    assert_eq!(net.outcome_of(id), Some(PacketOutcome::Delivered(3)));
    assert!(net.route_events.iter().all(|(_, _, event)| !matches!(event, RouteEvent::Lost(_))));
    assert_eq!((net.node(2).stats().salvaged, &net.salvaged[..]), (1, &[(2, 1)][..]));
    assert_eq!(net.searches.first().map(|(node, _)| *node), Some(0));
}

#[test]
fn a_failed_repair() {
    let mut net = Net::chain(WIDE, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.log.clear();
    net.route_events.clear();
    net.link(2, 3, false);
    let first = net.send(0, 3);
    net.run(ms(1200));
    let second = net.send(0, 3);
    net.run(ms(1500));
    let errors: Vec<_> = net.log.iter().filter(|line| line.contains("RERR")).collect();
    // 2 × 40 ms × (3 + 2) after the failure at 1007.
    assert_eq!(errors, ["1407 2 RERR 3#1 to 1", "1408 1 RERR 3#1 to 0"]);
    for id in [first, second] {
        let end = PacketOutcome::Dropped(2, DropReason::DiscoveryFailed);
        assert!(
            net.outcomes.contains(&(id, ms(1407), end)),
            "packets are buffered during the repair"
        );
    }
    assert_eq!(net.route_events[0], (ms(1407), 2, RouteEvent::Lost(3)));
}

#[test]
fn local_packets_start_a_search_after_a_failed_repair() {
    // RFC 3561 §6.12 repairs with one request, for forwarded packets; §6.3 has more for local ones.
    let mut net = Net::chain(WIDE, 4);
    net.send(0, 3);
    net.run(ms(1000));
    net.link(2, 3, false);
    let other = net.send(0, 3);
    net.run(ms(1200));
    let own = net.send(2, 3);
    net.run(ms(1410));
    assert_eq!(net.outcome_of(other), Some(PacketOutcome::Dropped(2, DropReason::DiscoveryFailed)));
    assert_eq!(net.outcome_of(own), None);
    net.link(2, 3, true);
    net.run(ms(3000));
    assert_eq!(net.outcome_of(own), Some(PacketOutcome::Delivered(3)));
}

#[test]
fn routes_expire_after_three_seconds_and_are_deleted_after_fifteen() {
    let mut net = Net::chain(WIDE, 3);
    net.send(0, 2);
    net.run(ms(4000));
    net.send(0, 2);
    net.run(ms(4010));
    // 4 ms reply + 6 s; the packet of 4000 refreshes that to 7 s.
    let route = |net: &Net| net.node(0).routes().find(|route| route.destination == at(2));
    assert_eq!(route(&net).unwrap().expires_at, ms(7000));
    net.run(ms(6999));
    assert!(route(&net).unwrap().next_hop.is_some());
    net.run(ms(7000));
    let lost = route(&net).unwrap();
    assert_eq!((lost.next_hop, lost.seq, lost.expires_at), (None, Some(1), ms(22_000)));
    net.run(ms(22_000));
    assert_eq!(route(&net), None);
    assert_eq!(net.route_events.len(), 1, "an unused route is not reported");
    net.log.clear();
    net.send(0, 2);
    assert_eq!(net.log, ["22000 0 RREQ 2#? by 0#2 hops 0 ttl 5"]);
}

#[test]
fn ten_requests_per_second() {
    let mut net = Net::new(WIDE, 20, 1);
    for to in 1..=12 {
        net.send(0, to);
    }
    net.run(ms(999));
    // Retries would be due at 560 ms; they count as well.
    assert_eq!(net.log.len(), 10);
    net.run(ms(1000));
    assert_eq!(net.log.len(), 20);
    let asked = |line: &&String| line.contains("RREQ 12#?") || line.contains("RREQ 11#?");
    assert_eq!(net.log[10..].iter().filter(asked).count(), 2);
}

/// Node 1 hears node 0, but not vice versa.
#[test]
fn a_neighbour_that_a_reply_does_not_reach_is_not_answered() {
    let mut net = Net::new(WIDE, 2, 1);
    net.one_way(0, 1, true);
    net.send(0, 1);
    net.run(ms(20_000));
    let replies: Vec<_> = net.log.iter().filter(|line| line.contains("1 RREP")).collect();
    // Failed at 6 ms; ignored for 5.6 s (RFC 3561 §6.8). The requests arrive at 0, 560, 1280, 4080 and 9680
    // ms.
    assert_eq!(
        replies,
        ["1 1 RREP 1#0 for 0 hops 0 life 6000 to 0", "9681 1 RREP 1#0 for 0 hops 0 life 6000 to 0"]
    );
}

#[test]
fn an_unacknowledged_reply_blacklists_the_neighbour() {
    let mut net = Net::new(AodvConfig { ack_replies: true, ..WIDE }, 2, 1);
    net.link(0, 1, true);
    net.send(0, 1);
    net.run(ms(3));
    assert_eq!(
        net.log,
        [
            "0 0 RREQ 1#? by 0#1 hops 0 ttl 5",
            "1 1 RREP 1#0 for 0 hops 0 life 6000 to 0",
            "2 0 RREP-ACK to 1",
        ]
    );
    // The acknowledgment of the next one is lost: after 50 ms the requester is ignored.
    net.run(ms(10_000));
    net.log.clear();
    net.send(0, 1);
    net.run(ms(10_001));
    net.one_way(0, 1, false);
    net.run(ms(10_050));
    let ask = |net: &mut Net, id| {
        let request = AodvRequest {
            join: false,
            repair: false,
            gratuitous: false,
            destination_only: false,
            hops: 0,
            id,
            destination: at(1),
            destination_seq: None,
            originator: at(0),
            originator_seq: 90 + id,
            timestamp: None,
        };
        let before = net.log.len();
        net.inject(1, 0, AodvMessage::Request(request), 1, LinkDestination::Broadcast);
        net.log.len() > before
    };
    assert!(ask(&mut net, 80), "not yet");
    net.run(ms(10_101));
    assert!(!ask(&mut net, 81));
    net.run(ms(10_101 + 5600));
    assert!(ask(&mut net, 82));
}

#[test]
fn hello_messages_replace_link_layer_detection() {
    let config =
        AodvConfig { hello: Some(HelloConfig::STANDARD), link_layer_detection: false, ..WIDE };
    let mut net = Net::chain(config, 3);
    net.send(0, 2);
    // Every 2 s, so that the route stays in use.
    for step in 1..5 {
        net.run(ms(2000 * step));
        net.send(0, 2);
    }
    let hellos = |net: &Net, node: usize| {
        let own = format!(" {node} RREP {node}#");
        net.log.iter().filter(|line| line.contains(&own) && line.ends_with("to all")).count()
    };
    assert!((6..=8).contains(&hellos(&net, 1)), "{:#?}", net.log);
    net.run(ms(8100));
    net.link(1, 2, false);
    net.log.clear();
    net.run(ms(10_700));
    // Node 1 last heard node 2 between 7.1 and 8.1 s.
    let errors: Vec<_> = net.log.iter().filter(|line| line.contains("RERR")).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].ends_with(" 1 RERR 2#1 to 0"), "{errors:?}");
    let when: f64 = errors[0].split(' ').next().unwrap().parse().unwrap();
    assert!((9100.0..=10_100.0).contains(&when), "{when}");
    // Long after the last packet no hello messages are sent.
    net.run(ms(20_000));
    net.log.clear();
    net.run(ms(40_000));
    assert_eq!(net.log, [""; 0]);
}

#[test]
fn a_valid_idle_route_is_not_lost_without_hello_messages() {
    // RFC 3561 §6.9: a node sends hello messages as long as it is part of an active route, which is a valid
    // one (§3), used or not. A route from a reply has a lifetime of 6 s, and a packet refreshes it for 3 s.
    let config =
        AodvConfig { hello: Some(HelloConfig::STANDARD), link_layer_detection: false, ..WIDE };
    let mut net = Net::chain(config, 4);
    for step in 1..12 {
        net.send(0, 3);
        net.run(ms(9000 * step));
    }
    let errors: Vec<_> = net.log.iter().filter(|line| line.contains("RERR")).collect();
    assert_eq!(errors, [""; 0]);
    assert_eq!(
        net.outcomes
            .iter()
            .filter(|(_, _, outcome)| *outcome == PacketOutcome::Delivered(3))
            .count(),
        11
    );
}

#[test]
fn a_packet_without_a_route_triggers_an_error() {
    let mut net = Net::chain(WIDE, 3);
    net.send(0, 2);
    net.run(ms(100));
    // Node 1 loses only its route: an error that names node 2.
    let mut error = driftway_wire::AodvError::new(false);
    error.push(at(2), 5);
    net.one_way(1, 0, false);
    net.inject(1, 2, AodvMessage::Error(error), 1, LinkDestination::Broadcast);
    net.run(ms(110));
    net.one_way(1, 0, true);
    net.log.clear();
    let id = net.send(0, 2);
    net.run(ms(120));
    assert_eq!(net.log, ["111 1 RERR 2#5 to 0"]);
    assert_eq!(net.outcome_of(id), Some(PacketOutcome::Dropped(1, DropReason::NoRoute)));
    assert!(net.route_events.contains(&(ms(112), 0, RouteEvent::Lost(2))));
}

#[test]
fn packets_queued_for_a_broken_link_are_rerouted() {
    // 0 sends to 2 over 1; 0 can reach it over 3, too.
    let mut net = Net::new(AodvConfig { local_repair: LocalRepair::Off, ..WIDE }, 4, 1);
    for (a, b) in [(0, 1), (1, 2), (0, 3), (3, 2)] {
        net.link(a, b, true);
    }
    net.link(0, 3, false);
    net.send(0, 2);
    net.run(ms(100));
    net.link(0, 3, true);
    net.link(0, 1, false);
    let ids: Vec<_> = (0..5).map(|_| net.send(0, 2)).collect();
    net.run(ms(200));
    for id in ids {
        assert_eq!(net.outcome_of(id), Some(PacketOutcome::Delivered(2)));
    }
    assert_eq!(net.node(0).stats().link_failures, 1);
}

#[test]
fn a_destination_replies_with_at_least_the_requested_number() {
    let mut net = Net::chain(EXACT, 2);
    let mut ask = |id, destination_seq| {
        let request = AodvRequest {
            join: false,
            repair: false,
            gratuitous: false,
            destination_only: false,
            hops: 0,
            id,
            destination: at(0),
            destination_seq,
            originator: at(1),
            originator_seq: id,
            timestamp: None,
        };
        net.inject(0, 1, AodvMessage::Request(request), 1, LinkDestination::Broadcast);
        net.log.last().unwrap().split(' ').nth(3).unwrap().to_owned()
    };
    // RFC 3561 §6.1, §6.6.1.
    assert_eq!(ask(1, None), "0#0");
    assert_eq!(ask(2, Some(1)), "0#1");
    assert_eq!(ask(3, Some(1)), "0#1");
    assert_eq!(ask(4, Some(7)), "0#7");
    assert_eq!(ask(5, Some(3)), "0#7");
}

#[test]
fn a_full_buffer_evicts_its_oldest_and_packets_expire() {
    let config = AodvConfig { buffer_packets: 3, buffer_timeout: Duration::from_secs(5), ..EXACT };
    let mut net = Net::chain(config, 2);
    let ids: Vec<_> = (0..4).map(|_| net.send(0, 5)).collect();
    assert_eq!(
        net.outcomes,
        [(ids[0], ms(0), PacketOutcome::Dropped(0, DropReason::SendBufferFull))]
    );
    net.run(ms(5000));
    for id in &ids[1..] {
        let end = PacketOutcome::Dropped(0, DropReason::SendBufferTimeout);
        assert!(net.outcomes.contains(&(*id, ms(5000), end)));
    }
}

/// A forwarder is informed of the next route as long as it remembers that it had packets for it, or watches
/// it.
#[test]
fn a_watched_destination_is_reported_after_its_entry_was_deleted() {
    for (after, watches, notified) in [(5, false, true), (60, false, false), (60, true, true)] {
        let mut net = Net::chain(AodvConfig { local_repair: LocalRepair::Off, ..WIDE }, 3);
        net.send(0, 2);
        net.run(ms(1000));
        net.link(1, 2, false);
        net.send(0, 2);
        net.run(ms(1100));
        assert!(
            net.route_events
                .iter()
                .any(|(_, node, event)| (*node, *event) == (1, RouteEvent::Lost(2)))
        );
        if watches {
            net.watch_route(1, 2);
        }
        net.run(ms(1100 + after * 1000));
        net.link(1, 2, true);
        net.route_events.clear();
        for _ in 0..2 {
            net.send(0, 2);
            net.run(net.now + Duration::from_secs(60));
        }
        let found = net
            .route_events
            .iter()
            .filter(|(_, node, event)| (*node, *event) == (1, RouteEvent::Found(2)));
        assert_eq!(found.count() > 0, notified, "{after} s, {watches}: {:?}", net.route_events);
    }
}

/// Node 1's route to 2 has expired; its own reply is its first message since.
#[test]
fn a_reply_is_compared_with_the_route_before_its_sender_was_heard() {
    let mut net = Net::chain(WIDE, 3);
    let first = net.send(0, 2);
    net.run(ms(8000));
    net.log.clear();
    let second = net.send(0, 2);
    net.run(ms(16_000));
    // RFC 3561 §6.7 (iii): the same number, and the route is marked as inactive.
    assert_eq!(
        net.log,
        [
            "8000 0 RREQ 2#1 by 0#2 hops 0 ttl 4",
            "8001 1 RREQ 2#1 by 0#2 hops 1 ttl 3",
            "8002 2 RREP 2#1 for 0 hops 0 life 6000 to 1",
            "8003 1 RREP 2#1 for 0 hops 1 life 6000 to 0",
        ]
    );
    assert_eq!(net.outcomes[0], (first, ms(6), PacketOutcome::Delivered(2)));
    assert_eq!(net.outcomes[1], (second, ms(8006), PacketOutcome::Delivered(2)));
}

/// Requests pass from 1 to 0 and from 5 to 7, packets do not pass back: each search finds a route that the
/// packet cannot take. Its time to live ends that, after as many searches.
#[test]
fn a_packet_that_returns_repeatedly_is_dropped() {
    let mut net = Net::new(AodvConfig { local_repair: LocalRepair::Off, ..EXACT }, 8, 1);
    for (a, b) in [(7, 1), (0, 2), (0, 5)] {
        net.link(a, b, true);
    }
    net.one_way(5, 7, true);
    net.one_way(1, 0, true);
    let ids = [net.send(7, 5), net.send(0, 7)];
    net.run(ms(400_000));
    assert_eq!(net.outcome_of(ids[1]), Some(PacketOutcome::Dropped(0, DropReason::TimeToLive)));
    assert_eq!(net.node(0).stats().discoveries, 64);
    // No requests for 7 are sent any more, so 7 learns of no route that it could try.
    assert_eq!(
        net.outcome_of(ids[0]),
        Some(PacketOutcome::Dropped(7, DropReason::DiscoveryFailed))
    );
    assert!((0..8).all(|node| net.node(node).routes().count() == 0));
}
