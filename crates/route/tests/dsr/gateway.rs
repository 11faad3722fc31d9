//! Gateways to hosts outside the ad hoc network (RFC 4728 §4.1, §6.3, §6.7).

use driftway_base::Duration;
use driftway_route::{
    CacheKind, CacheLimits, DsrConfig, NextHopConfirmation, NonPropagatingRequests,
    RoutingProtocol, UpdateOptions,
};

use crate::net::{Net, address, ms};

/// An external host, not a node of the network.
const HOST: usize = 50;

const STANDARD: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::STANDARD };

/// Each cache, with both sets of constants, and each kind of maintenance.
fn configs() -> Vec<DsrConfig> {
    let limits =
        CacheLimits { primary: 30, secondary: 64, timeout: Some(Duration::from_secs(300)) };
    let caches = [
        CacheKind::LINK_MAX_LIFE,
        CacheKind::paths(limits),
        CacheKind::update(UpdateOptions::PAPER),
    ];
    let mut all = Vec::new();
    for cache in caches {
        for base in [STANDARD, DsrConfig::NS2] {
            let config = DsrConfig { cache, ..base };
            all.extend([
                config,
                DsrConfig { confirm: NextHopConfirmation::NetworkLayer, ..config },
                DsrConfig { elfn: true, epln: true, bead: true, relay_notices: true, ..config },
            ]);
        }
    }
    all
}

/// A chain of 0, 1 and 2, with a gateway at its end.
fn chain(config: DsrConfig) -> Net {
    let mut net = Net::chain(config, 3);
    net.nodes[2].add_external(address(HOST));
    net
}

/// The streams delivered at a node.
fn streams_at(net: &Net, node: usize) -> Vec<u32> {
    let here = net.delivered.iter().filter(|(_, at, _)| *at == node);
    here.map(|(_, _, packet)| packet.payload().stream).collect()
}

#[test]
fn the_gateway_answers_with_an_external_last_hop() {
    let mut net = chain(STANDARD);
    net.send(0, HOST, 7);
    net.run(ms(1000));
    let replies: Vec<_> = net.replies().map(|s| (s.from, s.packet.dsr.unwrap())).collect();
    let reply = replies[0].1.reply.unwrap();
    assert_eq!(replies.iter().map(|(from, _)| *from).collect::<Vec<_>>(), [2, 1]);
    assert!(reply.last_hop_external);
    assert_eq!(reply.route.as_slice(), [1, 2, HOST].map(address));
    assert_eq!(net.route(0, HOST), Some(vec![0, 1, 2, HOST]));
    let data: Vec<_> = net.data().collect();
    assert_eq!(
        data.iter().map(|s| (s.from, s.to)).collect::<Vec<_>>(),
        [(0, Some(1)), (1, Some(2))]
    );
    assert!(data.iter().all(|s| s.packet.dsr.unwrap().source_route.unwrap().last_hop_external));
    // Not decremented at the gateway: one forwarder.
    let (_, at, packet) = net.delivered[0];
    assert_eq!((at, packet.ip.ttl), (2, data[0].packet.packet.ip.ttl - 1));
    net.check_conservation();
}

#[test]
fn packets_and_answers_pass_with_every_cache() {
    for config in configs() {
        for external_first in [false, true] {
            let mut net = chain(config);
            for id in 0..8 {
                if (id % 2 == 0) == external_first {
                    net.send_external(2, HOST, 0, id);
                } else {
                    net.send(0, HOST, id);
                }
                net.run(ms(3000 * u64::from(id + 1)));
            }
            let there: Vec<_> = (0..8).filter(|id| (id % 2 == 0) != external_first).collect();
            let back: Vec<_> = (0..8).filter(|id| (id % 2 == 0) == external_first).collect();
            assert_eq!(streams_at(&net, 2), there, "{config:?}");
            assert_eq!(streams_at(&net, 0), back, "{config:?}");
            assert!(net.errors().next().is_none() && net.signals.is_empty(), "{config:?}");
            net.check_conservation();
        }
    }
}

/// The first hop is external, and the receiver learns the way back through the gateway.
#[test]
fn the_answer_needs_no_discovery() {
    let mut net = chain(STANDARD);
    net.send_external(2, HOST, 0, 1);
    net.run(ms(1000));
    assert_eq!(net.searches, [(2, address(0))]);
    assert!(net.data().all(|s| s.packet.dsr.unwrap().source_route.unwrap().first_hop_external));
    let before = net.requests().count();
    net.send(0, HOST, 2);
    net.run(ms(2000));
    assert_eq!(net.streams(), [1, 2]);
    assert_eq!((net.requests().count(), net.searches.len()), (before, 1));
}

