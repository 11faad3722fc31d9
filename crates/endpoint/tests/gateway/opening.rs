//! Opening a connection through a gateway.

use driftway_base::{Instant, Seq};
use driftway_endpoint::{GatewayEventKind, GatewayOutcome, Side};
use driftway_tcp::{Config, Event, State};
use driftway_wire::{Body, TcpFlags, TcpSegment};

use super::rig::{DELAY, EndName, Hop, MS, Parts, Rig, segments};

/// The times and flags of the first packets on both legs.
#[test]
fn the_syn_is_answered_once_the_other_leg_is_established() {
    for client_side in Side::BOTH {
        let mut rig = Rig::new(Parts { client_side, ..Parts::default() });
        rig.run_until(Instant::from_millis(1000));
        let to_client = |(_, packet): &&(Instant, driftway_wire::Packet)| {
            packet.ip.destination == EndName::Client.address()
        };
        let first = rig.sent_by_gateway.iter().find(to_client).unwrap();
        // The SYN takes 20 ms to the gateway, and the handshake of the server's leg 40 ms.
        assert_eq!(first.0, Instant::ZERO + DELAY.times(3));
        let Body::Tcp(answer) = first.1.body else { panic!("{first:?}") };
        assert_eq!(answer.flags, TcpFlags::SYN.with(TcpFlags::ACK));
        assert_eq!(rig.leg_states(), [State::Established; 2]);
        assert_eq!(rig.gateway_events, [GatewayEventKind::Established]);
        assert_eq!(rig.client.events, [Event::Connected]);
        assert_eq!(rig.server.events, [Event::Connected]);
    }
}

#[test]
fn a_refused_connection_is_refused() {
    for client_side in Side::BOTH {
        let mut rig = Rig::new(Parts { client_side, listens: false, ..Parts::default() });
        rig.run_until(Instant::from_millis(200));
        assert_eq!(rig.client.events, [Event::Reset]);
        assert_eq!(rig.client.state(), State::Closed);
        assert_eq!(rig.gateway_events, [GatewayEventKind::Reset(client_side.other())]);
        assert_eq!(rig.leg_states(), [State::Closed; 2]);
        assert_eq!(rig.next_event(), None);
    }
}

#[test]
fn a_connection_to_nowhere_times_out_and_is_reset() {
    let few = Config { max_syn_retries: 1, ..Config::default() };
    let mut rig = Rig::new(Parts { wired: few, ..Parts::default() });
    rig.policy = Box::new(|hop, _, _| match hop.end {
        EndName::Client => vec![(DELAY, false)],
        EndName::Server => vec![],
    });
    rig.run();
    assert_eq!(rig.gateway_events, [GatewayEventKind::TimedOut(Side::Wired)]);
    assert_eq!(rig.client.events, [Event::Reset]);
}

/// The SYN that is answered is the last one, which measures the round trip and offers no ECN.
#[test]
fn a_retransmitted_syn_opens_nothing_new() {
    let ecn = Config { ecn: true, timestamps: true, ..Config::default() };
    let client = Config { initial_rto: MS(500), ..ecn };
    let parts = Parts { client, server: ecn, wireless: ecn, wired: ecn, ..Parts::default() };
    let mut rig = Rig::new(parts);
    // The server's leg takes longer than the client's initial timeout.
    rig.policy = Box::new(|hop, _, _| {
        vec![(if hop.end == EndName::Server { MS(400) } else { DELAY }, false)]
    });
    rig.run_until(Instant::from_secs(3));
    let is_syn = |segment: &TcpSegment| segment.flags.contains(TcpFlags::SYN);
    let syns: Vec<_> = segments(&rig.client.sent).into_iter().filter(is_syn).collect();
    assert_eq!(syns.len(), 2, "{syns:?}");
    assert_eq!(rig.leg_states(), [State::Established; 2]);
    assert!(!rig.client.tcp().negotiated().ecn && rig.server.tcp().negotiated().ecn);
    let mut answers = segments(&rig.sent_by_gateway).into_iter().filter(is_syn);
    let answer = answers.find(|segment| segment.flags.contains(TcpFlags::ACK)).unwrap();
    let [value, echo] =
        [syns[1].options.timestamps.map(|t| t.value), answer.options.timestamps.map(|t| t.echo)];
    assert_eq!(echo, value);
}

