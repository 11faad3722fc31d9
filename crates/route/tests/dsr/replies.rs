//! Replies from caches, route shortening, and overhearing.

use driftway_base::Duration;
use driftway_route::{DsrConfig, ReplyFromCache, RoutingProtocol};

use crate::net::{Net, Sent, address, ms};

const STANDARD: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::STANDARD };
const NS2: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::NS2 };

fn hops(sent: impl Iterator<Item = Sent>) -> Vec<(u64, usize, Option<usize>)> {
    sent.map(|s| (s.at.as_millis(), s.from, s.to)).collect()
}

/// Node 1 knows the route to 3, so that a non-propagating request is enough for node 0.
#[test]
fn a_neighbour_replies_from_its_cache() {
    for config in [STANDARD, NS2] {
        let mut net = Net::chain(DsrConfig { promiscuous: false, ..config }, 4);
        net.send(1, 3, 1);
        net.run(ms(1000));
        let before = net.sent.len();
        net.send(0, 3, 2);
        net.run(ms(1010));
        let sent = net.sent[before..].iter().copied();
        assert_eq!(
            hops(sent),
            [
                (1001, 0, None),
                (1002, 1, Some(0)),
                (1003, 0, Some(1)),
                (1004, 1, Some(2)),
                (1005, 2, Some(3))
            ]
        );
        assert_eq!(net.nodes[1].stats().replies_from_cache, 1);
    }
    let config =
        DsrConfig { promiscuous: false, reply_from_cache: ReplyFromCache::Never, ..STANDARD };
    let mut net = Net::chain(config, 4);
    net.send(1, 3, 1);
    net.run(ms(1000));
    net.send(0, 3, 2);
    net.run(ms(2000));
    assert_eq!(net.nodes[1].stats().replies_from_cache, 0);
    assert_eq!(net.replies().filter(|s| s.at > ms(1000)).map(|s| s.from).next(), Some(3));
}

/// RFC 4728 §8.2.4: the request reaches the target on both sides of a diamond.
#[test]
fn a_target_answers_every_copy() {
    for (every, answers) in [(true, 2), (false, 1)] {
        let config = DsrConfig { answer_every_copy: every, ..STANDARD };
        let mut net = Net::new(config, 4, 1);
        for (a, b) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            net.link(a, b, true);
        }
        net.send(0, 3, 1);
        net.run(ms(100));
        assert_eq!(net.replies().filter(|s| s.from == 3).count(), answers);
        // Both relays forward the request once, whatever they hear of each other.
        let relayed: Vec<_> = net.requests().filter(|s| s.from != 0).map(|s| s.from).collect();
        assert_eq!(relayed, [1, 2]);
    }
}

/// RFC 4728 §3.4.3: 0 - 1 - 2 - 3, and 3 comes into range of 1. ns-2.35 stores the time in the next entry, so
/// that a route triggers two replies within the hold-off, and no third.
#[test]
fn a_route_is_shortened() {
    for (config, most) in [
        (STANDARD, 1),
        (DsrConfig { flow_state: None, ..NS2 }, 2),
        (DsrConfig { shorten: None, ..STANDARD }, 0),
    ] {
        let mut net = Net::chain(config, 4);
        net.send(0, 3, 1);
        net.run(ms(1000));
        net.link(1, 3, true);
        // All five have their route before the first reply arrives.
        (0..5).for_each(|i| net.send(0, 3, 2 + i));
        net.run(ms(2000));
        let replies = net.replies().filter(|s| s.at > ms(1000));
        let shortened: Vec<_> = replies.copied().filter(|s| s.from == 3).collect();
        assert_eq!(shortened.len(), most, "{:?}", config.shorten);
        for reply in shortened {
            let dsr = reply.packet.dsr.unwrap();
            assert_eq!(reply.packet.packet.ip.destination, address(0));
            assert_eq!(dsr.reply.unwrap().route.as_slice(), [address(1), address(3)]);
            assert_eq!(reply.to, Some(1), "over the overheard sender");
        }
        net.send(0, 3, 51);
        net.run(ms(4000));
        let last: Vec<_> = net.data().filter(|s| s.at > ms(2000)).map(|s| s.from).collect();
        assert_eq!(last, if most > 0 { vec![0, 1] } else { vec![0, 1, 2] });
    }
}

