//! Gateways to hosts outside the ad hoc network (RFC 3561 §7).

use driftway_base::{DropReason, Duration};
use driftway_route::AodvConfig;

use crate::net::{Net, PacketOutcome, at, ms};

const EXACT: AodvConfig =
    AodvConfig { jitter: Duration::ZERO, gratuitous: false, ttl_start: 5, ..AodvConfig::STANDARD };

/// An external host, not a node of the network.
const HOST: usize = 50;

/// A chain of 0, 1 and 2, with a gateway at its end.
fn chain(config: AodvConfig) -> Net {
    let mut net = Net::chain(config, 3);
    net.add_external(2, HOST);
    net
}

#[test]
fn the_gateway_answers_for_the_external_host_and_delivers_its_packets() {
    let mut net = chain(EXACT);
    let there = net.send(0, HOST);
    net.run(ms(100));
    assert_eq!(
        net.log,
        [
            "0 0 RREQ 50#? by 0#1 hops 0 ttl 5",
            "1 1 RREQ 50#? by 0#1 hops 1 ttl 4",
            "2 2 RREP 50#0 for 0 hops 0 life 6000 to 1",
            "3 1 RREP 50#0 for 0 hops 1 life 6000 to 0",
        ]
    );
    assert_eq!(net.outcome_of(there), Some(PacketOutcome::Delivered(2)));
    // The reverse route of the request serves the answer.
    let back = net.send_external(2, HOST, 0, 3);
    net.run(ms(200));
    assert_eq!(net.outcome_of(back), Some(PacketOutcome::Delivered(0)));
    assert_eq!(net.log.len(), 4);
    net.check_conservation();
}

/// The gateway discovers the route as its own, and leaves the time to live as it is.
#[test]
fn the_gateway_originates_packets_of_the_external_host() {
    for config in [EXACT, AodvConfig { data_ttl: Some(30), ..EXACT }, AodvConfig::NS2] {
        let mut net = chain(config);
        let there = net.send_external(2, HOST, 0, 9);
        net.run(ms(3000));
        assert_eq!(net.outcome_of(there), Some(PacketOutcome::Delivered(0)));
        assert_eq!(net.searches, [(2, at(0))]);
        let lost = net.send_external(2, HOST, 0, 1);
        net.run(ms(4000));
        let end = PacketOutcome::Dropped(1, DropReason::TimeToLive);
        assert_eq!(net.outcome_of(lost), Some(end));
        assert_eq!((net.salvaged.len(), net.signals.len()), (0, 0));
        net.check_conservation();
    }
}

#[test]
fn an_unknown_address_is_not_answered() {
    let mut net = chain(EXACT);
    let id = net.send(0, HOST + 1);
    net.run(ms(60_000));
    assert!(net.log.iter().all(|line| line.contains("RREQ")), "{:?}", net.log);
    let end = PacketOutcome::Dropped(0, DropReason::DiscoveryFailed);
    assert_eq!(net.outcome_of(id), Some(end));
}

/// The link to the gateway breaks and comes back.
#[test]
fn both_directions_recover_from_a_link_failure() {
    for config in [EXACT, AodvConfig::NS2] {
        let mut net = chain(config);
        net.send(0, HOST);
        net.run(ms(3000));
        net.link(1, 2, false);
        net.send(0, HOST);
        net.send_external(2, HOST, 0, 9);
        net.run(ms(6000));
        net.link(1, 2, true);
        net.run(ms(60_000));
        let there = net.send(0, HOST);
        let back = net.send_external(2, HOST, 0, 9);
        net.run(ms(90_000));
        assert_eq!(net.outcome_of(there), Some(PacketOutcome::Delivered(2)));
        assert_eq!(net.outcome_of(back), Some(PacketOutcome::Delivered(0)));
        assert!(net.signals.is_empty());
        net.check_conservation();
        net.check_loops();
    }
}

/// Node 3 is a second gateway at node 1. It takes over with a number at least as high as the one that is known.
#[test]
fn a_second_gateway_takes_over() {
    let mut net = Net::new(EXACT, 4, 1);
    for (a, b) in [(0, 1), (1, 2)] {
        net.link(a, b, true);
    }
    net.add_external(2, HOST);
    net.add_external(3, HOST);
    let first = net.send(0, HOST);
    net.run(ms(1000));
    assert_eq!(net.outcome_of(first), Some(PacketOutcome::Delivered(2)));
    net.link(1, 2, false);
    net.link(1, 3, true);
    net.send(0, HOST);
    net.run(ms(5000));
    let second = net.send(0, HOST);
    net.run(ms(10_000));
    assert_eq!(net.outcome_of(second), Some(PacketOutcome::Delivered(3)));
    let back = net.send_external(3, HOST, 0, 9);
    net.run(ms(15_000));
    assert_eq!(net.outcome_of(back), Some(PacketOutcome::Delivered(0)));
    net.check_conservation();
}
