//! Outages on a time line, from the cut to the last acknowledgment: one-way delay 50 ms, segments
//! of 1000 bytes.

use crate::common::cut::{REPAIR, answer_repair, begin_outage};
use crate::common::timeline::{IN_REPAIR, Offers, Timeline, ack, config, data, nth_segment};
use driftway_base::{Duration, Signal, SignalKind};
use driftway_shim::{Config, CwndAfterOutage, FlowState};
use driftway_wire::TcpFlags;

#[test]
fn an_outage_from_its_beginning_to_its_end() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    assert_eq!(line.status().state, FlowState::Resuming);
    // One byte, with the original's timestamp, which is older than the retransmission of 400 ms.
    line.emits(["750 tcp a2 t750/200 w50000", REPAIR[0]]);
    // From the probe of 650 ms.
    assert_eq!(line.status().time_to_resume, Some(Duration::from_millis(100)));
    line.at(840);
    line.emits([REPAIR[1], REPAIR[2], REPAIR[3]]);
    answer_repair(&mut line);
    // Timestamp of one RTT ago.
    line.emits(["871 tcp a5001 t871/771 w50000"]);
    assert_eq!((line.status().state, line.status().outstanding), (FlowState::Open, 0));
    assert_eq!(line.shim.memory().0, 0);

    // Segments that this releases are paced over one RTT.
    line.at(872);
    (5..8).for_each(|n| line.stores(nth_segment(n)));
    line.at(970);
    line.emits([
        "872 net 5001+1000 a1 t872/872 ect",
        "878 net 6001+1000 a1 t872/872 ect",
        "885 net 7001+1000 a1 t872/872 ect",
    ]);
    line.at(975);
    line.sends(8..12);
    line.at(1075);
    line.peer_passes(ack(12_001, 975));

    let counts = *line.counts();
    let numbers = (counts.outages, counts.survived, counts.probes, counts.originals_sent);
    assert_eq!(numbers, (1, 1, 2, 4 + 3));
    assert_eq!((counts.undo_acks, counts.releases, counts.undone), (1, 1, 1));
    assert_eq!(
        (counts.acks_withheld, counts.retransmissions_in_hold, counts.icmp_accepted),
        (5, 0, 1)
    );
    line.quiet_until(5000);
}

/// The queue must drain, however much the last acknowledgment releases, or it would hide the path's
/// congestion from TCP.
#[test]
fn paced_segments_have_left_after_one_rtt() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    answer_repair(&mut line);
    line.taken();
    line.at(872);
    (5..55).for_each(|n| line.stores(nth_segment(n)));
    line.at(972);
    let sent = line.taken();
    assert_eq!((sent.len(), line.status().waiting), (50, 0));
    // Evenly: 14,600 bytes per RTT would be two in 14 ms.
    let in_half = sent.iter().filter(|s| s.split(' ').next().unwrap() < "922").count();
    assert!((23..=27).contains(&in_half), "{in_half}");
    line.sends(55..56);
}

#[test]
fn without_undo_acks_only_the_final_acknowledgment_is_synthetic() {
    let mut line = Timeline::established_by(Config { undo_ack: false, ..config() });
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(840);
    line.emits(REPAIR);
    answer_repair(&mut line);
    line.emits(["871 tcp a5001 t871/771 w50000"]);
    assert_eq!(line.counts().undone, 0);
    assert_eq!(line.status().time_to_resume, Some(Duration::from_millis(871 - 650)));
}

/// liu-singh-2001 §III-C: one segment, doubling with each RTT.
#[test]
fn a_new_route_starts_with_one_segment() {
    let mut line = Timeline::established_by(Config { cwnd: CwndAfterOutage::Reset, ..config() });
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(849);
    // The probe was the first.
    line.emits([REPAIR[0], REPAIR[1]]);
    line.at(850);
    line.peer_is_held(ack(2001, 200));
    line.at(857);
    line.emits(["850 net 3001+1000 a1 t400/400", "856 net 4001+1000 a1 t400/400 ect"]);
    line.peer_is_held(ack(3001, 200));
    line.at(957);
    line.peer_is_held(ack(5001, 400));
    // Not older than the retransmission of 400 ms: nothing is undone.
    line.emits(["957 tcp a5001 t957/857 w50000"]);
    assert_eq!((line.counts().undone, line.counts().undo_acks), (0, 0));
}

