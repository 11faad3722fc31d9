//! Flows with which nothing is wrong: their packets pass, and the shim gets copies.

use crate::common::timeline::*;
use driftway_aid::registry;
use driftway_base::{FlowKey, Instant, Signal, SignalKind};
use driftway_shim::{Config, FlowState, PacketAction, Shim};
use driftway_wire::UnreachableCode;

/// The shim gets a copy of a segment that was sent at this time.
fn copy_sent_at(line: &mut Timeline, says: TestSegment, is_outgoing: bool, at: Instant) {
    let says = if is_outgoing { line.local_now(says) } else { says };
    line.shim.on_watched(line.now, &mut says.bytes(at), is_outgoing);
}

fn sends_copy(line: &mut Timeline, says: TestSegment) {
    copy_sent_at(line, says, true, line.now);
}

fn receives_copy(line: &mut Timeline, says: TestSegment) {
    copy_sent_at(line, says, false, line.now);
}

fn watched(line: &mut Timeline) -> Option<FlowKey> {
    line.shim.poll_flow_to_watch(line.now)
}

/// An open connection that is watched.
fn quiet_with(line: Timeline) -> Timeline {
    let mut line = line;
    assert_eq!(watched(&mut line), Some(FLOW));
    assert_eq!((watched(&mut line), line.shim.poll_flow_to_intercept()), (None, None));
    line
}

fn quiet() -> Timeline {
    quiet_with(Timeline::established())
}

#[test]
fn copies_keep_the_state_of_a_flow() {
    let mut line = quiet();
    line.at(200);
    for n in 0..3 {
        sends_copy(&mut line, nth_segment(n));
    }
    let status = line.status();
    assert_eq!((status.outstanding, status.waiting), (3 * LEN, 0));
    assert!(status.stored_bytes >= 3 * LEN as usize);
    line.at(260);
    receives_copy(&mut line, ack(2001, 200));
    let status = line.status();
    assert_eq!(status.outstanding, LEN);
    // The handshake took 100 ms.
    assert_eq!(status.srtt.map(|rtt| rtt.as_millis()), Some(95));
    assert_eq!(line.shim.poll_flow_to_intercept(), None);
    assert_eq!((line.counts().watched, line.counts().intercepted), (4, 3));
}

/// A copy is longer than a segment where the interface cuts it, and its checksum is not complete.
#[test]
fn a_copy_of_a_large_packet_is_stored_in_pieces() {
    let mut line = quiet();
    line.at(200);
    let bytes = line.local_now(data(1, 5 * 1448)).bytes(line.now);
    line.shim.on_watched(line.now, &mut bytes.clone(), true);
    assert_eq!(line.status().outstanding, 5 * 1448);
    assert!(line.status().stored_bytes < 5 * 2048 + 1);
    line.at(300);
    receives_copy(&mut line, ack(1449, 200));
    assert_eq!(line.status().outstanding, 4 * 1448);
    // Every piece can be sent again.
    line.at(320);
    line.unreachable(data(1449, 1448), UnreachableCode::Host);
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW));
    line.at(1400);
    let probes = line.taken();
    assert!(!probes.is_empty() && probes.iter().all(|p| p.contains("net 1449+1448")), "{probes:?}");
}

#[test]
fn an_outage_is_survived_with_what_was_copied() {
    let after = |is_watched: bool| {
        let mut line = quiet();
        let send = |line: &mut Timeline, n| {
            if is_watched {
                sends_copy(line, nth_segment(n));
            } else {
                line.passes(nth_segment(n));
            }
        };
        line.at(200);
        (0..3).for_each(|n| send(&mut line, n));
        line.at(250);
        line.cut(0);
        assert_eq!(line.shim.poll_flow_to_intercept().is_some(), is_watched);
        line.at(300);
        line.stores(nth_segment(3));
        line.at(1000);
        let mut packets = line.taken();
        line.peer(ack(1001, 900));
        line.at(1500);
        packets.append(&mut line.taken());
        packets
    };
    let packets = after(true);
    assert!(packets.iter().any(|packet| packet.contains("3001+1000")), "{packets:?}");
    assert_eq!(packets, after(false));
}

