//! Route maintenance (RFC 4728 §8.3).

use base::Duration;
use route::{DropReason, DsrConfig};

use crate::net::{Net, address, ms};

const STANDARD: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::STANDARD };

#[test]
fn a_failed_link_draws_an_error_and_the_route_is_gone() {
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
    assert_eq!(net.news.last(), Some(&(ms(1005), 0, false, address(3))));
    let (at, node, _, reason) = net.dropped[0];
    assert_eq!((at, node, reason), (ms(1003), 2, DropReason::NoRoute));
    net.balance();
}

/// 0 - 1, and from there by 2 or by 4 to 3; node 1 knows both ways.
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

/// A packet that has come half of the way takes another, and its source learns of the link.
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
        assert_eq!(net.errors().map(|s| (s.from, s.to)).collect::<Vec<_>>(), [(1, Some(0))]);
        assert!(net.route(0, 3).is_none_or(|route| !route.contains(&first)));
        net.balance();
    }
}

/// What `hdr_sr::size` of ns-2.35 makes of a packet with 1,460 bytes over three hops: 20 bytes of IP
/// more, 4 and 4 a node but one; a reply 4 + 5 + 4 a node and its route; RFC 4728 §6 below it.
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
    assert_eq!(sizes(DsrConfig::NS2), [Some(1500 + 20 + 16), Some(20 + 40), Some(20 + 20)]);
}
