//! Network-layer acknowledgments (RFC 4728 §8.3.2, §8.3.3), over a link layer that reports nothing.

use driftway_base::{DropReason, Duration};
use driftway_route::{DsrConfig, NextHopConfirmation, RoutingProtocol};
use driftway_wire::{DsrHeader, DsrOption, RoutedPacket};

use crate::net::{Net, Sent, ms};

const NETWORK: DsrConfig =
    DsrConfig { confirm: NextHopConfirmation::NetworkLayer, ..DsrConfig::STANDARD };

/// 0 - 1 - 2 - 3, over which a packet has been sent; the time is 5 s.
fn chain(config: DsrConfig) -> Net {
    let mut net = Net::chain(config, 4);
    net.silent = true;
    net.send(0, 3, 1);
    net.run(ms(5000));
    assert_eq!(net.streams(), [1]);
    net.check_conservation();
    net
}

fn options(packet: &RoutedPacket) -> impl Iterator<Item = DsrOption<'_>> {
    packet.dsr.iter().flat_map(DsrHeader::extra_options)
}

fn asks(packet: &RoutedPacket) -> bool {
    options(packet).any(|option| matches!(option, DsrOption::AckRequest { .. }))
}

fn answers(packet: &RoutedPacket) -> bool {
    options(packet).any(|option| matches!(option, DsrOption::Ack { .. }))
}

/// Data from `from` since 5 s: time (ms), and whether it requests an acknowledgment.
fn data(net: &Net, from: usize) -> Vec<(u64, bool)> {
    let sent = net.data().filter(|sent| sent.from == from && sent.at > ms(5000));
    sent.map(|sent| (sent.at.as_millis() - 5000, asks(&sent.packet))).collect()
}

fn acks(net: &Net) -> Vec<(usize, Option<usize>)> {
    let acks = net.sent.iter().filter(|sent| sent.at > ms(5000) && answers(&sent.packet));
    acks.map(|sent: &Sent| (sent.from, sent.to)).collect()
}

#[test]
fn on_the_last_hop_an_acknowledgment_is_requested() {
    let mut net = chain(NETWORK);
    net.send(0, 3, 2);
    net.run(ms(6000));
    assert_eq!(
        [0, 1, 2].map(|node| data(&net, node)),
        [vec![(1, false)], vec![(2, false)], vec![(3, true)]]
    );
    assert_eq!(acks(&net), [(3, Some(2))]);
    assert_eq!(net.streams(), [1, 2]);
    net.check_conservation();
}

#[test]
fn without_promiscuous_mode_every_hop_requests_an_acknowledgment() {
    for config in
        [DsrConfig { try_passive_acks: 0, ..NETWORK }, DsrConfig { promiscuous: false, ..NETWORK }]
    {
        let mut net = chain(config);
        net.send(0, 3, 2);
        net.run(ms(6000));
        assert_eq!(acks(&net), [(1, Some(0)), (2, Some(1)), (3, Some(2))]);
        assert_eq!([0, 1, 2].map(|node| data(&net, node)[0].1), [true; 3]);
        assert_eq!(net.streams(), [1, 2]);
    }
}

/// The error arrives after the maximum number of transmissions; without acknowledgments, never.
#[test]
fn an_unconfirmed_link_is_broken() {
    let mut net = chain(NETWORK);
    net.link(2, 3, false);
    net.send(0, 3, 2);
    net.run(ms(20_000));
    // By the round-trip time of 2 ms: the timer is at its minimum, 100 ms, and doubles.
    assert_eq!(data(&net, 2), [(3, true), (103, true), (303, true)]);
    let errors: Vec<_> = net.errors().map(|sent| (sent.at.as_millis() - 5000, sent.from)).collect();
    assert_eq!(errors[..2], [(702 + 1, 2), (702 + 2, 1)]);
    assert_eq!(net.route(0, 3), None);
    assert_eq!(net.dropped.iter().map(|drop| drop.3).collect::<Vec<_>>(), [DropReason::NoRoute]);
    assert_eq!(net.nodes[2].stats().link_failures, 1);
    net.check_conservation();

    let mut net = chain(DsrConfig::STANDARD);
    net.link(2, 3, false);
    net.send(0, 3, 2);
    net.run(ms(20_000));
    assert_eq!((net.errors().count(), data(&net, 2)), (0, vec![(3, false)]));
    assert_eq!(net.route(0, 3), Some(vec![0, 1, 2, 3]));
}