/// The interface has refused it, so that the local TCP would reject an acknowledgment of it. It sends
/// it again, as a part of other segments.
#[test]
fn a_copy_of_what_the_local_tcp_has_not_sent_is_forgotten() {
    let mut line = quiet();
    line.at(200);
    (0..3).for_each(|n| sends_copy(&mut line, nth_segment(n)));
    line.at(250);
    line.cut(0);
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW));
    // A carrier acknowledgment shows it: the third segment, and a part of the second.
    line.shim.on_snd_nxt(line.now, FLOW, OURS + 1501);
    assert_eq!((line.status().outstanding, line.counts().not_sent), (1500, 1));
    line.shim.on_snd_nxt(line.now, FLOW, OURS + 1501);
    assert_eq!(line.counts().not_sent, 1);
    line.at(300);
    line.stores(data(1501, 1000));
    line.at(1000);
    let probes = line.taken();
    line.peer(ack(1001, 900));
    line.at(1500);
    let sent = [probes, line.taken()].concat();
    assert!(sent.iter().any(|packet| packet.contains("net 1+1000")), "{sent:?}");
    assert!(sent.iter().any(|packet| packet.contains("net 1501+1000")), "{sent:?}");
    let others = sent.iter().filter(|packet| {
        packet.contains("net ") && !packet.contains("net 1+1000") && !packet.contains("1501+1000")
    });
    assert_eq!(others.count(), 0, "{sent:?}");
}

/// The acknowledgment of a retransmission comes a round trip later, and is edited.
#[test]
fn a_loss_that_is_to_be_undone_is_intercepted_from_the_retransmission_on() {
    let mut line = quiet();
    line.at(200);
    (0..5).for_each(|n| sends_copy(&mut line, nth_segment(n)));
    line.at(300);
    receives_copy(&mut line, ack(1, 100).sack(&[(1001, 5001)]));
    assert_eq!(line.shim.poll_flow_to_intercept(), None);
    sends_copy(&mut line, nth_segment(0).not_capable());
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW));
    line.at(400);
    line.peer_becomes(ack(5001, 300), "a5001 t400/200 w50000");
    assert_eq!(line.counts().undone, 1);
    // It is watched again after a second without anything.
    line.at(1390);
    line.passes(nth_segment(5));
    assert_eq!(watched(&mut line), None);
    line.at(1410);
    line.passes(nth_segment(6));
    assert_eq!(watched(&mut line), Some(FLOW));
}

/// The copy of an acknowledgment comes too late to be edited.
#[test]
fn what_has_passed_is_not_undone() {
    let mut line = quiet();
    line.at(200);
    (0..5).for_each(|n| sends_copy(&mut line, nth_segment(n)));
    line.at(300);
    sends_copy(&mut line, nth_segment(0).not_capable());
    line.at(400);
    receives_copy(&mut line, ack(5001, 300));
    assert_eq!((line.counts().undone, line.counts().echoes_rewritten), (0, 0));
    assert_eq!(line.status().outstanding, 0);
}

/// Without ECN a loss is congestion, and nothing acts on the acknowledgment.
#[test]
fn a_loss_that_stays_is_watched() {
    let offers = Offers { ecn: false, sack: true };
    let mut line = quiet_with(Timeline::established_with(config(), offers));
    line.at(200);
    (0..5).for_each(|n| sends_copy(&mut line, nth_segment(n)));
    line.at(300);
    sends_copy(&mut line, nth_segment(0));
    line.at(400);
    receives_copy(&mut line, ack(5001, 300));
    assert_eq!(line.shim.poll_flow_to_intercept(), None);
}

/// Further retransmissions are the first signs of a silent outage.
#[test]
fn a_silence_is_intercepted_before_it_is_an_outage() {
    let offers = Offers { ecn: false, sack: true };
    let mut line = quiet_with(Timeline::established_with(config(), offers));
    line.at(200);
    (0..100).for_each(|n| sends_copy(&mut line, nth_segment(n)));
    line.at(300);
    receives_copy(&mut line, ack(90_001, 200));
    for ms in [600, 1200, 2400, 4800] {
        line.at(ms);
        sends_copy(&mut line, nth_segment(90));
        if line.shim.poll_flow_to_intercept().is_some() {
            assert_eq!(line.status().aid_state, "open", "it is not suspected yet");
            return;
        }
    }
    panic!("{:?}", line.status());
}

