//! Connections that begin or end during an outage, and the limits of the shim.

use crate::common::cut::{ICMP_REJECTED, begin_outage};
use crate::common::timeline::{
    FLOW, HERE, OURS, THEIRS, THERE, Timeline, ack, config, data, nth_segment, syn, syn_ack,
};
use driftway_base::{FlowKey, Signal, SignalKind};
use driftway_shim::{Config, DiscardReason, FlowState, PacketAction, UntouchedReason};
use driftway_wire::{Body, Packet, TcpFlags, UnreachableCode};

#[test]
fn a_handshake_during_a_cut_is_left_to_tcp() {
    let mut line = Timeline::new(config());
    line.passes(syn());
    line.signal(&Signal::new(SignalKind::RouteFailed));
    assert_eq!(line.unreachable(syn(), UnreachableCode::Host), ICMP_REJECTED);
    line.at(1000);
    line.passes(syn());
    line.at(1100);
    line.peer_passes(syn_ack());
    assert_eq!((line.status().state, line.counts().flows), (FlowState::Open, 1));
    // The acknowledged copy is not known (Karn's algorithm).
    assert_eq!(line.status().srtt, None);
}

#[test]
fn a_fin_during_a_cut_is_carried_like_data() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..1);
    line.at(250);
    line.cut(0);
    line.at(300);
    line.stores(data(1001, 500).fin());
    line.at(400);
    line.passes(nth_segment(0));
    line.passes(data(1001, 500).fin());
    line.at(450);
    line.emits(["450 net 1+1000 a1 t400/400"]);
    line.at(550);
    line.peer_is_held(ack(1001, 200));
    line.emits(["550 tcp a2 t550/200 w50000", "550 net 1001+500 FIN a1 t400/400 ect"]);
    line.at(650);
    // The peer closes as well.
    line.peer_becomes(ack(1502, 300).fin(), "FIN a2 t650/300 w50000");
    line.emits(["650 tcp a1502 t650/550 w50000"]);
    line.passes(data(1502, 0).not_capable().acking(2));
    assert_eq!(line.shim.flows().count(), 0, "both ends have closed");
    assert_eq!(line.shim.memory().0, 0);
}

/// A FIN alone has no spare byte for an undo.
#[test]
fn a_segment_of_one_number_is_not_acknowledged_in_part() {
    for last in [data(1, 0).fin(), data(1, 1)] {
        let mut line = Timeline::established();
        line.at(200);
        line.passes(last);
        line.at(250);
        line.cut(0);
        line.at(400);
        line.passes(last);
        line.at(450);
        assert_eq!(line.taken().len(), 1);
        line.at(550);
        line.peer_is_held(ack(2, 200));
        line.emits(["550 tcp a2 t550/450 w50000"]);
    }
}

/// RFC 5961 §3: a reset is valid only with the expected sequence number.
#[test]
fn resets_during_a_cut() {
    let reset = |seq| ack(1, 0).flags(TcpFlags::RST).seq(seq).without_timestamps();
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.peer_passes(reset(2));
    line.peer_passes(reset(500));
    assert_eq!((line.status().state, line.counts().resets_rejected), (FlowState::Disconnected, 2));
    line.peer_passes(reset(1));
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    line.quiet_until(5000);

    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.passes(data(5001, 0).flags(TcpFlags::RST).not_capable());
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    line.quiet_until(5000);
    assert_eq!(line.local(nth_segment(0)), PacketAction::Untouched(UntouchedReason::Preexisting));
}

/// A segment that cannot be stored passes, and the local TCP has to retransmit it.
#[test]
fn the_store_of_a_flow_has_a_bound() {
    let mut line = Timeline::established_by(Config { store_per_flow: 5000, ..config() });
    line.at(200);
    line.sends(0..4);
    assert_eq!((line.status().stored_bytes, line.counts().not_stored), (4096, 2));
    line.at(250);
    line.cut(0);
    // The segments behind it must not wait either, or they would arrive late and out of order.
    line.passes(nth_segment(4));
    line.at(400);
    line.passes(nth_segment(1));
    line.passes(nth_segment(2).not_capable());
    line.at(450);
    line.emits(["450 net 1+1000 a1 t400/400"]);
    line.at(550);
    line.peer_is_held(ack(1001, 400));
    // Nothing is undone: the local TCP would wait for a segment that only it can retransmit.
    line.emits(["550 net 1001+1000 a1 t400/400"]);
    line.at(650);
    // All stored segments have arrived: TCP does the rest.
    line.peer_is_held(ack(2001, 400));
    line.emits(["650 tcp a2001 t650/550 w50000"]);
    line.passes(nth_segment(2).not_capable());
    line.at(750);
    // Lost long ago, and not by congestion; but a timeout is not undone here.
    line.peer_passes(ack(5001, 650));
    assert_eq!(line.shim.memory().0, 0);
}

/// The path MTU has shrunk: the local TCP resegments its retransmissions, and the originals would
/// never arrive.
#[test]
fn originals_that_are_too_long_for_the_path_are_given_up() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.cut(0);
    line.at(300);
    let needed = UnreachableCode::FragmentationNeeded { mtu: 600 };
    assert_eq!(line.unreachable(nth_segment(0), needed), ICMP_REJECTED);
    line.passes(data(1, 500).not_capable());
    line.passes(data(501, 500).not_capable());
    line.quiet_until(600);
    line.at(610);
    line.peer_passes(ack(501, 300));
    line.at(650);
    line.taken();
}