/// Node 3 asks for the same host: node 0 has a route and does not answer.
#[test]
fn an_external_hop_is_not_in_a_reply_from_a_cache() {
    for cache in [CacheKind::LINK_MAX_LIFE, CacheKind::update(UpdateOptions::PAPER)] {
        let ring_zero = NonPropagatingRequests::Never;
        let mut net = Net::new(DsrConfig { cache, ring_zero, ..STANDARD }, 4, 1);
        for (a, b) in [(0, 1), (1, 2), (0, 3)] {
            net.link(a, b, true);
        }
        net.nodes[2].add_external(address(HOST));
        net.send(0, HOST, 1);
        net.run(ms(1000));
        net.send(3, HOST, 2);
        net.run(ms(2000));
        assert_eq!(streams_at(&net, 2), [1, 2]);
        assert!(net.nodes.iter().all(|node| node.stats().replies_from_cache == 0));
    }
}

#[test]
fn an_unknown_address_is_not_answered() {
    let mut net = chain(STANDARD);
    net.send(0, HOST + 1, 1);
    net.run(ms(40_000));
    assert_eq!((net.replies().count(), net.delivered.len(), net.dropped.len()), (0, 0, 1));
}

/// The link to the gateway breaks and comes back; the gateway gets the error about the host's packet.
#[test]
fn both_directions_recover_from_a_link_failure() {
    for config in configs() {
        for broken in [(0, 1), (1, 2)] {
            let mut net = chain(config);
            net.send(0, HOST, 1);
            net.run(ms(3000));
            net.send_external(2, HOST, 0, 2);
            net.run(ms(6000));
            net.link(broken.0, broken.1, false);
            net.send(0, HOST, 3);
            net.send_external(2, HOST, 0, 4);
            net.run(ms(12_000));
            net.link(broken.0, broken.1, true);
            net.run(ms(60_000));
            net.send(0, HOST, 5);
            net.run(ms(90_000));
            net.send_external(2, HOST, 0, 6);
            net.run(ms(120_000));
            assert!(streams_at(&net, 2).contains(&5), "{config:?}");
            assert!(streams_at(&net, 0).contains(&6), "{config:?}");
            let to_host = net.errors().filter(|s| s.to == Some(HOST)).count();
            assert_eq!(to_host, 0, "an error left the network");
            assert!(net.sent.iter().all(|s| s.to != Some(HOST)), "{config:?}");
            assert!(net.signals.is_empty());
            net.check_conservation();
        }
    }
}

/// Nodes 2 and 3 are gateways of the same host: no route leads through the host.
#[test]
fn a_second_gateway_takes_over() {
    for config in configs() {
        let mut net = Net::new(config, 5, 1);
        for (a, b) in [(0, 1), (1, 2), (3, 4)] {
            net.link(a, b, true);
        }
        net.nodes[2].add_external(address(HOST));
        net.nodes[3].add_external(address(HOST));
        net.send(0, HOST, 1);
        net.send(4, HOST, 2);
        net.send_external(3, HOST, 4, 3);
        net.run(ms(5000));
        assert_eq!((streams_at(&net, 2), streams_at(&net, 3)), (vec![1], vec![2]));
        net.link(1, 3, true);
        net.send_external(3, HOST, 0, 4);
        net.run(ms(30_000));
        net.link(1, 2, false);
        net.send(0, HOST, 5);
        net.run(ms(60_000));
        net.send(0, HOST, 6);
        net.run(ms(90_000));
        net.send(0, 4, 7);
        net.run(ms(120_000));
        assert!(streams_at(&net, 3).contains(&6), "{config:?}");
        assert!(streams_at(&net, 0).contains(&4) && streams_at(&net, 4).contains(&7), "{config:?}");
        for node in 0..5 {
            for other in 0..5 {
                let route = net.route(node, other).unwrap_or_default();
                assert!(!route.contains(&HOST), "{route:?}");
            }
        }
        net.check_conservation();
    }
}

/// Lost segments of the external host are reported to the gateway at most: no connection ends there.
#[test]
fn losses_of_an_external_host_are_no_signals() {
    for config in configs() {
        for broken in [(0, 1), (1, 2)] {
            let mut net = chain(config);
            net.send_external_segment(2, HOST, 0, 0);
            net.run(ms(3000));
            net.link(broken.0, broken.1, false);
            for seq in 1..5 {
                net.send_external_segment(2, HOST, 0, 100 * seq);
            }
            net.run(ms(60_000));
            assert!(net.signals.is_empty(), "{config:?}");
            assert!(net.sent.iter().all(|s| s.to != Some(HOST)), "{config:?}");
            net.check_conservation();
        }
    }
}