/// A probe may have drawn the message that a retransmission would have drawn: it is repeated once
/// for each probe.
#[test]
fn an_icmp_message_drawn_by_a_probe_is_repeated() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(760);
    line.passes(nth_segment(0).not_capable());
    line.passes(nth_segment(0).not_capable());
    line.emits(["760 tcp Host unreachable 1"]);
    assert_eq!(line.counts().reports_repeated, 1);
    line.at(1050);
    line.emits(["850 net 1+1000 a1 t760/760", "1050 net 1+1000 a1 t760/760"]);
    line.at(1160);
    line.passes(nth_segment(0).not_capable());
    line.emits(["1160 tcp Host unreachable 1"]);
    // The outage is over; retransmissions of the local TCP are discarded, and no message is
    // repeated.
    line.at(1200);
    line.peer_is_held(ack(1001, 200));
    assert_eq!(line.local(nth_segment(1).not_capable()), IN_REPAIR);
    let replies = line.taken();
    assert!(!replies.iter().any(|packet| packet.contains("unreachable")), "{replies:?}");
    assert_eq!(line.counts().reports_repeated, 2);
}

/// No router has reported an outage that only this host's link shows.
#[test]
fn only_messages_of_routers_are_repeated() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..4);
    line.at(250);
    line.signal(&Signal::new(SignalKind::RouteFailed));
    line.at(400);
    line.passes(nth_segment(0).not_capable());
    line.at(650);
    line.taken();
    line.at(760);
    line.passes(nth_segment(0).not_capable());
    line.emits([]);
    assert_eq!(line.status().state, FlowState::Disconnected);
}

/// The local TCP is repairing a loss when the path fails. Its timeouts are undone only if that loss
/// would have been, too, because a TCP reverts both.
#[test]
fn congestion_just_before_an_outage_is_not_forgotten() {
    for ecn in [true, false] {
        let mut line = Timeline::established_with(config(), Offers { ecn, sack: true });
        line.at(200);
        line.sends(0..5);
        line.at(300);
        line.peer_passes(ack(1, 200).sack(&[(1001, 4001)]));
        let again = |n| if ecn { nth_segment(n).not_capable() } else { nth_segment(n) };
        line.passes(again(0));
        line.at(310);
        line.peer_passes(ack(1, 200).sack(&[(1001, 5001)]));
        line.at(320);
        line.cut(0);
        line.at(700);
        line.passes(again(0));
        line.at(1000);
        line.taken();
        line.peer_is_held(ack(5001, 300));
        line.taken();
        let counts = *line.counts();
        assert_eq!((counts.survived, counts.undo_acks), (1, u64::from(ecn)), "ECN: {ecn}");
    }
}

/// The outage is shorter than one RTT: a timestamp one RTT old would precede the retransmission,
/// and undo it.
#[test]
fn a_fresh_echo_undoes_nothing() {
    let mut line = Timeline::established_by(Config { cwnd: CwndAfterOutage::Reset, ..config() });
    line.at(200);
    line.sends(0..2);
    line.at(250);
    line.cut(0);
    line.at(380);
    line.passes(nth_segment(0));
    line.at(400);
    line.peer_is_held(ack(2001, 200));
    line.emits(["400 tcp a2001 t400/380 w50000"]);
}

/// Segment 2 of the repair is lost and SACK shows it; without SACK, three duplicate acknowledgments
/// do.
#[test]
fn losses_of_the_repair_are_retransmitted() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(850);
    line.taken();
    line.peer_is_held(ack(2001, 200));
    line.at(864);
    line.peer_is_held(ack(2001, 200).sack(&[(3001, 4001)]));
    line.quiet_until(870);
    // The reordering window is 25 ms, a quarter of the RTT: 770 is not far enough from 756.
    line.at(871);
    line.peer_is_held(ack(2001, 200).sack(&[(3001, 5001)]));
    line.quiet_until(872);
    assert_eq!(line.counts().repaired, 0);
    // 600 ms without an answer: the path counts as lost, and is probed at once.
    line.at(1471);
    line.emits(["1471 net 2001+1000 a1 t400/400"]);
    line.at(1571);
    line.peer_is_held(ack(5001, 200));
    line.emits(["1571 tcp a5001 t1571/1471 w50000"]);

    let offers = Offers { ecn: true, sack: false };
    let mut line = Timeline::established_with(config(), offers);
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(849);
    line.taken();
    for at in [857, 864, 871] {
        line.at(at);
        line.peer_is_held(ack(1001, 200));
    }
    line.emits(["871 net 1001+1000 a1 t400/400"]);
    assert_eq!(line.counts().repaired, 1);
    line.at(971);
    line.peer_is_held(ack(5001, 200));
    line.emits(["971 tcp a5001 t971/871 w50000"]);
}

