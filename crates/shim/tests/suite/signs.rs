//! Signals of an outage and of its end: one-way delay 50 ms, segments of 1000 bytes.

use crate::common;
use crate::common::cut::{ICMP_REJECTED, begin_outage};
use crate::common::timeline::{FLOW, IN_REPAIR, THERE, Timeline, ack, config, data, nth_segment};
use driftway_base::{Signal, SignalKind};
use driftway_shim::{Config, FlowState, PacketAction};
use driftway_wire::UnreachableCode;

/// The oldest original, once per RTT, and after two minutes once a second.
#[test]
fn probe_intervals() {
    let mut line = Timeline::established_by(Config::default());
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(1);
    line.at(600);
    line.emits([
        "350 net 1+1000 a1 t200/200",
        "450 net 1+1000 a1 t200/200",
        "550 net 1+1000 a1 t200/200",
    ]);
    line.at(120_000);
    line.taken();
    line.at(122_500);
    let sent = line.taken();
    let times: Vec<_> = sent.iter().map(|s| s.split(' ').next().unwrap()).collect();
    assert_eq!(times, ["120050", "120150", "120250", "121250", "122250"]);
}

#[test]
fn icmp_is_accepted_only_for_data_in_flight() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    line.at(300);
    line.peer_passes(ack(1001, 200));
    let others = [nth_segment(0), nth_segment(2), data(5_000_000, 10)];
    for says in others {
        assert_eq!(line.unreachable(says, UnreachableCode::Net), ICMP_REJECTED);
    }
    for code in [UnreachableCode::Port, UnreachableCode::Other(13)] {
        assert_eq!(line.unreachable(nth_segment(1), code), ICMP_REJECTED);
    }
    assert_eq!((line.status().state, line.counts().icmp_rejected), (FlowState::Open, 5));
    line.cut(1);
    // An unsent segment cannot have met a router.
    line.stores(nth_segment(2));
    assert_eq!(line.unreachable(nth_segment(2), UnreachableCode::Net), ICMP_REJECTED);
    line.at(301);
}

/// Packets that were in flight at the time of the message say nothing about the path.
#[test]
fn packets_in_flight_at_the_cut_are_no_evidence_of_a_path() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(1);
    line.at(300);
    line.peer_passes(ack(1001, 200));
    assert_eq!(line.status().state, FlowState::Disconnected);
    line.quiet_until(449);
    line.at(450);
    line.emits(["450 net 1001+1000 a1 t200/200"]);
}

/// A host that only receives: the sender may have missed the last acknowledgment.
#[test]
fn a_receiver_announces_the_restored_path() {
    let mut line = Timeline::established();
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    line.passes(data(1, 0).not_capable().acking(1001).window(7000));
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.quiet_until(10_000);
    line.signal(&Signal::new(SignalKind::RouteRestored));
    // The last TSecr is from before the outage: it would undo the sender's timeout.
    line.emits(["10000 net a1001 t200/-"]);
    assert_eq!((line.status().state, line.counts().announced), (FlowState::Open, 1));
    // The path is back already.
    line.signal(&Signal::new(SignalKind::RouteRestored));
    line.quiet_until(20_000);
}

/// If all acknowledgments arrived before the cut, one must be held back.
#[test]
fn a_receiver_holds_back_two_bytes() {
    let mut line = Timeline::established_by(Config { hold_back: true, ..config() });
    let leaves = |line: &mut Timeline, number: u32| {
        let says = line.local_now(data(1, 0).not_capable().acking(number));
        let mut bytes = says.bytes(line.now);
        let action = line.outgoing(&mut bytes);
        assert!(matches!(action, PacketAction::Pass | PacketAction::Edited), "{action:?}");
        common::timeline::show(&bytes)
    };
    line.at(200);
    line.peer_passes(ack(1, 100).carrying(1, 1000));
    assert_eq!(leaves(&mut line, 1001), "a999 t200/200");
    line.at(210);
    line.peer_passes(ack(1, 100).carrying(1001, 1000));
    assert_eq!(leaves(&mut line, 2001), "a1999 t210/210");
    // A duplicate stays a duplicate.
    line.at(220);
    assert_eq!(leaves(&mut line, 2001), "a1999 t220/220");
    line.quiet_until(249);
    // 40 ms without more data: the sender must not time out.
    line.at(1000);
    line.emits(["250 net a2001 t220/220"]);
    assert_eq!(leaves(&mut line, 2001), "a2001 t1000/1000");

    line.peer_passes(ack(1, 100).carrying(2001, 1000));
    assert_eq!(leaves(&mut line, 3001), "a2999 t1000/1000");
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.quiet_until(9000);
    line.signal(&Signal::new(SignalKind::RouteRestored));
    line.emits(["9000 net a3000 t1000/-", "9000 net a3001 t1000/-"]);
    line.quiet_until(9999);

    // A FIN is acknowledged at once.
    line.peer_passes(ack(1, 100).carrying(3001, 10).fin());
    assert_eq!(leaves(&mut line, 3012), "a3012 t9999/9999");
    line.quiet_until(20_000);
}

