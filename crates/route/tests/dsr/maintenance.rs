//! Route maintenance (RFC 4728 §8.3).

use driftway_base::{DropReason, Duration};
use driftway_route::{DsrConfig, NonPropagatingRequests, RoutingProtocol};

use crate::net::{Net, address, ms};

const STANDARD: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::STANDARD };

#[test]
fn a_failed_link_triggers_an_error_and_the_route_is_removed() {
    let mut net = Net::chain(STANDARD, 4);
    net.send(0, 3, 1);
    net.run(ms(1000));
    net.link(2, 3, false);
    net.send(0, 3, 2);
    net.run(ms(1010));
    let errors: Vec<_> = net.errors().map(|s| (s.at, s.from)).collect();
    assert_eq!(errors, [(ms(1004), 2), (ms(1005), 1)]);
    assert_eq!(net.route(0, 3), None);
    assert_eq!(net.route(1, 3), None);
    assert_eq!(net.route(2, 3), None);
    assert_eq!(net.route_events.last(), Some(&(ms(1005), 0, false, address(3))));
    let (at, node, _, reason) = net.dropped[0];
    assert_eq!((at, node, reason), (ms(1003), 2, DropReason::NoRoute));
    net.check_conservation();
}

/// 0 - 1, and from there by 2 or by 4 to 3; node 1 knows both routes.
fn diamond(config: DsrConfig) -> Net {
    let mut net = Net::chain(DsrConfig { jitter: Duration::ZERO, ..config }, 4 + 1);
    net.link(1, 4, true);
    net.send(1, 3, 0);
    net.run(ms(500));
    net.send(0, 3, 0);
    net.run(ms(1000));
    assert_eq!(net.delivered.len(), 2);
    net
}

/// A packet halfway to its destination is rerouted, and its source is notified of the link failure.
#[test]
fn a_packet_is_salvaged() {
    for config in [STANDARD, DsrConfig::NS2] {
        let mut net = diamond(config);
        let first = net.route(0, 3).unwrap()[2];
        let second = 6 - first;
        net.link(1, first, false);
        net.send(0, 3, 2);
        net.run(ms(1100));
        let took: Vec<_> =
            net.data().filter(|s| s.at > ms(1000)).map(|s| (s.from, s.to.unwrap())).collect();
        assert_eq!(took, [(0, 1), (1, first), (1, second), (second, 3)]);
        let failed: Vec<_> = net.data().map(|s| s.failed).collect();
        assert!(failed.ends_with(&[false, true, false, false]));
        assert_eq!(net.delivered.len(), 3);
        assert_eq!(net.nodes[1].stats().salvaged, 1);
        assert_eq!(net.salvaged, [(1, 1)]);
        assert_eq!(net.searches.first(), Some(&(1, net.delivered[0].2.ip.destination)));
        assert_eq!(net.errors().map(|s| (s.from, s.to)).collect::<Vec<_>>(), [(1, Some(0))]);
        assert!(net.route(0, 3).is_none_or(|route| !route.contains(&first)));
        net.check_conservation();
    }
}

/// The size by `hdr_sr::size` of ns-2.35 of a packet with 1,460 bytes over three hops: 20 bytes of IP more, 4
/// and 4 per node but one; a reply 4 + 5 + 4 per node and its route, a request the headers of all its hops;
/// RFC 4728 §6.
#[test]
fn sizes_are_those_of_the_standard_or_of_ns2() {
    let sizes = |config: DsrConfig| {
        let mut net = Net::chain(DsrConfig { flow_state: None, ..config }, 4);
        net.send_tcp(0, 3);
        net.run(ms(1000));
        let last = |sent: &crate::net::Sent| sent.packet.len();
        [
            net.data().map(last).last(),
            net.replies().map(last).last(),
            net.requests().map(last).last(),
        ]
    };
    assert_eq!(sizes(DsrConfig::STANDARD), [Some(1500 + 16), Some(20 + 32), Some(20 + 20)]);
    assert_eq!(sizes(DsrConfig::NS2), [Some(1500 + 20 + 16), Some(20 + 40), Some(20 + 48)]);
}

