//! Data across a gateway: order, bounded buffers and windows.

use driftway_base::{ConnectionId, Instant, Ipv4Addr};
use driftway_endpoint::Side;
use driftway_tcp::{Config, State};

use super::rig::{CONNECTION, DELAY, EndName, MS, Parts, Rig};

#[test]
fn both_directions_arrive() {
    for client_side in Side::BOTH {
        let mut rig = Rig::new(Parts { client_side, ..Parts::default() });
        rig.client.tcp().write(300_000);
        rig.run_until(Instant::from_millis(500));
        rig.server.tcp().write(200_000);
        rig.run_until(Instant::from_secs(60));
        assert_eq!((rig.server.read, rig.client.read), (300_000, 200_000));
        assert_eq!(rig.client.tcp().acknowledged_bytes(), 300_000);
        assert_eq!(rig.longest_buffer, rig.gateway.longest_buffer(CONNECTION));
        assert!(rig.longest_buffer <= 10_000, "{}", rig.longest_buffer);
    }
}

/// A reader that stops stops the sender by its window, over both legs.
#[test]
fn a_slow_reader_stops_the_sender() {
    let mut rig = Rig::new(Parts { buffer: 20_000, ..Parts::default() });
    rig.server.reads = false;
    rig.client.tcp().write(1_000_000);
    rig.run_until(Instant::from_secs(30));
    // The receiver's window, the buffer and the gateway's window are full, and nothing else.
    let config = Config::default();
    let window = u64::from(config.receive_buffer);
    assert_eq!(rig.gateway.buffered_bytes(CONNECTION, Side::Wired), 20_000);
    let accepted = rig.gateway.accepted_bytes(CONNECTION, Side::Wireless);
    let most = 2 * window + 20_000;
    assert!((most - 2 * u64::from(config.mss)..=most).contains(&accepted), "{accepted} of {most}");
    let acknowledged = rig.client.tcp().acknowledged_bytes();
    assert_eq!(acknowledged, accepted);
    let view = rig.client.tcp().view();
    assert_eq!(view.is_persisting.value(), Some(true), "{view:?}");
    let probes = rig.client.tcp().stats().probes;
    assert!(probes > 2, "{probes}");
    // It reads on, and everything moves.
    rig.server.reads = true;
    while rig.server.read_some(u32::MAX, EndName::Server) > 0 {}
    rig.run_until(Instant::from_secs(300));
    assert_eq!(rig.server.read, 1_000_000);
    assert_eq!(rig.longest_buffer, 20_000);
}

/// Less than a segment of room.
#[test]
fn a_buffer_of_any_size_relays() {
    for buffer in [1, 100, 1460, 1461, 5000, 1 << 30] {
        let mut rig = Rig::new(Parts { buffer, ..Parts::default() });
        rig.client.tcp().write(3000);
        rig.run_until(Instant::from_secs(2000));
        assert_eq!(rig.server.read, 3000, "{buffer}");
    }
}

/// The wireless leg repairs its losses by itself: the sender on the wired leg notices none.
#[test]
fn losses_of_one_leg_stay_on_it() {
    let mut rig = Rig::new(Parts { client_side: Side::Wired, ..Parts::default() });
    rig.policy = Box::new(|hop, count, _| {
        let lost = hop.end == EndName::Server && count % 10 == 9;
        if lost { vec![] } else { vec![(DELAY, false)] }
    });
    rig.client.tcp().write(300_000);
    rig.run_until(Instant::from_secs(600));
    assert_eq!(rig.server.read, 300_000);
    let wired = *rig.client.tcp().stats();
    assert_eq!((wired.timeouts, wired.fast_retransmits), (0, 0));
    let wireless = rig.gateway.socket(CONNECTION, Side::Wireless).unwrap().tcp().stats();
    assert!(wireless.retransmissions > 10, "{wireless:?}");
}

/// A congestion mark on the leg with ECN reduces that leg's window alone.
#[test]
fn marks_of_one_leg_stay_on_it() {
    let ecn = Config { ecn: true, ..Config::default() };
    let parts =
        Parts { client: ecn, server: ecn, wireless: ecn, buffer: 64_000, ..Parts::default() };
    let mut rig = Rig::new(parts);
    rig.policy = Box::new(|hop, count, _| vec![(DELAY, hop.to_gateway && count == 30)]);
    rig.client.tcp().write(300_000);
    rig.run_until(Instant::from_secs(60));
    assert_eq!(rig.server.read, 300_000);
    assert_eq!(rig.client.tcp().cwnd_reductions(), 1);
    let wired = rig.gateway.socket(CONNECTION, Side::Wired).unwrap().tcp();
    assert_eq!((wired.cwnd_reductions(), wired.negotiated().ecn), (0, false));
}

/// Acknowledged data are lost if the other leg fails: the price of a split.
#[test]
fn acknowledged_data_are_lost_with_the_other_leg() {
    let few = Config { max_retries: 2, ..Config::default() };
    let mut rig = Rig::new(Parts { wired: few, buffer: 64_000, ..Parts::default() });
    rig.run_until(Instant::from_millis(200));
    rig.policy = Box::new(
        |hop, _, _| {
            if hop.end == EndName::Server { vec![] } else { vec![(MS(5), false)] }
        },
    );
    rig.client.tcp().write(20_000);
    rig.run_until(Instant::from_millis(900));
    assert_eq!(rig.client.tcp().acknowledged_bytes(), 20_000);
    rig.run_until(Instant::from_secs(60));
    assert_eq!((rig.server.read, rig.client.state()), (0, State::Closed));
}

#[test]
fn ends_are_found_by_address() {
    let mut rig = Rig::new(Parts::default());
    rig.run_until(Instant::from_millis(200));
    for name in EndName::BOTH {
        assert!(rig.gateway.has_end(CONNECTION, name.address()));
    }
    assert!(!rig.gateway.has_end(CONNECTION, Ipv4Addr::new(10, 0, 0, 9)));
    assert!(!rig.gateway.has_end(ConnectionId::new(1), EndName::Client.address()));
}
