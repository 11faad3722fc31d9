//! Flow state (RFC 4728 §3.5).

use driftway_base::Duration;
use driftway_route::DsrConfig;
use driftway_wire::DsrErrorKind;

use crate::net::{Net, Sent, ms};

const NS2: DsrConfig = DsrConfig { jitter: Duration::ZERO, ..DsrConfig::NS2 };

/// Bytes of header beyond the 1,520 of the packet.
fn header(sent: &Sent) -> u32 {
    sent.packet.len() - 1520
}

/// Three packets carry the route (4 fixed, 4 per node but one, 4 timeout, 4 flow), then none does, except one
/// every five seconds.
#[test]
fn a_flow_is_established_and_then_carries_packets_without_a_header() {
    let mut net = Net::chain(NS2, 4);
    net.send_tcp(0, 3);
    net.run(ms(1000));
    for i in 1..16 {
        net.send_tcp(0, 3);
        net.run(ms(1000 + 500 * i));
    }
    assert_eq!(net.delivered.len(), 16);
    let of_first: Vec<_> = net.data().filter(|s| s.from == 0).map(header).collect();
    let (route, none) = (4 + 12 + 4 + 4, 0);
    let mut expected = vec![none; 16];
    // Those of 0 s (answered within 0.2 s), 1 s, 1.5 s; and of 7 s, more than 5 s after that.
    for with_route in [0, 1, 2, 13] {
        expected[with_route] = route;
    }
    assert_eq!(of_first, expected);
    let of_second: Vec<_> = net.data().filter(|s| s.from == 1).map(header).collect();
    assert_eq!(of_second, of_first);
    net.check_conservation();
}

#[test]
fn a_packet_on_a_flow_whose_link_fails_triggers_an_error_and_is_salvaged() {
    let mut net = Net::chain(NS2, 5);
    net.link(1, 4, true);
    net.send(1, 3, 0);
    net.run(ms(500));
    for i in 1..5 {
        net.send(0, 3, i);
        net.run(ms(500 + 100 * u64::from(i)));
    }
    assert_eq!(net.delivered.len(), 5);
    let first = net.data().last().unwrap().from;
    assert_eq!(net.data().last().unwrap().packet.dsr, None, "it is on a flow");
    net.link(1, first, false);
    net.send(0, 3, 9);
    net.run(ms(1500));
    assert_eq!(net.streams().last(), Some(&9));
    let salvaged = net.data().last().unwrap();
    assert_eq!(salvaged.packet.dsr.unwrap().source_route.unwrap().salvage, 1);
    assert_eq!(salvaged.packet.dsr.unwrap().flow, None);
    assert_eq!(net.errors().map(|s| (s.from, s.to)).collect::<Vec<_>>(), [(1, Some(0))]);
    // The source uses the other route from now on, and establishes a flow on it.
    net.send(0, 3, 10);
    net.run(ms(1600));
    let next = net.data().filter(|s| s.from == 0).last().unwrap().packet.dsr.unwrap();
    assert_eq!(next.flow.unwrap().id, 3);
    assert_eq!(next.timeout_s, Some(60));
    net.check_conservation();
}

/// A node that has lost its flow state salvages the packet and reports an error; the next packet establishes
/// the flow again.
#[test]
fn a_node_reports_an_unknown_flow() {
    let mut net = Net::chain(NS2, 3);
    for i in 0..5 {
        net.send(0, 2, i);
        net.run(ms(1000 + 100 * u64::from(i)));
    }
    assert_eq!(net.data().last().unwrap().packet.dsr, None);
    net.nodes[1] = driftway_route::Dsr::new(NS2, crate::net::address(1), 7, 1);
    let before = net.sent.len();
    net.send(0, 2, 7);
    net.run(ms(1600));
    let reported = net.sent[before..].iter().find_map(|s| s.packet.dsr?.errors[0]).unwrap();
    assert_eq!(
        reported.kind,
        DsrErrorKind::DefaultFlowUnknown { destination: crate::net::address(2) }
    );
    net.send(0, 2, 8);
    net.run(ms(4000));
    let again = net.data().filter(|s| s.from == 0).last().unwrap();
    assert!(again.packet.dsr.unwrap().timeout_s.is_some());
    let mut streams = net.streams();
    streams.sort();
    assert_eq!(streams, [0, 1, 2, 3, 4, 7, 8]);
    net.check_conservation();
}

/// Without flow state each packet carries its route.
#[test]
fn flow_state_is_optional() {
    let mut net = Net::chain(DsrConfig { flow_state: None, ..NS2 }, 4);
    for i in 0..6 {
        net.send(0, 3, i);
        net.run(ms(1000 + 100 * u64::from(i)));
    }
    assert!(net.data().all(|s| s.packet.dsr.unwrap().source_route.is_some()));
}