/// Node 1 forwards for 0 and for 3 when its link to 2 fails with packets of both queued.
#[test]
fn errors_are_sent_to_each_source_or_to_one() {
    for (config, notified) in [(STANDARD, vec![0, 3]), (DsrConfig::NS2, vec![0])] {
        let config =
            DsrConfig { jitter: Duration::ZERO, promiscuous: false, flow_state: None, ..config };
        let mut net = Net::chain(config, 3 + 1);
        net.link(2, 3, false);
        net.link(1, 3, true);
        net.send(0, 2, 1);
        net.run(ms(500));
        net.send(3, 2, 2);
        net.run(ms(1000));
        net.link(1, 2, false);
        net.send(0, 2, 3);
        net.send(0, 2, 4);
        net.send(3, 2, 5);
        net.run(ms(1010));
        let mut sources: Vec<_> =
            net.errors().filter(|s| s.at > ms(1000)).map(|s| s.to.unwrap()).collect();
        sources.sort();
        assert_eq!(sources, notified);
        net.check_conservation();
    }
}

/// RFC 4728 §8.3.5: an error that fails itself is nested in the new one.
#[test]
fn errors_are_nested() {
    let config = DsrConfig { promiscuous: false, snoop_errors: false, ..STANDARD };
    let mut net = Net::chain(config, 5);
    net.send(0, 4, 1);
    net.run(ms(1000));
    net.link(3, 4, false);
    // The error of 3 goes by 2 and 1 to 0, and 1 cannot reach 0; 2 is notified of that, and no other node.
    net.loses = Box::new(|packet| {
        packet.packet.ip.source == address(3)
            && packet.dsr.is_some_and(|dsr| {
                let last = dsr.source_route.is_some_and(|route| route.segments_left == 0);
                last && dsr.errors[0].is_some()
            })
    });
    net.send(0, 4, 2);
    net.run(ms(1020));
    let nested: Vec<_> = net
        .errors()
        .filter(|s| s.packet.dsr.unwrap().errors[1].is_some())
        .map(|s| (s.from, s.to.unwrap(), s.packet.dsr.unwrap().errors))
        .collect();
    // Node 1 notifies 3, the originator of the error, on the reverse route.
    let (from, to, errors) = nested[0];
    assert_eq!((from, to), (1, 2));
    let [Some(outer), Some(inner), None] = errors else { panic!("{errors:?}") };
    assert_eq!((outer.source, outer.destination), (address(1), address(3)));
    assert_eq!((inner.source, inner.destination), (address(3), address(0)));
    // Node 3 extracts it and looks for another route to 0.
    let asked = net.requests().find(|s| s.from == 3 && s.at > ms(1000)).unwrap();
    assert_eq!(asked.packet.dsr.unwrap().request().unwrap().target, address(0));
    net.loses = Box::new(|_| false);
    net.run(ms(2000));
    assert_eq!(net.route(0, 4), None, "the error arrives in the end");
    net.check_conservation();
}

