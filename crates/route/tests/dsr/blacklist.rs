//! Unidirectional links (RFC 4728 §4.6, §8.2.2).

use driftway_base::Duration;
use driftway_route::{DsrConfig, NonPropagatingRequests, ReplyFromCache};

use crate::net::{Net, Sent, address, ms};

const PLAIN: DsrConfig = DsrConfig {
    promiscuous: false,
    ring_zero: NonPropagatingRequests::Never,
    reply_from_cache: ReplyFromCache::Never,
    answer_every_copy: false,
    ..DsrConfig::STANDARD
};

/// 0 - 1 - 2, where 1 hears 0 but not vice versa, and 0 - 3 - 4 - 2.
fn net(config: DsrConfig) -> Net {
    let mut net = Net::new(config, 5, 1);
    for (a, b) in [(1, 2), (0, 3), (3, 4), (4, 2)] {
        net.link(a, b, true);
    }
    net.hears[0][1] = true;
    net
}

/// The number of requests from node 0 that node 1 has forwarded.
fn passed_on(net: &Net) -> usize {
    let only_hop = |sent: &&Sent| {
        let request = sent.packet.dsr.as_ref().and_then(|dsr| dsr.request());
        request.is_some_and(|request| request.route.as_slice() == [address(1)])
    };
    net.requests().filter(only_hop).count()
}

#[test]
fn requests_of_a_blacklisted_neighbour_are_not_forwarded() {
    let mut net = net(PLAIN);
    net.send(0, 2, 1);
    net.run(ms(400));
    assert_eq!((passed_on(&net), net.replies().count()), (1, 2), "it reached node 1, no farther");
    net.run(ms(2000));
    assert_eq!((passed_on(&net), net.streams()), (1, vec![1]), "the second took the other route");
    assert_eq!(net.route(0, 2), Some(vec![0, 3, 4, 2]));
    net.check_conservation();
}

#[test]
fn without_a_blacklist_each_search_fails_there() {
    let mut net = net(DsrConfig { blacklist_timeout: Duration::ZERO, ..PLAIN });
    net.send(0, 2, 1);
    net.run(ms(2000));
    assert_eq!((passed_on(&net), net.streams()), (3, vec![]));
}

#[test]
fn its_requests_for_this_node_itself_are_answered() {
    let mut net = net(PLAIN);
    net.send(0, 2, 1);
    net.run(ms(2000));
    net.hears[1][0] = true;
    net.send(0, 1, 2);
    net.run(ms(3000));
    assert_eq!(net.streams(), [1, 2]);
}

#[test]
fn a_neighbour_that_forwards_a_request_of_this_node_is_removed() {
    for (heard, forwarded) in [(false, 0), (true, 1)] {
        let mut net = net(PLAIN);
        net.send(0, 2, 1);
        net.run(ms(2000));
        net.link(0, 1, true);
        if heard {
            // No node has that address; node 0 forwards the request.
            net.send(1, 9, 2);
            net.run(ms(2050));
        }
        let before = passed_on(&net);
        net.send(0, 8, 3);
        net.run(ms(2400));
        assert_eq!(passed_on(&net) - before, forwarded);
    }
}

#[test]
fn entries_expire() {
    let mut net = net(PLAIN);
    net.send(0, 2, 1);
    net.run(ms(2000));
    let before = passed_on(&net);
    net.send(0, 8, 2);
    net.run(ms(5000));
    assert_eq!(passed_on(&net), before);
    net.run(ms(10_000));
    assert!(passed_on(&net) > before);
}