/// All packets that wait for the neighbour take another route.
#[test]
fn an_unconfirmed_packet_is_salvaged() {
    let mut net = Net::chain(NETWORK, 6);
    net.silent = true;
    // 0 - 1 - 2 - 3 and 2 - 4 - 5 - 3.
    net.link(3, 4, false);
    for (a, b) in [(2, 4), (5, 3)] {
        net.link(a, b, true);
    }
    net.send(0, 3, 1);
    net.run(ms(4000));
    net.send(2, 5, 2);
    net.run(ms(4500));
    net.send(5, 3, 3);
    net.run(ms(5000));
    assert_eq!(net.route(0, 3), Some(vec![0, 1, 2, 3]));
    net.link(2, 3, false);
    for id in [4, 5, 6] {
        net.send(0, 3, id);
    }
    net.run(ms(9000));
    assert_eq!(net.streams(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(net.salvaged, [(2, 1); 3]);
    net.check_conservation();
}

#[test]
fn a_packet_without_a_passive_acknowledgment_is_retransmitted_with_a_request() {
    let mut net = chain(NETWORK);
    let mut first = true;
    net.loses = Box::new(move |packet| !packet.is_control() && std::mem::take(&mut first));
    net.send(0, 3, 2);
    net.run(ms(6000));
    assert_eq!(data(&net, 0), [(1, false), (101, true)]);
    assert_eq!(acks(&net)[0], (1, Some(0)));
    assert_eq!(net.streams(), [1, 2]);
    assert_eq!(net.nodes[0].stats().retransmitted, 1);
    net.check_conservation();
}

#[test]
fn a_packet_whose_acknowledgment_was_lost_is_forwarded_once() {
    let mut net = chain(NETWORK);
    let mut first = true;
    net.loses = Box::new(move |packet| answers(packet) && std::mem::take(&mut first));
    net.send(0, 3, 2);
    net.run(ms(6000));
    assert_eq!(data(&net, 2), [(3, true), (103, true)]);
    assert_eq!(acks(&net).len(), 2);
    assert_eq!(net.streams(), [1, 2]);
    assert_eq!(net.dropped.iter().map(|drop| drop.3).collect::<Vec<_>>(), [DropReason::Loop]);
    net.check_conservation();
}

#[test]
fn no_acknowledgment_is_requested_during_the_holdoff_time() {
    for (holdoff, asked) in [(250, 2), (0, 7)] {
        let maint_holdoff = Duration::from_millis(holdoff);
        let mut net = chain(DsrConfig { maint_holdoff, ..NETWORK });
        for id in 2..9 {
            net.send(0, 3, id);
            net.run(net.now + Duration::from_millis(50));
        }
        assert_eq!(data(&net, 2).iter().filter(|(_, asks)| *asks).count(), asked);
        assert_eq!(net.streams(), [1, 2, 3, 4, 5, 6, 7, 8]);
        net.check_conservation();
    }
}

/// A packet to a neighbour without a source route (RFC 4728 §8.1.1) gets a header.
#[test]
fn an_acknowledgment_is_requested_without_a_source_route() {
    let mut net = Net::chain(NETWORK, 2);
    net.silent = true;
    net.send(0, 1, 1);
    net.run(ms(5000));
    net.send(0, 1, 2);
    net.run(ms(6000));
    assert_eq!((data(&net, 0), acks(&net)), (vec![(1, true)], vec![(1, Some(0))]));
    let sent = net.data().last().unwrap();
    assert_eq!(sent.packet.dsr.map(|dsr| (dsr.source_route, dsr.size())), Some((None, 8)));
    net.link(0, 1, false);
    net.send(0, 1, 3);
    net.run(ms(7000));
    assert_eq!((data(&net, 0).len(), net.route(0, 1)), (4, None));
    assert_eq!(net.nodes[0].buffered_packets(), 1, "it is buffered until there is a route");
    net.link(0, 1, true);
    net.run(ms(30_000));
    assert_eq!(net.streams(), [1, 2, 3]);
    net.check_conservation();
}

/// Reports of the link layer are ignored.
#[test]
fn link_layer_failures_are_ignored() {
    let mut net = chain(NETWORK);
    net.silent = false;
    let mut first = true;
    net.loses = Box::new(move |packet| !packet.is_control() && std::mem::take(&mut first));
    net.send(0, 3, 2);
    net.run(ms(6000));
    assert_eq!(net.streams(), [1, 2]);
    assert_eq!(net.nodes[0].stats().link_failures, 0);
    assert_eq!(
        net.dropped.iter().map(|drop| drop.3).collect::<Vec<_>>(),
        [DropReason::Unconfirmed]
    );
    net.check_conservation();
}