/// RFC 4728 §3.4.4: the next request carries the last error; a neighbour that would have replied with the
/// failed link does not.
#[test]
fn an_error_is_piggybacked_on_the_next_request() {
    for (spread, answers) in [(Some(Duration::MAX), 0), (None, 1)] {
        let config = DsrConfig { spread_error: spread, promiscuous: false, ..STANDARD };
        // Node 4, a neighbour of 0 and 1, knows a route over 1 and 2 to 3.
        let mut net = Net::chain(config, 5);
        net.link(3, 4, false);
        net.link(1, 4, true);
        net.link(0, 4, true);
        net.send(4, 3, 1);
        net.run(ms(500));
        net.send(0, 3, 2);
        net.run(ms(1000));
        net.link(2, 3, false);
        net.link(0, 4, false);
        net.send(0, 3, 3);
        net.run(ms(1003));
        net.link(0, 4, true);
        net.run(ms(1100));
        let before = net.nodes[4].stats().replies_from_cache;
        net.send(0, 3, 4);
        net.run(ms(1150));
        let request = net.requests().filter(|s| s.from == 0).last().unwrap();
        let error = request.packet.dsr.unwrap().errors[0];
        assert_eq!(error.is_some(), spread.is_some());
        assert_eq!(net.nodes[4].stats().replies_from_cache - before, answers);
        net.check_conservation();
    }
}

/// ns-2.35: a forwarder without another route buffers the packet, sends one non-propagating request, and
/// sends the packet if it learns of a route. That is a route discovery, which may fail.
#[test]
fn a_forwarder_may_buffer_a_packet() {
    for (requests, is_found, delivered) in [(1, true, 2), (1, false, 1), (0, true, 1)] {
        let config = DsrConfig {
            jitter: Duration::ZERO,
            promiscuous: false,
            salvage_requests: requests,
            flow_state: None,
            ..DsrConfig::NS2
        };
        // 0 - 1 - 2 - 3, and 4 with links to 1 and 3, still unknown to all.
        let mut net = Net::chain(config, 5);
        net.link(3, 4, false);
        net.send(0, 3, 1);
        net.run(ms(500));
        net.link(3, 4, true);
        net.send(4, 3, 9);
        net.run(ms(900));
        net.delivered.clear();
        net.dropped.clear();
        net.link(1, 4, is_found);
        net.link(1, 2, false);
        let before = net.sent.len();
        net.send(0, 3, 2);
        net.run(ms(3000));
        let asked = net.sent[before..]
            .iter()
            .filter(|s| s.from == 1 && s.packet.dsr.is_some_and(|dsr| dsr.request().is_some()))
            .map(|s| s.packet.packet.ip.ttl);
        assert!(asked.eq((0..requests).map(|_| 1)), "non-propagating");
        assert_eq!(net.streams().len() + 1, delivered);
        let stats = net.nodes[1].stats();
        assert_eq!(stats.discoveries, u64::from(requests));
        assert_eq!(stats.failed_discoveries, u64::from(requests) - (delivered - 1) as u64);
        if delivered == 1 {
            assert_eq!(net.dropped[0].3, DropReason::NoRoute);
        }
    }
}

/// A node is informed of the next route to the destination of forwarded packets, if requested; other routes
/// are not reported.
#[test]
fn a_watched_destination_is_reported_once() {
    for (watches, notified) in [(false, 0), (true, 1)] {
        let mut net = Net::chain(STANDARD, 4);
        net.send(0, 3, 1);
        net.run(ms(1000));
        net.link(2, 3, false);
        net.send(0, 3, 2);
        net.run(ms(2000));
        if watches {
            net.nodes[2].watch_route(address(3));
        }
        net.run(ms(20_000));
        net.link(2, 3, true);
        net.route_events.clear();
        net.send(0, 3, 3);
        net.run(ms(60_000));
        assert!(net.streams().contains(&3));
        let events: Vec<_> = net.route_events.iter().filter(|(_, node, ..)| *node == 2).collect();
        assert_eq!(events.len(), notified, "{events:?}");
        assert!(events.iter().all(|(_, _, found, to)| *found && *to == address(3)));
    }
}

