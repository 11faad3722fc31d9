//! Closes, resets and timeouts across a gateway.

use driftway_base::{Instant, Seq};
use driftway_endpoint::{GatewayEventKind, Side};
use driftway_tcp::{Config, Event, State};
use driftway_wire::{Body, TcpFlags};

use super::rig::{DELAY, EndName, Hop, Parts, Rig};

fn established(parts: Parts) -> Rig {
    let mut rig = Rig::new(parts);
    rig.run_until(Instant::from_millis(200));
    assert_eq!(rig.leg_states(), [State::Established; 2]);
    rig
}

/// One direction ends after its data; the other goes on, then ends as well.
#[test]
fn a_direction_is_closed_by_itself() {
    for first in EndName::BOTH {
        for client_side in Side::BOTH {
            let mut rig = established(Parts { client_side, ..Parts::default() });
            rig.end(first).tcp().write(50_000);
            rig.end(first).tcp().close();
            rig.run_until(Instant::from_secs(5));
            let second = first.other();
            assert_eq!(rig.end(second).read, 50_000);
            assert_eq!(rig.end(second).events, [Event::Connected, Event::PeerClosed]);
            assert_eq!(rig.end(second).state(), State::CloseWait);
            assert_eq!(rig.end(first).state(), State::FinWait2);
            rig.end(second).tcp().write(50_000);
            rig.end(second).tcp().close();
            rig.run();
            assert_eq!(rig.end(first).read, 50_000);
            assert_eq!(rig.leg_states(), [State::Closed; 2]);
            for name in EndName::BOTH {
                let events = [Event::Connected, Event::PeerClosed, Event::Closed];
                assert_eq!(rig.end(name).events, events);
            }
            assert_eq!(rig.gateway_events, [GatewayEventKind::Established]);
        }
    }
}

#[test]
fn both_may_close_at_once() {
    let mut rig = established(Parts::default());
    for name in EndName::BOTH {
        rig.end(name).tcp().write(5000);
        rig.end(name).tcp().close();
    }
    rig.run();
    assert_eq!((rig.client.read, rig.server.read), (5000, 5000));
    assert_eq!(rig.leg_states(), [State::Closed; 2]);
}

/// The end of a stream waits for the data before it, which wait for the reader.
#[test]
fn a_close_does_not_overtake_data() {
    let mut rig = established(Parts { buffer: 3000, ..Parts::default() });
    rig.server.reads = false;
    rig.client.tcp().write(200_000);
    rig.client.tcp().close();
    rig.run_until(Instant::from_secs(20));
    assert_eq!(rig.server.events, [Event::Connected]);
    rig.server.reads = true;
    while rig.server.read_some(u32::MAX, EndName::Server) > 0 {}
    rig.run_until(Instant::from_secs(200));
    assert_eq!(rig.server.read, 200_000);
    assert_eq!(rig.server.events, [Event::Connected, Event::PeerClosed]);
}

#[test]
fn a_reset_of_one_leg_resets_the_other() {
    for name in EndName::BOTH {
        for client_side in Side::BOTH {
            let mut rig = established(Parts { client_side, ..Parts::default() });
            rig.client.tcp().write(100_000);
            rig.run_until(Instant::from_millis(300));
            rig.end(name).tcp().abort();
            rig.run_until(Instant::from_secs(2));
            assert_eq!(rig.end(name.other()).events.last(), Some(&Event::Reset));
            assert_eq!(rig.leg_states(), [State::Closed; 2]);
            let side = rig.side_of(name);
            let events = [GatewayEventKind::Established, GatewayEventKind::Reset(side)];
            assert_eq!(rig.gateway_events, events);
            assert_eq!(rig.next_event(), None);
        }
    }
}

/// A reset that is lost is sent again when the peer asks.
#[test]
fn a_lost_reset_is_repeated() {
    let mut rig = established(Parts::default());
    rig.client.tcp().write(1_000_000);
    rig.run_until(Instant::from_millis(300));
    rig.policy = Box::new(|_, _, packet| match packet.body {
        Body::Tcp(segment) if segment.flags == TcpFlags::RST.with(TcpFlags::ACK) => {
            if packet.ip.destination == EndName::Client.address() {
                vec![]
            } else {
                vec![(DELAY, false)]
            }
        }
        _ => vec![(DELAY, false)],
    });
    rig.server.tcp().abort();
    rig.run_until(Instant::from_secs(10));
    assert_eq!(rig.client.events.last(), Some(&Event::Reset));
}

#[test]
fn a_leg_that_times_out_resets_the_other() {
    let few = Config { max_retries: 2, ..Config::default() };
    for (dead, alive) in [(EndName::Server, EndName::Client), (EndName::Client, EndName::Server)] {
        let mut rig = established(Parts { wireless: few, wired: few, ..Parts::default() });
        rig.policy =
            Box::new(move |hop, _, _| if hop.end == dead { vec![] } else { vec![(DELAY, false)] });
        rig.end(alive).tcp().write(5000);
        rig.run_until(Instant::from_secs(60));
        assert_eq!(rig.end(alive).events.last(), Some(&Event::Reset));
        let side = rig.side_of(dead);
        assert_eq!(rig.gateway_events[1..], [GatewayEventKind::TimedOut(side)]);
    }
}

/// A reset outside of the window does nothing (RFC 5961 §3.2).
#[test]
fn a_forged_reset_is_ignored() {
    let mut rig = established(Parts::default());
    let (_, mut packet) = rig.client.sent[0];
    let Body::Tcp(segment) = &mut packet.body else { panic!("{packet:?}") };
    (segment.flags, segment.seq) = (TcpFlags::RST, Seq(12_345));
    rig.arrive(Hop { end: EndName::Client, to_gateway: true }, &packet);
    rig.run_until(Instant::from_secs(1));
    assert_eq!(rig.leg_states(), [State::Established; 2]);
}