#[test]
fn a_tcp_that_has_given_up_is_forgotten() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(300_399);
    let probes = line.taken().len();
    // Five a second for two minutes, then one a second.
    assert!((595 + 175..=595 + 185).contains(&probes), "{probes}");
    assert_eq!(line.status().state, FlowState::Disconnected);
    line.at(300_400);
    line.taken();
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    assert_eq!((line.counts().given_up, line.counts().tracking_lost), (1, 0));

    // Also without an outage.
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..2);
    line.quiet_until(300_199);
    assert_eq!(line.shim.flows().count(), 1);
    line.quiet_until(300_200);
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
}

/// RFC 2018 §8: the receiver reneges.
#[test]
fn a_peer_that_reneges_gets_everything() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..4);
    line.at(300);
    line.peer_passes(ack(1, 100).sack(&[(1001, 4001)]));
    line.cut(0);
    line.at(500);
    line.emits(["500 net 1+1000 a1 t200/200"]);
    line.at(600);
    // The receiver has discarded the other three.
    line.peer_is_held(ack(1001, 200));
    line.at(1200);
    // They count as lost only after something newer has arrived, or after 600 ms without an answer.
    line.emits(["1200 net 1001+1000 a1 t200/200"]);
    line.at(1300);
    line.peer_is_held(ack(2001, 200));
    line.at(1400);
    line.emits(["1300 net 2001+1000 a1 t200/200", "1306 net 3001+1000 a1 t200/200"]);
    line.peer_is_held(ack(4001, 200));
    line.emits(["1400 tcp a4001 t1400/1300 w50000"]);
}

/// RFC 9293 §3.10.7.4: a segment before RCV.NXT is acknowledged at once.
#[test]
fn a_solicitation_lies_before_what_was_acknowledged() {
    let mut line = Timeline::established();
    let mut packet = Vec::new();
    for before in [2, 1, 2] {
        assert!(line.shim.solicit_ack(line.now, FLOW, &mut packet));
        let decoded = Packet::decode(&packet).expect("right checksums");
        let Body::Tcp(segment) = decoded.packet.body else { panic!("TCP only") };
        // The local TCP has acknowledged the SYN, which has the first number.
        assert_eq!((segment.end() + before, segment.payload.len), (THEIRS + 1, 1));
        // A host without such a connection answers with a reset of that number, which is in no
        // window.
        assert_eq!((segment.ack + (3 << 29), segment.flags), (OURS + 1, TcpFlags::ACK));
        assert_eq!(decoded.packet.ip.source, THERE.address);
    }
    let other = FlowKey { source: THERE, destination: HERE };
    assert!(!line.shim.solicit_ack(line.now, other, &mut packet));
    line.quiet_until(500);
}

/// It also differs from a reset by which an application aborts its connection.
#[test]
fn a_reset_that_answers_the_shim_does_not_leave() {
    let reset = |flags| data(1, 0).flags(flags);
    let own = PacketAction::Discarded(DiscardReason::ResetOfOwn);
    let both = TcpFlags::RST.with(TcpFlags::ACK);
    let cases = [
        (TcpFlags::RST, 0, own),
        (both, 0, PacketAction::Pass),
        (TcpFlags::RST, 1000, PacketAction::Pass),
    ];
    for (flags, later, disposition) in cases {
        let mut line = Timeline::established();
        assert!(line.shim.solicit_ack(line.now, FLOW, &mut Vec::new()));
        line.at(line.now.as_nanos() / 1_000_000 + later);
        assert_eq!(line.local(reset(flags)), disposition);
        assert_eq!(line.shim.flows().count(), 0);
    }
    let mut line = Timeline::established();
    assert_eq!(line.local(reset(TcpFlags::RST)), PacketAction::Pass);
}

/// Without a carrier acknowledgment the flow continues as plain TCP.
#[test]
fn a_flow_without_a_carrier_is_left_alone() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    // After one has worked, a carrier acknowledgment that does not leave counts as a lost packet.
    line.shim.on_carrier_sent(FLOW);
    line.shim.on_carrier_missing(FLOW, true);
    assert_eq!((line.status().state, line.counts().no_carrier), (FlowState::Disconnected, 0));
    // TCP may be busy for a while, as long as it answers again.
    for _ in 0..2 {
        for _ in 0..2 {
            line.shim.on_carrier_missing(FLOW, false);
        }
        assert_eq!((line.status().state, line.counts().no_carrier), (FlowState::Disconnected, 0));
        line.shim.on_carrier_sent(FLOW);
    }
    for _ in 0..3 {
        line.shim.on_carrier_missing(FLOW, false);
    }
    assert_eq!((line.shim.flows().count(), line.shim.memory().0), (0, 0));
    assert_eq!(line.counts().no_carrier, 1);
    assert_eq!(
        line.local(nth_segment(4).not_capable()),
        PacketAction::Untouched(UntouchedReason::Preexisting)
    );
    line.quiet_until(5000);
}