/// Before the outage a queue raised the RTT from 100 to 600 ms: the repair meets an empty one.
#[test]
fn the_reordering_window_is_that_of_an_empty_path() {
    let mut line = Timeline::established();
    for n in 0..12 {
        line.at(1000 * u64::from(n) + 200);
        line.sends(n..n + 1);
        line.at(1000 * u64::from(n) + 800);
        line.peer_passes(ack(1000 * n + 1001, 1000 * n + 200));
    }
    line.at(12_200);
    line.sends(12..18);
    line.at(12_250);
    line.cut(12);
    line.at(13_000);
    line.taken();
    line.peer_is_held(ack(13_001, 12_200));
    line.at(13_100);
    line.taken();
    line.peer_is_held(ack(13_001, 12_200).sack(&[(14_001, 15_001)]));
    line.at(13_200);
    line.taken();
    assert_eq!(line.counts().repaired, 1);
}

#[test]
fn a_long_flight_is_repaired_by_sack() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..20);
    line.at(250);
    line.cut(0);
    line.at(450);
    line.emits(["450 net 1+1000 a1 t200/200"]);
    line.at(550);
    line.peer_is_held(ack(1001, 200));
    line.at(649);
    // 20,000 bytes per RTT: one segment in 5 ms.
    assert_eq!(line.taken().len(), 19);
    line.at(655);
    line.peer_is_held(ack(1001, 200).sack(&[(2001, 3001)]));
    line.quiet_until(745);
    // Segments 1 and 3 to 9 are lost: they were sent 25 ms or more before the last.
    line.peer_is_held(ack(1001, 200).sack(&[(10_001, 20_001), (2001, 3001)]));
    line.at(840);
    line.emits([
        "745 net 1001+1000 a1 t200/200",
        "750 net 3001+1000 a1 t200/200",
        "755 net 4001+1000 a1 t200/200",
        "760 net 5001+1000 a1 t200/200",
        "765 net 6001+1000 a1 t200/200",
        "770 net 7001+1000 a1 t200/200",
        "775 net 8001+1000 a1 t200/200",
        "780 net 9001+1000 a1 t200/200",
    ]);
    assert_eq!(line.counts().repaired, 8);
    line.peer_is_held(ack(20_001, 200));
    line.emits(["840 tcp a20001 t840/740 w50000"]);
}

#[test]
fn a_second_outage_while_resuming() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(760);
    line.emits(["750 tcp a2 t750/200 w50000", REPAIR[0], REPAIR[1]]);
    line.cut(1);
    // A segment delayed in the network: its acknowledgment is withheld from the local TCP, which
    // has received one for one byte.
    line.at(800);
    line.peer_is_held(ack(1001, 200));
    line.at(810);
    assert_eq!(line.local(nth_segment(0).not_capable()), IN_REPAIR);
    line.passes(nth_segment(1).not_capable());
    line.at(1000);
    line.emits(["960 net 1001+1000 a1 t810/810"]);
    line.at(1060);
    line.peer_is_held(ack(2001, 200));
    line.at(1160);
    line.emits([
        // It has timed out again since the first undo.
        "1060 tcp a3 t1060/200 w50000",
        "1060 net 2001+1000 a1 t810/810",
        "1066 net 3001+1000 a1 t810/810",
        "1073 net 4001+1000 a1 t810/810 ect",
    ]);
    line.peer_is_held(ack(5001, 400));
    line.emits(["1160 tcp a5001 t1160/1060 w50000"]);
    assert_eq!((line.counts().outages, line.counts().survived), (1, 1));
}

/// The local TCP times out during the repair: that is undone at its end.
#[test]
fn a_timeout_during_repair_is_discarded_and_undone() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(800);
    line.taken();
    assert_eq!(line.local(data(2, 999).not_capable()), IN_REPAIR);
    answer_repair(&mut line);
    line.emits(["871 tcp a3 t871/200 w50000", "871 tcp a5001 t871/771 w50000"]);
    assert_eq!(line.counts().undo_acks, 2);
}

/// Acknowledgments are withheld for a second at most; then the local TCP repairs the rest.
#[test]
fn withholding_is_bounded() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(849);
    line.taken();
    // New data now and then, so that the path does not count as lost.
    line.at(1200);
    line.peer_is_held(ack(2001, 200).sack(&[(4001, 5001)]));
    line.at(1750);
    line.emits(["1750 tcp a2001 t1200/1650 w50000"]);
    assert_eq!(line.status().state, FlowState::Open);
    line.at(2000);
    line.passes(nth_segment(3).not_capable());
}