/// Node 4 overhears 1 sending to 2 and learns a route to 3.
#[test]
fn overheard_routes_are_learned() {
    for config in [STANDARD, NS2] {
        for tap in [true, false] {
            let mut net = Net::chain(DsrConfig { promiscuous: tap, ..config }, 5);
            net.link(3, 4, false);
            net.send(0, 3, 1);
            net.run(ms(500));
            net.link(1, 4, true);
            net.send(0, 3, 2);
            net.run(ms(600));
            let route = net.route(4, 3);
            assert_eq!(route, tap.then(|| vec![4, 1, 2, 3]));
        }
    }
}

/// yu-2004 §2.1 and RFC 4728: a node that forwards a reply caches the route; in ns-2.35 one that forwards a
/// packet.
#[test]
fn a_forwarder_learns_from_the_reply_or_from_the_packet() {
    for (config, after_reply) in [(STANDARD, true), (NS2, false)] {
        let mut net = Net::chain(DsrConfig { promiscuous: false, ..config }, 4);
        net.send(0, 3, 1);
        while net.replies().count() < 3 {
            net.run(net.now + Duration::from_micros(100));
        }
        assert_eq!(net.data().count(), 0);
        assert_eq!(net.route(1, 3).is_some(), after_reply);
    }
}

/// RFC 4728 §8.1.4: a node that overhears a reply "SHOULD extract the source route from the Route Reply and
/// add this routing information to its Route Cache". Node 4 overhears a reply from the cache of 1 to 0.
#[test]
fn an_overheard_reply_teaches_links_of_other_routes() {
    for route_to_neighbour in [false, true] {
        let mut net = Net::chain(DsrConfig { route_to_neighbour, ..STANDARD }, 5);
        net.link(3, 4, false);
        net.link(0, 1, false);
        net.send(1, 3, 1);
        net.run(ms(500));
        net.link(0, 1, true);
        net.link(1, 4, true);
        net.send(4, 1, 2);
        net.run(ms(1000));
        assert_eq!(net.route(4, 1), Some(vec![4, 1]));
        assert_eq!(net.route(4, 3), None);
        net.send(0, 3, 3);
        net.run(ms(1002));
        assert_eq!(net.replies().last().map(|s| (s.from, s.to)), Some((1, Some(0))));
        assert_eq!(net.route(4, 3), Some(vec![4, 1, 2, 3]));
    }
}

/// ns-2.35 sends buffered packets 30 ms apart when a reply releases them.
#[test]
fn buffered_packets_leave_in_order() {
    for (config, gap) in [(STANDARD, 1), (NS2, 30)] {
        let mut net = Net::chain(config, 2);
        (0..4).for_each(|i| net.send(0, 1, i));
        net.run(ms(500));
        let times: Vec<_> = net.data().map(|s| s.at.as_millis()).collect();
        assert_eq!(times, [0, 1, 2, 3].map(|i| times[0] + gap * i));
        assert_eq!(net.streams(), [0, 1, 2, 3]);
    }
}

/// RFC 4728 §8.2.5: nodes 1 and 2 know routes of one and of two hops more; the longer one is delayed longer,
/// and is canceled when the initiator is heard to use the other.
#[test]
fn a_reply_that_is_no_better_is_canceled() {
    let answers = |delay: Option<Duration>| {
        let mut net = Net::new(DsrConfig { reply_delay: delay, ..STANDARD }, 5, 1);
        for (a, b) in [(1, 3), (2, 4), (4, 3)] {
            net.link(a, b, true);
        }
        net.send(1, 3, 1);
        net.send(2, 3, 2);
        net.run(ms(1000));
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            net.link(a, b, true);
        }
        net.send(0, 3, 3);
        net.run(ms(2000));
        assert_eq!(net.streams(), [1, 2, 3]);
        let answers = net.replies().filter(|s| s.at > ms(1000) && s.to == Some(0));
        answers.map(|s| s.from).collect::<Vec<_>>()
    };
    assert_eq!(answers(None), [1, 2]);
    assert_eq!(answers(Some(Duration::from_millis(20))), [1]);
}