/// Each leg negotiates for itself.
#[test]
fn a_leg_may_be_without_ecn() {
    let ecn = Config { ecn: true, ..Config::default() };
    for (wireless, wired) in [(true, false), (false, true), (true, true), (false, false)] {
        let of = |on| Config { ecn: on, ..ecn };
        let mut rig = Rig::new(Parts {
            client: ecn,
            server: ecn,
            wireless: of(wireless),
            wired: of(wired),
            ..Parts::default()
        });
        rig.run_until(Instant::from_millis(1000));
        let client = rig.client.tcp().negotiated().ecn;
        let server = rig.server.tcp().negotiated().ecn;
        assert_eq!((client, server), (wireless, wired));
    }
}

#[test]
fn a_segment_without_a_connection_is_answered_by_a_reset() {
    let mut rig = Rig::new(Parts::default());
    rig.drain();
    let (_, mut packet) = rig.client.sent[0];
    let Body::Tcp(segment) = &mut packet.body else { panic!("{packet:?}") };
    segment.flags = TcpFlags::ACK;
    segment.ack = Seq(77);
    let answer = rig.gateway.on_packet(rig.now, Side::Wireless, &packet);
    let GatewayOutcome::Reply(reset) = answer else { panic!("{answer:?}") };
    assert_eq!((reset.ip.source, reset.ip.destination), (packet.ip.destination, packet.ip.source));
    let Body::Tcp(reset) = reset.body else { panic!("{reset:?}") };
    assert_eq!((reset.flags, reset.seq), (TcpFlags::RST, Seq(77)));
}

/// A client that starts anew before the server has answered.
#[test]
fn another_syn_opens_another_connection_in_the_same_place() {
    let mut rig = Rig::new(Parts::default());
    rig.policy = Box::new(
        |hop, _, _| if hop.end == EndName::Server { vec![] } else { vec![(DELAY, false)] },
    );
    rig.run_until(Instant::from_millis(100));
    let (_, mut packet) = rig.client.sent[0];
    let Body::Tcp(segment) = &mut packet.body else { panic!("{packet:?}") };
    segment.seq += 1_000_000;
    rig.policy = Box::new(|_, _, _| vec![(DELAY, false)]);
    rig.arrive(Hop { end: EndName::Client, to_gateway: true }, &packet);
    rig.run_for(MS(50));
    assert_eq!(rig.gateway.connections().count(), 1);
    assert_eq!(rig.leg_states()[1], State::Established);
}

#[test]
fn a_client_that_resets_its_attempt_resets_the_other_leg() {
    for closes in [false, true] {
        reset_attempt(closes);
    }
}

/// `closes`: the server has closed meanwhile.
fn reset_attempt(closes: bool) {
    let mut rig = Rig::new(Parts::default());
    // The gateway's answer is lost, and the client resets.
    rig.policy = Box::new(|hop, _, _| {
        let lost = hop == Hop { end: EndName::Client, to_gateway: false };
        if lost { vec![] } else { vec![(DELAY, false)] }
    });
    rig.run_until(Instant::from_millis(100));
    assert_eq!(rig.leg_states(), [State::SynReceived, State::Established]);
    if closes {
        rig.server.tcp().close();
        rig.run_for(MS(100));
        assert_eq!(rig.leg_states(), [State::SynReceived, State::CloseWait]);
    }
    let (_, mut packet) = rig.client.sent[0];
    let Body::Tcp(segment) = &mut packet.body else { panic!("{packet:?}") };
    (segment.flags, segment.seq) = (TcpFlags::RST, segment.seq + 1);
    rig.arrive(Hop { end: EndName::Client, to_gateway: true }, &packet);
    rig.run_for(MS(100));
    assert_eq!(rig.leg_states(), [State::Closed; 2]);
    assert_eq!(rig.server.events, [Event::Connected, Event::Reset]);
    assert_eq!(rig.gateway_events, [GatewayEventKind::Reset(Side::Wireless)]);
}
