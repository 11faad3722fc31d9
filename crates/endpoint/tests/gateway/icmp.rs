//! ICMP messages and signals about the packets of a gateway.

use driftway_base::{FailedLink, Instant, Ipv4Addr, Signal, SignalDetails, SignalKind};
use driftway_endpoint::{GatewayOutcome, Side};
use driftway_tcp::State;
use driftway_wire::{IcmpMessage, Packet, UnreachableCode};

use super::rig::{CONNECTION, DELAY, EndName, Parts, Rig};

const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 5);

fn unreachable(about: &Packet, code: UnreachableCode) -> Packet {
    Packet::icmp_error(ROUTER, about, |quoted| IcmpMessage::Unreachable { code, quoted }).unwrap()
}

/// A download over a wireless leg with this aid, whose path then disappears.
fn interrupted(aid: &'static str) -> Rig {
    let mut rig = Rig::new(Parts { client_side: Side::Wired, aid, ..Parts::default() });
    rig.run_until(Instant::from_millis(200));
    rig.policy = Box::new(
        |hop, _, _| {
            if hop.end == EndName::Server { vec![] } else { vec![(DELAY, false)] }
        },
    );
    rig.client.tcp().write(100_000);
    rig.run_until(Instant::from_millis(400));
    rig
}

fn state(rig: &Rig) -> &'static str {
    rig.gateway.socket(CONNECTION, Side::Wireless).unwrap().aid_state().unwrap()
}

/// liu-singh-2001 §III-A: ATCP on the wireless leg is the gateway's.
#[test]
fn an_error_about_a_wireless_leg_reaches_its_aid() {
    let mut rig = interrupted("atcp");
    assert_eq!(state(&rig), "normal");
    let to_server = EndName::Server.address();
    let lost = rig.sent_by_gateway.iter().rev().find(|(_, p)| p.ip.destination == to_server);
    let (_, lost) = *lost.unwrap();
    let error = unreachable(&lost, UnreachableCode::Host);
    assert_eq!(error.ip.destination, EndName::Client.address(), "in whose name it was sent");
    let outcome = rig.gateway.on_packet(rig.now, Side::Wireless, &error);
    assert_eq!(outcome, GatewayOutcome::Connection(CONNECTION));
    assert_eq!(state(&rig), "disconnected");
}

/// RFC 5927 §4: what was not sent was not lost.
#[test]
fn an_error_about_something_else_is_ignored() {
    let mut rig = interrupted("atcp");
    let (_, lost) = rig.client.sent[0];
    for about in [lost, Packet { ip: lost.ip, ..rig.sent_by_gateway[0].1 }] {
        let error = unreachable(&about, UnreachableCode::Host);
        rig.gateway.on_packet(rig.now, Side::Wireless, &error);
        assert_eq!(state(&rig), "normal");
    }
}

/// RFC 9293 §3.9.2.2.
#[test]
fn a_hard_error_refuses_an_attempt() {
    let mut rig = Rig::new(Parts::default());
    rig.policy = Box::new(
        |hop, _, _| {
            if hop.end == EndName::Server { vec![] } else { vec![(DELAY, false)] }
        },
    );
    rig.run_until(Instant::from_millis(100));
    let (_, syn) = rig.sent_by_gateway[0];
    let error = unreachable(&syn, UnreachableCode::Port);
    rig.gateway.on_packet(rig.now, Side::Wired, &error);
    rig.run_until(Instant::from_millis(200));
    assert_eq!(rig.client.state(), State::Closed);
}

#[test]
fn a_signal_reaches_the_legs_to_its_destination() {
    let wire = FailedLink { from: EndName::Client.address(), to: EndName::Client.address() };
    let (server, client) = (Some(EndName::Server), Some(EndName::Client));
    for (to, failed_link, expected) in [
        (server, None, "snooze"),
        (client, None, "active"),
        // A wire of the gateway, and its radio.
        (None, Some(wire), "active"),
        (None, None, "snooze"),
    ] {
        let mut rig = interrupted("tcp-f");
        let kind = SignalKind::RouteFailed;
        let destination = to.map(EndName::address);
        let details = SignalDetails { destination, failed_link, ..SignalDetails::default() };
        rig.gateway.on_signal(rig.now, &Signal { kind, details });
        assert_eq!(state(&rig), expected, "{to:?}");
    }
}
