//! Route discovery (RFC 4728 §8.2).

use driftway_base::Duration;
use driftway_route::DsrConfig;

use crate::net::{Net, address, ms};

const STANDARD: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::STANDARD };

/// A non-propagating request; after 30 ms a propagating one; the reply; the packet.
#[test]
fn a_route_is_discovered_and_used() {
    let mut net = Net::chain(STANDARD, 4);
    net.send(0, 3, 7);
    net.run(ms(29));
    assert_eq!(net.requests().map(|s| (s.at, s.from)).collect::<Vec<_>>(), [(ms(1), 0)]);
    net.run(ms(100));
    // Three hops of request, three of reply, three of data, a millisecond each, from 30 ms on.
    let requests: Vec<_> = net.requests().map(|s| (s.at, s.from)).collect();
    assert_eq!(requests, [(ms(1), 0), (ms(31), 0), (ms(32), 1), (ms(33), 2)]);
    let replies: Vec<_> = net.replies().map(|s| (s.at, s.from)).collect();
    assert_eq!(replies, [(ms(34), 3), (ms(35), 2), (ms(36), 1)]);
    let data: Vec<_> = net.data().map(|s| (s.at, s.from)).collect();
    assert_eq!(data, [(ms(37), 0), (ms(38), 1), (ms(39), 2)]);
    assert_eq!(net.streams(), [7]);
    assert_eq!(net.route(0, 3), Some(vec![0, 1, 2, 3]));
    assert_eq!(net.route_events, [(ms(36), 0, true, address(3))]);
    net.check_conservation();
}

/// ns-2.35: intervals of 2, 8, 10, 10 s; a packet is buffered for 30 s.
#[test]
fn requests_back_off() {
    let mut net = Net::chain(DsrConfig::NS2, 2);
    net.send(0, 5, 1);
    net.run(ms(40_000));
    let own = net.requests().filter(|s| s.from == 0);
    let times: Vec<_> = own.map(|s| s.at.as_secs_f64()).collect();
    // Each a non-propagating request, and a propagating one 30 to 90 ms later.
    let rings: Vec<_> = times.chunks(2).map(|pair| pair[0]).collect();
    for (time, due) in rings.iter().zip([0.0, 2.0, 10.0, 20.0]) {
        assert!((due..due + 0.3).contains(time), "{times:?}");
    }
    assert_eq!(rings.len(), 4);
    assert!(times.chunks(2).all(|pair| (0.02..0.11).contains(&(pair[1] - pair[0]))), "{times:?}");
    let (at, _, _, reason) = net.dropped[0];
    assert_eq!(reason, driftway_base::DropReason::SendBufferTimeout);
    assert!((30.0..30.1).contains(&at.as_secs_f64()));
    net.check_conservation();

    // RFC 4728: after 30 ms, then 0.5, 1, 2, 4, 8, 10 s.
    let mut net = Net::chain(STANDARD, 2);
    net.send(0, 5, 1);
    net.run(ms(40_000));
    let own = net.requests().filter(|s| s.from == 0);
    let times: Vec<_> = own.map(|s| s.at.as_millis() - 1).collect();
    assert_eq!(times, [0, 30, 530, 1530, 3530, 7530, 15530, 25530]);
    assert_eq!(net.dropped[0].0, ms(30_000));
}

/// ns-2.35: the requests of a chain of four have 32, 48 and 68 bytes, each with the header of the previous
/// one; those of RFC 4728 §6.2 grow by one address.
#[test]
fn a_request_of_ns_2_accumulates_its_headers() {
    let sizes = |config| {
        let mut net = Net::chain(config, 4);
        net.send(0, 3, 1);
        net.run(ms(500));
        let far = net.requests().filter(|s| s.packet.packet.ip.ttl > 1);
        far.map(|s| (s.from, s.packet.len())).collect::<Vec<_>>()
    };
    assert_eq!(sizes(DsrConfig::NS2), [(0, 32), (1, 48), (2, 68)]);
    assert_eq!(sizes(STANDARD), [(0, 32), (1, 36), (2, 40)]);
}