/// Without nesting, an error that fails does not carry the error that it was about.
#[test]
fn nesting_is_optional() {
    let config = DsrConfig { promiscuous: false, snoop_errors: false, ..STANDARD };
    for nest_errors in [true, false] {
        let mut net = Net::chain(DsrConfig { nest_errors, ..config }, 5);
        net.send(0, 4, 1);
        net.run(ms(1000));
        net.link(3, 4, false);
        net.loses = Box::new(|packet| {
            let dsr = packet.dsr.as_ref();
            packet.packet.ip.source == address(3)
                && dsr.is_some_and(|dsr| {
                    let route = dsr.source_route.as_ref();
                    dsr.errors[0].is_some() && route.is_some_and(|route| route.segments_left == 0)
                })
        });
        net.send(0, 4, 2);
        net.run(ms(1020));
        let errors = || net.errors().map(|sent| sent.packet.dsr.unwrap().errors);
        assert_eq!(errors().any(|errors| errors[1].is_some()), nest_errors);
        let nested: u64 = net.nodes.iter().map(|node| node.stats().nested_errors).sum();
        assert_eq!(nested > 0, nest_errors);
        let twice = errors().filter(|errors| errors[0].unwrap().source == address(1)).count();
        assert!(twice > 0, "no nested error");
    }
}

/// 0 - 1 - 2 - 3 and 0 - 4 - 5 - 3: the link from 2 to 3 has failed, and 0 piggybacks the error on its next
/// request. Node 4 answers that from its cache; the error is forwarded to the target (RFC 4728 §8.2.3), and
/// the nodes on that route are informed.
#[test]
fn an_error_on_a_request_answered_from_a_cache_is_forwarded() {
    for forward_answered in [true, false] {
        let config = DsrConfig {
            promiscuous: false,
            ring_zero: NonPropagatingRequests::Never,
            forward_answered,
            ..STANDARD
        };
        let mut net = Net::chain(config, 6);
        net.link(3, 4, false);
        net.send(0, 3, 1);
        net.run(ms(1000));
        // 4 knows a route, and 5 knows the link that fails next.
        net.link(5, 3, true);
        net.send(4, 3, 2);
        net.run(ms(1500));
        net.send(5, 2, 3);
        net.run(ms(2000));
        assert_eq!(net.route(5, 2), Some(vec![5, 3, 2]));
        net.link(2, 3, false);
        net.send(0, 3, 4);
        net.run(ms(2010));
        net.link(0, 4, true);
        net.send(0, 3, 5);
        net.run(ms(4000));
        assert_eq!(net.nodes[4].stats().replies_from_cache, 1);
        assert_eq!(net.streams(), [1, 2, 3, 5]);
        let rest = net.errors().filter(|s| s.packet.packet.ip.source == address(0));
        let rest: Vec<_> = rest.map(|s| (s.from, s.to, s.packet.packet.ip.destination)).collect();
        if forward_answered {
            assert_eq!(rest, [(4, Some(5), address(3)), (5, Some(3), address(3))]);
            assert_eq!(net.route(5, 2), None);
        } else {
            assert_eq!(rest, []);
            assert_eq!(net.route(5, 2), Some(vec![5, 3, 2]));
        }
        net.check_conservation();
    }
}

/// An error about an undeliverable packet is sent if there is a route; it does not justify flooding the whole
/// network.
#[test]
fn an_icmp_error_starts_no_route_discovery() {
    let mut net = Net::chain(STANDARD, 4);
    net.send_unreachable(2, 0);
    net.run(ms(1000));
    assert_eq!(net.requests().count(), 0);
    assert_eq!((net.dropped.len(), net.dropped[0].3), (1, DropReason::NoRoute));
    net.send(0, 3, 1);
    net.run(ms(2000));
    net.send_unreachable(2, 0);
    net.run(ms(3000));
    assert_eq!(net.delivered.len(), 2, "with a route it is sent");
    // Its link fails: it is rerouted, or lost.
    net.link(2, 1, false);
    let requests = net.requests().count();
    net.send_unreachable(2, 0);
    net.run(ms(4000));
    assert_eq!(net.requests().count(), requests);
    assert_eq!(net.dropped.last().map(|drop| drop.3), Some(DropReason::NoRoute));
    net.check_conservation();
}