/// Some packets have passed before the driver has intercepted the flow again.
#[test]
fn packets_that_pass_after_the_hold_are_in_flight() {
    let mut line = quiet();
    line.at(200);
    sends_copy(&mut line, nth_segment(0));
    line.cut(0);
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW));
    sends_copy(&mut line, nth_segment(1));
    assert_eq!((line.status().outstanding, line.status().waiting), (2 * LEN, 0));
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW), "it still passes");
    line.stores(nth_segment(2));
    assert_eq!(line.status().waiting, 1);
    line.at(2000);
    line.taken();
    // The local TCP has this acknowledgment, and the end of the repair adds nothing to it.
    receives_copy(&mut line, ack(3001, 1900));
    line.at(3000);
    assert!(
        line.taken().iter().all(|packet| !packet.contains(" tcp a3001")),
        "{:?}",
        line.status()
    );
    assert_eq!((line.status().state, line.status().outstanding), (FlowState::Open, 0));
}

/// The shim had no processor for a while, and reads the copies of a segment and of its
/// acknowledgment at once: not an RTT of nothing.
#[test]
fn late_copies_give_no_round_trip() {
    let mut line = quiet();
    let sent_at = Instant::from_millis(200);
    line.at(260);
    copy_sent_at(&mut line, nth_segment(0), true, sent_at);
    receives_copy(&mut line, ack(1001, 200));
    assert_eq!(line.status().srtt.map(|rtt| rtt.as_millis()), Some(100));
    line.at(262);
    sends_copy(&mut line, nth_segment(1));
    line.at(322);
    receives_copy(&mut line, ack(2001, 262));
    assert_eq!(line.status().srtt.map(|rtt| rtt.as_millis()), Some(95));
}

/// The shim makes the local TCP send acknowledgments, which it replaces.
#[test]
fn an_acknowledgment_on_demand_is_intercepted() {
    let mut line = quiet();
    line.at(200);
    assert!(line.shim.solicit_ack(line.now, FLOW, &mut Vec::new()));
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW));
    line.at(2100);
    line.passes(nth_segment(0));
    assert_eq!(watched(&mut line), None);
    line.at(2300);
    line.peer_passes(ack(1001, 2100));
    assert_eq!(watched(&mut line), Some(FLOW));
}

/// The driver watches no more: its packets are intercepted, and it is asked again.
#[test]
fn a_driver_that_has_forgotten_a_flow() {
    let mut line = quiet();
    line.passes(nth_segment(0));
    assert_eq!(watched(&mut line), Some(FLOW));
    line.at(200);
    let mut signal = Signal::new(SignalKind::RouteFailed);
    signal.details.flow = Some(FLOW);
    line.signal(&signal);
    assert_eq!(line.shim.poll_flow_to_intercept(), Some(FLOW));
    line.taken();
}

#[test]
fn flows_that_are_always_intercepted() {
    let never = |mut line: Timeline| {
        line.at(2000);
        line.passes(nth_segment(0));
        assert_eq!(watched(&mut line), None);
    };
    never(Timeline::established_by(Config { hold_back: true, ..config() }));
    // Other aids change segments at any time.
    let atcp = || registry::find("atcp").expect("it is listed").build(&[]).expect("no options");
    never(Timeline::established_with_shim(
        Shim::with_aid(config(), atcp),
        Offers { ecn: true, sack: true },
    ));
}

#[test]
fn corrupt_copies_are_ignored() {
    let mut line = quiet();
    let mut bytes = nth_segment(0).bytes(line.now);
    *bytes.last_mut().expect("there are data") ^= 1;
    line.shim.on_watched(line.now, &mut bytes, true);
    assert_eq!(line.status().outstanding, 0);
    let cut = &mut nth_segment(0).bytes(line.now)[..60];
    line.shim.on_watched(line.now, cut, true);
    assert_eq!(line.status().outstanding, 0);
    assert_eq!(line.local(nth_segment(0)), PacketAction::Pass);
}