/// The peer answers, but acknowledges nothing, for an unknown reason: after three attempts the
/// local TCP takes over.
#[test]
fn a_failing_repair_is_left_to_tcp() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(0);
    line.stores(nth_segment(2));
    for at in [550, 1300, 2050] {
        line.at(at);
        assert_eq!(line.status().state, FlowState::Disconnected);
        line.peer_is_held(ack(1, 100));
        line.at(at + 50);
        assert_eq!(line.local(nth_segment(0)), IN_REPAIR);
    }
    line.at(2649);
    assert_eq!((line.status().state, line.counts().repairs_abandoned), (FlowState::Resuming, 0));
    line.taken();
    line.at(2650);
    line.emits(["2650 tcp a1 t2100/2550 w50000"]);
    assert_eq!((line.status().state, line.counts().repairs_abandoned), (FlowState::Open, 1));
    line.passes(nth_segment(0).not_capable());
    line.passes(nth_segment(2).not_capable());
    line.at(2750);
    line.peer_passes(ack(3001, 2650));
    assert_eq!(line.shim.memory().0, 0);
}

/// A shim that is stopped, not killed, leaves no delay behind.
#[test]
fn stored_segments_are_sent_on_shutdown() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(751);
    line.taken();
    line.let_go();
    line.emits([
        "751 tcp a1001 t750/651 w50000",
        "751 net 2001+1000 a1 t400/400",
        "751 net 3001+1000 a1 t400/400",
        "751 net 4001+1000 a1 t400/400 ect",
    ]);
    line.passes(nth_segment(1).not_capable());
}

#[test]
fn the_hosts_link_fails_and_recovers() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..3);
    line.at(210);
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.at(410);
    line.emits(["410 net 1+1000 a1 t200/200"]);
    let mut restored = Signal::new(SignalKind::RouteRestored);
    restored.details.destination = Some(THERE.address);
    line.at(500);
    line.signal(&restored);
    line.at(599);
    line.emits([
        "500 net 1+1000 a1 t200/200",
        "506 net 1001+1000 a1 t200/200",
        "513 net 2001+1000 a1 t200/200",
    ]);
    line.at(613);
    line.peer_is_held(ack(3001, 200));
    // The local TCP has not timed out: there is nothing to undo.
    line.emits(["613 tcp a3001 t613/513 w50000"]);
    assert_eq!(line.status().time_to_resume.map(|t| t.as_millis()), Some(113));

    // A signal about a flow must quote data in flight, and concerns no other flow.
    line.at(800);
    line.sends(3..4);
    let mut failed = Signal::new(SignalKind::RouteFailed);
    failed.details.flow = Some(FLOW);
    for seq in [nth_segment(2), nth_segment(4)].map(|says| says.segment.seq) {
        failed.details.seq = Some(seq);
        line.signal(&failed);
        assert_eq!(line.status().state, FlowState::Open);
    }
    let mut elsewhere = Signal::new(SignalKind::RouteFailed);
    elsewhere.details.destination = Some(driftway_base::Ipv4Addr::new(10, 0, 0, 3));
    line.signal(&elsewhere);
    line.signal(&Signal::new(SignalKind::SourceQuench));
    assert_eq!(line.status().state, FlowState::Open);
    // The host's own link signal needs no sequence number.
    failed.details.seq = None;
    line.signal(&failed);
    assert_eq!(line.status().state, FlowState::Disconnected);
}

#[test]
fn a_false_restoration_is_detected() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(0);
    line.at(300);
    line.signal(&Signal::new(SignalKind::RouteRestored));
    line.at(899);
    line.emits(["300 net 1+1000 a1 t200/200", "306 net 1001+1000 a1 t200/200"]);
    line.at(1200);
    assert_eq!(line.status().state, FlowState::Disconnected);
    line.emits(["900 net 1+1000 a1 t200/200", "1100 net 1+1000 a1 t200/200"]);
}

/// Retransmissions of one segment, not of a burst, on a connection without losses. TCP goes on by
/// itself; an answer that shows an outage starts the repair.
#[test]
fn silence_leads_to_suspicion() {
    let mut line = Timeline::established_by(Config { suspect_after: Some(2), ..config() });
    for n in 0..40 {
        line.at(200 + 200 * u64::from(n));
        line.sends(n..n + 1);
        line.at(300 + 200 * u64::from(n));
        line.peer_passes(ack(1001 + 1000 * n, 200 + 200 * n));
    }
    line.at(8200);
    line.sends(40..44);
    for at in [8500, 9100] {
        line.at(at);
        line.passes(nth_segment(43).not_capable());
        line.passes(nth_segment(40).not_capable());
        line.passes(nth_segment(41).not_capable());
    }
    // An RTO later there is no answer to the second one. 5,000 bytes were delivered per second, a
    // twentieth of which is available for probes.
    line.quiet_until(14_000);
    line.at(15_000);
    assert_eq!((line.status().state, line.status().aid_state), (FlowState::Open, "suspecting"));
    // TSval of the retransmission that has left, or the peer would discard it (RFC 7323 §5).
    let sent = line.taken();
    let is_probe = |sent: &str| sent.ends_with(" net 40001+1000 a1 t9100/9100");
    assert!(matches!(&sent[..], [probe] if is_probe(probe)), "{sent:?}");
    line.at(15_100);
    line.peer_is_held(ack(41_001, 9100));
    assert_eq!(line.status().state, FlowState::Resuming);
    line.at(15_199);
    let sent = line.taken();
    assert_eq!(sent.len(), 4, "{sent:?}");
}

/// With nothing outstanding there is nothing to repair; any acknowledgment is complete.
#[test]
fn an_outage_with_a_closed_window() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..1);
    line.at(300);
    line.peer_passes(ack(1001, 200).window(0));
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.at(500);
    line.passes(data(1000, 0).not_capable());
    line.at(600);
    line.peer_passes(ack(1001, 200).window(0));
    assert_eq!(line.status().state, FlowState::Open);
    line.at(700);
    line.peer_passes(ack(1001, 200).window(9000));
    line.sends(1..2);
    line.emits([]);
}