#[test]
fn originals_are_not_older_than_a_retransmission_that_has_left() {
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..3);
    line.at(240);
    line.passes(nth_segment(0).not_capable());
    line.at(250);
    line.cut(0);
    line.stores(nth_segment(3));
    line.at(450);
    line.emits(["450 net 1+1000 a1 t240/250"]);
    line.at(550);
    line.peer_is_held(ack(1001, 240));
    line.at(640);
    line.emits([
        "550 tcp a2 t550/200 w50000",
        "550 net 1001+1000 a1 t240/250",
        "556 net 2001+1000 a1 t240/250",
        "563 net 3001+1000 a1 t250/250 ect",
    ]);
    line.peer_is_held(ack(4001, 250));
    line.emits(["640 tcp a4001 t640/540 w50000"]);
}

/// A TCP that has pulled SND.NXT back after a timeout acknowledges from there: if the peer has
/// received that far, it takes the TSval as TS.Recent, and discards older ones.
#[test]
fn originals_are_not_older_than_an_acknowledgment_that_began_among_them() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(760);
    line.passes(data(2001, 0).not_capable().acking(1));
    line.at(840);
    line.emits([
        "750 tcp a2 t750/200 w50000",
        REPAIR[0],
        REPAIR[1],
        "763 net 3001+1000 a1 t760/760",
        "770 net 4001+1000 a1 t760/760 ect",
    ]);
    answer_repair(&mut line);
    line.taken();
}

/// Both ends send: the peer's data pass at once, without new acknowledgments; the local TCP's own
/// acknowledgments go along with the originals.
#[test]
fn data_in_both_directions() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    let first = ack(1001, 200).carrying(1, 500).sack(&[(2001, 3001)]).with(TcpFlags::ECE);
    line.peer_becomes(first, "1+500 a1 t750/200 w50000 ECE");
    line.passes(data(5001, 0).not_capable().acking(501));
    line.at(849);
    // Congestion is echoed: nothing is undone. Segment 2 has arrived.
    line.emits([
        "750 net 1001+1000 a1 t400/400",
        "756 net 3001+1000 a501 t400/750",
        "763 net 4001+1000 a501 t400/750 ect",
    ]);
    line.at(863);
    line.peer_becomes(ack(5001, 400).carrying(501, 100), "501+100 a1 t863/400 w50000");
    line.emits(["863 tcp a5001 t863/763 w50000"]);
}

/// The peer's window has closed and opened again while its acknowledgments were withheld.
#[test]
fn the_peers_window_updates_are_reported() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200).window(0));
    line.emits(["750 tcp a2 t750/200 w0", REPAIR[0]]);
    line.at(849);
    line.taken();
    answer_repair(&mut line);
    line.emits(["871 tcp a5001 t871/771 w50000"]);

    // Nothing is acknowledged, but the window has changed.
    let mut line = Timeline::established();
    line.at(200);
    line.sends(0..3);
    line.at(250);
    line.cut(0);
    line.at(350);
    line.peer_is_held(ack(1, 100).window(7000));
    line.at(900);
    line.taken();
    line.peer_is_held(ack(1, 100).sack(&[(1001, 2001)]).window(8000));
    line.at(1350);
    line.emits(["1350 tcp a1 t900/1250 w8000"]);
}

/// A keep-alive of the peer is passed on even during repair.
#[test]
fn the_peers_keep_alives_pass() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.peer_becomes(ack(1001, 200).seq(0), "a2 t750/200 w50000");
    line.at(849);
    line.taken();
    answer_repair(&mut line);
    line.taken();
}

/// The MTU of the restored path is smaller: the local TCP resegments its retransmissions, and does
/// not wait for originals that cannot arrive.
#[test]
fn a_narrower_path_ends_the_repair() {
    let mut line = Timeline::established();
    begin_outage(&mut line);
    line.at(750);
    line.peer_is_held(ack(1001, 200));
    line.at(760);
    line.taken();
    assert_eq!(line.status().state, FlowState::Resuming);
    line.passes(data(1001, 500).not_capable());
    line.emits(["760 tcp a1001 t760/660 w50000"]);
    assert_eq!((line.status().state, line.status().stored_bytes), (FlowState::Open, 0));
    line.at(900);
    line.peer_passes(ack(1501, 760));
    line.quiet_until(5000);
}
